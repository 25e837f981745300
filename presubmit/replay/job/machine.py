"""The runner of one cell: its environment, its files, its log, and the one way to start a process in it."""

from __future__ import annotations

import json
import posixpath
import secrets
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

import msgspec

from presubmit.container.model import ExecOutcome
from presubmit.replay.events import write_event
from presubmit.replay.job.command_files import (
    FOLDER,
    CommandFiles,
    make_command_files,
    read_command_files,
)
from presubmit.replay.job.masks import Masks
from presubmit.replay.job.narrowing import Narrowing
from presubmit.replay.job.own_folder import make_own, write_own
from presubmit.replay.job.step_log import CellLog, StepLog
from presubmit.replay.job.workflow_commands import Commands
from presubmit.upstream.event import runner_context, variables
from presubmit.upstream.expressions import CaseSensitive
from presubmit.upstream.secrets import EmptySecrets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from presubmit.replay.job.driver import Driver
    from presubmit.replay.job.shells import Shell
    from presubmit.replay.job.values import Annotation, CellAssignment, StepRecord

MOST_ASKED: Final = 16 << 20
"""Bytes of a command's output that are taken in; the rest is dropped."""
_OURS: Final = "_presubmit"
"""Our own folder in RUNNER_TEMP."""
_PROGRAMS: Final = "_presubmit_bin"
_EVENT: Final = "_github_workflow"
_READ: Final = 'test -f "$1" && head -c 4194304 "$1"'
# Steps are root already: options are dropped, variables are set, the command is run.
_SUDO: Final = """\
#!/bin/sh
while [ $# -gt 0 ]; do
  case $1 in
    -u|-g|-h|-p) shift 2 ;;
    --) shift; break ;;
    -*) shift ;;
    *=*) export "$1"; shift ;;
    *) break ;;
  esac
done
[ $# -gt 0 ] || exit 0
exec "$@"
"""


class StepFaultError(Exception):
    """A process that did not end by itself; `outcome` says how."""

    def __init__(self, outcome: ExecOutcome, reason: str) -> None:
        super().__init__(reason)
        self.outcome = outcome


@contextmanager
def _written(place: str) -> Iterator[None]:
    """Say in words that RUNNER_TEMP, which is the steps' as well, cannot be written to."""
    try:
        yield
    except OSError as error:
        reason = f"cannot write RUNNER_TEMP/{place}: {error.strerror} (did a step take it away?)"
        raise StepFaultError(ExecOutcome.ENGINE_LOST, reason) from error


class _Step(msgspec.Struct, kw_only=True):
    """What belongs to the step that runs now."""

    title: str
    id: str
    action_path: str
    """The folder of the composite action that it belongs to; empty for one of the job itself."""
    files: CommandFiles
    commands: Commands
    log: StepLog
    narrowing: int
    """Which of the selections that were laid is its own."""
    outputs: dict[str, str] = {}


