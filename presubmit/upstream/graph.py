"""Checks what only shows in the job as a whole: its id, its containers, its matrix, and the graph of `needs`."""

from __future__ import annotations

import re
from collections import deque
from typing import TYPE_CHECKING, Final

from presubmit.upstream.files import is_workflow
from presubmit.upstream.nodes import Mapping, Mark, Node, Problem, Scalar, Sequence
from presubmit.upstream.scalars import text_of
from presubmit.upstream.schema.embedded import is_template
from presubmit.upstream.steps import id_fault

if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Sequence as Several

    from presubmit.upstream.model import Job

_NO_IMAGE: Final = "a container needs an image"
_DOCKER: Final = "docker://"
_GROUP_OWNERS: Final = frozenset({"org", "organization", "ent", "enterprise"})
_CALLED: Final = re.compile(r"(?:[.$]/|(?P<remote>[^/@]+/[^/@]+/))(?P<file>[^@]+)(?(remote)@.+)")


def check_job(key: Scalar, node: Mapping, path: str) -> Iterator[Problem]:
    """Check one job by itself."""
    fault = id_fault(text_of(key))
    if fault:
        yield Problem(path, key.mark, fault)
    for place, message in (
        *_container_faults(node.get("container")),
        *_service_faults(node.get("services")),
        *_matrix_faults(node.get("strategy")),
        *_group_faults(node.get("runs-on")),
    ):
        yield Problem(path, place, message)
    yield from _check_reference(node.get("uses"), path)


def check_needs(jobs: Several[Job], place: Mark, path: str) -> Iterator[Problem]:
    """Check that every need is a job, and that every job's turn comes."""
    names = {job.id.lower() for job in jobs}
    unknown = [
        (job, need) for job in jobs for need in job.needs if text_of(need).lower() not in names
    ]
    for job, need in unknown:
        yield Problem(path, need.mark, f"job '{job.id}' needs '{text_of(need)}', which is no job")
    if unknown:
        return
    if all(job.needs for job in jobs):
        yield Problem(path, place, "there is no job to start with: each one needs another")
        return
    stuck = _never_ready(jobs)
    for job in jobs:
        for need in job.needs:
            if job.id.lower() in stuck and text_of(need).lower() in stuck:
                yield Problem(
                    path, need.mark, f"job '{job.id}' needs '{text_of(need)}' in a circle of jobs"
                )


def _never_ready(jobs: Several[Job]) -> set[str]:
    """Give the jobs whose turn never comes, in lower case."""
    waiting = {job.id.lower(): {text_of(need).lower() for need in job.needs} for job in jobs}
    dependants: dict[str, list[str]] = {}
    for name, needs in waiting.items():
        for need in needs:
            dependants.setdefault(need, []).append(name)
    ready = deque(name for name, needs in waiting.items() if not needs)
    while ready:
        done = ready.popleft()
        for name in dependants.get(done, ()):
            waiting[name].discard(done)
            if not waiting[name]:
                ready.append(name)
    return {name for name, needs in waiting.items() if needs}


Fault = tuple[Mark, str]


def _container_faults(node: Node | None) -> Iterator[Fault]:
    if node is None or _has_template(node):
        return
    # `image: ''` is no container at all; without the key, or with nothing behind `docker://`, it is a mistake.
    image = node.get("image") if isinstance(node, Mapping) else node
    if image is None or (isinstance(image, Scalar) and text_of(image) == _DOCKER):
        yield node.mark, _NO_IMAGE


def _service_faults(node: Node | None) -> Iterator[Fault]:
    if not isinstance(node, Mapping) or _has_template(node):
        return
    for _, service in node.entries:
        image = service.get("image") if isinstance(service, Mapping) else service
        text = text_of(image) if isinstance(image, Scalar) else ""
        if not text.removeprefix(_DOCKER):
            yield service.mark, _NO_IMAGE


def _matrix_faults(node: Node | None) -> Iterator[Fault]:
    matrix = node.get("matrix") if isinstance(node, Mapping) else None
    if not isinstance(matrix, Mapping):
        return
    gives_cells = False
    for key, value in matrix.entries:
        name = text_of(key)
        if name == "include":
            gives_cells |= not isinstance(value, Sequence) or bool(value.items)
        elif name != "exclude":
            gives_cells = True
            if isinstance(value, Sequence) and not value.items:
                yield value.mark, f"the matrix axis '{name}' has no values"
    if not gives_cells:
        yield matrix.mark, "a matrix needs an axis, or `include`"


def _group_faults(node: Node | None) -> Iterator[Fault]:
    group = node.get("group") if isinstance(node, Mapping) else None
    if not isinstance(group, Scalar) or _has_template(group):
        return
    owner, slash, name = text_of(group).partition("/")
    if slash and (owner not in _GROUP_OWNERS or not name or "/" in name):
        yield (
            group.mark,
            f"'{text_of(group)}' is no group: only org/<name> or ent/<name> has a slash",
        )


def _check_reference(node: Node | None, path: str) -> Iterator[Problem]:
    if not isinstance(node, Scalar):
        return
    uses = text_of(node)
    found = _CALLED.fullmatch(uses)
    if found is None:
        yield Problem(
            path,
            node.mark,
            f"'{uses}' is neither ./.github/workflows/<file> nor <owner>/<name>/.github/workflows/<file>@<ref>",
        )
    elif not is_workflow(found["file"]):
        yield Problem(
            path,
            node.mark,
            f"'{found['file']}' is not directly in .github/workflows",
            warning=True,
        )


def _has_template(node: Node) -> bool:
    match node:
        case Scalar(value):
            return isinstance(value, str) and is_template(value)
        case Sequence(items):
            return any(_has_template(item) for item in items)
        case Mapping(entries):
            return any(_has_template(part) for entry in entries for part in entry)
