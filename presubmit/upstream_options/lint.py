"""How upstream lints: the commands that can be given single files, and the names of the others.

A tool that is given a file by name looks at it even where its settings leave it out; each tool is told not to, or is
not taken. (Sources: the command-line references of ruff, black, isort, flake8, pycodestyle and codespell.)
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Final, NamedTuple

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from presubmit.upstream.recipes.tables import read_toml, table
from presubmit.upstream_options.tests import Found

if TYPE_CHECKING:
    from collections.abc import Sequence

    from presubmit.upstream.recipes.recipe import CommandStep, Recipe
    from presubmit.upstream_options.taken import Options, Project


class _Tool(NamedTuple):
    """A lint tool that takes files."""

    valued: frozenset[str]
    """Options whose value is the next word."""
    files: tuple[str, ...] = ("*.py", "*.pyi")
    """What it looks for in a folder."""
    only_checks: re.Pattern[str] | None = None
    """What one of its words must be, or it changes files."""
    never: re.Pattern[str] | None = None
    """What none of its words may be."""
    adds: tuple[str, ...] = ()
    """With this it honours its own exclusions for files that are named."""
    plugins: str = ""
    """What the names of its plugins' distributions begin with."""


_TOOLS: Final = {
    "ruff": _Tool(
        frozenset({
            *("--select", "--ignore", "--extend-select", "--extend-ignore", "--per-file-ignores", "--fixable"),
            *("--extend-per-file-ignores", "--unfixable", "--extend-fixable", "--config", "--target-version"),
            *("--line-length", "--output-format", "--format", "--exclude", "--extend-exclude", "--cache-dir"),
            *("--extension", "-o", "--output-file", "--color", "--range", "--stdin-filename"),
        }),
        never=re.compile(r"--fix(?:-only)?|--unsafe-fixes|--add-noqa|-w|--watch|--statistics|--exit-zero|-e"),
        adds=("--force-exclude",),
    ),
    "black": _Tool(
        frozenset({
            *("-l", "--line-length", "-t", "--target-version", "--include", "--exclude", "--extend-exclude"),
            *("--force-exclude", "--config", "-W", "--workers", "--required-version", "--enable-unstable-feature"),
        }),
        only_checks=re.compile(r"--check|--diff"),
        never=re.compile(r"(?:--exclude|--extend-exclude|--include|-c|--code)(?:=.*)?"),
    ),
    "isort": _Tool(
        frozenset({
            *("-l", "--line-length", "-w", "--line-width", "--profile", "-p", "--project", "-o", "--thirdparty", "-m", "--multi-line"),
            *("--src", "--src-path", "-s", "--skip", "--sg", "--skip-glob", "--sp", "--settings-path", "--settings-file", "-j", "--jobs"),
            *("--py", "--python-version", "--extend-skip", "--extend-skip-glob", "-a", "--add-import", "-b", "--builtin"),
        }),
        only_checks=re.compile(r"-c|--check(?:-only)?|--diff|--df"),
        adds=("--filter-files",),
    ),
    "flake8": _Tool(
        frozenset({
            *("--max-line-length", "--max-doc-length", "--max-complexity", "--select", "--ignore", "--extend-ignore"),
            *("--extend-select", "--exclude", "--extend-exclude", "--filename", "--format", "--config", "--append-config"),
            *("--per-file-ignores", "-j", "--jobs", "--output-file", "--indent-size", "--builtins", "--color", "--enable-extensions"),
        }),
        files=("*.py",),
        never=re.compile(r"--exit-zero|--filename(?:=.*)?|--bug-report"),
        plugins="flake8-",
    ),
    "pycodestyle": _Tool(
        frozenset({
            *("--exclude", "--filename", "--select", "--ignore", "--max-line-length", "--max-doc-length"),
            *("--indent-size", "--hang-closing", "--format", "--config"),
        }),
        files=("*.py",),
        never=re.compile(r"--filename(?:=.*)?|--benchmark|--statistics"),
    ),
    "pyflakes": _Tool(frozenset(), files=("*.py",)),
    "codespell": _Tool(
        frozenset({
            *("-D", "--dictionary", "--builtin", "-I", "--ignore-words", "-L", "--ignore-words-list", "-S", "--skip"),
            *("-x", "--exclude-file", "-i", "--interactive", "-q", "--quiet-level", "-A", "--after-context"),
            *("-B", "--before-context", "-C", "--context", "--uri-ignore-words-list", "--ignore-regex", "--config", "--toml"),
            *("-r", "--regex", "--uri-regex", "--ignore-multiline-regex"),
        }),
        files=("*",),
        never=re.compile(r"-w|--write-changes|-i\d?|--interactive"),
    ),
}  # fmt: skip
_HOOKS: Final = frozenset({"pre-commit", "pre_commit", "prek", "lintrunner"})
_RUFF_COMMANDS: Final = frozenset({"check", "format"})
_TELLS_ONLY: Final = re.compile(r"--version|-V|--help|-h")
_ODD_NAME: Final = re.compile(r"[^\w./*-]")


