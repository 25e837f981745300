"""Names files by their place in the tree, also those that were installed as copies of the tree's own."""

import os
import sysconfig
from typing import Dict, Optional, Set

_SKIPPED = frozenset(("site-packages", "dist-packages", "__pycache__", ".git"))
_SOURCES = ("", "src", "lib")


class Places:
    """The tree as the tests see it, and where its sources are where that is another folder."""

    def __init__(self, root: str, source: str = "") -> None:
        self._roots = list(dict.fromkeys((os.path.normpath(root), os.path.realpath(root))))
        self._source = os.path.normpath(source or root)
        self._known: Dict[str, Optional[str]] = {}
        self._traced: Dict[str, Optional[str]] = {}
        paths = sysconfig.get_paths()
        self._installed = list(dict.fromkeys((paths["purelib"], paths["platlib"])))
        self.stale: Set[str] = set()
        """Files of the tree of which an installed copy ran that is another."""

    def relative(self, path: str) -> Optional[str]:
        """Give an absolute path's name in the tree, `.` for the root; None for what is no part of it."""
        if path not in self._known:
            self._known[path] = self._find(path)
        return self._known[path]

    def both(self, path: str) -> Set[str]:
        """Give the names of what was opened: the one that was used, and that of what a link leads to."""
        named = self.relative(path)
        real = self.relative(os.path.realpath(path))
        return {name for name in (named, real) if name is not None}

    def traced(self, filename: str) -> Optional[str]:
        """Give the name of a file whose code runs, None where it is not the tree's."""
        if filename not in self._traced:
            self._traced[filename] = self._code(filename)
        return self._traced[filename]

    def where(self, name: str) -> str:
        """Give the absolute path of a file of the tree by its name."""
        for top in (self._roots[0], self._source):
            path = os.path.join(top, name)
            if os.path.isfile(path):
                return path
        return os.path.join(self._roots[0], name)

    def _find(self, path):
        clean = os.path.normpath(path)
        for one in dict.fromkeys((clean, os.path.realpath(clean))):
            for top in self._roots:
                name = _below(top, one)
                if name is not None:
                    return None if _SKIPPED.intersection(name.split("/")) else name
        return None

    def _code(self, filename):
        if filename.startswith("<"):
            return None
        path = os.path.abspath(filename)
        name = self.relative(path)
        if name is not None:
            return name if os.path.isfile(path) else None
        return self._twin(path)

    def _twin(self, path):
        """Find the file of the tree that an installed one is a copy of."""
        for folder in self._installed:
            inside = _below(folder, path)
            if inside is None:
                continue
            for top in _SOURCES:
                name = top + "/" + inside if top else inside
                theirs = os.path.join(self._source, name)
                if os.path.isfile(theirs):
                    if _content(theirs) == _content(path):
                        return name
                    self.stale.add(name)
        return None


def _below(root, path):
    if path == root:
        return "."
    prefix = root.rstrip("/") + "/"
    return path[len(prefix) :] if path.startswith(prefix) else None


def _content(path):
    with open(path, "rb") as stream:
        return stream.read()
