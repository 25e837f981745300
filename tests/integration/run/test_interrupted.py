"""However a run ends, nothing of it lives on, what was measured is readable, and the next run works."""

from __future__ import annotations

import signal
import time
from typing import TYPE_CHECKING

import pytest

from tests.integration.run.conftest import Done, containers, session_processes, wait_for

if TYPE_CHECKING:
    from presubmit.container.engine import Engine
    from tests.integration.run.conftest import MakeProject, Project, Relay

pytestmark = [pytest.mark.engine, pytest.mark.network]

SLOW = {
    "slow.py": "VALUE = 1\n",
    "tests/test_slow.py": (
        "import time\n\nimport slow\n\n\ndef test_first():\n    assert slow.VALUE\n\n\n"
        "def test_slow():\n    time.sleep(float(open('seconds.txt').read()))\n"
    ),
    "seconds.txt": "60\n",
}


@pytest.fixture(scope="module")
def slow_checkout(make_project: MakeProject, in_container: tuple[str, ...]) -> Project:
    project = make_project("slow", files=SLOW)
    (project.path / "slow.py").write_text("VALUE = 2\n")
    (project.path / "seconds.txt").write_text("0\n")
    done = project.presubmit("run", *in_container)
    assert done.exit_code == 0, done.output
    (project.path / "seconds.txt").write_text("60\n")
    return project


def _is_testing(project: Project) -> bool:
    events = project.path / ".presubmit/last/events.jsonl"
    records = project.path / ".presubmit/last/logs/tests.1.log"
    started = events.is_file() and '"tests.1"' in events.read_text()
    return started and records.is_file() and b"collected" in records.read_bytes()


def _readable(project: Project) -> dict[str, object]:
    return Done(0, "", project.path).run


def _start(project: Project, in_container: tuple[str, ...]) -> object:
    last = project.path / ".presubmit/last"
    before = last.readlink()
    process = project.start("run", *in_container)
    assert wait_for(lambda: last.readlink() != before and _is_testing(project), 90)
    return process


def _works_again(project: Project, in_container: tuple[str, ...]) -> None:
    (project.path / "seconds.txt").write_text("0\n")
    done = project.presubmit("run", *in_container)
    (project.path / "seconds.txt").write_text("60\n")
    assert done.exit_code == 0, done.output


def test_kill_9_leaves_no_container_no_process_and_a_readable_run(
    slow_checkout: Project, in_container: tuple[str, ...], engine: Engine
) -> None:
    process = _start(slow_checkout, in_container)
    killed = (slow_checkout.path / ".presubmit/last").readlink()
    process.kill()  # type: ignore[attr-defined]
    process.wait()  # type: ignore[attr-defined]
    assert wait_for(
        lambda: not containers(engine, slow_checkout) and not session_processes(slow_checkout), 10
    )
    assert _readable(slow_checkout)["state"] == "running"
    _works_again(slow_checkout, in_container)
    run = slow_checkout.path / ".presubmit" / killed / "run.json"
    assert '"state": "interrupted"' in run.read_text()


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["Ctrl-C", "SIGTERM"]
)
def test_a_signal_ends_everything_in_good_order(
    slow_checkout: Project,
    in_container: tuple[str, ...],
    engine: Engine,
    number: signal.Signals,
    code: int,
) -> None:
    process = _start(slow_checkout, in_container)
    process.send_signal(number)  # type: ignore[attr-defined]
    assert process.wait(timeout=30) == code  # type: ignore[attr-defined]
    assert wait_for(lambda: not containers(engine, slow_checkout), 5)
    assert wait_for(lambda: not session_processes(slow_checkout), 5)
    run = _readable(slow_checkout)
    assert (run["state"], run["exit"]) == ("interrupted", code)
    assert [s["id"] for s in run["steps"] if s["outcome"] == "passed"] != []  # type: ignore[attr-defined]


def test_an_engine_that_goes_away_is_an_error_of_ours(
    slow_checkout: Project, in_container: tuple[str, ...], engine: Engine, relay: Relay
) -> None:
    last = slow_checkout.path / ".presubmit/last"
    before = last.readlink()
    process = slow_checkout.start("run", *in_container, env={"DOCKER_HOST": relay.host})
    assert wait_for(lambda: last.readlink() != before and _is_testing(slow_checkout), 90)
    relay.cut()
    assert process.wait(timeout=60) == 3
    assert wait_for(
        lambda: not containers(engine, slow_checkout) and not session_processes(slow_checkout), 10
    )
    run = _readable(slow_checkout)
    assert (run["state"], run["exit"]) == ("error", 3)
    _works_again(slow_checkout, in_container)


def test_a_second_run_beside_the_first_is_told_who_has_the_lane(
    slow_checkout: Project, in_container: tuple[str, ...]
) -> None:
    process = _start(slow_checkout, in_container)
    try:
        done = slow_checkout.presubmit("run", *in_container)
        assert done.exit_code == 3
        assert str(process.pid) in done.output  # type: ignore[attr-defined]
    finally:
        process.send_signal(signal.SIGINT)  # type: ignore[attr-defined]
        process.wait(timeout=30)  # type: ignore[attr-defined]


def test_a_budget_that_runs_out_is_incomplete_and_never_green(
    slow_checkout: Project, in_container: tuple[str, ...], engine: Engine
) -> None:
    began = time.monotonic()
    done = slow_checkout.presubmit("run", "--budget", "8s", *in_container)
    assert done.exit_code == 4, done.output
    assert done.run["state"] == "incomplete"
    assert any("budget" in text for text in done.run["not_run"])
    assert time.monotonic() - began < 50
    assert wait_for(lambda: not containers(engine, slow_checkout), 5)
    allowed = slow_checkout.presubmit("run", "--budget", "8s", "--allow-partial", *in_container)
    assert allowed.exit_code == 0
    assert allowed.run["state"] == "incomplete"
