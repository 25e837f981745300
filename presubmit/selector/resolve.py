"""From what a Python file imports and names to the files and folders that it depends on."""

from __future__ import annotations

import bisect
import functools
import posixpath
import sys
from typing import TYPE_CHECKING, Final

from presubmit.selector.layout import dotted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from presubmit.selector.imports import Imports
    from presubmit.selector.layout import Layout

EVERYTHING: Final = "/"
"""The node that stands for every Python file; a name that ends with `/` stands for a folder."""


_RUNNER: Final = frozenset({"pytest", "_pytest", "pluggy", "iniconfig"})
"""What is imported already when pytest imports the first file of a project."""


def _root_of(path: str, top: str) -> str:
    """Give the folder, with a slash, from which a file is found by a name that begins with `top`; the outermost."""
    parts = path.removesuffix(".pyw").removesuffix(".py").split("/")
    depth = next((n for n, part in enumerate(parts) if part == top), 0)
    return "".join(f"{part}/" for part in parts[:depth])


class Resolver:
    """Resolves what files import into edges between files."""

    def __init__(
        self,
        layout: Layout,
        imports: Sequence[Mapping[str, Imports]],
        links: Mapping[str, str],
    ) -> None:
        self.layout = layout
        self.imports = imports
        self.links = links
        self.tests = frozenset(layout.tests)
        self.conftests = frozenset(layout.conftests)
        self.by_name: dict[str, list[str]] = {}
        self.by_base: dict[str, list[str]] = {}
        for path, names in layout.names.items():
            for name in names:
                self.by_name.setdefault(name, []).append(path)
            self.by_base.setdefault(posixpath.basename(path), []).append(path)
        self.tops = {name.partition(".")[0] for name in self.by_name}
        self.resolved: dict[tuple[str, bool], frozenset[str]] = {}

    # What a few files need seldom is made when it is asked for: a warm start resolves a few files only.

    @functools.cached_property
    def by_tail(self) -> dict[str, list[str]]:
        """Give the files by every ending of their path in dots."""
        found: dict[str, list[str]] = {}
        for path, names in self.layout.names.items():
            name = names[0] if names else ""
            while name:
                found.setdefault(name, []).append(path)
                name = name.partition(".")[2]
        return found

    @functools.cached_property
    def folder_tops(self) -> set[str]:
        """Give the first parts of dotted names."""
        return {name.partition(".")[0] for name in self.by_name if "." in name}

    @functools.cached_property
    def sorted_names(self) -> list[str]:
        """Give every dotted name, sorted."""
        return sorted(self.by_name)

    def plugins(self) -> Iterator[str]:
        """Give the files that pytest loads for every test."""
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
        found.discard(path)
        return found

    def _imported(self, path: str, value: Imports) -> Iterator[str]:
        """Give the nodes that a file's imports and strings lead to."""
        for name in (*value.names, *value.plugins, *value.stars):
            yield from self._import(path, name)
        for name in value.strings:
            if name.partition(".")[0] in self.tops:
                yield from self.resolve(name)
                yield from self.by_name.get(f"{name}.__main__", ())
        for name in value.stars:
            yield from self._children(name)
        for prefix in value.prefixes:
            yield from self._below_prefix(prefix)
        for word in value.words:
            yield from self._named(word)
        yield from self._searched(path, value)

    def _searched(self, path: str, value: Imports) -> Iterator[str]:
        """Give the nodes that a file finds by computed names or by walking."""
        if value.dynamic:
            yield from self._named_loosely(path, value)
        if value.walks:
            for name in self.layout.entry_points:
                yield from self.resolve(name)
        if self._looks_around(path, value):
            yield from self._around(path, value)

    def _named(self, word: str) -> Iterator[str]:
        """Give the modules that a word names by file name or console script."""
        if (module := self.layout.scripts.get(word)) is not None:
            yield from self.resolve(module)
        if word.endswith((".py", ".pyw")) and "*" not in word:
            base = word.replace("\\", "/").rpartition("/")[2]
            if base != "__init__.py":
                yield from self.by_base.get(base, ())

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

    def _import(self, path: str, name: str) -> Iterable[str]:
        """Find the files that one file's import of a name runs.

        A test runner is loaded before any code of the project, so that its name leads to no module inside a package,
        `pkg/testing/pytest.py`, unless that lies beside the importing file (a script that runs by itself) or above.
        """
        found = self.resolve(name, anywhere=True)
        top = name.partition(".")[0]
        if top not in _RUNNER or top in self.by_name or top in self.tops:
            return found
        return [it for it in found if f"{path}/".startswith(_root_of(it, top))]

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

    def _named_loosely(self, path: str, value: Imports) -> Iterator[str]:
        """Give the modules that single words name, in a file that imports by computed names."""
        package = dotted(posixpath.dirname(path))
        for word in value.words:
            yield from self.resolve(word)
            yield from self.resolve(f"{package}.{word}")

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
            # What walks the package that it names does not walk the packages around that.
            named = self._import(path, name) if value.dynamic else self._innermost(name)
            for found in named:
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

    def _innermost(self, name: str) -> Iterable[str]:
        """Find the files of the longest part of a dotted name that is a module."""
        while name:
            if found := self.by_name.get(name) or self.by_tail.get(name):
                return found
            name = name.rpartition(".")[0]
        return ()

    def _top_package(self, folder: str) -> str:
        top = folder
        while folder and folder in self.layout.packages:
            top = folder
            folder = posixpath.dirname(folder)
        return top
