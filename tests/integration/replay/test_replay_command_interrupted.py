"""However a replay ends, nothing of it lives on, what was measured is readable, and the next one works."""

from __future__ import annotations

import json
import signal
from typing import TYPE_CHECKING, Any

import pytest

from presubmit.replay.job.outcome import file_name
from tests.integration.run.conftest import Done, containers, session_processes, wait_for

if TYPE_CHECKING:
    import subprocess

    from presubmit.container.engine import Engine
    from tests.integration.run.conftest import MakeProject, Project, Relay

pytestmark = pytest.mark.engine

WORKFLOW = """
on: pull_request
jobs:
  quick:
    runs-on: ubuntu-latest
    steps: [{name: quick, run: echo quick}]
  slow:
    runs-on: ubuntu-latest
    needs: quick
    services:
      web: {image: %s, entrypoint: sleep, command: '600'}
    steps:
      - uses: actions/checkout@v4
      - {name: waits, run: 'echo waiting; sleep "$(cat seconds.txt)"; cat seconds.txt'}
"""
SLOW = "ci.yml/slow"


@pytest.fixture(scope="module")
def slow(make_project: MakeProject, in_container: tuple[str, ...]) -> Project:
    workflow = WORKFLOW % in_container[1]
    project = make_project(
        "slow", files={".github/workflows/ci.yml": workflow, "seconds.txt": "0\n"}
    )
    (project.path / "seconds.txt").write_text("0.0\n")
    done = project.presubmit("replay", "--all", *in_container)
    assert done.exit_code == 0, done.output
    (project.path / "seconds.txt").write_text("600\n")
    return project


def begin(
    project: Project, in_container: tuple[str, ...], env: dict[str, str] | None = None
) -> subprocess.Popen[bytes]:
    """Start a replay, and wait until its slow step runs."""
    last = project.path / ".presubmit/last"
    before = last.readlink()
    process = project.start("replay", "--all", *in_container, env=env)
    log = last / "logs" / f"{file_name(SLOW)}.log"
    waiting = "\nwaiting\n"
    assert wait_for(
        lambda: last.readlink() != before and log.is_file() and waiting in log.read_text(), 90
    )
    return process


def living(engine: Engine, project: Project) -> list[str]:
    """Name what dies with the tool: the cells' containers and sessions (services are swept by the next start)."""
    boxes = [name for name in containers(engine, project) if "-web-" not in name]
    return [*boxes, *map(str, session_processes(project))]


def leftovers(engine: Engine, project: Project) -> list[str]:
    """Name the containers, volumes, networks and sessions of the project's runs."""
    found = [*containers(engine, project), *map(str, session_processes(project))]
    for path in (project.path / ".presubmit/runs").iterdir():
        label = {"label": f"dev.presubmit.run={path.name.lower()}"}
        found += [one["Name"] for one in engine.api.networks(filters=label)]
        volumes = engine.api.volumes(filters=label)["Volumes"] or []
        found += [one["Name"] for one in volumes]
    return found


def last_run(project: Project) -> dict[str, Any]:
    return Done(0, "", project.path).run


def works_again(project: Project, in_container: tuple[str, ...]) -> Done:
    (project.path / "seconds.txt").write_text("0\n")
    done = project.presubmit("replay", "slow", *in_container)
    (project.path / "seconds.txt").write_text("600\n")
    assert done.exit_code == 0, done.output
    return done


def test_kill_9_leaves_a_readable_run_and_nothing_after_the_next_start(
    slow: Project, in_container: tuple[str, ...], engine: Engine
) -> None:
    process = begin(slow, in_container)
    killed = (slow.path / ".presubmit/last").readlink()
    process.kill()
    process.wait()
    assert last_run(slow)["state"] == "running"
    assert [step["id"] for step in last_run(slow)["steps"]] == ["ci.yml/quick"]
    assert wait_for(lambda: not living(engine, slow), 20), living(engine, slow)
    works_again(slow, in_container)
    assert wait_for(lambda: not leftovers(engine, slow), 10), leftovers(engine, slow)
    run = json.loads((slow.path / ".presubmit" / killed / "run.json").read_text())
    assert (run["state"], run["exit"]) == ("interrupted", 130)


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["Ctrl-C", "SIGTERM"]
)
def test_a_signal_ends_everything_in_good_order(
    slow: Project,
    in_container: tuple[str, ...],
    engine: Engine,
    number: signal.Signals,
    code: int,
) -> None:
    process = begin(slow, in_container)
    process.send_signal(number)
    assert process.wait(timeout=40) == code
    assert wait_for(lambda: not leftovers(engine, slow), 10), leftovers(engine, slow)
    run = last_run(slow)
    assert (run["state"], run["exit"]) == ("interrupted", code)
    assert [one["cell"] for one in run["cell_results"]][:1] == ["ci.yml/quick"]
    assert [step["id"] for step in run["steps"] if step["outcome"] == "passed"] == ["ci.yml/quick"]


def test_an_engine_that_goes_away_is_an_error_of_ours(
    slow: Project, in_container: tuple[str, ...], engine: Engine, relay: Relay
) -> None:
    process = begin(slow, in_container, {"DOCKER_HOST": relay.host})
    relay.cut()
    assert process.wait(timeout=90) == 3
    run = last_run(slow)
    assert (run["state"], run["exit"]) == ("error", 3)
    found = {step["id"]: step["outcome"] for step in run["steps"]}
    assert found == {"ci.yml/quick": "passed", SLOW: "error"}
    assert wait_for(lambda: not living(engine, slow), 20), living(engine, slow)
    works_again(slow, in_container)
    assert wait_for(lambda: not leftovers(engine, slow), 10), leftovers(engine, slow)


def test_a_second_replay_beside_the_first_is_told_who_has_the_checkout(
    slow: Project, in_container: tuple[str, ...]
) -> None:
    (slow.path / "seconds.txt").write_text("4\n")
    first = begin(slow, in_container)
    last = (slow.path / ".presubmit/last").readlink()
    done = slow.presubmit("replay", "quick", *in_container)
    assert done.exit_code == 3
    assert f"another presubmit (process {first.pid}) is using the replay checkout" in done.output
    assert first.wait(timeout=60) == 0
    assert (slow.path / ".presubmit/last").readlink() == last
    assert last_run(slow)["state"] == "passed"
    (slow.path / "seconds.txt").write_text("600\n")
