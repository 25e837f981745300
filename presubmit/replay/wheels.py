"""Builds a wheel in a clean checkout, by the project's own backend, and lists its files; nothing is installed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

import msgspec

from presubmit.replay.build import PIP, last_error, project_env
from presubmit.replay.harvest import OutputFolder
from presubmit.replay.inside import script
from presubmit.replay.steps import network_of, trouble
from presubmit.values import Outcome, StepResult, counted, encode

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from presubmit.container.model import ExecResult
    from presubmit.replay.steps import Bench
    from presubmit.values import Build, BuildWheel

_WHEEL: Final = ("wheel", "--use-pep517", "--no-build-isolation", "--no-deps")


def files_of_wheel(folder: Path, name: str) -> Path:
    """Name the list that a wheel's step leaves in the run's folder."""
    return folder / "built" / f"{name}.json"


def run_wheel(bench: Bench, work: BuildWheel) -> StepResult:
    """Build the wheel; its list of files goes to the run's folder."""
    python = f"{bench.lane.environment}/venv/bin/python"
    with OutputFolder(bench.lane) as out:
        wheels = f"{out.inside}/wheels"
        commands: list[tuple[str, ...]] = [(python, *PIP, *_WHEEL, "-w", wheels, ".")]
        if work.build.before:
            commands.insert(0, ("sh", "-c", work.build.before))
        for command in commands:
            done = _run(bench, command, work.build)
            if not done.ok:
                return _result(bench, Outcome.FAILED, trouble(done) or last_error(done.tail))
        answer = f"{out.inside}/answer.json"
        listing = (python, "-I", "-c", script("wheel_files"), wheels, answer)
        done = _run(bench, listing, work.build, shown="# list the wheel's files")
        path = files_of_wheel(bench.folder, bench.name)
        problem = trouble(done) or out.take("answer.json", path)
    if problem:
        return _result(bench, Outcome.ERROR, problem)
    try:
        files = msgspec.convert(json.loads(path.read_bytes()), list[str])
    except (ValueError, msgspec.ValidationError) as error:
        return _result(bench, Outcome.ERROR, f"the list of its files cannot be read: {error}")
    path.write_bytes(encode(files))
    return _result(bench, Outcome.PASSED, counted(len(files), "file"))


def _run(bench: Bench, command: Sequence[str], work: Build, *, shown: str = "") -> ExecResult:
    network = network_of(bench.lane)
    return bench.run(
        command,
        timeout=max(1.0, work.timeout - bench.seconds),
        env=project_env(network, work),
        secrets=network.secrets,
        shown=shown,
    )


def _result(bench: Bench, outcome: Outcome, reason: str) -> StepResult:
    step = bench.step
    return StepResult(
        id=step.id,
        role=step.role,
        outcome=outcome,
        reason=reason,
        origin=step.origin,
        seconds=bench.seconds,
        log=bench.log_name,
    )
