"""What may depend on a changed data file besides the sources that name it: other data, build files, its package."""

from __future__ import annotations

import fnmatch
import os
import posixpath
from typing import TYPE_CHECKING, Final

from presubmit.selector import patterns
from presubmit.selector.layout import in_test_folder, is_python
from presubmit.selector.mentions import top_package

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from presubmit.selector.layout import Layout

    Texts = Callable[[Collection[str]], Mapping[str, bytes]]

_MOST_READ: Final = 1_500
"""Files that are searched for a name at the most."""
_LARGEST: Final = 1024 * 1024
_BINARY: Final = frozenset(
    [
        ".png",
        ".jpg",
        ".jpeg",
        ".gif",
        ".ico",
        ".gz",
        ".zip",
        ".npy",
        ".npz",
        ".pkl",
        ".mo",
        ".ttf",
        ".woff",
        ".woff2",
        ".whl",
        ".bz2",
        ".xz",
        ".pdf",
    ]
)


def read_referrers(
    changed: Iterable[str], paths: Sequence[str], layout: Layout, texts: Texts
) -> dict[str, tuple[str, ...]]:
    """Give, for each changed data file and each that names it, the data files beside it that name it in turn."""
    found: dict[str, tuple[str, ...]] = {}
    contents: dict[str, dict[str, bytes]] = {}
    waiting = list(changed)
    while waiting:
        path = waiting.pop()
        place = _place(path, layout)
        if path in found or not place:
            continue
        if place not in contents:
            beside = [it for it in paths if it.startswith(f"{place}/") and _is_text(it)]
            contents[place] = dict(texts(beside[:_MOST_READ]))
        name = os.fsencode(posixpath.basename(path))
        found[path] = tuple(
            other
            for other, text in sorted(contents[place].items())
            if other != path and name in text[:_LARGEST]
        )
        waiting += found[path]
    return found


def _place(path: str, layout: Layout) -> str:
    """Give the folder in which other data may name a file: its package, or the top folder."""
    folder = posixpath.dirname(path)
    return top_package(folder, layout) or folder.partition("/")[0]


def _is_text(path: str) -> bool:
    suffix = posixpath.splitext(path)[1].lower()
    return suffix in patterns.DATA and suffix not in _BINARY and not is_python(path)


def read_build_mentions(
    changed: Collection[str], paths: Sequence[str], texts: Texts
) -> dict[str, str]:
    """Give the changed files that a build file names, and the build file."""
    if not changed:
        return {}
    builds = [it for it in paths if _is_build_text(it)]
    found: dict[str, str] = {}
    for build, text in sorted(texts(builds[:_MOST_READ]).items()):
        for path in changed:
            if os.fsencode(posixpath.basename(path)) in text:
                found.setdefault(path, build)
    return found


def _is_build_text(path: str) -> bool:
    name = posixpath.basename(path)
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns.BUILD_TEXTS)


def makes_code(path: str, layout: Layout) -> bool:
    """Tell a program that makes code, by where it lies."""
    parts = path.split("/")[:-1]
    return path not in layout.tests and not patterns.CODE_MAKERS.isdisjoint(parts[:2])


def package_of(path: str, layout: Layout) -> str:
    """Give the `__init__.py` of the nearest package around a file; empty where it lies in none, or among tests."""
    folder = posixpath.dirname(path)
    if in_test_folder(path):
        return ""
    while folder:
        if folder in layout.packages:
            return f"{folder}/__init__.py"
        folder = posixpath.dirname(folder)
    return ""


def tests_around(path: str, layout: Layout) -> tuple[str, ...]:
    """Give the test files below the nearest folder around a file that has any; only within a folder for tests."""
    folder = posixpath.dirname(path)
    while folder and in_test_folder(f"{folder}/x"):
        if found := tuple(test for test in layout.tests if test.startswith(f"{folder}/")):
            return found
        folder = posixpath.dirname(folder)
    return ()
