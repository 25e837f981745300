"""What upstream installs for the tests, as options of a build: only what the tree has, or the package index."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from presubmit.upstream.recipes.installs import Install
    from presubmit.upstream.recipes.recipe import Recipe
    from presubmit.upstream_options.taken import Options, Origin, Project

# What installs, builds or starts things upstream, and is presubmit's own business here.
_TOOLS: Final = frozenset(
    {
        *("pip", "setuptools", "wheel", "build", "twine", "tox", "tox-uv", "tox-gh", "tox-gh-actions"),
        *("nox", "uv", "pre-commit", "prek", "hatch", "poetry", "pdm", "pipx", "virtualenv", "cibuildwheel"),
        *("codecov", "coveralls", "check-manifest", "check-wheel-contents", "delocate", "auditwheel", "delvewheel"),
    }
)  # fmt: skip


def take_installs(recipe: Recipe, project: Project) -> tuple[Options, list[str]]:
    """Give the options of `build` that upstream's installs stand for, and what is left to convention, with the reason."""
    gathered: dict[str, list[tuple[str, str]]] = {}
    notes: list[str] = []
    for step in recipe.installs:
        for option, value, why in _sorted_out(step.install, project):
            if not why:
                gathered.setdefault(option, []).append((value, step.origin))
            elif why != _OURS:
                notes.append(f"not installed: {value} of {step.origin} ({why})")
    options: Options = {}
    for option, pairs in gathered.items():
        first = dict(reversed(pairs))  # what comes twice is of the first line
        values = tuple(dict.fromkeys(value for value, _ in pairs))
        options[option] = values, tuple(first[value] for value in values)
    return _plannable(options, project, notes), notes


def _plannable(options: Options, project: Project, notes: list[str]) -> Options:
    """Leave out the options with which no build can be planned: a file that names another one which is not there."""
    if not options or project.installs(options) is not None:
        return options
    kept: Options = {}
    for name, both in options.items():
        if project.installs({**kept, name: both}) is not None:
            kept[name] = both
        else:
            notes.append(
                f"not installed: {', '.join(both[0])} of {_first(both[1])} (not complete)"
            )
    return kept


def _first(at: Origin) -> str:
    return at if isinstance(at, str) else at[0]


_OURS: Final = "presubmit's own business"


def _sorted_out(install: Install, project: Project) -> Iterator[tuple[str, str, str]]:
    """Give (option, value, why it is not taken) for everything in an install."""
    extras = project.extras
    for extra in install.extras:
        known = extras is None or canonicalize_name(extra) in {
            canonicalize_name(e) for e in extras
        }
        yield "build.extras", extra, "" if known else "the tree has no such extra"
    groups = {canonicalize_name(group) for group in project.groups}
    for group in install.groups:
        known = canonicalize_name(group) in groups
        yield "build.groups", group, "" if known else "the tree has no such group"
    yield from _files("build.requirements", install.requirement_files, project.read)
    yield from _files("build.constraints", install.constraint_files, project.read)
    for line in install.requirements:
        yield "build.packages", line, _why_no_package(line)


def _files(
    option: str, paths: Sequence[str], read: Callable[[str], str | None]
) -> Iterator[tuple[str, str, str]]:
    for path in paths:
        yield option, path, "" if read(path) is not None else "the tree has no such file"


def _why_no_package(line: str) -> str:
    """Say why a requirement line is not one that the index could give to the tests."""
    try:
        requirement = Requirement(line)
    except InvalidRequirement:
        return "not from the package index"
    if requirement.url or re.search(r"://|[{}$]", line):
        return "not from the package index"
    return _OURS if canonicalize_name(requirement.name) in _TOOLS else ""
