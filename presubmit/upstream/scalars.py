"""What a plain scalar means: the YAML 1.2 core schema, as actions/runner reads it.

The rules are those of `src/Sdk/WorkflowParser/Conversion/YamlObjectReader.cs`: `on`, `yes` and dates are strings,
`0777` is seven hundred and seventy-seven, every number is a double, and hexadecimal and octal ones have 32 bits.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from presubmit.upstream.expressions.values import to_string

if TYPE_CHECKING:
    from presubmit.upstream.nodes import Scalar

Value = None | bool | int | float | str

_WORDS: Final[dict[str, Value]] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), float("inf")),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), float("-inf")),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
}
_INTEGER: Final = re.compile(r"[-+]?[0-9]+")
_HEXADECIMAL: Final = re.compile(r"0x[0-9a-fA-F]+")
_OCTAL: Final = re.compile(r"0o[0-7]+")
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
# Longer integers are not exact as doubles any more (and int() takes 4300 digits at most).
_EXACT_DIGITS: Final = 15
_STARTS_NUMBER: Final = frozenset("+-.0123456789")

_TAG: Final = "tag:yaml.org,2002:"
_STRING: Final = f"{_TAG}str"


class ScalarError(ValueError):
    """A scalar is not what its tag says, or does not fit."""


def resolve(text: str) -> Value:
    """Give the value of a plain scalar without a tag; raises ScalarError for a number that does not fit."""
    if text in _WORDS:
        return _WORDS[text]
    return _number(text) if text[0] in _STARTS_NUMBER else text


def resolve_tagged(text: str, tag: str, *, plain: bool) -> Value:
    """Give the value of a scalar with a tag; raises ScalarError where it is no such value."""
    if tag == _STRING:
        return text
    kind = tag.removeprefix(_TAG)
    if kind not in _KINDS:
        raise ScalarError(f"the tag '{tag}' is not known to GitHub")
    if not plain:
        raise ScalarError(f"a quoted or block scalar cannot have the tag '!!{kind}'")
    value = resolve(text)
    # An integer is a float as well, but not the other way round.
    fits = isinstance(value, _KINDS[kind]) and (kind == "bool") == isinstance(value, bool)
    if not fits or (kind == "int" and not _is_integer(text)):
        raise ScalarError(f"'{text}' is no !!{kind}")
    return value


def text_of(scalar: Scalar) -> str:
    """Give a scalar as the text that GitHub makes of it where it wants text: `3.10` is `3.1`, null is empty."""
    return to_string(scalar.value)


_KINDS: Final[dict[str, tuple[type, ...]]] = {
    "null": (type(None),),
    "bool": (bool,),
    "int": (int, float),
    "float": (int, float),
}


def _number(text: str) -> Value:
    if _INTEGER.fullmatch(text):
        return int(text) if len(text) <= _EXACT_DIGITS else float(text)
    if _HEXADECIMAL.fullmatch(text) or _OCTAL.fullmatch(text):
        return _signed(int(text, 0), text)
    return float(text) if _FLOAT.fullmatch(text) else text


def _signed(number: int, text: str) -> int:
    """Read 32 bits as .NET does: the highest one is the sign."""
    if number >= 1 << 32:
        raise ScalarError(f"'{text}' does not fit in 32 bits")
    return number - (1 << 32) if number >= 1 << 31 else number


def _is_integer(text: str) -> bool:
    return any(rule.fullmatch(text) for rule in (_INTEGER, _HEXADECIMAL, _OCTAL))
