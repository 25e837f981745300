"""The driver in a container: one shell that starts step after step, over one connection to the engine."""

from __future__ import annotations

import os
import secrets as random
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from presubmit.container.classify import classify
from presubmit.container.model import ExecOutcome
from presubmit.container.output import STDERR, STDOUT
from presubmit.container.owner import caller_umask
from presubmit.container.scripts import MARKER, OURS
from presubmit.container.supervise import LostError, watch
from presubmit.errors import EngineError
from presubmit.replay.job.driver import (
    DEFAULT_MOST,
    LINGER_SECONDS,
    Sink,
    StepEnd,
    most_words,
    why_not_passed,
)
from presubmit.replay.job.driver_script import (
    Marks,
    boot_command,
    look_command,
    names_command,
    step_command,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from presubmit.container.box import DockerBox
    from presubmit.container.duplex import Duplex

_ANSWER_SECONDS: Final = 20.0
_LOOK_SECONDS: Final = 0.01
_DRAIN_PAUSE: Final = 0.005
"""Between two reads of what nobody wants: it must not cost the steps much, and not hold up the processes either."""
_DEFAULT_PATH: Final = "/bin:/usr/bin"


class BoxDriver:
    """Runs steps in a container; see Driver."""

    def __init__(self, box: DockerBox, *, log: Path) -> None:
        self._box = box
        self._log = log
        self._parked: list[_Drain] = []
        self._left: list[str] = []
        """Markers of the steps that left processes behind."""
        self._kills: int | None = None
        try:
            self._shell: _Shell | None = _Shell(box)
        except LostError as error:
            raise EngineError(f"cannot open a shell in the box: {error}") from error
        self._environment = self._shell.environment
        self._folder = self._shell.folder

    @property
    def environment(self) -> dict[str, str]:
        """The container's own environment."""
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
        try:
            shell = self._shell or self._reopen()
        except LostError as error:
            return StepEnd(outcome=ExecOutcome.ENGINE_LOST, reason=str(error))
        if refusal := why_not_passed(argv, env, most=shell.most):
            return StepEnd(outcome=ExecOutcome.START_FAILED, reason=refusal)
        place = os.path.join(self._folder, cwd)  # noqa: PTH118 - a path of the container
        sink = Sink(on_output)
        marker = random.token_hex(16)
        step = _Step(self._box, shell, marker)
        begun = time.monotonic()
        code: int | None = None
        loss = ""
        try:
            step.start(argv, env=env, place=place)
            code = watch(step, sink, timeout=timeout, grace=grace)
        except LostError as error:
            loss = str(error)
        finally:
            seconds = time.monotonic() - begun
            leaked, gone = self._look_after(shell, step)
        if code is None and loss:
            return self._lost(loss, gone, step, seconds)
        if step.refused:
            return _refused(step, argv[0], place, seconds)
        outcome, reason = classify(
            exit_code=code,
            started=True,
            tail="",
            oom_kills=step.oom_kills,
            timed_out=code is None,
            timeout=timeout,
            lost="",
            full_disks=self._full_disks(marker, place) if code and sink.said_no_space else (),
        )
        return StepEnd(
            outcome=outcome,
            exit_code=None if outcome is ExecOutcome.TIMEOUT else code,
            seconds=seconds,
            reason=reason,
            oom_kills=step.oom_kills,
            leaked=() if code is None else leaked,
        )

    def close(self) -> None:
        """Kill what the steps left behind, and end the shell."""
        left, self._left = self._left, []
        for marker in left:
            with suppress(LostError):
                self._box.end_marked(marker, grace=0.0)
        if self._shell is not None:
            self._shell.close()
            self._shell = None
        for drain in self._parked:
            drain.close()
        self._parked = []

    # --- between the steps ---

    def _look_after(self, shell: _Shell, step: _Step) -> tuple[tuple[str, ...], str]:
        """Give the names of what outlived the step, and why the box is lost where it is.

        The shell stays for the next step only where nothing else holds its streams.
        """
        try:
            if not step.is_over:
                self._drop(shell, "it does not answer")
                self._box.end_marked(step.marker, grace=0.0)
                return (), ""
            self._kills = step.kills_after
            if step.state == b"none":
                return (), ""
            leaked = tuple(shell.names(step.token))
            if leaked:
                self._note(f"processes left running by a step: {len(leaked)}")
                self._left.append(step.marker)
            if step.state == b"held":
                self._shell = None
                self._parked.append(_Drain(shell))
        except LostError as error:
            self._drop(shell, str(error))
            return (), str(error)
        return leaked, ""

    def _drop(self, shell: _Shell, why: str) -> None:
        self._note(f"the shell in the box is given up: {why}")
        self._shell = None
        shell.close()

    def _reopen(self) -> _Shell:
        """Open a new shell; raises LostError."""
        shell = _Shell(self._box)
        self._note("opened a new shell in the box")
        self._shell = shell
        return shell

    def _lost(self, loss: str, gone: str, step: _Step, seconds: float) -> StepEnd:
        """Say why nothing is known of a step: the box is gone, or its shell was killed."""
        kills = 0
        with suppress(LostError):
            found = self._box.look(step.marker).oom_kills
            kills = (
                max(0, found - step.kills_before) if found and step.kills_before is not None else 0
            )
        outcome, reason = classify(
            exit_code=None,
            started=True,
            tail="",
            oom_kills=kills,
            timed_out=False,
            timeout=0.0,
            lost=gone or loss,
            full_disks=(),
        )
        return StepEnd(outcome=outcome, seconds=seconds, reason=reason, oom_kills=kills)

    def _full_disks(self, marker: str, place: str) -> tuple[str, ...]:
        """Give the full file systems, after a step that complained of one."""
        folders = (place, "/tmp", "/dev/shm", "/")  # noqa: S108 - inside the box
        try:
            return self._box.look(marker, folders=folders).full_disks
        except LostError:
            return ()

    def _note(self, text: str) -> None:
        self._log.parent.mkdir(parents=True, exist_ok=True)
        with self._log.open("a", encoding="utf-8", errors="backslashreplace") as log:
            log.write(f"presubmit: {text}\n")


class _Shell:
    """The shell in the box, ready for a step."""

    def __init__(self, box: DockerBox) -> None:
        self._duplex: Duplex = box.open_duplex(["sh", "-s"])
        self.most = DEFAULT_MOST
        """Bytes that a process may be started with."""
        try:
            self.environment, self.folder = self._boot()
        except BaseException:
            self._duplex.close()
            raise

    def send(self, command: bytes) -> None:
        """Give it a command; raises LostError."""
        self._duplex.send(command)

    def read(self, wait: float) -> tuple[tuple[int, bytes], ...] | None:
        return self._duplex.read(wait)

    def names(self, token: str) -> Iterator[str]:
        """Name what a step left; raises LostError."""
        self.send(names_command(token))
        for item in self._answers(token, until=b"named"):
            if isinstance(item, tuple) and item[0] == b"name":
                yield b" ".join(item[1:]).decode("utf-8", "replace").strip()

    def close(self) -> None:
        """Tell it to end, and let go."""
        with suppress(LostError):
            self._duplex.send(b"exit 0\n")
        self._duplex.close()

    def _boot(self) -> tuple[dict[str, str], str]:
        token = random.token_hex(16)
        self.send(boot_command(token, umask=caller_umask()))
        parts = {b"environment": b"", b"folder": b""}
        part = b""
        for item in self._answers(token, until=b"ready"):
            match item:
                case bytes():
                    parts[part] = parts.get(part, b"") + item
                case (b"ready", stack):
                    self.most = most_words(int(stack) << 10) if stack.isdigit() else DEFAULT_MOST
                case _:
                    part = item[0]
        return _read_environment(parts[b"environment"]), os.fsdecode(parts[b"folder"]) or "/"

    def _answers(self, token: str, *, until: bytes) -> Iterator[bytes | tuple[bytes, ...]]:
        """Give what comes on standard output, up to the answer `until`; raises LostError."""
        marks = Marks(token)
        deadline = time.monotonic() + _ANSWER_SECONDS
        while (left := deadline - time.monotonic()) > 0:
            chunks = self.read(left)
            if chunks is None:
                raise LostError("the shell in the box ended by itself")
            for stream, data in chunks:
                for item in marks.feed(data) if stream == STDOUT else ():
                    yield item
                    if isinstance(item, tuple) and item[0] == until:
                        return
        raise LostError(f"the shell in the box did not answer within {_ANSWER_SECONDS:g} s")


class _Step:
    """One step while it runs, as `supervise` wants it."""

    def __init__(self, box: DockerBox, shell: _Shell, marker: str) -> None:
        self._box = box
        self._shell = shell
        self.marker = marker
        self.token = random.token_hex(16)
        self._marks = {STDOUT: Marks(self.token), STDERR: Marks(self.token)}
        self._begun: set[int] = set()
        self._asked = 1
        """How many ends each stream must tell: the step's own, and one for each later look."""
        self._told = {STDOUT: 0, STDERR: 0}
        self._linger_until: float | None = None
        self._code: int | None = None
        self.state = b"none"
        """What the step left: `none`, `left`, or `held` (it holds the shell's streams)."""
        self.refused = b""
        """Why it was not started: `place` or `word`."""
        self.kills_before: int | None = None
        self.kills_after: int | None = None

    @property
    def is_over(self) -> bool:
        """Whether the shell is ready for something else."""
        return min(self._told.values()) >= self._asked

    @property
    def oom_kills(self) -> int:
        """What the kernel killed for memory while the step ran; 0 where it cannot be told."""
        if self.kills_before is None or self.kills_after is None:
            return 0
        return max(0, self.kills_after - self.kills_before)

    def start(self, argv: Sequence[str], *, env: Mapping[str, str], place: str) -> None:
        """Begin; raises LostError."""
        marker = f"{MARKER}={self.marker}"
        pairs = [*(f"{name}={value}" for name, value in env.items() if name != MARKER), marker]
        # What `env` would take for one more variable is started by a shell.
        through = ["/bin/sh", "-c", 'exec "$@"', "sh"] if "=" in argv[0] else []
        self._shell.send(
            step_command(
                self.token,
                marker,
                [*pairs, *through, *argv],
                place=place,
                path=env.get("PATH", _DEFAULT_PATH),
                program=argv[0],
            )
        )

    def read(self, wait: float) -> tuple[tuple[int, bytes], ...] | None:
        """Give the next output; None when the step is over and nothing more is waited for."""
        if self.is_over and not self._lingers():
            return None
        chunks = self._shell.read(min(wait, _LOOK_SECONDS) if self._linger_until else wait)
        if chunks is None:
            raise LostError(
                "it is not known how the step ended: the shell that runs the steps in the box was killed "
                "(by the step itself, with `kill -9 -1` or the like?), or could start no process any more"
            )
        shown: list[tuple[int, bytes]] = []
        for stream, data in chunks:
            for item in self._marks[stream].feed(data):
                match item:
                    case bytes():
                        if stream in self._begun:
                            shown.append((stream, item))
                    case _:
                        self._hear(stream, item)
        return tuple(shown)

    def exit_code(self) -> int | None:
        """Give what the shell said."""
        return self._code

    def kill_tree(self, grace: float) -> None:
        """End everything that carries this step's marker."""
        self._linger_until = 0.0
        self._box.end_marked(self.marker, grace=grace)

    def _hear(self, stream: int, words: tuple[bytes, ...]) -> None:
        match words:
            case (b"begin",):
                self._begun.add(stream)
            case (b"end", code, before, after, state):
                self._told[stream] += 1
                self.state = state
                self.kills_before, self.kills_after = _number(before), _number(after)
                if code.isdigit():
                    self._code = int(code)
                else:
                    self._code, self.refused = 126, code
            case (b"look", state):
                self._told[stream] += 1
                self.state = state
            case (b"end" | b"look",):
                self._told[stream] += 1
            case _:
                pass  # none of ours

    def _lingers(self) -> bool:
        """Whether to wait a little for what holds the step's streams; asks the shell to look again."""
        if self.state != b"held":
            return False
        now = time.monotonic()
        if self._linger_until is None:
            self._linger_until = now + LINGER_SECONDS
        if now >= self._linger_until:
            return False
        self._asked += 1
        time.sleep(_LOOK_SECONDS / 2)
        self._shell.send(look_command(self.token))
        return True


class _Drain:
    """Reads away what comes from processes that hold the streams of a shell that is not used any more.

    The shell itself stays: if it ended, the engine would hold up every other command in the box for two seconds.
    """

    def __init__(self, shell: _Shell) -> None:
        self._shell = shell
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop reading, and let the shell end."""
        self._stop.set()
        self._thread.join(2.0)
        self._shell.close()

    def _read(self) -> None:
        with suppress(LostError):
            while not self._stop.is_set() and self._shell.read(0.2) is not None:
                time.sleep(_DRAIN_PAUSE)


def _refused(step: _Step, program: str, place: str, seconds: float) -> StepEnd:
    """Say why a step was not started."""
    found = step.refused == b"word"
    reason = (
        f"{program}: command not found"
        if found
        else f"the working directory {place} does not exist"
    )
    return StepEnd(outcome=ExecOutcome.START_FAILED, seconds=seconds, reason=reason)


def _read_environment(data: bytes) -> dict[str, str]:
    pairs = (os.fsdecode(pair).partition("=") for pair in data.split(b"\0") if b"=" in pair)
    return {name: value for name, _, value in pairs if name not in {MARKER, OURS}}


def _number(word: bytes) -> int | None:
    return int(word) if word.isdigit() else None
