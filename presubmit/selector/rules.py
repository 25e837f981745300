"""What a changed path means for the tests when its kind, and not its imports, decides: first match wins."""

from __future__ import annotations

import fnmatch
import posixpath
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final, Protocol

from presubmit.selector.layout import in_test_folder, is_python, is_test
from presubmit.values import Value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from presubmit.selector.imports import Imports
    from presubmit.selector.layout import Layout


class Reach(StrEnum):
    """How far a changed path reaches."""

    ALL = "all"
    """Every test."""
    GRAPH = "graph"
    """The tests that depend on it; no such test is a thing that presubmit is unsure about."""
    MENTIONS = "mentions"
    """The tests that name it, which may be none."""


class Effect(Value, frozen=True):
    """What one rule says of one path."""

    reach: Reach
    text: str
    unsure: bool = False


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


class Rule(Protocol):
    """Says what a changed path means, or None where the rule does not apply."""

    def __call__(self, path: str, around: Surroundings, /) -> Effect | None:
        """Judge one path."""


_BUILD_NAMES: Final = (
    "pyproject.toml",
    "setup.py",
    "setup.cfg",
    "meson.build",
    "meson.options",
    "meson_options.txt",
    "CMakeLists.txt",
    "CMakePresets.json",
    "MANIFEST.in",
    "requirements*.txt",
    "requirements*.in",
    "constraints*.txt",
    "*requirements.txt",
    "environment*.yml",
    "environment*.yaml",
    "*.lock",
    "pylock*.toml",
    "package-lock.json",
    "Pipfile",
    "tox.ini",
    "tox.toml",
    "pytest.ini",
    ".pytest.ini",
    "pytest.toml",
    ".pytest.toml",
    ".coveragerc",
    "noxfile.py",
    "tasks.py",
    "dodo.py",
    "versioneer.py",
    "hatch_build.py",
    "build.py",
    "Makefile",
    "GNUmakefile",
    "makefile",
    "*.mk",
    "*.cmake",
    "BUILD",
    "BUILD.bazel",
    "WORKSPACE",
    "*.bzl",
    "Cargo.toml",
    "Dockerfile*",
    "*.dockerfile",
    "Containerfile*",
    "docker-compose*",
    "compose.y*ml",
    ".dockerignore",
    ".gitmodules",
    ".gitattributes",
    ".python-version*",
    "runtime.txt",
    "*.pth",
    "sitecustomize.py",
    "azure-pipelines*.yml",
    ".gitlab-ci.yml",
    ".travis.yml",
    "appveyor.yml",
    ".appveyor.yml",
    ".cirrus.yml",
    "Jenkinsfile",
)
_BUILD_FOLDERS: Final = (
    ".github/workflows/",
    ".github/actions/",
    ".github/scripts/",
    ".circleci/",
    ".devcontainer/",
    ".ci/",
    "requirements/",
    "cmake/",
)
_EDITOR_NAMES: Final = (
    "presubmit.toml",
    ".editorconfig",
    "*.swp",
    "*~",
    ".DS_Store",
    "*.code-workspace",
    ".git-blame-ignore-revs",
    ".gitignore",
    ".mailmap",
    ".gitkeep",
)
_EDITOR_FOLDERS: Final = (".presubmit/", ".vscode/", ".idea/", ".vim/", ".zed/", ".claude/")
_LINT_NAMES: Final = (
    ".pre-commit-config.yaml",
    ".pre-commit-hooks.yaml",
    ".flake8",
    "ruff.toml",
    ".ruff.toml",
    ".pylintrc",
    "pylintrc",
    "mypy.ini",
    ".mypy.ini",
    "pyrightconfig.json",
    ".isort.cfg",
    ".codespellrc",
    ".codespell*",
    ".clang-format",
    ".clang-tidy",
    ".cmake-format*",
    ".markdownlint*",
    ".yamllint*",
    ".typos.toml",
    "typos.toml",
    "_typos.toml",
    ".lintrunner.toml",
    ".prettierrc*",
    ".prettierignore",
    ".bandit",
    ".pydocstyle*",
    ".shellcheckrc",
    "zizmor.yml",
)
_DOCUMENT_STEMS: Final = (
    "README",
    "LICENSE",
    "LICENCE",
    "COPYING",
    "COPYRIGHT",
    "NOTICE",
    "CHANGELOG",
    "CHANGES",
    "HISTORY",
    "NEWS",
    "RELEASE",
    "RELEASING",
    "RELEASENOTES",
    "AUTHORS",
    "CONTRIBUTORS",
    "CONTRIBUTING",
    "MAINTAINERS",
    "CODE_OF_CONDUCT",
    "CODEOWNERS",
    "SECURITY",
    "SUPPORT",
    "GOVERNANCE",
    "CITATION",
    "TODO",
)
_SCRATCH_NAMES: Final = (
    "*.txt",
    "*.log",
    "*.out",
    "*.patch",
    "*.diff",
    "*.orig",
    "*.rej",
    "*.bak",
    "*.swp",
    "*~",
)
_DOCUMENT_NAMES: Final = (
    "*.md",
    "*.rst",
    "*.adoc",
    ".readthedocs.y*ml",
    "readthedocs.yml",
    "mkdocs.yml",
    "mkdocs.yaml",
    "codecov.yml",
    ".codecov.yml",
    "zensical.toml",
    ".all-contributorsrc",
    ".zenodo.json",
    "PKG-INFO",
)
_DOCUMENT_FOLDERS: Final = (
    "docs/",
    "doc/",
    "Documentation/",
    ".github/",
    "changelog.d/",
    "changelog/",
    "changes/",
    "newsfragments/",
    "news/",
    "LICENSES/",
)
_NATIVE: Final = frozenset(
    [
        ".c",
        ".cc",
        ".cpp",
        ".cxx",
        ".c++",
        ".cu",
        ".cuh",
        ".h",
        ".hh",
        ".hpp",
        ".hxx",
        ".h++",
        ".inl",
        ".inc",
        ".tcc",
        ".ipp",
        ".pyx",
        ".pxd",
        ".pxi",
        ".pyf",
        ".f",
        ".f77",
        ".f90",
        ".f95",
        ".for",
        ".f03",
        ".f08",
        ".rs",
        ".go",
        ".zig",
        ".s",
        ".asm",
        ".m",
        ".mm",
        ".swift",
        ".in",
        ".j2",
        ".tmpl",
        ".proto",
        ".cl",
        ".glsl",
        ".metal",
        ".hip",
        ".i",
        ".def",
        ".map",
        ".so",
        ".pyd",
        ".dylib",
        ".dll",
        ".a",
        ".o",
    ]
)
_GLOBAL_HOOKS: Final = frozenset(
    {
        "pytest_plugins",
        "pytest_addoption",
        "pytest_configure",
        "pytest_unconfigure",
        "pytest_sessionstart",
        "pytest_sessionfinish",
        "pytest_collection_modifyitems",
        "pytest_collection_finish",
        "pytest_collection",
        "pytest_load_initial_conftests",
        "pytest_cmdline_main",
        "pytest_runtestloop",
        "pytest_report_header",
        "pytest_terminal_summary",
    }
)
_TYPE_CHECKERS: Final = frozenset({"mypy", "pyright", "pyre", "ty", "pyrefly", "pytype"})
_FILE_COLLECTORS: Final = frozenset({"pytest_collect_file", "pytest_collect_directory"})


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


