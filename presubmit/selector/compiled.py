"""What a change means for compiled code: which Python files a native file reaches, and which native code a Python file."""

from __future__ import annotations

import contextlib
import hashlib
import posixpath
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import msgspec

from presubmit.selector.builds import build_key, load_built
from presubmit.selector.cache import Kind
from presubmit.selector.element import Element, ElementKind, Shape
from presubmit.selector.layout import is_python
from presubmit.selector.native.exact import is_current, with_built
from presubmit.selector.native.suffixes import is_native_file
from presubmit.values import FileStatus, PureTwin

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from presubmit.selector.imports import Imports
    from presubmit.selector.layout import Layout
    from presubmit.selector.native.exact import Built
    from presubmit.selector.native.values import NativeMap, NativeReach
    from presubmit.selector.tree import Tree
    from presubmit.values import Change

_VERSION: Final = 1
"""Raise it when `read_native` gives another map for the same files."""
_SWITCHING: Final = ("PURE", "NO_EXT", "FALLBACK", "DISABLE", "WITHOUT", "NO_")
_METHOD: Final = "*."
"""The class of a bound method is not known: an attribute of anything may be it."""


@dataclass(frozen=True, kw_only=True)
class Compiled:
    """What is known of native code; nothing where the tree has none."""

    reaches: Mapping[str, NativeReach] = field(default_factory=dict)
    """For each changed native file, what it can touch."""
    edges: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Node -> dependents: native file -> extension modules -> Python files, Python file -> extension modules."""
    notes: tuple[str, ...] = ()
    """What the tests do not run although the change touches it."""
    twins: tuple[PureTwin, ...] = ()
    """What the tests run only with a variable; the tests are not known here."""

    @property
    def names(self) -> dict[str, tuple[str, ...]]:
        """Give the changed native files of which the names that can behave otherwise are known."""
        return {path: it.names for path, it in self.reaches.items() if it.names and not it.unsure}


def read_compiled(
    change: Change, tree: Tree, layout: Layout, imports: Mapping[str, Imports]
) -> Compiled:
    """Read which extension modules the tree builds, and what the change does to them."""
    present = [path for path in tree.paths if is_native_file(path) and path not in tree.links]
    changed = [
        file
        for file in change.files
        if any(is_native_file(path) for path in file.paths) and file.path not in tree.links
    ]
    python = [path for file in change.files for path in file.paths if is_python(path)]
    if not changed and not (present and python):
        return Compiled()
    gone = [path for file in change.files for path in file.paths if path not in set(tree.paths)]
    found = _read_map(tree, [*tree.paths, *(it for it in gone if is_native_file(it))])
    reaches = _reaches(change, tree, found) if changed else {}
    known = _twins(tree, layout, found, python)
    return Compiled(
        reaches=reaches,
        edges=_edges(reaches, found, layout, imports),
        notes=_twin_notes(known),
        twins=tuple(twin for twin in known if twin.variable),
    )


def _read_map(tree: Tree, paths: Collection[str]) -> NativeMap:
    """Read the map, or take it from the cache: it rests on all paths, and on the native and build files' content."""
    from presubmit.selector.native.values import NativeMap  # noqa: PLC0415 - most trees have no native code

    texts = {path: tree.blobs[path] for path in paths if path in tree.blobs and _is_read(path)}
    built = _last_build(tree)
    data = repr((_VERSION, built, sorted(paths), sorted(texts.items()))).encode(
        "utf-8", "backslashreplace"
    )
    key = f"native:{hashlib.sha256(data).hexdigest()}"
    if tree.cache is not None and (kept := tree.cache.load(Kind.NATIVE, [key]).get(key)):
        with contextlib.suppress(msgspec.MsgspecError, UnicodeError):  # damaged: read anew
            return msgspec.msgpack.decode(kept, type=NativeMap)
    from presubmit.selector.native.static import read_native  # noqa: PLC0415 - read once, and kept

    contents = tree.texts(texts)
    found = read_native(paths, contents.get, built=built)
    if built is not None:
        found = with_built(found, built, tree.blobs)
    if tree.cache is not None:
        with contextlib.suppress(UnicodeEncodeError):  # a name that is not UTF-8: read each time
            tree.cache.store(Kind.NATIVE, {key: msgspec.msgpack.encode(found)})
    return found


def _last_build(tree: Tree) -> Built | None:
    """Give the last build by the tree's build files, of just its native files."""
    if tree.cache is None or not tree.blobs:
        return None
    key = build_key(tree.blobs, lambda path: tree.texts([path]).get(path))
    built = load_built(tree.cache, key)
    return built if built is not None and is_current(built, tree.blobs) else None


def _is_read(path: str) -> bool:
    name = path.rpartition("/")[2]
    return is_native_file(path) or name in {
        "setup.py",
        "setup.cfg",
        "pyproject.toml",
        "meson.build",
        "meson.options",
        "meson_options.txt",
        "CMakeLists.txt",
    }


