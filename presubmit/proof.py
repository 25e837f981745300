"""Reads what a run is evidence for: the tree that a push of it has, and whether it was run as a push would have it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from presubmit import convention
from presubmit.change.base import read_base
from presubmit.change.diff import read_changed_files
from presubmit.change.git import shown
from presubmit.change.snapshot import tree_without
from presubmit.errors import ExitCode, GitError
from presubmit.evidence import RunEvidence, explained, holding
from presubmit.evidence_key import in_words, settings_digest
from presubmit.history import History
from presubmit.reading import RunOptions, at_users_place, read_all
from presubmit.report.folder import run_digest
from presubmit.report.machine import now
from presubmit.values import Tier, builtins_of
from presubmit.where import history_path

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from presubmit.reading import Reading
    from presubmit.values import Change


def depends_on_untracked(change: Change) -> tuple[str, ...]:
    """Give the untracked files that code may import, compile or read: without them the verdict may be another."""
    return tuple(
        path
        for path in change.target.untracked
        if path.endswith((".py", ".pyi", ".toml", ".cfg", ".ini", ".json", ".yaml", ".yml"))
        or convention.is_native(path)
        or "/" in path
    )


def evidence_tree(reading: Reading) -> tuple[str, tuple[str, ...]]:
    """Give the tree that a commit of what was tested has, and the untracked files that it must have.

    Untracked files on which nothing depends are not part of it, so that a note beside the sources costs nothing.
    """
    needed = depends_on_untracked(reading.change)
    target = reading.change.target
    inert = tuple(path for path in target.untracked if path not in needed)
    return tree_without(reading.repository, target.tree, inert), needed


def keep_run_evidence(
    reading: Reading,
    history: History,
    folder: Path,
    environ: Mapping[str, str],
    *,
    cut: str,
) -> None:
    """Write down what a run that came to its end has written, and what for; `cut` says why it was less than a tier."""
    base = reading.change.base
    row = RunEvidence(
        digest=run_digest(folder),
        tree=evidence_tree(reading)[0],
        base=base.commit,
        base_ref=base.ref,
        settings=settings_digest(environ),
        cut=cut,
        at=now(),
    )
    history.write_run_evidence(builtins_of(row))


def names_another_base(reading: Reading, options: RunOptions, environ: Mapping[str, str]) -> bool:
    """Tell whether `--base` names another commit than a push is compared with."""
    if not options.base:
        return False
    try:
        found = read_base(
            reading.repository,
            base=None,
            environ=environ,
            configured=reading.config.config.base or None,
            fetch=False,
            head=reading.change.target.commit,
        )
    except GitError:
        return True
    return found.commit != reading.change.base.commit


def narrowing(options: RunOptions) -> tuple[str, ...]:
    """Give the options by which less was run than the tier has."""
    found = []
    if options.tests == "nearest" and options.tier is not Tier.QUICK:
        found.append("--tests nearest")
    if options.arguments:
        found.append("arguments after `--`")
    if options.last_failed:
        found.append("--last-failed")
    found += [f"{name} on the command line" for name in options.config if name != "tests.record"]
    return tuple(found)


def say_evidence(start: Path, environ: Mapping[str, str]) -> tuple[tuple[str, ...], ExitCode]:
    """Say what evidence the worktree's tree has; INCOMPLETE where none holds."""
    reading = read_all(at_users_place(RunOptions(start=start), environ), environ)
    tree, untracked = evidence_tree(reading)
    base, settings = reading.change.base, settings_digest(environ)
    with History(history_path(reading)) as history:
        rows = history.tier_evidence(tree)
        nearest = history.newest_evidence() if not rows else None
        skipped = history.skipped_pushes(tree)
    lines = [*explained(rows, base=base.commit, settings=settings)]
    if not rows:
        lines.append(f"no evidence for tree {tree[:7]}")
    if nearest is not None:
        lines.append(_differs(reading, nearest, tree))
    if untracked:
        lines.append(f"depends on untracked: {', '.join(untracked)}")
    lines += [f"pushed untested at {at}: {reason}" for at, reason in skipped]
    holds = holding(rows, base=base.commit, settings=settings) is not None
    return tuple(lines), ExitCode.OK if holds else ExitCode.INCOMPLETE


def _differs(reading: Reading, row: Mapping[str, Any], tree: str) -> str:
    """Say how the tree differs from the one that was tested last."""
    files = differing_files(reading, row["tree"], tree)
    edited = f"; it differs in {files}" if files else ""
    return f"the last tree with evidence: {in_words(row)}{edited}"


def differing_files(reading: Reading, tested: str, tree: str) -> str:
    """Name the files in which two trees differ; empty where one of them is not there any more."""
    try:
        files = read_changed_files(reading.repository, tested, tree)
    except GitError:  # it was never committed, and its objects are gone
        return ""
    return shown(file.path for file in files)