def editor(path: str, around: Surroundings) -> Effect | None:
    """Match presubmit's own configuration and editors' files."""
    del around
    if _named(path, _EDITOR_NAMES) or _inside(path, _EDITOR_FOLDERS):
        return Effect(reach=Reach.MENTIONS, text=f"{path}: presubmit's or an editor's file")
    return None


def lint_config(path: str, around: Surroundings) -> Effect | None:
    """Match configuration that linters alone read."""
    del around
    if _named(path, _LINT_NAMES) and not in_test_folder(path):
        return Effect(reach=Reach.MENTIONS, text=f"{path}: configuration of a linter")
    return None


def root_conftest(path: str, around: Surroundings) -> Effect | None:
    """Match a conftest.py at the root, or one whose hooks act on the whole session."""
    if posixpath.basename(path) != "conftest.py":
        return None
    if path == "conftest.py":
        return Effect(reach=Reach.ALL, text="conftest.py: applies to every test")
    values = (around.imports.get(path), around.base_imports.get(path))
    defined = {hook for value in values if value is not None for hook in value.hooks}
    if hooks := sorted(_GLOBAL_HOOKS & defined):
        return Effect(reach=Reach.ALL, text=f"{path}: {hooks[0]} acts on the whole session")
    return None


def build_config(path: str, around: Surroundings) -> Effect | None:
    """Match files that say how the project is built, installed or tested."""
    if _in_docs(path, around):
        return None
    if _named(path, _BUILD_NAMES) or _inside(path, _BUILD_FOLDERS):
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
    if posixpath.splitext(path)[1].lower() in _NATIVE and not _in_docs(path, around):
        return Effect(reach=Reach.ALL, text=f"native file: {path}", unsure=True)
    return None


