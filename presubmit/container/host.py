"""The host behind the Box protocol: no engine, no isolation, the same handling of output, time and leftovers.

Besides `presubmit/process.py` the only module that starts processes on the host.
"""

from __future__ import annotations

import json
import os
import secrets as random
import selectors
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from presubmit.container.classify import classify
from presubmit.container.model import ExecOutcome, ExecResult
from presubmit.container.output import STDERR, STDOUT, Output
from presubmit.container.scripts import MARKER, Process, is_full
from presubmit.container.supervise import watch
from presubmit.errors import EngineError
from presubmit.process import scrubbed_environment

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

# Everything else of the caller's environment (tokens, agent sockets, cloud profiles) stays out.
_PASSED: Final = frozenset(
    {"PATH", "HOME", "LANG", "LANGUAGE", "TERM", "TMPDIR", "TZ", "USER", "LOGNAME"}
)
_READ: Final = 1 << 16
_LEAK_GRACE: Final = 0.5
_KILL_ROUNDS: Final = 25
_QUIET_SECONDS: Final = 0.3
_DRAIN_SECONDS: Final = 2.0
_SHOWN_WORDS: Final = 200
_SHARED_MEMORY: Final = "/dev/shm"  # noqa: S108 - only looked at


class HostBox:
    """The host as a box: `env` is laid over a small allow-list of the caller's environment.

    `id` holds `workdir` and `env` in the open, so no secret belongs there; pass those to `exec`.
    """

    def __init__(self, *, workdir: str, env: Mapping[str, str] | None = None) -> None:
        self._workdir = workdir
        self._env = dict(env or {})

    @classmethod
    def from_id(cls, box_id: str) -> Self:
        """Make the same box in another process."""
        try:
            held = json.loads(box_id.removeprefix("host:"))
            return cls(
                workdir=str(held["workdir"]), env={str(k): str(v) for k, v in held["env"].items()}
            )
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise EngineError(f"box id {box_id!r} is not one of the host's") from error

    @property
    def workdir(self) -> str:
        """Where relative folders start."""
        return self._workdir

    @property
    def environment(self) -> dict[str, str]:
        """What every command starts from."""
        return host_environment(self._env, {})

    @property
    def id(self) -> str:
        """What another process attaches with."""
        return "host:" + json.dumps({"workdir": self._workdir, "env": self._env}, sort_keys=True)

    def exec(
        self,
        argv: Sequence[str],
        *,
        log: Path,
        timeout: float,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        on_output: Callable[[str], None] | None = None,
        secrets: Sequence[str] = (),
        grace: float = 5.0,
    ) -> ExecResult:
        """Run `argv` (no shell) to its end; see Box.exec."""
        marker = random.token_hex(16)
        place = os.path.join(self._workdir, cwd or "")  # noqa: PTH118 - names that are not UTF-8 stay as they are
        begun = time.monotonic()
        kills_before = count_oom_kills()
        code: int | None = None
        with Output(log, on_output=on_output, secrets=secrets) as output:
            command = HostExec(
                argv, cwd=place, env=host_environment(self._env, env or {}), marker=marker
            )
            try:
                code = watch(command, output, timeout=timeout, grace=grace)
            finally:
                output.finish()
                command.close()
            seconds = time.monotonic() - begun
            timed_out = code is None
            leaked = command.leftovers()
            if leaked:
                command.kill_tree(_LEAK_GRACE)
        killed = code == 128 + signal.SIGKILL
        # The kernel's count is the whole machine's, so it only speaks of a command that was killed.
        oom_kills = max(0, count_oom_kills() - kills_before) if killed else 0
        outcome, reason = classify(
            exit_code=code,
            started=command.started,
            tail=command.complaint or output.tail,
            oom_kills=oom_kills,
            timed_out=timed_out,
            timeout=timeout,
            lost="",
            full_disks=find_full_disks(place) if output.said_no_space else (),
        )
        return ExecResult(
            argv=tuple(output.mask(word) for word in argv),
            outcome=outcome,
            exit_code=code
            if outcome not in {ExecOutcome.TIMEOUT, ExecOutcome.START_FAILED}
            else None,
            seconds=seconds,
            reason=output.mask(reason),
            oom_kills=oom_kills,
            leaked=() if timed_out else tuple(output.mask(process.words) for process in leaked),
            tail=output.tail,
        )

    def cut_network(self) -> None:
        """Do nothing: the host's network is not ours to cut."""

    def close(self) -> None:
        """Do nothing: each command was ended with its own leftovers."""


