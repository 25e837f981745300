"""The build's tracer, in a box that only pretends to run commands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from presubmit.container.model import ExecOutcome, ExecResult
from presubmit.replay.assignment import Assignment, Lane
from presubmit.replay.build import (
    TRACER_READY,
    add_to_stamp,
    has_tracer,
    lacks_tracer,
    read_stamp,
    run_build,
)
from presubmit.replay.inside import script
from presubmit.replay.steps import Bench
from presubmit.values import Build, Outcome, PlanStep, Role, StepResult

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


class Pip:
    """Our own Box protocol: installs what it is asked to, but for coverage where `refuses` says why not.

    Its Python records by itself only where it is `new`.
    """

    def __init__(
        self, environment: Path, *, refuses: str = "", works: bool = True, new: bool = False
    ) -> None:
        self.new = new
        self.environment = environment
        self.refuses = refuses
        self.works = works
        self.outcome = ExecOutcome.EXITED
        self.commands: list[str] = []
        self.timeouts: list[float] = []

    @property
    def id(self) -> str:
        return "pretended:"

    def exec(
        self,
        argv: Sequence[str],
        *,
        log: Path | None = None,
        timeout: float = 0.0,
        env: Mapping[str, str] | None = None,
        **_: Any,
    ) -> ExecResult:
        del log, env
        command = " ".join(argv[4:])
        self.commands.append(command)
        code, tail = 0, ""
        outcome = ExecOutcome.EXITED
        if "-m venv" in command:
            (self.environment / "venv").mkdir(parents=True)
        elif argv[-1] == script("presubmit_recorder/monitor"):
            code = int(not self.new)
        elif "--target" in command:
            self.timeouts.append(timeout)
            (self.environment / "recorder").mkdir()
            code, tail, outcome = int(bool(self.refuses)), self.refuses, self.outcome
        elif argv[-1] == "/env/recorder":
            code, tail = int(not self.works), "" if self.works else "RuntimeError: no lines"
        return ExecResult(
            argv=tuple(argv),
            outcome=outcome,
            exit_code=code if outcome is ExecOutcome.EXITED else None,
            seconds=0.1,
            tail=tail,
        )

    def cut_network(self) -> None:
        raise AssertionError

    def close(self) -> None:
        raise AssertionError

    @property
    def installs_coverage(self) -> int:
        return sum("coverage" in command and "pip" in command for command in self.commands)


def build(tmp_path: Path, box: Pip, **given: Any) -> StepResult:
    for name in ("output", "environment"):
        (tmp_path / name).mkdir(exist_ok=True)
    work = Build(**{"mode": "none", "key": "k", "record": "auto", **given})
    lane = Lane(
        name="head",
        box="pretended:",
        source="/src",
        environment="/env",
        output=str(tmp_path / "output"),
        plugin="/plugin",
        tools="/tools",
        python="python3",
        host_source=str(tmp_path / "source"),
        host_environment=str(tmp_path / "environment"),
        host_output=str(tmp_path / "output"),
        host_tools=str(tmp_path / "tools"),
        env={},
    )
    step = PlanStep(id="build.1", role=Role.BUILD, title="t", work=work, origin="o", why="w")
    assignment = Assignment(
        lane=lane, steps=(step,), folder=str(tmp_path / "run"), events=str(tmp_path / "events")
    )
    return run_build(Bench(assignment, step, box), work)


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    return tmp_path / "environment"


def test_the_tracer_is_installed_beside_the_environment(tmp_path: Path, environment: Path) -> None:
    box = Pip(environment)
    result = build(tmp_path, box)
    assert (result.outcome, result.notes) == (Outcome.PASSED, ())
    assert has_tracer(environment)
    (command,) = [one for one in box.commands if "--target" in one]
    assert "--target /env/recorder coverage" in command
    assert read_stamp(environment)["recorder"] == ""


def test_a_python_that_records_by_itself_needs_no_coverage(
    tmp_path: Path, environment: Path
) -> None:
    box = Pip(environment, new=True)
    result = build(tmp_path, box)
    assert (result.outcome, box.installs_coverage) == (Outcome.PASSED, 0)
    assert has_tracer(environment)
    assert read_stamp(environment)["recorder"] == ""


def test_a_tracer_that_is_there_costs_no_command(tmp_path: Path, environment: Path) -> None:
    build(tmp_path, Pip(environment))
    box = Pip(environment)
    build(tmp_path, box)
    assert box.commands == []


def test_a_build_without_recording_installs_nothing_for_it(
    tmp_path: Path, environment: Path
) -> None:
    box = Pip(environment)
    build(tmp_path, box, record="no")
    assert box.installs_coverage == 0
    assert not has_tracer(environment)


@pytest.mark.parametrize(
    ("facts", "why"),
    [
        ({"refuses": "ERROR: No matching distribution found"}, "No matching distribution found"),
        ({"works": False}, "RuntimeError: no lines"),
    ],
    ids=["not-installed", "does-not-work"],
)
def test_without_a_tracer_the_build_is_what_it_is_without_recording(
    tmp_path: Path, environment: Path, facts: dict[str, Any], why: str
) -> None:
    result = build(tmp_path, Pip(environment, **facts))
    assert (result.outcome, result.notes, result.findings) == (Outcome.PASSED, (), ())
    assert not (environment / "recorder").exists()
    assert why in read_stamp(environment)["recorder"]


def test_a_build_waits_a_minute_at_most_for_the_tracer(tmp_path: Path, environment: Path) -> None:
    box = Pip(environment, refuses="x")
    box.outcome = ExecOutcome.TIMEOUT
    result = build(tmp_path, box)
    assert (result.outcome, box.timeouts) == (Outcome.PASSED, [60.0])
    assert "timeout" in read_stamp(environment)["recorder"]


def test_a_link_in_the_place_of_the_tracer_is_not_followed(
    tmp_path: Path, environment: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / TRACER_READY).touch()
    environment.mkdir()
    (environment / "recorder").symlink_to(elsewhere)
    assert not has_tracer(environment)
    build(tmp_path, Pip(environment))
    assert has_tracer(environment)
    assert (elsewhere / TRACER_READY).exists()


def test_an_environment_that_was_made_without_a_tracer_gets_one_when_it_is_needed(
    environment: Path,
) -> None:
    environment.mkdir()
    assert lacks_tracer(environment, Build(mode="none", record="auto"))
    assert not lacks_tracer(environment, Build(mode="none", record="no"))


def test_what_could_not_be_installed_is_tried_again_only_when_asked(environment: Path) -> None:
    environment.mkdir()
    add_to_stamp(environment, recorder="the index was not reached")
    assert not lacks_tracer(environment, Build(mode="none", record="auto"))
    assert lacks_tracer(environment, Build(mode="none", record="yes"))
