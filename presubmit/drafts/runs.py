"""Chooses the run that a draft speaks of, and says why it says nothing of this tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

from presubmit import __version__
from presubmit.evidence_key import why_not

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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
    # What `--matrix all` replayed beside a run is told in that run's own file.
    beside = {run.matrix.get("run") for run in runs}
    own = [run for run in ended if is_of(run, tree, base, snapshot) and run.name not in beside]
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


def why_stale(
    run: RunView,
    row: Mapping[str, str] | None,
    *,
    tree: str,
    base: Base,
    snapshot: str,
    settings: str,
    differs: str = "",
) -> tuple[str, ...]:
    """Say why a run shows nothing of this tree; empty where its evidence holds.

    `row` is what the history has of the run's files as they are now, `differs` names what of the tree was edited.
    """
    why = []
    if not is_of(run, tree, run.base.commit, snapshot):
        edited = f"; it differs in {differs}" if differs else ""
        why.append(
            f"the run {run.name} tested tree {run.target.tree[:7]}, this is {tree[:7]}{edited}"
        )
    if run.base.commit != base.commit:
        why.append(f"its base was {run.base.commit[:7]}, now it is {base.commit[:7]}")
    if run.state in {"running", "interrupted", "error"}:
        why.append(f"the run is {run.state}")
    if why:
        return tuple(why)
    lost = why_no_evidence(row, tree=tree, base=base.commit, settings=settings)
    return (f"the run {run.name}: {lost}",) if lost else ()


def why_no_evidence(row: Mapping[str, str] | None, *, tree: str, base: str, settings: str) -> str:
    """Say why what the history has of a run's files does not hold; empty where it does."""
    if row is None:
        return "its files are not as a presubmit run here wrote them"
    if row["tree"] != tree:
        return f"it is evidence for tree {row['tree'][:7]}, this is {tree[:7]}"
    return why_not(row, base=base, settings=settings, tool=__version__)
