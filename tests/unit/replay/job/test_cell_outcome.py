"""What a cell's end means for the change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from presubmit.replay.job.graph import Ended
from presubmit.replay.job.outcome import file_name, signature, step_result
from presubmit.replay.job.values import Annotation, CellResult, Conclusion, StepRecord
from presubmit.upstream.cells import CellState, JobCell
from presubmit.values import Outcome

if TYPE_CHECKING:
    from pathlib import Path

    from presubmit.values import StepResult

CELL = JobCell(
    id="ci.yml/tests",
    workflow=".github/workflows/ci.yml",
    job="tests",
    state=CellState.REPLAYED,
    reason="on: pull_request",
    line=3,
    file="ci.yml",
)


def step(outcome: str, name: str = "run it", **fields: Any) -> StepRecord:
    given: dict[str, Any] = {
        "name": name,
        "id": "",
        "kind": "run",
        "outcome": Conclusion(outcome),
        "conclusion": Conclusion(outcome),
        "origin": "ci.yml:12",
    }
    return StepRecord(**{**given, **fields})


def give(
    folder: Path,
    conclusion: str | None,
    *steps: StepRecord,
    state: CellState = CellState.REPLAYED,
    tolerated: bool = False,
    required: bool = False,
    **fields: Any,
) -> StepResult:
    result = None
    if conclusion is not None:
        result = CellResult(cell=CELL.id, conclusion=Conclusion(conclusion), steps=steps, **fields)
    cell = msgspec.structs.replace(CELL, state=state)
    ended = Ended(cell=cell, result=result, tolerated=tolerated)
    return step_result(ended, folder, required=required)


BAD = step("failure", reason="exit code 1", tail="error: no\n")


def test_a_success_counts_its_steps(tmp_path: Path) -> None:
    stub = step("success", kind="stubbed", reason="nothing is done")
    found = give(tmp_path, "success", step("success"), step("skipped"), stub)
    assert (found.outcome, found.reason) == (Outcome.PASSED, "2 steps, 1 stubbed")
    assert found.notes == ("run it (ci.yml:12): nothing is done",)
    assert give(tmp_path, "success", step("success")).reason == "1 step"


def test_a_failure_is_the_changes_with_its_first_reason(tmp_path: Path) -> None:
    found = give(tmp_path, "failure", step("success"), BAD, step("failure", "b", reason="x"))
    assert (found.outcome, found.reason) == (Outcome.FAILED, "run it: exit code 1 (and 1 more)")
    assert [(f.file, f.line) for f in found.findings] == [(".github/workflows/ci.yml", 12)] * 2


def test_a_failing_step_of_an_action_is_placed_in_its_file(tmp_path: Path) -> None:
    inner = step("failure", origin=".github/actions/it/action.yml:7", reason="exit code 1")
    (finding,) = give(tmp_path, "failure", inner).findings
    assert (finding.file, finding.line) == (".github/actions/it/action.yml", 7)


def test_a_job_that_fails_without_a_failing_step_has_a_finding(tmp_path: Path) -> None:
    found = give(tmp_path, "failure", notes=("the job cannot be made: x",))
    assert (found.outcome, found.reason) == (Outcome.FAILED, "the job cannot be made: x")
    assert [(f.file, f.line) for f in found.findings] == [(".github/workflows/ci.yml", 3)]


def test_a_failure_that_upstream_tolerates_passes_and_that_is_said(tmp_path: Path) -> None:
    found = give(tmp_path, "failure", BAD, tolerated=True)
    assert (found.outcome, found.findings) == (Outcome.PASSED, ())
    assert found.notes == ("it failed; upstream tolerates that (continue-on-error)",)


def test_a_tolerated_step_is_said(tmp_path: Path) -> None:
    soft = step("failure", conclusion=Conclusion.SUCCESS, reason="exit code 1")
    found = give(tmp_path, "success", soft)
    assert found.notes == ("run it (ci.yml:12) failed, tolerated: exit code 1",)


def test_an_error_is_ours_whatever_else_the_result_says(tmp_path: Path) -> None:
    found = give(tmp_path, "failure", BAD, error="the box is gone")
    assert (found.outcome, found.reason, found.findings) == (
        Outcome.ERROR,
        "the box is gone",
        (),
    )
    assert give(tmp_path, "failure", BAD, error="x", tolerated=True).outcome is Outcome.ERROR


def test_a_job_whose_time_was_up_failed_and_one_that_was_stopped_did_not(tmp_path: Path) -> None:
    late = give(tmp_path, "cancelled", step("cancelled", reason="timeout-minutes of the job"))
    assert (late.outcome, late.reason) == (Outcome.FAILED, "run it: timeout-minutes of the job")
    stopped = give(tmp_path, "cancelled", notes=("fail-fast: other failed",))
    assert (stopped.outcome, stopped.reason) == (Outcome.SKIPPED, "fail-fast: other failed")
    assert stopped.required


@pytest.mark.parametrize(
    ("state", "always", "when_asked"),
    [
        (CellState.REPLAYED, True, True),
        (CellState.NOT_REPLAYED, False, True),
        (CellState.BLOCKED, False, True),
        (CellState.FILTERED, False, False),
    ],
)
def test_what_is_missing_counts_where_that_is_asked_for(
    tmp_path: Path, state: CellState, *, always: bool, when_asked: bool
) -> None:
    assert give(tmp_path, None, state=state).required is always
    assert give(tmp_path, None, state=state, required=True).required is when_asked
    assert give(tmp_path, None, state=state).outcome is Outcome.SKIPPED


def test_annotations_are_advice(tmp_path: Path) -> None:
    note = Annotation(level="warning", message="odd", title="W1", file="a.py", line=3)
    (found,) = give(tmp_path, "success", annotations=(note,)).advice
    assert (found.message, found.file, found.line) == ("warning: W1: odd", "a.py", 3)


def test_the_log_is_named_where_there_is_one(tmp_path: Path) -> None:
    assert give(tmp_path, "success").log == ""
    (tmp_path / "logs").mkdir()
    (tmp_path / f"logs/{file_name(CELL.id)}.log").touch()
    assert give(tmp_path, "success").log == f"logs/{file_name(CELL.id)}.log"


def test_a_failure_is_named_by_what_it_says_without_what_varies() -> None:
    one = "took 1.2 s at 0xffee in /tmp/a1\n\x1b[31merror: 3 things\x1b[0m\n"
    other = "took 7.9 s at 0xabcd in /tmp/b2\nerror: 4 things\n"
    assert signature(one) == signature(other)
    assert signature(one) != signature("error: other things\n")


def test_failing_tests_are_told_apart_by_name_and_exception(tmp_path: Path) -> None:
    tail = (
        "=== test session starts ===\n"
        "=== short test summary info ===\n"
        "FAILED tests/test_a.py::test_x - ValueError: 3\n"
        "FAILED tests/test_a.py::test_y[1 - 2] - assert 1 == 2\n"
        "=== 2 failed in 0.1s ===\n"
    )
    found = give(tmp_path, "failure", step("failure", reason="exit code 1", tail=tail))
    subjects = [finding.subject for finding in found.findings]
    assert subjects[0] == "ci.yml/tests: tests/test_a.py::test_x ValueError"
    assert len(set(subjects)) == 2


def test_file_names_are_harmless_and_distinct() -> None:
    assert file_name("ci.yml/a b/../c").startswith("ci.yml-a-b-..-c-")
    assert "/" not in file_name("a/b\0c\n")
    assert file_name("ci.yml/a(x=1)") != file_name("ci.yml/a(x=1")
    assert len(file_name("x" * 500)) < 100
    assert not file_name("../..").startswith(".")


def pytest_output(*failing: str) -> str:
    lines = "".join(f"FAILED {test} - AssertionError\n" for test in failing)
    return f"=== test session starts ===\n=== short test summary info ===\n{lines}=== {len(failing)} failed in 0.1s ===\n"


def subjects_of(tmp_path: Path, tail: str) -> list[str]:
    found = give(tmp_path, "failure", step("failure", reason="exit code 1", tail=tail))
    return [finding.subject for finding in found.findings]


def test_the_failures_of_every_pytest_of_a_step_count(tmp_path: Path) -> None:
    tail = pytest_output("t.py::test_new") + pytest_output("t.py::test_old")
    assert subjects_of(tmp_path, tail) == [
        "ci.yml/tests: t.py::test_new AssertionError",
        "ci.yml/tests: t.py::test_old AssertionError",
    ]


def test_an_error_after_the_last_summary_counts_as_well(tmp_path: Path) -> None:
    old = pytest_output("t.py::test_old")
    whole = subjects_of(tmp_path, old + "Traceback\nAssertionError\n")
    assert len(whole) == 2
    assert subjects_of(tmp_path, old) == [whole[0]]
    assert subjects_of(tmp_path, old + "make: Leaving directory\n") == [whole[0]]


def test_where_a_summary_may_be_missing_the_step_counts_as_well(tmp_path: Path) -> None:
    cut = pytest_output("t.py::test_old").partition("\n")[2]
    assert len(subjects_of(tmp_path, cut)) == 2
