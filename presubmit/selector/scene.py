"""What is known of a change before anything is chosen: what each file's change means, and the graph of the tree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

from presubmit.selector.compiled import Compiled, read_compiled
from presubmit.selector.data import makes_code, read_build_mentions, read_referrers
from presubmit.selector.difference import Difference, compare
from presubmit.selector.graph import build_graph
from presubmit.selector.imports import Imports
from presubmit.selector.layout import is_python, make_layout
from presubmit.selector.quiet import fixtures_only
from presubmit.selector.rules import Effect, Reach, Surroundings, judge_path
from presubmit.values import FileStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from presubmit.runners import Collects
    from presubmit.selector.graph import Graph
    from presubmit.selector.layout import Layout
    from presubmit.selector.shape import Shape
    from presubmit.selector.tree import Tree
    from presubmit.values import Change

Made = TypeVar("Made")


@dataclass(frozen=True, kw_only=True)
class Scene:
    """What a choice is made of."""

    tree: Tree
    layout: Layout
    imports: Mapping[str, Imports]
    graph: Graph
    judged: Mapping[str, tuple[str, Effect]]
    """For each changed path, the rule that matched and what it said."""
    differences: Mapping[str, Difference]
    """For each Python file that both sides have, what differs."""
    gone: frozenset[str]
    edited: frozenset[str]
    """Test files of the tree that the change adds or edits, quiet edits apart."""
    compiled: Compiled
    """What the change does to extension modules."""
    makes: Mapping[str, str]
    """Changed data files of which code may be made, and what says so."""

    @property
    def bodies(self) -> dict[str, tuple[str, ...]]:
        """Give the files of which only functions' bodies and constants changed, with their names."""
        return {
            path: found.bodies
            for path, found in self.differences.items()
            if found.bodies
            and not (found.at_import or found.problem)
            and self.judged[path][1].reach is Reach.GRAPH
        }

    @property
    def narrowed(self) -> dict[str, tuple[str, ...]]:
        """Give the changed files of which it is known which names can behave otherwise."""
        native = self.compiled.names
        return self.bodies | {
            path: native[path] for path in self.of(Reach.GRAPH) if path in native
        }

    def of(self, *reaches: Reach) -> tuple[str, ...]:
        """Give the changed paths that reach so far."""
        return tuple(path for path, (_, it) in self.judged.items() if it.reach in reaches)


def make_scene(
    change: Change,
    tree: Tree,
    rules: Mapping[str, str] | None = None,
    *,
    tests: Collection[str] | None = None,
    collects: Collects | None = None,
) -> Scene:
    """Look at a change; `rules` are the user's own, `tests` other files in the place of the tests: benchmarks, say.

    `collects` is what another runner than pytest takes for tests.
    """
    present = frozenset(tree.paths)
    changed = tuple(dict.fromkeys(path for file in change.files for path in file.paths))
    gone = frozenset(
        path
        for file in change.files
        for path in file.paths
        if path not in present or (file.status is FileStatus.DELETED and path == file.path)
    )
    layout = _once(
        tree,
        ("layout", gone, collects),
        (tree.paths, tree.configs, tree.links),
        lambda: make_layout(
            *(tree.paths, tree.configs), gone=gone, links=tree.links, collects=collects
        ),
    )
    if tests is not None:
        layout = msgspec.structs.replace(layout, tests=tuple(sorted(tests)))
    imports = (
        {path: _wide(why) for path, why in tree.unread.items()} | dict(tree.imports)
        if tree.unread
        else tree.imports
    )
    differences, heads = _differences(change, tree)
    compiled = read_compiled(change, tree, layout, imports)
    around = Surroundings(
        layout=layout,
        imports=imports,
        base_imports=tree.base_imports,
        links=frozenset(tree.links),
        submodules=frozenset(change.submodules),
        untracked=frozenset(change.target.untracked),
        modes=tree.modes,
        quiet=frozenset(path for path, found in differences.items() if found.quiet),
        fixtures=frozenset(
            path
            for path, found in differences.items()
            if fixtures_only(path, found, heads[path], imports.get(path))
        ),
        compiled=compiled.reaches,
        configured=rules or {},
    )
    judged = {path: judge_path(path, around) for path in changed}
    data = [path for path, (_, effect) in judged.items() if effect.reach is Reach.DATA]
    referrers = read_referrers(data, tree.paths, layout, tree.texts) if data else {}
    others = {path for path in (*changed, *referrers) if not is_python(path)}
    links = {**referrers, **compiled.edges}
    base_imports = tree.base_imports or _NONE
    graph = _once(
        tree,
        ("graph", *sorted(others), *sorted((it, *users) for it, users in links.items())),
        (layout, imports, base_imports, tree.links, tree.blobs),
        lambda: build_graph(
            layout,
            imports,
            base_imports=base_imports,
            others=sorted(others),
            referrers=links,
            links=tree.links,
            blobs=tree.blobs,
            cache=tree.cache,
        ),
    )
    loud = {
        path for path, (_, it) in judged.items() if it.reach is not Reach.NONE and path not in gone
    }
    doctested = {
        path
        for path, found in differences.items()
        if found.docstrings and layout.settings.doctest_modules
    }
    return Scene(
        tree=tree,
        layout=layout,
        imports=imports,
        graph=graph,
        judged=judged,
        differences=differences,
        gone=gone,
        compiled=compiled,
        edited=frozenset(layout.tests) & (loud | doctested),
        makes=_makes(data, graph, layout, tree) if data else {},
    )


_NONE: Final[Mapping[str, Imports]] = {}


def _once(
    tree: Tree, what: tuple[object, ...], parts: tuple[object, ...], make: Callable[[], Made]
) -> Made:
    """Make something of a tree's parts once: the scenes of one tree with several bases mostly share it."""
    # The parts are kept with what was made of them, so that no other object gets their ids.
    key = (*what, *map(id, parts))
    if key not in tree.made:
        tree.made[key] = (parts, make())
    made: Made = tree.made[key][1]
    return made


def _makes(data: Collection[str], graph: Graph, layout: Layout, tree: Tree) -> dict[str, str]:
    """Give the data files of which a build or a program of the project may make code."""
    found = read_build_mentions(data, tree.paths, tree.texts)
    for path in data:
        for user in graph.dependents.get(path, ()):
            if makes_code(user, layout):
                found.setdefault(path, user)
    return found


def _wide(why: str) -> Imports:
    """Stand in for a file that could not be read: it may import anything near it."""
    return Imports(dynamic=True, walks=True, documents=True, problem=why)


def _differences(change: Change, tree: Tree) -> tuple[dict[str, Difference], Mapping[str, Shape]]:
    """Compare both versions of every Python file that both sides have; gives head's shapes, too."""
    paths = [
        file.path
        for file in change.files
        if file.status is FileStatus.MODIFIED
        and is_python(file.path)
        and file.path not in tree.links
        and file.path not in tree.modes
    ]
    base: Mapping[str, Shape] = tree.base_shapes(paths) if paths else {}
    head: Mapping[str, Shape] = tree.shapes(paths) if paths else {}
    found = {
        path: compare(base[path], head[path]) for path in paths if path in base and path in head
    }
    return found, head
