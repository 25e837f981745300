"""Reads steps out of nodes that the schema has passed, and gives those an id that have none."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from presubmit.upstream.model import Step
from presubmit.upstream.nodes import Mapping, Node, Problem, Scalar, Sequence
from presubmit.upstream.scalars import text_of

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_ID: Final = 100
CONTROLS: Final = ("wait", "wait-all", "cancel", "parallel")

_ID: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_NOT_IN_ID: Final = re.compile(r"[^A-Za-z0-9_-]")
_LOCAL: Final = ("./", ".\\")
_DOCKER: Final = "docker://"
_SELF: Final = "$/"
"""An action of the repository that the workflow itself comes from."""


def read_steps(node: Node | None, path: str) -> tuple[tuple[Step, ...], tuple[Problem, ...]]:
    """Read a sequence of steps; ids are unique in it, whatever their letter case."""
    items = node.items if isinstance(node, Sequence) else ()
    mappings = [item for item in items if isinstance(item, Mapping)]
    problems: list[Problem] = []
    taken: set[str] = set()
    for mapping in mappings:
        problems += _check_id(mapping, taken, path)
    steps = []
    for mapping in mappings:
        given = scalar(mapping, "id")
        own = "" if given is None else text_of(given)
        steps.append(_step(mapping, own or _generated_id(mapping, taken), named=bool(own)))
    problems += (problem for step in steps for problem in _check_uses(step, path))
    return tuple(steps), tuple(problems)


def id_fault(name: str) -> str:
    """Say what is wrong with an id of a step or a job; or nothing (IdBuilder.cs in actions/runner)."""
    if not _ID.fullmatch(name) or len(name) >= MAX_ID:
        return (
            f"'{name}' is no id: one has letters, digits, '_' and '-' only, starts with a letter or '_' "
            f"and is shorter than {MAX_ID} characters"
        )
    return (
        f"'{name}' is no id: those that start with '__' are GitHub's own"
        if name[:2] == "__"
        else ""
    )


def scalar(mapping: Mapping, key: str) -> Scalar | None:
    """Give the value of a key where it is a scalar."""
    node = mapping.get(key)
    return node if isinstance(node, Scalar) else None


def _check_id(mapping: Mapping, taken: set[str], path: str) -> Iterator[Problem]:
    given = scalar(mapping, "id")
    if given is None:
        return
    name = text_of(given)
    fault = id_fault(name)
    if not fault and name.lower() in taken:
        fault = f"the id '{name}' is that of an earlier step"
    taken.add(name.lower())
    if fault:
        yield Problem(path, given.mark, fault)


def _generated_id(mapping: Mapping, taken: set[str]) -> str:
    """Give the id that GitHub gives: `__run`, `__actions_checkout`, `__actions_checkout_2`."""
    control = next((key for key in CONTROLS if mapping.get(key) is not None), "")
    uses = scalar(mapping, "uses")
    source = control or (_source_of(text_of(uses)) if uses is not None else "") or "run"
    base = _NOT_IN_ID.sub("_", f"__{source}")
    number = 1
    while True:
        suffix = "" if number == 1 else f"_{number}"
        candidate = base[: MAX_ID - len(suffix)] + suffix
        if candidate.lower() not in taken:
            taken.add(candidate.lower())
            return candidate
        number += 1


def _source_of(uses: str) -> str:
    if uses.startswith(_DOCKER):
        return uses.removeprefix(_DOCKER)
    if uses.startswith(_LOCAL):
        return "self"
    if uses.startswith(_SELF):
        return "selfRepository"
    where, _, ref = uses.partition("@")
    parts = _parts(where)
    return "/".join(parts[:2]) if ref and "@" not in ref and len(parts) > 1 else ""


def _parts(where: str) -> list[str]:
    return [part for part in re.split(r"[/\\]", where) if part]


def _check_uses(step: Step, path: str) -> Iterator[Problem]:
    if step.uses is None:
        return
    uses = text_of(step.uses)
    if uses.startswith((_DOCKER, *_LOCAL, _SELF)):
        return
    if not _source_of(uses):
        yield Problem(path, step.uses.mark, f"'{uses}' is not of the form owner/name[/path]@ref")
    elif _parts(uses)[2:4] == [".github", "workflows"]:
        yield Problem(
            path,
            step.uses.mark,
            "a reusable workflow is called by a job (jobs.<id>.uses), not by a step",
            warning=True,
        )


def _step(mapping: Mapping, step_id: str, *, named: bool) -> Step:
    parts = {text_of(key): node for key, node in mapping.entries}
    scalars = {key: node for key, node in parts.items() if isinstance(node, Scalar)}
    inputs = parts.get("with")
    return Step(
        mark=mapping.mark,
        id=step_id,
        named=named,
        name=scalars.get("name"),
        condition=scalars.get("if"),
        run=scalars.get("run"),
        uses=scalars.get("uses"),
        inputs=inputs if isinstance(inputs, Mapping) else None,
        env=parts.get("env"),
        shell=scalars.get("shell"),
        working_directory=scalars.get("working-directory"),
        continue_on_error=scalars.get("continue-on-error"),
        timeout_minutes=scalars.get("timeout-minutes"),
        background=scalars.get("background"),
        control=next((key for key in CONTROLS if key in parts), ""),
    )
