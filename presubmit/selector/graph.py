"""Which files a Python file depends on, and which files a changed one reaches."""

from __future__ import annotations

import bisect
import collections
import fnmatch
import posixpath
import sys
from typing import TYPE_CHECKING, Final

from presubmit.selector.layout import dotted

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from presubmit.selector.imports import Imports
    from presubmit.selector.layout import Layout

EVERYTHING: Final = "/"
"""The node that stands for every Python file; a name that ends with `/` stands for a folder."""


class Graph:
    """The dependencies between the files of one tree, walked from a change towards the tests."""

    def __init__(self, dependents: Mapping[str, tuple[str, ...]], tests: frozenset[str]) -> None:
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

    def nearest(self, start: str) -> tuple[str, ...]:
        """Give the tests at the smallest distance from one file (itself apart)."""
        seen = {start}
        level = [start]
        while level:
            level = sorted({it for node in level for it in self.dependents.get(node, ())} - seen)
            seen.update(level)
            if found := tuple(node for node in level if node in self.tests):
                return found
        return ()

    def reached_from(self, tests: Iterable[str]) -> frozenset[str]:
        """Give every file that some of these tests depends on."""
        depends: dict[str, list[str]] = {}
        for node, dependents in self.dependents.items():
            for dependent in dependents:
                depends.setdefault(dependent, []).append(node)
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
    links: Mapping[str, str] | None = None,
) -> Graph:
    """Join the files' imports to a graph; `others` are changed files that are no Python, found by mention."""
    builder = _Builder(layout, (imports, base_imports or {}), others, links or {})
    return Graph(builder.build(), frozenset(layout.tests))


