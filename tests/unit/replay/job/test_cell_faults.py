"""Steps that do not end by themselves, time that is up, and a box that is lost."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from presubmit.container.model import ExecOutcome
from presubmit.replay.job import run as run_module
from presubmit.replay.job.driver import StepEnd
from presubmit.replay.job.values import Conclusion
from tests.unit.replay.job.conftest import RunCell  # noqa: TC001 - pytest shows it

if TYPE_CHECKING:
    from collections.abc import Sequence

    from presubmit.replay.job.driver import Driver

COMPOSITE = """
name: it
runs:
  using: composite
  steps:
    - {name: inner, shell: bash, run: sleep 30}
    - {name: inner always, shell: bash, if: always(), run: echo inner end}
"""


@pytest.fixture
def minute(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a minute be a third of a second."""
    monkeypatch.setattr(run_module, "_MINUTE", 0.3)


class Wrapped:
    """A driver that gives an end of the test's own for scripts that say so."""

    def __init__(self, driver: Driver, ends: dict[str, StepEnd]) -> None:
        self._driver = driver
        self._ends = ends
        self.environment = driver.environment

    def run(self, argv: Sequence[str], **given: Any) -> StepEnd:
        end = self._driver.run(argv, **given)
        for word, other in self._ends.items():
            if any(word in self._read(one) for one in argv):
                return other
        return end

    @staticmethod
    def _read(word: str) -> str:
        if "/_presubmit/script-" not in word:
            return word
        with open(word) as file:  # noqa: PTH123 - a path as text
            return file.read()


def lost(outcome: ExecOutcome, reason: str, word: str = "exit 77") -> Any:
    return lambda driver: Wrapped(driver, {word: StepEnd(outcome=outcome, reason=reason)})


@pytest.mark.usefixtures("minute")
def test_a_step_past_its_timeout_fails_and_the_job_goes_on_where_it_may(cell: RunCell) -> None:
    ran = cell("""
      - {id: slow, timeout-minutes: 1, run: sleep 30}
      - {name: next, run: x}
      - {name: always, if: always(), run: 'echo ${{ steps.slow.outcome }} ${{ job.status }}'}
    """)
    assert ran["slow"].outcome is Conclusion.FAILURE
    assert ran["slow"].reason.startswith("timeout-minutes is over after")
    assert ran["slow"].exit_code is None
    assert ran["next"].outcome is Conclusion.SKIPPED
    assert ran.printed("always") == ["failure failure"]
    assert ran.result.conclusion is Conclusion.FAILURE
    assert ran.result.error == ""
    assert f"##[error]{ran['slow'].reason}" in ran.log


@pytest.mark.usefixtures("minute")
def test_a_timeout_by_an_expression_can_be_tolerated(cell: RunCell) -> None:
    ran = cell(
        "- {id: slow, timeout-minutes: '${{ matrix.t }}', continue-on-error: true, run: sleep 30}",
        matrix={"t": 1},
    )
    assert ran.ok
    assert ran["slow"].outcome is Conclusion.FAILURE


@pytest.mark.usefixtures("minute")
def test_the_fraction_of_a_minute_is_dropped(cell: RunCell) -> None:
    ran = cell("""
      - {name: none, timeout-minutes: 0.9, run: sleep 0.5}
      - {name: zero, timeout-minutes: 0, run: sleep 0.5}
      - {name: one, timeout-minutes: 1.9, run: sleep 0.5}
    """)
    assert ran.outcomes == ["success", "success", "failure"]


def test_a_timeout_that_is_none_is_said_and_no_limit(cell: RunCell) -> None:
    step = "- {name: a, timeout-minutes: '${{ matrix.t }}', run: echo ran}"
    ran = cell(step, matrix={"t": "soon"})
    assert ran.ok
    assert ran.printed("a")[-1] == "ran"
    assert (
        "An error occurred when attempting to determine the step timeout" in ran.annotations[0][1]
    )


@pytest.mark.usefixtures("minute")
def test_a_timeout_on_an_action_ends_what_runs_inside(cell: RunCell) -> None:
    began = time.monotonic()
    ran = cell("- {id: use, uses: ./it, timeout-minutes: 1}", files={"it/action.yml": COMPOSITE})
    assert ran["inner"].reason.startswith("timeout-minutes is over")
    assert ran["use"].outcome is Conclusion.FAILURE
    assert time.monotonic() - began < 20


def test_a_job_past_its_time_is_cancelled_and_cleans_up(cell: RunCell) -> None:
    ran = cell(
        """
      - {id: slow, run: sleep 30}
      - {name: next, run: x}
      - {name: success, if: success(), run: x}
      - {name: failure, if: failure(), run: x}
      - {name: not cancelled, if: "!cancelled()", run: x}
      - {name: cancelled, if: cancelled(), run: 'echo ${{ job.status }}'}
      - {name: always, if: always(), run: 'sleep 0.3; echo ${{ steps.slow.outcome }}'}
    """,
        timeout=0.5,
    )
    assert ran.outcomes == ["cancelled", *["skipped"] * 4, "success", "success"]
    assert ran.printed("cancelled") == ["cancelled"]
    assert ran.printed("always") == ["cancelled"]
    assert ran.result.conclusion is Conclusion.CANCELLED
    assert ran.result.error == ""
    assert ran["slow"].reason == "timeout-minutes of the job (0.00833333) is over"
    assert ran["slow"].reason in ran.result.notes


