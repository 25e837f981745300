"""Recordings as one file, to carry them from one checkout (of a CI job, say) to another."""

from __future__ import annotations

import re
import zlib
from typing import TYPE_CHECKING, Final

import msgspec

from presubmit.errors import UsageError
from presubmit.history import RecordedRun  # noqa: TC001 - msgspec reads the annotation
from presubmit.selector.recorded_index import DamagedRecordingError, Index, pack
from presubmit.selector.recorded_store import CORES, Stored
from presubmit.selector.recording import Ran, Recording
from presubmit.values import Value

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

_MARK: Final = b"presubmit recording\n"
_SCHEMA: Final = 1
LARGEST: Final = 256 * 1024 * 1024
"""Bytes of a file before compression: it is decoded at once, which takes several times as much memory."""
_TREE: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_SHARED: Final = 0.5
"""Of the Python files of a recording, how many a checkout must have: else it is another repository, or another layout."""


class _Schema(msgspec.Struct):
    schema: int


class _Exported(Value, frozen=True, kw_only=True):
    run: RecordedRun
    contexts: tuple[Ran, ...]


class _File(Value, frozen=True, kw_only=True):
    schema: int
    runs: tuple[_Exported, ...]


def write_exported(runs: Iterable[Stored]) -> bytes:
    """Give the content of a file with these runs; raises DamagedRecordingError, UsageError where it is too large."""
    exported = tuple(
        _Exported(run=stored.run, contexts=stored.index.all_contexts()) for stored in runs
    )
    data = msgspec.msgpack.encode(_File(schema=_SCHEMA, runs=exported))
    if len(data) > LARGEST:
        raise UsageError(
            f"the recording is larger than {LARGEST >> 20} MiB, which nothing would import",
            hint="presubmit record --fresh, on one tree and in one environment",
        )
    return _MARK + zlib.compress(data, 6)


def read_exported(
    data: bytes, paths: Collection[str], origin: str
) -> tuple[tuple[RecordedRun, Recording], ...]:
    """Read such a file, for a tree with these paths; raises UsageError where it is of no use here."""
    found = _read(data)
    if not found.runs:
        raise UsageError(f"{origin} holds no recording", hint="presubmit record --export FILE")
    runs = []
    for exported in found.runs:
        run = msgspec.structs.replace(exported.run, origin=origin)
        _check(run, exported.contexts, frozenset(paths))
        recording = Recording(
            python=run.python,
            core=run.core,
            environment=run.environment,
            contexts=exported.contexts,
            complete=True,
        )
        runs.append((run, recording))
    return tuple(runs)


def _read(data: bytes) -> _File:
    if not data.startswith(_MARK):
        raise UsageError(
            "this is no file of `presubmit record --export`", hint="name the exported file"
        )
    try:
        unpacker = zlib.decompressobj()
        packed = unpacker.decompress(data[len(_MARK) :], LARGEST)
        if not unpacker.eof:
            large = len(packed) >= LARGEST
            what = f"holds more than {LARGEST >> 20} MiB" if large else "is cut off"
            raise UsageError(f"the file {what}", hint="export it again")
        schema = msgspec.msgpack.decode(packed, type=_Schema).schema
        if schema != _SCHEMA:
            raise UsageError(
                f"the file has form {schema}, this presubmit reads form {_SCHEMA}",
                hint="export and import with the same version of presubmit",
            )
        return msgspec.msgpack.decode(packed, type=_File)
    except (zlib.error, msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise UsageError(f"the file is damaged: {error}", hint="export it again") from error


def _check(run: RecordedRun, contexts: tuple[Ran, ...], paths: frozenset[str]) -> None:
    if run.core not in CORES:
        raise UsageError(
            f"it was recorded with the core {run.core}, which loses contexts",
            hint="record it with this presubmit",
        )
    if not _TREE.fullmatch(run.tree):
        raise UsageError("the file names no tree of git", hint="export it again")
    python = [path for path in run.files if path.endswith(".py")]
    shared = sum(path in paths for path in python)
    if not python or shared < len(python) * _SHARED:
        raise UsageError(
            f"it is of another repository or layout: {shared} of its {len(python)} Python files are here",
            hint="import a recording of this repository",
        )
    rows = pack(contexts)
    try:
        Index(lambda keys: {key: rows[key] for key in keys})
    except DamagedRecordingError as error:
        raise UsageError(f"the file is damaged: {error}", hint="export it again") from error
