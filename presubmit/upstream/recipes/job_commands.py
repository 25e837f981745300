"""The commands that the steps of one job run, in order, each with its place: what roles and recipes are made from."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING, Final

import msgspec

from presubmit.upstream.recipes.commands import Recognised, recognise
from presubmit.upstream.recipes.shell_script import Command, read_script
from presubmit.values import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    Read = Callable[[str], str | None]

WORKSPACE: Final = "/github/workspace"
"""Stands for the workspace where the steps' environment does not name it."""
_POSIX: Final = re.compile(r"\b(?:ba|da|z)?sh\b|^$")
# Actions that run a script of their input.
_SCRIPT_INPUTS: Final[Mapping[str, str]] = {
    "codspeedhq/action": "run",
    "nick-fields/retry": "command",
    "nick-invision/retry": "command",
    "aganders3/headless-gui": "run",
    "coactions/setup-xvfb": "run",
    "gabrielbb/xvfb-action": "run",
    "pytorch/test-infra/.github/workflows/linux_job.yml": "script",
    "pytorch/test-infra/.github/workflows/linux_job_v2.yml": "script",
    "pytorch/test-infra/.github/workflows/linux_job_v3.yml": "script",
}


class StepScript(Value, frozen=True, kw_only=True):
    """One step with its expressions evaluated, as far as they are known."""

    script: str = ""
    uses: str = ""
    inputs: dict[str, str] = {}
    """By lower-case name; an input that is not known is empty."""
    line: int
    """Of the step's `run` or `uses`."""
    within: bool = True
    """The script stands in this file; else it is a local action's, and `line` is where that is used."""
    name: str = ""
    env: dict[str, str] = {}
    """The whole of it: of the workflow, the job and the step."""
    shell: str = ""
    working_directory: str = ""
    certain: bool = True
    """It is known to run; steps that are known not to run are left out."""


class Placed(msgspec.Struct, frozen=True, kw_only=True):
    """A command and its step."""

    step: StepScript
    command: Recognised
    line: int
    variables: dict[str, str]
    """The environment of the step, with what steps before it wrote into GITHUB_ENV."""

    @property
    def certain(self) -> bool:
        """Whether it is known to run."""
        return self.step.certain and not self.command.condition


class Lost(msgspec.Struct, frozen=True, kw_only=True):
    """Something that could not be read or followed."""

    line: int
    what: str
    why: str


class JobCommands(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the steps of a job run."""

    commands: tuple[Placed, ...]
    lost: tuple[Lost, ...] = ()


def read_job(steps: Sequence[StepScript], read: Read) -> JobCommands:
    """Read the scripts of a job's steps."""
    return _Job(read).all(steps)


def action_of(uses: str) -> str:
    """Give `owner/name` of a use, in lower case and without its ref."""
    return uses.partition("@")[0].strip().lower()


class _Job:
    def __init__(self, read: Read) -> None:
        self.read = read
        self.commands: list[Placed] = []
        self.lost: list[Lost] = []
        self.exported: dict[str, str] = {}
        """Written into GITHUB_ENV so far."""
        self.lost_names: set[str] = set()

    def all(self, steps: Sequence[StepScript]) -> JobCommands:
        for step in steps:
            script, shell = step.script, step.shell
            if step.uses:
                action = action_of(step.uses)
                script, shell = step.inputs.get(_SCRIPT_INPUTS.get(action, ""), ""), "bash"
            if script.strip():
                self.script(step, script, shell)
        return JobCommands(commands=tuple(self.commands), lost=tuple(self.lost))

    def script(self, step: StepScript, script: str, shell: str) -> None:
        if not _POSIX.search(shell.strip()):
            self.lost.append(
                Lost(line=step.line, what=_title(step), why=f"its shell is `{shell.strip()}`")
            )
            return
        variables = {**step.env, **self.exported}
        for name in self.lost_names - set(step.env):
            variables.pop(name, None)
        variables.setdefault("GITHUB_WORKSPACE", WORKSPACE)
        first = step.line + 1 if "\n" in script and step.within and not step.uses else step.line
        found = read_script(script, variables)
        for command in found.commands:
            line = first + command.line if step.within and not step.uses else step.line
            self.follow_files(command, step, line)
            placed = _placed(command, step.working_directory, variables["GITHUB_WORKSPACE"])
            recognised = recognise(placed, variables, self.read)
            self.commands.append(
                Placed(step=step, command=recognised, line=line, variables=variables)
            )
        if found.unread is not None:
            self.lost.append(
                Lost(
                    line=first + found.unread.line,
                    what=_title(step),
                    why=f"not read: {found.unread.why}",
                )
            )

    def follow_files(self, command: Command, step: StepScript, line: int) -> None:
        """Follow `echo NAME=value >> $GITHUB_ENV`."""
        targets = [r.target.text for r in command.redirections if r.operator.startswith(">")]
        if not any(
            "GITHUB_ENV" in target or target == step.env.get("GITHUB_ENV") for target in targets
        ):
            return
        words = [word for word in command.words[1:] if word.text not in {"-e", "-n", "-E"}]
        assigned = re.fullmatch(r"([A-Za-z_]\w*)=(.*)", words[0].text if words else "", re.DOTALL)
        if command.words[0].text == "echo" and len(words) == 1 and assigned is not None:
            name, value = assigned.groups()
            if words[0].literal and step.certain and not command.condition:
                self.exported[name] = value
                self.lost_names.discard(name)
                return
            self.exported.pop(name, None)
            self.lost_names.add(name)
            why = (
                "its value is not known"
                if not words[0].literal
                else f"only under `{command.condition or 'if'}`"
            )
            self.lost.append(Lost(line=line, what=f"the variable {name}", why=why))
            return
        self.lost.append(
            Lost(line=line, what=command.raw, why="what it writes into GITHUB_ENV is not known")
        )


def _title(step: StepScript) -> str:
    return f"step `{step.name}`" if step.name else "a step"


def _placed(command: Command, directory: str, workspace: str) -> Command:
    """Give the command with its folder relative to the repository."""
    cwd = command.cwd
    if cwd is not None:
        joined = posixpath.normpath(posixpath.join(workspace, directory, cwd))
        cwd = relative(joined, workspace)
    return msgspec.structs.replace(command, cwd=cwd)


def relative(path: str, workspace: str) -> str:
    """Give a path relative to the workspace, where it lies inside."""
    if path == workspace:
        return ""
    return path.removeprefix(workspace.rstrip("/") + "/")


def leaves(commands: Sequence[Placed]) -> Iterator[tuple[Placed, Recognised]]:
    """Give every command and all that it is known to run in its turn, the outer one first."""
    for placed in commands:
        waiting = [placed.command]
        while waiting:
            command = waiting.pop(0)
            yield placed, command
            waiting = [*command.inner, *waiting]
