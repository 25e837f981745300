"""Takes options of a run from the matching jobs of upstream: below the configuration, which wins, above convention."""

from __future__ import annotations

import re
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
    from presubmit.upstream.recipes.recipe import CommandStep, Recipe, TestRun

Options = dict[str, tuple[Any, str]]
"""Options by name, each with the line that it comes from: `ci.yml:31`."""

# What reports of a whole suite are made with: a narrowed run has no use for them.
_REPORTING: Final = re.compile(r"--(?:cov|benchmark|codspeed|memray|report|html|splits|durations)")
_PARALLEL: Final = frozenset({"-n", "--numprocesses", "--dist", "--maxprocesses"})
# Lint tools that take files, with the arguments that name what upstream points them at left out.
_BY_FILE: Final = frozenset(
    {"ruff", "black", "isort", "flake8", "codespell", "pycodestyle", "pydocstyle", "pyflakes"}
)
_HOOKS: Final = frozenset({"pre-commit", "pre_commit", "prek", "lintrunner"})
_NOT_FOR_TESTS: Final = frozenset(
    {
        "pip",
        "setuptools",
        "wheel",
        "build",
        "twine",
        "tox",
        "nox",
        "uv",
        "pre-commit",
        "hatch",
        "poetry",
        "pdm",
    }
)


class Project(msgspec.Struct, frozen=True, kw_only=True):
    """What the tree under test says of itself, as far as it matters here."""

    read: Callable[[str], str | None]
    name: str
    repository: str
    extras: frozenset[str] | None
    """None where they are not written down (dynamic)."""
    groups: frozenset[str]
    lint_tool: str


class Taken(msgspec.Struct, frozen=True, kw_only=True):
    """What is taken over, from which cells, and what could not be."""

    options: Mapping[str, tuple[Any, str]] = {}
    cells: Mapping[str, str] = {}
    """By role, the cell that its options are of."""
    notes: tuple[str, ...] = ()


def with_upstream(config: Sourced, taken: Taken) -> Sourced:
    """Fill in what the configuration leaves open."""
    named = {name: (value, f"{UPSTREAM}{at}") for name, (value, at) in taken.options.items()}
    return fill_in(config, named)


def take(
    cells: Sequence[JobCell],
    steps: Mapping[str, tuple[StepScript, ...]],
    project: Project,
    *,
    here: Here | None,
) -> Taken:
    """Choose one cell for the tests and one for lint, and take over what they say."""
    options: Options = {}
    notes: list[str] = []
    chosen: dict[str, str] = {}
    for role, gather in (("tests", _tests), ("lint", _lint)):
        for cell in ranked((c for c in cells if c.role == role and steps.get(c.id)), here):
            recipe = recipe_of(
                steps[cell.id],
                file=cell.workflow.rpartition("/")[2],
                read=project.read,
                project=project.name,
                repository=project.repository,
            )
            found, said = gather(recipe, project, here)
            if found:
                options |= {name: both for name, both in found.items() if name not in options}
                chosen[role] = cell.id
                notes += said
                break
    return Taken(options=options, cells=chosen, notes=tuple(dict.fromkeys(notes)))


def ranked(cells: Iterable[JobCell], here: Here | None) -> list[JobCell]:
    """Give the cells that could tell how things are done here, the nearest first: replayed, with this interpreter."""
    version = here.interpreters[0].version if here is not None and here.interpreters else ""
    wanted = ".".join(version.split(".")[:2])
    able = [
        cell
        for cell in cells
        if cell.state in {CellState.REPLAYED, CellState.NOT_REPLAYED, CellState.BLOCKED}
        and not cell.reason.startswith("runs-on")
    ]

    def distance(cell: JobCell) -> tuple[bool, bool]:
        values = [str(value) for value in cell.axes.values()]
        fits = bool(wanted) and any(
            wanted in value or f"py{wanted.replace('.', '')}" in value for value in values
        )
        return (cell.state is not CellState.REPLAYED, not fits)

    return sorted(able, key=distance)


def _tests(recipe: Recipe, project: Project, here: Here | None) -> tuple[Options, list[str]]:
    """Take over how pytest is called, what is installed for it, and its variables."""
    run = next((r for r in recipe.tests if r.pytest is not None and not r.cwd), None)
    if run is None or run.pytest is None or run.pytest.packages:
        return {}, []
    command, dropped = _command(run, recipe, project)
    options: Options = {"tests.command": (command, _origin(run))}
    notes = [f"left out of {_origin(run)}: {' '.join(dropped)}"] if dropped else []
    options |= _installs(recipe, project, _origin(run))
    env = tuple(f"{name}={value}" for name, value in run.env.items() if value)
    if env:
        options["tests.env"] = (env, run.origin)
    python = _interpreter(recipe, here)
    if python:
        options["container.python"] = (python, recipe.python_origin)
    notes += [f"not taken over: {n.what} at {n.origin} ({n.why})" for n in recipe.not_taken]
    return options, notes


