"""Chooses the cells of upstream that a run follows, and takes over what they say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from presubmit.upstream.recipes.gather import recipe_of
from presubmit.upstream_options.lint import take_lints
from presubmit.upstream_options.ranking import candidates, choose_interpreter, ranked, version_of
from presubmit.upstream_options.taken import Options, Taken
from presubmit.upstream_options.tests import Found, take_tests

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from presubmit.upstream.cells import JobCell
    from presubmit.upstream.here import Here
    from presubmit.upstream.recipes.job_commands import StepScript
    from presubmit.upstream.recipes.recipe import Recipe
    from presubmit.upstream_options.ranking import Candidate
    from presubmit.upstream_options.taken import Project


def take(
    cells: Iterable[JobCell],
    steps: Mapping[str, tuple[StepScript, ...]],
    project: Project,
    *,
    here: Here | None,
) -> Taken:
    """Follow one cell for the tests, and the lint commands of that cell and of every lint job.

    `here` is None where it is not known what the box has.
    """
    every = candidates(cells, steps)
    testing = [c for c in every if c.cell.role == "tests"]
    interpreter = choose_interpreter(testing, here)
    python = version_of(interpreter) if interpreter is not None else None
    tests, chosen = _tests(ranked(testing, python), project)
    linting = _one_of_each_job(ranked([c for c in every if c.cell.role == "lint"], python), every)
    linting += [chosen] if chosen is not None else []
    recipes = [_recipe(candidate, project) for candidate in linting]
    lints = take_lints(recipes, project)
    options: Options = {**tests.options, **lints.options}
    roles = {"tests": chosen.cell.id} if chosen is not None and tests.options else {}
    if lints.options:
        giving = [
            candidate.cell.id
            for candidate, recipe in zip(linting, recipes, strict=True)
            if take_lints([recipe], project).options
        ]
        roles["lint"] = ", ".join(giving)
    if chosen is not None and here is not None and interpreter is not None:  # noqa: SIM102
        if interpreter is not here.interpreters[0]:
            options["container.python"] = interpreter.path, chosen.python_origin
    return Taken(
        options=options,
        cells=roles,
        besides={r: f.besides for r, f in (("tests", tests), ("lint", lints)) if f.besides},
        notes=tuple(dict.fromkeys((*tests.notes, *lints.notes))),
    )


def _tests(found: Sequence[Candidate], project: Project) -> tuple[Found, Candidate | None]:
    """Give what the first cell says that a pytest call can be taken of; where none can, what the nearest one runs."""
    nearest: tuple[Found, Candidate | None] = (Found(), None)
    for candidate in found:
        scripts = (step.script for step in candidate.steps)
        taken = take_tests(_recipe(candidate, project), scripts, project)
        if taken.options:
            return taken, candidate
        if nearest[1] is None:
            nearest = taken, candidate
    return nearest


def _one_of_each_job(found: Iterable[Candidate], order: Sequence[Candidate]) -> list[Candidate]:
    jobs: dict[tuple[str, str], Candidate] = {}
    for candidate in found:
        jobs.setdefault((candidate.cell.workflow, candidate.cell.job), candidate)
    return sorted(jobs.values(), key=order.index)


def _recipe(candidate: Candidate, project: Project) -> Recipe:
    return recipe_of(
        candidate.steps,
        file=candidate.cell.workflow.rpartition("/")[2],
        read=project.read,
        project=project.name,
        repository=project.repository,
    )
