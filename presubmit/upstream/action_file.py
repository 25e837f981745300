"""Reads an `action.yml`."""

from __future__ import annotations

from presubmit.upstream.document import read_document
from presubmit.upstream.model import ActionFile, ActionInput
from presubmit.upstream.nodes import Mapping, Problem, Scalar
from presubmit.upstream.reader import in_order, refused
from presubmit.upstream.scalars import text_of
from presubmit.upstream.schema import ACTION, check
from presubmit.upstream.steps import read_steps, scalar


def read_action(data: bytes, path: str) -> tuple[ActionFile | None, tuple[Problem, ...]]:
    """Read an action; None where the runner would refuse the file."""
    node, found = read_document(data, path)
    problems = list(found)
    if node is not None:
        problems += check(node, ACTION, path)
    if not isinstance(node, Mapping) or refused(problems):
        return None, in_order(problems)
    runs = node.get("runs")
    assert isinstance(runs, Mapping)  # noqa: S101 - the schema has passed
    steps, found = read_steps(runs.get("steps"), path)
    problems += found
    name, using = scalar(node, "name"), scalar(runs, "using")
    action = ActionFile(
        path=path,
        using="" if using is None else text_of(using),
        name="" if name is None else text_of(name),
        inputs=_inputs(node),
        outputs={
            key: value
            for key, output in _parts(node, "outputs")
            if (value := output.get("value")) is not None
        },
        steps=steps,
    )
    return (None if refused(problems) else action), in_order(problems)


def _inputs(node: Mapping) -> tuple[ActionInput, ...]:
    return tuple(
        ActionInput(name=name, required=_is_true(given), default=given.get("default"))
        for name, given in _parts(node, "inputs")
    )


def _is_true(given: Mapping) -> bool:
    # The runner reads `required` nowhere, so people write "true" as well.
    required = given.get("required")
    return isinstance(required, Scalar) and text_of(required).lower() == "true"


def _parts(node: Mapping, key: str) -> tuple[tuple[str, Mapping], ...]:
    part = node.get(key)
    if not isinstance(part, Mapping):
        return ()
    return tuple(
        (text_of(name), given) for name, given in part.entries if isinstance(given, Mapping)
    )
