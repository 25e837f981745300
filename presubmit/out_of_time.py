"""What becomes of the steps of a run whose budget ended before they did: what was not run is said, none of it is green."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from presubmit.values import CaseOutcome, Outcome, Role, Tests

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from presubmit.values import Plan, StepResult

OUT_OF_TIME: Final = "the budget is used up"
BUILD_TOO_LONG: Final = "the build alone took longer than the budget: run once without it"
_FAILING: Final = frozenset({CaseOutcome.FAILED, CaseOutcome.ERROR})


def is_stopped(result: StepResult) -> bool:
    """Whether a step was ended by us, and not by its own fault."""
    return result.outcome is Outcome.ERROR and result.reason.startswith("stopped:")


def out_of_time(result: StepResult, plan: Plan, affected: Sequence[str]) -> StepResult:
    """Say of a step of a run that is out of time what it did and what it did not; `affected` are the test files. Pure."""
    if _lacks_build(result):
        # One line says it, at the build.
        return msgspec.structs.replace(result, reason="the build took the budget", required=False)
    if not is_stopped(result):
        return result
    if result.role is Role.BUILD:
        return msgspec.structs.replace(result, outcome=Outcome.SKIPPED, reason=BUILD_TOO_LONG)
    work = next((step.work for step in plan.steps if step.id == result.id), None)
    if not isinstance(work, Tests):
        return msgspec.structs.replace(result, outcome=Outcome.SKIPPED, reason=OUT_OF_TIME)
    text = _not_run(work.files or tuple(affected), [case.id for case in result.cases])
    failing = sum(case.outcome in _FAILING for case in result.cases)
    if not failing:
        return msgspec.structs.replace(result, outcome=Outcome.SKIPPED, reason=text)
    return msgspec.structs.replace(
        result,
        outcome=Outcome.FAILED,
        reason=f"{failing} failed until the budget was used up",
        cut=text,
    )


def _lacks_build(result: StepResult) -> bool:
    skipped = result.outcome is Outcome.SKIPPED
    return skipped and result.reason.startswith(f"the build {Outcome.ERROR}:")


def _not_run(files: Iterable[str], ran: Sequence[str]) -> str:
    """Count the files of which nothing ran, and the one that ran when time was up: the last of them."""
    files = set(files)
    met = dict.fromkeys(one.partition("::")[0] for one in ran)
    done = set(list(met)[:-1]) & files
    return f"{len(files) - len(done)} of {len(files)} affected test files not run to their end: budget"
