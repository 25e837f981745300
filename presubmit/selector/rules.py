"""What a changed path means for the tests when its kind, and not its imports, decides: first match wins."""

from __future__ import annotations

import fnmatch
import posixpath
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final, Protocol

from presubmit.selector import patterns
from presubmit.selector.layout import in_test_folder, is_python, is_test, matches_glob
from presubmit.values import Value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from presubmit.selector.imports import Imports
    from presubmit.selector.layout import Layout
    from presubmit.selector.native.values import NativeReach


class Reach(StrEnum):
    """How far a changed path reaches."""

    ALL = "all"
    """Every test."""
    GRAPH = "graph"
    """The tests that depend on it; no such test is a thing that presubmit is unsure about."""
    MENTIONS = "mentions"
    """The tests that name it, which may be none."""
    DATA = "data"
    """The tests that may read it: that name it, else those of its package or folder, else all."""
    TESTS = "tests"
    """The tests that the configuration names for it."""
    NONE = "none"
    """No test."""


class Effect(Value, frozen=True):
    """What one rule says of one path."""

    reach: Reach
    text: str
    unsure: bool = False
    tests: str = ""
    """A pattern of test files, for `Reach.TESTS`."""


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """What a rule may look at besides the path."""

    layout: Layout
    imports: Mapping[str, Imports]
    base_imports: Mapping[str, Imports]
    links: frozenset[str]
    submodules: frozenset[str]
    untracked: frozenset[str] = frozenset()
    """Files of the tree under test that git does not track."""
    modes: frozenset[str] = frozenset()
    """Files of which the mode or the type changed."""
    quiet: frozenset[str] = frozenset()
    """Python files of which only comments, layout or docstrings changed."""
    fixtures: frozenset[str] = frozenset()
    """conftest.py files of which only bodies of fixtures and helpers changed."""
    compiled: Mapping[str, NativeReach] = field(default_factory=dict)
    """What changed native files can touch."""
    configured: Mapping[str, str] = field(default_factory=dict)
    """The user's own rules: pattern -> `none`, `all` or a pattern of test files."""


class Rule(Protocol):
    """Says what a changed path means, or None where the rule does not apply."""

    def __call__(self, path: str, around: Surroundings, /) -> Effect | None:
        """Judge one path."""


def configured(path: str, around: Surroundings) -> Effect | None:
    """Match a rule of the user's own."""
    for pattern, said in around.configured.items():
        if not matches_glob(path, pattern):
            continue
        text = f"{path}: tests.rules says `{pattern}` = `{said}`"
        if said == "none":
            return Effect(reach=Reach.NONE, text=text)
        if said == "all":
            return Effect(reach=Reach.ALL, text=text)
        if any(matches_glob(test, said) for test in around.layout.tests):
            return Effect(reach=Reach.TESTS, text=text, tests=said)
        return Effect(reach=Reach.ALL, text=f"{text}, which is no test", unsure=True)
    return None


def submodule(path: str, around: Surroundings) -> Effect | None:
    """Match a submodule's pointer, or a path inside one."""
    if any(path == it or path.startswith(f"{it}/") for it in around.submodules):
        return Effect(reach=Reach.ALL, text=f"{path}: submodule")
    return None


def symlink(path: str, around: Surroundings) -> Effect | None:
    """Match a symbolic link: what it stands for cannot be told from its name."""
    if path in around.links:
        return Effect(reach=Reach.ALL, text=f"{path}: symbolic link")
    return None


def mode(path: str, around: Surroundings) -> Effect | None:
    """Match a file that became executable, a link, or the reverse."""
    if path in around.modes:
        return Effect(reach=Reach.ALL, text=f"{path}: its mode changed")
    return None


def quiet(path: str, around: Surroundings) -> Effect | None:
    """Match a Python file that runs as before."""
    if path in around.quiet:
        text = f"{path}: only comments, layout or docstrings changed"
        return Effect(reach=Reach.NONE, text=text)
    return None


def editor(path: str, around: Surroundings) -> Effect | None:
    """Match presubmit's own configuration and editors' files."""
    del around
    if _named(path, patterns.EDITOR_NAMES) or _inside(path, patterns.EDITOR_FOLDERS):
        return Effect(reach=Reach.MENTIONS, text=f"{path}: presubmit's or an editor's file")
    return None


def lint_config(path: str, around: Surroundings) -> Effect | None:
    """Match configuration that linters alone read."""
    del around
    if _named(path, patterns.LINT_NAMES) and not in_test_folder(path):
        return Effect(reach=Reach.MENTIONS, text=f"{path}: configuration of a linter")
    return None


def root_conftest(path: str, around: Surroundings) -> Effect | None:
    """Match a conftest.py at the root, or one whose hooks act on the whole session."""
    if posixpath.basename(path) != "conftest.py" or path in around.fixtures:
        return None
    if path == "conftest.py":
        return Effect(reach=Reach.ALL, text="conftest.py: applies to every test")
    values = (around.imports.get(path), around.base_imports.get(path))
    defined = {hook for value in values if value is not None for hook in value.hooks}
    if hooks := sorted(patterns.GLOBAL_HOOKS & defined):
        return Effect(reach=Reach.ALL, text=f"{path}: {hooks[0]} acts on the whole session")
    return None


def build_config(path: str, around: Surroundings) -> Effect | None:
    """Match files that say how the project is built, installed or tested."""
    if _in_docs(path, around):
        return None
    if _named(path, patterns.BUILD_NAMES) or _inside(path, patterns.BUILD_FOLDERS):
        if is_python(path) and (is_test(path, around.layout.settings) or "/" in path):
            return None
        return Effect(reach=Reach.ALL, text=f"{path}: build or test configuration")
    return None


