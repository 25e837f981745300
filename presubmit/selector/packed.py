"""A tree's imports in one row of the cache, each decoded when it is asked for: time goes with the change, not the tree."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

import msgspec

from presubmit.selector.cache import Kind
from presubmit.selector.imports import EXTRACTOR, Imports
from presubmit.selector.parsed import decode_imports, read_all_imports

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from presubmit.selector.cache import Cache

_WORTH: Final = 300
"""Files from which on a tree is packed."""
_STALE: Final = 50
"""Files that may differ from the pack before it is written anew."""
_KEY: Final = f"imports:1:{EXTRACTOR}"


class _Pack(msgspec.Struct, frozen=True, array_like=True):
    """Files that a tree had: all in the same order."""

    paths: bytes
    blobs: str
    problems: dict[str, str]
    """By number of the file."""
    values: list[msgspec.Raw]


class PackedImports(Mapping[str, Imports]):
    """Path -> Imports, each decoded when it is first asked for."""

    def __init__(self, raw: Mapping[str, msgspec.Raw], problems: Mapping[str, str]) -> None:
        self._raw = raw
        self._decoded: dict[str, Imports] = {}
        self.problems = problems
        """Files that cannot be parsed, and why."""

    def __getitem__(self, path: str) -> Imports:
        """Give what one file imports."""
        found = self._decoded.get(path)
        if found is None:
            found = self._decoded[path] = decode_imports(self._raw[path])
        return found

    def __contains__(self, path: object) -> bool:
        """Tell whether a file was read."""
        return path in self._raw

    def __iter__(self) -> Iterator[str]:
        """Give the paths."""
        return iter(self._raw)

    def __len__(self) -> int:
        """Count the files."""
        return len(self._raw)


def read_packed(
    blobs: Mapping[str, str],
    read: Callable[[Iterable[str]], Mapping[str, bytes]],
    cache: Cache | None,
) -> PackedImports:
    """Give what every file of path -> blob id imports."""
    raw: dict[str, msgspec.Raw] = {}
    problems: dict[str, str] = {}
    kept = cache if len(blobs) >= _WORTH else None
    if kept is not None:
        raw, problems = _unpack(kept.load(Kind.PACKS, [_KEY]).get(_KEY, b""), blobs)
    missing = {path: blob for path, blob in blobs.items() if path not in raw}
    for path, parsed in read_all_imports(missing, read, cache).items():
        raw[path] = msgspec.Raw(parsed.data)
        if parsed.problem:
            problems[path] = parsed.problem
    if kept is not None and len(missing) > _STALE:
        _store(blobs, raw, problems, kept)
    return PackedImports(raw, problems)


def _unpack(
    data: bytes, blobs: Mapping[str, str]
) -> tuple[dict[str, msgspec.Raw], dict[str, str]]:
    """Give of a pack what still has the same blob."""
    try:
        pack = msgspec.msgpack.decode(data, type=_Pack)
    except (msgspec.MsgspecError, UnicodeError):
        return {}, {}
    paths = [os.fsdecode(path) for path in pack.paths.split(b"\0")]
    rows = zip(paths, pack.blobs.split("\n"), pack.values, strict=False)
    raw = {path: value for path, blob, value in rows if blobs.get(path) == blob}
    named = {paths[int(number)]: text for number, text in pack.problems.items()}
    return raw, {path: text for path, text in named.items() if path in raw}


def _store(
    blobs: Mapping[str, str],
    raw: Mapping[str, msgspec.Raw],
    problems: Mapping[str, str],
    cache: Cache,
) -> None:
    pack = _Pack(
        paths=b"\0".join(os.fsencode(path) for path in raw),
        blobs="\n".join(blobs[path] for path in raw),
        problems={
            str(number): problems[path].encode("utf-8", "replace").decode()
            for number, path in enumerate(raw)
            if path in problems
        },
        values=list(raw.values()),
    )
    cache.store(Kind.PACKS, {_KEY: msgspec.msgpack.encode(pack)})
