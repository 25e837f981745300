"""Matches paths with glob patterns as minimatch does for @actions/glob: no braces, no extended globs, dots are letters."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

EVERYTHING: Final = None
"""The segment `**`: any number of names."""

Segment = str | re.Pattern[str] | None
"""A name, a pattern of names, or EVERYTHING."""

_PIECE: Final = re.compile(r"\\.|\*+|\?|\[[!^]?+\]?+(?:\\.|[^\\\]]){0,255}+\]|.", re.DOTALL)
_IN_CLASS: Final = re.compile(r"\\(.)|([\[\]\\^&~|])", re.DOTALL)


def enter(
    segments: tuple[Segment, ...], names: Iterable[str], states: frozenset[int] = frozenset({0})
) -> frozenset[int]:
    """Give how many segments may be used up after these names; `states` says the same of the names before.

    The whole matches where that may be all of them. The time is in proportion to both lengths at most.
    """
    states = _reach(segments, states)
    for name in names:
        step = (
            at if segments[at] is None else at + 1 for at in states if _takes(segments, at, name)
        )
        states = _reach(segments, step)
        if not states:
            break
    return states


def _takes(segments: tuple[Segment, ...], at: int, name: str) -> bool:
    if at == len(segments):
        return False
    match segments[at]:
        case None:
            return True
        case str(fixed):
            return name == fixed
        case pattern:
            return pattern.fullmatch(name) is not None


def _reach(segments: tuple[Segment, ...], states: Iterable[int]) -> frozenset[int]:
    """Add where `**` leads to without taking a name."""
    reached: set[int] = set()
    for state in states:
        at = state
        reached.add(at)
        while at < len(segments) and segments[at] is None:
            at += 1
            reached.add(at)
    return frozenset(reached)


@lru_cache(maxsize=1024)
def segment(text: str) -> Segment:
    """Read one segment of a pattern."""
    if text == "**":
        return EVERYTHING
    if (name := literal(text)) is not None:
        return name
    chunks = [""]
    for piece in _pieces(text):
        if piece[0] == "*":
            chunks.append("")
        else:
            chunks[-1] += _translate(piece)
    first, *others = chunks
    if others:
        # Each part is taken where it comes first, and never given back: no pattern takes exponential time.
        middle = "".join(f"(?>.*?{chunk})" for chunk in others[:-1])
        first += f"{middle}.*{others[-1]}"
    try:
        return re.compile(f"(?s:(?=.){first})")
    except re.error:  # `[z-a]`
        return text


def literal(text: str) -> str | None:
    """Give the name that a segment stands for; None where it stands for several."""
    name = ""
    for piece in _pieces(text):
        if piece[0] in "*?":
            return None
        if piece[0] == "[" and len(piece) > 1:
            inner = _IN_CLASS.sub(lambda match: match[1] or match[2], piece[1:-1])
            if len(inner) != 1:
                return None
            name += inner
        else:
            name += piece[-1]
    return name


def _pieces(text: str) -> Iterator[str]:
    return (match[0] for match in _PIECE.finditer(text))


def _translate(piece: str) -> str:
    if piece == "?":
        return "."
    if piece[0] == "[" and len(piece) > 1:
        negation = "^" if piece[1] in "!^" else ""
        inner = _IN_CLASS.sub(_in_class, piece[1 + len(negation) : -1])
        return f"[{negation}{inner.replace('--', '-' + chr(92) + '-')}]"
    return re.escape(piece[-1])


def _in_class(match: re.Match[str]) -> str:
    return re.escape(match[1] or match[2])
