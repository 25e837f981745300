"""The values that names of a setup.py may have, as far as they are known."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import ast

MOST_CHOICES: Final = 200


class Unknown:
    """A value that cannot be told."""


UNKNOWN: Final = Unknown()


@dataclass(frozen=True)
class Choice:
    """One of several values, depending on a condition."""

    values: tuple[Any, ...]


@dataclass
class BuiltExtension:
    """An extension that was constructed; its list of sources may still grow."""

    names: list[str]
    sources: list[Any]
    include_dirs: list[Any]
    line: int


@dataclass
class Function:
    """A function of the file, and whether it was called."""

    node: ast.FunctionDef | ast.AsyncFunctionDef
    called: bool = False


@dataclass
class State:
    """What was met so far."""

    built: list[BuiltExtension] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    shared: list[Any] = field(default_factory=list)
    seen: set[ast.Call] = field(default_factory=set)
    functions: list[Function] = field(default_factory=list)
    steps: int = 0


class TooMuchError(Exception):
    """The file does more than this reader wants to follow."""


def flat(value: object) -> tuple[list[str], bool]:
    """Give every string in a value, and whether there is nothing else in it."""
    if isinstance(value, str):
        return [value], True
    if isinstance(value, Choice | list | tuple):
        parts = value.values if isinstance(value, Choice) else value
        found = [flat(part) for part in parts]
        return [it for texts, _ in found for it in texts], all(known for _, known in found)
    return [], value is None


def join_values(one: Any, two: Any) -> Any:  # noqa: ANN401 - any value of a setup.py
    """Give a value that may be either."""
    if one is two or (isinstance(one, str) and one == two):
        return one
    if isinstance(one, list) and isinstance(two, list):
        return [*one, *(it for it in two if not any(it is other for other in one))]
    values = [it for each in (one, two) for it in choices_of(each)]
    unique = list({id(it) if not isinstance(it, str) else it: it for it in values}.values())
    return Choice(tuple(unique[:MOST_CHOICES])) if len(unique) <= MOST_CHOICES else UNKNOWN


def choices_of(value: object) -> tuple[Any, ...]:
    """Give the values that one may be."""
    return value.values if isinstance(value, Choice) else (value,)


def items_of(value: object) -> list[Any] | None:
    """Give what iterating over a value gives; None where that cannot be told."""
    if isinstance(value, list):
        return value
    if isinstance(value, dict):
        return list(value)
    if isinstance(value, Choice):
        found = [items_of(it) for it in value.values]
        return None if None in found else [it for each in found for it in each or ()]
    return [] if value is None else None
