"""Which of the chosen tests run where: what a budget has room for, and how processes or machines share them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from presubmit.selector.layout import matches_glob
from presubmit.values import ChosenTest, Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from presubmit.selector.recorded_store import Stored

_UNKNOWN: Final = 1.0
"""Seconds of a test file where none is known."""

# `seconds` holds test files (`tests/test_a.py`) and, of files that are as they were when they ran, single tests
# without parameters (`tests/test_a.py::C::test_x`).


class Share(Value, frozen=True, kw_only=True):
    """What one process runs."""

    files: tuple[str, ...]
    within: tuple[str, ...] = ()
    """Ids that narrow some of `files` to these; an id may be a class."""
    without: tuple[str, ...] = ()
    """Ids of `files` that another share runs."""
    seconds: float = 0.0

    @property
    def units(self) -> tuple[str, ...]:
        """What is run: files, and ids where a file is narrowed."""
        return units_of(self.files, self.within)


def units_of(files: Iterable[str], within: Iterable[str]) -> tuple[str, ...]:
    """Give files, and in place of each narrowed one its ids."""
    ids: dict[str, list[str]] = {}
    for one in within:
        ids.setdefault(_file(one), []).append(one)
    return tuple(unit for path in files for unit in ids.get(path, (path,)))


# --- how long ---------------------------------------------------------------------------------------------------------


def cost(test: ChosenTest, seconds: Mapping[str, float]) -> float | None:
    """Give the known seconds of a chosen file, or of its chosen tests; None where nothing is known."""
    if not test.ids:
        return seconds.get(test.path)
    known = [seconds[one] for one in test.ids if one in seconds]
    if not known:
        return seconds.get(test.path)
    return sum(known) + _median(known) * (len(test.ids) - len(known))


def _median(values: Sequence[float]) -> float:
    import statistics  # noqa: PLC0415 - it loads fractions and decimals, and `select` needs none of it

    return statistics.median(values)


def usual(seconds: Mapping[str, float]) -> float:
    """Give what an unknown test file is expected to take: the median of the known ones."""
    known = [taken for name, taken in seconds.items() if "::" not in name]
    return _median(known) if known else _UNKNOWN


def known_seconds(tests: Iterable[ChosenTest], seconds: Mapping[str, float]) -> float | None:
    """Add up what is known of some tests; None where nothing is."""
    known = [taken for test in tests if (taken := cost(test, seconds)) is not None]
    return sum(known) if known else None


def recorded_seconds(runs: Iterable[Stored], blobs: Mapping[str, str]) -> dict[str, float]:
    """Give the seconds of single tests that recorded runs tell, the newest first, for files that are as they were.

    `blobs` are the blob ids of the tree under test.
    """
    found: dict[str, float] = {}
    for stored in runs:
        same = {path for path, blob in stored.run.files.items() if blobs.get(path) == blob}
        for seen in stored.index.contexts:
            if seen.id and seen.file in same:
                found.setdefault(seen.id, seen.seconds)
    return found


# --- budget -----------------------------------------------------------------------------------------------------------


def within_budget(
    ranked: Sequence[ChosenTest], seconds: Mapping[str, float], budget: float
) -> tuple[tuple[ChosenTest, ...], tuple[str, ...]]:
    """Take tests in their order as long as they fit; (kept, names of the files and ids that were cut).

    A file that does not fit is passed over, and a shorter one behind it may be taken: more is tested in the time.
    Edited tests, and the first of all, are kept at any length.
    """
    otherwise = usual(seconds)
    kept: list[ChosenTest] = []
    cut: list[str] = []
    spent = 0.0
    for test in ranked:
        taken = cost(test, seconds)
        taken = otherwise if taken is None else taken
        if spent + taken <= budget or not kept or _edited(test):
            kept.append(test)
            spent += taken
            continue
        fitting = _fitting(test, seconds, budget - spent)
        if fitting:
            kept.append(msgspec.structs.replace(test, ids=fitting))
            spent += sum(seconds[one] for one in fitting)
        cut += [one for one in test.ids or (test.path,) if one not in fitting]
    return tuple(kept), tuple(cut)


def _edited(test: ChosenTest) -> bool:
    return any(reason.rule == "edited" for reason in test.reasons)


def _fitting(test: ChosenTest, seconds: Mapping[str, float], room: float) -> tuple[str, ...]:
    """Give those of a narrowed file's tests that fit by their known seconds, in their order."""
    taken: list[str] = []
    for one in test.ids:
        if seconds.get(one, math.inf) <= room:
            taken.append(one)
            room -= seconds[one]
    return tuple(taken)


# --- sharing ----------------------------------------------------------------------------------------------------------


class _Piece(NamedTuple):
    """What must stay together: one or several files, or a part of one."""

    name: str
    seconds: float
    files: tuple[str, ...]
    within: tuple[str, ...] = ()
    without: tuple[str, ...] = ()


