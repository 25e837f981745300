"""What every step has in common: its box, its log, how its commands are put, and how their ends are read."""

from __future__ import annotations

import os
import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING

from presubmit.container.model import ExecOutcome
from presubmit.container.network import host_network_settings, read_network_settings
from presubmit.replay.events import write_event

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from presubmit.container.model import Box, ExecResult
    from presubmit.container.network import NetworkSettings
    from presubmit.replay.assignment import Assignment, Lane
    from presubmit.values import PlanStep

# The image's PATH is not known outside, so it is extended inside; ccache's compilers come first where they are.
_IN_ENVIRONMENT = 'for d in /usr/lib/ccache "$0"/venv/bin; do [ -d "$d" ] && PATH=$d:$PATH; done; export PATH; exec "$@"'


class Bench:
    """Where one step is worked on: its lane, its box, its log and the way to report."""

    def __init__(self, assignment: Assignment, step: PlanStep, box: Box) -> None:
        self.assignment = assignment
        self.step = step
        self.box = box
        self.folder = Path(assignment.folder)
        self.name = f"{assignment.prefix}{step.id}"
        self.log = self.folder / "logs" / f"{self.name}.log"
        self.log.parent.mkdir(parents=True, exist_ok=True)
        self.started = time.monotonic()
        self._printed_from = 0

    @property
    def lane(self) -> Lane:
        """The lane that the step runs in."""
        return self.assignment.lane

    @property
    def seconds(self) -> float:
        """Seconds since the step began."""
        return round(time.monotonic() - self.started, 3)

    @property
    def log_name(self) -> str:
        """The log's path, relative to the run folder."""
        return f"logs/{self.name}.log"

    def printed(self) -> str:
        """Give what the last command printed."""
        with self.log.open("rb") as log:
            log.seek(self._printed_from)
            return log.read().decode("utf-8", "replace")

    def say(self, text: str) -> None:
        """Tell the user what the step is doing now."""
        write_event(Path(self.assignment.events), event="progress", id=self.name, text=text)

    def run(
        self,
        argv: Sequence[str],
        *,
        timeout: float,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        secrets: Sequence[str] = (),
        shown: str = "",
        environment: str | None = None,
    ) -> ExecResult:
        """Run a command with the lane's virtual environment on PATH, after writing it into the log.

        `environment` is the folder whose `venv` is put on PATH, the lane's own where it is not given.
        """
        with self.log.open("ab") as log:
            log.write(f"$ {shown or shlex.join(argv)}\n".encode("utf-8", "backslashreplace"))
            self._printed_from = log.tell()
        folder = environment or self.lane.environment
        wrapped = in_environment(folder, argv)
        return self.box.exec(
            wrapped,
            log=self.log,
            timeout=timeout,
            cwd=cwd or self.lane.source,
            env={"VIRTUAL_ENV": f"{folder}/venv", **(env or {})},
            secrets=secrets,
        )


def in_environment(folder: str, argv: Sequence[str]) -> tuple[str, ...]:
    """Give the command that runs `argv` with the virtual environment of a folder on PATH."""
    return ("sh", "-c", _IN_ENVIRONMENT, folder, *argv)


def network_of(lane: Lane) -> NetworkSettings:
    """Give how this lane reaches the network: as the host does, which for a box has to be translated."""
    return host_network_settings(os.environ) if lane.on_host else read_network_settings(os.environ)


def trouble(result: ExecResult) -> str:
    """Say in words why a command's end says nothing about the project; empty where it does."""
    if result.outcome is ExecOutcome.EXITED:
        return ""
    return result.reason or str(result.outcome).replace("_", " ")
