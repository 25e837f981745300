"""How upstream runs the tests: the call of pytest or of another runner, what is installed for it, and its variables."""

from __future__ import annotations

import itertools
import shlex
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

import msgspec
from packaging.utils import canonicalize_name

from presubmit.runners import runner_of
from presubmit.upstream.recipes.narrowing import for_narrowing
from presubmit.upstream.recipes.recipe import Runner
from presubmit.upstream_options import variables
from presubmit.upstream_options.installs import take_installs
from presubmit.upstream_options.pytest_options import (
    keep_options,
    keep_python_options,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from presubmit.upstream.recipes.pytest_call import PytestCall
    from presubmit.upstream.recipes.recipe import Recipe, TestRun
    from presubmit.upstream_options.taken import Options, Project


# With these pytest runs no test.
_TELLS_ONLY: Final = (
    *("--version", "-V", "--help", "-h", "--markers", "--fixtures", "--funcargs", "--collect-only"),
    *("--co", "--setup-plan", "--cache-show"),
)  # fmt: skip


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """What one job gives."""

    options: Options = {}
    besides: tuple[str, ...] = ()
    """What it runs as well, and a run does not."""
    notes: tuple[str, ...] = ()


def take_tests(recipe: Recipe, scripts: Iterable[str], project: Project) -> Found:
    """Take over the first pytest call on the tree itself, else that of another runner; the job's others are named.

    `scripts` are those of the job's steps.
    """
    runs = [run for run in recipe.tests if run.pytest is None or not run.pytest.has(*_TELLS_ONLY)]
    usable = [run for run in runs if not _why_not(run)]
    chosen = next((run for run in usable if run.pytest is not None), next(iter(usable), None))
    others = [run for run in runs if run is not chosen]
    besides = tuple(dict.fromkeys(_named(run, chosen) for run in others if _differs(run, chosen)))
    refused = [f"not taken over: {n.what} at {n.origin} ({n.why})" for n in recipe.not_taken]
    if chosen is None:
        return Found(besides=besides, notes=tuple(refused))
    recipe = _until(recipe, chosen)
    env = _reaching(chosen)
    options, notes = take_installs(recipe, project)
    if chosen.pytest is None:
        command, dropped = _program(chosen.program)
    else:
        call = _with_addopts(chosen.pytest, env.pop("PYTEST_ADDOPTS", ""))
        command, dropped = _command(call, project, options)
    at = _origin(chosen)
    options["tests.command"] = command, at
    texts = tuple(scripts)
    kept, left = variables.for_tests(env, texts)
    if kept:
        options["tests.env"] = tuple(f"{n}={v}" for n, v in kept.items()), chosen.origin
    notes += _said(dropped, at) + _said(left, chosen.origin)
    notes += _build_variables(recipe, texts, options, known=left)
    _generate(recipe, project, options)
    notes += [f"not known at {chosen.origin}: {text}" for text in chosen.unknown]
    return Found(options=options, besides=besides, notes=(*notes, *refused))


def _until(recipe: Recipe, run: TestRun) -> Recipe:
    """Leave out what is installed and built after a run: for another one."""
    last = _line(run.origin)
    installs = tuple(step for step in recipe.installs if _line(step.origin) <= last)
    builds = tuple(step for step in recipe.builds if _line(step.origin) <= last)
    return msgspec.structs.replace(recipe, installs=installs, builds=builds)


def _line(origin: str) -> int:
    line = origin.rpartition(":")[2]
    return int(line) if line.isdigit() else 0


def _why_not(run: TestRun) -> str:
    """Say why a run of upstream's is not one that the chosen tests can be run by."""
    if run.pytest is None and not run.program:
        return "its call of the tests is not known"
    if run.cwd:
        return f"it runs in {run.cwd}"
    if run.pytest is not None and run.pytest.packages:
        return f"it tests the installed {', '.join(run.pytest.packages)}"
    return ""


def _named(run: TestRun, chosen: TestRun | None) -> str:
    """Name a run by its command, with the variables that the chosen one does not have, and its line."""
    known = chosen.env if chosen is not None else run.env
    own = [f"{name}={value}" for name, value in run.env.items() if known.get(name) != value]
    why = _why_not(run)
    return f"{shlex.join((*own, *run.command))} ({run.origin}{f': {why}' if why and (run.pytest or run.program) else ''})"


def _differs(run: TestRun, chosen: TestRun | None) -> bool:
    """Whether it would tell anything that the chosen call does not."""
    if chosen is None or not (run.pytest or run.program):
        return True
    return any(
        getattr(run, name) != getattr(chosen, name) for name in ("pytest", "program", "env", "cwd")
    )


def _origin(run: TestRun) -> str:
    return f"{run.origin}, {run.found_in}" if run.found_in else run.origin


def _reaching(run: TestRun) -> dict[str, str]:
    """Give the variables that reach pytest: tox lets only those through that it is told of."""
    if run.tox is None:
        return dict(run.env)
    own = {name for name, _ in run.tox.env}
    return {
        name: value
        for name, value in run.env.items()
        if name in own or any(fnmatchcase(name, pattern) for pattern in run.tox.pass_env)
    }


def _with_addopts(call: PytestCall, given: str) -> PytestCall:
    """Put the options of PYTEST_ADDOPTS where the call's own are: pytest reads them first."""
    try:
        words = shlex.split(given)
    except ValueError:
        return call
    return msgspec.structs.replace(call, options=(*words, *call.options))


def _command(
    call: PytestCall, project: Project, options: Options
) -> tuple[tuple[str, ...], dict[str, str]]:
    """Give the call without what it is pointed at, which the selection says, and without what cannot be kept."""
    narrowed, spoiling = for_narrowing(call)
    names = project.installs(options) or frozenset()
    kept, dropped = keep_options(
        narrowed.options,
        installed=lambda name: canonicalize_name(name) in names,
        in_tree=lambda path: project.read(path) is not None,
    )
    flags, isolating = keep_python_options(call.python_options)
    left = {**dict.fromkeys(spoiling, "not for a narrowed run"), **dropped, **isolating}
    started = ("python", *flags, "-m", "pytest") if call.module else ("pytest",)
    return (*started, *kept), left


def _program(program: tuple[str, ...]) -> tuple[tuple[str, ...], dict[str, str]]:
    """Give the call of another runner than pytest, without what ends it early or hides ours."""
    kept = runner_of(program).plain(program)
    _, isolating = keep_python_options(itertools.takewhile(_is_option, kept[1:]))
    left = {word: "not for a narrowed run" for word in program if word not in kept}
    return tuple(word for word in kept if word not in isolating), {**left, **isolating}


def _is_option(word: str) -> bool:
    return word.startswith("-") and word != "-m"


def _said(left: Mapping[str, str], at: str) -> list[str]:
    """Say in one line for each reason what was left out."""
    by_reason: dict[str, list[str]] = {}
    for what, why in left.items():
        by_reason.setdefault(why, []).append(what)
    return [f"left out of {at}: {' '.join(what)} ({why})" for why, what in by_reason.items()]


def _build_variables(
    recipe: Recipe, scripts: tuple[str, ...], options: Options, *, known: Mapping[str, str]
) -> list[str]:
    """Take over the variables with which the project itself is installed; gives what is to be said of the others."""
    step = next((s for s in reversed(recipe.installs) if s.install.project), None)
    if step is None:
        return []
    env = step.env
    if step.tool == Runner.TOX:
        env = next((_reaching(run) for run in recipe.tests if run.origin == step.origin), {})
    kept, left = variables.for_build(env, scripts)
    if kept:
        options["build.env"] = (
            tuple(f"{name}={value}" for name, value in kept.items()),
            step.origin,
        )
    return _said({name: why for name, why in left.items() if name not in known}, step.origin)


def _generate(recipe: Recipe, project: Project, options: Options) -> None:
    """Take over the calls of Cython before the build: without what they generate, nothing can be compiled."""
    calls = [s for s in recipe.builds if s.tool == "cython" and s.literal and not s.cwd]
    there = "cython" in (project.installs(options) or ())
    if calls and (there or "cython" in (project.read("pyproject.toml") or "").lower()):
        first = calls[0]
        at = f"{first.origin}, {first.found_in}" if first.found_in else first.origin
        options["build.before"] = " && ".join(call.script for call in calls), at
