"""Which test files may see what others leave in the process, by names alone.

A test file in which no name leads to a change can still fail by it: where a test that runs the change writes to a
global, a cache or a shared object, and the file reads that.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Final, Protocol

from presubmit.selector.element import MODULE, Element, ElementKind
from presubmit.selector.known import READERS, SHARED_FIXTURE
from presubmit.selector.outliving import PROCESS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from presubmit.selector.at_hand import TestSets
    from presubmit.selector.name_index import NameIndex, Node
    from presubmit.selector.outliving import Outliving

_MAKING: Final = frozenset({"__init__", "__new__", "__post_init__", "__attrs_post_init__"})
"""What they change is new: who stores it is a keeper itself."""


class Graph(Protocol):
    """What is asked of the name graph."""

    @property
    def index(self) -> NameIndex:
        """The names of all files."""

    @property
    def sets(self) -> TestSets:
        """The test files."""

    def users(self, path: str, qualname: str) -> frozenset[Node]:
        """Give the elements that may name an element, one step."""

    def follow(self, starts: Iterable[Node]) -> Mapping[Node, int]:
        """Walk from elements to what may run or see them; each goes with the tests that may have all that at hand."""

    def follow_names(self, starts: Iterable[Node]) -> Mapping[Node, int]:
        """Do the same, but not to what looks up names that are not written there."""

    def names(self, user: Node, used: Node) -> bool:
        """Tell an element that may name another one from what only looks up names that are not written there."""

    def reached(self, masks: Mapping[Node, int]) -> int:
        """Give the test files in which something of a walk runs, or that import it."""

    def fixtures(self, path: str, name: str) -> Iterator[Node]:
        """Give the fixtures of other files that a parameter of a function may get."""


class Shared:
    """Finds what test files may see of each other; what writes to what is worked out once."""

    def __init__(self, graph: Graph, outliving: Outliving) -> None:
        self._graph = graph
        self._index = graph.index
        self._outliving = outliving
        self._known_runs: dict[Node, Mapping[Node, int]] = {}
        self._known_seen: dict[Node, Mapping[Node, int]] = {}

    def beside(
        self, masks: Mapping[Node, int], affected: int, wanted: int
    ) -> dict[str, tuple[Node, Node]]:
        """Give the test files of `wanted` that may see what affected ones leave: who writes it, and to what.

        `masks` is what the change leads to.
        """
        sets = self._graph.sets
        found: dict[str, tuple[Node, Node]] = {}
        reached = dict(masks)
        waiting = [dict(masks)]
        left = dict(self._writers)
        while waiting and wanted & ~affected:
            fresh = waiting.pop()
            for state in [it for it in left if _meet(self._runs(it), fresh)]:
                writer = left.pop(state)[0]
                seen = self._seen(state)
                more = self._graph.reached(seen) & ~affected
                affected |= more
                found.update(dict.fromkeys(sets.names(more & wanted), (writer, state)))
                grown = {it: mask for it, mask in seen.items() if mask & ~reached.get(it, 0)}
                for it, mask in grown.items():
                    reached[it] = reached.get(it, 0) | mask
                waiting.append(grown)
        return found

    def _runs(self, state: Node) -> Mapping[Node, int]:
        """Give what may run the writers of a state."""
        if state not in self._known_runs:
            self._known_runs[state] = self._graph.follow_names(self._writers[state])
        return self._known_runs[state]

    def _seen(self, state: Node) -> Mapping[Node, int]:
        """Give what may read a state."""
        if state not in self._known_seen:
            path, name = state
            if state == PROCESS:
                tests = self._graph.sets.bits
                self._known_seen[state] = {
                    (test, it): bit
                    for test, bit in tests.items()
                    for it in ("", *self._index.elements(test))
                }
            elif not path:
                starts = [
                    (file, use.user)
                    for known in READERS[name]
                    for file in self._index.files.get(known.rpartition(".")[2], ())
                    for use in self._index.uses(file, known.rpartition(".")[2])
                    if f".{use.text}".endswith(f".{known}") or "." not in known
                ]
                self._known_seen[state] = self._graph.follow(starts)
            else:
                names = self._index.elements(path) if name == "*" else (name,)
                starts = [(path, it) for it in names if it != MODULE]
                self._known_seen[state] = self._graph.follow(starts)
        return self._known_seen[state]

    @functools.cached_property
    def _writers(self) -> dict[Node, list[Node]]:
        """Give what elements write to that outlives them, each with these elements."""
        found: dict[Node, list[Node]] = {}
        for path in self._index.shapes:
            for qualname, element in self._index.elements(path).items():
                if element.writes or element.decorators:
                    for state in self._left(path, element):
                        found.setdefault(state, []).append((path, qualname))
        kept = {state: tuple(writing) for state, writing in found.items()}
        for owner, methods in self._objects.items():
            for state in self._holders(owner, kept):
                found.setdefault(state, []).extend(methods)
        return found

    def _left(self, path: str, element: Element) -> Iterator[Node]:
        if element.kind in {ElementKind.FUNCTION, ElementKind.MODULE, ElementKind.CLASS}:
            yield from self._outliving.left(path, element)
        for written in element.writes:
            kind, _, name = written.partition(" ")
            if kind in {"parameter", "hands"}:
                yield from self._graph.fixtures(path, name)

    # --- objects ----------------------------------------------------------------------------------------------------

    @functools.cached_property
    def _objects(self) -> dict[Node, list[Node]]:
        """Give the classes whose methods change an object that is not new, with these methods."""
        found: dict[Node, list[Node]] = {}
        for path in self._index.shapes:
            for qualname, element in self._index.elements(path).items():
                owner, _, name = qualname.rpartition(".")
                if "self" in element.writes and owner and name not in _MAKING:
                    found.setdefault((path, owner), []).append((path, qualname))
        return found

    def _holders(self, owner: Node, writers: Mapping[Node, Collection[Node]]) -> set[Node]:
        """Give what may hold an instance of a class for longer than a test."""
        seen, near = self._having(owner)
        found = {it for it in seen if self._outliving.may_change(it)}
        found |= {it for it in near if self._is_shared_fixture(it)}
        for state, writing in writers.items():
            if state not in found and self._outliving.holds_objects(state):
                owners = {(path, name.rpartition(".")[0]) for path, name in writing}
                if not owners.isdisjoint(seen) or any(
                    not near.isdisjoint(self._handing(it)) for it in writing
                ):
                    found.add(state)
        return found

    def _having(self, owner: Node) -> tuple[set[Node], set[Node]]:
        """Give what an instance of a class may be in or come from, and the functions that name one of these."""
        near: set[Node] = set()
        seen = {owner}
        waiting = [owner]
        while waiting:
            for user in self._graph.users(*waiting.pop()) - seen:
                path, name = user
                if name in {MODULE, ""}:
                    continue
                element = self._index.elements(path).get(name)
                follow = [user]
                if element is not None and element.kind is ElementKind.FUNCTION:
                    near.add(user)
                    follow = [user] if self._outliving.gives(path, name, seen) else []
                    around = path, name.rpartition(".")[0]
                    if around[1] and around not in seen and _stores(element):
                        follow.append(around)
                seen.update(follow)
                waiting += follow
        return seen, near

    def _is_shared_fixture(self, node: Node) -> bool:
        return SHARED_FIXTURE in self._index.elements(node[0])[node[1]].decorators

    @functools.cached_property
    def _known_handing(self) -> dict[Node, frozenset[Node]]:
        return {}

    def _handing(self, writer: Node) -> frozenset[Node]:
        """Give what may hand a writer what it stores: itself and its callers."""
        if writer not in self._known_handing:
            named = (it for it in self._graph.users(*writer) if self._graph.names(it, writer))
            self._known_handing[writer] = frozenset((writer, *named))
        return self._known_handing[writer]


def _stores(element: Element) -> bool:
    return any(it == "self" or it.startswith("class ") for it in element.writes)


def _meet(one: Mapping[Node, int], other: Mapping[Node, int]) -> bool:
    """Tell whether two walks come to one element with the same tests at hand."""
    if len(one) > len(other):
        one, other = other, one
    return any(mask & other.get(node, 0) for node, mask in one.items())