class _Builder:
    """Resolves what files import into edges between files."""

    def __init__(
        self,
        layout: Layout,
        imports: Sequence[Mapping[str, Imports]],
        others: Collection[str],
        links: Mapping[str, str],
    ) -> None:
        self.layout = layout
        self.imports = imports
        self.links = links
        self.tests = frozenset(layout.tests)
        self.conftests = frozenset(layout.conftests)
        self.by_name: dict[str, list[str]] = {}
        self.by_tail: dict[str, list[str]] = {}
        for path, names in layout.names.items():
            for name in names:
                self.by_name.setdefault(name, []).append(path)
            parts = names[0].split(".") if names else []
            for start in range(len(parts)):
                self.by_tail.setdefault(".".join(parts[start:]), []).append(path)
        self.tops = {name.partition(".")[0] for name in self.by_name}
        self.folder_tops = {name.partition(".")[0] for name in self.by_name if "." in name}
        self.resolved: dict[tuple[str, bool], frozenset[str]] = {}
        self.sorted_names = sorted(self.by_name)
        self.by_base: dict[str, list[str]] = {}
        for path in (*layout.names, *others):
            self.by_base.setdefault(posixpath.basename(path), []).append(path)
        self.others = tuple(others)
        self.bare_names = any("." not in posixpath.basename(path) for path in self.others)
        self.by_suffix: dict[str, list[str]] = {}
        for path in self.others:
            self.by_suffix.setdefault(posixpath.splitext(path)[1], []).append(path)

    def build(self) -> dict[str, tuple[str, ...]]:
        """Give the dependents of every node."""
        dependents: dict[str, set[str]] = {}
        for path in self.layout.names:
            for dependency in self.dependencies(path):
                if dependency != path:
                    dependents.setdefault(dependency, set()).add(path)
        self._tie_folders(dependents)
        for node in self._global_plugins():
            dependents.setdefault(node, set()).update(self.tests - {node})
        return {node: tuple(sorted(found)) for node, found in dependents.items()}

    def _tie_folders(self, dependents: dict[str, set[str]]) -> None:
        """Tie every file to the node of its folder, and that to the one around it."""
        for path in self.layout.names:
            inner = path
            folder = posixpath.dirname(path)
            while folder and f"{folder}/" not in dependents.setdefault(inner, set()):
                dependents[inner].add(f"{folder}/")
                inner, folder = f"{folder}/", posixpath.dirname(folder)
            if not folder:
                dependents.setdefault(inner, set()).add(EVERYTHING)

    def _global_plugins(self) -> Iterator[str]:
        for name in self.layout.plugins:
            yield from self.resolve(name)

    def dependencies(self, path: str) -> set[str]:
        """Give the nodes that one file depends on."""
        found = set(self._packages_around(path))
        if path in self.tests or path in self.conftests:
            found.update(self._conftests_above(path))
        if target := self.links.get(path):
            found.add(target)
        for side in self.imports:
            if (value := side.get(path)) is not None:
                found.update(self._imported(path, value))
        return found

    def _imported(self, path: str, value: Imports) -> Iterator[str]:
        """Give the nodes that a file's imports and strings lead to."""
        for name in (*value.names, *value.plugins, *value.stars):
            yield from self.resolve(name, anywhere=True)
        for name in value.strings:
            if name.partition(".")[0] in self.tops:
                yield from self.resolve(name)
        for name in value.stars:
            yield from self._children(name)
        for prefix in value.prefixes:
            yield from self._below_prefix(prefix)
        yield from self._mentions(value)
        if value.dynamic:
            yield from self._named_loosely(path, value)
        if value.walks:
            for name in self.layout.entry_points:
                yield from self.resolve(name)
        if self._looks_around(path, value):
            yield from self._around(path, value)

    def _packages_around(self, path: str) -> Iterator[str]:
        """`import a.b.c` runs `a/__init__.py` and `a/b/__init__.py` first."""
        folder = posixpath.dirname(path)
        while folder in self.layout.packages:
            init = f"{folder}/__init__.py"
            if init in self.layout.names:
                yield init
            if not folder:
                return
            folder = posixpath.dirname(folder)

    def _conftests_above(self, path: str) -> Iterator[str]:
        folder = posixpath.dirname(path)
        while True:
            conftest = posixpath.join(folder, "conftest.py")
            if conftest in self.conftests:
                yield conftest
            if not folder:
                return
            folder = posixpath.dirname(folder)

    def resolve(self, name: str, *, anywhere: bool = False) -> frozenset[str]:
        """Find the files that importing a dotted name runs; `anywhere` also tries every folder as a root."""
        key = (name, anywhere)
        if key not in self.resolved:
            parts = name.split(".")
            heads = [".".join(parts[:end]) for end in range(1, len(parts) + 1)]
            found = {path for head in heads for path in self.by_name.get(head, ())}
            if not found and anywhere and parts[0] not in sys.stdlib_module_names:
                found = {path for head in heads for path in self.by_tail.get(head, ())}
            self.resolved[key] = frozenset(found)
        return self.resolved[key]

    def _children(self, name: str) -> set[str]:
        """Give a package's direct submodules: `from package import *` loads those that `__all__` names."""
        return {
            path
            for path in self._names_below(f"{name}.")
            if f"{name}." in {known.rpartition(".")[0] + "." for known in self.layout.names[path]}
        }

    def _names_below(self, prefix: str) -> Iterator[str]:
        index = bisect.bisect_left(self.sorted_names, prefix)
        while index < len(self.sorted_names) and self.sorted_names[index].startswith(prefix):
            yield from self.by_name[self.sorted_names[index]]
            index += 1

    def _below_prefix(self, prefix: str) -> set[str]:
        package = prefix.rpartition(".")[0]
        found = set(self._names_below(prefix))
        return found | self.resolve(package, anywhere=True) if package else found

    def _mentions(self, value: Imports) -> Iterator[str]:
        """Give the files that a source names by file name, pattern, ending or console script."""
        for word in value.words:
            if (module := self.layout.scripts.get(word)) is not None:
                yield from self.resolve(module)
            if "." in word or "*" in word or self.bare_names:
                yield from self._mentioned(word)
            if value.lists and self.others:
                yield from self._in_named_folder(word)

    def _mentioned(self, word: str) -> Iterator[str]:
        base = word.replace("\\", "/").rpartition("/")[2]
        if "*" in base:
            yield from self._matching(base)
        elif base != "__init__.py":
            yield from self.by_base.get(base, ())
            yield from self.by_suffix.get(base, ())

    def _named_loosely(self, path: str, value: Imports) -> Iterator[str]:
        """Give the modules that single words name, in a file that imports by computed names."""
        package = dotted(posixpath.dirname(path))
        for word in value.words:
            yield from self.resolve(word)
            yield from self.resolve(f"{package}.{word}")

    def _matching(self, pattern: str) -> Iterator[str]:
        for path in self.others:
            if fnmatch.fnmatchcase(posixpath.basename(path), pattern):
                yield path

    def _in_named_folder(self, word: str) -> Iterator[str]:
        folder = word.strip("/")
        for path in self.others:
            if f"/{folder}/" in f"/{posixpath.dirname(path)}/":
                yield path

    def _looks_around(self, path: str, value: Imports) -> bool:
        """Tell whether a file may load modules that its source does not name."""
        if value.walks or value.dynamic:
            return True
        return value.lists and (path in self.tests or path in self.conftests)

    def _around(self, path: str, value: Imports) -> Iterator[str]:
        """Give the folders whose modules such a file may load."""
        folders: set[str] = set()
        folder = posixpath.dirname(path)
        if path not in self.tests and path not in self.conftests:
            folders.add(self._top_package(folder) if value.dynamic else folder)
        for name in (*value.names, *value.strings, *value.stars):
            for found in self.resolve(name, anywhere=True):
                if posixpath.basename(found) == "__init__.py":
                    folders.add(posixpath.dirname(found))
            folders.update(self._namespace(name))
        if not folders and (value.walks or value.dynamic):
            yield EVERYTHING
        for it in folders:
            yield f"{it}/" if it else EVERYTHING

    def _namespace(self, name: str) -> Iterator[str]:
        """Give the folder of a package without `__init__.py`."""
        if name in self.by_name or name.partition(".")[0] not in self.folder_tops:
            return
        for path in self._names_below(f"{name}."):
            for known in self.layout.names[path]:
                if known.startswith(f"{name}."):
                    below = known[len(name) + 1 :].count(".")
                    if posixpath.basename(path) == "__init__.py":
                        below += 1
                    folder = posixpath.dirname(path)
                    for _ in range(below):
                        folder = posixpath.dirname(folder)
                    yield folder

    def _top_package(self, folder: str) -> str:
        top = folder
        while folder and folder in self.layout.packages:
            top = folder
            folder = posixpath.dirname(folder)
        return top
