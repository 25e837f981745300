"""Whether tests were seen to leave what a function is said to keep: by the names that lead to it. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Protocol

from presubmit.selector.recorded_index import FIXTURE, TEST

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from presubmit.selector.recorded_index import Index

Element = tuple[str, str]

_WRITES: Final = re.compile(r"(?:writes|may write) the global (.+)")
_SURE: Final = "writes the global "
"""Said of what stands there as a statement: a test may just have put it back, and on head not come to that."""
ANY_GLOBAL: Final = "writes globals of its module"
OBJECT: Final = "writes to a "
"""An object that others hold as well."""
_DECORATED: Final = "decorated with "
_DEFAULT: Final = "shares the default "
_OF_CLASS: Final = "a "
"""How the name of an object's class begins, among what a test left."""


class Classes(Protocol):
    """What is asked of `Lasting`."""

    def classes(self, owner: Element) -> set[Element]:
        """Give a class and the classes that name it: some are its subclasses."""


class Left:
    """What tests were seen to leave, against what the names say that functions keep."""

    def __init__(self, index: Index, lasting: Classes) -> None:
        self._index = index
        self._lasting = lasting
        self._tests = {one.context for one in index.contexts}

    def of(self, numbers: Iterable[int]) -> frozenset[str] | None:
        """Give what some contexts left; None where one of them is no test, or not all that it left is known."""
        found: set[str] = set()
        for number in numbers:
            one = self._index.contexts[number]
            if not one.context.startswith(TEST) or one.left is None:
                return None
            found.update(one.left)
        known = all("::" in it or it.startswith(FIXTURE) for it in found)
        return frozenset(found) if known else None

    def borne_out(self, element: Element, why: str, numbers: Collection[int]) -> str:
        """Give those of the reasons to keep state that may be what contexts left which ran a function."""
        left = self.of(numbers) if why else frozenset()
        if left is None:
            return why
        return "; ".join(
            it
            for it in why.split("; ")
            if it.startswith(_SURE) or self._is_left(element, it, left)
        )

    def _is_left(self, element: Element, reason: str, left: Collection[str]) -> bool:
        path, name = element
        if found := _WRITES.fullmatch(reason):
            other, _, written = found[1].rpartition("::")
            owner, _, _ = written.rpartition(".")
            return (
                _is_named((other or path, written), left)
                or self._has_object((other or path, written), left)
                or bool(owner and self._has_object((other or path, owner), left))
            )
        if reason.startswith(OBJECT):
            return self._has_object((path, name.rpartition(".")[0]), left)
        if reason == ANY_GLOBAL:
            return any(it.startswith(f"{path}::") for it in left)
        if reason.startswith(_DECORATED):
            # Nothing but a test itself sees what is kept with it.
            test = f"{TEST}{path}::{name.replace('.', '::')}"
            return test not in self._tests and _is_named(element, left)
        return not reason.startswith(_DEFAULT) or _is_named(element, left)

    def _has_object(self, owner: Element, left: Collection[str]) -> bool:
        """Tell whether an object of a class was left changed, or what it holds."""
        return any(
            f"{_OF_CLASS}{path}::{name}" in left for path, name in self._lasting.classes(owner)
        )


def _is_named(element: Element, left: Collection[str]) -> bool:
    """Tell whether something was left of an element, of a part of it, or of its class."""
    full = "::".join(element)
    return any(it == full or it.startswith(f"{full}.") or full.startswith(f"{it}.") for it in left)
