"""Reads a change out of git: the base, the tree under test, and what lies between them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from presubmit.change.base import read_base
from presubmit.change.diff import read_changed_files, read_submodules
from presubmit.change.repository import Repository, read_repository
from presubmit.change.snapshot import take_snapshot
from presubmit.values import Change, TargetKind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path


def read_change(
    start: Path | Repository,
    *,
    base: str | None = None,
    environ: Mapping[str, str],
    configured_base: str | None = None,
    fetch: bool = False,
    kind: TargetKind = TargetKind.WORKTREE,
    commit: str | None = None,
    untracked: bool = True,
    warn: Callable[[str], object] = lambda _: None,
) -> Change:
    """Read the change in the checkout that `start` lies in (or is); what is left out of it goes to `warn`."""
    repository = start if isinstance(start, Repository) else read_repository(start)
    target = take_snapshot(repository, kind=kind, commit=commit, untracked=untracked, warn=warn)
    found = read_base(
        repository,
        base=base,
        environ=environ,
        configured=configured_base,
        fetch=fetch,
        head=target.commit,
    )
    return Change(
        top=str(repository.top),
        common_dir=str(repository.common_dir),
        branch=repository.branch,
        target=target,
        base=found,
        files=read_changed_files(repository, found.commit, target.snapshot),
        submodules=read_submodules(repository, target.snapshot),
    )


__all__ = ["Repository", "read_change", "read_repository"]
