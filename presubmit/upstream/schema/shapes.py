"""The words that the tables are written in: a shape is what may stand at a place."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import msgspec

Function = tuple[str, tuple[int, int]]
ANY_NUMBER: Final = 1_000_000


class Scope(msgspec.Struct, frozen=True):
    """The contexts and functions that an expression may use; without any, no expression may stand there."""

    names: frozenset[str] = frozenset()
    functions: frozenset[Function] = frozenset()


class Keys(msgspec.Struct, frozen=True, kw_only=True):
    """The keys of a mapping."""

    known: dict[str, Shape]
    required: tuple[str, ...] = ()
    others: Shape | None = None
    """What any other key holds; None where there are no others."""
    idle: frozenset[str] = frozenset()
    """Keys that GitHub reads elsewhere and passes over here."""
    closed: bool = False
    """GitHub refuses an unknown key for certain. Elsewhere it may be newer than this table, and is a warning."""


class Shape(msgspec.Struct, frozen=True, kw_only=True):
    """What may stand at a place; the kinds add up, so one that allows text and items is `needs`."""

    text: bool = False
    filled: bool = False
    """Text, but not empty."""
    words: tuple[str, ...] = ()
    """One of these texts."""
    usual: tuple[str, ...] = ()
    """Texts that are known; another one may be newer than this table, and is a warning."""
    number: bool = False
    boolean: bool = False
    null: bool = False
    items: Shape | None = None
    mappings: tuple[Keys, ...] = ()
    """Several are told apart by the keys that only one of them has."""
    anything: bool = False
    scope: Scope = Scope()
    """Added to that of the places around it."""
    condition: bool = False
    """The text is an expression as a whole, with or without `${{ }}`."""

    def __str__(self) -> str:
        """Name what is wanted, for a message."""
        wanted = [
            text
            for flag, text in (
                (self.null, "nothing"),
                (self.boolean, "true or false"),
                (self.number, "a number"),
                (self.text or self.filled or self.usual, "text"),
                (self.words, " or ".join(f"'{word}'" for word in self.words)),
                (self.items, "a sequence"),
                (self.mappings, "a mapping"),
            )
            if flag
        ]
        return ", or ".join(wanted)


TEXT: Final = Shape(text=True)
FILLED: Final = Shape(filled=True)
BOOLEAN: Final = Shape(boolean=True)
NUMBER: Final = Shape(number=True)
ANYTHING: Final = Shape(anything=True)
FILLED_ITEMS: Final = Shape(items=FILLED)
ONE_OR_MORE: Final = Shape(filled=True, items=FILLED)


def mapping(*keys: Keys, scope: Scope = Scope()) -> Shape:  # noqa: B008 - frozen
    """Give the shape of a mapping that is one of these."""
    return Shape(mappings=keys, scope=scope)


def mapping_of(value: Shape, scope: Scope = Scope()) -> Shape:  # noqa: B008 - frozen
    """Give the shape of a mapping whose keys are the author's own."""
    return Shape(mappings=(Keys(known={}, others=value),), scope=scope)


def scope(*names: str, functions: tuple[Function, ...] = ()) -> Scope:
    """Give a scope."""
    return Scope(frozenset(names), frozenset(functions))


@lru_cache(maxsize=1024)
def joined(outer: Scope, inner: Scope) -> Scope:
    """Give the scope of a place inside another."""
    if not inner.names and not inner.functions:
        return outer
    return Scope(outer.names | inner.names, outer.functions | inner.functions)
