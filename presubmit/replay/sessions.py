"""The Nox processes of a run: started, waited for, and all of them ended when the tool ends."""

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

from presubmit.process import scrubbed_environment
from presubmit.replay.assignment import ASSIGNMENT_VARIABLE, EARLY_VARIABLE, TOOL_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from presubmit.values import Role

# A step that is told to stop gives its processes 5 s, then kills them; nox has its own work after that.
_STOP_SECONDS: Final = 15.0
_POLL_SECONDS: Final = 0.02


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
        {
            ASSIGNMENT_VARIABLE: str(told),
            TOOL_VARIABLE: str(os.getpid()),
            "PYTHONUNBUFFERED": "1",
            **(extra or {}),
        }
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


class Sessions:
    """The running Nox processes; `stop` ends them all, from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._processes: list[subprocess.Popen[bytes]] = []
        self._stopped = ""

    @property
    def stopped(self) -> str:
        """Why `stop` was called; empty while the run goes on."""
        return self._stopped

    def adopt(self, process: subprocess.Popen[bytes]) -> None:
        """Take over a process that was started elsewhere."""
        with self._lock:
            self._processes.append(process)

    def start(
        self, session: str, told: Path, log: Path, extra: Mapping[str, str] | None = None
    ) -> subprocess.Popen[bytes] | None:
        """Start a session (with `extra` variables); None once `stop` was called."""
        with self._lock:
            if self._stopped:
                return None
            process = start_nox(session, told, log, extra)
            self._processes.append(process)
        return process

    def wait(
        self,
        process: subprocess.Popen[bytes],
        *,
        while_waiting: Callable[[], None],
        has_all: Callable[[], bool],
    ) -> int:
        """Wait for a session's end, or for all its results: nox then only has its own good-byes to say."""
        while process.poll() is None:
            while_waiting()
            if has_all():
                return 0
            time.sleep(_POLL_SECONDS)
        with self._lock:
            if process in self._processes:
                self._processes.remove(process)
        return process.returncode

    def end(self, process: subprocess.Popen[bytes]) -> None:
        """End one session: TERM, and after a while KILL."""
        _signal(process, signal.SIGTERM)
        try:
            process.wait(timeout=_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            _signal(process, signal.SIGKILL)

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

    def close(self) -> None:
        """End what still runs: its results are there, whole; what is left are nox's own good-byes."""
        with self._lock:
            running, self._processes = self._processes, []
        for process in running:
            _signal(process, signal.SIGKILL)
            process.wait()


def _signal(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, number)


def write_whole(path: Path, data: bytes) -> None:
    """Write a file that another process waits for: it is there whole, or not at all."""
    temporary = path.with_suffix(".tmp")
    temporary.write_bytes(data)
    temporary.replace(path)


def how_ended(exit_code: int) -> str:
    """Say how a process ended: `exit 1`, `SIGKILL`."""
    if exit_code >= 0:
        return f"exit {exit_code}"
    try:
        return signal.Signals(-exit_code).name
    except ValueError:  # a real-time signal
        return f"signal {-exit_code}"


def last_line(log: Path) -> str:
    """Give the last line of a log that nox did not write itself, cut."""
    try:
        lines = log.read_bytes().decode("utf-8", "replace").strip().splitlines()
    except OSError as error:
        return f"{log.name} cannot be read: {error.strerror}"
    own = [line for line in lines if line.strip() and not line.startswith("nox > ")]
    return (own or lines or ["it printed nothing"])[-1][:300]


def noxfile() -> Path:
    """Our noxfile: inside the package when installed, at the root in a checkout."""
    here = Path(__file__).resolve().parents[1]
    packaged = here / "_nox" / "noxfile.py"
    return packaged if packaged.is_file() else here.parent / "noxfile.py"
