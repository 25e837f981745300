"""What operators, and functions and methods of strings and paths give in a setup.py."""

from __future__ import annotations

import ast
import itertools
import posixpath
import re
from typing import TYPE_CHECKING, Any, Final

from presubmit.selector.native.setup_values import (
    MOST_CHOICES,
    UNKNOWN,
    Choice,
    Unknown,
    choices_of,
    items_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def callee(node: ast.Call) -> str:
    """Give the last name of what is called."""
    match node.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def product(parts: Sequence[Any], make: Callable[[list[str]], str]) -> Any:  # noqa: ANN401 - any value
    """Make a string of every combination of what the parts may be."""
    options = [[it for it in choices_of(part) if isinstance(it, str)] for part in parts]
    if any(
        len(found) != len(choices_of(part)) for found, part in zip(options, parts, strict=True)
    ):
        return UNKNOWN
    found = [make(list(it)) for it in itertools.islice(itertools.product(*options), MOST_CHOICES)]
    unique = tuple(dict.fromkeys(found))
    if len(found) >= MOST_CHOICES or not unique:
        return UNKNOWN
    return unique[0] if len(unique) == 1 else Choice(unique)


def added(left: object, right: object) -> Any:  # noqa: ANN401 - any value of a setup.py
    """Add two values."""
    one, two = items_of(left), items_of(right)
    if isinstance(left, list) or isinstance(right, list):
        return [
            *([UNKNOWN] if one is None else one),
            *([UNKNOWN] if two is None else two),
        ]
    if one is not None and two is not None:
        return [*one, *two]
    return product([left, right], "".join)


def percent(parts: list[str]) -> str:
    """Format with `%`."""
    pieces = re.split(r"%[sdr]", parts[0])
    fillers = [*parts[1:], *([""] * len(pieces))]
    return "".join(
        it for pair in zip(pieces, [*fillers[: len(pieces) - 1], ""], strict=True) for it in pair
    )


def stem_of(path: str) -> str:
    """Give a path without its suffix."""
    return posixpath.splitext(path)[0]


_SAME: Final = frozenset(
    {"abspath", "realpath", "normpath", "resolve", "absolute", "as_posix", "str", "fspath"}
    | {"sorted", "list", "tuple", "set", "Path", "PurePath", "deepcopy", "copy", "strip"}
    | {"relpath", "expanduser", "convert_path", "filter", "reversed"}
)
"""Functions of which the result is taken for what they are given."""


def of_strings(name: str, holder: Any, arguments: Sequence[Any]) -> Any:  # noqa: ANN401, PLR0911 - one case for each function
    """Give the results of functions that make strings of strings."""
    given = [it for it in (holder, *arguments) if not isinstance(it, Unknown)]
    if name in _SAME:
        given = [it for it in given if it is not None]
        return given[-1 if name in {"filter", "Path"} else 0] if given else UNKNOWN
    if name in {"join", "joinpath"}:
        parts = [*([holder] if isinstance(holder, str | Choice) else []), *arguments]
        return product(parts, lambda it: posixpath.join(*it)) if parts else UNKNOWN
    if name == "dirname":
        return product(arguments[:1], lambda it: posixpath.dirname(it[0]) or ".")
    if name == "basename":
        return product(arguments[:1], lambda it: posixpath.basename(it[0]))
    if name == "splitext":
        return [product(arguments[:1], lambda it: stem_of(it[0])), UNKNOWN]
    if name in {"replace", "with_suffix", "removesuffix", "removeprefix", "split", "rstrip"}:
        return _of_method(name, holder, arguments)
    if name == "format":
        parts = [holder, *arguments]
        return (
            product(parts, lambda it: re.sub(r"\{\d*\}", "%s", it[0]) % tuple(it[1:]))
            if (isinstance(holder, str) and len(re.findall(r"\{\d*\}", holder)) == len(arguments))
            else UNKNOWN
        )
    return UNKNOWN


def _of_method(name: str, holder: Any, arguments: Sequence[Any]) -> Any:  # noqa: ANN401 - any value of a setup.py
    made: dict[str, Callable[[list[str]], str]] = {
        "replace": lambda it: it[0].replace(it[1], it[2]),
        "with_suffix": lambda it: stem_of(it[0]) + it[1],
        "removesuffix": lambda it: it[0].removesuffix(it[1]),
        "removeprefix": lambda it: it[0].removeprefix(it[1]),
        "rstrip": lambda it: it[0].rstrip(it[1]),
    }
    wanted = 3 if name == "replace" else 2
    if name == "split":
        if isinstance(holder, str) and len(arguments) <= 1:
            by = arguments[0] if arguments else None
            return (
                list(holder.split(by)) if by is None or (isinstance(by, str) and by) else UNKNOWN
            )
        return UNKNOWN
    parts = [holder, *arguments]
    return product(parts, made[name]) if len(parts) == wanted else UNKNOWN
