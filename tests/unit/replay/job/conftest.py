"""One way to run a cell: a workflow's text in; its result, its log and its summary out. Steps run on the host."""

from __future__ import annotations

import json
import textwrap
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from presubmit.container.host import HostBox
from presubmit.replay.job.driver import open_driver
from presubmit.replay.job.machine import Machine
from presubmit.replay.job.run import CellRun
from presubmit.replay.job.values import CellAssignment, Conclusion
from presubmit.upstream.reader import read_workflow
from tests.unit.replay.actions.fake import HERE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from presubmit.replay.job.driver import Driver
    from presubmit.replay.job.values import Annotation, CellResult, StepRecord

GITHUB: dict[str, Any] = {
    "repository": "owner/project",
    "sha": "c0ffee",
    "ref": "refs/pull/7/merge",
    "event_name": "pull_request",
    "run_id": "7",
    "event": {"number": 7},
}


class Ran:
    """What came of a cell."""

    def __init__(self, result: CellResult, folder: Path, workspace: Path) -> None:
        self.result = result
        self.folder = folder
        self.workspace = workspace

    def __getitem__(self, name: str) -> StepRecord:
        """Give a step by its name or its id."""
        return next(step for step in self.result.steps if name in {step.name, step.id})

    @property
    def log(self) -> str:
        """The whole log."""
        return (self.folder / "logs/job.log").read_text()

    @property
    def summary(self) -> str:
        """What the steps wrote to GITHUB_STEP_SUMMARY."""
        path = self.folder / "summaries/job.md"
        return path.read_text() if path.exists() else ""

    @property
    def ok(self) -> bool:
        """Whether the cell succeeded."""
        return self.result.conclusion is Conclusion.SUCCESS and not self.result.error

    @property
    def annotations(self) -> list[tuple[str, str]]:
        """Level and message of each."""
        return [(one.level, one.message) for one in self.result.annotations]

    @property
    def outcomes(self) -> list[str]:
        """How each step ended, in order."""
        return [str(step.outcome) for step in self.result.steps]

    def annotation(self, message: str) -> Annotation:
        """Give one by its message."""
        return next(one for one in self.result.annotations if one.message == message)

    def printed(self, name: str) -> list[str]:
        """Give what a step printed: the lines of its part of the log without its own script."""
        part = self.log.partition(f"\n=== {name} (")[2].partition("\n=== ")[0]
        lines = part.splitlines()[1:]
        return [line for line in lines if not line.startswith(("| ", "shell: "))]

    def files(self) -> str:
        """Give everything that was written about the cell, as one text; the driver's log names processes as they are."""
        texts = [
            path.read_text(errors="replace")
            for path in sorted(self.folder.rglob("*"))
            if path.is_file() and path.name != "driver.log"
        ]
        return "\n".join([*texts, str(self.result)])


class RunCell:
    """Runs cells in folders of the test's own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.workspace = folder / "work/project/project"
        self.temp = folder / "work/_temp"
        self.workspace.mkdir(parents=True)
        self.out = folder / "out"
        self.around: Callable[[Driver], Driver] = lambda driver: driver

    def __call__(
        self,
        steps: str = "",
        *,
        job: str = "",
        top: str = "",
        files: Mapping[str, str | bytes] | None = None,
        **fields: Any,
    ) -> Ran:
        """Run a job with these steps; `job` and `top` are what else the job and the workflow say."""
        for name, content in (files or {}).items():
            path = self.workspace / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        with self.machine(_text(steps, job, top), **fields) as run:
            return Ran(run.go(), self.out, self.workspace)

    @contextmanager
    def machine(self, text: str, **fields: Any) -> Iterator[CellRun]:
        """Give a cell that is ready to run, with logs of its own; the workspace stays as earlier ones left it."""
        self.out = self._folder / f"out-{len([*self._folder.glob('out-*')])}"
        for place in (self.temp, self.out / "logs"):
            place.mkdir(parents=True, exist_ok=True)
        workflow, problems = read_workflow(text.encode(), ".github/workflows/ci.yml")
        assert workflow is not None, [str(problem) for problem in problems]
        cell = self.assignment(**fields)
        box = HostBox(workdir=str(self.workspace))
        log = self.out / "driver.log"
        with open_driver(box, log=log) as driver, Machine(cell, self.around(driver)) as machine:
            yield CellRun(cell, workflow, workflow.jobs[0], machine)
        box.close()

    def assignment(self, **fields: Any) -> CellAssignment:
        """Make the assignment of a cell."""
        folder = self._folder
        given: dict[str, Any] = {
            "cell": "ci.yml/job",
            "box": "host:{}",
            "tree": str(self.workspace),
            "workflow": ".github/workflows/ci.yml",
            "job": "job",
            "github": dict(GITHUB),
            "workspace": str(self.workspace),
            "temp": str(self.temp),
            "host_temp": str(self.temp),
            "tools": str(folder / "tools"),
            "host_tools": str(folder / "tools"),
            "origin": str(folder / "origin.git"),
            "artifacts": str(folder / "artifacts"),
            "caches": str(folder / "caches"),
            "here": HERE,
            "folder": str(self.out),
            "name": "job",
            "events": str(self.out / "events.jsonl"),
        }
        return CellAssignment(**{**given, **fields})

    def events(self) -> list[dict[str, Any]]:
        """Give what the cell told while it ran."""
        path = self.out / "events.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()]


def _text(steps: str, job: str, top: str) -> str:
    inner = textwrap.indent(textwrap.dedent(job).strip("\n"), "    ")
    listed = textwrap.indent(textwrap.dedent(steps).strip("\n"), "      ")
    steps = f"    steps:\n{listed}" if listed else "    steps: []"
    above = textwrap.dedent(top).strip("\n")
    return (
        f"on: pull_request\n{above}\njobs:\n  job:\n    runs-on: ubuntu-latest\n{inner}\n{steps}\n"
    )


@pytest.fixture
def cell(tmp_path: Path) -> RunCell:
    """Give the way to run a cell."""
    return RunCell(tmp_path)
