"""Runs the steps of one cell, one after another, as GitHub's runner does (actions/runner, StepsRunner.cs)."""

from __future__ import annotations

import posixpath
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import msgspec

from presubmit.container.model import ExecOutcome
from presubmit.replay.actions import find as find_action
from presubmit.replay.job.action import ActionFailedError, LackingError
from presubmit.replay.job.box_files import hash_of
from presubmit.replay.job.machine import Machine, StepFaultError
from presubmit.replay.job.scope import Scope
from presubmit.replay.job.shells import ShellError, shell_command
from presubmit.replay.job.unreachable import lacking, token_wanted
from presubmit.replay.job.use import Use
from presubmit.replay.job.values import STEP_BEFORE, CellResult, Conclusion, StepRecord
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
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from presubmit.replay.job.values import CellAssignment
    from presubmit.upstream.model import ActionFile, Job, Step, Workflow

_NEST: Final = 10
_MINUTE: Final = 60.0
_AFTER_CANCEL: Final = 300.0
"""Seconds that steps with `always()` have after the job's time is up (docs: `cancel-timeout-minutes`, 5 minutes)."""


class Stop(msgspec.Struct, frozen=True):
    """Why the cell cannot go on: ours (`error`), or something that is not here (`lacks`)."""

    error: str = ""
    lacks: str = ""


