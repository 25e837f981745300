"""Runs failing tests again, each time where nothing is left of the run before, to tell a flake from a failure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from presubmit.values import CaseOutcome, Mode, Outcome, Rerun

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from presubmit.values import StepResult, Tests

# A whole shard is run a second time, to tell a flake from a test that fails in company only, if it took less.
MOST_COMPANY_SECONDS: Final = 300.0
_FAILING: Final = frozenset({CaseOutcome.FAILED, CaseOutcome.ERROR})


def rerun(
    work: Tests, first: StepResult, again: Callable[[Tests, str], StepResult]
) -> tuple[Rerun, ...]:
    """Run failing tests again: alone first; those that pass alone once more in the whole shard.

    A pass counts as `flaky` only in the same setting; failing in company and passing alone is another thing
    (DESIGN, section 3). `again(work, name)` runs tests on the sources as they were, in a box without leftovers:
    a file that the first attempt wrote must not make the second one pass. Nothing is recorded again, so a test that
    fails of being recorded passes here.
    """
    recorded = first.recording != ""
    work = msgspec.structs.replace(work, record=None)
    failing = [c.id for c in first.cases if c.outcome in _FAILING and c.phase != "collect"]
    failing = failing[: work.max_retried]
    if not failing or not work.retries or first.outcome is not Outcome.FAILED:
        return ()
    alone: dict[str, str] = {}
    for number in range(1, work.retries + 1):
        left = [test for test in failing if alone.get(test) != "passed"]
        if not left:
            break
        narrow = msgspec.structs.replace(
            work,
            mode=Mode.SCOPED,
            files=(),
            ids=tuple(left),
            within=(),
            without=(),
            exit_first=False,
            arguments=(),
        )
        alone |= outcomes(again(narrow, f"again{number}"), left)
    company: dict[str, str] = {}
    passed = [test for test in failing if alone.get(test) == "passed"]
    if passed and len(first.cases) == 1:
        company = dict.fromkeys(passed, "passed")  # it was alone in its shard: the same setting
    elif passed and first.seconds <= MOST_COMPANY_SECONDS:
        company = outcomes(again(work, "company"), passed)
    return tuple(
        Rerun(
            id=test,
            alone=alone.get(test, "error"),
            company=company.get(test, ""),
            recorded=recorded,
        )
        for test in failing
    )


def outcomes(result: StepResult, ids: Sequence[str]) -> dict[str, str]:
    """Give `passed`, `failed`, `skipped` or `error` (no outcome at all) for each id."""
    known = {case.id: case for case in result.cases}
    given = {}
    for test in ids:
        case = known.get(test)
        if case is None:
            given[test] = "error"
        elif case.outcome in _FAILING:
            given[test] = "failed"
        else:
            given[test] = "skipped" if case.outcome is CaseOutcome.SKIPPED else "passed"
    return given