class HostExec:
    """One command on the host, as `supervise` wants it, in a session of its own."""

    def __init__(
        self,
        argv: Sequence[str],
        *,
        cwd: str,
        env: Mapping[str, str],
        marker: str,
        linger: float = _DRAIN_SECONDS,
    ) -> None:
        self._marker = marker
        self._linger = linger
        self._exited: float | None = None
        self._selector = selectors.DefaultSelector()
        self._process: subprocess.Popen[bytes] | None = None
        self.complaint = ""
        """Why it could not be started."""
        try:
            self._process = subprocess.Popen(  # noqa: S603 - the one place where the host is a box
                tuple(argv),
                cwd=cwd,
                env={**env, MARKER: marker},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
                bufsize=0,
            )
        except (OSError, ValueError) as error:
            self.complaint = (
                f"cannot start {argv[0]} in {cwd}: {getattr(error, 'strerror', None) or error}"
            )
            return
        for stream, pipe in ((STDOUT, self._process.stdout), (STDERR, self._process.stderr)):
            if pipe is not None:
                os.set_blocking(pipe.fileno(), False)
                self._selector.register(pipe, selectors.EVENT_READ, stream)

    @property
    def started(self) -> bool:
        """Whether the command began."""
        return self._process is not None

    def read(self, wait: float) -> tuple[tuple[int, bytes], ...] | None:
        """Give the next output; None at the end, or soon after the command's own end where a child lives on."""
        if not self._selector.get_map():
            return None
        chunks = []
        for key, _ in self._selector.select(wait):
            data = os.read(key.fd, _READ)
            if data:
                chunks.append((key.data, data))
            else:
                self._selector.unregister(key.fileobj)
        return None if self._is_over(quiet=not chunks) else tuple(chunks)

    def exit_code(self) -> int | None:
        """Give the exit code as a shell does: 128 and the signal's number for a signal."""
        if self._process is None:
            return 126
        code = self._process.poll()
        return code if code is None or code >= 0 else 128 - code

    @property
    def holds_streams(self) -> bool:
        """Whether somebody still has the other end of its output."""
        return bool(self._selector.get_map())

    def discard(self, wait: float) -> bool:
        """Read away what comes within `wait` seconds; False when both streams have ended."""
        for key, _ in self._selector.select(wait):
            if not os.read(key.fd, _READ):
                self._selector.unregister(key.fileobj)
        return self.holds_streams

    def may_have_left(self) -> bool:
        """Whether something of it may still run, at the price of one system call; a look at /proc says what."""
        if self._process is None or self.holds_streams:
            return self._process is not None
        try:
            os.killpg(self._process.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        return True

    def leftovers(self) -> tuple[Process, ...]:
        """Find what of the command's tree still runs: by its marker, its session and its parents."""
        return () if self._process is None else tuple(_tree(self._process.pid, self._marker))

    def kill_tree(self, grace: float) -> None:
        """TERM everything of the tree, after `grace` seconds KILL until none is left."""
        _signal(self.leftovers(), signal.SIGTERM)
        until = time.monotonic() + grace
        while self._lives() and time.monotonic() < until:
            time.sleep(0.05)
        for _ in range(_KILL_ROUNDS):
            if not self._lives():
                return
            _signal(self.leftovers(), signal.SIGKILL)
            time.sleep(0.02)

    def close(self) -> None:
        """Close the pipes."""
        self._selector.close()
        if self._process is not None:
            for pipe in (self._process.stdout, self._process.stderr):
                if pipe is not None:
                    pipe.close()

    def _lives(self) -> bool:
        self.exit_code()  # reaps the leader
        return bool(self.leftovers())

    def _is_over(self, *, quiet: bool) -> bool:
        """Whether to stop reading although a child of the command still holds its streams."""
        if self.exit_code() is None:
            return False
        now = time.monotonic()
        self._exited = self._exited or now
        return now - self._exited > (min(_QUIET_SECONDS, self._linger) if quiet else self._linger)


def host_environment(box: Mapping[str, str], command: Mapping[str, str]) -> dict[str, str]:
    """Give the environment of a command on the host."""
    kept = {
        name: value
        for name, value in scrubbed_environment().items()
        if name in _PASSED or name.startswith("LC_")
    }
    return {**kept, "GIT_OPTIONAL_LOCKS": "0", **box, **command}


def end_marked(markers: Collection[str]) -> None:
    """Kill every process that carries one of these markers."""
    wanted = {f"{MARKER}={marker}".encode() for marker in markers}
    for _ in range(_KILL_ROUNDS):
        found = [
            pid for pid in _pids() if not wanted.isdisjoint(_read(pid, "environ").split(b"\0"))
        ]
        if not found:
            return
        _signal([Process(pid, "") for pid in found], signal.SIGKILL)
        time.sleep(0.02)


def _tree(leader: int, marker: str) -> Iterator[Process]:
    """Find the live processes that belong to a command."""
    wanted = f"{MARKER}={marker}".encode()
    facts = {pid: stat for pid in _pids() if (stat := _stat(pid)) is not None}
    mine = {
        pid
        for pid, (_, session) in facts.items()
        if leader in {pid, session} or wanted in _read(pid, "environ").split(b"\0")
    }
    grown = True
    while grown:
        more = {pid for pid, (parent, _) in facts.items() if parent in mine} - mine
        mine |= more
        grown = bool(more)
    for pid in sorted(mine):
        words = _read(pid, "cmdline").replace(b"\0", b" ").decode("utf-8", "replace").strip()
        yield Process(pid, words[:_SHOWN_WORDS] or f"process {pid}")


def _pids() -> Iterator[int]:
    try:
        names = os.listdir("/proc")  # noqa: PTH208 - hundreds of names, no need of Path objects
    except OSError:
        return
    own = os.getpid()
    for name in names:
        if name.isdecimal() and int(name) != own:
            yield int(name)


def _stat(pid: int) -> tuple[int, int] | None:
    """Give a process's parent and session; None for one that is dead."""
    fields = _read(pid, "stat").rpartition(b")")[2].split()
    if len(fields) < 4 or fields[0] in {b"Z", b"X"}:  # noqa: PLR2004 - state, parent, group, session
        return None
    return int(fields[1]), int(fields[3])


def _read(pid: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""


def _signal(processes: Sequence[Process], number: signal.Signals) -> None:
    for process in processes:
        try:
            os.kill(process.pid, number)
        except OSError:
            continue  # it ended in between, or runs as somebody else


def count_oom_kills() -> int:
    """Give how many processes the kernel has killed for memory since boot; 0 where it does not count."""
    try:
        text = Path("/proc/vmstat").read_text(encoding="ascii")
    except OSError:
        return 0
    return next(
        (int(line.split()[1]) for line in text.splitlines() if line.startswith("oom_kill ")), 0
    )


def find_full_disks(place: str) -> tuple[str, ...]:
    """Give those of a command's usual places whose file system is full."""
    return tuple(
        folder for folder in (place, tempfile.gettempdir(), _SHARED_MEMORY) if _is_full(folder)
    )


def _is_full(folder: str) -> bool:
    try:
        state = os.statvfs(folder)
    except OSError:
        return False
    return is_full(
        total=state.f_blocks * state.f_frsize, available=state.f_bavail * state.f_frsize
    )
