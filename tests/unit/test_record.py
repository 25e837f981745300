from __future__ import annotations

from typing import TYPE_CHECKING

from presubmit import values
from presubmit.history import RecordedRun
from presubmit.record import summary, without_files
from presubmit.selector.recorded_index import Index, pack
from presubmit.selector.recorded_store import Stored
from presubmit.selector.recording import Ran
from presubmit.values import (
    Case,
    CaseOutcome,
    Mode,
    Outcome,
    Plan,
    PlanStep,
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
        "recorded 2 tests in 61 s (plain 33 s), 1 without a sound record"
    )


def test_the_last_line_says_where_nothing_is_recorded() -> None:
    assert summary(None, [], {}, 3.0) == "nothing is recorded of this tree, after 3 s"
