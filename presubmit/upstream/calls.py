"""Checks calls of reusable workflows against what these declare (actions/runner: ReusableWorkflowsLoader.cs)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from presubmit.upstream.nodes import Mapping, Mark, Problem, Scalar
from presubmit.upstream.scalars import text_of
from presubmit.upstream.schema.embedded import is_template

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from presubmit.upstream.model import CallInput, Job, Workflow

    Load = Callable[[str], Workflow | None]

NESTED: Final = 9
"""Ten levels of workflows: the first one and nine that are called (docs: "Reusing workflow configurations")."""


class CallError(Exception):
    """A workflow cannot be called: there is no such file, or it is broken."""


def check_calls(workflow: Workflow, load: Load, *, nested: int = NESTED) -> tuple[Problem, ...]:
    """Check every call in a workflow, and in those that it calls.

    `load` gives the workflow that a `uses` names, None where it cannot be known here, and raises CallError where
    there is nothing to call.
    """
    return tuple(_Calls(load, nested).check(workflow, ()))


class _Calls:
    """Walks the calls; a workflow is looked at again only where it is called from deeper."""

    def __init__(self, load: Load, nested: int) -> None:
        self.load = load
        self.nested = nested
        self.deepest: dict[str, int] = {}

    def check(self, workflow: Workflow, above: tuple[str, ...]) -> Iterator[Problem]:
        depth = len(above) + 1
        first = workflow.path not in self.deepest
        self.deepest[workflow.path] = depth
        for job in workflow.jobs:
            if job.uses is None:
                continue
            uses = text_of(job.uses)
            mark = job.uses.mark
            if depth > self.nested:
                yield Problem(
                    workflow.path,
                    mark,
                    f"calls of reusable workflows are nested more than {self.nested} deep",
                )
                continue
            try:
                called = self.load(uses)
            except CallError as error:
                yield Problem(workflow.path, mark, str(error))
                continue
            if called is None:
                continue
            if first:
                yield from _check_call(workflow, job, mark, called)
            if called.path in (*above, workflow.path):
                yield Problem(workflow.path, mark, f"{uses} calls itself in the end")
            elif self.deepest.get(called.path, 0) < depth + 1:
                yield from self.check(called, (*above, workflow.path))


def _check_call(workflow: Workflow, job: Job, mark: Mark, called: Workflow) -> Iterator[Problem]:
    if not any(trigger.event == "workflow_call" for trigger in called.triggers):
        yield Problem(workflow.path, mark, f"{called.path} has no `workflow_call` in its `on`")
        return
    for place, message in (*_input_faults(job, mark, called), *_secret_faults(job, mark, called)):
        yield Problem(workflow.path, place, message)


def _input_faults(job: Job, mark: Mark, called: Workflow) -> Iterator[tuple[Mark, str]]:
    given = {
        text_of(key).lower(): (key, value)
        for key, value in (job.inputs.entries if job.inputs else ())
    }
    declared = {item.name.lower(): item for item in called.call_inputs}
    for name, item in declared.items():
        if name not in given and item.required:
            yield mark, f"the input '{item.name}' is required"
    for name, (key, value) in given.items():
        if name not in declared:
            yield value.mark, f"{called.path} has no input '{text_of(key)}'"
        elif isinstance(value, Scalar) and not _fits(value, declared[name]):
            wanted = declared[name].kind
            yield value.mark, f"'{text_of(value)}' is no {wanted}, as '{text_of(key)}' wants"


def _secret_faults(job: Job, mark: Mark, called: Workflow) -> Iterator[tuple[Mark, str]]:
    if isinstance(job.secrets, Scalar):
        return  # `inherit`
    entries = job.secrets.entries if isinstance(job.secrets, Mapping) else ()
    given = {text_of(key).lower() for key, _ in entries}
    declared = {name.lower() for name in called.call_secrets}
    for name in called.required_secrets:
        if name.lower() not in given:
            yield mark, f"the secret '{name}' is required"
    for key, value in entries:
        if text_of(key).lower() not in declared:
            yield value.mark, f"{called.path} has no secret '{text_of(key)}'"


def _fits(value: Scalar, wanted: CallInput) -> bool:
    if isinstance(value.value, str) and is_template(value.value):
        return True
    match wanted.kind:
        case "boolean":
            return isinstance(value.value, bool)
        case "number":
            return isinstance(value.value, (int, float)) and not isinstance(value.value, bool)
        case _:
            return True
