"""Reads out of git what a tree says of itself: how it is built, tested, linted, and what the change defines."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

import msgspec

from presubmit import convention
from presubmit.change.definitions import changed_definitions, test_definitions_touched
from presubmit.change.diff import GITLINK, holds_word, list_tree, read_blobs
from presubmit.plan import Facts
from presubmit.selector.layout import is_python, is_test
from presubmit.selector.tree import Source
from presubmit.values import FileStatus, Requirements, decode, encode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from presubmit.change.repository import Repository
    from presubmit.config import Config
    from presubmit.history import History
    from presubmit.selector.layout import Layout, PytestSettings
    from presubmit.values import Change, ChangedFile, Definition

_SAMPLED_SOURCES = 40
_UNDOCUMENTED = frozenset({"tests", "test", "testing", "docs", "doc", "examples", "benchmarks"})


class TreeReader:
    """Reads files of one commit, each once."""

    def __init__(self, repository: Repository, commit: str) -> None:
        self._repository = repository
        self._commit = commit
        self._known: dict[str, bytes | None] = {}
        tree = list_tree(repository, commit)
        self.blobs = {path: name for path, (_, name) in tree.items()}
        self.modes = {path: mode for path, (mode, _) in tree.items()}
        self._files = {path: name for path, (mode, name) in tree.items() if mode != GITLINK}

    def want(self, paths: Iterable[str]) -> None:
        """Read several files in one go."""
        wanted = [p for p in paths if p in self._files and p not in self._known]
        if wanted:
            found = read_blobs(self._repository, (self._files[path] for path in wanted))
            self._known |= {path: found.get(self._files[path]) for path in wanted}

    def data(self, path: str) -> bytes | None:
        """Give a file's content, or None where the commit does not have it."""
        self.want((path,))
        return self._known.get(path)

    def text(self, path: str) -> str | None:
        """Give a file's text, undecodable bytes replaced."""
        found = self.data(path)
        return None if found is None else found.decode("utf-8", "replace")

    def source(self) -> Source:
        """Give the commit's files as the selector reads them."""
        return Source(blobs=self._files, modes=self.modes, read=self._contents)

    def _contents(self, names: Iterable[str]) -> dict[str, bytes]:
        return read_blobs(self._repository, names)

    def holds(self, word: str) -> bool:
        """Tell whether some file of the commit holds a word."""
        return holds_word(self._repository, self._commit, word)


def read_facts(
    reader: TreeReader,
    config: Config,
    layout: Layout,
    *,
    plain: Config | None = None,
    definitions: tuple[Definition, ...] = (),
    history: History | None = None,
) -> Facts:
    """Gather what make_plan needs to know of a tree; `plain` is the configuration without what upstream filled in.

    Raises ConfigError where what the config names is not there.
    """
    reader.want(p for p in reader.blobs if posixpath.basename(p) in _WANTED)
    project = convention.read_project(reader.blobs, reader.text)
    sample = [p for p in sorted(reader.blobs) if _is_source(p, layout.settings)][:_SAMPLED_SOURCES]
    reader.want(sample if definitions else ())
    sources = [text for p in (sample if definitions else ()) if (text := reader.text(p))]
    constraints = _constraints(project, reader, history)
    differs = plain is not None and (plain.build, plain.container) != (
        config.build,
        config.container,
    )
    return Facts(
        project=project,
        requirements=_requirements(project, reader, config, constraints),
        otherwise=_requirements(project, reader, plain, constraints)
        if plain is not None and differs
        else None,
        backend=convention.build_backend(project),
        native=convention.native_sources(project, reader.text),
        floor=convention.python_floor(project, reader.text),
        lint_tool=_lint_tool(project),
        docs=convention.docs_convention(project, reader.text, sources),
        definitions=definitions,
        doctests=layout.settings.doctest_modules,
        blobs=reader.blobs,
        generated=_generated(reader),
        addopts=layout.settings.addopts,
        groups=config.tests.xdist != "no" and reader.holds("xdist_group"),
    )


