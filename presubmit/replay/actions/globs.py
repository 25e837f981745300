"""Shell patterns as minimatch and picomatch read them: `**`, `?`, `[a-z]`, `{a,b}`, `!(x)`, a leading `!`.

https://github.com/isaacs/minimatch and https://github.com/micromatch/picomatch; where both agree, that is what
is done here.
"""

from __future__ import annotations

import re
from itertools import product
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

_NUMBERS: Final = re.compile(r"(-?\d+)\.\.(-?\d+)(?:\.\.(-?\d+))?")
_CLASS: Final = re.compile(r"\[:(alpha|digit|alnum|lower|upper|space|punct|word):\]")
_CLASSES: Final = {
    "alpha": "a-zA-Z",
    "digit": "0-9",
    "alnum": "a-zA-Z0-9",
    "lower": "a-z",
    "upper": "A-Z",
    "space": r"\s",
    "punct": r"!-/:-@\[-`{-~",
    "word": r"\w",
}
_MOST_ALTERNATIVES: Final = 4096


def matcher(pattern: str, *, dot: bool) -> Callable[[str], bool]:
    """Give a test for whole paths with `/`; `dot` lets wildcards match names that begin with a dot.

    Raises ValueError for a pattern that stands for too many.
    """
    negated = False
    while pattern.startswith("!") and not pattern.startswith("!("):
        negated = not negated
        pattern = pattern[1:]
    pattern = pattern.removeprefix("./")
    expressions = [compiled(text, dot=dot) for text in expand_braces(pattern)]
    return lambda path: any(one.fullmatch(path) for one in expressions) is not negated


def compiled(pattern: str, *, dot: bool, extended: bool = True) -> re.Pattern[str]:
    """Give the expression of a pattern without braces; `extended` reads `@(a|b)` and its kin."""
    segments = pattern.split("/")
    if extended:
        segments = _joined(segments)
    text = ""
    for place, segment in enumerate(segments):
        last = place == len(segments) - 1
        if segment == "**":
            any_name = r"[^/]+" if dot else r"(?!\.)[^/]+"
            text += f"(?:{any_name}(?:/{any_name})*/?)?" if last else f"(?:{any_name}/)*"
        else:
            text += _segment(segment, dot=dot, extended=extended) + ("" if last else "/")
    # `a/**` also stands for `a` itself in picomatch, for what is below it in minimatch.
    return re.compile(text, re.DOTALL)


def _joined(segments: list[str]) -> list[str]:
    """Put together again what a `/` inside of parentheses parted."""
    joined: list[str] = []
    depth = 0
    for segment in segments:
        if depth > 0:
            joined[-1] += f"/{segment}"
        else:
            joined.append(segment)
        depth += segment.count("(") - segment.count(")")
    return joined


def _segment(segment: str, *, dot: bool, extended: bool) -> str:
    if not segment:
        return ""
    body, _ = _translate(segment, 0, "", extended=extended)
    wild = segment[0] in "*?[" or (extended and segment[0] in "!+@" and segment[1:2] == "(")
    # A wildcard stands for at least one character, and never for the names `.` and `..`.
    if not wild:
        return body
    return (r"(?!\.\.?(?:/|\Z))" if dot else r"(?!\.)") + r"(?=[^/])" + body


def _translate(text: str, start: int, until: str, *, extended: bool) -> tuple[str, int]:
    """Translate up to one of the characters in `until`; gives the expression and where it ended."""
    out = ""
    place = start
    while place < len(text) and text[place] not in until:
        character = text[place]
        if extended and character in "?*+@!" and text[place + 1 : place + 2] == "(":
            group, place = _group(text, place)
            out += group
            continue
        place += 1
        match character:
            case "*":
                while text[place : place + 1] == "*":
                    place += 1
                out += "[^/]*"
            case "?":
                out += "[^/]"
            case "[":
                found, place = _set(text, place)
                out += found
            case "\\" if place < len(text):
                out += re.escape(text[place])
                place += 1
            case _:
                out += re.escape(character)
    return out, place


