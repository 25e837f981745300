r"""GitHub's filter patterns for paths, branches and tags (docs: "Workflow syntax", filter pattern cheat sheet).

`*` is anything without `/`, `**` anything, `?` and `+` repeat the character before them, `[...]` is one of a set,
`\` makes the next character plain, and `!` at the start negates. A pattern is matched in time that grows with the
length of the value only, since whoever wrote a change also wrote its workflows.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_RANGES: Final = ("az", "AZ", "09")


class PathMatch(NamedTuple):
    """A path, and the pattern that decided about it."""

    path: str
    pattern: str


class _Atom(NamedTuple):
    """One place of a pattern: the characters that lead over it, and where one may go without any."""

    chars: frozenset[str]
    inverted: bool = False
    """The characters are those that do not lead over it."""
    loops: bool = False
    """After a character one is here still."""
    jumps: tuple[int, ...] = ()
    """How many places further one also is at once."""

    def accepts(self, char: str) -> bool:
        return (char in self.chars) is not self.inverted


_ANYTHING: Final = _Atom(frozenset(), inverted=True, loops=True, jumps=(1,))
_NO_SLASH: Final = _Atom(frozenset("/"), inverted=True, loops=True, jumps=(1,))
_SLASH: Final = _Atom(frozenset("/"))
_FOLDERS: Final = (_Atom(frozenset(), jumps=(1, 3)), _ANYTHING, _SLASH)
"""`**/` where a name begins: any folders, or none."""


class Pattern:
    """A compiled pattern; one with a `problem` matches nothing."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.negative = text.startswith("!")
        self.problem = ""
        """What is wrong with it, and where; empty where nothing is."""
        self._atoms: tuple[_Atom, ...] = ()
        try:
            self._atoms = tuple(_parse(text, int(self.negative)))
        except _MalformedError as error:
            self.problem = str(error)
        self._moves: dict[tuple[frozenset[int], str], frozenset[int]] = {}
        self._start = self._settled({0})

    def matches(self, value: str) -> bool:
        """Whether the pattern, without its `!`, matches the whole value."""
        if self.problem:
            return False
        places = self._start
        for char in value:
            move = (places, char)
            if move not in self._moves:
                self._moves[move] = self._moved(places, char)
            places = self._moves[move]
            if not places:
                return False
        return len(self._atoms) in places

    def _moved(self, places: Iterable[int], char: str) -> frozenset[int]:
        taken = [p for p in places if p < len(self._atoms) and self._atoms[p].accepts(char)]
        return self._settled({p if self._atoms[p].loops else p + 1 for p in taken})

    def _settled(self, places: set[int]) -> frozenset[int]:
        """Add the places that need no further character."""
        waiting = list(places)
        while waiting:
            place = waiting.pop()
            jumps = self._atoms[place].jumps if place < len(self._atoms) else ()
            for further in {place + jump for jump in jumps} - places:
                places.add(further)
                waiting.append(further)
        return frozenset(places)


@lru_cache(maxsize=4096)
def compile_pattern(text: str) -> Pattern:
    """Compile a pattern; a malformed one says so in `problem`."""
    return Pattern(text)


def deciding(patterns: Sequence[str], value: str) -> Pattern | None:
    """Give the last pattern that matches: if it is a positive one, the value is in."""
    compiled = map(compile_pattern, reversed(patterns))
    return next((pattern for pattern in compiled if pattern.matches(value)), None)


def match_filters(patterns: Sequence[str], value: str) -> str | None:
    """Give the pattern that lets the value in; None where none does, or a later one takes it out again."""
    last = deciding(patterns, value)
    return None if last is None or last.negative else last.text


def first_match(patterns: Sequence[str], paths: Iterable[str]) -> PathMatch | None:
    """Decide `paths`, which holds if any changed file is in: give the first that is, and why."""
    for path in paths:
        pattern = match_filters(patterns, path)
        if pattern is not None:
            return PathMatch(path, pattern)
    return None


def first_kept(patterns: Sequence[str], paths: Iterable[str]) -> str | None:
    """Decide `paths-ignore`, which skips only if all changed files are in: give the first that is not."""
    return next((path for path in paths if match_filters(patterns, path) is None), None)


class _MalformedError(Exception):
    """A pattern cannot be read."""


def _parse(text: str, begin: int) -> list[_Atom]:
    """Read a pattern from `begin`; raises _MalformedError."""
    if len(text) == begin:
        raise _MalformedError("the pattern is empty")
    atoms: list[_Atom] = []
    plain = False  # whether the last atom is one character, which may be repeated
    at = begin
    while at < len(text):
        char = text[at]
        if char == "*":
            wide = text.startswith("**", at)
            at += 2 if wide else 1
            if wide and text.startswith("/", at) and (at == begin + 2 or text[at - 3] == "/"):
                atoms += _FOLDERS
                at += 1
            else:
                atoms.append(_ANYTHING if wide else _NO_SLASH)
            plain = False
        elif char in "?+":
            if not plain:
                raise _MalformedError(
                    f"`{char}` at character {at + 1} has no character before it to repeat"
                )
            one = atoms[-1]
            atoms[-1:] = (
                [one._replace(jumps=(1,))]
                if char == "?"
                else [one, one._replace(loops=True, jumps=(1,))]
            )
            plain, at = False, at + 1
        elif char == "[":
            chars, at = _parse_set(text, at)
            atoms.append(_Atom(chars))
            plain = True
        else:
            char, at = _parse_char(text, at)
            atoms.append(_Atom(frozenset(char)))
            plain = True
    return atoms


def _parse_char(text: str, at: int) -> tuple[str, int]:
    r"""Give the character at a place, and the next place; `\` stands for the one after it."""
    if text[at] != "\\":
        return text[at], at + 1
    if at + 1 == len(text):
        raise _MalformedError(f"`\\` at character {at + 1} has no character after it")
    return text[at + 1], at + 2


def _parse_set(text: str, begin: int) -> tuple[frozenset[str], int]:
    """Read `[...]`: single characters and ranges; only `a-z`, `A-Z` and `0-9`, or a part of one, is a range."""
    chars: set[str] = set()
    at = begin + 1
    while at < len(text) and text[at] != "]":
        first, after = _parse_char(text, at)
        if text.startswith("-", after) and text[after + 1 : after + 2] not in {"", "]"}:
            last, after = _parse_char(text, after + 1)
            if not any(low <= first <= last <= high for low, high in _RANGES):
                raise _MalformedError(
                    f"`{first}-{last}` at character {at + 1} is no range: only a-z, A-Z and 0-9 are"
                )
            chars |= {chr(code) for code in range(ord(first), ord(last) + 1)}
        else:
            chars.add(first)
        at = after
    if at >= len(text):
        raise _MalformedError(f"`[` at character {begin + 1} is never closed")
    if not chars:
        raise _MalformedError(f"`[]` at character {begin + 1} is empty")
    return frozenset(chars), at + 1
