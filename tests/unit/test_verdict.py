from __future__ import annotations

from typing import Any

import msgspec
import pytest

from presubmit import values
from presubmit.errors import ExitCode
from presubmit.values import (
    BaseResults,
    Build,
    Case,
    CaseOutcome,
    Failure,
    FailureClass,
    Finding,
    LintCommand,
    Mode,
    Outcome,
    Plan,
    PlanStep,
    Reproduces,
    Rerun,
    Role,
    State,
    StepResult,
    Tier,
    Verdict,
)
from presubmit.verdict import counts, definition_of, judge, on_base, same_failure

NEW, ON_BASE, FLAKY, UNKNOWN = (
    FailureClass.NEW,
    FailureClass.ON_BASE,
    FailureClass.FLAKY,
    FailureClass.UNKNOWN,
)
TEST = "tests/test_a.py::test_x[1]"
DEFINITION = "tests/test_a.py::test_x"


def failing(name: str = TEST, **given: Any) -> Case:
    plain: dict[str, Any] = {
        "outcome": CaseOutcome.FAILED,
        "phase": "call",
        "exception": "builtins.AssertionError",
        "frame": "a.py:f",
        "message": "assert 1 == 2",
        "file": "tests/test_a.py",
        "line": 7,
    }
    return Case(id=name, **{**plain, **given})


def passing(name: str = TEST) -> Case:
    return Case(id=name, outcome=CaseOutcome.PASSED)


def step(name: str = "tests.1", role: Role = Role.TESTS, **given: Any) -> PlanStep:
    work: Any = {
        Role.TESTS: values.Tests(command=("pytest",), mode=Mode.SCOPED, files=("a.py", "b.py")),
        Role.LINT: LintCommand(command=("ruff",), tool="ruff", files=("c.py", "d.py")),
        Role.BUILD: Build(mode="editable"),
    }[role]
    return PlanStep(id=name, role=role, title=name, work=work, origin="o", why="w", **given)


def plan(*steps: PlanStep, **given: Any) -> Plan:
    return Plan(tier=Tier.STANDARD, steps=steps, **given)


def ran(*cases: Case, outcome: Outcome = Outcome.FAILED, **given: Any) -> StepResult:
    return StepResult(id="tests.1", role=Role.TESTS, outcome=outcome, cases=cases, **given)


def one(
    case: Case, base: BaseResults, *reruns: Rerun, touched: frozenset[str] = frozenset()
) -> Failure:
    (failure,) = judge(plan(step()), [ran(case, reruns=reruns)], base, touched=touched).failures
    return failure


# --- the classes of a failing test ----------------------------------------------------------------------------------

SAME = BaseResults(tests=(failing(),))
GREEN = BaseResults(tests=(passing(),))
ABSENT = BaseResults(absent=(TEST,))
NOT_ASKED = BaseResults(reason="the base was not asked")
BROKEN = BaseResults(tests_error="the base does not build")
TOUCHED = frozenset({DEFINITION})
NETWORK = failing(message="urllib.error.URLError: <urlopen error [Errno -3]>")
ALONE_AGAIN = Rerun(id=TEST, alone="failed")
FLAKE = Rerun(id=TEST, alone="passed", company="passed")
RECORDED = Rerun(id=TEST, alone="passed", company="passed", recorded=True)