def _group(text: str, place: int) -> tuple[str, int]:
    """Translate `@(a|b)`; one that is never closed is plain text."""
    kind = text[place]
    alternatives: list[str] = []
    end = place + 2
    while True:
        body, end = _translate(text, end, "|)", extended=True)
        if end >= len(text):
            return re.escape(text[place : place + 2]), place + 2
        alternatives.append(body)
        if text[end] == ")":
            break
        end += 1
    inner = "|".join(alternatives)
    if kind == "!":
        rest, _ = _translate(text, end + 1, "", extended=True)
        return rf"(?!(?:{inner}){rest}(?:/|\Z))[^/]*?", end + 1
    return f"(?:{inner})" + {"?": "?", "*": "*", "+": "+", "@": ""}[kind], end + 1


def _set(text: str, place: int) -> tuple[str, int]:
    """Translate `[a-z]` from behind its `[`; one that is never closed is plain text."""
    end = place + 1 if text[place : place + 1] in {"!", "^"} else place
    if text[end : end + 1] == "]":
        end += 1
    while end < len(text) and text[end] != "]":
        known = _CLASS.match(text, end)
        end = known.end() if known else end + (2 if text[end] == "\\" else 1)
    if end >= len(text) or "/" in text[place:end]:
        return r"\[", place
    body = text[place:end]
    negated = body[:1] in {"!", "^"}
    inner = _CLASS.sub(lambda found: f"\0{found[1]}\0", body[1:] if negated else body)
    inner = re.sub(r"(?<!\\)([\[&~|^])", r"\\\1", inner)
    if inner.startswith("]"):
        inner = "\\" + inner
    inner = re.sub("\0(\\w+)\0", lambda found: _CLASSES[found[1]], inner)
    try:
        re.compile(f"[{inner}]")
    except re.error:
        return re.escape(text[place - 1 : end + 1]), end + 1
    return f"[{'^/' if negated else ''}{inner}]", end + 1


def expand_braces(pattern: str) -> tuple[str, ...]:
    """Give what `{a,b}` and `{1..3}` stand for; braces with one word in them are plain text."""
    found = _braces(pattern)
    if len(found) > _MOST_ALTERNATIVES:
        raise ValueError(f"the pattern {pattern[:80]!r} stands for more than {_MOST_ALTERNATIVES}")
    return tuple(found)


def _braces(pattern: str) -> list[str]:
    start = _unescaped(pattern, "{", 0)
    if start < 0:
        return [pattern]
    parts, end = _parts(pattern, start)
    if end < 0:
        return [pattern[: start + 1] + rest for rest in _braces(pattern[start + 1 :])]
    tails = _braces(pattern[end + 1 :])
    if len(parts) == 1:
        numbers = _NUMBERS.fullmatch(parts[0])
        heads = (
            _sequence(*numbers.groups())
            if numbers is not None
            else [f"{{{inner}}}" for inner in _braces(parts[0])]
        )
    else:
        heads = [inner for part in parts for inner in _braces(part)]
    if len(heads) * len(tails) > _MOST_ALTERNATIVES:
        raise ValueError(f"the pattern {pattern[:80]!r} stands for more than {_MOST_ALTERNATIVES}")
    return [pattern[:start] + head + tail for head, tail in product(heads, tails)]


def _parts(pattern: str, start: int) -> tuple[list[str], int]:
    """Part what stands in the braces at `start` at its commas; the second is -1 where they are not closed."""
    depth, begin = 0, start + 1
    parts: list[str] = []
    place = start
    while place < len(pattern):
        match pattern[place]:
            case "\\":
                place += 1
            case "{":
                depth += 1
            case "," if depth == 1:
                parts.append(pattern[begin:place])
                begin = place + 1
            case "}":
                depth -= 1
                if depth == 0:
                    return [*parts, pattern[begin:place]], place
            case _:
                pass
        place += 1
    return [], -1


def _sequence(first: str, last: str, step: str | None) -> list[str]:
    low, high = int(first), int(last)
    by = max(1, abs(int(step or 1)))
    numbers = range(low, high + 1, by) if low <= high else range(low, high - 1, -by)
    if len(numbers) > _MOST_ALTERNATIVES:
        raise ValueError(f"the pattern {{{first}..{last}}} stands for too many")
    return [str(number) for number in numbers]


def _unescaped(text: str, character: str, start: int) -> int:
    place = start
    while place < len(text):
        if text[place] == "\\":
            place += 2
            continue
        if text[place] == character:
            return place
        place += 1
    return -1