def document(path: str, around: Surroundings) -> Effect | None:
    """Match prose: it concerns a test only where one reads it."""
    stem = posixpath.basename(path).split(".")[0].upper()
    prose = stem in _DOCUMENT_STEMS or stem.startswith(("LICENSE-", "LICENSE_"))
    if not prose and _named(path, _DOCUMENT_NAMES):
        prose = not in_test_folder(path) and posixpath.dirname(path) not in around.layout.packages
    if not (prose or _in_docs(path, around)):
        return None
    if collector := _document_collector(around):
        return Effect(reach=Reach.ALL, text=f"{path}: {collector} may collect it", unsure=True)
    return Effect(reach=Reach.MENTIONS, text=f"{path}: documentation")


def scratch(path: str, around: Surroundings) -> Effect | None:
    """Match notes, logs and patches that lie untracked at the top level, where no code looks for them."""
    if path in around.untracked and "/" not in path and _named(path, _SCRATCH_NAMES):
        return Effect(reach=Reach.MENTIONS, text=f"{path}: untracked notes")
    return None


def unknown(path: str, around: Surroundings) -> Effect | None:
    """Match whatever is left: data, templates, files of kinds that presubmit does not know."""
    del around
    return Effect(reach=Reach.ALL, text=f"{path}: unknown kind of file", unsure=True)


RULES: Final[Mapping[str, Rule]] = {
    "submodule": submodule,
    "symlink": symlink,
    "editor": editor,
    "lint-config": lint_config,
    "conftest": root_conftest,
    "build-config": build_config,
    "python": python,
    "stub": stub,
    "native": native,
    "document": document,
    "scratch": scratch,
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
    if path.startswith((*_BUILD_FOLDERS, ".github/workflows")):
        return False
    return _inside(path, _DOCUMENT_FOLDERS) and top not in around.layout.packages


def _document_collector(around: Surroundings) -> str:
    """Name what may collect tests out of documents: a plugin's option, or a conftest's hook."""
    if around.layout.settings.foreign:
        return around.layout.settings.foreign[0]
    for conftest in around.layout.conftests:
        value = around.imports.get(conftest)
        if value is None:
            continue
        if _FILE_COLLECTORS.intersection(value.hooks):
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
        if value is not None and not _TYPE_CHECKERS.isdisjoint(
            (*value.words, *(name.partition(".")[0] for name in value.names))
        ):
            return path
    return ""