def share(
    tests: Sequence[ChosenTest],
    seconds: Mapping[str, float],
    count: int,
    *,
    serial: Sequence[str] = (),
) -> list[Share]:
    """Share tests over at most `count` processes by their seconds, longest first; files keep their order.

    A file that alone is longer than a fair share is parted by its classes and functions where their seconds are
    known. The files that match `serial` stay whole and in one share. No share is empty.
    """
    otherwise = usual(seconds)
    costs = {
        test.path: otherwise if (taken := cost(test, seconds)) is None else taken for test in tests
    }
    apart, others = part_serial(tests, serial)
    pieces = [_together(apart, costs)] if apart else []
    fair = sum(costs.values()) / count
    for test in others:
        pieces += _pieces(test, seconds, costs[test.path], fair, count)
    loads = [0.0] * min(count, len(pieces))
    parts: list[list[_Piece]] = [[] for _ in loads]
    for piece in sorted(pieces, key=lambda it: (-it.seconds, it.name)):
        # By number where seconds say nothing (0.000): no share may stay empty.
        lightest = min(range(len(loads)), key=lambda one: (loads[one], len(parts[one])))
        loads[lightest] += piece.seconds
        parts[lightest].append(piece)
    order = {test.path: number for number, test in enumerate(tests)}
    return [_joined(part, order, load) for part, load in zip(parts, loads, strict=True)]


def part_serial(
    tests: Sequence[ChosenTest], serial: Sequence[str]
) -> tuple[list[ChosenTest], list[ChosenTest]]:
    """Part tests into those that match a pattern of `tests.serial` and the others, each in their order."""
    apart: list[ChosenTest] = []
    others: list[ChosenTest] = []
    for test in tests:
        found = any(matches_glob(test.path, glob) for glob in serial)
        (apart if found else others).append(test)
    return apart, others


def _together(tests: Sequence[ChosenTest], costs: Mapping[str, float]) -> _Piece:
    return _Piece(
        name=tests[0].path,
        seconds=sum(costs[test.path] for test in tests),
        files=tuple(test.path for test in tests),
        within=tuple(one for test in tests for one in test.ids),
    )


def _pieces(
    test: ChosenTest, seconds: Mapping[str, float], taken: float, fair: float, count: int
) -> list[_Piece]:
    """Give a file as one piece, or in several where it is longer than a fair share."""
    whole = _Piece(test.path, taken, (test.path,), test.ids)
    if count == 1 or taken <= fair or _edited(test):
        return [whole]
    groups = _groups(test, seconds)
    wanted = min(count, len(groups), math.ceil(taken / fair))
    if wanted < 2:  # noqa: PLR2004 - one part is the whole
        return [whole]
    loads = [0.0] * wanted
    names: list[list[str]] = [[] for _ in loads]
    for name in sorted(groups, key=lambda it: (-groups[it], it)):
        lightest = min(range(wanted), key=lambda one: (loads[one], len(names[one])))
        loads[lightest] += groups[name]
        names[lightest].append(name)
    if test.ids:
        inside = [tuple(one for one in test.ids if _group(one) in part) for part in names]
        return [
            _Piece(part[0], load, (test.path,), ids)
            for part, load, ids in zip(names, loads, inside, strict=True)
        ]
    # The first takes what the others do not name: a test that nobody has seen yet runs there.
    named = tuple(name for part in names[1:] for name in part)
    rest = _Piece(names[0][0], loads[0], (test.path,), without=named)
    others = zip(names[1:], loads[1:], strict=True)
    return [rest, *(_Piece(part[0], load, (test.path,), tuple(part)) for part, load in others)]


def _groups(test: ChosenTest, seconds: Mapping[str, float]) -> dict[str, float]:
    """Give the seconds of a file's classes and functions, where they are known; a class stays whole.

    Its fixtures and its order belong to it.
    """
    start = f"{test.path}::"
    ids = test.ids or tuple(name for name in seconds if name.startswith(start))
    known = [seconds[one] for one in ids if one in seconds]
    if not known:
        return {}
    middle = _median(known)
    groups: dict[str, float] = {}
    for one in ids:
        groups[_group(one)] = groups.get(_group(one), 0.0) + seconds.get(one, middle)
    return groups


def _group(one: str) -> str:
    """Give the class or function at the top of the module that an id lies in."""
    return "::".join(one.split("::")[:2])


def _file(one: str) -> str:
    return one.partition("::")[0]


def _joined(pieces: Sequence[_Piece], order: Mapping[str, int], load: float) -> Share:
    """Join pieces to a share; parts of one file that met in it are one part."""
    files = sorted({path for piece in pieces for path in piece.files}, key=order.__getitem__)
    rests = {piece.files[0] for piece in pieces if piece.without}
    named = {one for piece in pieces for one in piece.within}
    within = (one for piece in pieces for one in piece.within if _file(one) not in rests)
    without = (one for piece in pieces for one in piece.without if one not in named)
    return Share(
        files=tuple(files), within=tuple(within), without=tuple(without), seconds=round(load, 3)
    )


# --- machines ---------------------------------------------------------------------------------------------------------


class Shard(Value, frozen=True, kw_only=True):
    """One of several machines that share a run: `--shard 2/4`."""

    number: int
    count: int

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"


def of_shard(
    tests: Sequence[ChosenTest], shard: Shard, *, serial: Sequence[str] = ()
) -> tuple[tuple[ChosenTest, ...], tuple[str, ...]]:
    """Give one machine's part of the tests, in their order, and the names of what the other machines run.

    By names alone, in turn: every machine must find the same parts, and each knows other seconds. Hence the tests
    must be those that a selection without a recorded run gives.
    """
    together, others = part_serial(tests, serial)
    mine = set(sorted(test.path for test in others)[shard.number - 1 :: shard.count])
    # The files that must not be parted go to the last machine, which never has more of the others.
    if shard.number == shard.count:
        mine |= {test.path for test in together}
    kept = tuple(test for test in tests if test.path in mine)
    return kept, tuple(test.path for test in tests if test.path not in mine)
