"""What a called workflow is given: the caller's `with`, typed by the inputs that it declares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from presubmit.upstream.expressions import to_string
from presubmit.upstream.jobs import JobError, evaluate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from presubmit.upstream.model import Job, Workflow


def given_inputs(job: Job, contexts: Mapping[str, Any]) -> dict[str, Any]:
    """Give what a call gives, as far as that can be evaluated."""
    try:
        value = evaluate(job.inputs, contexts)
    except JobError:
        return {}
    return dict(value) if isinstance(value, dict) else {}


def call_inputs(job: Job, called: Workflow, contexts: Mapping[str, Any]) -> dict[str, Any]:
    """Give the typed inputs of a called workflow. Raises JobError for one of the wrong type or that is missing."""
    value = evaluate(job.inputs, contexts) or {}
    given = (
        {name.casefold(): inner for name, inner in value.items()}
        if isinstance(value, dict)
        else {}
    )
    inputs: dict[str, Any] = {}
    for wanted in called.call_inputs:
        name = wanted.name.casefold()
        if name in given:
            inputs[wanted.name] = _typed(given[name], wanted.kind, wanted.name, job)
        elif wanted.default is not None:
            inputs[wanted.name] = evaluate(wanted.default, contexts)
        elif wanted.required:
            raise JobError(f"input {wanted.name} of {called.file} is required", job.mark)
        else:
            inputs[wanted.name] = {"boolean": False, "number": 0.0}.get(wanted.kind, "")
    return inputs


def _typed(value: Any, kind: str, name: str, job: Job) -> Any:  # noqa: ANN401 - JSON's types
    fits = {
        "boolean": isinstance(value, bool),
        "number": isinstance(value, (int, float)) and not isinstance(value, bool),
        "string": not isinstance(value, (dict, list)),
    }
    if not fits.get(kind, True):
        raise JobError(f"input {name} wants a {kind}, not {to_string(value)!r}", job.mark)
    return to_string(value) if kind == "string" else value
