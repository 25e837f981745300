"""The sides of a comparison with real workers: JSON lines over the pipes of one process, in a box or on the host."""

from __future__ import annotations

import json
import os
import secrets as random
import selectors
import signal
import subprocess
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Protocol

from presubmit.container.host import host_environment
from presubmit.container.output import STDERR, STDOUT
from presubmit.container.scripts import MARKER, OURS
from presubmit.container.supervise import LostError
from presubmit.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from presubmit.bench.talk import Talk
    from presubmit.container.box import DockerBox

_TAIL: Final = 4000
_LINE_LIMIT: Final = 64 << 20
_READ: Final = 1 << 16
_SILENCE: Final = 0.5
"""After so many seconds without a word it is looked whether the process still runs."""
_LEAVE_SECONDS: Final = 2.0
"""How long a worker that has said its last word may take to leave."""
_END_SECONDS: Final = 2.0
# $1 folder, then `NAME=value` … and the command. The worker belongs to this talk, not to presubmit's own looks.
_ENTER: Final = f'cd "$1" || exit 126; shift; exec env -u {OURS} "$@"'


class BoxSide:
    """Workers in a container: each is one exec with an open standard input."""

    def __init__(
        self,
        name: str,
        box: DockerBox,
        command: Sequence[str],
        *,
        cwd: str,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self._box = box
        self._command = tuple(command)
        self._cwd = cwd
        self._env = dict(env or {})

    def start(self, job: Mapping[str, object], *, env: Mapping[str, str]) -> Talk:
        """Start a fresh worker in the box; raises EngineError."""
        marker = random.token_hex(16)
        pairs = {**self._env, **env, MARKER: marker}
        words = (*(f"{name}={value}" for name, value in pairs.items()), *self._command)
        try:
            duplex = self._box.open_duplex(["sh", "-c", _ENTER, "sh", self._cwd, *words])
            talk = PipedTalk(duplex, end=lambda: self._end(marker))
            talk.send(job)
        except LostError as error:
            raise EngineError(f"cannot start the {self.name} side's worker: {error}") from error
        return talk

    def _end(self, marker: str) -> None:
        with suppress(LostError):
            self._box.end_marked(marker, grace=0.0)


class HostSide:
    """Workers on the host: each is a subprocess in a process group of its own."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        *,
        cwd: str,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self._command = tuple(command)
        self._cwd = cwd
        self._env = dict(env or {})

    def start(self, job: Mapping[str, object], *, env: Mapping[str, str]) -> Talk:
        """Start a fresh worker on the host; raises EngineError."""
        try:
            pipes = HostPipes(self._command, cwd=self._cwd, env=host_environment(self._env, env))
        except (OSError, ValueError) as error:
            raise EngineError(f"cannot start the {self.name} side's worker: {error}") from error
        talk = PipedTalk(pipes, end=pipes.kill)
        talk.send(job)
        return talk


class Pipes(Protocol):
    """Bytes to and from a process: `Duplex`, or `HostPipes`."""

    def is_running(self) -> bool:
        """Whether the process itself still runs, whoever holds its streams. Raises LostError."""

    def send(self, data: bytes) -> None:
        """Write to its standard input; raises LostError."""

    def read(self, wait: float) -> tuple[tuple[int, bytes], ...] | None:
        """Give what came within `wait` seconds as (stream, bytes); None when it has ended. Raises LostError."""

    def close(self) -> None:
        """Close its standard input and let go."""


class PipedTalk:
    """JSON lines over pipes; `end` kills what is behind them."""

    def __init__(self, pipes: Pipes, *, end: Callable[[], None]) -> None:
        self._pipes = pipes
        self._kill = end
        self._lines: list[bytes] = []
        self._rest = bytearray()
        self._errors = b""
        self._ended = self._closed = False
        self._leaves = False
        """It said that it has come to its end."""
        self._drained = False
        """Nobody holds its streams any more."""
        self._looked = time.monotonic()
        """When it last said something, or was last looked at."""

    @property
    def errors(self) -> str:
        """The tail of its standard error, and of what it said that is no JSON."""
        return self._errors.decode("utf-8", "replace").strip()

    def send(self, message: Mapping[str, object]) -> None:
        """Tell it something."""
        with suppress(LostError):
            self._pipes.send(json.dumps(message).encode("ascii") + b"\n")

    def receive(self, seconds: float) -> dict[str, Any] | None:
        """Give its next answer; None: it ended. Raises TimeoutError."""
        until = time.monotonic() + seconds
        while True:
            while self._lines:
                message = self._parse(self._lines.pop(0))
                if message is not None:
                    return message
            if self._ended:
                return None
            left = until - time.monotonic()
            if left <= 0:
                raise TimeoutError
            self._take(left)

    def close(self) -> None:
        """End it, and whatever it started."""
        if self._closed:
            return
        self._closed = True
        until = time.monotonic() + _LEAVE_SECONDS
        while self._leaves and not self._ended and (left := until - time.monotonic()) > 0:
            self._take(left)
        self._ended = True
        # Looking for leftovers in a box takes longer than many a pair; who left holds no stream any more.
        if not self._drained:
            self._kill()
        self._pipes.close()

    def _take(self, wait: float) -> None:
        """Read what comes; silence is the end where the process itself is gone: a child may hold its streams."""
        try:
            chunks = self._pipes.read(min(wait, _SILENCE))
            self._drained = chunks is None
            if chunks:
                self._looked = time.monotonic()
            elif chunks is not None and time.monotonic() - self._looked >= _SILENCE:
                self._looked = time.monotonic()
                if not self._pipes.is_running():
                    chunks = self._pipes.read(0.0) or None  # what it wrote before its end
        except LostError as error:
            self._note(str(error).encode("utf-8", "replace"))
            chunks = None
        if chunks is None:
            self._ended = True
            return
        for stream, data in chunks:
            if stream == STDOUT:
                self._feed(data)
            else:
                self._note(data)

    def _feed(self, data: bytes) -> None:
        *lines, rest = (bytes(self._rest) + data).split(b"\n") if b"\n" in data else (data,)
        if lines:
            self._lines += lines
            self._rest = bytearray(rest)
        else:
            self._rest += rest
        if len(self._rest) > _LINE_LIMIT:
            self._note(b"a line without an end\n")
            self._ended = True

    def _parse(self, line: bytes) -> dict[str, Any] | None:
        """Read one answer; what is none is kept with the errors, since something wrote past the worker."""
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            message = None
        if isinstance(message, dict):
            self._leaves = message.get("say") == "end"
            return message
        self._note(line + b"\n" if line.strip() else b"")
        return None

    def _note(self, data: bytes) -> None:
        self._errors = (self._errors + data)[-_TAIL:]


class HostPipes:
    """The pipes of a subprocess in a process group of its own."""

    def __init__(self, command: Sequence[str], *, cwd: str, env: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(  # noqa: S603 - the host as a box: a worker that is talked with
            tuple(command),
            cwd=cwd,
            env=dict(env),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            bufsize=0,
        )
        self._selector = selectors.DefaultSelector()
        for stream, pipe in ((STDOUT, self._process.stdout), (STDERR, self._process.stderr)):
            if pipe is not None:
                self._selector.register(pipe, selectors.EVENT_READ, stream)

    def send(self, data: bytes) -> None:
        """Write to its standard input; raises LostError."""
        try:
            if self._process.stdin is not None:
                self._process.stdin.write(data)
        except (OSError, ValueError) as error:
            raise LostError(f"the worker takes nothing: {error}") from error

    def read(self, wait: float) -> tuple[tuple[int, bytes], ...] | None:
        """Give what came within `wait` seconds; None when both streams have ended."""
        if not self._selector.get_map():
            return None
        chunks = []
        for key, _ in self._selector.select(wait):
            data = os.read(key.fd, _READ)
            if data:
                chunks.append((int(key.data), data))
            else:
                self._selector.unregister(key.fileobj)
        return tuple(chunks)

    def is_running(self) -> bool:
        """Whether the worker itself still runs."""
        return self._process.poll() is None

    def kill(self) -> None:
        """Kill the whole process group, and reap the worker."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_SECONDS)

    def close(self) -> None:
        """End what is left of the process group, and close the pipes."""
        self.kill()
        self._selector.close()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
