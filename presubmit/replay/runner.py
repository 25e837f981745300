"""Starts one Nox process for each assignment and collects what its steps wrote."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from presubmit.process import scrubbed_environment
from presubmit.replay.assignment import ASSIGNMENT_VARIABLE, EARLY_VARIABLE, Assignment
from presubmit.replay.events import EventReader
from presubmit.values import Outcome, StepResult, decode, encode

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from presubmit.replay.assignment import Lane
    from presubmit.values import PlanStep, Role

# A step that is told to stop gives its processes 5 s, then kills them; nox has its own work after that.
_STOP_SECONDS: Final = 15.0
_POLL_SECONDS: Final = 0.02


class Watcher(msgspec.Struct, kw_only=True):
    """Who wants to know what happens; each is called from one thread at a time."""

    started: Callable[[str], None]
    progressed: Callable[[str, str], None]
    ended: Callable[[StepResult], None]


class EarlySession:
    """A session that is started before it is known what it has to do: it loads what it needs, then waits.

    A session costs half a second to start, which passes while the change is read and a box starts.
    """

    def __init__(self, role: Role, *, container: bool) -> None:
        _sweep_sessions()
        self.folder = Path(tempfile.mkdtemp(prefix=f"presubmit-session-{os.getpid()}-"))
        self.told = self.folder / "assignment.json"
        self.log = self.folder / "nox.log"
        where = "container" if container else "host"
        self.process = start_nox(str(role), self.told, self.log, {EARLY_VARIABLE: where})

    def close(self) -> None:
        """End it, if it still runs."""
        if self.process.poll() is None:
            _signal(self.process, signal.SIGKILL)
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def _sweep_sessions() -> None:
    """Remove the folders that killed tools of this user left."""
    for path in Path(tempfile.gettempdir()).glob("presubmit-session-*-*"):
        owner = path.name.split("-")[2]
        with contextlib.suppress(OSError):
            if path.stat().st_uid == os.getuid() and not Path(f"/proc/{owner}").exists():
                shutil.rmtree(path, ignore_errors=True)


def start_nox(
    session: str, told: Path, log: Path, extra: Mapping[str, str] | None = None
) -> subprocess.Popen[bytes]:
    """Start one session of our noxfile; it reads its assignment from `told` once that is there."""
    command = (
        *(sys.executable, "-P", "-m", "nox", "-f", str(noxfile()), "-s", session),
        *(
            "--no-dependencies",
            "--non-interactive",
            "--report",
            str(told.with_suffix(".nox.json")),
        ),
        *("--envdir", str(told.parent / "nox")),
    )
    env = scrubbed_environment(
        {ASSIGNMENT_VARIABLE: str(told), "PYTHONUNBUFFERED": "1", **(extra or {})}
    )
    with log.open("ab") as output:
        # A session of its own: nox dies of a terminal's Ctrl-C before its clean-ups are done.
        return subprocess.Popen(  # noqa: S603 - our own noxfile; needs the handle to stop it
            command,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )


class SessionRunner:
    """Runs assignments of one run; `stop` ends them all, from any thread."""

    def __init__(self, folder: Path, watcher: Watcher) -> None:
        self.folder = folder
        self.events = folder / "events.jsonl"
        self._watcher = watcher
        self._reader = EventReader(self.events)
        self._lock = threading.Lock()
        self._processes: list[subprocess.Popen[bytes]] = []
        self._stopped = ""
        self._ended: set[str] = set()
        self._launched: dict[Role, EarlySession] = {}
        for name in ("assignments", "logs", "results"):
            (folder / name).mkdir(parents=True, exist_ok=True)

    @property
    def stopped(self) -> str:
        """Why `stop` was called; empty while the run goes on."""
        return self._stopped

    def adopt(self, role: Role, session: EarlySession) -> None:
        """Take over a session that was started early; the next run of its role uses it."""
        with self._lock:
            self._processes.append(session.process)
        self._launched[role] = session

    def run(
        self,
        role: Role,
        lane: Lane,
        steps: Sequence[PlanStep],
        *,
        prefix: str = "",
        modules: tuple[str, ...] = (),
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
            started = self._start_nox(str(role), told, log)
            exit_code = -signal.SIGTERM if started is None else self._wait_for(started, assignment)
        self.pump()
        return [self._result(step, prefix, exit_code, log) for step in steps]

    def stop(self, reason: str) -> None:
        """Tell every session to end: TERM, and after a while KILL."""
        with self._lock:
            self._stopped = self._stopped or reason
            running = list(self._processes)
        for process in running:
            _signal(process, signal.SIGTERM)
        deadline = time.monotonic() + _STOP_SECONDS
        for process in running:
            try:
                process.wait(timeout=max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                _signal(process, signal.SIGKILL)

    def pump(self) -> None:
        """Hand on the events that came."""
        with self._lock:
            for event in self._reader.read_new():
                self._hand_on(str(event.get("event")), str(event.get("id")), event.get("text"))

    def _hand_on(self, kind: str, name: str, text: object) -> None:
        match kind:
            case "start":
                self._watcher.started(name)
            case "progress":
                self._watcher.progressed(name, str(text))
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
        with self._lock:
            running, self._processes = self._processes, []
        for process in running:
            # Its results are there, whole: what is left are nox's own good-byes.
            _signal(process, signal.SIGKILL)
            process.wait()

    def _start_nox(self, session: str, told: Path, log: Path) -> subprocess.Popen[bytes] | None:
        with self._lock:
            if self._stopped:
                return None
            process = start_nox(session, told, log)
            self._processes.append(process)
        return process

    def _wait_for(self, process: subprocess.Popen[bytes], assignment: Assignment) -> int:
        """Wait for the session's end, or for all its results: nox then only has its own good-byes to say."""
        waiting = [f"{assignment.prefix}{step.id}" for step in assignment.steps]
        while process.poll() is None:
            self.pump()
            if all(name in self._ended for name in waiting):
                return 0
            time.sleep(_POLL_SECONDS)
        with self._lock:
            self._processes.remove(process)
        return process.returncode

    def _read(self, name: str) -> StepResult | None:
        try:
            return decode((self.folder / "results" / f"{name}.json").read_bytes(), StepResult)
        except (OSError, ValueError, msgspec.ValidationError):
            return None

    def _result(self, step: PlanStep, prefix: str, exit_code: int, log: Path) -> StepResult:
        found = self._read(f"{prefix}{step.id}")
        if found is not None:
            return found
        if self._stopped:
            reason = f"stopped: {self._stopped}"
        else:
            reason = f"its session ended ({_ended(exit_code)}) without a result: {_last_line(log)}"
        result = StepResult(
            id=step.id,
            role=step.role,
            outcome=Outcome.ERROR,
            reason=reason,
            required=step.required,
            origin=step.origin,
            log=str(log.relative_to(self.folder)) if log.is_relative_to(self.folder) else "",
        )
        with self._lock:
            self._watcher.ended(msgspec.structs.replace(result, id=f"{prefix}{step.id}"))
        return result


def _signal(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, number)


def write_whole(path: Path, data: bytes) -> None:
    """Write a file that another process waits for: it is there whole, or not at all."""
    temporary = path.with_suffix(".tmp")
    temporary.write_bytes(data)
    temporary.replace(path)


def _ended(exit_code: int) -> str:
    if exit_code >= 0:
        return f"exit {exit_code}"
    try:
        return signal.Signals(-exit_code).name
    except ValueError:  # a real-time signal
        return f"signal {-exit_code}"


def _last_line(log: Path) -> str:
    lines = log.read_bytes().decode("utf-8", "replace").strip().splitlines()
    return lines[-1][:300] if lines else "it printed nothing"


def noxfile() -> Path:
    """Our noxfile: inside the package when installed, at the root in a checkout."""
    here = Path(__file__).resolve().parents[1]
    packaged = here / "_nox" / "noxfile.py"
    return packaged if packaged.is_file() else here.parent / "noxfile.py"