def python(path: str, around: Surroundings) -> Effect | None:
    """Match Python sources and every other file that pytest collects."""
    if is_python(path):
        if _in_docs(path, around) and not is_test(path, around.layout.settings):
            return Effect(reach=Reach.MENTIONS, text=f"{path}: documentation")
        return Effect(reach=Reach.GRAPH, text=f"{path}: Python")
    if is_test(path, around.layout.settings):
        return Effect(reach=Reach.GRAPH, text=f"{path}: collected by pytest")
    return None


def stub(path: str, around: Surroundings) -> Effect | None:
    """Match type stubs: only tests that run a type checker see them."""
    if not path.endswith((".pyi", "/py.typed")):
        return None
    if checker := _type_checker(around):
        return Effect(reach=Reach.ALL, text=f"{path}: {checker} checks types", unsure=True)
    return Effect(reach=Reach.MENTIONS, text=f"{path}: type stub")


def native(path: str, around: Surroundings) -> Effect | None:
    """Match sources of extension modules and templates that a build turns into code."""
    reach = around.compiled.get(path)
    if reach is not None and not reach.unsure and not _in_docs(path, around):
        if reach.quiet:
            return Effect(reach=Reach.NONE, text=f"{path}: only comments or layout changed")
        return Effect(reach=Reach.GRAPH, text=f"{path}: built into {', '.join(reach.modules[:3])}")
    if posixpath.splitext(path)[1].lower() in patterns.NATIVE and not _in_docs(path, around):
        why = f" ({reach.unsure})" if reach is not None else ""
        return Effect(reach=Reach.ALL, text=f"native file: {path}{why}", unsure=True)
    return None


def document(path: str, around: Surroundings) -> Effect | None:
    """Match prose: it concerns a test only where one reads it."""
    stem = posixpath.basename(path).split(".")[0].upper()
    prose = stem in patterns.DOCUMENT_STEMS or stem.startswith(("LICENSE-", "LICENSE_"))
    if not prose and _named(path, patterns.DOCUMENT_NAMES):
        prose = not in_test_folder(path) and posixpath.dirname(path) not in around.layout.packages
    if not (prose or _in_docs(path, around)):
        return None
    if collector := _document_collector(around):
        return Effect(reach=Reach.ALL, text=f"{path}: {collector} may collect it", unsure=True)
    return Effect(reach=Reach.MENTIONS, text=f"{path}: documentation")


def scratch(path: str, around: Surroundings) -> Effect | None:
    """Match notes, logs and patches that lie untracked at the top level, where no code looks for them."""
    if path in around.untracked and "/" not in path and _named(path, patterns.SCRATCH_NAMES):
        return Effect(reach=Reach.MENTIONS, text=f"{path}: untracked notes")
    return None


def data(path: str, around: Surroundings) -> Effect | None:
    """Match data and templates, and prose that lies among code or tests."""
    suffix = posixpath.splitext(path)[1].lower()
    placed = in_test_folder(path) or posixpath.dirname(path) in around.layout.packages
    if suffix in patterns.DATA or (placed and suffix in patterns.PROSE):
        return Effect(reach=Reach.DATA, text=f"{path}: data")
    return None


def unknown(path: str, around: Surroundings) -> Effect | None:
    """Match whatever is left: files of kinds that presubmit does not know."""
    del around
    return Effect(reach=Reach.ALL, text=f"{path}: unknown kind of file", unsure=True)


RULES: Final[Mapping[str, Rule]] = {
    "configured": configured,
    "submodule": submodule,
    "symlink": symlink,
    "mode": mode,
    "quiet": quiet,
    "editor": editor,
    "lint-config": lint_config,
    "conftest": root_conftest,
    "build-config": build_config,
    "python": python,
    "stub": stub,
    "native": native,
    "document": document,
    "scratch": scratch,
    "data": data,
    "unknown": unknown,
}
"""The rules in the order in which they are asked; a new one is a function above and a line here."""


def judge_path(path: str, around: Surroundings) -> tuple[str, Effect]:
    """Ask the rules for one path; gives the name of the rule that matched, and what it says."""
    for name, rule in RULES.items():
        if (effect := rule(path, around)) is not None:
            return name, effect
    raise AssertionError(path)  # `unknown` matches everything


def _named(path: str, patterns: tuple[str, ...]) -> bool:
    name = posixpath.basename(path)
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def _inside(path: str, folders: tuple[str, ...]) -> bool:
    return path.startswith(folders)


def _in_docs(path: str, around: Surroundings) -> bool:
    top = path.partition("/")[0]
    if path.startswith((*patterns.BUILD_FOLDERS, ".github/workflows")):
        return False
    return _inside(path, patterns.DOCUMENT_FOLDERS) and top not in around.layout.packages


def _document_collector(around: Surroundings) -> str:
    """Name what may collect tests out of documents: a plugin's option, or a conftest's hook."""
    if around.layout.settings.foreign:
        return around.layout.settings.foreign[0]
    for conftest in around.layout.conftests:
        value = around.imports.get(conftest)
        if value is None:
            continue
        if patterns.FILE_COLLECTORS.intersection(value.hooks):
            return conftest
        if any(name.partition(".")[0] == "sybil" for name in value.names):
            return conftest
    return ""


def _type_checker(around: Surroundings) -> str:
    """Name a test that runs a type checker."""
    if around.layout.type_tests:
        return around.layout.type_tests[0]
    for path in (*around.layout.tests, *around.layout.conftests):
        value = around.imports.get(path)
        if value is not None and not patterns.TYPE_CHECKERS.isdisjoint(
            (*value.words, *(name.partition(".")[0] for name in value.names))
        ):
            return path
    return ""