def take_lints(recipes: Sequence[Recipe], project: Project) -> Found:
    """Take over the lint commands that take files, of several jobs; where the project has hooks, those do it."""
    lints = [lint for recipe in recipes for lint in recipe.lints]
    hooks = project.has_hooks or any(lint.tool in _HOOKS for lint in lints)
    commands: dict[str, str] = {}
    packages: dict[str, str] = {}
    besides: dict[str, None] = {}
    for lint in lints:
        if lint.tool in _HOOKS or any(_TELLS_ONLY.fullmatch(word) for word in lint.arguments):
            continue
        command = "" if hooks else _on_files(lint, project)
        if command:
            commands.setdefault(command, lint.origin)
            for requirement in _requirements(lint, recipes):
                packages.setdefault(requirement, lint.origin)
        elif not (hooks and lint.tool in _TOOLS):
            what = " ".join((lint.script or shlex.join(lint.words)).split())
            besides[f"{what} ({lint.origin})"] = None
    options: Options = {}
    if commands:
        options = {
            "lint.commands": (tuple(commands), tuple(commands.values())),
            "lint.packages": (tuple(packages), tuple(packages.values())),
        }
    return Found(options=options, besides=tuple(besides))


def _on_files(lint: CommandStep, project: Project) -> str:
    """Give the command for those changed files that upstream's would look at; empty where it cannot be given files."""
    tool = _TOOLS.get(lint.tool)
    if (
        tool is None
        or lint.cwd
        or not lint.literal
        or (lint.tool == "black" and _excludes(project))
    ):
        return ""
    words = list(lint.arguments)
    subcommand: list[str] = []
    if lint.tool == "ruff":
        given = next((w for w in words if not w.startswith("-")), "")
        subcommand = [given if given in _RUFF_COMMANDS else "check"]
        if given in _RUFF_COMMANDS:
            words.remove(given)
    only = re.compile(r"--check|--diff") if subcommand == ["format"] else tool.only_checks
    if (only and not any(only.fullmatch(w) for w in words)) or any(
        tool.never.fullmatch(w) for w in words if tool.never
    ):
        return ""
    options, places = _apart(words, tool.valued)
    if any(_ODD_NAME.search(place) or place.startswith(("/", "..")) for place in places):
        return ""
    options += [text for text in tool.adds if text not in options]
    patterns = [p for place in places or ["."] for p in _patterns(place, tool, project)]
    return f"{shlex.join((lint.tool, *subcommand, *options))} {{files:{' '.join(patterns)}}}"


def _apart(words: Sequence[str], valued: frozenset[str]) -> tuple[list[str], list[str]]:
    """Tell options with their values from the places that the tool is pointed at."""
    options: list[str] = []
    places: list[str] = []
    waiting = only_places = False
    for word in words:
        if waiting or (word.startswith("-") and word != "-" and not only_places):
            only_places = only_places or (word == "--" and not waiting)
            if word != "--" or waiting:
                options.append(word)
            waiting = not waiting and word in valued
        else:
            places.append(word)
    return options, places


def _patterns(place: str, tool: _Tool, project: Project) -> list[str]:
    """Give the patterns of the files that the tool would find at a place."""
    bare = place.removeprefix("./").rstrip("/")
    if bare in {"", "."}:
        return [*tool.files]
    if "*" in bare or bare.endswith((".py", ".pyi")) or project.read(bare) is not None:
        return [bare]
    return [f"{bare}/{pattern}" for pattern in tool.files]


def _excludes(project: Project) -> bool:
    """Whether black's settings leave files out, which it does not heed for a file that is named."""
    settings = table(read_toml(project.read("pyproject.toml")), "tool", "black")
    return bool({"exclude", "extend-exclude", "include"} & set(settings))


def _requirements(lint: CommandStep, recipes: Sequence[Recipe]) -> list[str]:
    """Give the tool as the job pins it, with its plugins; only what the package index has.

    Tools are installed where the credentials of a private index are: code of the change must not come with them.
    """
    found = [lint.requirement if _plain(lint.requirement) == lint.tool else lint.tool]
    prefix = _TOOLS[lint.tool].plugins
    own = [recipe for recipe in recipes if lint in recipe.lints]
    for line in (line for recipe in own for line in recipe.install.requirements):
        name = _plain(line)
        if prefix and (name.startswith(prefix) or name == "pep8-naming"):
            found.append(line)
    return found


def _plain(line: str) -> str:
    """Give the name of a requirement that the index has; empty for any other."""
    try:
        requirement = Requirement(line)
    except InvalidRequirement:
        return ""
    return "" if requirement.url else canonicalize_name(requirement.name)
