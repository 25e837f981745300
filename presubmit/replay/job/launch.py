"""Starts one Nox session for each cell, and waits for what it gives."""

from __future__ import annotations

import threading
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from presubmit.replay.assignment import EARLY_VARIABLE
from presubmit.replay.events import EventReader
from presubmit.replay.job.values import CellResult, Conclusion
from presubmit.replay.sessions import Sessions, how_ended, last_line, write_whole
from presubmit.values import decode, encode

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Sequence

    from presubmit.replay.job.graph import Stopper
    from presubmit.replay.job.values import CellAssignment

SESSION = "upstream"
"""The Nox session that runs cells."""


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """A session that was started and waits for its assignment."""

    told: Path
    log: Path
    process: subprocess.Popen[bytes] | None
    """None where the run was stopped already."""


class Launcher:
    """Runs cells in sessions of their own; `stop` ends them all."""

    def __init__(
        self,
        folder: Path,
        *,
        started: Callable[[str], None],
        progressed: Callable[[str, str], None],
    ) -> None:
        self._folder = folder
        self.events = folder / "events.jsonl"
        self._started = started
        self._progressed = progressed
        self._reader = EventReader(self.events)
        self._lock = threading.Lock()
        self._sessions = Sessions()
        self._ended: set[str] = set()
        for name in ("assignments", "logs", "results", "summaries"):
            (folder / name).mkdir(parents=True, exist_ok=True)

    def begin(self, name: str, *, container: bool) -> Session:
        """Start a cell's session before its container is there: it loads what it needs, and waits."""
        told = self._folder / "assignments" / f"{name}.json"
        log = self._folder / "logs" / f"nox-{name}.log"
        where = {EARLY_VARIABLE: "container" if container else "host"}
        return Session(told=told, log=log, process=self._sessions.start(SESSION, told, log, where))

    def give_up(self, session: Session) -> None:
        """End a session that got nothing to do."""
        if session.process is not None and not session.told.exists():
            self._sessions.end(session.process)

    def run(
        self, session: Session, assignment: CellAssignment, stoppers: Sequence[Stopper]
    ) -> CellResult:
        """Run one cell to its end; where its session left no result, the result says so as an error of ours."""
        process = session.process
        if process is None:
            return _without(assignment, f"stopped: {self._sessions.stopped}", cancelled=True)
        write_whole(session.told, encode(assignment))
        for stopper in stoppers:
            stopper.on_stop(partial(self._sessions.end, process))
        exit_code = self._sessions.wait(
            process, while_waiting=self.pump, has_all=lambda: assignment.name in self._ended
        )
        self.pump()
        found = self._read(assignment)
        if found is not None:
            return found
        reason = next((stopper.reason for stopper in stoppers if stopper.reason), "")
        if reason or self._sessions.stopped:
            return _without(assignment, reason or self._sessions.stopped, cancelled=True)
        said = f"its session ended ({how_ended(exit_code)}) without a result: {last_line(session.log)}"
        return _without(assignment, said, cancelled=False)

    def pump(self) -> None:
        """Hand on the events that came."""
        with self._lock:
            for event in self._reader.read_new():
                name = str(event.get("id"))
                match event.get("event"):
                    case "start":
                        self._started(str(event.get("cell")))
                    case "progress":
                        self._progressed(str(event.get("cell")), str(event.get("text")))
                    case "result":
                        self._ended.add(name)
                    case _:
                        pass

    def stop(self, reason: str) -> None:
        """End every session."""
        self._sessions.stop(reason)

    def close(self) -> None:
        """End the sessions whose results are there."""
        self._sessions.close()

    def _read(self, assignment: CellAssignment) -> CellResult | None:
        try:
            path = Path(assignment.folder) / "results" / f"{assignment.name}.json"
            return decode(path.read_bytes(), CellResult)
        except (OSError, ValueError, msgspec.ValidationError):
            return None


def _without(assignment: CellAssignment, reason: str, *, cancelled: bool) -> CellResult:
    return CellResult(
        cell=assignment.cell,
        conclusion=Conclusion.CANCELLED if cancelled else Conclusion.FAILURE,
        error="" if cancelled else reason,
        notes=(reason,) if cancelled else (),
    )
