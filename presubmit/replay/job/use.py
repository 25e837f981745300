"""One use of an action while its cell runs: what its substitute may do."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Final

from presubmit.replay.job.action import ActionFailedError, Said

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from presubmit.replay.job.machine import Machine
    from presubmit.replay.job.run import CellRun
    from presubmit.replay.job.scope import Scope
    from presubmit.replay.job.values import CellAssignment
    from presubmit.upstream.here import Here
    from presubmit.upstream.model import Step
    from presubmit.upstream.uses import Wanted

_TRUE: Final = frozenset({"true", "True", "TRUE"})
_FALSE: Final = frozenset({"false", "False", "FALSE"})


class Use:
    """Satisfies ActionStep for the real machine."""

    def __init__(
        self, run: CellRun, scope: Scope, step: Step, wanted: Wanted, env: Mapping[str, str]
    ) -> None:
        self._run = run
        self._scope = scope
        self.step = step
        self._wanted = wanted
        self._env = dict(env)
        self._state: dict[str, str] = {}
        self._notes: list[str] = []

    @property
    def _machine(self) -> Machine:
        return self._run.machine

    @property
    def wanted(self) -> Wanted:
        """What was asked for."""
        return self._wanted

    @property
    def cell(self) -> CellAssignment:
        """The cell: folders, here, origin."""
        return self._run.cell

    @property
    def here(self) -> Here:
        """What the box has."""
        return self._run.cell.here

    @property
    def env(self) -> Mapping[str, str]:
        """The step's whole environment."""
        return self._machine.process_environment(self.own_env)

    @property
    def own_env(self) -> Mapping[str, str]:
        """What the workflow gives this step."""
        return {**self._scope.env, **self._env}

    @property
    def state(self) -> dict[str, str]:
        """What the main part leaves for the post part."""
        return self._state

    @property
    def noted(self) -> str:
        """What was done otherwise than upstream."""
        return "; ".join(dict.fromkeys(self._notes))

    def input(self, name: str, default: str = "") -> str:
        """Give an input, stripped."""
        return (self._wanted.inputs.get(name.lower()) or "").strip() or default

    def flag(self, name: str, *, default: bool = False) -> bool:
        """Give a boolean input (core.getBooleanInput of @actions/core)."""
        text = self.input(name)
        if text in _TRUE:
            return True
        if text in _FALSE:
            return False
        if not text:
            return default
        raise ActionFailedError(
            f"input {name} is {text!r}: write true or false (the YAML 1.2 core words)"
        )

    def lines(self, name: str) -> tuple[str, ...]:
        """Give the non-empty lines of an input."""
        return tuple(line.strip() for line in self.input(name).splitlines() if line.strip())

    def sh(
        self,
        script: str,
        *arguments: str,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
    ) -> int:
        """Run a shell script in the box; its output goes to the log."""
        return self._machine.run_command(
            ("sh", "-e", "-c", script, "sh", *arguments),
            env={**self.env, **(env or {})},
            cwd=self._cwd(cwd),
        )

    def run(
        self, argv: Sequence[str], *, cwd: str | None = None, env: Mapping[str, str] | None = None
    ) -> None:
        """Run a command in the box; ActionFailedError where it does not give 0."""
        self._machine.say(f"[command]{shlex.join(argv)}")
        code = self._machine.run_command(argv, env={**self.env, **(env or {})}, cwd=self._cwd(cwd))
        if code != 0:
            raise ActionFailedError(f"the process '{argv[0]}' failed with exit code {code}")

    def ask(
        self,
        script: str,
        *arguments: str,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
    ) -> Said:
        """Run a shell script in the box and give what it prints."""
        code, data = self._machine.ask(
            ("sh", "-e", "-c", script, "sh", *arguments),
            env={**self.env, **(env or {})},
            cwd=self._cwd(cwd),
        )
        return Said(exit_code=code, text=data.decode("utf-8", "replace"))

    def _cwd(self, cwd: str | None) -> str:
        return cwd or self._run.cell.workspace

    def say(self, text: str) -> None:
        """Write a line into the log."""
        self._machine.say(text)

    def annotate(self, level: str, message: str) -> None:
        """Attach a message to the cell."""
        self._machine.annotate(level, message)

    def set_output(self, name: str, value: str) -> None:
        """Set an output of the step."""
        self._machine.outputs[name] = value

    def export(self, name: str, value: str) -> None:
        """Set a variable for all later steps."""
        self._machine.environment[name] = value

    def add_path(self, folder: str) -> None:
        """Put a folder first on PATH for all later steps."""
        self._machine.add_path(folder)

    def add_mask(self, secret: str) -> None:
        """Hide a text in everything that is written from now on."""
        self._machine.add_mask(secret)

    def note(self, text: str) -> None:
        """Say what was done otherwise than upstream."""
        self._notes.append(text)

    def run_own(self, script: str) -> None:
        """Run the user's own substitute, with the action's inputs as INPUT_… variables (as actions see them)."""
        inputs = {
            f"INPUT_{name.replace(' ', '_').upper()}": value or ""
            for name, value in self._wanted.inputs.items()
        }
        code = self.sh(script, env=inputs)
        if code != 0:
            raise ActionFailedError(
                f"your substitute for {self._wanted.uses} failed with exit code {code}"
            )
