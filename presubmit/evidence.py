"""Says when a run is evidence, of what, and why evidence that is there does not hold. Pure, but for the tree it is for."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from presubmit import __version__
from presubmit.evidence_key import TIERS, in_words, why_not
from presubmit.values import FailureClass, Outcome, Plan, State, Value, encode

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from presubmit.values import StepResult, Verdict


class Evidence(Value, frozen=True, kw_only=True):
    """The whole required plan of a tier ran green: a row of the history (`evidence_key.COLUMNS`)."""

    tree: str
    """The tree that a commit of what was tested has; with the untracked files that it depends on."""
    base: str
    settings: str
    tool: str = __version__
    tier: str
    base_ref: str
    place: str
    """`image NAME sha256:…`, or `host, Python 3.11.2`."""
    plan: str
    """Digest of the plan."""
    at: str
    untracked: str = ""
    """Untracked files that the tree holds since the tests may depend on them."""
    on_base: int = 0
    """Failures that the base has as well."""


class RunEvidence(Value, frozen=True, kw_only=True):
    """A run came to its end, and this is what it wrote: a row of the history (`history.RUN_COLUMNS`)."""

    digest: str
    """Of the run's files (`report.folder.run_digest`)."""
    tree: str
    """As in `Evidence`."""
    base: str
    base_ref: str
    settings: str
    tool: str = __version__
    cut: str
    """Why less was asked for than a push needs; empty where the whole plan of the tier was."""
    at: str


class How(Value, frozen=True, kw_only=True):
    """How a run was asked for, as far as that decides whether it is evidence."""

    named_base: bool
    """`--base` named another commit than the one that would be found."""
    narrowed: tuple[str, ...]
    """Options that cut what is run, as written."""
    on_host: bool
    host_is_users: bool
    """The user's own configuration says that tests run on the host."""


def why_none(plan: Plan, results: Sequence[StepResult], verdict: Verdict, how: How) -> str:
    """Say why a run is no evidence; empty where it is."""
    return next(_reasons(plan, results, verdict, how), "")


def _reasons(
    plan: Plan, results: Sequence[StepResult], verdict: Verdict, how: How
) -> Iterator[str]:
    if verdict.state not in {State.PASSED, State.NOTHING} or verdict.exit_code != 0:
        yield f"the run is {verdict.state}"
    yield from _cuts(plan, how)
    for what in verdict.not_run:
        yield f"not run: {what}"
    whole = {result.id for result in results if _is_whole(result)}
    for step in plan.steps:
        if step.required and step.id not in whole:
            yield f"{step.title} did not run whole"
    if any(it.label is not FailureClass.ON_BASE for it in verdict.failures):
        yield "a failure is flaky, or of nobody knows whom"


def why_cut(plan: Plan, how: How) -> str:
    """Say why a run was asked for less than a push needs, whatever came of it; empty where it was not."""
    return next(_cuts(plan, how), "")


def _cuts(plan: Plan, how: How) -> Iterator[str]:
    for cut in (*how.narrowed, *plan.incomplete, *plan.unavailable):
        yield f"not the whole tier ran: {cut}"
    if plan.budget_cut or plan.elsewhere:
        yield "not every affected test ran"
    if how.named_base:
        yield "--base named another base than a push has"
    if how.on_host and not how.host_is_users:
        yield "it ran on the host, which your own configuration does not say (`host = true`)"


def _is_whole(result: StepResult) -> bool:
    # Failures that are not the base's own were seen before.
    return result.outcome in {Outcome.PASSED, Outcome.FAILED} and not result.cut


def plan_digest(plan: Plan) -> str:
    """Name a plan by what it does; how long that is expected to take does not count."""
    steps = [(step.id, encode(step.work)) for step in plan.steps if step.required]
    text = b"".join(name.encode() + b"\0" + work for name, work in steps)
    return hashlib.sha256(text).hexdigest()[:16]


def on_base(verdict: Verdict) -> int:
    """Count the failures that the base has as well."""
    return sum(1 for it in verdict.failures if it.label is FailureClass.ON_BASE)


def holding(
    rows: Iterable[Mapping[str, Any]], *, base: str, settings: str, tier: str = TIERS[0]
) -> Mapping[str, Any] | None:
    """Give the widest evidence that holds, of this tier at least."""
    enough = TIERS[TIERS.index(tier) :]
    for row in rows:
        if row["tier"] in enough and not why_not(
            row, base=base, settings=settings, tool=__version__
        ):
            return row
    return None


def explained(rows: Sequence[Mapping[str, Any]], *, base: str, settings: str) -> tuple[str, ...]:
    """Say of each row whether it holds, and if not, what differs."""
    lines: list[str] = []
    for row in rows:
        differs = why_not(row, base=base, settings=settings, tool=__version__)
        lines.append(
            f"holds no more: {in_words(row)}: {differs}" if differs else f"holds: {in_words(row)}"
        )
    return tuple(lines)
