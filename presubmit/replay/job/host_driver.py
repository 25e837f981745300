"""The driver on the host: each step is a process of its own there, with streams of its own."""

from __future__ import annotations

import os
import resource
import secrets as random
import shutil
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from presubmit.container.classify import classify
from presubmit.container.host import HostExec, count_oom_kills, end_marked, find_full_disks
from presubmit.container.model import ExecOutcome
from presubmit.container.supervise import watch
from presubmit.replay.job.driver import (
    DEFAULT_MOST,
    LINGER_SECONDS,
    Sink,
    StepEnd,
    most_words,
    why_not_passed,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from presubmit.container.host import HostBox

_KILLED: Final = 137


class HostDriver:
    """Runs steps on the host; see Driver."""

    def __init__(self, box: HostBox, *, log: Path) -> None:
        self._log = log
        self._environment = box.environment
        self._folder = box.workdir
        self._markers: list[str] = []
        self._parked: list[_Drain] = []

    @property
    def environment(self) -> dict[str, str]:
        """What every command on the host starts from."""
        return dict(self._environment)

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
        """Run `argv` to its end; see Driver.run."""
        place = os.path.join(self._folder, cwd)  # noqa: PTH118 - names that are not UTF-8 stay as they are
        refusal = why_not_passed(argv, env, most=_most()) or _why_not_started(
            argv, env=env, place=place
        )
        if refusal:
            return StepEnd(outcome=ExecOutcome.START_FAILED, reason=refusal)
        marker = random.token_hex(16)
        self._markers.append(marker)
        sink = Sink(on_output)
        kills = count_oom_kills()
        begun = time.monotonic()
        command = HostExec(argv, cwd=place, env=env, marker=marker, linger=LINGER_SECONDS)
        code: int | None = None
        try:
            code = watch(command, sink, timeout=timeout, grace=grace)
        finally:
            seconds = time.monotonic() - begun
            leaked = self._look_after(command)
        # The kernel's count is the whole machine's, so it only speaks of a command that was killed.
        oom_kills = max(0, count_oom_kills() - kills) if code == _KILLED else 0
        outcome, reason = classify(
            exit_code=code,
            started=command.started,
            tail=command.complaint,
            oom_kills=oom_kills,
            timed_out=code is None,
            timeout=timeout,
            lost="",
            full_disks=find_full_disks(place) if code and sink.said_no_space else (),
        )
        return StepEnd(
            outcome=outcome,
            exit_code=None if outcome in {ExecOutcome.TIMEOUT, ExecOutcome.START_FAILED} else code,
            seconds=seconds,
            reason=reason,
            oom_kills=oom_kills,
            leaked=() if code is None else leaked,
        )

    def close(self) -> None:
        """Kill what the steps left behind."""
        if self._markers:
            end_marked(self._markers)
        for drain in self._parked:
            drain.close()
        self._markers, self._parked = [], []

    def _look_after(self, command: HostExec) -> tuple[str, ...]:
        """Name what outlived a step; it goes on, and its output is read away."""
        if not command.may_have_left():
            command.close()
            return ()
        leaked = tuple(process.words for process in command.leftovers())
        if command.holds_streams:
            self._parked.append(_Drain(command))
        else:
            command.close()
        if leaked:
            self._log.parent.mkdir(parents=True, exist_ok=True)
            with self._log.open("a", encoding="utf-8", errors="backslashreplace") as log:
                log.write(f"presubmit: left running by a step: {', '.join(leaked)}\n")
        return leaked


class _Drain:
    """Reads away what a step's leftovers print."""

    def __init__(self, command: HostExec) -> None:
        self._command = command
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop reading."""
        self._stop.set()
        self._thread.join()
        self._command.close()

    def _read(self) -> None:
        with suppress(OSError):
            while not self._stop.is_set() and self._command.discard(0.2):
                pass


def _most() -> int:
    stack, _ = resource.getrlimit(resource.RLIMIT_STACK)
    return DEFAULT_MOST if stack == resource.RLIM_INFINITY else most_words(stack)


def _why_not_started(argv: Sequence[str], *, env: Mapping[str, str], place: str) -> str:
    """Say why a process cannot be started here, in the words of the container's driver."""
    if not os.path.isdir(place):  # noqa: PTH112 - names that are not UTF-8 stay as they are
        return f"the working directory {place} does not exist"
    word = argv[0] if "/" not in argv[0] else os.path.join(place, argv[0])  # noqa: PTH118 - as above
    found = shutil.which(word, path=env.get("PATH", os.defpath))
    return "" if found else f"{argv[0]}: command not found"
