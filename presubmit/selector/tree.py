"""The tree that a selection is made in: its paths, what its Python files import, its configuration texts."""

from __future__ import annotations

import errno
import hashlib
import multiprocessing
import os
import posixpath
import stat
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from presubmit.selector.imports import EXTRACTOR, Imports, read_imports
from presubmit.selector.layout import CONFIG_NAMES, dotted, is_python

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from presubmit.selector.cache import ImportCache

_LARGEST: Final = 16 * 1024 * 1024
_MOST_NESTED_CONFIGS: Final = 200
_MANY: Final = 1_000


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


def read_tree(
    root: Path,
    paths: Sequence[str],
    *,
    cache: ImportCache | None = None,
    blobs: Mapping[str, str] | None = None,
    base: Mapping[str, bytes] | None = None,
) -> Tree:
    """Read a checkout; `blobs` (path -> git blob id) spares reading what the cache has, `base` are old sources."""
    reader = _Reader(root)
    links = reader.links(paths)
    python = [path for path in paths if is_python(path) and path not in links]
    imports, unread = _read_imports(reader, python, cache=cache, blobs=blobs or {})
    old = {path: source for path, source in (base or {}).items() if is_python(path)}
    return Tree(
        paths=tuple(paths),
        imports=imports,
        base_imports={path: imports_of(path, source) for path, source in old.items()},
        configs=_configs(reader, paths),
        links=links,
        unread=unread,
    )


def _read_imports(
    reader: _Reader,
    paths: Sequence[str],
    *,
    cache: ImportCache | None,
    blobs: Mapping[str, str],
) -> tuple[dict[str, Imports], dict[str, str]]:
    """Give what each file imports (from the cache where it is there), and the files that cannot be read."""
    keys = {path: _key(path, blobs[path]) for path in paths if path in blobs}
    known = {} if cache is None else dict(cache.load(sorted(keys.values())))
    imports = {path: known[key] for path, key in keys.items() if key in known}
    sources: dict[str, bytes] = {}
    unread: dict[str, str] = {}
    for path in paths:
        if path not in imports:
            try:
                sources[path] = reader.read(path)
            except OSError as error:
                unread[path] = error.strerror or str(error)
    keys = {path: _key(path, _blob_id(source)) for path, source in sources.items()}
    known = {} if cache is None else dict(cache.load(sorted(keys.values())))
    wanted = {key: path for path, key in keys.items() if key not in known}
    fresh = dict(zip(wanted, _parse([(p, sources[p]) for p in wanted.values()]), strict=True))
    known |= fresh
    imports |= {path: known[key] for path, key in keys.items()}
    if cache is not None and fresh:
        cache.store(fresh)
    return imports, unread


def _parse(sources: Sequence[tuple[str, bytes]]) -> list[Imports]:
    """Parse sources, many of them on every core."""
    if len(sources) >= _MANY:
        # A process that starts anew, not a fork: the program around may have threads.
        context = multiprocessing.get_context("spawn")
        try:
            with ProcessPoolExecutor(mp_context=context) as pool:
                return list(pool.map(_imports_of_pair, sources, chunksize=50))
        except (OSError, BrokenProcessPool):
            pass  # no room for processes: one core does it too
    return [imports_of(path, source) for path, source in sources]


def _imports_of_pair(pair: tuple[str, bytes]) -> Imports:
    return imports_of(*pair)


def imports_of(path: str, source: bytes) -> Imports:
    """Read the imports of the file at a path of the tree."""
    return read_imports(
        source, module=dotted(path), is_package=posixpath.basename(path) == "__init__.py"
    )


def _key(path: str, blob: str) -> str:
    """Give the cache's key: relative imports make the value depend on where the file stands."""
    package = posixpath.basename(path) == "__init__.py"
    return f"{EXTRACTOR}:{blob}:{dotted(path)}:{'p' if package else 'm'}"


def _blob_id(source: bytes) -> str:
    """Give the id that git (sha1) gives to this content."""
    head = f"blob {len(source)}\0".encode()
    return hashlib.sha1(head + source, usedforsecurity=False).hexdigest()


def _configs(reader: _Reader, paths: Iterable[str]) -> dict[str, str]:
    wanted = [path for path in paths if posixpath.basename(path) in CONFIG_NAMES]
    nested = sorted((p for p in wanted if "/" in p), key=lambda p: (p.count("/"), p))
    texts: dict[str, str] = {}
    for path in [p for p in wanted if "/" not in p] + nested[:_MOST_NESTED_CONFIGS]:
        try:
            texts[path] = reader.read(path).decode("utf-8", "replace").removeprefix("\ufeff")
        except OSError:
            continue
    return texts


class _Reader:
    """Reads regular files below a root, never through a link that leaves it."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self.inside: dict[str, bool] = {}

    def read(self, path: str) -> bytes:
        """Give the content of a regular file."""
        if not self._stays_inside(posixpath.dirname(path)):
            raise OSError(errno.ELOOP, "a link leads out of the tree")
        descriptor = os.open(
            self.root / path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        )
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise OSError(errno.EINVAL, "no regular file")
            return file.read(_LARGEST)

    def _stays_inside(self, folder: str) -> bool:
        if ".." in folder.split("/") or folder.startswith("/"):
            return False
        if folder not in self.inside:
            real = Path(os.path.realpath(self.root / folder))
            self.inside[folder] = real == self.root or self.root in real.parents
        return self.inside[folder]

    def links(self, paths: Iterable[str]) -> dict[str, str]:
        """Give the symbolic links among the paths, and what of the tree they stand for."""
        found: dict[str, str] = {}
        for path in paths:
            place = self.root / path
            try:
                if not stat.S_ISLNK(place.lstat().st_mode):
                    continue
            except (OSError, ValueError):
                continue
            target = Path(os.path.realpath(place))
            inside = self.root in target.parents
            found[path] = target.relative_to(self.root).as_posix() if inside else ""
        return found
