"""What a run says of steps that its budget did not let come to their end."""

from __future__ import annotations

import pytest

from presubmit import values
from presubmit.out_of_time import BUILD_TOO_LONG, OUT_OF_TIME, out_of_time
from presubmit.values import (
    BaseResults,
    Build,
    Case,
    CaseOutcome,
    LintCommand,
    Mode,
    Outcome,
    Plan,
    PlanStep,
    Role,
    StepResult,
    Tier,
)
from presubmit.verdict import judge

FILES = ("t/test_a.py", "t/test_b.py", "t/test_c.py")


def step(name: str, role: Role, work: Build | values.Tests | LintCommand) -> PlanStep:
    return PlanStep(id=name, role=role, title=name, work=work, origin="", why="")


PLAN = Plan(
    tier=Tier.STANDARD,
    steps=(
        step("build.1", Role.BUILD, Build(mode="none")),
        step(
            "tests.1", Role.TESTS, values.Tests(command=("pytest",), mode=Mode.SCOPED, files=FILES)
        ),
    ),
)
PASSED_BUILD = StepResult(id="build.1", role=Role.BUILD, outcome=Outcome.PASSED)


def stopped(name: str, role: Role, *cases: Case) -> StepResult:
    reason = f"stopped: {OUT_OF_TIME}"
    return StepResult(id=name, role=role, outcome=Outcome.ERROR, reason=reason, cases=cases)


def case(name: str, outcome: CaseOutcome = CaseOutcome.PASSED) -> Case:
    return Case(id=name, outcome=outcome, phase="call" if outcome != "passed" else "")


def test_what_failed_until_the_budget_was_used_up_is_a_failure_and_the_rest_is_not_run() -> None:
    result = stopped(
        *("tests.1", Role.TESTS),
        case("t/test_a.py::test_x"),
        case("t/test_b.py::test_y", CaseOutcome.FAILED),
    )
    found = out_of_time(result, PLAN, FILES)
    assert (found.outcome, len(found.cases)) == (Outcome.FAILED, 2)
    verdict = judge(PLAN, [PASSED_BUILD, found], BaseResults(reason=OUT_OF_TIME))
    assert verdict.exit_code == 1
    assert [it.subject for it in verdict.failures] == ["t/test_b.py::test_y"]
    assert verdict.not_run == ("tests.1: 2 of 3 affected test files not run to their end: budget",)


@pytest.mark.parametrize("allowed", [True, False])
def test_what_passed_until_then_is_incomplete_and_never_green(allowed: bool) -> None:
    result = stopped("tests.1", Role.TESTS, case("t/test_a.py::test_x"))
    found = out_of_time(result, PLAN, FILES)
    verdict = judge(
        PLAN, [PASSED_BUILD, found], BaseResults(reason=OUT_OF_TIME), allow_partial=allowed
    )
    assert (verdict.state, verdict.exit_code) == ("incomplete", 0 if allowed else 4)
    assert verdict.not_run == ("tests.1: 3 of 3 affected test files not run to their end: budget",)


def test_where_all_of_the_suite_runs_the_affected_files_are_counted() -> None:
    whole = Plan(
        tier=Tier.STANDARD,
        steps=(step("tests.1", Role.TESTS, values.Tests(command=("pytest",), mode=Mode.ALL)),),
    )
    found = out_of_time(stopped("tests.1", Role.TESTS), whole, FILES)
    assert found.reason == "3 of 3 affected test files not run to their end: budget"


def test_a_build_that_is_longer_than_the_budget_is_one_clear_line() -> None:
    lacking = StepResult(
        id="tests.1",
        role=Role.TESTS,
        outcome=Outcome.SKIPPED,
        reason="the build error: tests needs it",
    )
    found = [out_of_time(it, PLAN, FILES) for it in (stopped("build.1", Role.BUILD), lacking)]
    verdict = judge(PLAN, found, BaseResults(reason=OUT_OF_TIME))
    assert (verdict.state, verdict.exit_code) == ("incomplete", 4)
    assert verdict.not_run == (f"build.1: {BUILD_TOO_LONG}",)


def test_what_came_to_its_end_stays_as_it_is() -> None:
    assert out_of_time(PASSED_BUILD, PLAN, FILES) == PASSED_BUILD
    failed = StepResult(id="tests.1", role=Role.TESTS, outcome=Outcome.ERROR, reason="crashed")
    assert out_of_time(failed, PLAN, FILES) == failed
