"""Applies what lint tools changed in a run's mirror to the worktree, if the worktree is still what was linted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from presubmit.change.diff import list_tree
from presubmit.change.git import fields, git
from presubmit.errors import UsageError
from presubmit.report.folder import find_run, list_runs, read_run

if TYPE_CHECKING:
    from pathlib import Path

    from presubmit.change.repository import Repository


def read_patch(folder: Path) -> bytes:
    """Give a run's patch; empty where its tools changed nothing."""
    path = folder / "fix.patch"
    return path.read_bytes() if path.is_file() else b""


def newest_with_patch(top: Path) -> Path:
    """Find the newest run of the last run's tree that has a patch; the last run itself where none has.

    A run of single tests comes after the run that linted, and says nothing against its patch.
    """
    last = find_run(top, None)
    tree = read_run(last).get("target", {}).get("tree")
    for folder in reversed(list_runs(top)):
        if read_patch(folder) and read_run(folder).get("target", {}).get("tree") == tree:
            return folder
    return last


def apply_patch(repository: Repository, folder: Path, patch: bytes) -> tuple[str, ...]:
    """Apply a run's patch to the worktree; gives the paths. Raises UsageError where a file was edited since."""
    tree = str(read_run(folder).get("target", {}).get("tree", ""))
    listed = git("apply", "--numstat", "-z", "-", cwd=repository.top, stdin=patch)
    # `added<tab>removed<tab>path`
    paths = tuple(entry.split("	", 2)[-1] for entry in fields(listed.stdout))
    edited = [path for path in paths if not _is_unchanged(repository, tree, path)]
    if edited:
        raise UsageError(
            f"edited since that run: {', '.join(edited)}",
            hint="presubmit run --only lint, then presubmit fix",
        )
    git("apply", "--whitespace=nowarn", "-", cwd=repository.top, stdin=patch)
    return paths


def _is_unchanged(repository: Repository, tree: str, path: str) -> bool:
    """Whether a file of the worktree is the one that was linted, as git would store it."""
    file = repository.top / path
    if file.is_symlink() or not file.is_file():
        return False
    known = list_tree(repository, tree, (path,)).get(path)
    hashed = git("hash-object", "--", path, cwd=repository.top).text.strip()
    return known is not None and known[1] == hashed
