"""Whether an object that tests change may outlive them, as a recorded run has it. Pure.

What one test leaves for another sits in an object that was made outside of plain tests, or in one that a test stored
where it stays: in a global, a class, a cache, or in another object that lasts.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Final, Protocol

from presubmit.selector.element import MODULE
from presubmit.selector.recorded_index import plain

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from presubmit.selector.recorded_index import Index

Element = tuple[str, str]

_OBJECT: Final = "writes to a "
"""How the reason begins that names the class of a changed object."""
_MAKING: Final = frozenset({"__init__", "__new__", "__post_init__", "__attrs_post_init__"})
"""What they change is new: where a test ran them, it must have stored it."""
_LEVELS: Final = 2
"""From a class to who makes an instance, and to who gets that one; and from what stores something to its callers."""


class Names(Protocol):
    """What is asked of the name graph (`NameGraph`)."""

    def users(self, path: str, qualname: str) -> frozenset[Element]:
        """Give the elements that may name this one."""

    def keeps_state(self, path: str, qualname: str) -> str:
        """Say why what an element does outlives a call; empty where it does not."""

    def is_function(self, path: str, qualname: str) -> bool:
        """Tell a function from what merely stands for it: an alias, an imported name, a class, a table."""

    def makers(self, path: str, qualname: str) -> frozenset[Element]:
        """Give the functions one of which runs for each instance of a class; none where none need do so."""

    def lives_on(self, path: str, qualname: str) -> bool:
        """Tell whether a module-level name may hold an instance of a class, by names alone."""


class Lasting:
    """Tells objects that outlive tests; each class is looked at once."""

    def __init__(self, index: Index, names: Names) -> None:
        self._index = index
        self._names = names
        self._made: dict[Element, frozenset[int]] = {}
        self._outside: dict[Element, bool] = {}
        self._stored: dict[Element, bool] = {}
        self._near: dict[Element, set[Element]] = {}
        self._hands: dict[Element, set[Element]] = {}

    def why(self, element: Element, *, late: bool) -> str:
        """Say why what an element did outlives a call, where only tests did it (`late`), or others; else empty."""
        reasons = self._names.keeps_state(*element).split("; ")
        owner = (element[0], element[1].rpartition(".")[0])
        fresh = late and _is_maker(element[1])
        return "; ".join(
            it
            for it in reasons
            if not it.startswith(_OBJECT)
            or (not fresh and self._made_outside(owner))
            or self._is_stored(owner)
        )

    def family(self, owner: Element) -> set[Element]:
        """Give the functions of a class and of the classes that name it: some are its subclasses."""
        found: set[Element] = set()
        for path, name in self.classes(owner):
            found |= {(path, it) for it in self._index.ran(path) if it.startswith(f"{name}.")}
        return found

    def ran(self, element: Element) -> tuple[int, ...]:
        """Give the contexts that ran a function."""
        return self._index.ran(element[0]).get(plain(element[1]), ())

    def classes(self, owner: Element) -> set[Element]:
        """Give a class and the classes that name it: some are its subclasses."""
        found = {owner}
        waiting = [owner]
        while waiting:
            for user in self._names.users(*waiting.pop()) - found:
                if user[1] and user[1] != MODULE and not self._names.is_function(*user):
                    found.add(user)
                    waiting.append(user)
        return found

    def _met(self, owner: Element) -> frozenset[int]:
        """Give the contexts that made or used an instance of a class or of a subclass."""
        if owner not in self._made:
            makers = {it for one in self.classes(owner) for it in self._names.makers(*one)}
            functions = self.family(owner) | makers
            self._made[owner] = frozenset(n for it in functions for n in self.ran(it))
        return self._made[owner]

    def _made_outside(self, owner: Element) -> bool:
        """Tell whether an instance may have been made at import, at collection, or in a fixture that tests share."""
        if owner not in self._outside:
            contexts = self._index.contexts
            self._outside[owner] = any(contexts[n].wide for n in self._met(owner)) or any(
                # Nothing that is recorded need run where one is made.
                not self._names.makers(*one) and self._names.lives_on(*one)
                for one in self.classes(owner)
            )
        return self._outside[owner]

    def _is_stored(self, owner: Element) -> bool:
        """Tell whether a test may have stored an instance where it stays."""
        if owner not in self._stored:
            self._stored[owner] = self._may_store(owner, self._keepers)
        return self._stored[owner]

    def _may_store(self, owner: Element, keepers: Mapping[Element, Collection[int]]) -> bool:
        """Tell whether one of these stores an instance in a test that has one: it names the class, or is handed one."""
        met = self._met(owner)
        if owner not in self._near:
            self._near[owner] = self._callers(self.classes(owner)) | self.family(owner)
        near = self._near[owner]
        return any(
            not met.isdisjoint(numbers)
            and (_is_operator(keeper[1]) or not near.isdisjoint(self._handing(keeper)))
            for keeper, numbers in keepers.items()
        )

    def _handing(self, keeper: Element) -> set[Element]:
        """Give the functions that may hand a keeper what it stores: itself and its callers."""
        if keeper not in self._hands:
            self._hands[keeper] = self._callers([keeper])
        return self._hands[keeper]

    def _callers(self, starts: Collection[Element]) -> set[Element]:
        """Give the functions that name elements, and those that name these; not through other classes."""
        found = set(starts)
        for _ in range(_LEVELS):
            found |= {
                user
                for it in found
                for user in self._names.users(*it)
                if self._names.is_function(*user)
            }
        return found

    @functools.cached_property
    def _keepers(self) -> dict[Element, tuple[int, ...]]:
        """Give what stores something where it stays: in a global, a class, a cache, or an object that lasts itself."""
        found: dict[Element, tuple[int, ...]] = {}
        objects: dict[Element, dict[Element, tuple[int, ...]]] = {}
        for path in self._index.files():
            for name, numbers in self._index.ran(path).items():
                reasons = self._names.keeps_state(path, name)
                if any(it and not it.startswith(_OBJECT) for it in reasons.split("; ")):
                    found[path, name] = numbers
                elif reasons:
                    owner = (path, name.rpartition(".")[0])
                    objects.setdefault(owner, {})[path, name] = numbers
        for owner, writing in objects.items():
            if self._made_outside(owner):
                old = {it: n for it, n in writing.items() if not _is_maker(it[1])}
                found.update(old)
        while more := [owner for owner in objects if self._may_store(owner, found)]:
            for owner in more:
                found.update(objects.pop(owner))
        return found


def _is_maker(qualname: str) -> bool:
    return qualname.rpartition(".")[2] in _MAKING


def _is_operator(qualname: str) -> bool:
    """Tell a method that runs without being named, `__setitem__` say."""
    name = qualname.rpartition(".")[2]
    return name.startswith("__") and name.endswith("__") and name not in _MAKING
