"""Runs the steps of one cell, one after another, as GitHub's runner does (actions/runner, StepsRunner.cs)."""

from __future__ import annotations

import posixpath
import time
from typing import TYPE_CHECKING, Any, Final

import msgspec

from presubmit.container.model import ExecOutcome
from presubmit.replay.actions import find as find_action
from presubmit.replay.job.action import ActionFailedError, LackingError
from presubmit.replay.job.box_files import hash_of
from presubmit.replay.job.machine import Machine, StepFaultError
from presubmit.replay.job.scope import Scope
from presubmit.replay.job.shells import ShellError, shell_command
from presubmit.replay.job.use import Use
from presubmit.replay.job.values import CellResult, Conclusion, StepRecord
from presubmit.upstream import template
from presubmit.upstream.action_file import read_action
from presubmit.upstream.expressions import (
    CaseSensitive,
    ExpressionError,
    is_truthy,
    to_string,
)
from presubmit.upstream.jobs import JobError, evaluate, flag_of, number_of
from presubmit.upstream.judge import local_form
from presubmit.upstream.uses import Wanted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from presubmit.replay.job.values import CellAssignment
    from presubmit.upstream.model import ActionFile, Job, Step, Workflow

_NEST: Final = 10
_AFTER_CANCEL: Final = 300.0
"""Seconds that steps with `always()` have after the job's time is up (docs: `cancel-timeout-minutes`, 5 minutes)."""


class Stop(msgspec.Struct, frozen=True):
    """Why the cell cannot go on: ours (`error`), or something that is not here (`lacks`)."""

    error: str = ""
    lacks: str = ""


class _Done(msgspec.Struct, kw_only=True):
    """What came of a step so far."""

    title: str
    outcome: Conclusion = Conclusion.SUCCESS
    reason: str = ""
    kind: str = "run"
    code: int | None = None
    tolerated: bool = False
    outputs: dict[str, str] = {}
    tail: str = ""


