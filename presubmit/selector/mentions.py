"""Which Python files name, list or load a changed file that is no Python."""

from __future__ import annotations

import fnmatch
import posixpath
from typing import TYPE_CHECKING, Final

from presubmit.selector.layout import in_test_folder

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from presubmit.selector.imports import Imports
    from presubmit.selector.layout import Layout

_RESOURCES: Final = (
    "importlib.resources",
    "importlib_resources",
    "pkg_resources",
    "pkgutil.get_data",
)


def find_mentions(
    layout: Layout, imports: Sequence[Mapping[str, Imports]], others: Collection[str]
) -> dict[str, set[str]]:
    """Give, for each file that is no Python, the Python files that may read it."""
    found: dict[str, set[str]] = {}
    if not others:
        return found
    finder = _Finder(layout, others)
    for side in imports:
        for path in side:
            for other in finder.named(path, side[path]):
                found.setdefault(other, set()).add(path)
    return found


class _Finder:
    """Looks up words of sources among a few files."""

    def __init__(self, layout: Layout, others: Collection[str]) -> None:
        self.layout = layout
        self.others = tuple(others)
        self.collected = frozenset((*layout.tests, *layout.conftests))
        self.by_base: dict[str, list[str]] = {}
        self.by_suffix: dict[str, list[str]] = {}
        self.by_folder: dict[str, list[str]] = {}
        self.tops = {path: top_package(posixpath.dirname(path), layout) for path in self.others}
        for path in self.others:
            self.by_base.setdefault(posixpath.basename(path), []).append(path)
            self.by_suffix.setdefault(posixpath.splitext(path)[1], []).append(path)
            for folder in _plain_folders(path, layout):
                self.by_folder.setdefault(folder, []).append(path)
        self.by_suffix.pop("", None)

    def named(self, path: str, value: Imports) -> Iterator[str]:
        """Give the files that one source may read."""
        for word in value.words:
            base = word.replace("\\", "/").rstrip("/").rpartition("/")[2]
            if "*" in base:
                if not base.strip("*?"):
                    continue  # an operator or all of a folder: what is listed is looked at below
                for other in self.others:
                    if fnmatch.fnmatchcase(posixpath.basename(other), base):
                        yield other
                continue
            yield from self.by_base.get(base, ())
            yield from self.by_suffix.get(base, ())
            yield from self.by_folder.get(base, ())
            if value.lists:
                yield from self._in_named_folder(word)
        if value.lists or _loads_resources(value):
            yield from self._beside(path)

    def _in_named_folder(self, word: str) -> Iterator[str]:
        folder = word.strip("/")
        for path in self.others if folder else ():
            if f"/{folder}/" in f"/{posixpath.dirname(path)}/":
                yield path

    def _beside(self, path: str) -> Iterator[str]:
        """Give the files of the same package, or below a test's own folder."""
        folder = posixpath.dirname(path)
        top = top_package(folder, self.layout)
        for other in self.others:
            beside = path in self.collected and (not folder or other.startswith(f"{folder}/"))
            if beside or (top and self.tops[other] == top):
                yield other


def top_package(folder: str, layout: Layout) -> str:
    """Give the outermost package around a folder that lies in one, through plain folders; else nothing."""
    top = ""
    while folder:
        if folder in layout.packages and not in_test_folder(f"{folder}/x"):
            top = folder
        folder = posixpath.dirname(folder)
    return top


def _plain_folders(path: str, layout: Layout) -> Iterator[str]:
    """Give the names of the folders around a file that are neither packages nor tests' own."""
    folder = posixpath.dirname(path)
    while folder and folder not in layout.packages:
        name = posixpath.basename(folder)
        if in_test_folder(f"{name}/x"):
            return
        yield name
        folder = posixpath.dirname(folder)


def _loads_resources(value: Imports) -> bool:
    return any(name.startswith(_RESOURCES) for name in value.names)
