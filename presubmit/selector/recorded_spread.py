"""From what differs between two trees to the contexts of a recorded run that saw it, or the state that it left. Pure."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

from presubmit.selector.element import MODULE
from presubmit.selector.recorded_index import COLLECT, SESSION, plain
from presubmit.selector.recorded_lasting import Lasting
from presubmit.selector.recorded_lasting import Names as LastingNames
from presubmit.selector.recorded_left import ANY_GLOBAL, OBJECT, Left

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


class Names(LastingNames, Protocol):
    """What is asked of the name graph (`NameGraph`)."""

    def reach(self, changed: Mapping[str, Collection[str]]) -> Reach:
        """Say what changed elements reach."""


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
        self.state: dict[tuple[Element, bool], str] = {}
        self.lasting = Lasting(index, names)
        self.seen_left = Left(index, self.lasting)
        self.seen: dict[Element, bool] = {}
        """What was looked at as a keeper of state, and whether as one that only tests left."""
        self.reasons: dict[Element, set[str]] = {}
        """Why they keep it."""
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
        importing = set()
        for number, chain in direct.items():
            modules = self.index.contexts[number].modules
            found = [path for path in modules if reach.unsure or path in at_import]
            self.importers(found, chain)
            importing |= {number} if found else set()
        self._left_for_others(direct, importing)
        self._hidden(changed)
        self._imported_state({it: chain for it, chain in self.left.items() if not self.seen[it]})
        if any(one.modules for n, one in enumerate(self.index.contexts) if not self._is_early(n)):
            late = {it: chain for it, chain in self.left.items() if self.seen[it]}
            self._imported_state(late)

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

    def keeps_state(self, element: Element, *, late: bool) -> str:
        """Say why an element's doing outlives a call, where only tests did it (`late`), or others."""
        key = element, late
        if key not in self.state:
            self.state[key] = self.lasting.why(element, late=late)
        return self.state[key]

    def _is_early(self, number: int) -> bool:
        """Tell whether a context ended before the first test began: what tests leave comes too late for it."""
        return self.index.contexts[number].context.startswith((COLLECT, SESSION))

    def _is_late(self, numbers: Iterable[int]) -> bool:
        return not any(map(self._is_early, numbers))

    def _left_for_others(self, direct: Mapping[int, Chain], importing: Collection[int]) -> None:
        """Note who may see what a wide context left: a registry that was filled at import, a cache of a fixture."""
        for number, chain in direct.items():
            if not self.index.contexts[number].wide or (
                self.index.contexts[number].id and number not in importing
            ):
                continue
            late = not self._is_early(number)
            for path, names in self.index.functions_of(number).items():
                for name in names:
                    if why := self.keeps_state((path, name), late=late):
                        self._see_state((path, name), why, (*chain, f"{path}::{name}"), late=late)

    def _see_state(self, element: Element, why: str, chain: Chain, *, late: bool) -> None:
        """Note who ran what keeps the state, and who may use it: the keeper itself, or the global that it writes."""
        reasons = self.reasons.setdefault(element, set())
        more = {*why.split("; ")} - reasons
        if not more and (late or not self.seen.get(element, True)):
            return
        reasons |= more
        self.seen[element] = late and self.seen.get(element, True)
        path, name = element
        kept = [_node(path, written) for written in _WRITES.findall(why)]
        users = {user for it in (element, *kept) for user in self.callers(it)}
        if ANY_GLOBAL in why:
            users |= {(path, it) for it in self.index.ran(path)}
            if not late:
                self.importers([path], chain)
        if OBJECT in why:
            users |= self.lasting.family((path, name.rpartition(".")[0]))
        for user in (element, *sorted(users)):
            through = chain if user == element else (*chain, "::".join(user))
            for number in self.ran(*user):
                if not late or not self._is_early(number):
                    self.touch(number, through, near=False)
        self.left.setdefault(element, chain)

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
            self._keeps(element, self.ran(*element), ("::".join(element),))
        looked: dict[Element, int] = {}
        """In how many contexts it was looked at what they kept."""
        grown = True
        while grown:
            grown = False
            while waiting:
                path, name = waiting.pop()
                for user in self.callers((path, name)) - known:
                    apart.setdefault(user, (f"{path}::{name}", "::".join(user)))
            for user, chain in list(apart.items()):
                numbers = self.hits.contexts.keys() & self.ran(*user)
                if len(numbers) <= looked.get(user, 0):
                    continue
                if user not in known:
                    known.add(user)
                    waiting.append(user)
                grown = True
                looked[user] = len(numbers)
                if self._keeps(user, numbers, chain):
                    del apart[user]

    def _keeps(self, element: Element, numbers: Collection[int], chain: Chain) -> bool:
        """Note who sees what a function kept in some contexts that ran it; tells whether it did."""
        late = self._is_late(numbers)
        said = self.keeps_state(element, late=late)
        why = self.seen_left.borne_out(element, said, numbers)
        if why:
            self._see_state(element, why, chain, late=late)
        # More contexts may bear out more of what is said.
        return why == said


_WRITES: Final = re.compile(r"writes? the global ([^;]+)")


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
