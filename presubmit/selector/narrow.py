"""Narrows the files that depend on changed functions and constants to those in which names lead to them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

from presubmit.selector.compiled import elements_of, shape_of, shown, with_modules
from presubmit.selector.layout import is_python

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from presubmit.selector.graph import Graph
    from presubmit.selector.imports import Imports
    from presubmit.selector.layout import Layout, PytestSettings
    from presubmit.selector.scene import Scene
    from presubmit.selector.shape import Shape

Chain = tuple[str, ...]

_MOST: Final = 3_000
"""Files through which names are followed: 5,900 of them take 12 CPU seconds and 590 MB, all warm, against 1 and 170."""
_FEW: Final = 40
"""Changed elements that are followed one by one."""


class Reached(Protocol):
    """What names lead to: a `NameReach`."""

    @property
    def files(self) -> Mapping[str, Chain]:
        """Test files in which an element may run what changed."""

    @property
    def at_import(self) -> Mapping[str, Chain]:
        """Files that may run it when they are imported."""

    @property
    def importing(self) -> Mapping[str, Chain]:
        """Test files that import one of these while they may have at hand what runs."""

    @property
    def unsure(self) -> Collection[str]:
        """Why names cannot be trusted."""


class Names(Protocol):
    """Follows names between elements: a `NameGraph`."""

    def reach(self, changed: Mapping[str, Collection[str]]) -> Reached:
        """Walk from changed elements."""


class MakeNames(Protocol):
    """Makes a `Names` of the shapes of some files."""

    def __call__(
        self,
        shapes: Mapping[str, Shape],
        layout: Layout,
        imports: Mapping[str, Imports],
        graph: Graph,
        /,
    ) -> Names:
        """Make it."""


@dataclass(frozen=True, kw_only=True)
class Narrowed:
    """The tests that names lead to, and those that only imports do."""

    chains: Mapping[str, Chain] = field(default_factory=dict)
    """Tests, with chains of `path::qualname` and files."""
    imported: Mapping[str, Chain] = field(default_factory=dict)
    """Tests that stay chosen by their imports, with chains of files."""
    left: Mapping[str, Chain] = field(default_factory=dict)
    """Tests that import a changed file and in which no name leads to what changed."""
    why: str = ""
    """Why names do not narrow `imported`."""


def narrow(scene: Scene, make_names: MakeNames | None) -> Narrowed:
    """Choose among the tests that import a file of which only functions' bodies and constants changed."""
    return follow(scene, scene.narrowed, make_names)


def follow(scene: Scene, changed: Mapping[str, Chain], make_names: MakeNames | None) -> Narrowed:
    """Choose among the tests that import some files those in which names lead to some elements of these."""
    closure = scene.graph.reach(changed)
    tests = {test: closure[test] for test in scene.layout.tests if test in closure}
    if not tests:
        return Narrowed()
    if make_names is None or (why := _untold(scene.layout.settings)):
        return Narrowed(imported=tests, why="" if make_names is None else why)
    # A test may hand an object of a changed file to one that does not import it, so all that the tests use counts.
    needed = {*closure, *scene.graph.reached_from(tests)}
    paths = [path for path in scene.layout.names if path in needed and path not in scene.gone]
    if len(paths) > _MOST:
        return Narrowed(imported=tests, why=f"names are not followed through {len(paths)} files")
    shapes = scene.tree.shapes(paths)
    if unread := [path for path in paths if path not in shapes and path not in scene.tree.links]:
        return Narrowed(imported=tests, why=f"{unread[0]} was not read")
    native = {path: it for path, it in scene.compiled.reaches.items() if path in changed}
    shapes = {**shapes, **{path: shape_of(it.names or ()) for path, it in native.items()}}
    names = make_names(shapes, with_modules(scene.layout, native), scene.imports, scene.graph)
    return _follow(scene, changed, names, tests, closure)


def _untold(settings: PytestSettings) -> str:
    """Say why what a test uses cannot be told by names; empty where it can."""
    if settings.usefixtures:
        return "usefixtures is set for all tests"
    if settings.collects is not None and settings.collects.applications:
        return "a framework calls applications by what it finds in them"
    return ""


def _follow(
    scene: Scene,
    changed: Mapping[str, Chain],
    names: Names,
    tests: Mapping[str, Chain],
    closure: Mapping[str, Chain],
) -> Narrowed:
    """Follow names from each changed element to the tests that import its file."""
    chains: dict[str, Chain] = {}
    unsure: list[str] = []
    alone: dict[str, Chain] = {}
    for path, qualnames in _groups(changed, scene.compiled.reaches):
        found = names.reach({path: qualnames})
        unsure += found.unsure
        led = _led(scene, found, closure)
        for test, chain in led.items():
            if test not in chains or len(chain) < len(chains[test]):
                chains[test] = chain
        if not led:
            alone |= scene.graph.reach([path])
            unsure.append(f"no name in a test leads to {path}::{qualnames[0]}")
    if any(not it.startswith("no name in a test") for it in unsure):
        return Narrowed(imported=tests, why=unsure[0])
    imported = {test: alone[test] for test in tests if test in alone and test not in chains}
    left = {test: it for test, it in tests.items() if test not in chains and test not in imported}
    return Narrowed(chains=chains, imported=imported, left=left, why=unsure[0] if unsure else "")


def _groups(changed: Mapping[str, Chain], native: Collection[str]) -> Iterator[tuple[str, Chain]]:
    """Give the changed elements, one by one where there are few: each must lead to a test."""
    few = sum(map(len, changed.values())) <= _FEW
    for path, qualnames in changed.items():
        if path in native:
            yield path, tuple(it for name in qualnames for it in elements_of(name))
            continue
        for group in ((it,) for it in qualnames) if few else (qualnames,):
            yield path, group


def _led(scene: Scene, found: Reached, closure: Mapping[str, Chain]) -> dict[str, Chain]:
    """Give the tests in which an element may run what changed, or that import a file which does."""
    led = {
        test: (*(shown(it) for it in chain if it.partition("::")[0] != test), test)
        for test, chain in found.files.items()
        if test in closure
    }
    scripts = _scripts(scene, closure)
    running = [path for path in (*found.at_import, *scripts) if path in closure]
    imported = scene.graph.reach(running)
    started = scene.graph.reach(scripts) if scripts else {}
    for test in scene.layout.tests:
        if test not in closure or test in led:
            continue
        if test in found.importing:
            # The chain of imports may start at another such file than the first that names met.
            chain = imported.get(test, (test,))
        elif test in started:
            chain = started[test]
        else:
            continue
        start = found.at_import.get(chain[0], found.importing.get(test, ()))
        before = tuple(shown(it) for it in start if it.partition("::")[0] != chain[0])
        led[test] = (*before, *chain)
    return led


def _scripts(scene: Scene, closure: Mapping[str, Chain]) -> list[str]:
    """Give the files that start a console script: it runs functions that no name in the test leads to."""
    scripts = scene.layout.scripts
    names = {name for path in closure for name in scene.layout.names.get(path, ())}
    started = {word for word, module in scripts.items() if module in names}
    if not started:
        return []
    return [
        path
        for path in closure
        if is_python(path)
        and (value := scene.imports.get(path)) is not None
        and not started.isdisjoint(value.words)
    ]
