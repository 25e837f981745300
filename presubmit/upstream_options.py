"""Takes options of a run from the matching jobs of upstream: below the configuration, which wins, above convention."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any, Final

import msgspec

from presubmit.config import UPSTREAM, Sourced, fill_in
from presubmit.upstream.cells import CellState
from presubmit.upstream.recipes.gather import recipe_of
from presubmit.upstream.recipes.narrowing import for_narrowing
from presubmit.upstream.recipes.recipe import Runner

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from presubmit.upstream.cells import JobCell
    from presubmit.upstream.here import Here
    from presubmit.upstream.recipes.job_commands import StepScript
    from presubmit.upstream.recipes.recipe import Recipe, TestRun

# Variables that a job sets for the machine that it runs on, or that a narrowed run must not have.
_LEFT_ALONE: Final = frozenset({"PYTEST_ADDOPTS", "PYTEST_PLUGINS", "PIP_INDEX_URL", "UV_INDEX_URL"})


class Taken(msgspec.Struct, frozen=True, kw_only=True):
    """Options by their names, each with the line that it comes from, and what was not taken over."""

    options: Mapping[str, tuple[Any, str]] = {}
    cells: Mapping[str, str] = {}
    """The cell that each role's options are taken from."""
    notes: tuple[str, ...] = ()


def with_upstream(config: Sourced, taken: Taken) -> Sourced:
    """Fill in what the configuration leaves open."""
    return fill_in(config, {name: (value, f"{UPSTREAM}{at}") for name, (value, at) in taken.options.items()})


def take(
    cells: Sequence[JobCell],
    steps: Mapping[str, tuple[StepScript, ...]],
    *,
    here: Here | None,
    read: Callable[[str], str | None],
    project: str,
    repository: str,
) -> Taken:
    """Choose one cell for the tests and one for lint, and take over what they say."""
    options: dict[str, tuple[Any, str]] = {}
    notes: list[str] = []
    chosen: dict[str, str] = {}
    for role, gather in (("tests", _tests), ("lint", _lint)):
        cell = choose_cell([cell for cell in cells if cell.role == role], steps, here)
        if cell is None:
            continue
        recipe = recipe_of(
            steps[cell.id], file=cell.file_of_steps, read=read, project=project, repository=repository
        )
        found, said = gather(recipe, cell, here)
        if found:
            chosen[role] = cell.id
        options |= {name: value for name, value in found.items() if name not in options}
        notes += said
    return Taken(options=options, cells=chosen, notes=tuple(dict.fromkeys(notes)))


def choose_cell(
    cells: Iterable[JobCell], steps: Mapping[str, tuple[StepScript, ...]], here: Here | None
) -> JobCell | None:
    """Choose the cell that is nearest to what runs here: replayed ones first, with the interpreter that is here."""
    able = [
        cell
        for cell in cells
        if cell.state in {CellState.REPLAYED, CellState.NOT_REPLAYED}
        and steps.get(cell.id)
        and not cell.reason.startswith("runs-on")
    ]
    version = here.interpreters[0].version if here is not None and here.interpreters else ""
    wanted = ".".join(version.split(".")[:2])

    def rank(cell: JobCell) -> tuple[bool, bool]:
        names = [str(value) for value in cell.axes.values()]
        fits = any(name == wanted or name.endswith(wanted.replace(".", "")) for name in names if wanted)
        return (cell.state is not CellState.REPLAYED, not fits)

    return min(able, key=rank, default=None)


Options = dict[str, tuple[Any, str]]


def _tests(recipe: Recipe, cell: JobCell, here: Here | None) -> tuple[Options, list[str]]:
    """Take over how the tests are called, what is installed for them, and their variables."""
    del here
    run = next((run for run in recipe.tests if run.pytest is not None), None)
    notes = [f"{cell.id}: {n.what} at {n.origin} is not taken over: {n.why}" for n in recipe.not_taken]
    if run is None:
        return {}, [f"{cell.id}: no pytest call that could be taken over", *notes]
    options: Options = {"tests.command": (_command(run), run.origin)}
    install, at = recipe.install, recipe.installs[0].origin if recipe.installs else run.origin
    # What cannot be installed as it is written (a word depends on the machine) is left to convention.
    if install.requirements:
        plain = tuple(r for r in install.requirements if not r.startswith(("-e", ".", "/")))
        options["build.packages"] = (plain, at)
    if install.extras and install.extras != ("*",):
        options["build.extras"] = (install.extras, at)
    if install.groups and install.groups != ("*",):
        options["build.groups"] = (install.groups, at)
    if install.requirement_files:
        options["build.requirements"] = (install.requirement_files, at)
    env = {k: v for k, v in run.env.items() if k not in _LEFT_ALONE and v}
    if env:
        options["tests.env"] = (tuple(f"{k}={v}" for k, v in env.items()), run.origin)
    if install.unknown or run.unknown:
        words = ", ".join((*install.unknown, *run.unknown))
        notes.append(f"{cell.id}: {words} depends on what is only known there")
    return {name: value for name, value in options.items() if value[0]}, notes


def _command(run: TestRun) -> tuple[str, ...]:
    """Give the pytest call without what it is pointed at (the selection says that) and what spoils narrowing."""
    assert run.pytest is not None  # noqa: S101 - chosen for it
    call, _ = for_narrowing(run.pytest)
    if call.module:
        return ("python", *call.python_options, "-m", "pytest", *call.options)
    return ("pytest", *call.options)


def _lint(recipe: Recipe, cell: JobCell, here: Here | None) -> tuple[Options, list[str]]:
    """Take over lint commands that are not pre-commit: that one is run on the changed files by itself."""
    del here
    commands = [lint for lint in recipe.lints if lint.literal and lint.tool not in _HOOKS and not lint.cwd]
    if not commands or any(lint.tool in _HOOKS for lint in recipe.lints):
        return {}, []
    scripts = tuple(shlex.join(lint.words) for lint in commands)
    needs = tuple(dict.fromkeys(lint.requirement or lint.tool for lint in commands))
    at = commands[0].origin
    return {"lint.commands": (scripts, at), "lint.packages": (needs, at)}, [
        f"{cell.id}: {n.what} at {n.origin} is not taken over: {n.why}" for n in recipe.not_taken
    ]


_HOOKS: Final = frozenset({"pre-commit", "pre_commit", "prek", "lintrunner"})
_KNOWN: Final = frozenset(Runner)