CLASSES = [
    ("it passes on the base", failing(), GREEN, (), frozenset(), NEW, "passed", True),
    ("and failed again", failing(), GREEN, (ALONE_AGAIN,), frozenset(), NEW, "passed", True),
    ("absent on the base", failing(), ABSENT, (), frozenset(), NEW, "absent", True),
    ("the same on the base", failing(), SAME, (), frozenset(), ON_BASE, "failed", False),
    ("only while recorded", failing(), NOT_ASKED, (RECORDED,), TOUCHED, FLAKY, "not run", False),
    ("touched, the same there", failing(), SAME, (), TOUCHED, NEW, "failed", True),
    ("touched, base not asked", failing(), NOT_ASKED, (), TOUCHED, NEW, "not run", True),
    (
        "another phase",
        failing(),
        BaseResults(tests=(failing(phase="setup"),)),
        (),
        frozenset(),
        NEW,
        "failed",
        True,
    ),
    (
        "another exception",
        failing(),
        BaseResults(tests=(failing(exception="builtins.KeyError"),)),
        (),
        frozenset(),
        NEW,
        "failed",
        True,
    ),
    (
        "another frame",
        failing(),
        BaseResults(tests=(failing(frame="b.py:g"),)),
        (),
        frozenset(),
        NEW,
        "failed",
        True,
    ),
    (
        "only the message differs",
        failing(),
        BaseResults(tests=(failing(message="assert 3 == 2", line=9),)),
        (),
        frozenset(),
        ON_BASE,
        "failed",
        False,
    ),
    (
        "skipped on the base",
        failing(),
        BaseResults(tests=(Case(id=TEST, outcome=CaseOutcome.SKIPPED),)),
        (),
        frozenset(),
        NEW,
        "passed",
        True,
    ),
    ("the base was not asked", failing(), NOT_ASKED, (), frozenset(), UNKNOWN, "not run", True),
    ("no result on the base", failing(), BROKEN, (), frozenset(), UNKNOWN, "error", True),
    (
        "the network, base not asked",
        NETWORK,
        NOT_ASKED,
        (),
        frozenset(),
        UNKNOWN,
        "not run",
        True,
    ),
    (
        "the network, base fails otherwise",
        NETWORK,
        SAME,
        (),
        frozenset(),
        UNKNOWN,
        "failed",
        False,
    ),
    ("a flake", failing(), SAME, (FLAKE,), frozenset(), FLAKY, "failed", False),
    (
        "a flake, base not asked",
        failing(),
        NOT_ASKED,
        (FLAKE,),
        frozenset(),
        FLAKY,
        "not run",
        False,
    ),
    (
        "passes alone, fails in company",
        failing(),
        SAME,
        (Rerun(id=TEST, alone="passed", company="failed"),),
        frozenset(),
        NEW,
        "failed",
        True,
    ),
    (
        "passes alone, company not run",
        failing(),
        SAME,
        (Rerun(id=TEST, alone="passed"),),
        frozenset(),
        NEW,
        "failed",
        True,
    ),
    (
        "passes alone, company gave nothing",
        failing(),
        SAME,
        (Rerun(id=TEST, alone="passed", company="error"),),
        frozenset(),
        NEW,
        "failed",
        True,
    ),
    (
        "another test was flaky",
        failing(),
        SAME,
        (Rerun(id="other", alone="passed", company="passed"),),
        frozenset(),
        ON_BASE,
        "failed",
        False,
    ),
]


@pytest.mark.parametrize(
    ("case", "base", "reruns", "touched", "label", "found", "counted"),
    [row[1:] for row in CLASSES],
    ids=[row[0] for row in CLASSES],
)
def test_a_failing_test_is_classed_by_what_the_base_and_its_reruns_gave(
    *,
    case: Case,
    base: BaseResults,
    reruns: tuple[Rerun, ...],
    touched: frozenset[str],
    label: FailureClass,
    found: str,
    counted: bool,
) -> None:
    failure = one(case, base, *reruns, touched=touched)
    assert (label, found, counted) == (failure.label, failure.base, counts(failure))


