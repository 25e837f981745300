"""What the runner makes of what its sessions wrote; real Nox processes are for the integration tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from presubmit.replay.assignment import Lane
from presubmit.replay.events import write_event
from presubmit.replay.runner import SessionRunner, Watcher
from presubmit.replay.sessions import how_ended, last_line, noxfile
from presubmit.values import Outcome, PlanStep, Role, StepResult, Syntax, encode

if TYPE_CHECKING:
    from pathlib import Path

Seen = list[tuple[str, ...]]
STEP = PlanStep(
    id="lint.1",
    role=Role.LINT,
    title="syntax",
    work=Syntax(files=(), floor=""),
    origin="o",
    why="w",
)
RESULT = StepResult(id="lint.1", role=Role.LINT, outcome=Outcome.PASSED)
LANE = Lane(
    name="lint",
    box="host:x",
    source="/s",
    environment="/e",
    output="/o",
    plugin="/p",
    tools="/t",
    python="python3",
    host_source="/s",
    host_environment="/e",
    host_output="/o",
    host_tools="/t",
    env={},
)


@pytest.fixture
def seen() -> Seen:
    return []


@pytest.fixture
def runner(tmp_path: Path, seen: Seen) -> SessionRunner:
    watcher = Watcher(
        started=lambda name: seen.append(("started", name)),
        progressed=lambda name, text: seen.append(("progressed", name, text)),
        ended=lambda result: seen.append(("ended", result.id, str(result.outcome))),
    )
    return SessionRunner(tmp_path, watcher)


def write_result(runner: SessionRunner, name: str, data: bytes) -> None:
    (runner.folder / "results" / f"{name}.json").write_bytes(data)


def test_events_are_handed_on_in_order(runner: SessionRunner, seen: Seen) -> None:
    write_result(runner, "base.lint.1", encode(RESULT))
    write_event(runner.events, event="start", id="base.lint.1")
    write_event(runner.events, event="progress", id="base.lint.1", text="half")
    write_event(runner.events, event="result", id="base.lint.1")
    runner.pump()
    assert seen == [
        ("started", "base.lint.1"),
        ("progressed", "base.lint.1", "half"),
        ("ended", "base.lint.1", "passed"),
    ]


def test_an_event_of_another_kind_is_passed_over(runner: SessionRunner, seen: Seen) -> None:
    write_event(runner.events, event="odd", id="x")
    runner.pump()
    assert seen == []


@pytest.mark.parametrize("data", [None, b"", b"{", b"\xff", b"[]", b'{"id": "x"}'])
def test_a_result_that_cannot_be_read_is_not_handed_on(
    runner: SessionRunner, seen: Seen, data: bytes | None
) -> None:
    if data is not None:
        write_result(runner, "lint.1", data)
    write_event(runner.events, event="result", id="lint.1")
    runner.pump()
    assert seen == []


def test_a_written_result_is_the_steps_result(runner: SessionRunner, tmp_path: Path) -> None:
    write_result(runner, "lint.1", encode(RESULT))
    assert runner._result(STEP, "", 0, tmp_path / "log") == RESULT


def test_a_step_without_a_result_is_an_error_that_says_how_its_session_ended(
    runner: SessionRunner, seen: Seen
) -> None:
    log = runner.folder / "logs" / "nox.log"
    log.write_text("nox > Running\nKilled\n\n")
    result = runner._result(STEP, "base.", -9, log)
    assert (result.id, result.outcome, result.reason, result.log) == (
        "lint.1",
        Outcome.ERROR,
        "its session ended (SIGKILL) without a result: Killed",
        "logs/nox.log",
    )
    assert seen == [("ended", "base.lint.1", "error")]


def test_after_a_stop_a_step_without_a_result_says_why(runner: SessionRunner) -> None:
    runner.stop("the budget is used up")
    runner.stop("interrupted")
    result = runner._result(STEP, "", 0, runner.folder / "logs" / "nox.log")
    assert (runner.stopped, result.reason) == (
        "the budget is used up",
        "stopped: the budget is used up",
    )


def test_after_a_stop_no_session_is_started(runner: SessionRunner) -> None:
    runner.stop("interrupted")
    (result,) = runner.run(Role.LINT, LANE, [STEP])
    assert (result.outcome, result.reason) == (Outcome.ERROR, "stopped: interrupted")


def test_without_steps_no_session_is_started(runner: SessionRunner) -> None:
    assert runner.run(Role.LINT, LANE, []) == []
    assert list((runner.folder / "assignments").iterdir()) == []


@pytest.mark.parametrize(
    ("exit_code", "words"), [(0, "exit 0"), (3, "exit 3"), (-15, "SIGTERM"), (-50, "signal 50")]
)
def test_the_end_of_a_session_has_words(exit_code: int, words: str) -> None:
    assert how_ended(exit_code) == words


@pytest.mark.parametrize(
    ("data", "line"),
    [(b"", "it printed nothing"), (b" \n", "it printed nothing"), (b"a\nb\xff\n", "b\ufffd")],
)
def test_the_last_line_of_a_log_is_told(tmp_path: Path, data: bytes, line: str) -> None:
    log = tmp_path / "log"
    log.write_bytes(data)
    assert last_line(log) == line


def test_our_noxfile_is_there() -> None:
    assert noxfile().is_file()
