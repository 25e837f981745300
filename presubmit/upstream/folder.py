"""Reads the workflows of a tree, and checks single files of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from presubmit.upstream.action_file import read_action
from presubmit.upstream.calls import CallError, check_calls
from presubmit.upstream.files import is_workflow
from presubmit.upstream.nodes import Problem
from presubmit.upstream.reader import in_order, read_workflow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from presubmit.upstream.model import Workflow

    Read = Callable[[str], bytes | None]

_ACTION_NAMES: Final = frozenset({"action.yml", "action.yaml"})
_OWN: Final = ("./", "$/")
"""What a `uses` starts with that stays in the repository."""


def read_workflows(
    read: Read, paths: Iterable[str]
) -> tuple[tuple[Workflow, ...], tuple[Problem, ...]]:
    """Read all workflows among the paths of a tree; one that GitHub would refuse is left out, with its problems."""
    workflows: list[Workflow] = []
    problems: list[Problem] = []
    for path in sorted(path for path in paths if is_workflow(path)):
        data = read(path)
        if data is None:
            continue
        workflow, found = read_workflow(data, path)
        problems += found
        if workflow is not None:
            workflows.append(workflow)
    return tuple(workflows), tuple(problems)


def check_file(read: Read, path: str) -> tuple[Problem, ...]:
    """Give the problems of one workflow or action file, with those of its calls of workflows beside it."""
    try:
        data = read(path)
    except OSError as error:
        return (Problem(path, None, f"cannot be read: {error.strerror or error}"),)
    if data is None:
        return (Problem(path, None, "there is no such file"),)
    folder, _, name = path.rpartition("/")
    if name in _ACTION_NAMES and not folder.endswith(".github/workflows"):
        return read_action(data, path)[1]
    workflow, problems = read_workflow(data, path)
    if workflow is None:
        return problems
    return in_order((*problems, *check_calls(workflow, _loader(read, path))))


def _loader(read: Read, path: str) -> Callable[[str], Workflow | None]:
    """Give what reads the workflows that those of one repository call in it."""
    top, found, _ = path.rpartition(".github/workflows/")

    def load(uses: str) -> Workflow | None:
        if not found or not uses.startswith(_OWN) or not is_workflow(uses[2:]):
            return None
        target = f"{top}{uses[2:]}"
        try:
            data = read(target)
        except OSError:
            return None
        if data is None:
            raise CallError(f"there is no {target}")
        workflow, _ = read_workflow(data, target)
        if workflow is None:
            raise CallError(f"{target} has errors of its own")
        return workflow

    return load
