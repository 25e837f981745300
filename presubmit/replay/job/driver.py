"""Runs the processes of a cell's steps at native cost: one long-lived shell in the box, or the host itself."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, Protocol

from presubmit.container.host import HostBox
from presubmit.container.model import ExecOutcome  # noqa: TC001 - msgspec reads the annotation
from presubmit.errors import EngineError
from presubmit.values import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from presubmit.container.model import Box

WORD_LIMIT: Final = 131_071
"""Bytes of one argument or one `NAME=value` that Linux passes to a process (MAX_ARG_STRLEN)."""


DEFAULT_MOST: Final = 6 << 20
"""Bytes of all of them together, whatever the size of the stack (fs/exec.c, bprm_stack_limits)."""
_TOO_LONG: Final = "Argument list too long"
LINGER_SECONDS: Final = 1.0
"""How long output is still taken from what outlives a step and holds its streams (`exec > >(tee log)` needs a few
milliseconds); GitHub waits five seconds (ProcessInvoker.cs)."""
_NO_SPACE: Final = b"No space left on device"


class StepEnd(Value, frozen=True, kw_only=True):
    """How a step's process ended; only EXITED has an exit code."""

    outcome: ExecOutcome
    exit_code: int | None = None
    seconds: float = 0.0
    reason: str = ""
    """In words, for every outcome but EXITED."""
    oom_kills: int = 0
    leaked: tuple[str, ...] = ()
    """Processes that outlived the step; they go on until the driver is closed, cut off from its output."""


class Driver(Protocol):
    """Runs processes one after another."""

    @property
    def environment(self) -> dict[str, str]:
        """The box's own environment, before any step."""

    def run(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: str,
        timeout: float,
        on_output: Callable[[int, bytes], None],
        grace: float = 5.0,
    ) -> StepEnd:
        """Run `argv` (no shell) to its end; `env` is the process's whole environment, its standard input is empty.

        `on_output` gets (stream, bytes) as they come; 1 is standard output, 2 standard error. At the deadline the
        whole process tree gets TERM, after `grace` seconds KILL. An exception (^C, one of `on_output`) ends the tree
        in the same way and is raised again. After ENGINE_LOST the next call tries with a new shell.
        """


@contextmanager
def open_driver(box: Box, *, log: Path) -> Iterator[Driver]:
    """Give the driver of a cell; at the end every process that its steps left behind is killed, as on GitHub.

    `log` takes a line where something happens between the steps: leftovers, a new shell. Raises EngineError.
    """
    from presubmit.container.box import DockerBox  # noqa: PLC0415 - the host needs no engine
    from presubmit.replay.job.box_driver import BoxDriver  # noqa: PLC0415 - as above
    from presubmit.replay.job.host_driver import HostDriver  # noqa: PLC0415 - only on the host

    driver: BoxDriver | HostDriver
    match box:
        case DockerBox():
            driver = BoxDriver(box, log=log)
        case HostBox():
            driver = HostDriver(box, log=log)
        case _:
            raise EngineError(f"no job can be run in a box of the kind {type(box).__name__}")
    try:
        yield driver
    finally:
        driver.close()


def most_words(stack: int) -> int:
    """Give the bytes of arguments and variables that Linux starts a process with, by the size of its stack."""
    return min(stack // 4, DEFAULT_MOST)


def why_not_passed(argv: Sequence[str], env: Mapping[str, str], *, most: int) -> str:
    """Say why the system would refuse to start a process with these words; empty where it would not."""
    if not argv or not argv[0]:
        return "there is no command"
    return _why_malformed(argv, env) or _why_too_long(argv, env, most)


def _why_malformed(argv: Sequence[str], env: Mapping[str, str]) -> str:
    if any("\0" in word for word in argv):
        return f"an argument of {argv[0]} contains a NUL byte"
    for name, value in env.items():
        if not name or "=" in name or "\0" in name:
            return f"{name!r} cannot be the name of a variable"
        if "\0" in value:
            return f"the variable {name} contains a NUL byte"
    return ""


def _why_too_long(argv: Sequence[str], env: Mapping[str, str], most: int) -> str:
    words = [("an argument", _size(word)) for word in argv]
    words += [(f"the variable {name}", _size(f"{name}={value}")) for name, value in env.items()]
    longest, size = max(words, key=lambda word: word[1])
    if size > WORD_LIMIT:
        return f"{_TOO_LONG}: {longest} has {size:,} bytes, and Linux passes at most {WORD_LIMIT:,} in one"
    # Each word takes its end and a pointer.
    total = sum(size + 9 for _, size in words)
    if total > most:
        return f"{_TOO_LONG}: arguments and variables have {total:,} bytes, and Linux passes at most {most:,}"
    return ""


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(os.fsencode(text))


class Sink:
    """Hands a step's output on, until an exception is on its way; `said_no_space` tells a full disk."""

    def __init__(self, on_output: Callable[[int, bytes], None]) -> None:
        self._on_output: Callable[[int, bytes], None] | None = on_output
        self._last: dict[int, bytes] = {}
        self.said_no_space = False

    def feed(self, stream: int, data: bytes) -> None:
        """Take the next bytes of a stream."""
        if not self.said_no_space:
            last = self._last.get(stream, b"")
            self.said_no_space = _NO_SPACE in data or _NO_SPACE in last + data[: len(_NO_SPACE)]
            self._last[stream] = (last + data[-len(_NO_SPACE) :])[-len(_NO_SPACE) :]
        if self._on_output is not None:
            self._on_output(stream, data)

    def mute(self) -> None:
        """Hand on nothing more."""
        self._on_output = None
