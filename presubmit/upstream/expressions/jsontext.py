"""The text of `toJSON`, and what `fromJSON` takes for JSON: what Newtonsoft's reader takes, as GitHub uses that one."""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any, Final

from presubmit.upstream.expressions.error import ExpressionError
from presubmit.upstream.expressions.memory import exceeded, size
from presubmit.upstream.expressions.values import fold, is_primitive, to_string

if TYPE_CHECKING:
    from collections.abc import Iterator

_MAX_DEPTH: Final = 64
"""Newtonsoft's JsonReader.MaxDepth."""
_MAX_WRITTEN: Final = 400
"""Deeper values can only be circular."""

_SPACE: Final = re.compile(r"(?:[\s\ufeff]+|/\*[\s\S]*?\*/|//[^\r\n]*)*")
_NUMBER: Final = re.compile(
    r"-?(?:0[xX][0-9a-fA-F]++|(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]++)?)(?![\w.])"
)
_WORD: Final = re.compile(r"-?[A-Za-z]+(?!\w)")
_NAME: Final = re.compile(r"[\w$]+")
_QUOTED: Final = {
    '"': re.compile(r'"((?:[^"\\]++|\\[\s\S])*)"'),
    "'": re.compile(r"'((?:[^'\\]++|\\[\s\S])*)'"),
}
_ESCAPE: Final = re.compile(r"\\(u[0-9a-fA-F]{4}|[\s\S])")
_ESCAPES: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_LITERAL_ESCAPES: Final = "\"'/\\"
_WORDS: Final[dict[str, Any]] = {
    "null": None,
    "undefined": "",
    "true": True,
    "false": False,
    "NaN": math.nan,
    "Infinity": math.inf,
    "-Infinity": -math.inf,
}
_ALSO_ESCAPED: Final = str.maketrans({"\x85": "\\u0085", "\u2028": "\\u2028", "\u2029": "\\u2029"})


def to_json(value: object, memory: int) -> str:
    """Write a value as GitHub prints it: indented by two, letters beyond ASCII as they are."""
    parts: list[str] = []
    left = memory
    for part in _written(value, 0):
        left -= size(part)
        if left < 0:
            raise exceeded()
        parts.append(part)
    return "".join(parts)


def _written(value: Any, level: int) -> Iterator[str]:  # noqa: ANN401 - any value
    if level > _MAX_WRITTEN:
        raise ExpressionError("the value of toJSON is nested too deep")
    if is_primitive(value):
        yield _scalar(value)
        return
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    if not value:
        yield opening + closing
        return
    gap = "\n" + "  " * (level + 1)
    if isinstance(value, dict):
        entries = ((_string(str(key)) + ": ", item) for key, item in value.items())
    else:
        entries = (("", item) for item in value)
    lead = opening
    for name, item in entries:
        head = lead + gap + name
        if is_primitive(item):
            yield head + _scalar(item)
        else:
            yield head
            yield from _written(item, level + 1)
        lead = ","
    yield "\n" + "  " * level + closing


def _scalar(value: object) -> str:
    if value is None:
        return "null"
    return _string(value) if isinstance(value, str) else to_string(value)


def _string(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).translate(_ALSO_ESCAPED)


def from_json(text: str) -> Any:  # noqa: ANN401 - JSON's types
    """Read JSON; numbers are floats.

    Single quotes, comments, names without quotes, a comma too many, and anything after the value are taken as well.
    """
    try:
        value = _STRICT.decode(text)
    except ValueError:
        return _Reader(text).read()
    except RecursionError:
        raise _too_deep() from None
    if text.count("[") + text.count("{") > _MAX_DEPTH:
        _check_depth(value)
    return value


def _too_deep() -> ExpressionError:
    return ExpressionError(f"the text of fromJSON is nested more than {_MAX_DEPTH} levels deep")


