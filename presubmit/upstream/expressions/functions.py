"""The functions that every expression may call (actions/runner: Sdk/Functions)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from presubmit.upstream.expressions.error import ExpressionError
from presubmit.upstream.expressions.jsontext import from_json, to_json
from presubmit.upstream.expressions.memory import exceeded, size
from presubmit.upstream.expressions.values import equals, fold, is_primitive, to_string

Arguments = Sequence[Callable[[], Any]]
"""Arguments that are evaluated when they are called for."""

_MAX_ARGUMENTS: Final = 255

# What may stand in a format: a doubled brace, a place, or a brace that is out of place.
_BRACE: Final = re.compile(r"\{\{|\}\}|\{([0-9]+)(:(?:[^}]|\}\})*)?\}|[{}]")


class Builtin(NamedTuple):
    """A function: how many arguments it takes, and what it does within so many bytes."""

    least: int
    most: int
    call: Callable[[Arguments, int], Any]


def _contains(arguments: Arguments, memory: int) -> bool:
    del memory
    where = arguments[0]()
    if is_primitive(where):
        what = arguments[1]()
        return is_primitive(what) and fold(to_string(what)) in fold(to_string(where))
    if isinstance(where, dict) or not where:
        return False
    what = arguments[1]()
    return any(equals(what, item) for item in where)


def _ends(arguments: Arguments, test: Callable[[str, str], bool]) -> bool:
    where = arguments[0]()
    if not is_primitive(where):
        return False
    what = arguments[1]()
    return is_primitive(what) and test(fold(to_string(where)), fold(to_string(what)))


def _starts_with(arguments: Arguments, memory: int) -> bool:
    del memory
    return _ends(arguments, str.startswith)


def _ends_with(arguments: Arguments, memory: int) -> bool:
    del memory
    return _ends(arguments, str.endswith)


def _join(arguments: Arguments, memory: int) -> str:
    items = arguments[0]()
    if is_primitive(items):
        return to_string(items)
    if isinstance(items, dict):
        return ""
    separator = ","
    if len(items) > 1 and len(arguments) > 1 and is_primitive(given := arguments[1]()):
        separator = to_string(given)
    texts = [to_string(item) for item in items]
    if sum(map(size, texts)) + size(separator) * (len(texts) - 1) > memory:
        raise exceeded()
    return separator.join(texts)


def _format(arguments: Arguments, memory: int) -> str:
    """Fill the places of a format; an argument without a place is never evaluated."""
    template = to_string(arguments[0]())
    parts: list[str | int] = []
    last = 0
    for match in _BRACE.finditer(template):
        parts.append(template[last : match.start()])
        parts.append(_place(match, template, len(arguments) - 1))
        last = match.end()
    parts.append(template[last:])
    values: dict[int, str] = {}
    texts: list[str] = []
    left = memory
    for part in parts:
        if isinstance(part, int) and part not in values:
            values[part] = to_string(arguments[part + 1]())
        text = values[part] if isinstance(part, int) else part
        left -= size(text) if text else 0
        if left < 0:
            raise exceeded()
        texts.append(text)
    return "".join(texts)


def _place(match: re.Match[str], template: str, count: int) -> str | int:
    text = match[0]
    if text in {"{{", "}}"}:
        return text[0]
    place = match[1]
    if place is None or len(place.lstrip("0")) > len("255") or int(place) > _MAX_ARGUMENTS:
        raise ExpressionError(f"the format {_quoted(template)} has a brace that is not doubled")
    if int(place) >= count:
        raise ExpressionError(
            f"the format {_quoted(template)} asks for more arguments than it is given"
        )
    if match[2] not in {None, ":"}:
        raise ExpressionError(f"the format {_quoted(template)} has a format specifier")
    return int(place)


def _quoted(text: str) -> str:
    limit = 60
    return repr(text if len(text) <= limit else text[:limit] + "…")


def _case(arguments: Arguments, memory: int) -> Any:  # noqa: ANN401 - whatever the branch gives
    del memory
    for place in range(0, len(arguments) - 1, 2):
        holds = arguments[place]()
        if not isinstance(holds, bool):
            raise ExpressionError("a condition of 'case' is not a boolean")
        if holds:
            return arguments[place + 1]()
    return arguments[-1]()


def _to_json(arguments: Arguments, memory: int) -> str:
    return to_json(arguments[0](), memory)


def _from_json(arguments: Arguments, memory: int) -> Any:  # noqa: ANN401 - JSON's types
    del memory
    return from_json(to_string(arguments[0]()))


BUILTINS: Final[dict[str, Builtin]] = {
    "case": Builtin(3, _MAX_ARGUMENTS, _case),
    "contains": Builtin(2, 2, _contains),
    "endswith": Builtin(2, 2, _ends_with),
    "format": Builtin(1, _MAX_ARGUMENTS, _format),
    "fromjson": Builtin(1, 1, _from_json),
    "join": Builtin(1, 2, _join),
    "startswith": Builtin(2, 2, _starts_with),
    "tojson": Builtin(1, 1, _to_json),
}
"""By name in lower case."""

BUILTIN_ARGUMENTS: Final = {name: (found.least, found.most) for name, found in BUILTINS.items()}

STATUS_FUNCTIONS: Final = {
    "success": (0, _MAX_ARGUMENTS),
    "failure": (0, _MAX_ARGUMENTS),
    "always": (0, 0),
    "cancelled": (0, 0),
}
"""Extra functions of `if:`, for `parse`; the caller of `evaluate` supplies them."""

HASH_FILES: Final = {"hashFiles": (1, _MAX_ARGUMENTS)}
"""The extra function of steps, for `parse`."""

_EXTRA_ARGUMENTS: Final = {
    name.lower(): counts for name, counts in (STATUS_FUNCTIONS | HASH_FILES).items()
}


def argument_counts(functions: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Give how many arguments extra functions take, as far as that is known."""
    return {name: _EXTRA_ARGUMENTS.get(name.lower(), (0, _MAX_ARGUMENTS)) for name in functions}
