"""Brings recorded runs to a selection: which of them are near, what differs since each, and what names lead to."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

import msgspec

from presubmit.selector.choose import choose
from presubmit.selector.element import ElementKind
from presubmit.selector.names import NameGraph
from presubmit.selector.recorded import Past, about, folders_of, with_recordings
from presubmit.selector.recorded_index import TEST, DamagedRecordingError, Index
from presubmit.selector.recorded_spread import Changed, files_beside
from presubmit.selector.rules import Reach
from presubmit.selector.scene import make_scene
from presubmit.selector.shapes import read_shapes
from presubmit.values import ChangedFile, FileStatus, Mode, Selection

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from presubmit.selector.element import Element, Shape
    from presubmit.selector.recorded_store import Stored
    from presubmit.selector.scene import Scene
    from presubmit.selector.tree import Tree
    from presubmit.values import Change

_MOST_RUNS: Final = 4
_MOST_DIFFERENT: Final = 2_000
"""Files: a run that differs in more says too little to be worth the reading."""
_READERS: Final = 2
"""Tests that open a file by themselves; one alone may have opened it for all, into some cache that it fills."""


@dataclass(frozen=True, kw_only=True)
class StaticSetting:
    """What the static choice was made with, to make it again for parts of the change; and what reading needs."""

    blobs: Mapping[str, str]
    """Blob ids of the tree under test."""
    base_blobs: Mapping[str, str]
    read: Callable[[Iterable[str]], Mapping[str, bytes]]
    """Gives the contents of those blob ids that are still to be had."""
    now: datetime
    always: tuple[str, ...] = ()
    full_if: tuple[str, ...] = ()
    rules: Mapping[str, str] | None = None


class Names(NameGraph):
    """A NameGraph that tells functions from what stands for them."""

    def is_function(self, path: str, qualname: str) -> bool:
        """Tell a function from an alias, an imported name, a class or a table."""
        element = self.index.elements(path).get(qualname)
        return element is not None and element.kind is ElementKind.FUNCTION


def by_recordings(
    change: Change,
    scene: Scene,
    selection: Selection,
    runs: Sequence[Stored],
    setting: StaticSetting,
) -> Selection:
    """Narrow a static selection by the nearest of the recorded runs."""
    near = _nearest(runs, setting.blobs)
    if not near or selection.unsure:
        return selection
    try:
        changed = divide(change.files, scene, [stored.index for stored, _ in near])
        rest = _again(change, changed.rest, scene.tree, setting)
        if rest.mode is Mode.ALL:
            return selection
        pasts = [
            past
            for stored, files in near
            if (past := _past(change, scene.tree, stored, files, setting)) is not None
        ]
        if not pasts:
            return selection
        return with_recordings(
            selection,
            rest,
            changed,
            pasts,
            names=_names(scene, [changed, *(past.since for past in pasts)], pasts),
            graph=scene.graph,
        )
    except DamagedRecordingError:
        return selection


def differing(old: Mapping[str, str], new: Mapping[str, str]) -> tuple[ChangedFile, ...]:
    """Give the files that differ between two trees, by their blob ids."""
    files = []
    for path in sorted({*old, *new}):
        before, after = old.get(path), new.get(path)
        if before == after:
            continue
        status = FileStatus.MODIFIED
        if before is None or after is None:
            status = FileStatus.ADDED if before is None else FileStatus.DELETED
        files.append(ChangedFile(path=path, status=status))
    return tuple(files)


def _nearest(
    runs: Sequence[Stored], blobs: Mapping[str, str]
) -> list[tuple[Stored, tuple[ChangedFile, ...]]]:
    """Give the runs that differ least from head, with the files; one of the whole suite among them."""
    # What the store could not write as it is, it wrote otherwise; a name that differs so is a file that differs.
    found = [(stored, differing(stored.run.files, blobs)) for stored in runs]
    found = [(stored, files) for stored, files in found if len(files) <= _MOST_DIFFERENT]
    found.sort(key=lambda it: (len(it[1]), -it[0].number))
    near = found[:_MOST_RUNS]
    if not any(stored.run.suite for stored, _ in near):
        near += [it for it in found[_MOST_RUNS:] if it[0].run.suite][:1]
    return near


# --- what recordings can answer for -------------------------------------------------------------------------------------


def divide(files: Iterable[ChangedFile], scene: Scene, indexes: Sequence[Index]) -> Changed:
    """Part a change into what recordings answer for (function bodies, files that are read) and the rest."""
    bodies: dict[str, frozenset[str]] = {}
    rest = []
    moved: set[str] = set()
    paths: set[str] = set()
    for file in files:
        paths.update(file.paths)
        _, effect = scene.judged[file.path]
        if file.status is not FileStatus.MODIFIED:
            moved.update(file.paths)
            rest.append(file)
        elif file.path in scene.differences and effect.reach is Reach.GRAPH:
            names = _bodies(file.path, scene)
            if names:
                bodies[file.path] = names
            else:
                rest.append(file)
        elif not _is_read(file.path, scene, indexes):
            rest.append(file)
    return Changed(bodies=bodies, paths=frozenset(paths), moved=frozenset(moved), rest=tuple(rest))


def _bodies(path: str, scene: Scene) -> frozenset[str]:
    """Give the functions of which only the body differs; none where more does than a recording sees."""
    names = scene.bodies.get(path, ())
    old = _elements(scene.tree.base_shapes([path]).get(path))
    new = _elements(scene.tree.shapes([path]).get(path))
    seen = all(_is_seen(old.get(name), new.get(name)) for name in names)
    return frozenset(names) if seen else frozenset()


def _elements(shape: Shape | None) -> dict[str, Element]:
    return {} if shape is None else {one.qualname: one for one in shape.elements}


def _is_seen(base: Element | None, head: Element | None) -> bool:
    """Tell whether a recording shows that an element ran: a function whose calls begin alike on both sides."""
    if base is None or head is None:
        return False
    functions = {base.kind, head.kind} == {ElementKind.FUNCTION}
    return functions and bool(head.call) and base.call == head.call


def _is_read(path: str, scene: Scene, indexes: Sequence[Index]) -> bool:
    """Tell whether a recording shows who reads a file: several tests opened it, each by itself."""
    _, effect = scene.judged[path]
    if effect.reach is Reach.NONE:
        return True
    if effect.reach not in {Reach.DATA, Reach.MENTIONS} or effect.unsure or path in scene.makes:
        return False
    # A run of some tests, none of which opened it, says nothing of those that do.
    telling = [index for index in indexes if index.opened(path)]
    return bool(telling) and all(_shows_readers(path, scene, index) for index in telling)


def _shows_readers(path: str, scene: Scene, index: Index) -> bool:
    """Tell whether each test that depends on a file opened it: none was served by what another one kept of it."""
    readers = [n for n in index.opened(path) if index.contexts[n].context.startswith(TEST)]
    if len(readers) == 1 and not index.contexts[readers[0]].modules:
        return not index.contexts[readers[0]].may_leave or _keeps_nothing(
            _functions_of(readers[0], index), scene
        )
    return len(readers) >= _READERS


def _functions_of(number: int, index: Index) -> dict[str, list[str]]:
    """Give the functions that ran in a test, by file: the index has those of wider contexts alone."""
    found: dict[str, list[str]] = {}
    for path in index.files():
        names = [name for name, numbers in index.ran(path).items() if number in numbers]
        if names:
            found[path] = names
    return found


def _keeps_nothing(ran: Mapping[str, Collection[str]], scene: Scene) -> bool:
    """Tell whether functions leave nothing behind that a later test may be served from."""
    known = {*ran, *scene.graph.reached_from(ran)}
    paths = [path for path in scene.layout.names if path in known and path not in scene.gone]
    names = Names(scene.tree.shapes(paths), scene.layout, scene.imports, scene.graph)
    return all(
        path in known and not names.keeps_state(path, name)
        for path, found in ran.items()
        for name in found
    )


# --- a run, seen from head ----------------------------------------------------------------------------------------------


def _again(
    change: Change, files: tuple[ChangedFile, ...], tree: Tree, setting: StaticSetting
) -> Selection:
    """Make the static choice for some files alone."""
    if not files:
        return Selection(mode=Mode.NONE, tests=(), known=0)
    part = msgspec.structs.replace(change, files=files)
    return choose(
        part,
        make_scene(part, tree, setting.rules),
        always=setting.always,
        full_if=setting.full_if,
    )


def _past(
    change: Change,
    tree: Tree,
    stored: Stored,
    files: tuple[ChangedFile, ...],
    setting: StaticSetting,
) -> Past | None:
    """See a run from head; None where what differs since may have changed everything."""
    run = stored.run
    old = _old_tree(tree, run.files, setting)
    since = Changed()
    stale: frozenset[str] = frozenset()
    if files:
        drift = msgspec.structs.replace(change, files=files)
        since = divide(files, make_scene(drift, old, setting.rules), [stored.index])
        again = _again(change, since.rest, old, setting)
        if again.mode is Mode.ALL:
            return None
        stale = frozenset(test.path for test in again.tests)
    return Past(
        index=stored.index,
        number=stored.number,
        whole=frozenset(run.whole),
        since=since,
        stale=stale,
        folders=folders_of(run.files, setting.blobs, setting.base_blobs),
        about=about(
            at=_when(run.at),
            now=setting.now,
            commit=run.commit,
            differ=len(files),
            origin=run.origin,
        ),
    )


def _old_tree(
    tree: Tree,
    files: Mapping[str, str],
    setting: StaticSetting,
) -> Tree:
    """Give head's tree with a recorded tree in the place of the base: by blobs that may be gone by now."""

    def shapes(paths: Collection[str]) -> dict[str, Shape]:
        wanted = {path: files[path] for path in paths if path in files}
        found = read_shapes(wanted.values(), setting.read, tree.cache)
        return {path: found[blob] for path, blob in wanted.items() if blob in found}

    def texts(paths: Collection[str]) -> dict[str, bytes]:
        wanted = {path: files[path] for path in paths if path in files}
        found = setting.read(set(wanted.values())) if wanted else {}
        return {path: found[blob] for path, blob in wanted.items() if blob in found}

    return dataclasses.replace(
        tree, base_imports={}, modes=frozenset(), base_shapes=shapes, base_texts=texts
    )


def _when(text: str) -> datetime:
    try:
        return datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    except ValueError:
        return datetime.fromtimestamp(0, UTC)


def _names(scene: Scene, changes: Iterable[Changed], pasts: Iterable[Past]) -> Names:
    """Make the name graph of all that depends on the changed functions, and of what ran beside them."""
    bodies: dict[str, set[str]] = {}
    for changed in changes:
        for path, names in changed.bodies.items():
            bodies.setdefault(path, set()).update(names)
    closure = scene.graph.reach(bodies)
    tests = [test for test in scene.layout.tests if test in closure]
    needed = {*closure, *scene.graph.reached_from(tests)}
    for past in pasts:
        needed |= files_beside(past.index, bodies)
    paths = [path for path in scene.layout.names if path in needed and path not in scene.gone]
    return Names(scene.tree.shapes(paths), scene.layout, scene.imports, scene.graph)