class _CancelledError(Exception):
    """The job's time was up inside a composite action: the step that uses it is cancelled as well."""


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
    lacks: str = ""
    """What is not here: the cell ends with this step, unless it is tolerated."""


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
        outputs: dict[str, str] = {}
        try:
            self._set_environment()
            self._walk(self._top, self.job.steps)
            self._run_posts()
            outputs = self._outputs()
        except JobError as error:
            self._top.failed = True
            self.notes.append(str(error))
        except StepFaultError as error:  # between two steps
            self._fault(error, began)
        if self.cell.selection is not None and not self.machine.saw_pytest:
            self.notes.append(
                "nothing was narrowed: no pytest was seen, so what tests it has ran whole"
            )
        mask, stop = self.machine.mask, self._stop or Stop()
        notes = dict.fromkeys(mask(note) for note in (*self.notes, *self.machine.notes))
        return CellResult(
            cell=self.cell.cell,
            conclusion=self._conclusion(),
            outputs=outputs,
            steps=tuple(self.records),
            annotations=tuple(self.machine.annotations),
            seconds=round(time.monotonic() - began, 3),
            error=mask(stop.error),
            lacks=mask(stop.lacks),
            notes=tuple(notes),
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
            "github": {**self.machine.github_context(), **scope.github()},
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
            if self._stop is not None or scope.lacks:
                return
            self._step(scope, step)

    def _step(self, scope: Scope, step: Step) -> None:
        began = time.monotonic()
        done = _Done(title=_plain_title(step))
        with self._caught(done, began):
            env = self._step_env(scope, step)
            done.title = self._title(scope, step, self.contexts(scope, env))
            runs, why = self._decide(scope, step, env)
            if not runs:
                done.outcome, done.reason = Conclusion.SKIPPED, why
        if done.outcome is Conclusion.SUCCESS:
            self._begin(scope, step, done.title, env)
            with self._caught(done, began):
                self._do(scope, step, env, done)
            self._end(done)
            self._tolerate(scope, step, env, done)
        elif done.outcome is not Conclusion.SKIPPED:
            self._begin(scope, step, done.title, {})
            self.machine.say_error(done.reason)
            self._end(done)
        self._record(scope, step, done, began)

    @contextmanager
    def _caught(self, done: _Done, began: float) -> Iterator[None]:
        """Turn what goes wrong with a step into its outcome."""
        try:
            yield
        except (ExpressionError, JobError, ShellError, ActionFailedError) as error:
            done.outcome, done.reason = Conclusion.FAILURE, str(error)
        except LackingError as error:
            done.outcome, done.reason = Conclusion.FAILURE, f"not here: {error}"
            done.lacks = str(error)
        except StepFaultError as error:
            done.outcome, done.reason = self._fault(error, began)
        except _CancelledError as error:
            done.outcome, done.reason = Conclusion.CANCELLED, str(error)
        else:
            return
        self.machine.say_error(done.reason)

    def _begin(self, scope: Scope, step: Step, title: str, env: Mapping[str, str]) -> None:
        self.machine.begin_step(
            title,
            f"{scope.file}:{step.mark.line}",
            step.id,
            {**scope.env, **env},
            action_path=scope.github().get("action_path", ""),
        )

    def _end(self, done: _Done) -> None:
        done.outputs, complaint, done.tail = self.machine.end_step()
        if complaint and done.outcome is Conclusion.SUCCESS:
            done.outcome, done.reason = Conclusion.FAILURE, complaint

    def _do(self, scope: Scope, step: Step, env: Mapping[str, str], done: _Done) -> None:
        contexts, functions = self.contexts(scope, env), self._functions(scope)
        with self.machine.limited(self._seconds(self._minutes(step, contexts))):
            if step.uses is not None:
                done.kind, done.reason = self._uses(scope, step, env, contexts, functions)
                return
            done.code = self._run(scope, step, env, contexts, functions)
            if done.code != 0:
                done.outcome, done.reason = Conclusion.FAILURE, f"exit code {done.code}"
                tail = self.machine.tail
                lacks = lacking(tail) or token_wanted(step, tail)
                if lacks:
                    raise LackingError(lacks)

    def _minutes(self, step: Step, contexts: Mapping[str, Any]) -> int:
        """Give the step's own limit, 0 for none: whole minutes, and none at all where it cannot be told (StepsRunner.cs)."""
        try:
            return int(number_of(step.timeout_minutes, contexts, otherwise=0.0))
        except (JobError, OverflowError) as error:
            message = f"An error occurred when attempting to determine the step timeout: {error}"
            self.machine.say_error(message)
            self.machine.annotate("error", message)
            return 0

    def _tolerate(self, scope: Scope, step: Step, env: Mapping[str, str], done: _Done) -> None:
        """See whether the failure of a step that ran counts; it may depend on the step's own outputs."""
        if done.outcome is Conclusion.FAILURE and self._stop is None:
            self._remember(scope, step, done)
            contexts = self.contexts(scope, env)
            try:
                done.tolerated = flag_of(step.continue_on_error, contexts, otherwise=False)
            except JobError as error:
                done.reason = f"{done.reason}; continue-on-error: {error}"
        if done.lacks and not done.tolerated and self._stop is None:
            scope.lacks = done.lacks
            if scope.outer is None:
                self._stop = Stop(lacks=done.lacks)

    def _fault(self, error: StepFaultError, began: float) -> tuple[Conclusion, str]:
        """Say what it means that a step did not end by itself: out of time is its own failure, the rest is ours."""
        if error.outcome is ExecOutcome.TIMEOUT:
            if time.monotonic() < self._deadline:
                seconds = time.monotonic() - began
                return Conclusion.FAILURE, f"timeout-minutes is over after {seconds:.0f} s"
            if not self.cancelled:
                self.cancelled = f"timeout-minutes of the job ({self.cell.timeout / 60:g}) is over"
                self.notes.append(self.cancelled)
                self._deadline = time.monotonic() + _AFTER_CANCEL
                self.machine.extend(_AFTER_CANCEL)
            return Conclusion.CANCELLED, self.cancelled
        if error.outcome is ExecOutcome.START_FAILED:
            return Conclusion.FAILURE, str(error)
        self._stop = Stop(error=str(error))
        return Conclusion.FAILURE, str(error)

    def _decide(self, scope: Scope, step: Step, env: Mapping[str, str]) -> tuple[bool, str]:
        condition = template.condition(step.condition)
        contexts, functions = self.contexts(scope, env), self._functions(scope)
        if is_truthy(condition.evaluate(contexts, functions)):
            return True, ""
        if step.condition is None:
            return False, STEP_BEFORE if not self.cancelled else self.cancelled
        words = " ".join(step.condition.text.split())
        return False, f"if: {words}"

    def _step_env(self, scope: Scope, step: Step) -> dict[str, str]:
        """Evaluate `env` of a step; where that fails the step does, even one that would be skipped (StepsRunner.cs)."""
        value = evaluate(step.env, self.contexts(scope), self._functions(scope)) or {}
        return {name: to_string(inner) for name, inner in value.items()}

    def _seconds(self, minutes: float) -> float:
        left = max(1.0, self._deadline - time.monotonic())
        return min(left, minutes * _MINUTE) if minutes > 0 else left

    def _title(self, scope: Scope, step: Step, contexts: Mapping[str, Any]) -> str:
        if step.name is not None:
            try:
                name = to_string(evaluate(step.name, contexts, self._functions(scope)))
                return _first_line(name) or _plain_title(step)
            except JobError:
                return _plain_title(step)
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
        inner = Scope(
            inputs=self._inputs(scope, action, inputs),
            file=action.path,
            directory=folder,
            env={**scope.env, **env},
            outer=scope,
            depth=scope.depth + 1,
        )
        cancelled = self.cancelled
        with self.machine.nested():
            self._walk(inner, action.steps)
        for name, node in action.outputs.items():
            value = evaluate(node, self.contexts(inner), self._functions(inner))
            self.machine.outputs[name] = to_string(value)
        if self.cancelled and not cancelled:
            raise _CancelledError(self.cancelled)
        if inner.lacks:
            raise LackingError(inner.lacks)
        if inner.failed and self._stop is None:
            raise ActionFailedError(f"a step of {uses} failed")
        return "composite", ""

    def _inputs(
        self, scope: Scope, action: ActionFile, given: Mapping[str, str]
    ) -> dict[str, str]:
        """Give the inputs of a composite action: what is given, declared or not, and the defaults of the rest."""
        values = dict(given)
        known = {wanted.name.lower(): wanted for wanted in action.inputs}
        for name, wanted in known.items():
            if name not in values:
                default = evaluate(wanted.default, self.contexts(scope), self._functions(scope))
                values[name] = to_string(default)
        if unexpected := "', '".join(name for name in given if name not in known):
            valid = "', '".join(known)
            message = f"Unexpected input(s) '{unexpected}', valid inputs are ['{valid}']"
            self.machine.annotate("warning", message)
        return values

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
                self.machine.end_step()
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
                    reason=self.machine.mask(reason),
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

    @staticmethod
    def _remember(scope: Scope, step: Step, done: _Done) -> Conclusion:
        """Let later expressions see what became of a step that has an id; give its conclusion."""
        tolerated = done.outcome is Conclusion.FAILURE and done.tolerated
        conclusion = Conclusion.SUCCESS if tolerated else done.outcome
        if step.named:
            scope.steps[step.id] = {
                "outputs": dict(done.outputs),
                "outcome": str(done.outcome),
                "conclusion": str(conclusion),
            }
        return conclusion

    def _record(self, scope: Scope, step: Step, done: _Done, began: float) -> None:
        conclusion = self._remember(scope, step, done)
        if conclusion is Conclusion.FAILURE:
            scope.failed = True
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
        return _first_line(str(step.name.value))
    if step.uses is not None:
        return f"Run {step.uses.value}"
    return f"Run {_first_line('' if step.run is None else str(step.run.value))}"


def _first_line(text: str) -> str:
    return next(iter(text.strip().splitlines()), "")