@pytest.mark.parametrize(
    ("base", "reruns", "touched", "detail"),
    [
        (GREEN, (ALONE_AGAIN,), frozenset(), "again on head: failed"),
        (GREEN, (Rerun(id=TEST, alone="error"),), frozenset(), "again on head: error"),
        (ABSENT, (), frozenset(), "not on the base"),
        (SAME, (), TOUCHED, "the change edits this test"),
        (NOT_ASKED, (), frozenset(), "the base was not asked"),
        (BaseResults(), (), frozenset(), "the base gave no result"),
        (BROKEN, (ALONE_AGAIN,), frozenset(), "the base does not build; again on head: failed"),
        (SAME, (), frozenset(), "fails the same way on the base"),
        (
            BaseResults(tests=(failing(exception="builtins.KeyError"),)),
            (),
            frozenset(),
            "fails otherwise on the base: builtins.KeyError",
        ),
        (
            SAME,
            (RECORDED,),
            frozenset(),
            "failed, then passed in the same setting (it was recorded the first time: run --no-record)",
        ),
        (SAME, (FLAKE,), frozenset(), "failed, then passed in the same setting"),
        (
            GREEN,
            (FLAKE,),
            frozenset(),
            "failed, then passed in the same setting; first seen with this change",
        ),
        (
            NOT_ASKED,
            (FLAKE,),
            TOUCHED,
            "failed, then passed in the same setting; first seen with this change",
        ),
        (
            SAME,
            (Rerun(id=TEST, alone="passed", company="failed"),),
            frozenset(),
            "order-dependent: fails in company, passes alone",
        ),
        (
            SAME,
            (Rerun(id=TEST, alone="passed"),),
            frozenset(),
            "passes alone; the whole shard was not run again",
        ),
    ],
)
def test_a_failure_says_why_it_has_its_class(
    base: BaseResults, reruns: tuple[Rerun, ...], touched: frozenset[str], detail: str
) -> None:
    assert detail == one(failing(), base, *reruns, touched=touched).detail


def test_a_failure_says_where_it_is_and_how_to_see_it_again() -> None:
    failure = one(failing("tests/test a.py::test_x['1']"), BaseResults())
    assert (
        failure.kind,
        failure.step,
        failure.file,
        failure.line,
        failure.message,
    ) == ("test", "tests.1", "tests/test_a.py", 7, "assert 1 == 2")
    assert (
        failure.repro == """presubmit run --only tests -- 'tests/test a.py::test_x['"'"'1'"'"']'"""
    )


@pytest.mark.parametrize("count", [9, 10])
def test_nearly_everything_failing_on_the_base_says_nothing_of_one_test(count: int) -> None:
    cases = [failing(f"t.py::test_{n}") for n in range(count)]
    verdict = judge(plan(step()), [ran(*cases)], BaseResults(tests=tuple(cases)))
    expected = {UNKNOWN} if count == 10 else {ON_BASE}
    assert expected == {failure.label for failure in verdict.failures}


def test_many_failures_on_the_base_among_passing_tests_are_its_own() -> None:
    cases = [failing(f"t.py::test_{n}") for n in range(9)]
    head = ran(*cases, passing("t.py::test_9"))
    verdict = judge(plan(step()), [head], BaseResults(tests=tuple(cases)))
    assert {ON_BASE} == {failure.label for failure in verdict.failures}


@pytest.mark.parametrize(
    ("test", "definition"),
    [
        ("t.py::test_x", "t.py::test_x"),
        ("t.py::test_x[a-b]", "t.py::test_x"),
        ("t.py::A::test_x[a::b[c]]", "t.py::A::test_x"),
        ("a[1]/t.py::test_x[2]", "a[1]/t.py::test_x"),
        ("t.py", "t.py"),
    ],
)
def test_the_definition_of_a_test_has_no_parameters(test: str, definition: str) -> None:
    assert definition == definition_of(test)


def test_the_base_did_not_run_what_it_was_not_asked() -> None:
    assert on_base("other", GREEN) == ("not run", None)


def test_two_failures_are_one_where_phase_exception_and_frame_are() -> None:
    assert same_failure(failing(), failing(message="other"))


# --- findings -------------------------------------------------------------------------------------------------------


def finding(file: str = "a.py", code: str = "E1", line: int | None = 3, **given: Any) -> Finding:
    plain = {"kind": "lint", "subject": f"{file}: {code} bad", "tool": "ruff", "message": "bad"}
    return Finding(**{**plain, **given}, file=file, line=line, code=code)


