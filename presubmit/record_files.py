"""`presubmit record --export` and `--import`: recordings to and from a file."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Final

from presubmit.change.git import git
from presubmit.change.repository import read_repository
from presubmit.errors import ExitCode, PresubmitError, UsageError
from presubmit.history import History
from presubmit.reading import read_all
from presubmit.selector.recorded_file import read_exported, write_exported
from presubmit.selector.recorded_index import DamagedRecordingError
from presubmit.selector.recorded_store import read_stored, store_recording
from presubmit.values import counted
from presubmit.where import history_path

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from presubmit.change.repository import Repository
    from presubmit.reading import RunOptions
    from presubmit.report.terminal import Terminal

_LARGEST: Final = 512 * 1024 * 1024


def cmd_export(
    options: RunOptions, path: Path, terminal: Terminal, environ: Mapping[str, str]
) -> ExitCode:
    """Write what is recorded of this tree to a file."""
    reading = read_all(options, environ)
    tree = reading.change.target.tree
    with History(history_path(reading)) as history:
        runs = [it for it in read_stored(history, None) if it.run.tree == tree]
        if not runs:
            raise PresubmitError("nothing is recorded of this tree", hint="presubmit record")
        try:
            data = write_exported(runs)
        except DamagedRecordingError as error:
            raise PresubmitError(
                f"the recording is damaged: {error}", hint="presubmit record --fresh"
            ) from error
    path.write_bytes(data)
    terminal.line(f"exported {counted(len(runs), 'recorded run')} to {path}")
    return ExitCode.OK


def cmd_import(
    options: RunOptions, path: Path, terminal: Terminal, environ: Mapping[str, str]
) -> ExitCode:
    """Take over the recordings of a file: they narrow the choice of tests, and nothing else rests on them."""
    del environ  # neither a base nor an image is needed for it
    repository = read_repository(options.start)
    runs = read_exported(_content(path), _paths(repository), path.name)
    with History(repository.own_dir / "history.db") as history:
        for run, recording in runs:
            kept = store_recording(
                history,
                recording,
                tree=run.tree,
                commit=run.commit,
                files=run.files,
                setting=run.setting,
                whole=run.whole,
                known=run.whole if run.suite else ("",),
                at=run.at,
                origin=run.origin,
            )
            if not kept:
                raise PresubmitError(
                    "the history could not keep the recording", hint="see `presubmit doctor`"
                )
            tests = sum(one.context.startswith("test:") for one in recording.contexts)
            terminal.line(f"imported the records of {counted(tests, 'test')} from {path.name}")
    return ExitCode.OK


def _paths(repository: Repository) -> tuple[str, ...]:
    """Name the files of this checkout."""
    done = git(
        *("ls-files", "-z", "--cached", "--others", "--exclude-standard"), cwd=repository.top
    )
    return tuple(os.fsdecode(name) for name in done.stdout.split(b"\0") if name)


def _content(path: Path) -> bytes:
    # A pipe must not be waited for.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode) or status.st_size > _LARGEST:
            raise UsageError(
                f"{path} is no regular file, or too large", hint="name the exported file"
            )
        return file.read(_LARGEST)
