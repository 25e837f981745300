from __future__ import annotations

from typing import TYPE_CHECKING

from presubmit import values
from presubmit.history import RecordedRun
from presubmit.record import (
    alone,
    failing_tests,
    lost_reasons,
    said_of_tests,
    summary,
    without_files,
)
from presubmit.selector.recorded_index import Index, pack
from presubmit.selector.recorded_store import Stored
from presubmit.selector.recording import Ran
from presubmit.values import (
    Case,
    CaseOutcome,
    Counts,
    Mode,
    Outcome,
    Plan,
    PlanStep,
    Rerun,
    Role,
    StepResult,
    Tier,
)

if TYPE_CHECKING:
    from presubmit.values import Work

KNOWN = ("tests/test_a.py", "tests/test_b.py")


def step(name: str, work: Work) -> PlanStep:
    return PlanStep(id=name, role=Role.TESTS, title=name, work=work, origin="", why="")


def plan(*steps: PlanStep) -> Plan:
    return Plan(tier=Tier.STANDARD, steps=steps)


def works(found: Plan) -> list[tuple[str, ...]]:
    return [it.work.files for it in found.steps if isinstance(it.work, values.Tests)]


def test_files_that_are_recorded_are_not_run_again() -> None:
    whole = plan(step("tests.1", values.Tests(command=(), mode=Mode.ALL)))
    found = without_files(whole, ["tests/test_a.py"], KNOWN)
    assert works(found) == [("tests/test_b.py",)]


def test_a_shard_of_which_all_is_recorded_is_no_step() -> None:
    shards = plan(
        step("tests.1", values.Tests(command=(), mode=Mode.SCOPED, files=KNOWN[:1])),
        step("tests.2", values.Tests(command=(), mode=Mode.SCOPED, files=KNOWN[1:])),
    )
    assert works(without_files(shards, ["tests/test_a.py"], KNOWN)) == [("tests/test_b.py",)]


def test_a_plan_of_which_all_is_recorded_is_empty() -> None:
    whole = plan(step("tests.1", values.Tests(command=(), mode=Mode.ALL)))
    assert without_files(whole, KNOWN, KNOWN).steps == ()


def stored(*contexts: Ran) -> Stored:
    rows = pack(contexts)
    run = RecordedRun(
        tree="t",
        environment="e",
        setting="s",
        python="3",
        core="ctrace",
        commit="",
        at="",
        files={},
    )
    return Stored(
        number=1, run=run, index=Index(lambda keys: {k: rows[k] for k in keys if k in rows})
    )


def test_the_last_line_counts_the_tests_and_those_without_a_sound_record() -> None:
    found = stored(
        Ran(context="test:tests/test_a.py::test_x"),
        Ran(context="test:tests/test_a.py::test_y", outcome="failed"),
        Ran(context="collect:tests/test_a.py"),
    )
    result = StepResult(
        id="tests.1",
        role=Role.TESTS,
        outcome=Outcome.PASSED,
        seconds=61.2,
        cases=(Case(id="tests/test_a.py::test_x", outcome=CaseOutcome.PASSED),),
    )
    assert summary(found, [result], {"tests/test_a.py": 33.0}, 70.0) == (
        "recorded 2 tests in 61 s (plain 33 s), 1 without a sound record: 1 failed (tests/test_a.py::test_y)"
    )


def test_the_last_line_says_where_nothing_is_recorded() -> None:
    assert summary(None, [], {}, 3.0) == "nothing is recorded of this tree, after 3 s"


def test_the_last_line_gives_the_cases_where_all_of_them_ran() -> None:
    found = stored(Ran(context="test:t.py::test_x"), Ran(context="test:t.py::test_y"))
    cases = tuple(
        Case(id=f"t.py::{name}", outcome=CaseOutcome.PASSED)
        for name in ("test_x[1]", "test_x[2]", "test_y")
    )
    result = StepResult(id="tests.1", role=Role.TESTS, outcome=Outcome.PASSED, cases=cases)
    assert "recorded 2 tests (3 cases) in" in summary(found, [result], {}, 1.0)
    again = stored(*map(_ran, ("test_x", "test_y", "test_before")))
    assert "cases" not in summary(again, [result], {}, 1.0)


def _ran(name: str) -> Ran:
    return Ran(context=f"test:t.py::{name}")


def test_every_reason_for_a_lost_record_has_its_first_test() -> None:
    found = stored(
        Ran(context="test:t.py::test_tr", open="another tracer"),
        Ran(context="test:t.py::test_tr2", open="another tracer"),
        Ran(context="test:t.py::test_bad", outcome="failed"),
        Ran(context="fixture:c.py::db", open="forked"),
        Ran(context="fixture:c.py::wide", uses=("fixture:c.py::db",)),
        Ran(context="test:t.py::test_db", uses=("fixture:c.py::wide",)),
        Ran(context="collect:u.py", open="another tracer"),
        Ran(context="test:u.py::test_u"),
        Ran(context="test:t.py::test_sound"),
    )
    assert lost_reasons(found.index) == {
        "replaced the tracer": ("t.py::test_tr", "t.py::test_tr2"),
        "failed": ("t.py::test_bad",),
        "rest on collect:u.py: replaced the tracer": ("u.py::test_u",),
        "rest on fixture:c.py::db: forked": ("t.py::test_db",),
    }
    assert summary(found, [], {}, 1.0).endswith(
        "5 without a sound record: 2 replaced the tracer (t.py::test_tr), 1 failed (t.py::test_bad),"
        " 1 rest on collect:u.py: replaced the tracer (u.py::test_u),"
        " 1 rest on fixture:c.py::db: forked (t.py::test_db)"
    )


def test_a_session_that_is_open_is_why_nothing_is_sound() -> None:
    found = stored(Ran(context="session:", open="greenlets"), _ran("test_x"))
    assert lost_reasons(found.index) == {"rest on the session: greenlets": ("t.py::test_x",)}


def test_skipped_and_failing_tests_are_said_to_have_no_record() -> None:
    result = StepResult(
        id="tests.1",
        role=Role.TESTS,
        outcome=Outcome.FAILED,
        counts=Counts(failed=2, skipped=36),
        cases=tuple(
            Case(id=f"t.py::{name}", outcome=CaseOutcome.FAILED) for name in ("test_a", "test_b")
        ),
        reruns=(
            Rerun(id="t.py::test_a", alone="passed", recorded=True),
            Rerun(id="t.py::test_b", alone="failed", recorded=True),
        ),
    )
    assert said_of_tests([result]) == (
        "2 tests failed: they have no sound record and stay selected",
        "1 test of them passed alone without the recorder: t.py::test_a",
        "36 skipped: they have no record of what they would run",
    )
    work = values.Tests(command=("x",), mode=Mode.ALL, files=("t.py",), record=9.0)
    again = alone(work, failing_tests(result))
    assert (again.ids, again.record, again.files) == (("t.py::test_a", "t.py::test_b"), None, ())