def linted(*findings: Finding, outcome: Outcome = Outcome.FAILED, **given: Any) -> StepResult:
    return StepResult(id="lint.1", role=Role.LINT, outcome=outcome, findings=findings, **given)


def lint_classes(
    head: StepResult, base: StepResult | None, *, renamed: dict[str, str] | None = None
) -> list[tuple[FailureClass, str]]:
    given = BaseResults(lint={} if base is None else {"lint.1": base})
    verdict = judge(plan(step("lint.1", Role.LINT)), [head], given, renamed=renamed)
    return [(failure.label, failure.base) for failure in verdict.failures]


def test_a_finding_that_the_base_does_not_have_is_new() -> None:
    base = linted(finding(code="E2"))
    assert lint_classes(linted(finding()), base) == [(NEW, "passed")]


def test_a_finding_on_a_base_that_is_clean_is_new() -> None:
    assert lint_classes(linted(finding()), linted(outcome=Outcome.PASSED)) == [(NEW, "passed")]


def test_a_finding_that_the_base_has_on_another_line_is_on_the_base() -> None:
    assert lint_classes(linted(finding()), linted(finding(line=99))) == [(ON_BASE, "failed")]


def test_a_second_finding_of_the_same_text_is_new() -> None:
    head = linted(finding(line=1), finding(line=2), finding(line=3))
    base = linted(finding(line=1), finding(line=9))
    assert lint_classes(head, base) == [(ON_BASE, "failed"), (ON_BASE, "failed"), (NEW, "passed")]


def test_a_finding_in_a_renamed_file_is_found_under_its_old_name() -> None:
    base = linted(finding("old.py"))
    assert lint_classes(linted(finding("new.py")), base, renamed={"old.py": "new.py"}) == [
        (ON_BASE, "failed")
    ]


def test_a_finding_in_a_file_of_the_old_name_is_not_that_of_the_renamed_one() -> None:
    base = linted(finding("old.py"))
    assert lint_classes(linted(finding("old.py")), base, renamed={"old.py": "new.py"}) == [
        (NEW, "passed")
    ]


def test_a_finding_on_a_base_that_was_not_asked_is_unknown() -> None:
    assert lint_classes(linted(finding()), None) == [(UNKNOWN, "not run")]


@pytest.mark.parametrize("outcome", [Outcome.ERROR, Outcome.SKIPPED])
def test_a_finding_on_a_base_that_gave_no_result_is_unknown(outcome: Outcome) -> None:
    base = linted(outcome=outcome, reason="no network")
    assert lint_classes(linted(finding()), base) == [(UNKNOWN, "error")]


@pytest.mark.parametrize("base", [None, linted(outcome=Outcome.ERROR)])
def test_an_unknown_finding_counts_as_a_new_one(base: StepResult | None) -> None:
    given = BaseResults(lint={} if base is None else {"lint.1": base})
    verdict = judge(plan(step("lint.1", Role.LINT)), [linted(finding())], given)
    assert (verdict.state, verdict.exit_code) == (State.FAILED, 1)


@pytest.mark.parametrize(
    ("found", "subject"),
    [
        (finding(), "a.py:3"),
        (finding(line=None), "a.py"),
        (finding(file="", line=None, subject="hook"), "hook"),
    ],
)
def test_a_finding_is_named_by_its_place(found: Finding, subject: str) -> None:
    (failure,) = judge(plan(step("lint.1", Role.LINT)), [linted(found)], BaseResults()).failures
    assert (subject, "E1 bad", "presubmit run --only lint.1") == (
        failure.subject,
        failure.message,
        failure.repro,
    )


def test_advice_is_never_a_failure() -> None:
    head = linted(outcome=Outcome.PASSED, advice=(finding(),))
    assert judge(plan(step("lint.1", Role.LINT)), [head], BaseResults()).failures == ()


# --- builds ---------------------------------------------------------------------------------------------------------


