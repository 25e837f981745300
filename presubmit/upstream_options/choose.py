"""Chooses the cells of upstream that a run follows, and takes over what they say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from presubmit.upstream.recipes.gather import recipe_of
from presubmit.upstream.recipes.recipe import Runner
from presubmit.upstream_options.lint import take_lints
from presubmit.upstream_options.ranking import (
    candidates,
    choose_interpreter,
    job_of,
    ranked,
    version_of,
)
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
    tests, followed = _tests(ranked(testing, python), project)
    chosen = followed if tests.options else None
    linting = _one_of_each_job(ranked([c for c in every if c.cell.role == "lint"], python))
    linting.sort(key=every.index)
    linting += [followed] if followed is not None else []
    recipes = [_recipe(candidate, project) for candidate in linting]
    lints = take_lints(recipes, project)
    options: Options = {**tests.options, **lints.options}
    roles = {"tests": chosen.cell.id} if chosen is not None else {}
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
    """Give what can be taken of the main job of the tests, if anything can, and its cell.

    A job that runs no tests of Python (ctest, cargo) leaves that to the next one; one that does, in a way that cannot
    be taken over, does not: the jobs after it are variations (musl, oldest versions), which no run should follow.
    """
    nearest: tuple[Found, Candidate | None] = (Found(), None)
    for candidate in _one_of_each_job(found):
        recipe = _recipe(candidate, project)
        taken = take_tests(recipe, (step.script for step in candidate.steps), project)
        if taken.options:
            return taken, candidate
        nearest = nearest if nearest[0].besides else (taken, candidate)
        if any(run.pytest or run.program or run.runner in _OF_PYTHON for run in recipe.tests):
            break
    return nearest


_OF_PYTHON: Final = frozenset(
    {Runner.TOX, Runner.NOX, Runner.HATCH, Runner.PDM, Runner.POETRY, Runner.PIXI, Runner.SPIN}
)


def _one_of_each_job(found: Iterable[Candidate]) -> list[Candidate]:
    jobs: dict[tuple[str, str], Candidate] = {}
    for candidate in found:
        jobs.setdefault(job_of(candidate), candidate)
    return list(jobs.values())


def _recipe(candidate: Candidate, project: Project) -> Recipe:
    return recipe_of(
        candidate.steps,
        file=candidate.cell.workflow.rpartition("/")[2],
        read=project.read,
        project=project.name,
        repository=project.repository,
    )
