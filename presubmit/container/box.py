"""One running container: commands in it, their end, its network and its own end."""

from __future__ import annotations

import os
import secrets as random
import time
from typing import TYPE_CHECKING, Final

from presubmit.container.classify import classify
from presubmit.container.duplex import Duplex
from presubmit.container.faults import calling, engine_faults, explain, is_gone, lost
from presubmit.container.model import ExecOutcome, ExecResult
from presubmit.container.output import STDERR, STDOUT, Output
from presubmit.container.owner import caller_umask
from presubmit.container.scripts import (
    KILL_PIDS,
    MARKER,
    OURS,
    SURVEY,
    WRAPPER,
    Header,
    Process,
    Survey,
    parse_header,
    parse_survey,
)
from presubmit.container.settings import with_safe_directory
from presubmit.container.stream import Connection, Frames
from presubmit.container.supervise import LostError, watch
from presubmit.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from docker.api.client import APIClient

_SURVEY_SECONDS: Final = 20.0
_KILL_ROUNDS: Final = 25
_LEAK_GRACE: Final = 0.5
_HEADER_LIMIT: Final = 4096


class DockerBox:
    """A container behind the Box protocol; `holder` is the open standard input of its PID 1 where it is ours."""

    def __init__(
        self,
        api: APIClient,
        container: str,
        *,
        owned: bool,
        keep: bool = False,
        holder: Connection | None = None,
    ) -> None:
        self._api = api
        self._container = container
        self._owned = owned
        self._keep = keep
        self._holder = holder
        self._closed = False
        self.on_close: Callable[[], None] | None = None
        """Called once, at the end of `close`."""

    @property
    def id(self) -> str:
        """What another process attaches with."""
        return f"docker:{self._container}"

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
        begun = time.monotonic()
        with Output(log, on_output=on_output, secrets=secrets) as output:
            command = DockerExec(self._api, self._container, marker, kill=self._kill_tree)
            code: int | None = None
            timed_out, loss = False, ""
            try:
                command.start(argv, cwd=cwd, env=env or {})
                code = watch(command, output, timeout=timeout, grace=grace)
                timed_out = code is None
            except LostError as error:
                loss = str(error)
            finally:
                output.finish()
                command.close()
            seconds = time.monotonic() - begun
            survey, leaked, gone = self._look_after(marker, folders=self._folders(cwd, output))
            loss = loss or gone
        outcome, reason = classify(
            exit_code=code,
            started=command.header is not None and command.header.can_start,
            tail=command.complaint or output.tail,
            oom_kills=_new_kills(command.header, survey),
            timed_out=timed_out,
            timeout=timeout,
            lost=loss,
            full_disks=survey.full_disks if output.said_no_space and survey is not None else (),
        )
        return ExecResult(
            argv=tuple(output.mask(word) for word in argv),
            outcome=outcome,
            exit_code=None if outcome in _WITHOUT_CODE else code,
            seconds=seconds,
            reason=output.mask(reason),
            oom_kills=_new_kills(command.header, survey),
            leaked=() if timed_out else tuple(output.mask(process.words) for process in leaked),
            tail=output.tail,
        )

    def open_duplex(self, argv: Sequence[str]) -> Duplex:
        """Start a command of presubmit's own whose standard input stays open; raises LostError.

        Neither `end_commands` nor the end of another command's leftovers touches it.
        """
        return Duplex(self._api, self._container, argv)

    def look(self, marker: str, *, folders: Sequence[str] = ()) -> Survey:
        """Look what runs in the box, seen from the command with this marker; raises LostError."""
        return self._survey(marker, folders=folders)

    def end_marked(self, marker: str, *, grace: float) -> None:
        """End what carries this marker: TERM, after `grace` seconds KILL; raises LostError."""
        self._kill_tree(marker, grace)

    def cut_network(self) -> None:
        """Leave only loopback, for good; what runs in the box goes on."""
        with calling("cannot cut the box's network"):
            networks = self._api.inspect_container(self._container)["NetworkSettings"]["Networks"]
            for name in networks:
                if name != "none":
                    self._api.disconnect_container_from_network(self._container, name, force=True)

    def end_commands(self, *, grace: float = 5.0) -> tuple[str, ...]:
        """End every command that runs in the box, whoever started it; gives what ran.

        For the process that holds the box, when one that was attached died without ending its own.
        """
        try:
            running = self._survey("").mine
            if running:
                self._kill_tree("", grace)
        except LostError as error:
            raise EngineError(str(error)) from error
        return tuple(process.words for process in running)

    def close(self) -> None:
        """End the box if it is ours (one that was only attached to goes on, and so does a kept one)."""
        if self._closed:
            return
        self._closed = True
        if self._owned and not self._keep:
            end(self._api, self._container)
        if self._holder is not None:
            self._holder.close()
        if self.on_close is not None:
            self.on_close()

    # --- ending processes ---

    def _look_after(
        self, marker: str, *, folders: Sequence[str]
    ) -> tuple[Survey | None, tuple[Process, ...], str]:
        """Look what a command left, and end it; the third is why that could not be done."""
        try:
            survey = self._survey(marker, folders=folders)
            strays = self._strays(marker, survey)
            if survey.mine:
                self._kill_tree(marker, _LEAK_GRACE)
            self._kill_pids("KILL", strays)
            if not survey.complete:
                self._kill_all(marker)
        except LostError as error:
            return None, (), str(error)
        return survey, (*survey.mine, *strays), ""

    def _kill_tree(self, marker: str, grace: float) -> None:
        """TERM everything that carries the marker, after `grace` seconds KILL until none is left."""
        survey = self._survey(marker, signal="TERM")
        until = time.monotonic() + grace
        while survey.mine and time.monotonic() < until:
            time.sleep(min(0.1, grace))
            survey = self._survey(marker)
        for _ in range(_KILL_ROUNDS):
            survey = self._survey(marker, signal="KILL")
            if survey.complete and not survey.mine:
                break
        else:
            self._kill_all(marker)
        self._kill_pids("KILL", self._strays(marker, survey))

    def _strays(self, marker: str, survey: Survey) -> tuple[Process, ...]:
        """Give the processes that dropped the marker; nobody else's as long as nobody else runs anything here.

        Seen twice, since a process that is just being started has no environment yet.
        """
        if not survey.bare or survey.others or self._others_run(marker):
            return ()
        again = self._survey(marker)
        return (
            ()
            if again.others
            else tuple(process for process in again.bare if process in survey.bare)
        )

    def _kill_pids(self, signal: str, processes: Sequence[Process]) -> None:
        if processes:
            self._script(KILL_PIDS, signal, *(str(process.pid) for process in processes))

    def _kill_all(self, marker: str) -> None:
        """Where a scan cannot win (a fork bomb, no process left to scan with): everything but PID 1.

        Never while a command of somebody else runs in the box.
        """
        if self._others_run(marker):
            return
        for _ in range(3):
            self._script("kill -KILL -1")
            survey = self._survey(marker)
            if survey.complete and not survey.mine:
                return
        if self._owned:
            self._restart()

    def _others_run(self, marker: str) -> bool:
        """Whether the engine knows of another running command in the box (presubmit's own looks aside)."""
        try:
            ids = self._api.inspect_container(self._container).get("ExecIDs") or []
        except engine_faults() as error:
            raise lost(error) from error
        return any(self._is_other(number, marker) for number in ids)

    def _is_other(self, number: str, marker: str) -> bool:
        try:
            state = self._api.exec_inspect(number)
        except engine_faults():
            return False  # it ended in between
        words = state.get("ProcessConfig", {}).get("arguments") or []
        return bool(state.get("Running")) and WRAPPER in words and marker not in words

    def _restart(self) -> None:
        """Restart the box, the last resort: everything ends, the writable layer stays."""
        if self._holder is not None:
            self._holder.close()
            self._holder = None
        try:
            self._api.restart(self._container, timeout=0)
            if not self._keep:
                self._holder = hold(self._api, self._container)
        except engine_faults() as error:
            raise lost(error) from error

    # --- looking inside ---

    def _survey(self, marker: str, *, signal: str = "-", folders: Sequence[str] = ()) -> Survey:
        return parse_survey(self._script(SURVEY, marker, signal, *folders))

    def _script(self, script: str, *arguments: str) -> str:
        """Run a script of ours in the box and give what it prints; raises LostError."""
        connection: Connection | None = None
        collected = bytearray()
        try:
            made = self._api.exec_create(
                self._container,
                ["sh", "-c", script, "sh", *arguments],
                environment={OURS: "1"},
                workdir="/",
            )
            connection = Connection(self._api.exec_start(made["Id"], socket=True))
            frames, until = Frames(), time.monotonic() + _SURVEY_SECONDS
            while (data := connection.receive(0.5)) is not None and time.monotonic() < until:
                for stream, part in frames.feed(data):
                    if stream == STDOUT:
                        collected += part
        except engine_faults() as error:
            raise lost(error) from error
        finally:
            if connection is not None:
                connection.close()
        return collected.decode("utf-8", "replace")

    def _folders(self, cwd: str | None, output: Output) -> tuple[str, ...]:
        """Where to look for a full disk, if the command complained of one."""
        return (cwd or ".", "/tmp", "/dev/shm", "/") if output.said_no_space else ()  # noqa: S108 - inside the box


