"""Cuts an expression into tokens, and refuses one that cannot follow the last (actions/runner: LexicalAnalyzer.cs)."""

from __future__ import annotations

import math
import re
from enum import Enum, auto
from typing import TYPE_CHECKING, Final, NamedTuple

from presubmit.upstream.expressions.error import ExpressionError
from presubmit.upstream.expressions.values import SPACE, to_number

if TYPE_CHECKING:
    from collections.abc import Iterator


class Kind(Enum):
    """What a token is."""

    LITERAL = auto()
    NAME = auto()
    PROPERTY = auto()
    FUNCTION = auto()
    WILDCARD = auto()
    OPERATOR = auto()
    DOT = auto()
    COMMA = auto()
    OPEN_GROUP = auto()
    CLOSE_GROUP = auto()
    OPEN_CALL = auto()
    CLOSE_CALL = auto()
    OPEN_INDEX = auto()
    CLOSE_INDEX = auto()


class Token(NamedTuple):
    """A token; `start` counts from 0."""

    kind: Kind
    text: str
    start: int
    value: bool | float | str | None = None

    @property
    def end(self) -> int:
        """The offset after it."""
        return self.start + len(self.text)


_INDEXABLE: Final = frozenset(
    {Kind.NAME, Kind.PROPERTY, Kind.WILDCARD, Kind.CLOSE_GROUP, Kind.CLOSE_CALL, Kind.CLOSE_INDEX}
)
_COMPLETE: Final = _INDEXABLE | {Kind.LITERAL}
_BEFORE_OPERAND: Final = frozenset(
    {None, Kind.COMMA, Kind.OPEN_GROUP, Kind.OPEN_CALL, Kind.OPEN_INDEX, Kind.OPERATOR}
)

# What each kind may follow; `!` is an operator that stands before its operand.
_AFTER: Final = {
    Kind.LITERAL: _BEFORE_OPERAND,
    Kind.NAME: _BEFORE_OPERAND,
    Kind.FUNCTION: _BEFORE_OPERAND,
    Kind.OPEN_GROUP: _BEFORE_OPERAND,
    Kind.PROPERTY: frozenset({Kind.DOT}),
    Kind.WILDCARD: frozenset({Kind.DOT, Kind.OPEN_INDEX}),
    Kind.OPERATOR: _COMPLETE,
    Kind.COMMA: _COMPLETE,
    Kind.DOT: _INDEXABLE,
    Kind.OPEN_INDEX: _INDEXABLE,
    Kind.OPEN_CALL: frozenset({Kind.FUNCTION}),
    Kind.CLOSE_GROUP: _COMPLETE,
    Kind.CLOSE_INDEX: _COMPLETE,
    Kind.CLOSE_CALL: _COMPLETE | {Kind.OPEN_CALL},
}
_OPENED_BY: Final = {
    Kind.CLOSE_GROUP: Kind.OPEN_GROUP,
    Kind.CLOSE_CALL: Kind.OPEN_CALL,
    Kind.CLOSE_INDEX: Kind.OPEN_INDEX,
    Kind.COMMA: Kind.OPEN_CALL,
}
_OPENING: Final = frozenset({Kind.OPEN_GROUP, Kind.OPEN_CALL, Kind.OPEN_INDEX})
_PUNCTUATION: Final = {
    "(": Kind.OPEN_GROUP,
    ")": Kind.CLOSE_GROUP,
    "[": Kind.OPEN_INDEX,
    "]": Kind.CLOSE_INDEX,
    ",": Kind.COMMA,
    "*": Kind.WILDCARD,
}
_OPERATORS: Final = frozenset({"!=", ">=", "<=", "==", "&&", "||", "!", ">", "<"})
_CONSTANTS: Final = {
    "null": None,
    "true": True,
    "false": False,
    "NaN": math.nan,
    "Infinity": math.inf,
}

