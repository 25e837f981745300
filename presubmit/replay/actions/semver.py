"""npm's version ranges, which the setup actions read: `3.x`, `>=3.9 <3.14`, `~1.2.3-0`, `18 || 20`.

The rules: https://github.com/npm/node-semver#advanced-range-syntax.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_NUMBER: Final = r"0|[1-9]\d*|[xX*]"
_PARTIAL: Final = re.compile(
    rf"[v=\s]*(?P<major>{_NUMBER})(?:\.(?P<minor>{_NUMBER})(?:\.(?P<patch>{_NUMBER})"
    r"(?:(?P<dash>-?)(?P<prerelease>[0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?)?)?"
)
_OPERATOR: Final = re.compile(r"(?P<operator>[<>]=?|=|~>?|\^)?(?P<rest>.*)", re.DOTALL)
_SPACED_OPERATOR: Final = re.compile(r"([<>]=?|=|~>?|\^)\s+")
_HYPHEN: Final = re.compile(r"\s*(\S+)\s+-\s+(\S+)\s*")
_PYTHON: Final = re.compile(r"(\d+)(?:\.(\d+))?(?:\.(\d+))?(?:[-.]?(a|alpha|b|beta|rc)\.?(\d+))?")
_PHASES: Final = {"a": "alpha", "b": "beta"}


class Version(NamedTuple):
    """A whole version; `prerelease` is empty for a release."""

    major: int
    minor: int
    patch: int
    prerelease: tuple[int | str, ...] = ()

    @property
    def rank(self) -> tuple[object, ...]:
        """Sorts versions: a prerelease before its release, numbers before words."""
        words = tuple((isinstance(part, str), part) for part in self.prerelease)
        return (self.major, self.minor, self.patch, not self.prerelease, words)


class Comparator(NamedTuple):
    """One condition: `>=` and a version."""

    operator: str
    version: Version

    def holds(self, version: Version) -> bool:
        """Whether a version meets it."""
        match self.operator:
            case "<":
                return version.rank < self.version.rank
            case "<=":
                return version.rank <= self.version.rank
            case ">":
                return version.rank > self.version.rank
            case ">=":
                return version.rank >= self.version.rank
            case _:
                return version.rank == self.version.rank


Range = tuple[tuple[Comparator, ...], ...]
"""Alternatives, each of conditions that all hold; no condition at all is `*`."""

_NOTHING: Final = Comparator("<", Version(0, 0, 0, (0,)))


class _Partial(NamedTuple):
    major: int | None
    minor: int | None
    patch: int | None
    prerelease: tuple[int | str, ...]

    @property
    def whole(self) -> Version:
        return Version(self.major or 0, self.minor or 0, self.patch or 0, self.prerelease)


def parse_version(text: str) -> Version | None:
    """Read a version as tools and interpreters say it: `v18.19.0`, `3.15.0rc1`, `1.22`; None for anything else.

    Python's `3.15.0rc1` is `3.15.0-rc.1`, as GitHub's tool cache has it.
    """
    match = _PYTHON.match(text.strip().removeprefix("v").removeprefix("go"))
    if match is None:
        return None
    major, minor, patch, phase, serial = match.groups()
    prerelease = () if phase is None else (_PHASES.get(phase, phase), int(serial))
    return Version(int(major), int(minor or 0), int(patch or 0), prerelease)


def parse_range(text: str, *, loose: bool = False) -> Range | None:
    """Read a range; None where npm would call it invalid. `loose` takes `3.9.0rc1` without a hyphen."""
    alternatives = []
    for part in text.split("||"):
        comparators = _alternative(part.strip(), loose=loose)
        if comparators is None:
            return None
        alternatives.append(comparators)
    return tuple(alternatives)


def satisfies(version: Version, wanted: Range) -> bool:
    """Whether a version is in a range; a prerelease only where the range names one of the same release."""
    return any(_meets(version, comparators) for comparators in wanted)


def newest(versions: Iterable[Version], wanted: Range) -> Version | None:
    """Give the newest version in a range."""
    found = [version for version in versions if satisfies(version, wanted)]
    return max(found, key=lambda version: version.rank, default=None)


def _meets(version: Version, comparators: tuple[Comparator, ...]) -> bool:
    if not all(comparator.holds(version) for comparator in comparators):
        return False
    return not version.prerelease or any(
        comparator.version.prerelease and comparator.version[:3] == version[:3]
        for comparator in comparators
    )


def _alternative(text: str, *, loose: bool) -> tuple[Comparator, ...] | None:
    if (ends := _HYPHEN.fullmatch(text)) is not None:
        low, high = (_partial(end, loose=loose) for end in ends.groups())
        return None if low is None or high is None else (*_from(low), *_up_to(high))
    found: list[Comparator] = []
    for word in _SPACED_OPERATOR.sub(r"\1", text).split():
        comparators = _word(word, loose=loose)
        if comparators is None:
            return None
        found += comparators
    return tuple(found)


def _word(word: str, *, loose: bool) -> tuple[Comparator, ...] | None:
    match = _OPERATOR.fullmatch(word)
    operator = (match["operator"] or "") if match is not None else ""
    partial = _partial(match["rest"] if match is not None else word, loose=loose)
    if partial is None:
        return None
    match operator:
        case "~" | "~>":
            return tuple(_tilde(partial))
        case "^":
            return tuple(_caret(partial))
        case _:
            return tuple(
                _plain(operator.replace("=", "") if operator == "=" else operator, partial)
            )


def _partial(text: str, *, loose: bool) -> _Partial | None:
    match = _PARTIAL.fullmatch(text.strip())
    if match is None or (match["prerelease"] and not match["dash"] and not loose):
        return None
    major, minor, patch = (
        None if value is None or value in "xX*" else int(value)
        for value in match.group("major", "minor", "patch")
    )
    minor = None if major is None else minor
    patch = None if minor is None else patch
    words = match["prerelease"].split(".") if match["prerelease"] else []
    prerelease = tuple(int(word) if word.isdecimal() else word for word in words)
    return _Partial(major, minor, patch, prerelease)


def _below(major: int, minor: int = 0, patch: int = 0) -> Comparator:
    return Comparator("<", Version(major, minor, patch, (0,)))


def _from(partial: _Partial) -> Iterator[Comparator]:
    if partial.major is not None:
        yield Comparator(">=", partial.whole)


def _up_to(partial: _Partial) -> Iterator[Comparator]:
    match partial:
        case (None, _, _, _):
            return
        case (int(major), None, _, _):
            yield _below(major + 1)
        case (int(major), int(minor), None, _):
            yield _below(major, minor + 1)
        case _:
            yield Comparator("<=", partial.whole)


def _tilde(partial: _Partial) -> Iterator[Comparator]:
    if partial.major is None:
        return
    yield Comparator(">=", partial.whole)
    yield (
        _below(partial.major + 1)
        if partial.minor is None
        else _below(partial.major, partial.minor + 1)
    )


def _caret(partial: _Partial) -> Iterator[Comparator]:
    major, minor, patch, _ = partial
    if major is None:
        return
    yield Comparator(">=", partial.whole)
    if major > 0 or minor is None:
        yield _below(major + 1)
    elif minor > 0 or patch is None:
        yield _below(0, minor + 1)
    else:
        yield _below(0, 0, patch + 1)


def _plain(operator: str, partial: _Partial) -> Iterator[Comparator]:
    major, minor, patch, _ = partial
    if major is None:
        if operator in {"<", ">"}:
            yield _NOTHING
        return
    if patch is not None:
        yield Comparator(operator or "=", partial.whole)
        return
    following = Version(major + 1, 0, 0) if minor is None else Version(major, minor + 1, 0)
    match operator:
        case ">":
            yield Comparator(">=", following)
        case "<=":
            yield Comparator("<", Version(*following[:3], (0,)))
        case "<":
            yield Comparator("<", Version(major, minor or 0, 0, (0,)))
        case ">=":
            yield Comparator(">=", partial.whole)
        case _:
            yield Comparator(">=", partial.whole)
            yield Comparator("<", Version(*following[:3], (0,)))
