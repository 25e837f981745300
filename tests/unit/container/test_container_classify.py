from __future__ import annotations

from typing import Any

import pytest

from presubmit.container.classify import classify
from presubmit.container.model import ExecOutcome

PLAIN: dict[str, Any] = {
    "exit_code": 0,
    "started": True,
    "tail": "",
    "oom_kills": 0,
    "timed_out": False,
    "timeout": 5.0,
    "lost": "",
    "full_disks": (),
}
OCI = "OCI runtime exec failed: exec failed: unable to start container process: no such file\r\n"


@pytest.mark.parametrize(
    ("given", "outcome"),
    [
        ({}, ExecOutcome.EXITED),
        ({"exit_code": 7}, ExecOutcome.EXITED),
        ({"exit_code": 126}, ExecOutcome.EXITED),  # the project's own 126
        ({"exit_code": 127}, ExecOutcome.EXITED),
        ({"exit_code": 137}, ExecOutcome.EXITED),  # a kill alone is not for memory
        ({"exit_code": 139}, ExecOutcome.EXITED),
        ({"exit_code": 137, "oom_kills": 1}, ExecOutcome.OOM),
        ({"exit_code": 0, "oom_kills": 2}, ExecOutcome.OOM),  # a shell may go on after it
        ({"exit_code": 126, "started": False, "tail": OCI}, ExecOutcome.START_FAILED),
        (
            {"exit_code": 126, "started": False, "tail": "unable to find user x"},
            ExecOutcome.START_FAILED,
        ),
        (
            {"exit_code": 126, "started": False, "tail": "presubmit: x: not found"},
            ExecOutcome.START_FAILED,
        ),
        (
            {"exit_code": 1, "started": True, "tail": OCI},
            ExecOutcome.EXITED,
        ),  # a project may print that
        ({"exit_code": None, "lost": "gone"}, ExecOutcome.ENGINE_LOST),
        ({"exit_code": 137, "lost": "gone"}, ExecOutcome.ENGINE_LOST),
        ({"exit_code": None}, ExecOutcome.ENGINE_LOST),
        ({"exit_code": None, "timed_out": True}, ExecOutcome.TIMEOUT),
        ({"exit_code": None, "timed_out": True, "lost": "gone"}, ExecOutcome.TIMEOUT),
        ({"exit_code": 1, "full_disks": ("/tmp",)}, ExecOutcome.DISK_FULL),
        ({"exit_code": 0, "full_disks": ("/tmp",)}, ExecOutcome.EXITED),
    ],
)
def test_the_outcome_table(given: dict[str, Any], outcome: ExecOutcome) -> None:
    found, reason = classify(**{**PLAIN, **given})
    assert found is outcome
    assert bool(reason) is (outcome is not ExecOutcome.EXITED)


def test_a_start_failure_gives_the_engines_first_line() -> None:
    _, reason = classify(**{**PLAIN, "exit_code": 126, "started": False, "tail": OCI + "more\n"})
    assert reason == OCI.strip()
