"""Which files a changed one reaches: the graph of the files of one tree, kept between runs."""

from __future__ import annotations

import collections
import functools
import posixpath
from typing import TYPE_CHECKING

from presubmit.selector.edges import read_edges
from presubmit.selector.mentions import find_mentions
from presubmit.selector.resolve import EVERYTHING, Resolver

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from presubmit.selector.cache import Cache
    from presubmit.selector.imports import Imports
    from presubmit.selector.layout import Layout


class Graph:
    """The dependencies between the files of one tree, walked from a change towards the tests."""

    def __init__(self, dependents: Mapping[str, Sequence[str]], tests: frozenset[str]) -> None:
        self.dependents = dependents
        """For each file (or folder node), the files that depend on it."""
        self.tests = tests

    def reach(self, starts: Iterable[str]) -> dict[str, tuple[str, ...]]:
        """Give every file that the starts reach, with a shortest chain from a start to it."""
        before: dict[str, str] = {}
        queue = collections.deque(sorted(set(starts)))
        seen = set(queue)
        while queue:
            node = queue.popleft()
            for dependent in self.dependents.get(node, ()):
                if dependent not in seen:
                    seen.add(dependent)
                    before[dependent] = node
                    queue.append(dependent)
        return {node: _chain(node, before) for node in seen if not node.endswith("/")}

    def nearest(self, start: str, among: Collection[str]) -> tuple[str, ...]:
        """Give those of some tests that are at the smallest distance from one file (itself apart)."""
        seen = {start}
        level = [start]
        while level:
            level = sorted({it for node in level for it in self.dependents.get(node, ())} - seen)
            seen.update(level)
            if found := tuple(node for node in level if node in among):
                return found
        return ()

    @functools.cached_property
    def _depends(self) -> Mapping[str, Sequence[str]]:
        """Give the files (or folder nodes) that each one depends on."""
        depends: collections.defaultdict[str, list[str]] = collections.defaultdict(list)
        for node, dependents in self.dependents.items():
            for dependent in dependents:
                depends[dependent].append(node)
        return depends

    def reached_from(self, tests: Iterable[str]) -> frozenset[str]:
        """Give every file that some of these tests depends on."""
        depends = self._depends
        seen = set(tests)
        stack = list(seen)
        while stack:
            for node in depends.get(stack.pop(), ()):
                if node not in seen:
                    seen.add(node)
                    stack.append(node)
        return frozenset(seen)


def _chain(node: str, before: Mapping[str, str]) -> tuple[str, ...]:
    chain = [node]
    while chain[-1] in before:
        chain.append(before[chain[-1]])
    return tuple(reversed(chain))


def build_graph(
    layout: Layout,
    imports: Mapping[str, Imports],
    *,
    base_imports: Mapping[str, Imports] | None = None,
    others: Collection[str] = (),
    referrers: Mapping[str, Sequence[str]] | None = None,
    links: Mapping[str, str] | None = None,
    blobs: Mapping[str, str] | None = None,
    cache: Cache | None = None,
) -> Graph:
    """Join the files' imports to a graph; `others` are files that are no Python, found by mention.

    `referrers` gives, for some of these, the ones that name them.
    """
    sides = (imports, base_imports or {})
    resolver = Resolver(layout, sides, links or {})
    # Edges of what the base has, too, are made of sources that the blobs do not name.
    known = {path: it for path, it in (blobs or {}).items() if path not in sides[1]}
    found: collections.defaultdict[str, list[str]] = collections.defaultdict(list)
    for path, nodes in read_edges(resolver, known, cache):
        for node in nodes:
            found[node].append(path)
    dependents = dict(found)
    for node, paths in find_mentions(layout, sides, others).items():
        dependents.setdefault(node, []).extend(sorted(paths))
    for node, named in (referrers or {}).items():
        dependents.setdefault(node, []).extend(named)
    _tie_folders(layout, dependents)
    for node in resolver.plugins():
        there = {node, *dependents.get(node, ())}
        more = (test for test in layout.tests if test not in there)
        dependents.setdefault(node, []).extend(more)
    return Graph(dependents, frozenset(layout.tests))


def _tie_folders(layout: Layout, dependents: dict[str, list[str]]) -> None:
    """Tie every file to the node of its folder, and that to the one around it, where something asks for one."""
    wanted = {node for node in dependents if node.endswith("/")}
    if not wanted:
        return
    tied: set[str] = set()
    for path in layout.names:
        inner = path
        folder = posixpath.dirname(path)
        while folder and inner not in tied:
            tied.add(inner)
            dependents.setdefault(inner, []).append(f"{folder}/")
            inner, folder = f"{folder}/", posixpath.dirname(folder)
        if not folder and inner not in tied:
            tied.add(inner)
            dependents.setdefault(inner, []).append(EVERYTHING)
