"""Removes what runs leave: old run folders, environments nobody used lately, containers of dead runs."""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import time
from typing import TYPE_CHECKING

import msgspec

from presubmit.errors import GitError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Removal(msgspec.Struct, frozen=True, kw_only=True):
    """A folder to remove, its size in bytes, and why."""

    path: Path
    size: int
    why: str


def plan_removals(top: Path, cache: Path, *, older_than: float, everything: bool) -> list[Removal]:
    """Say what is to go: run folders and environments older than `older_than` seconds, or all of them.

    The newest run always stays.
    """
    limit = time.time() - older_than
    found: list[Removal] = []
    runs = sorted((top / ".presubmit" / "runs").glob("*"))
    last = (top / ".presubmit" / "last").resolve()
    found += [
        Removal(path=run, size=_size(run), why="an old run")
        for run in runs
        if run != last and (everything or _time(run) < limit)
    ]
    if everything:
        if cache.is_dir():
            found.append(Removal(path=cache, size=_size(cache), why="the repository's caches"))
        return found
    found += [
        Removal(path=folder, size=_size(folder), why="not used lately")
        for folder in _environments(cache)
        if _time(folder) < limit
    ]
    found += [
        Removal(path=folder, size=_size(folder), why="what a dead run left")
        for folder in cache.glob("*/out/*")
        if _time(folder) < limit
    ]
    return found


def refuse_while_running(cache: Path) -> None:
    """Raise GitError where a run holds one of the repository's mirror checkouts."""
    for path in sorted(cache.glob("*/mirrors/*.lock")):
        with path.open("rb") as lock:
            try:
                fcntl.flock(lock.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                holder = lock.read().decode("ascii", "replace").strip() or "unknown"
                raise GitError(
                    f"presubmit (process {holder}) is at work in this repository",
                    hint="wait until it ends, or stop it; then clean",
                ) from error


def _environments(cache: Path) -> Iterator[Path]:
    for pattern in ("*/envs/*", "*/tools/*", "*/plugin-*"):
        yield from (path for path in cache.glob(pattern) if path.is_dir())


def _time(path: Path) -> float:
    """When a folder was last used: its own time, or that of the stamp beside it."""
    times = [path.lstat().st_mtime]
    stamp = path.with_name(f"{path.name}.json")
    if stamp.is_file():
        times.append(stamp.stat().st_mtime)
    return max(times)


def _size(path: Path) -> int:
    total = 0
    for folder, _, files in os.walk(path):
        for name in files:
            try:
                facts = os.lstat(os.path.join(folder, name))  # noqa: PTH118 - many files
            except OSError:
                continue
            if stat.S_ISREG(facts.st_mode):
                total += facts.st_blocks * 512
    return total


def remove(removal: Removal) -> str:
    """Remove one folder without following links; gives what went wrong, empty if nothing."""
    try:
        shutil.rmtree(removal.path)
        removal.path.with_name(f"{removal.path.name}.json").unlink(missing_ok=True)
    except OSError as error:
        return f"{error.filename}: {error.strerror}"
    return ""
