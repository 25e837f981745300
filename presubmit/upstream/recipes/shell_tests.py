"""Says what `[ … ]`, `[[ … ]]` and the patterns of `case` give, where only known values are compared."""

from __future__ import annotations

import fnmatch
import re
from typing import TYPE_CHECKING, Final, TypeAlias

from presubmit.upstream.recipes.shell_words import Word, expand_value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

Truth: TypeAlias = bool | None
"""None where it is not known."""


def either(one: Truth, other: Truth) -> Truth:
    """Give `one or other`, where None is not known."""
    if one or other:
        return True
    return None if one is None or other is None else False


def matches(subject: Word, raw: str, variables: Mapping[str, str]) -> Truth:
    """Say whether a word matches a written pattern; None where that is not known."""
    pattern = expand_value(raw, variables)
    if not subject.literal or not pattern.literal:
        return None
    if re.search(r"['\"\\]", raw):
        return subject.text == pattern.text if not re.search(r"[*?\[]", pattern.text) else None
    return fnmatch.fnmatchcase(subject.text, pattern.text)


def truth(raws: Sequence[str], variables: Mapping[str, str]) -> Truth:  # noqa: PLR0911 - one form of test a line
    """Say what `[ … ]` or `[[ … ]]` gives; None where that is not known."""
    if "||" in raws:
        at = raws.index("||")
        return either(truth(raws[:at], variables), truth(raws[at + 1 :], variables))
    if "&&" in raws:
        at = raws.index("&&")
        sides = truth(raws[:at], variables), truth(raws[at + 1 :], variables)
        return False if False in sides else (None if None in sides else True)
    if raws[:1] == ["!"]:
        inner = truth(raws[1:], variables)
        return None if inner is None else not inner
    if len(raws) == 3 and raws[1] in {"=", "==", "!="}:  # noqa: PLR2004 - left, operator, right
        found = matches(expand_value(raws[0], variables), raws[2], variables)
        return found if found is None or raws[1] != "!=" else not found
    if len(raws) == 2 and raws[0] in {"-n", "-z"}:  # noqa: PLR2004 - operator, word
        word = expand_value(raws[1], variables)
        return (bool(word.text) is (raws[0] == "-n")) if word.literal else None
    if len(raws) == 1:
        word = expand_value(raws[0], variables)
        return bool(word.text) if word.literal else None
    return _compared(raws, variables)


_COMPARES: Final[Mapping[str, Callable[[int, int], bool]]] = {
    "-eq": lambda a, b: a == b,
    "-ne": lambda a, b: a != b,
    "-lt": lambda a, b: a < b,
    "-le": lambda a, b: a <= b,
    "-gt": lambda a, b: a > b,
    "-ge": lambda a, b: a >= b,
}


def _compared(raws: Sequence[str], variables: Mapping[str, str]) -> Truth:
    if len(raws) != 3 or raws[1] not in _COMPARES:  # noqa: PLR2004 - left, operator, right
        return None
    left, right = (expand_value(raw, variables) for raw in (raws[0], raws[2]))
    try:
        return _COMPARES[raws[1]](int(left.text), int(right.text))
    except ValueError:
        return None