def _requirements(
    project: convention.Project,
    reader: TreeReader,
    config: Config,
    constraints: Requirements | None,
) -> convention.TestRequirements:
    build = config.build
    return convention.test_requirements(
        project,
        reader.text,
        extras=build.extras,
        groups=build.groups,
        files=build.requirements,
        packages=build.packages,
        constraints=constraints,
    )


def _constraints(
    project: convention.Project, reader: TreeReader, history: History | None
) -> Requirements | None:
    """Give what the lock files pin; a lock file takes a tenth of a second to parse, so its lines are remembered."""
    locks = [
        f"{name} {reader.blobs[name]}" for name in convention.LOCK_FILES if name in reader.blobs
    ]
    key = "; ".join(locks)
    if not locks:
        return None
    known = history.lock_lines(key) if history is not None else None
    if known is not None:
        try:
            return decode(known.encode(), Requirements)
        except (ValueError, msgspec.ValidationError):
            pass
    found = convention.lock_constraints(project, reader.text)
    if history is not None and found is not None:
        history.write_lock(key, encode(found).decode())
    return found


def _generated(reader: TreeReader) -> tuple[str, ...]:
    """Give the files that Cython generated: those beside Cython sources that say so in their first line."""
    stems = {posixpath.splitext(p)[0] for p in reader.blobs if p.endswith(".pyx")}
    outputs = [f"{stem}{suffix}" for stem in sorted(stems) for suffix in (".c", ".cpp")]
    reader.want(outputs)
    return tuple(
        p for p in outputs if (reader.data(p) or b"").startswith(b"/* Generated by Cython")
    )


_WANTED = frozenset(
    {
        *("pyproject.toml", "setup.py", "setup.cfg", "meson.build", "CMakeLists.txt"),
        *("Cargo.toml", "ruff.toml", ".ruff.toml", "uv.lock", "poetry.lock", "pdm.lock"),
        "pylock.toml",
    }
)


def _lint_tool(project: convention.Project) -> str:
    if ".lintrunner.toml" in project.paths:
        return "lintrunner"
    if ".pre-commit-config.yaml" in project.paths:
        return "pre-commit"
    return "ruff" if convention.has_ruff(project) else ""


def _is_source(path: str, settings: PytestSettings) -> bool:
    return (
        is_python(path)
        and path.endswith(".py")
        and not is_test(path, settings)
        and not _UNDOCUMENTED & set(path.split("/")[:-1])
        and posixpath.basename(path) not in {"conftest.py", "setup.py", "noxfile.py"}
    )


def read_changed_definitions(
    change: Change, base: TreeReader, head: TreeReader, settings: PytestSettings
) -> tuple[Definition, ...]:
    """Give the public definitions that the change adds or alters, test files apart."""
    files = [f for f in change.files if _is_changed_source(f, settings)]
    base.want(f.old_path or f.path for f in files)
    head.want(f.path for f in files)
    found: list[Definition] = []
    for file in files:
        source = head.data(file.path)
        if source is not None:
            before = base.data(file.old_path or file.path)
            found += changed_definitions(before, source, file.path)
    return tuple(d for d in found if d.public)


def _is_changed_source(file: ChangedFile, settings: PytestSettings) -> bool:
    return file.status is not FileStatus.DELETED and _is_source(file.path, settings)


def read_touched_tests(
    change: Change, base: TreeReader, head: TreeReader, is_test_file: Callable[[str], bool]
) -> frozenset[str]:
    """Give the node ids (without parameters) of the tests whose definition the change adds or edits."""
    touched: set[str] = set()
    for file in change.files:
        if file.status is FileStatus.DELETED or not is_test_file(file.path):
            continue
        source = head.data(file.path)
        before = base.data(file.old_path or file.path)
        if source is not None:
            names = test_definitions_touched(before, source)
            touched |= {f"{file.path}::{name.replace('.', '::')}" for name in names}
    return frozenset(touched)


def renamed_paths(change: Change) -> Mapping[str, str]:
    """Map the base's paths to head's, for the files that the change renames."""
    return {f.old_path: f.path for f in change.files if f.old_path is not None}