_WITHOUT_CODE: Final = frozenset(
    {
        ExecOutcome.TIMEOUT,
        ExecOutcome.START_FAILED,
        ExecOutcome.ENGINE_LOST,
        ExecOutcome.INTERRUPTED,
    }
)


class DockerExec:
    """One command in a container, as `supervise` wants it; `header` is set once our wrapper ran."""

    def __init__(
        self, api: APIClient, container: str, marker: str, *, kill: Callable[[str, float], None]
    ) -> None:
        self._api = api
        self._container = container
        self._marker = marker
        self._kill = kill
        self._connection: Connection | None = None
        self._frames = Frames()
        self._first: bytes | None = b""
        self._id = ""
        self.header: Header | None = None
        self._word = ""
        self.complaint = ""
        """Why it could not be started, where the output does not say so."""

    def start(self, argv: Sequence[str], *, cwd: str | None, env: Mapping[str, str]) -> None:
        """Begin the command; raises LostError. One that the engine refuses is left with a `complaint`."""
        from docker.errors import APIError  # noqa: PLC0415 - docker costs 0.3 s

        self._word = argv[0]
        try:
            made = self._api.exec_create(
                self._container,
                ["sh", "-c", WRAPPER, self._marker, f"{caller_umask():04o}", *argv],
                environment={**_git_safe(env), MARKER: self._marker},
                workdir=cwd,
            )
            self._id = made["Id"]
            self._connection = Connection(self._api.exec_start(self._id, socket=True))
        except APIError as error:
            if is_gone(error):
                raise lost(error) from error
            self.complaint = f"OCI runtime exec failed: {explain(error)}"
        except engine_faults() as error:
            raise lost(error) from error

    def read(self, wait: float) -> tuple[tuple[int, bytes], ...] | None:
        """Give the next output without our wrapper's first line."""
        if self._connection is None:
            return None
        try:
            data = self._connection.receive(wait)
            chunks = () if data is None else self._frames.feed(data)
        except OSError as error:
            raise LostError(f"the connection to the engine broke: {error}") from error
        if data is None:
            return ((STDOUT, rest),) if (rest := self._take_rest()) else None
        return tuple(self._without_header(chunks))

    def exit_code(self) -> int | None:
        """Ask the engine."""
        if self._connection is None:
            return 126
        try:
            state = self._api.exec_inspect(self._id)
        except engine_faults() as error:
            raise lost(error) from error
        if state.get("Running"):
            return None
        code = state.get("ExitCode")
        return None if code is None else int(code)

    def kill_tree(self, grace: float) -> None:
        """End everything that carries this command's marker."""
        self._kill(self._marker, grace)

    def close(self) -> None:
        """Let go of the connection."""
        if self._connection is not None:
            self._connection.close()

    def _without_header(self, chunks: Sequence[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
        for stream, data in chunks:
            if stream != STDOUT or self._first is None:
                yield stream, data
                continue
            self._first += data
            line, newline, rest = self._first.partition(b"\n")
            if not newline and len(line) < _HEADER_LIMIT and self._first.startswith(b"\x1e"):
                continue
            self.header = parse_header(line, self._marker)
            shown = rest if self.header is not None else self._first
            self._first = None
            if self.header is not None and not self.header.can_start:
                word = os.fsencode(self._word)
                yield (
                    STDERR,
                    b"presubmit: " + word + b": not found in the box, or not executable\n",
                )
            if shown:
                yield STDOUT, shown

    def _take_rest(self) -> bytes:
        """Give what never became a header."""
        rest, self._first = self._first, None
        return rest or b""


def _git_safe(env: Mapping[str, str]) -> Mapping[str, str]:
    """Keep the box's `safe.directory` where a command brings git configuration of its own."""
    return with_safe_directory(env) if "GIT_CONFIG_COUNT" in env else env


def _new_kills(header: Header | None, survey: Survey | None) -> int:
    """Count what the kernel killed for memory while the command ran; 0 where it cannot be told."""
    if header is None or survey is None or header.oom_kills is None or survey.oom_kills is None:
        return 0
    return max(0, survey.oom_kills - header.oom_kills)


def hold(api: APIClient, container: str) -> Connection:
    """Take hold of the standard input of a container's PID 1; it ends when this process does."""
    return Connection(api.attach_socket(container, params={"stdin": 1, "stream": 1}))


def end(api: APIClient, container: str) -> None:
    """Kill a container that removes itself when it ends; the engine needs no waiting for."""
    from docker.errors import APIError  # noqa: PLC0415 - docker costs 0.3 s

    try:
        api.kill(container)
    except APIError:
        remove(api, container)  # it does not run: nothing else would remove it
    except OSError:
        return  # the engine is gone, and its containers die with their standard input


def remove(api: APIClient, container: str) -> None:
    """Remove a container with its anonymous volumes; one that is gone, or about to be, is fine."""
    from docker.errors import APIError, NotFound  # noqa: PLC0415 - docker costs 0.3 s

    try:
        api.remove_container(container, force=True, v=True)
    except NotFound:
        return
    except APIError as error:
        if error.status_code != 409:  # noqa: PLR2004 - "removal is already in progress"
            raise EngineError(
                f"cannot remove container {container[:12]}: {error.explanation}"
            ) from error
    except OSError:
        return  # the engine is gone, and its containers die with their standard input