def built(outcome: Outcome, *, message: str = "no header x.h") -> StepResult:
    found = Finding(kind="build", subject=f"build: {message}", tool="pip", message=message)
    return StepResult(
        id="build.1",
        role=Role.BUILD,
        outcome=outcome,
        reason="the build failed",
        findings=(found,) if outcome is Outcome.FAILED else (),
    )


BUILD_PLAN = plan(step("build.1", Role.BUILD), step(needs=("build.1",)))
SKIPPED_TESTS = ran(outcome=Outcome.SKIPPED, reason="the build failed: tests needs it")


@pytest.mark.parametrize(
    ("base", "label", "found", "exit_code"),
    [
        (built(Outcome.PASSED), NEW, "passed", ExitCode.FAILED),
        (built(Outcome.FAILED), ON_BASE, "failed", ExitCode.INCOMPLETE),
        (built(Outcome.FAILED, message="no compiler"), NEW, "passed", ExitCode.FAILED),
        (built(Outcome.ERROR), UNKNOWN, "error", ExitCode.FAILED),
        (None, UNKNOWN, "not run", ExitCode.FAILED),
    ],
    ids=["builds", "fails the same way", "fails otherwise", "error", "not asked"],
)
def test_a_failed_build_is_classed_by_the_bases_build(
    base: StepResult | None, label: FailureClass, found: str, exit_code: int
) -> None:
    verdict = judge(BUILD_PLAN, [built(Outcome.FAILED), SKIPPED_TESTS], BaseResults(build=base))
    (failure,) = verdict.failures
    assert (label, found, exit_code) == (failure.label, failure.base, verdict.exit_code)
    assert verdict.not_run == ("tests.1: the build failed: tests needs it",)


# --- how a run ends -------------------------------------------------------------------------------------------------

PASSED = ran(passing(), outcome=Outcome.PASSED)
RED = ran(failing())
LINT_PLAN = plan(step(), step("lint.1", Role.LINT))


def end(verdict: Verdict) -> tuple[State, int]:
    return verdict.state, verdict.exit_code


def test_a_run_in_which_all_passed_has_passed() -> None:
    assert end(judge(plan(step()), [PASSED], BaseResults())) == (State.PASSED, 0)


def test_an_empty_plan_has_nothing_to_check() -> None:
    assert end(judge(plan(), [], BaseResults())) == (State.NOTHING, 0)


def test_a_new_failure_fails_the_run() -> None:
    assert end(judge(plan(step()), [RED], GREEN)) == (State.FAILED, 1)


@pytest.mark.parametrize("base", [SAME, BaseResults(tests=(failing(),))])
def test_failures_of_the_base_alone_leave_a_run_green(base: BaseResults) -> None:
    assert end(judge(plan(step()), [RED], base)) == (State.PASSED, 0)


@pytest.mark.parametrize("base", [BROKEN, NOT_ASKED, BaseResults()])
def test_a_failure_without_a_result_on_the_base_fails_the_run(base: BaseResults) -> None:
    assert end(judge(plan(step()), [RED], base)) == (State.FAILED, 1)


def test_an_error_of_ours_is_not_the_contributors_failure() -> None:
    verdict = judge(plan(step()), [ran(outcome=Outcome.ERROR, reason="no memory")], GREEN)
    assert end(verdict) == (State.ERROR, 3)
    assert verdict.not_run == ("tests.1: no memory",)


def test_a_failure_weighs_more_than_an_error() -> None:
    lint = linted(outcome=Outcome.ERROR, reason="no ruff")
    verdict = judge(LINT_PLAN, [RED, lint], GREEN)
    assert end(verdict) == (State.FAILED, 1)
    assert verdict.not_run == ("lint.1: no ruff",)


def test_a_failure_in_a_step_that_broke_off_is_a_failure() -> None:
    broken_off = ran(failing(), outcome=Outcome.ERROR, reason="out of time")
    assert end(judge(plan(step()), [broken_off], GREEN)) == (State.FAILED, 1)