class Machine:
    """One cell's runner, inside its session."""

    def __init__(self, cell: CellAssignment, driver: Driver) -> None:
        self.cell = cell
        self._driver = driver
        self._temp = Path(cell.host_temp)
        self._masks = Masks()
        self._paths: list[str] = []
        self._summary = Path(cell.folder) / "summaries" / f"{cell.name}.md"
        self._log = CellLog(Path(cell.folder) / "logs" / f"{cell.name}.log")
        self._deadlines = [time.monotonic() + cell.timeout]
        """The job's, and below it those of the steps that run: of a composite action, and of the step inside it."""
        self._step: _Step | None = None
        self._known: set[str] = set()
        self._narrowing = Narrowing(cell, self._temp / _OURS)
        self.environment: dict[str, str] = CaseSensitive()
        """`env` of workflow and job, and what steps added by GITHUB_ENV."""
        self.saw_pytest = False
        """Whether a step's pytest was met, where it was to be narrowed."""
        self.annotations: list[Annotation] = []
        self.notes: list[str] = []
        self.secrets = EmptySecrets()
        self._runner = runner_context(
            cell.here, temp=cell.temp, tools=cell.tools, workspace=cell.workspace
        )
        self.github: dict[str, Any] = {
            **cell.github,
            "workspace": cell.workspace,
            "event_path": posixpath.join(cell.temp, _EVENT, "event.json"),
        }
        event = json.dumps(cell.github.get("event", {}), indent=2)
        self._lay(f"{_EVENT}/event.json", event.encode())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._log.close()

    def _lay(self, place: str, data: bytes, *, mode: int = 0o644) -> None:
        """Write a file into RUNNER_TEMP, unless it is there."""
        with _written(place), suppress(FileExistsError):
            write_own(self._temp / place, data, mode=mode)

    # --- what expressions see ---------------------------------------------------------------------------------------

    def github_context(self) -> dict[str, Any]:
        """Give `github`, with what belongs to the step that runs now."""
        if self._step is None:
            return self.github
        return {**self.github, "action": self._step.id, **self._step.files.inside}

    def runner_context(self) -> dict[str, str]:
        """Give `runner`."""
        return self._runner

    @property
    def home(self) -> str:
        """The steps' HOME."""
        return self._driver.environment.get("HOME", "/")

    @property
    def outputs(self) -> dict[str, str]:
        """The outputs of the step that runs now."""
        return self._now.outputs

    @property
    def step_id(self) -> str:
        """The id of the step that runs now; empty between steps."""
        return self._step.id if self._step is not None else ""

    @property
    def title(self) -> str:
        """The evaluated name of the step that runs now."""
        return self._step.title if self._step is not None else ""

    @property
    def tail(self) -> str:
        """The last lines that the step printed, masked."""
        return self._step.log.tail if self._step is not None else ""

    @property
    def _now(self) -> _Step:
        assert self._step is not None  # noqa: S101 - actions and scripts run inside a step
        return self._step

    def has(self, program: str) -> bool:
        """Whether a program is found on the PATH that steps have now."""
        if "/" in program:
            return True
        if program in self._known:
            return True
        look = ("sh", "-c", 'command -v "$1"', "sh", program)
        code, _ = self.ask(look, env=self.process_environment({}), cwd="/")
        if code == 0:  # one that is missing may still be installed by a step
            self._known.add(program)
        return code == 0

    # --- steps ------------------------------------------------------------------------------------------------------

    def begin_step(
        self,
        title: str,
        origin: str,
        step_id: str,
        env: Mapping[str, str],
        *,
        action_path: str = "",
    ) -> None:
        """Give a step its files and its part of the log."""
        title = self.mask(title)
        with _written(FOLDER):
            make_own(self._temp / FOLDER)
        if self.cell.here.root:
            self._lay(f"{_PROGRAMS}/sudo", _SUDO.encode(), mode=0o755)
        commands = Commands(
            self._masks,
            env={**self.environment, **env},
            workspace=self.cell.workspace,
            step=title,
        )
        self._step = _Step(
            title=title,
            id=step_id,
            action_path=action_path,
            files=make_command_files(self._temp, self.cell.temp),
            commands=commands,
            log=StepLog(self._log, commands=commands, masks=self._masks),
            narrowing=self._narrowing.lay(),
        )
        self._step.log.say(f"\n=== {title} ({origin})")
        events = Path(self.cell.events)
        write_event(events, event="progress", id=self.cell.name, cell=self.cell.cell, text=title)

    def end_step(self) -> tuple[dict[str, str], str, str]:
        """Read what the step left; give its outputs, what was wrong with that, and its last lines."""
        step = self._now
        step.log.finish()
        found = read_command_files(step.files)
        commands = step.commands
        self.environment |= commands.env
        self.environment |= dict(found.env)
        for folder in (*commands.paths, *found.paths):
            self.add_path(folder)
        outputs = {**step.outputs, **commands.outputs, **dict(found.outputs)}
        for message in (*found.failures, *found.errors):
            commands.annotate("error", message)
        self.annotations += commands.annotations
        self.notes += commands.notes
        for level, number in commands.left_out.items():
            self.notes.append(f"{number} more {level} annotations of {step.title} are left out")
        if found.summary:
            self._write_summary(found.summary)
        failures = (*commands.failures, *found.failures)
        tail = step.log.tail
        said = self._narrowing.what_ran(step.narrowing, tail)
        if said:
            self.saw_pytest = True
            self.notes.append(f"{step.title}: {said}")
        self._step = None
        return outputs, "; ".join(failures), tail

    def _write_summary(self, text: str) -> None:
        self._summary.parent.mkdir(parents=True, exist_ok=True)
        with self._summary.open("a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(self.mask(text).rstrip() + "\n\n")

    @contextmanager
    def nested(self) -> Iterator[None]:
        """Let the steps of a composite action run inside the step that uses it."""
        outer = self._step
        try:
            yield
        finally:
            self._step = outer

    @contextmanager
    def limited(self, seconds: float) -> Iterator[None]:
        """Let what runs inside take at most so long; an outer limit holds as well."""
        self._deadlines.append(min(self._deadlines[-1], time.monotonic() + seconds))
        try:
            yield
        finally:
            self._deadlines.pop()

    def extend(self, seconds: float) -> None:
        """Give steps that run after the job's time was up some time of their own."""
        self._deadlines = [time.monotonic() + seconds] * len(self._deadlines)

    # --- processes --------------------------------------------------------------------------------------------------

    def process_environment(self, env: Mapping[str, str]) -> dict[str, str]:
        """Give the whole environment of a step's process (actions/runner: ScriptHandler.cs, Handler.cs)."""
        own = {**self.environment, **env}
        given = {**self._driver.environment, **self.cell.env, **own}
        path = [*reversed(self._paths), given.get("PATH", "")]
        if self.cell.here.root:
            path.insert(0, posixpath.join(self.cell.temp, _PROGRAMS))
        number = self._step.narrowing if self._step is not None else 0
        return {
            **self._narrowing.around(number, given),
            **variables(self.github, self._runner),
            # The one default variable that a workflow may set (ProcessInvoker.cs).
            **({"CI": own["CI"]} if "CI" in own else {}),
            **(self._step_variables(self._step) if self._step is not None else {}),
            "PATH": ":".join(part for part in path if part),
        }

    @staticmethod
    def _step_variables(step: _Step) -> dict[str, str]:
        given = {**step.files.variables, "GITHUB_ACTION": step.id}
        return {**given, "GITHUB_ACTION_PATH": step.action_path} if step.action_path else given

    def run_script(self, shell: Shell, *, env: Mapping[str, str], cwd: str, script: str) -> int:
        """Run a `run:` block; its exit code. Raises ShellError, StepFaultError."""
        log = self._now.log
        for line in script.rstrip("\n").splitlines():
            log.say(f"| {line}")
        log.say(f"shell: {shell}")
        inside = self.put(f"script-{secrets.token_hex(8)}{shell.extension}", shell.contents)
        return self.run_command(shell.command(inside), env=self.process_environment(env), cwd=cwd)

    def run_command(self, argv: Sequence[str], *, env: Mapping[str, str], cwd: str) -> int:
        """Run a process with its output in the log; its exit code. Raises StepFaultError."""
        return self._run(argv, env=env, cwd=cwd, on_output=self._now.log.feed)

    def ask(self, argv: Sequence[str], *, env: Mapping[str, str], cwd: str) -> tuple[int, bytes]:
        """Run a process and give its exit code and standard output. Raises StepFaultError."""
        taken = bytearray()

        def take(stream: int, data: bytes) -> None:
            if stream == 1 and len(taken) < MOST_ASKED:
                taken.extend(data[: MOST_ASKED - len(taken)])

        code = self._run(argv, env=env, cwd=cwd, on_output=take)
        return code, bytes(taken)

    def _run(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: str,
        on_output: Callable[[int, bytes], None],
    ) -> int:
        left = max(0.05, self._deadlines[-1] - time.monotonic())
        end = self._driver.run(argv, env=env, cwd=cwd, timeout=left, on_output=on_output)
        leaked = [name for name in end.leaked if name.strip()]
        if leaked:
            names = self.mask(", ".join(leaked))[:200]
            self.notes.append(f"left running by {self.title}: {names}")
        if end.outcome is not ExecOutcome.EXITED or end.exit_code is None:
            raise StepFaultError(end.outcome, end.reason or str(end.outcome))
        return end.exit_code

    # --- files ------------------------------------------------------------------------------------------------------

    def put(self, name: str, text: str) -> str:
        """Write a file of ours into RUNNER_TEMP; give its path inside."""
        self._lay(f"{_OURS}/{name}", text.encode("utf-8", "surrogateescape"), mode=0o755)
        return posixpath.join(self.cell.temp, _OURS, name)

    def read_file(self, path: str) -> bytes | None:
        """Read a file of the box; None where it is not there."""
        code, data = self.ask(
            ("sh", "-c", _READ, "sh", path), env=self.process_environment({}), cwd="/"
        )
        return data if code == 0 else None

    # --- what actions do --------------------------------------------------------------------------------------------

    def say(self, text: str) -> None:
        """Write a line into the log."""
        self._now.log.say(text)

    def say_error(self, text: str) -> None:
        """Write into the log why a step fails."""
        if self._step is not None:
            self._step.log.say(f"##[error]{text}")

    def annotate(self, level: str, message: str) -> None:
        """Attach a message to the cell."""
        self._now.commands.annotate(level, message)

    def add_path(self, folder: str) -> None:
        """Put a folder first on PATH for all later steps."""
        self._paths = [path for path in self._paths if path != folder] + [folder]
        self._known.clear()

    def add_mask(self, secret: str) -> None:
        """Hide a text from now on."""
        self._masks.add(secret)

    def mask(self, text: str) -> str:
        """Give a text without what is hidden."""
        return self._masks.mask(text)

    def hides(self, text: str) -> bool:
        """Whether something in a text is hidden."""
        return self._masks.hides(text)

    def tell(self, record: StepRecord) -> None:
        """Tell the tool that a step ended."""
        write_event(
            Path(self.cell.events),
            event="step",
            id=self.cell.name,
            cell=self.cell.cell,
            step=record.name,
            outcome=str(record.outcome),
        )
