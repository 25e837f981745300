"""Chooses the run that a draft speaks of, and says why it says nothing of this tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from presubmit.drafts.values import RunView
    from presubmit.values import Base


def is_of(run: RunView, tree: str, base: str, snapshot: str) -> bool:
    """Tell whether a run tested this tree against this base; inert untracked files apart."""
    same = run.target.tree == snapshot or run.evidence.get("tree", run.target.tree) == tree
    return same and run.base.commit == base


def choose_run(runs: Sequence[RunView], *, tree: str, base: str, snapshot: str) -> RunView | None:
    """Choose among runs, oldest first: the newest of this tree, or the evidence before it that it does not contradict."""
    ended = [
        run for run in runs if run.state not in {"running", "interrupted", "error"} and run.steps
    ]
    own = [run for run in ended if is_of(run, tree, base, snapshot)]
    if not own:
        return next(iter(reversed(ended or runs)), None)
    newest = own[-1]
    if newest.exit != 0:
        return newest
    whole = [run for run in own if run.exit == 0 and run.evidence.get("why_none") == ""]
    return whole[-1] if whole else max(own, key=_breadth)


def _breadth(run: RunView) -> tuple[bool, int, str]:
    """Weigh a run by what it can say: green, how many roles, then how new."""
    return run.exit == 0, len({step.role for step in run.steps}), run.name


def why_stale(run: RunView, *, tree: str, base: Base, snapshot: str) -> tuple[str, ...]:
    """Say why a run is none of this tree; empty where it is."""
    why = []
    if not is_of(run, tree, run.base.commit, snapshot):
        why.append(f"the run {run.name} tested tree {run.target.tree[:7]}, this is {tree[:7]}")
    if run.base.commit != base.commit:
        why.append(f"its base was {run.base.commit[:7]}, now it is {base.commit[:7]}")
    if run.state in {"running", "interrupted", "error"}:
        why.append(f"the run is {run.state}")
    return tuple(why)