def test_a_failing_case_counts_though_its_step_says_that_it_passed() -> None:
    said = ran(failing(), outcome=Outcome.PASSED)
    assert end(judge(plan(step()), [said], GREEN)) == (State.FAILED, 1)


def test_a_failed_step_without_a_case_or_finding_is_never_green() -> None:
    verdict = judge(plan(step()), [ran(passing(), reason="exit 1")], SAME)
    assert end(verdict) == (State.FAILED, 1)
    assert [(failure.kind, failure.subject, failure.message) for failure in verdict.failures] == [
        ("test", "tests.1", "exit 1")
    ]


def test_a_planned_step_without_a_result_is_an_error() -> None:
    verdict = judge(LINT_PLAN, [PASSED], BaseResults())
    assert end(verdict) == (State.ERROR, 3)
    assert verdict.not_run == ("lint.1: it gave no result",)


@pytest.mark.parametrize("allow_partial", [False, True])
def test_a_planned_step_without_a_result_is_never_green(*, allow_partial: bool) -> None:
    verdict = judge(plan(step()), [], BaseResults(), allow_partial=allow_partial)
    assert end(verdict) == (State.ERROR, 3)


def test_an_error_in_a_step_that_is_not_required_leaves_a_run_green() -> None:
    lint = linted(outcome=Outcome.ERROR, required=False)
    assert end(judge(LINT_PLAN, [PASSED, lint], BaseResults())) == (State.PASSED, 0)


PARTIAL = [
    (LINT_PLAN, [PASSED, linted(outcome=Outcome.SKIPPED, reason="r")], "lint.1: r"),
    (
        plan(step(), step("lint.1", Role.LINT), budget_cut=("x.py", "y.py")),
        [PASSED, linted(outcome=Outcome.PASSED)],
        "2 of 4 affected test files not run: budget",
    ),
    (
        plan(step(), budget_cut=("x.py::test_a", "x.py::test_b")),
        [PASSED],
        "2 of 4 affected tests (a file counts as one) not run: budget",
    ),
    (
        plan(step(), elsewhere=("x.py", "y.py", "z.py")),
        [PASSED],
        "3 of 5 affected test files not run: they are other shards'",
    ),
    (plan(step(), unavailable=("benchmarks: none",)), [PASSED], "benchmarks: none"),
]


@pytest.mark.parametrize(("made", "results", "why"), PARTIAL)
def test_a_run_that_left_out_something_required_is_incomplete(
    made: Plan, results: list[StepResult], why: str
) -> None:
    verdict = judge(made, results, BaseResults())
    assert end(verdict) == (State.INCOMPLETE, 4)
    assert (why,) == verdict.not_run


@pytest.mark.parametrize(("made", "results", "why"), PARTIAL)
def test_allow_partial_makes_an_incomplete_run_exit_0_and_leaves_it_incomplete(
    made: Plan, results: list[StepResult], why: str
) -> None:
    verdict = judge(made, results, BaseResults(), allow_partial=True)
    assert end(verdict) == (State.INCOMPLETE, 0)


def test_a_skipped_step_that_is_not_required_leaves_a_run_green() -> None:
    lint = linted(outcome=Outcome.SKIPPED, required=False)
    assert end(judge(LINT_PLAN, [PASSED, lint], BaseResults())) == (State.PASSED, 0)


def test_allow_partial_does_not_forgive_a_failure() -> None:
    made = plan(step(), budget_cut=("x.py",))
    assert end(judge(made, [RED], GREEN, allow_partial=True)) == (State.FAILED, 1)


def test_notes_and_what_new_tests_reproduce_are_passed_on() -> None:
    reproduces = (Reproduces(test="t", fails_without_change=True),)
    head = ran(passing(), outcome=Outcome.PASSED, notes=("n",))
    verdict = judge(plan(step()), [head], BaseResults(reproduces=reproduces))
    assert (("n",), reproduces) == (verdict.notes, verdict.reproduces)


