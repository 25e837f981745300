"""The tree that a selection is made in: its paths, what its Python files import, its configuration texts."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from presubmit.selector.layout import CONFIG_NAMES, is_python
from presubmit.selector.packed import read_packed
from presubmit.selector.parsed import imports_of
from presubmit.selector.shapes import read_shapes

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from presubmit.selector.cache import Cache
    from presubmit.selector.imports import Imports
    from presubmit.selector.shape import Shape

_MOST_NESTED_CONFIGS: Final = 200
_DEEPEST_LINK: Final = 20


def _nothing(paths: Collection[str], /) -> Mapping[str, Shape]:
    del paths
    return {}


def _no_texts(paths: Collection[str], /) -> Mapping[str, bytes]:
    del paths
    return {}


@dataclass(frozen=True, kw_only=True)
class Tree:
    """A tree as the selector sees it; `base_imports` holds files that the change removes, renames or edits."""

    paths: tuple[str, ...]
    imports: Mapping[str, Imports] = field(default_factory=dict)
    base_imports: Mapping[str, Imports] = field(default_factory=dict)
    configs: Mapping[str, str] = field(default_factory=dict)
    links: Mapping[str, str] = field(default_factory=dict)
    """Symbolic links, and the path of the tree that each stands for (empty: outside, or nowhere)."""
    unread: Mapping[str, str] = field(default_factory=dict)
    """Python files that could not be read, and why."""
    problems: Mapping[str, str] = field(default_factory=dict)
    """Python files that cannot be parsed, and why."""
    modes: frozenset[str] = frozenset()
    """Changed paths of which the mode or the type changed."""
    blobs: Mapping[str, str] = field(default_factory=dict)
    """Blob ids by path, where they are known."""
    cache: Cache | None = None
    shapes: Callable[[Collection[str]], Mapping[str, Shape]] = _nothing
    """Reads the shapes of files of the tree; a file that is absent from the answer may have changed in any way."""
    base_shapes: Callable[[Collection[str]], Mapping[str, Shape]] = _nothing
    """The same of the change's base."""
    texts: Callable[[Collection[str]], Mapping[str, bytes]] = _no_texts
    """Reads files of the tree, of any kind."""
    base_texts: Callable[[Collection[str]], Mapping[str, bytes]] = _no_texts
    """The same of the change's base."""
    made: dict[tuple[object, ...], tuple[object, Any]] = field(
        default_factory=dict, compare=False, repr=False
    )
    """What was made of its parts already: trees that differ in their base alone share it."""


@dataclass(frozen=True, kw_only=True)
class Source:
    """One commit's files, read by blob."""

    blobs: Mapping[str, str]
    """Path -> blob id, submodules apart."""
    modes: Mapping[str, str]
    """Path -> mode as git writes it, `100644`."""
    read: Callable[[Iterable[str]], Mapping[str, bytes]]
    """Gives blob id -> content."""

    def texts(self, paths: Iterable[str]) -> dict[str, bytes]:
        """Give path -> content, of those that are there."""
        wanted = {path: self.blobs[path] for path in paths if path in self.blobs}
        found = self.read(set(wanted.values())) if wanted else {}
        return {path: found[blob] for path, blob in wanted.items() if blob in found}

    def shapes(self, paths: Collection[str], cache: Cache | None) -> dict[str, Shape]:
        """Give path -> Shape, of those that are there."""
        wanted = {path: self.blobs[path] for path in paths if path in self.blobs}
        found = read_shapes(wanted.values(), self.read, cache)
        return {path: found[blob] for path, blob in wanted.items() if blob in found}


_LINK: Final = "120000"


def read_tree(
    head: Source,
    *,
    base: Source | None = None,
    changed: Collection[str] = (),
    gone: Collection[str] = (),
    cache: Cache | None = None,
) -> Tree:
    """Read a commit as the selector sees it; `gone` are Python files of the base that the change removes or renames."""
    links = _links(head)
    python = [path for path in head.blobs if is_python(path) and path not in links]
    packed = read_packed({path: head.blobs[path] for path in python}, head.read, cache)
    old = base.texts(path for path in gone if is_python(path)) if base is not None else {}
    return Tree(
        paths=tuple(head.blobs),
        imports=packed,
        base_imports={path: imports_of(path, source) for path, source in old.items()},
        configs=_configs(head, links),
        links=links,
        problems=packed.problems,
        modes=frozenset()
        if base is None
        else frozenset(
            path
            for path in changed
            if path in head.modes and path in base.modes and head.modes[path] != base.modes[path]
        ),
        blobs=head.blobs,
        cache=cache,
        shapes=lambda paths: head.shapes(paths, cache),
        base_shapes=lambda paths: {} if base is None else base.shapes(paths, cache),
        texts=head.texts,
        base_texts=lambda paths: {} if base is None else base.texts(paths),
    )


def _configs(head: Source, links: Collection[str]) -> dict[str, str]:
    names = frozenset(CONFIG_NAMES)
    wanted = [
        path for path in head.blobs if posixpath.basename(path) in names and path not in links
    ]
    nested = sorted((p for p in wanted if "/" in p), key=lambda p: (p.count("/"), p))
    texts = head.texts([p for p in wanted if "/" not in p] + nested[:_MOST_NESTED_CONFIGS])
    return {
        path: data.decode("utf-8", "replace").removeprefix("\ufeff")
        for path, data in sorted(texts.items(), key=lambda it: (it[0].count("/"), it[0]))
    }


def _links(head: Source) -> dict[str, str]:
    """Give the symbolic links, and what of the tree they stand for."""
    paths = [path for path, mode in head.modes.items() if mode == _LINK and path in head.blobs]
    if not paths:
        return {}
    texts = head.texts(paths)
    targets = {path: texts.get(path, b"").decode("utf-8", "surrogateescape") for path in paths}
    folders = {folder for path in head.blobs for folder in _folders(path)}
    return {path: _target(path, targets, {*head.blobs, *folders}) for path in paths}


def _folders(path: str) -> Iterable[str]:
    while path := posixpath.dirname(path):
        yield path


def _target(path: str, targets: Mapping[str, str], known: Collection[str]) -> str:
    """Follow a link inside the tree; empty where it leads out of it, in a circle or to nothing."""
    for _ in range(_DEEPEST_LINK):
        here = next((it for it in (path, *_folders(path)) if it in targets), None)
        if here is None:
            return path if path in known else ""
        target = targets[here]
        if not target or target.startswith("/"):
            return ""
        joined = posixpath.join(posixpath.dirname(here), target) + path[len(here) :]
        path = posixpath.normpath(joined)
        if path == ".." or path.startswith("../"):
            return ""
    return ""