def _check_depth(value: Any) -> None:  # noqa: ANN401 - any value
    level = [value]
    for _ in range(_MAX_DEPTH + 1):
        level = [
            item
            for part in level
            if not is_primitive(part)
            for item in (part.values() if isinstance(part, dict) else part)
        ]
    if level:
        raise _too_deep()


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Join the pairs of an object: of a name in several letter cases, the first name and the last value count."""
    result = dict(pairs)
    if len(result) == len(pairs) and len({fold(name) for name in result}) == len(result):
        return result
    names: dict[str, str] = {}
    return {names.setdefault(fold(name), name): value for name, value in pairs}


def _refuse(word: str) -> None:
    raise ValueError(word)


_STRICT: Final = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=float, parse_float=float, parse_constant=_refuse
)


class _Reader:
    """Reads one value of what Newtonsoft takes for JSON."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def read(self, depth: int = 0) -> Any:  # noqa: ANN401 - JSON's types
        """Give the value that starts here."""
        if depth > _MAX_DEPTH:
            raise _too_deep()
        self._skip()
        match self._text[self._at : self._at + 1]:
            case "{":
                return _object(list(self._members(depth)))
            case "[":
                return list(self._elements(depth))
            case '"' | "'":
                return self._quoted()
            case "":
                raise self._wrong("ends too early")
            case _:
                return self._bare()

    def _wrong(self, what: str) -> ExpressionError:
        return ExpressionError(f"the text of fromJSON {what} (at its character {self._at + 1})")

    def _skip(self) -> None:
        match = _SPACE.match(self._text, self._at)
        self._at = match.end() if match else self._at

    def _take(self, letter: str) -> bool:
        self._skip()
        if not self._text.startswith(letter, self._at):
            return False
        self._at += 1
        return True

    def _elements(self, depth: int) -> Iterator[Any]:
        self._take("[")
        while not self._take("]"):
            yield self.read(depth + 1)
            if not self._take(",") and not self._text.startswith("]", self._at):
                raise self._wrong("lacks a comma or ]")

    def _members(self, depth: int) -> Iterator[tuple[str, Any]]:
        self._take("{")
        while not self._take("}"):
            name = self._name()
            if not self._take(":"):
                raise self._wrong("lacks a colon")
            yield name, self.read(depth + 1)
            if not self._take(",") and not self._text.startswith("}", self._at):
                raise self._wrong("lacks a comma or }")

    def _name(self) -> str:
        if self._text[self._at : self._at + 1] in _QUOTED:
            return self._quoted()
        match = _NAME.match(self._text, self._at)
        if match is None:
            raise self._wrong("lacks a name")
        self._at = match.end()
        return match[0]

    def _quoted(self) -> str:
        match = _QUOTED[self._text[self._at]].match(self._text, self._at)
        if match is None:
            raise self._wrong("has a string without an end")
        self._at = match.end()
        escaped = _ESCAPE.sub(self._escape, match[1])
        # Two escapes may be the halves of one letter.
        return escaped.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")

    def _escape(self, match: re.Match[str]) -> str:
        code = match[1]
        if code in _ESCAPES:
            return _ESCAPES[code]
        if code in _LITERAL_ESCAPES:
            return code
        if len(code) == 1:
            raise self._wrong("has an unknown escape in a string")
        return chr(int(code[1:], 16))

    def _bare(self) -> Any:  # noqa: ANN401 - JSON's types
        if match := _NUMBER.match(self._text, self._at):
            self._at = match.end()
            return _number(match[0])
        match = _WORD.match(self._text, self._at)
        if match is None or match[0] not in _WORDS:
            raise self._wrong("is not JSON")
        self._at = match.end()
        return _WORDS[match[0]]


def _number(text: str) -> float:
    digits = text.lower().removeprefix("-")
    if not digits.startswith("0x"):
        return float(text)
    value = float(int(digits, 16)) if len(digits) <= len("0x") + 16 else math.nan
    return -value if text.startswith("-") else value
