"""Folders of ours in RUNNER_TEMP, where steps can write as well: no link that one of them lays is followed.

A step may take everything away (`rm -rf "$RUNNER_TEMP"/*` is common), so a folder is made anew where it is gone.
"""

from __future__ import annotations

import errno
import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_NEW_FILE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_NO_FOLDER: Final = frozenset({errno.ENOTDIR, errno.ELOOP})


@contextmanager
def held(folder: Path) -> Iterator[str]:
    """Give a path that leads to this folder for as long as it is held, whatever is put in its place meanwhile."""
    descriptor = os.open(folder, _FOLDER | os.O_NOFOLLOW)
    try:
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)


def write_own(place: Path, data: bytes, *, mode: int = 0o644) -> None:
    """Write a new file into a folder of ours, `<parent>/<folder>/<file>`. Raises OSError."""
    with _opened(place.parent) as folder:
        descriptor = os.open(place.name, _NEW_FILE, 0o600, dir_fd=folder)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
            os.fchmod(descriptor, mode)


def make_own(folder: Path) -> None:
    """Make sure that a folder of ours is there, and that it is one. Raises OSError."""
    with _opened(folder):
        pass


@contextmanager
def _opened(folder: Path) -> Iterator[int]:
    outer = os.open(folder.parent, _FOLDER)
    try:
        inner = _open(folder.name, outer)
    finally:
        os.close(outer)
    try:
        yield inner
    finally:
        os.close(inner)


def _open(name: str, outer: int) -> int:
    with suppress(FileExistsError):
        os.mkdir(name, 0o755, dir_fd=outer)
    try:
        return os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=outer)
    except OSError as error:
        if error.errno not in _NO_FOLDER:
            raise
    os.unlink(name, dir_fd=outer)
    os.mkdir(name, 0o755, dir_fd=outer)
    return os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=outer)
