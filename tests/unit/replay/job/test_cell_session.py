"""A cell inside its session: whatever happens, there is a result, and it says whose fault it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from presubmit.container.host import HostBox
from presubmit.replay.job import run as run_module
from presubmit.replay.job.session import run_assigned
from presubmit.replay.job.values import CellResult, Conclusion
from presubmit.values import decode

if TYPE_CHECKING:
    from tests.unit.replay.job.conftest import RunCell

WORKFLOW = "on: push\njobs: {job: {runs-on: x, steps: [{name: a, run: 'echo ran'}]}}\n"


def run(cell: RunCell, text: str = WORKFLOW, **fields: str) -> CellResult:
    for name in ("logs", "results"):
        (cell.out / name).mkdir(parents=True)
    cell.temp.mkdir(parents=True)
    box = HostBox(workdir=str(cell.workspace))
    assignment = cell.assignment(**{"box": box.id, "workflow_text": text, **fields})
    result = run_assigned(assignment)
    box.close()
    written = decode((cell.out / "results/job.json").read_bytes(), CellResult)
    assert written == result
    assert [event["event"] for event in cell.events()][-1] == "result"
    return result


def test_the_result_is_written_and_told(cell: RunCell) -> None:
    result = run(cell)
    assert result.conclusion is Conclusion.SUCCESS
    assert [event["event"] for event in cell.events()] == ["start", "progress", "step", "result"]


def test_the_workflow_is_read_from_the_tree_where_no_text_is_given(cell: RunCell) -> None:
    path = cell.workspace / ".github/workflows/ci.yml"
    path.parent.mkdir(parents=True)
    path.write_text(WORKFLOW)
    assert run(cell, "").conclusion is Conclusion.SUCCESS


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (WORKFLOW.replace("job:", "other:"), ".github/workflows/ci.yml has no job job"),
        ("on: [\n", "ci.yml:"),
    ],
)
def test_a_workflow_without_the_job_is_an_error(cell: RunCell, text: str, said: str) -> None:
    result = run(cell, text)
    assert result.conclusion is Conclusion.FAILURE
    assert said in result.error


def test_a_box_that_is_gone_is_an_error(cell: RunCell) -> None:
    assert "nothing:there" in run(cell, box="nothing:there").error


def test_a_crash_of_presubmit_itself_is_an_error_with_its_traceback_in_the_log(
    cell: RunCell, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(run_module, "shell_command", crash)
    result = run(cell)
    assert result.error == "presubmit itself failed: ZeroDivisionError: a bug"
    assert "Traceback" in (cell.out / "logs/job.log").read_text()