def _origin(run: TestRun) -> str:
    return f"{run.origin}, {run.found_in}" if run.found_in else run.origin


def _command(
    run: TestRun, recipe: Recipe, project: Project
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Give the pytest call without what it is pointed at, which the selection says, and what narrowing must not have."""
    assert run.pytest is not None  # noqa: S101 - chosen for it
    call, dropped = for_narrowing(run.pytest)
    kept: list[str] = []
    gone = list(dropped)
    parallel = _has_xdist(recipe, project)
    skip = False
    for option in call.options:
        name = option.partition("=")[0]
        if skip:
            skip = False
            gone.append(option)
        elif _REPORTING.match(option):
            gone.append(option)
        elif (name in _PARALLEL or re.fullmatch(r"-n\w+", option)) and not parallel:
            gone.append(option)
            skip = option in _PARALLEL
        else:
            kept.append(option)
    if call.module and run.runner is not Runner.TOX:
        return ("python", *call.python_options, "-m", "pytest", *kept), tuple(gone)
    return ("pytest", *kept), tuple(gone)


def _has_xdist(recipe: Recipe, project: Project) -> bool:
    """Whether something that is installed for the tests names pytest-xdist."""
    install = recipe.install
    texts = [
        *install.requirements,
        project.read("pyproject.toml") or "",
        project.read("setup.cfg") or "",
    ]
    texts += [project.read(path) or "" for path in install.requirement_files]
    texts += [line for run in recipe.tests if run.tox for line in run.tox.deps]
    return any(re.search(r"pytest[-_]xdist", text) for text in texts)


def _installs(recipe: Recipe, project: Project, at: str) -> Options:
    """Take over what can be installed as it is written: names that the tree does not have are left to convention."""
    install = recipe.install
    at = recipe.installs[0].origin if recipe.installs else at
    tox = next((run.tox for run in recipe.tests if run.tox is not None), None)
    extras = (*install.extras, *(tox.extras if tox else ()))
    groups = (*install.groups, *(tox.groups if tox else ()))
    lines = [*install.requirements, *(tox.deps if tox else ())]
    files = [*install.requirement_files]
    files += [line[2:].strip() for line in lines if line.startswith("-r")]
    known = {
        "build.extras": tuple(e for e in extras if project.extras is None or e in project.extras),
        "build.groups": tuple(g for g in groups if g in project.groups),
        "build.requirements": tuple(f for f in files if project.read(f) is not None),
        "build.packages": tuple(line for line in lines if _is_package(line)),
    }
    return {name: (tuple(dict.fromkeys(v)), at) for name, v in known.items() if v}


def _is_package(line: str) -> bool:
    """Whether a requirement line names a package that tests may need, not a path or a tool that starts them."""
    name = re.match(r"[A-Za-z0-9][A-Za-z0-9._-]*", line)
    if name is None or line.startswith("-") or "/" in line.partition(";")[0]:
        return False
    return name.group().lower().replace("_", "-") not in _NOT_FOR_TESTS


def _interpreter(recipe: Recipe, here: Here | None) -> str:
    """Give the path of the interpreter that the job sets up, where the image has it and it is not the default."""
    if here is None or not recipe.python:
        return ""
    for number, found in enumerate(here.interpreters):
        if found.kind == "cpython" and f"{found.version}.".startswith(f"{recipe.python}."):
            return found.path if number else ""
    return ""


def _lint(recipe: Recipe, project: Project, here: Here | None) -> tuple[Options, list[str]]:
    """Take over lint commands that take files; where the project has hooks, those are run, as by convention."""
    del here
    if project.lint_tool in _HOOKS or any(lint.tool in _HOOKS for lint in recipe.lints):
        return {}, []
    taken = [
        lint for lint in recipe.lints if lint.tool in _BY_FILE and lint.literal and not lint.cwd
    ]
    notes = [
        f"not taken over: {lint.script} at {lint.origin} (it looks at the whole tree: `presubmit replay lint`)"
        for lint in recipe.lints
        if lint not in taken
    ]
    if not taken:
        return {}, notes
    needs = tuple(dict.fromkeys(lint.requirement or lint.tool for lint in taken))
    commands = tuple(dict.fromkeys(_on_files(lint, project) for lint in taken))
    return {
        "lint.commands": (commands, taken[0].origin),
        "lint.packages": (needs, taken[0].origin),
    }, notes


def _on_files(lint: CommandStep, project: Project) -> str:
    """Give the command for the changed files instead of the folders that upstream names."""
    words = [w for w in lint.arguments if not _is_place(w, project)]
    return f"{shlex.join((lint.tool, *words))} {{files}}"


def _is_place(word: str, project: Project) -> bool:
    if word.startswith("-") or word in {"check", "format"}:
        return False
    return (
        word in {".", "./"}
        or "/" in word
        or "*" in word
        or not word.isidentifier()
        or (
            project.read(f"{word}/__init__.py") is not None
            or word in {"src", "tests", "test", "docs", "py"}
        )
    )