_BOUNDARY: Final = r"()\[\],.!><=&|" + SPACE
_GAP: Final = re.compile(f"[{SPACE}]*")
_WORD: Final = re.compile(rf"[\s\S][^{_BOUNDARY}]*")
_NUMBER: Final = re.compile(rf"[\s\S](?:[^{_BOUNDARY}]|\.)*")
_STRING: Final = re.compile(r"'(?:[^']++|'')*'(?!')")
_KEYWORD: Final = re.compile(r"[a-zA-Z_][a-zA-Z0-9_-]*")


def unexpected(text: str, start: int) -> ExpressionError:
    """Say that a token cannot stand where it does."""
    return ExpressionError(f"unexpected symbol {_short(text)}", start + 1)


def _short(text: str) -> str:
    limit = 40
    return f"'{text if len(text) <= limit else text[:limit] + '…'}'"


def tokens(text: str) -> Iterator[Token]:
    """Give the tokens of an expression, one by one; ExpressionError for one that is out of place."""
    last: Kind | None = None
    opened: list[Kind] = []
    at = _skip(text, 0)
    while at < len(text):
        token = _read(text, at, last, opened)
        kind = token.kind
        allowed = _BEFORE_OPERAND if token.text == "!" else _AFTER[kind]
        if last not in allowed:
            raise unexpected(token.text, at)
        if (opener := _OPENED_BY.get(kind)) is not None:
            if opened[-1:] != [opener]:
                raise unexpected(token.text, at)
            if kind is not Kind.COMMA:
                opened.pop()
        elif kind in _OPENING:
            opened.append(kind)
        yield token
        last = kind
        at = _skip(text, token.end)


def _skip(text: str, at: int) -> int:
    gap = _GAP.match(text, at)
    return gap.end() if gap else at


def _read(text: str, at: int, last: Kind | None, opened: list[Kind]) -> Token:
    letter = text[at]
    if letter in _PUNCTUATION:
        return Token(_punctuation(letter, last, opened), letter, at)
    if letter == "'":
        return _string(text, at)
    if letter in "!><=&|":
        return _operator(text, at)
    if letter == "." and last not in _BEFORE_OPERAND:
        return Token(Kind.DOT, letter, at)
    if letter in ".+-0123456789":
        return _number(text, at)
    return _keyword(text, at, last)


def _punctuation(letter: str, last: Kind | None, opened: list[Kind]) -> Kind:
    if letter == "(" and last is Kind.FUNCTION:
        return Kind.OPEN_CALL
    if letter == ")" and opened[-1:] == [Kind.OPEN_CALL]:
        return Kind.CLOSE_CALL
    return _PUNCTUATION[letter]


def _string(text: str, at: int) -> Token:
    match = _STRING.match(text, at)
    if match is None:
        raise unexpected(text[at:], at)
    return Token(Kind.LITERAL, match[0], at, match[0][1:-1].replace("''", "'"))


def _operator(text: str, at: int) -> Token:
    for length in (2, 1):
        if text[at : at + length] in _OPERATORS:
            return Token(Kind.OPERATOR, text[at : at + length], at)
    raise unexpected(_take(_WORD, text, at), at)


def _number(text: str, at: int) -> Token:
    word = _take(_NUMBER, text, at)
    value = to_number(word)
    if math.isnan(value):
        raise unexpected(word, at)
    return Token(Kind.LITERAL, word, at, value)


def _keyword(text: str, at: int, last: Kind | None) -> Token:
    word = _take(_WORD, text, at)
    if not _KEYWORD.fullmatch(word):
        raise unexpected(word, at)
    if last is Kind.DOT:
        return Token(Kind.PROPERTY, word, at, word)
    if word in _CONSTANTS:
        return Token(Kind.LITERAL, word, at, _CONSTANTS[word])
    follows = text.startswith("(", _skip(text, at + len(word)))
    return Token(Kind.FUNCTION if follows else Kind.NAME, word, at)


def _take(pattern: re.Pattern[str], text: str, at: int) -> str:
    match = pattern.match(text, at)
    return match[0] if match else text[at]
