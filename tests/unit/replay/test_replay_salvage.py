"""What is kept of a test step that was ended from outside."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from presubmit import values
from presubmit.replay.salvage import record_name, salvage
from presubmit.values import Mode, Outcome, Role, StepResult

if TYPE_CHECKING:
    from pathlib import Path

STOPPED = StepResult(id="tests.1", role=Role.TESTS, outcome=Outcome.ERROR, reason="stopped: x")
WORK = values.Tests(command=("pytest",), mode=Mode.ALL)


def phase(name: str, when: str, outcome: str) -> dict[str, Any]:
    return {"event": "phase", "id": name, "when": when, "outcome": outcome, "seconds": 0.5}


def test_tests_that_came_to_their_end_are_kept_and_one_that_did_not_is_no_pass(
    tmp_path: Path,
) -> None:
    lines: list[dict[str, Any]] = [{"event": "session", "narrowed": True}]
    for name, outcome in (("t.py::a", "passed"), ("t.py::b", "failed")):
        lines += [
            {"event": "start", "id": name},
            phase(name, "setup", "passed"),
            phase(name, "call", outcome),
            {"event": "finish", "id": name},
        ]
    lines += [{"event": "start", "id": "t.py::c"}, phase("t.py::c", "setup", "passed")]
    path = tmp_path / record_name("tests.1")
    path.parent.mkdir()
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines) + '{"event": "pha')
    found = salvage(STOPPED, WORK, tmp_path, "tests.1", seconds=3.0)
    assert [case.id for case in found.cases] == ["t.py::a", "t.py::b"]
    assert (found.counts.passed, found.counts.failed, found.seconds) == (1, 1, 3.0)
    assert found.outcome is Outcome.ERROR


def test_a_step_without_a_record_has_no_cases(tmp_path: Path) -> None:
    assert salvage(STOPPED, WORK, tmp_path, "tests.1", seconds=1.0).cases == ()