def _reaches(change: Change, tree: Tree, found: NativeMap) -> dict[str, NativeReach]:
    """Say what each changed native file can touch; a rename is a deletion and an addition."""
    from presubmit.selector.native.reach import native_reach  # noqa: PLC0415 - most changes touch no native code

    sides: dict[str, tuple[bytes | None, bytes | None]] = {}
    paths = [path for file in change.files for path in file.paths if is_native_file(path)]
    before, after = tree.base_texts(paths), tree.texts(paths)
    for file in change.files:
        for path in file.paths:
            if not is_native_file(path) or path in tree.links:
                continue
            added = file.status is FileStatus.ADDED
            renamed = file.old_path is not None
            old = None if added or (renamed and path == file.path) else before.get(path)
            sides[path] = (old, after.get(path))
    return native_reach(sides, found, lambda path: tree.texts([path]).get(path))


def _edges(
    reaches: Mapping[str, NativeReach],
    found: NativeMap,
    layout: Layout,
    imports: Mapping[str, Imports],
) -> dict[str, tuple[str, ...]]:
    from presubmit.selector.native.reach import importers  # noqa: PLC0415 - most trees have no native code

    edges: dict[str, tuple[str, ...]] = {}
    for path, reach in reaches.items():
        if not reach.quiet:
            edges[path] = tuple(_node(module) for module in reach.modules)
    edges |= _edges_of_python(found, layout)
    wanted = dict.fromkeys(it for nodes in edges.values() for it in nodes)
    for module in found.modules:
        if _node(module) in wanted:
            edges[_node(module)] = importers(module, imports)
    return edges


def _edges_of_python(found: NativeMap, layout: Layout) -> dict[str, tuple[str, ...]]:
    """Give the Python files that native code imports when it runs: what they do, the module does."""
    wanted: dict[str, list[str]] = {}
    for module, names in found.imports.items():
        for name in names:
            parts = name.split(".")
            for end in range(1, len(parts) + 1):
                wanted.setdefault(".".join(parts[:end]), []).append(module)
    if not wanted:
        return {}
    edges: dict[str, tuple[str, ...]] = {}
    for path, known in layout.names.items():
        modules = [module for name in known for module in wanted.get(name, ())]
        if modules:
            edges[path] = tuple(_node(module) for module in dict.fromkeys(modules))
    return edges


def _node(module: str) -> str:
    """Name a module's node in the graph so that it is no path."""
    return f"{module} (extension module)"


def _twins(
    tree: Tree, layout: Layout, found: NativeMap, python: Collection[str]
) -> tuple[PureTwin, ...]:
    """Find where a changed Python file stands in for an extension module, which is loaded in its place."""
    if not found.modules or not python:
        return ()
    from presubmit.selector.native.twins import twins  # noqa: PLC0415 - most trees have no native code

    folders = {posixpath.dirname(path) for path in python}
    near = [path for path in layout.names if posixpath.dirname(path) in folders]
    return tuple(
        dict.fromkeys(
            PureTwin(
                path=path,
                modules=tuple(layout.names[path]),
                native=twin.module,
                variable=next(iter(sorted(twin.switches, key=_unlike_a_switch)), ""),
            )
            for twin in twins(tuple(found.modules), tree.texts(near))
            for path in python
            if twin.pure in layout.names.get(path, ())
        )
    )


def _unlike_a_switch(name: str) -> bool:
    """Put variables that say what they do before others that the same conditions read."""
    return not any(word in name for word in _SWITCHING)


def _twin_notes(known: Iterable[PureTwin]) -> tuple[str, ...]:
    """Say of which twin no variable is known that loads it."""
    return tuple(
        f"{twin.path} stands in for {twin.native}, which tests load in its place where it is built: "
        "a build without it tests it"
        for twin in known
        if not twin.variable
    )


# --- for the name graph ---------------------------------------------------------------------------------------------


def shape_of(names: Iterable[str]) -> Shape:
    """Stand in for an extension module: its names, each as a function of the module and as a method of some class."""
    return Shape(
        elements=tuple(
            Element(
                qualname=qualname,
                kind=ElementKind.FUNCTION,
                first_line=1,
                last_line=1,
                head="",
            )
            for name in names
            for qualname in elements_of(name)
        )
    )


def elements_of(name: str) -> tuple[str, ...]:
    """Give the qualified names of `shape_of` that stand for one bound name."""
    return (name, f"{_METHOD}{name}")


def shown(node: str) -> str:
    """Write a node of a chain without the class that is not known."""
    return node.replace(f"::{_METHOD}", "::")


def with_modules(layout: Layout, reaches: Mapping[str, NativeReach]) -> Layout:
    """Give a layout in which changed native files have the names of the modules that they are built into."""
    more = {path: it.modules for path, it in reaches.items()}
    return msgspec.structs.replace(layout, names={**layout.names, **more})
