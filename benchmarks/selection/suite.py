"""Run a project's tests and read how each of them ended."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benchmarks.selection.projects import HERE, environment

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from benchmarks.selection.projects import Side

EVERYTHING: Final = "<everything>"


@dataclass(frozen=True, kw_only=True)
class SuiteRun:
    """What one run of the tests gave."""

    outcomes: dict[str, str] = field(default_factory=dict)
    """Test id -> `passed`, `failed` or `skipped`."""
    seconds: dict[str, float] = field(default_factory=dict)
    broken: tuple[str, ...] = ()
    """Files that could not be collected; EVERYTHING where the session itself did not come off."""
    collected: tuple[str, ...] | None = None
    module: str = ""
    """The file that the project was imported from."""
    code: int = 0
    wall: float = 0.0
    timed_out: bool = False
    text: str = ""

    @property
    def crashed(self) -> bool:
        """Whether the interpreter died: what became of the other tests is unknown."""
        return self.code < 0

    def failing(self, stable: Collection[str]) -> tuple[str, ...]:
        """Give the stable tests that failed, those of files that could not be collected with them."""
        return tuple(t for t in stable if self._fails(t))

    def gone(self, stable: Collection[str]) -> tuple[str, ...]:
        """Give the stable tests that were not met although their file was collected: other ids."""
        return tuple(t for t in stable if t not in self.outcomes and not self._fails(t))

    def _fails(self, test: str) -> bool:
        if test in self.outcomes:
            return self.outcomes[test] == "failed"
        return EVERYTHING in self.broken or any(
            test == b or test.startswith((f"{b}::", f"{b}/")) for b in self.broken
        )


def read_events(lines: Iterable[str]) -> dict[str, Any]:
    """Turn the plugin's lines into the fields of a SuiteRun; a torn last line is passed over."""
    outcomes: dict[str, str] = {}
    seconds: dict[str, float] = {}
    broken: list[str] = []
    found: dict[str, Any] = {"collected": None}
    finished = False
    for line in lines:
        try:
            event = json.loads(line)
        except ValueError:
            continue
        match event["event"]:
            case "collected":
                found["collected"] = tuple(event["ids"])
            case "broken":
                broken.append(event["id"])
            case "phase":
                seconds[event["id"]] = seconds.get(event["id"], 0.0) + event["seconds"]
                outcomes[event["id"]] = _worse(outcomes.get(event["id"]), event["outcome"])
            case "finish":
                finished = True
                found["module"] = event["module"]
            case _:
                pass
    if not finished or found["collected"] is None:
        broken.append(EVERYTHING)
    return {**found, "outcomes": outcomes, "seconds": seconds, "broken": tuple(broken)}


def _worse(one: str | None, other: str) -> str:
    order = ("passed", "skipped", "failed")
    return max(one or "passed", other, key=order.index)


def run_tests(
    side: Side,
    *,
    arguments: tuple[str, ...] = (),
    only: Collection[str] | None = None,
    timeout: float = 900,
) -> SuiteRun:
    """Run the project's tests in a side's checkout, as its contributors would."""
    project = side.project
    with tempfile.TemporaryDirectory(prefix="watch-") as name:
        out = Path(name, "events")
        out.touch()
        env = {
            "PYTHONPATH": str(HERE / "inside"),
            "WATCH_OUT": str(out),
            "WATCH_MODULE": project.module,
            **side.env,
        }
        if only is not None:
            wanted = Path(name, "only")
            wanted.write_text(json.dumps(list(only)))
            env["WATCH_ONLY"] = str(wanted)
        command = [str(side.python), "-m", "pytest", "-q", "-p", "watch", "--tb=no"]
        command += ["-p", "no:randomly", "--continue-on-collection-errors", *project.arguments]
        command += [f"--deselect={test}" for test in project.deselect]
        code, wall, text = _bounded([*command, *arguments, *project.tests], side, env, timeout)
        with out.open(encoding="utf-8") as stream:
            events = read_events(stream)
    return SuiteRun(**events, code=code or 0, wall=wall, timed_out=code is None, text=text[-3000:])


def _bounded(
    command: list[str], side: Side, env: dict[str, str], timeout: float
) -> tuple[int | None, float, str]:
    """Run a command in a process group of its own; no exit code where the time was over."""
    began = time.perf_counter()
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            command,
            cwd=side.tree,
            env=environment(env),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        code: int | None
        try:
            code = process.wait(timeout)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        output.seek(0)
        text = output.read().decode("utf-8", "replace")
    return code, time.perf_counter() - began, text