class CellRun:
    """One cell while it runs."""

    def __init__(
        self, assignment: CellAssignment, workflow: Workflow, job: Job, machine: Machine
    ) -> None:
        self.cell = assignment
        self.workflow = workflow
        self.job = job
        self.machine = machine
        self.records: list[StepRecord] = []
        self.notes: list[str] = list(assignment.notes)
        self.cancelled = ""
        self._stop: Stop | None = None
        self._post: list[tuple[Scope, Use, Any]] = []
        self._deadline = time.monotonic() + assignment.timeout
        self._top = Scope(
            inputs=assignment.inputs, file=workflow.file, directory=assignment.workspace
        )

    def go(self) -> CellResult:
        """Run all steps and what they leave to do afterwards; give the cell's result."""
        began = time.monotonic()
        try:
            self._set_environment()
            self._walk(self._top, self.job.steps)
            self._run_posts()
            outputs = self._outputs()
        except JobError as error:
            self._top.failed = True
            self.notes.append(str(error))
            outputs = {}
        return CellResult(
            cell=self.cell.cell,
            conclusion=self._conclusion(),
            outputs=outputs,
            steps=tuple(self.records),
            annotations=tuple(self.machine.annotations),
            seconds=round(time.monotonic() - began, 3),
            error=self._stop.error if self._stop else "",
            lacks=self._stop.lacks if self._stop else "",
            notes=tuple(dict.fromkeys((*self.notes, *self.machine.notes))),
        )

    def _conclusion(self) -> Conclusion:
        if self.cancelled:
            return Conclusion.CANCELLED
        return Conclusion.FAILURE if self._top.failed or self._stop else Conclusion.SUCCESS

    # --- contexts ---------------------------------------------------------------------------------------------------

    def _set_environment(self) -> None:
        """Evaluate `env` of the workflow and of the job, in this order; the job's wins."""
        for node in (self.workflow.env, self.job.env):
            value = evaluate(node, self.contexts(self._top), self._functions(self._top)) or {}
            self.machine.environment |= {name: to_string(inner) for name, inner in value.items()}

    def contexts(self, scope: Scope, env: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Give what expressions of a step see."""
        cell = self.cell
        return {
            "github": {**self.machine.github, **scope.github()},
            "env": CaseSensitive({**self.machine.environment, **scope.env, **(env or {})}),
            "vars": cell.vars,
            "job": {**cell.job_context, "status": self._status(self._top)},
            "steps": scope.steps,
            "runner": self.machine.runner_context(),
            "secrets": self.machine.secrets,
            "strategy": cell.strategy,
            "matrix": cell.matrix,
            "needs": cell.needs,
            "inputs": scope.inputs or {},
        }

    def _status(self, scope: Scope) -> str:
        if self.cancelled:
            return "cancelled"
        return "failure" if scope.failed else "success"

    def _functions(self, scope: Scope) -> dict[str, Callable[..., Any]]:
        status = self._status(scope)
        return {
            "success": lambda: status == "success",
            "failure": lambda: status == "failure",
            "cancelled": lambda: status == "cancelled",
            "always": lambda: True,
            "hashFiles": lambda *patterns: hash_of(self.machine, [to_string(p) for p in patterns]),
        }

    # --- steps ------------------------------------------------------------------------------------------------------

    def _walk(self, scope: Scope, steps: Sequence[Step]) -> None:
        for step in steps:
            if self._stop is not None:
                return
            self._step(scope, step)

    def _step(self, scope: Scope, step: Step) -> None:
        began = time.monotonic()
        try:
            runs, why = self._decide(scope, step)
            env = self._step_env(scope, step) if runs else {}
            title = self._title(scope, step, self.contexts(scope, env))
        except (ExpressionError, JobError) as error:
            done = _Done(outcome=Conclusion.FAILURE, reason=str(error), title=_plain_title(step))
            self._record(scope, step, done, began)
            return
        if not runs:
            done = _Done(outcome=Conclusion.SKIPPED, reason=why, title=title)
            self._record(scope, step, done, began)
            return
        origin = f"{scope.file}:{step.mark.line}"
        self.machine.begin_step(title, origin, step.id, {**scope.env, **env})
        done = _Done(title=title)
        try:
            self._do(scope, step, env, done)
        except (ExpressionError, JobError, ShellError, ActionFailedError) as error:
            done.outcome, done.reason = Conclusion.FAILURE, str(error)
            self.machine.say_error(str(error))
        except LackingError as error:
            done.outcome, done.reason = Conclusion.FAILURE, f"not here: {error}"
            self.machine.say_error(done.reason)
            if not done.tolerated and self._stop is None:
                self._stop = Stop(lacks=str(error))
        except StepFaultError as error:
            done.outcome, done.reason = self._fault(error, began)
            self.machine.say_error(done.reason)
        done.outputs, complaint, done.tail = self.machine.end_step(scope)
        if complaint and done.outcome is Conclusion.SUCCESS:
            done.outcome, done.reason = Conclusion.FAILURE, complaint
        self._record(scope, step, done, began)

    def _do(self, scope: Scope, step: Step, env: Mapping[str, str], done: _Done) -> None:
        contexts, functions = self.contexts(scope, env), self._functions(scope)
        done.tolerated = flag_of(step.continue_on_error, contexts, otherwise=False)
        minutes = number_of(step.timeout_minutes, contexts, otherwise=0.0)
        with self.machine.limited(self._seconds(minutes)):
            if step.uses is not None:
                done.kind, done.reason = self._uses(scope, step, env, contexts, functions)
                return
            done.code = self._run(scope, step, env, contexts, functions)
            if done.code != 0:
                done.outcome, done.reason = Conclusion.FAILURE, f"exit code {done.code}"

    def _fault(self, error: StepFaultError, began: float) -> tuple[Conclusion, str]:
        """Say what it means that a step did not end by itself: out of time is its own failure, the rest is ours."""
        if error.outcome is ExecOutcome.TIMEOUT:
            if time.monotonic() >= self._deadline and not self.cancelled:
                self.cancelled = f"timeout-minutes of the job ({self.cell.timeout / 60:g}) is over"
                self.notes.append(self.cancelled)
                self._deadline = time.monotonic() + _AFTER_CANCEL
                self.machine.extend(_AFTER_CANCEL)
                return Conclusion.CANCELLED, self.cancelled
            return (
                Conclusion.FAILURE,
                f"timeout-minutes is over after {time.monotonic() - began:.0f} s",
            )
        if error.outcome is ExecOutcome.START_FAILED:
            return Conclusion.FAILURE, str(error)
        self._stop = Stop(error=str(error))
        return Conclusion.FAILURE, str(error)

    def _decide(self, scope: Scope, step: Step) -> tuple[bool, str]:
        condition = template.condition(step.condition)
        env = self._step_env(scope, step, lenient=True)
        contexts, functions = self.contexts(scope, env), self._functions(scope)
        if is_truthy(condition.evaluate(contexts, functions)):
            return True, ""
        if step.condition is None:
            return False, "a step before it failed" if not self.cancelled else self.cancelled
        words = " ".join(step.condition.text.split())
        return False, f"if: {words}"

    def _step_env(self, scope: Scope, step: Step, *, lenient: bool = False) -> dict[str, str]:
        try:
            value = evaluate(step.env, self.contexts(scope), self._functions(scope)) or {}
        except JobError:
            if lenient:
                return {}
            raise
        return {name: to_string(inner) for name, inner in value.items()}

    def _seconds(self, minutes: float) -> float:
        left = max(1.0, self._deadline - time.monotonic())
        return min(left, minutes * 60) if minutes > 0 else left

    def _title(self, scope: Scope, step: Step, contexts: Mapping[str, Any]) -> str:
        if step.name is not None:
            try:
                return to_string(evaluate(step.name, contexts, self._functions(scope)))
            except JobError:
                return str(step.name.value)
        return _plain_title(step)

    # --- run --------------------------------------------------------------------------------------------------------

    def _run(
        self,
        scope: Scope,
        step: Step,
        env: Mapping[str, str],
        contexts: Mapping[str, Any],
        functions: Mapping[str, Callable[..., Any]],
    ) -> int:
        assert step.run is not None  # noqa: S101 - the reader holds that a step has one or the other
        script = to_string(evaluate(step.run, contexts, functions))
        defaults = () if scope.outer is not None else (self.job.shell, self.workflow.shell)
        shell_node = next((node for node in (step.shell, *defaults) if node is not None), None)
        shell = (
            None if shell_node is None else to_string(evaluate(shell_node, contexts, functions))
        )
        directories = (
            (step.working_directory,)
            if scope.outer is not None
            else (
                step.working_directory,
                self.job.working_directory,
                self.workflow.working_directory,
            )
        )
        directory = next((node for node in directories if node is not None), None)
        inside = "" if directory is None else to_string(evaluate(directory, contexts, functions))
        made = shell_command(
            shell, has=self.machine.has, in_container=self.cell.in_container, script=script
        )
        return self.machine.run_script(
            made,
            env={**scope.env, **env},
            cwd=posixpath.join(self.cell.workspace, inside),
            script=script,
        )

    # --- uses -------------------------------------------------------------------------------------------------------

    def _uses(
        self,
        scope: Scope,
        step: Step,
        env: Mapping[str, str],
        contexts: Mapping[str, Any],
        functions: Mapping[str, Callable[..., Any]],
    ) -> tuple[str, str]:
        """Do a `uses` step; give its kind and, where it did otherwise than upstream, how."""
        assert step.uses is not None  # noqa: S101 - asked by the caller
        uses = local_form(str(step.uses.value))
        given = evaluate(step.inputs, contexts, functions) or {}
        inputs = {name.lower(): to_string(value) for name, value in given.items()}
        if uses.startswith("./"):
            return self._local(scope, uses, inputs, env)
        wanted = Wanted(
            uses=uses,
            inputs=dict(inputs),
            repository=to_string(self.machine.github.get("repository")),
        )
        name = uses.partition("@")[0].lower()
        use = Use(self, scope, step, wanted, env)
        if name in self.cell.substitutes:
            use.run_own(self.cell.substitutes[name])
            return "substituted", "by your configuration"
        action = find_action(uses)
        if action is None:
            raise LackingError(f"action {name}")
        support = action.support(wanted, self.cell.here)
        if support.lacks:
            raise LackingError(support.lacks)
        if support.stub:
            self.machine.say(f"{name} is stubbed: nothing is done")
            return "stubbed", "nothing is done"
        action.run(use)
        if hasattr(action, "post"):
            self._post.append((scope, use, action))
        return "substituted", use.noted

    def _local(
        self,
        scope: Scope,
        uses: str,
        inputs: Mapping[str, str],
        env: Mapping[str, str],
    ) -> tuple[str, str]:
        """Run a composite action of the repository itself, as it stands in the workspace."""
        if scope.depth >= _NEST:
            raise ActionFailedError(f"actions nest {scope.depth} deep at {uses}")
        folder = posixpath.normpath(posixpath.join(self.cell.workspace, uses))
        action = self._read_local(folder, uses)
        if action.using != "composite":
            raise LackingError(f"action {uses} ({action.using})")
        values: dict[str, Any] = {}
        for wanted in action.inputs:
            if wanted.name.lower() in inputs:
                values[wanted.name] = inputs[wanted.name.lower()]
            elif wanted.default is not None:
                default = evaluate(wanted.default, self.contexts(scope), self._functions(scope))
                values[wanted.name] = to_string(default)
            else:
                values[wanted.name] = ""
        inner = Scope(
            inputs=values,
            file=action.path,
            directory=folder,
            env={**scope.env, **env},
            outer=scope,
            depth=scope.depth + 1,
        )
        with self.machine.nested():
            self._walk(inner, action.steps)
        for name, node in action.outputs.items():
            value = evaluate(node, self.contexts(inner), self._functions(inner))
            self.machine.outputs[name] = to_string(value)
        if inner.failed and self._stop is None:
            raise ActionFailedError(f"a step of {uses} failed")
        return "composite", ""

    def _read_local(self, folder: str, uses: str) -> ActionFile:
        for name in ("action.yml", "action.yaml"):
            data = self.machine.read_file(posixpath.join(folder, name))
            if data is None:
                continue
            path = posixpath.join(uses.removeprefix("./"), name)
            action, problems = read_action(data, path)
            if action is None:
                raise ActionFailedError("; ".join(str(problem) for problem in problems))
            return action
        raise ActionFailedError(
            f"Can't find 'action.yml' or 'action.yaml' under '{folder}'. Did you forget to run actions/checkout?"
        )

    # --- after the steps --------------------------------------------------------------------------------------------

    def _run_posts(self) -> None:
        """Let the actions clean up, last first; only after success unless they say otherwise."""
        while self._post and self._stop is None:
            scope, use, action = self._post.pop()
            if (self._top.failed or self.cancelled) and not getattr(action, "POST_ALWAYS", False):
                continue
            began = time.monotonic()
            outcome, reason = Conclusion.SUCCESS, ""
            origin = f"{scope.file}:{use.step.mark.line}"
            self.machine.begin_step(f"Post Run {use.wanted.uses}", origin, "", use.own_env)
            try:
                with self.machine.limited(self._seconds(0)):
                    action.post(use)
            except (ActionFailedError, LackingError) as error:
                outcome, reason = Conclusion.FAILURE, str(error)
                self.machine.say_error(str(error))
            except StepFaultError as error:
                outcome, reason = self._fault(error, began)
            finally:
                self.machine.end_step(scope)
            if outcome is Conclusion.FAILURE:
                self._top.failed = True
            self.records.append(
                StepRecord(
                    name=f"Post Run {use.wanted.uses}",
                    id="",
                    kind="post",
                    outcome=outcome,
                    conclusion=outcome,
                    origin=origin,
                    seconds=round(time.monotonic() - began, 3),
                    reason=reason,
                )
            )

    def _outputs(self) -> dict[str, str]:
        if self.job.outputs is None:
            return {}
        contexts, functions = self.contexts(self._top), self._functions(self._top)
        outputs = {}
        for key, node in self.job.outputs.entries:
            text = to_string(evaluate(node, contexts, functions))
            if self.machine.hides(text):
                # GitHub drops outputs that may hold a secret (docs: "Defining outputs for jobs").
                self.notes.append(f"output {key.text} may hold a secret, and is left empty")
                text = ""
            outputs[key.text] = text
        return outputs

    def _record(self, scope: Scope, step: Step, done: _Done, began: float) -> None:
        conclusion = done.outcome
        if conclusion is Conclusion.FAILURE and done.tolerated:
            conclusion = Conclusion.SUCCESS
        if conclusion is Conclusion.FAILURE:
            scope.failed = True
        scope.steps[step.id] = {
            "outcome": str(done.outcome),
            "conclusion": str(conclusion),
            "outputs": dict(done.outputs),
        }
        record = StepRecord(
            name=self.machine.mask(done.title),
            id=step.id,
            kind=done.kind,
            outcome=done.outcome,
            conclusion=conclusion,
            origin=f"{scope.file}:{step.mark.line}",
            seconds=round(time.monotonic() - began, 3),
            exit_code=done.code,
            reason=self.machine.mask(done.reason),
            tail=done.tail if done.outcome is Conclusion.FAILURE else "",
        )
        self.records.append(record)
        self.machine.tell(record)


def _plain_title(step: Step) -> str:
    """Give a step's name as it is written."""
    if step.name is not None:
        return str(step.name.value)
    return f"Run {step.uses.value if step.uses is not None else _first_line(step)}"


def _first_line(step: Step) -> str:
    lines = step.run.text.strip().splitlines() if step.run is not None else []
    return lines[0] if lines else ""
