"""Starts one Nox process for each assignment and collects what its steps wrote."""

from __future__ import annotations

import signal
import threading
import time
from typing import TYPE_CHECKING

import msgspec

from presubmit.replay.assignment import Assignment
from presubmit.replay.events import EventReader
from presubmit.replay.salvage import salvage
from presubmit.replay.sessions import Sessions, how_ended, last_line, write_whole
from presubmit.values import Outcome, StepResult, decode, encode

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from presubmit.replay.assignment import Lane
    from presubmit.replay.sessions import EarlySession
    from presubmit.values import PlanStep, Role


class Watcher(msgspec.Struct, kw_only=True):
    """Who wants to know what happens; each is called from one thread at a time."""

    started: Callable[[str], None]
    progressed: Callable[[str, str], None]
    ended: Callable[[StepResult], None]
    said: Callable[[str], None] = lambda _: None
    """A line of a step that is still at work: the answer for one benchmark."""


class SessionRunner:
    """Runs assignments of one run; `stop` ends them all, from any thread."""

    def __init__(self, folder: Path, watcher: Watcher) -> None:
        self.folder = folder
        self.events = folder / "events.jsonl"
        self._watcher = watcher
        self._reader = EventReader(self.events)
        self._lock = threading.Lock()
        self._sessions = Sessions()
        self._ended: set[str] = set()
        self._began: dict[str, float] = {}
        self._launched: dict[Role, EarlySession] = {}
        for name in ("assignments", "logs", "results"):
            (folder / name).mkdir(parents=True, exist_ok=True)

    @property
    def stopped(self) -> str:
        """Why `stop` was called; empty while the run goes on."""
        return self._sessions.stopped

    def adopt(self, role: Role, session: EarlySession) -> None:
        """Take over a session that was started early; the next run of its role uses it."""
        self._sessions.adopt(session.process)
        self._launched[role] = session

    def run(
        self,
        role: Role,
        lane: Lane,
        steps: Sequence[PlanStep],
        *,
        prefix: str = "",
        modules: tuple[str, ...] = (),
        others: tuple[Lane, ...] = (),
    ) -> list[StepResult]:
        """Run one session to its end; a step that left no result is an ERROR, and says why."""
        if not steps:
            return []
        assignment = Assignment(
            lane=lane,
            steps=tuple(steps),
            folder=str(self.folder),
            events=str(self.events),
            prefix=prefix,
            modules=modules,
            others=others,
        )
        early = self._launched.pop(role, None)
        if early is not None:
            log = early.log
            write_whole(early.told, encode(assignment))
            exit_code = self._wait_for(early.process, assignment)
        else:
            name = f"{prefix}{role}-{lane.name}-{steps[0].id}"
            told = self.folder / "assignments" / f"{name}.json"
            write_whole(told, encode(assignment))
            log = self.folder / "logs" / f"nox-{name}.log"
            started = self._sessions.start(str(role), told, log)
            exit_code = -signal.SIGTERM if started is None else self._wait_for(started, assignment)
        self.pump()
        return [self._result(step, prefix, exit_code, log) for step in steps]

    def stop(self, reason: str) -> None:
        """Tell every session to end: TERM, and after a while KILL."""
        self._sessions.stop(reason)

    def pump(self) -> None:
        """Hand on the events that came."""
        with self._lock:
            for event in self._reader.read_new():
                self._hand_on(str(event.get("event")), str(event.get("id")), event.get("text"))

    def _hand_on(self, kind: str, name: str, text: object) -> None:
        match kind:
            case "start":
                self._began[name] = time.monotonic()
                self._watcher.started(name)
            case "progress":
                self._watcher.progressed(name, str(text))
            case "said":
                self._watcher.said(str(text))
            case "result":
                result = self._read(name)
                if result is not None:
                    self._ended.add(name)
                    self._watcher.ended(msgspec.structs.replace(result, id=name))
            case _:
                pass

    def close(self) -> None:
        """End the sessions: those that have given all their results, and those that were never used."""
        for session in self._launched.values():
            session.close()
        self._launched.clear()
        self._sessions.close()

    def _wait_for(self, process: subprocess.Popen[bytes], assignment: Assignment) -> int:
        waiting = [f"{assignment.prefix}{step.id}" for step in assignment.steps]
        return self._sessions.wait(
            process,
            while_waiting=self.pump,
            has_all=lambda: all(name in self._ended for name in waiting),
        )

    def _read(self, name: str) -> StepResult | None:
        try:
            return decode((self.folder / "results" / f"{name}.json").read_bytes(), StepResult)
        except (OSError, ValueError, msgspec.ValidationError):
            return None

    def _result(self, step: PlanStep, prefix: str, exit_code: int, log: Path) -> StepResult:
        found = self._read(f"{prefix}{step.id}")
        if found is not None:
            return found
        if self.stopped:
            reason = f"stopped: {self.stopped}"
        else:
            reason = (
                f"its session ended ({how_ended(exit_code)}) without a result: {last_line(log)}"
            )
        result = StepResult(
            id=step.id,
            role=step.role,
            outcome=Outcome.ERROR,
            reason=reason,
            required=step.required,
            origin=step.origin,
            log=str(log.relative_to(self.folder)) if log.is_relative_to(self.folder) else "",
        )
        name = f"{prefix}{step.id}"
        began = self._began.get(name)
        if began is not None:
            seconds = round(time.monotonic() - began, 3)
            result = salvage(result, step.work, self.folder, name, seconds=seconds)
        with self._lock:
            self._watcher.ended(msgspec.structs.replace(result, id=name))
        return result
