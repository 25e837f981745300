"""From what differs between two trees to the contexts of a recorded run that saw it, or the state that it left. Pure."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

from presubmit.selector.element import MODULE
from presubmit.selector.recorded_index import COLLECT, SESSION, plain

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from presubmit.selector.graph import Graph
    from presubmit.selector.recorded_index import Index
    from presubmit.values import ChangedFile

Element = tuple[str, str]
Chain = tuple[str, ...]


class Reach(Protocol):
    """What the name graph says of changed elements (`NameReach`)."""

    @property
    def at_import(self) -> Mapping[str, Chain]:
        """Files whose module-level code may run one of them."""

    @property
    def unsure(self) -> tuple[str, ...]:
        """Why the names cannot be trusted."""


class Names(Protocol):
    """What is asked of the name graph (`NameGraph`)."""

    def reach(self, changed: Mapping[str, Collection[str]]) -> Reach:
        """Say what changed elements reach."""

    def users(self, path: str, qualname: str) -> frozenset[Element]:
        """Give the elements that may name this one."""

    def keeps_state(self, path: str, qualname: str) -> str:
        """Say why what an element does outlives a call; empty where it does not."""

    def is_function(self, path: str, qualname: str) -> bool:
        """Tell a function from what merely stands for it: an alias, an imported name, a class, a table."""


@dataclass(frozen=True, kw_only=True)
class Changed:
    """What differs between two trees, as far as a recording can answer for it."""

    bodies: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """For each file, the functions of which only the body differs."""
    paths: frozenset[str] = frozenset()
    """Every path that differs, be it by a comment: a test may read it."""
    moved: frozenset[str] = frozenset()
    """Paths that only one of the trees has: a test may list their folder."""
    rest: tuple[ChangedFile, ...] = ()
    """What no recording can answer for."""

    def joined(self, other: Changed) -> Changed:
        """Give what differs here or there, without the rest."""
        paths = {*self.bodies, *other.bodies}
        return Changed(
            bodies={
                path: self.bodies.get(path, frozenset()) | other.bodies.get(path, frozenset())
                for path in paths
            },
            paths=self.paths | other.paths,
            moved=self.moved | other.moved,
        )


@dataclass(kw_only=True)
class Hits:
    """What of a recorded run saw a difference, each with a chain from it."""

    contexts: dict[int, Chain] = field(default_factory=dict)
    near: set[int] = field(default_factory=set)
    """Those that ran or read it themselves, or through a fixture; the others only see what it left behind."""
    files: dict[str, Chain] = field(default_factory=dict)
    """Test files of which every test may see it."""
    everything: Chain = ()
    """Set where every test of the run may see a changed function."""
    everything_reads: Chain = ()
    """Set where every test of the run may see a changed file that is read."""


def spread(
    index: Index, changed: Changed, *, names: Names, graph: Graph, folders: Collection[str]
) -> Hits:
    """Find the contexts that may behave differently; `folders` are those that both trees have."""
    walk = _Walk(index, names, graph)
    walk.files_that_differ(changed, folders)
    walk.functions(changed.bodies)
    return walk.hits


def files_beside(index: Index, bodies: Mapping[str, Collection[str]]) -> set[str]:
    """Give the files that ran in a wide context together with a changed function: it may have left something there."""
    found: set[str] = set()
    for path, names in bodies.items():
        ran = index.ran(path)
        for number in {number for name in names for number in ran.get(plain(name), ())}:
            if index.contexts[number].wide:
                found.update(index.functions_of(number))
    return found


class _Walk:
    """Grows the hits until nothing is added."""

    def __init__(self, index: Index, names: Names, graph: Graph) -> None:
        self.index = index
        self.names = names
        self.graph = graph
        self.hits = Hits()
        self.left: dict[Element, Chain] = {}
        """What keeps state that contexts left behind."""
        self.state: dict[Element, str] = {}
        self.seen: set[Element] = set()
        self.used_by: dict[int, list[int]] = {}
        for number, one in enumerate(index.contexts):
            for use in one.uses:
                self.used_by.setdefault(use, []).append(number)

    def touch(self, number: int, chain: Chain, *, near: bool) -> None:
        """Note that a context saw it, and with it those that rest on this one."""
        waiting = [(number, chain)]
        while waiting:
            number, chain = waiting.pop()
            if number in self.hits.contexts and (number in self.hits.near or not near):
                continue
            one = self.index.contexts[number]
            self.hits.contexts.setdefault(number, chain)
            if near:
                self.hits.near.add(number)
            if one.context.startswith(COLLECT):
                self.hits.files.setdefault(one.file, chain)
            if one.context.startswith(SESSION):
                self.hits.everything = self.hits.everything or chain
            waiting += [(user, (*chain, one.context)) for user in self.used_by.get(number, ())]

    # --- files that tests read --------------------------------------------------------------------------------------

    def files_that_differ(self, changed: Changed, folders: Collection[str]) -> None:
        """Note who opened a file that differs, and who listed the folder of one that came or went."""
        seen = [(path, n) for path in sorted(changed.paths) for n in self.index.opened(path)]
        for path in sorted(changed.moved):
            for folder in _around(path, folders):
                seen += [(path, number) for number in self.index.listed(folder)]
        for path, number in seen:
            one = self.index.contexts[number]
            self.touch(number, (path,), near=True)
            # Module-level code may have read it, for whoever imports the module.
            self.importers(one.modules, (path,))
            if one.context.startswith(SESSION):
                self.hits.everything_reads = (path,)

    def importers(self, files: Iterable[str], chain: Chain) -> None:
        """Note every test file that imports one of these files."""
        starts = sorted(set(files))
        for path, found in (self.graph.reach(starts) if starts else {}).items():
            if path in self.graph.tests:
                self.hits.files.setdefault(path, (*chain, *found))

    # --- functions --------------------------------------------------------------------------------------------------

    def functions(self, bodies: Mapping[str, frozenset[str]]) -> None:
        """Note who ran a changed function, imported what ran it, or sees what it left behind."""
        changed = [(path, name) for path in sorted(bodies) for name in sorted(bodies[path])]
        direct: dict[int, Chain] = {}
        for path, name in changed:
            for number in self.ran(path, name):
                direct.setdefault(number, (f"{path}::{name}",))
        if not direct:
            return
        for number, chain in direct.items():
            self.touch(number, chain, near=True)
        reach = self.names.reach({path: sorted(names) for path, names in bodies.items()})
        at_import = {plain(path) for path in reach.at_import}
        for number, chain in direct.items():
            modules = self.index.contexts[number].modules
            self.importers([path for path in modules if reach.unsure or path in at_import], chain)
        self._left_for_others(direct)
        self._hidden(changed)
        self._imported_state(self.left)

    def ran(self, path: str, name: str) -> tuple[int, ...]:
        """Give the contexts that ran a function."""
        return self.index.ran(path).get(plain(name), ())

    def callers(self, element: Element) -> set[Element]:
        """Give the functions that may name an element, be it by an alias, an imported name or a class."""
        found: set[Element] = set()
        seen = {element}
        waiting = [element]
        while waiting:
            for user in self.names.users(*waiting.pop()):
                if user in seen:
                    continue
                seen.add(user)
                if self.names.is_function(*user):
                    found.add(user)
                elif user[1] != MODULE:
                    waiting.append(user)
        return found

    def _family(self, owner: Element) -> set[Element]:
        """Give the functions of a class and of the classes that name it: some are its subclasses."""
        found: set[Element] = set()
        seen = {owner}
        waiting = [owner]
        while waiting:
            path, name = waiting.pop()
            found |= {(path, it) for it in self.index.ran(path) if it.startswith(f"{name}.")}
            for user in self.names.users(path, name) - seen:
                if user[1] and user[1] != MODULE and not self.names.is_function(*user):
                    seen.add(user)
                    waiting.append(user)
        return found

    def keeps_state(self, element: Element) -> str:
        """Say why an element's doing outlives a call."""
        if element not in self.state:
            self.state[element] = self.names.keeps_state(*element)
        return self.state[element]

    def _left_for_others(self, direct: Mapping[int, Chain]) -> None:
        """Note who may see what a wide context left: a registry that was filled at import, a cache of a fixture."""
        for number, chain in direct.items():
            if not self.index.contexts[number].wide:
                continue
            for path, names in self.index.functions_of(number).items():
                for name in names:
                    if why := self.keeps_state((path, name)):
                        self._see_state((path, name), why, (*chain, f"{path}::{name}"))

    def _see_state(self, element: Element, why: str, chain: Chain) -> None:
        """Note who ran what keeps the state, and who may use it: the keeper itself, or the global that it writes."""
        if element in self.seen:
            return
        self.seen.add(element)
        path, name = element
        for number in self.ran(path, name):
            self.touch(number, chain, near=False)
        kept = [_node(path, written) for written in _WRITES.findall(why)]
        if _ANY_GLOBAL in why:
            users_of_file = {(path, it) for it in self.index.ran(path)}
            self.importers([path], chain)
        else:
            users_of_file = set()
        users = {user for it in (element, *kept) for user in self.callers(it)}
        users |= users_of_file
        if _WRITES_TO in why:
            owner = name.rpartition(".")[0]
            users |= self._family((path, owner))
        for user in sorted(users):
            for number in self.ran(*user):
                self.touch(number, (*chain, "::".join(user)), near=False)
        self.left[element] = chain

    def _imported_state(self, left: Mapping[Element, Chain]) -> None:
        """Note who imports a module whose own code may use what outlives a call.

        No context comes to see more by that, so the names are asked once for all, at the end.
        """
        if not left:
            return
        bodies: dict[str, list[str]] = {}
        for path, name in left:
            bodies.setdefault(path, []).append(name)
        reach = self.names.reach(bodies)
        if reach.unsure and len(left) > 1:
            for element, chain in left.items():
                self._imported_state({element: chain})
            return
        chains = {"::".join(element): chain for element, chain in left.items()}
        first = next(iter(chains.values()))
        files: dict[Chain, list[str]] = {}
        for file, led in reach.at_import.items():
            files.setdefault(chains.get(led[0], first), []).append(file)
        for chain, importing in files.items():
            self.importers(importing, chain)
        if reach.unsure:
            self.hits.everything = self.hits.everything or first

    def _hidden(self, changed: Iterable[Element]) -> None:
        """Note who is served by a cache that a changed function helped to fill: it did not run again for them."""
        known = set(changed)
        waiting = list(known)
        apart: dict[Element, Chain] = {}
        """Elements that name one of them but did not yet run together with it."""
        for element in known:
            if why := self.keeps_state(element):
                self._see_state(element, why, ("::".join(element),))
        while waiting:
            while waiting:
                path, name = waiting.pop()
                for user in self.callers((path, name)) - known:
                    apart.setdefault(user, (f"{path}::{name}", "::".join(user)))
            for user, chain in list(apart.items()):
                numbers = self.ran(*user)
                if not numbers or self.hits.contexts.keys().isdisjoint(numbers):
                    continue
                del apart[user]
                known.add(user)
                waiting.append(user)
                if why := self.keeps_state(user):
                    self._see_state(user, why, chain)


_WRITES: Final = re.compile(r"writes the global ([^;]+)")
_ANY_GLOBAL: Final = "writes globals of its module"
_WRITES_TO: Final = "writes to a "
"""An object that others hold as well."""


def _node(path: str, written: str) -> Element:
    """Give the element that a reason names, of another file where it says so."""
    other, found, name = written.rpartition("::")
    return (other, name) if found else (path, name)


def _around(path: str, folders: Collection[str]) -> Iterable[str]:
    """Give the folders whose listing differs by a path: its own, and those above one that is new or gone as well."""
    folder = posixpath.dirname(path)
    while folder:
        yield folder
        if folder in folders:
            return
        folder = posixpath.dirname(folder)
    yield "."
