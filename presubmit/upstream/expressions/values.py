"""How GitHub converts and compares values (actions/runner: EvaluationResult.cs, ExpressionUtility.cs).

Values are Python's own: None, bool, int, float, str, list, dict. An array or object equals only itself.
"""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import Any, Final

SPACE: Final = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
"""What .NET takes for white space; Python's own list is longer."""

# No possessive groups, here and elsewhere: before 3.11.5 one that fails does not go back to where it began.
_DECIMAL: Final = re.compile(r"[+-]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]++)?")
_INFINITY: Final = re.compile(r"([+-]?)infinity", re.IGNORECASE | re.ASCII)
_HEX: Final = re.compile(r"0x0*([0-9a-fA-F]{0,8})")
_OCTAL: Final = re.compile(r"0o0*([0-7]{0,11})")
_INT32: Final = 1 << 32

# The two letters that Unicode's upper case would make an ASCII one, and .NET's ordinal comparison does not.
_CASELESS: Final = frozenset("\u0131\u017f")


class CaseSensitive(dict[str, Any]):
    """An object whose keys differ by letter case, such as the `env` context on Linux."""


def is_primitive(value: object) -> bool:
    """Say whether a value is null, a boolean, a number or a string."""
    return not isinstance(value, (list, tuple, dict))


def is_number(value: object) -> bool:
    """Say whether a value is a number; a boolean is none."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def number(value: float) -> float:
    """Give an int of any size as a float."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def is_truthy(value: object) -> bool:
    """Say whether a condition with this value holds: not for null, false, 0, NaN and the empty string."""
    if isinstance(value, (list, tuple, dict)):
        return True
    return bool(value) and value == value  # noqa: PLR0124 - NaN is the one value that differs from itself


def to_string(value: object) -> str:
    """Give the text that GitHub puts in place of a value; arrays and objects are only named."""
    match value:
        case str():
            return value
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case int() | float():
            return _digits(number(value))
        case dict():
            return "Object"
        case _:
            return "Array"


def _digits(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    # .NET's G15: `1E+20`, `1E-05`; and -0 is written 0.
    return format(value, ".15G") if value else "0"


def to_number(value: object) -> float:
    """Give the number that GitHub compares with; NaN where there is none."""
    match value:
        case None:
            return 0.0
        case int() | float():  # booleans as well
            return number(value)
        case str():
            return _parse(value)
        case _:
            return math.nan


def _parse(text: str) -> float:
    text = text.strip(SPACE)
    if not text:
        return 0.0
    if _DECIMAL.fullmatch(text):
        return float(text)
    if match := _INFINITY.fullmatch(text):
        return -math.inf if match[1] == "-" else math.inf
    for pattern, base in ((_HEX, 16), (_OCTAL, 8)):
        if len(text) > len("0x") and (match := pattern.fullmatch(text)):
            return _int32(int(match[1] or "0", base))
    return math.nan


def _int32(value: int) -> float:
    """Read 32 bits as .NET's Int32 does: the upper half is negative, more bits are no number."""
    if value >= _INT32:
        return math.nan
    return float(value - _INT32 if value >= _INT32 // 2 else value)


def fold(text: str) -> str:
    """Give the text that stands for all its letter cases: upper case, letter by letter."""
    return text.upper() if text.isascii() else "".join(map(_upper, text))


@lru_cache(maxsize=4096)
def _upper(letter: str) -> str:
    if letter in _CASELESS:
        return letter
    upper = letter.upper()
    if (
        len(upper) > 1
    ):  # `ß` has no upper case of one letter; some Greek letters have one as a title
        upper = letter.title()
    return upper if len(upper) == 1 else letter


def equals(left: object, right: object) -> bool:
    """Compare as `==` does: strings without letter case, other types as numbers, arrays and objects by identity."""
    if isinstance(left, str) and isinstance(right, str):
        return left == right or fold(left) == fold(right)
    if not (is_primitive(left) and is_primitive(right)):
        return left is right
    if left is None and right is None:
        return True
    return to_number(left) == to_number(right)


def is_less(left: object, right: object) -> bool:
    """Compare as `<` does; nothing is less than an array, an object or NaN."""
    if isinstance(left, str) and isinstance(right, str):
        return _order(left) < _order(right)
    if left is None and right is None:
        return False
    return to_number(left) < to_number(right)


def _order(text: str) -> bytes:
    # .NET's strings are UTF-16, so an emoji stands below U+E000.
    return fold(text).encode("utf-16-be", "surrogatepass")


def find(target: dict[str, Any], key: str) -> tuple[bool, Any]:
    """Look a key up in any letter case; says whether it is there, and its value."""
    if key in target:
        return True, target[key]
    if not isinstance(target, CaseSensitive):
        wanted = fold(key)
        for name, value in target.items():
            if len(name) == len(key) and fold(name) == wanted:
                return True, value
    return False, None