# --- jobs of upstream -------------------------------------------------------------------------------------------------

CELL = "ci.yml/tests"


def job_result(*subjects: str, outcome: Outcome = Outcome.FAILED, **given: Any) -> StepResult:
    findings = tuple(
        Finding(kind="job", subject=f"{CELL}: {subject}", tool="upstream", message=subject)
        for subject in subjects
    )
    return StepResult(id=CELL, role=Role.UPSTREAM, outcome=outcome, findings=findings, **given)


def judged(head: StepResult, base: StepResult | None) -> Verdict:
    work = values.Replay(cell=CELL)
    planned = PlanStep(id=CELL, role=Role.UPSTREAM, title=CELL, work=work, origin="o", why="w")
    return judge(plan(planned), [head], BaseResults(lint={CELL: base} if base else {}))


def test_a_test_of_a_job_that_fails_on_the_base_as_well_is_on_the_base() -> None:
    verdict = judged(job_result("t.py::a", "t.py::b"), job_result("t.py::a"))
    assert [(f.label, f.base) for f in verdict.failures] == [(ON_BASE, "failed"), (NEW, "passed")]
    assert end(verdict) == (State.FAILED, ExitCode.FAILED)


def test_only_tests_that_fail_on_the_base_leave_a_job_green() -> None:
    assert end(judged(job_result("t.py::a"), job_result("t.py::a"))) == (State.PASSED, ExitCode.OK)


def test_a_step_that_fails_on_the_base_with_the_same_words_tells_nothing() -> None:
    verdict = judged(job_result("make [1a]"), job_result("make [1a]"))
    assert [f.label for f in verdict.failures] == [ON_BASE]
    assert end(verdict) == (State.INCOMPLETE, ExitCode.INCOMPLETE)


def test_a_step_that_fails_on_the_base_with_other_words_is_new() -> None:
    (failure,) = judged(job_result("make [1a]"), job_result("make [2b]")).failures
    assert (failure.label, failure.base, failure.detail) == (
        NEW,
        "failed",
        "fails otherwise on the base",
    )


def test_steps_that_an_old_failure_keeps_from_running_leave_the_job_incomplete() -> None:
    head = job_result("t.py::a", cut="not reached after the failure: mypy")
    verdict = judged(head, job_result("t.py::a"))
    assert end(verdict) == (State.INCOMPLETE, ExitCode.INCOMPLETE)
    assert verdict.not_run == (f"{CELL}: not reached after the failure: mypy",)


def test_a_failing_job_is_repeated_by_replay() -> None:
    (failure,) = judged(job_result("make [1a]"), None).failures
    assert (failure.kind, failure.repro) == ("job", f"presubmit replay {CELL}")


# --- a second run with another variable ---------------------------------------------------------------------------------


def second(case: Case, base: BaseResults) -> Failure:
    result = msgspec.structs.replace(ran(case), id="tests.pure")
    (failure,) = judge(plan(step("tests.pure")), [result], base).failures
    return failure


def test_what_the_base_does_usually_says_nothing_of_a_second_run() -> None:
    assert second(failing(), SAME).label is UNKNOWN
    assert second(failing(), SAME).base == "not run"


def test_a_second_run_is_classed_by_the_bases_own_second_run() -> None:
    fails = BaseResults(tests=(passing(),), by_step={"tests.pure": SAME})
    passes = BaseResults(tests=(failing(),), by_step={"tests.pure": GREEN})
    assert second(failing(), fails).label is ON_BASE
    assert second(failing(), passes).label is NEW


def test_a_base_that_does_not_build_leaves_a_second_run_unknown() -> None:
    assert second(failing(), BROKEN).label is UNKNOWN
    assert second(failing(), BROKEN).base == "error"


def test_the_command_to_repeat_a_second_run_names_its_step() -> None:
    assert "--only tests.pure -- " in second(failing(), GREEN).repro
    assert "--only tests -- " in one(failing(), GREEN).repro