def test_a_job_past_its_time_inside_an_action_cancels_the_step_that_uses_it(
    cell: RunCell,
) -> None:
    ran = cell(
        "- {id: use, uses: ./it, continue-on-error: true}\n- {name: end, if: always(), run: 'sleep 0.2; echo end'}",
        files={"it/action.yml": COMPOSITE},
        timeout=0.5,
    )
    assert [(step.name, str(step.outcome)) for step in ran.result.steps] == [
        ("inner", "cancelled"),
        ("inner always", "success"),
        ("Run ./it", "cancelled"),
        ("end", "success"),
    ]
    assert ran.result.conclusion is Conclusion.CANCELLED


@pytest.mark.parametrize(
    "outcome", [ExecOutcome.ENGINE_LOST, ExecOutcome.OOM, ExecOutcome.DISK_FULL]
)
def test_a_lost_box_is_an_error_of_ours_and_nothing_runs_after_it(
    cell: RunCell, outcome: ExecOutcome
) -> None:
    cell.around = lost(outcome, "the box is gone")
    ran = cell("""
      - {name: before, run: 'echo a=b >>$GITHUB_OUTPUT'}
      - {name: gone, continue-on-error: true, run: exit 77}
      - {name: always, if: always(), run: echo never}
    """)
    assert ran.result.error == "the box is gone"
    assert [step.name for step in ran.result.steps] == ["before", "gone"]
    assert ran["gone"].conclusion is Conclusion.FAILURE
    assert ran.result.conclusion is Conclusion.FAILURE


def test_a_box_that_is_lost_inside_an_action_ends_the_cell(cell: RunCell) -> None:
    cell.around = lost(ExecOutcome.ENGINE_LOST, "the box is gone", "sleep 0.01")
    composite = COMPOSITE.replace("sleep 30", "sleep 0.01")
    ran = cell("- uses: ./it\n- {if: always(), run: x}", files={"it/action.yml": composite})
    assert ran.result.error == "the box is gone"
    assert [step.name for step in ran.result.steps] == ["inner", "Run ./it"]


@pytest.mark.parametrize(
    "step",
    [
        "{id: a, if: hashFiles('*') != '', run: x}",
        "{id: a, env: {A: \"${{ hashFiles('*') }}\"}, run: x}",
        "{id: a, name: \"${{ hashFiles('*') }}\", run: x}",
        "{id: a, run: \"${{ hashFiles('*') }}\"}",
    ],
)
def test_a_box_that_is_lost_while_an_expression_is_evaluated_ends_the_cell_in_good_order(
    cell: RunCell, step: str
) -> None:
    cell.around = lost(ExecOutcome.ENGINE_LOST, "the box is gone", "find .")
    ran = cell(f"- {{name: before, run: 'true'}}\n- {step}\n- {{if: always(), run: x}}")
    assert ran.result.error == "the box is gone"
    assert [step.id for step in ran.result.steps][1:] == ["a"]


def test_what_a_step_leaves_running_is_said(cell: RunCell) -> None:
    ran = cell(
        "- {name: a, run: 'sleep 61 >/dev/null 2>&1 & until grep -q ^sleep /proc/$!/cmdline; do sleep 0.01; done'}\n- {name: b, run: echo fine}"
    )
    assert ran.ok
    assert "left running by a: sleep 61" in ran.result.notes
    assert ran.printed("b") == ["fine"]


def test_a_step_that_kills_its_process_group_ends_only_itself(cell: RunCell) -> None:
    ran = cell("- {id: a, run: 'kill -9 0'}\n- {name: b, if: always(), run: echo fine}")
    assert ran["a"].exit_code == 137
    assert ran.printed("b") == ["fine"]


def test_an_output_of_many_megabytes_is_bounded_in_log_and_result(cell: RunCell) -> None:
    ran = cell(
        "- {id: a, run: 'yes 0123456789012345678901234567890123456789 | head -c 100000000; exit 1'}"
    )
    assert (ran.folder / "logs/job.log").stat().st_size < 65 << 20
    assert "presubmit: the log is cut here" in ran.log[-200:]
    assert ran["a"].exit_code == 1
    assert len(ran["a"].tail) <= 32_000


def test_a_summary_of_many_megabytes_is_cut_and_both_is_said(cell: RunCell) -> None:
    ran = cell("""
      - {id: a, run: 'yes "a line of the summary" | head -c 10485760 >>$GITHUB_STEP_SUMMARY'}
      - {id: b, run: 'echo end >>$GITHUB_STEP_SUMMARY'}
    """)
    assert ran.ok  # as on GitHub
    level, message = ran.annotations[0]
    assert (level, message.partition(",")[0]) == (
        "error",
        "$GITHUB_STEP_SUMMARY upload aborted",
    )
    assert "up to a size of 1024k, got 10240k" in message
    assert len(ran.summary) < 1_100_000
    assert "bytes are left out" in ran.summary
    assert ran.summary.endswith("end\n\n")
