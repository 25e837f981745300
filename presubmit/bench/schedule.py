"""Which benchmarks the next pair measures, in which order, and what both its processes share; pure."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Final

from presubmit.bench.looks import next_look
from presubmit.bench.values import Adapter, Bench, Settings, Suite
from presubmit.values import Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from presubmit.bench.progress import Stage

_THREADS: Final = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
_SPARE: Final = 1.2
"""The confirmation is given so many times the seconds that its least number of pairs should take."""


class Waiting(Value, frozen=True, kw_only=True):
    """A benchmark that is not yet decided."""

    id: str
    pairs: int
    cost: float
    """Seconds of one more pair, the start of its processes apart."""


def choose_active(
    live: Sequence[Waiting], *, left: float, start: float, settings: Settings
) -> frozenset[str]:
    """Choose what the next pairs measure: as many as reach their next look in the seconds that are left.

    All at once for a few pairs each would decide nothing. Those never looked at come first, then the caller's order
    counts; at least one is chosen. `start` is what starting the processes of a pair costs.
    """
    first = settings.looks[0]
    left -= start * first
    chosen: set[str] = set()
    for one in sorted(live, key=lambda one: one.pairs >= first):
        need = one.cost * max(1, next_look(one.pairs, settings) - one.pairs)
        if need <= left:
            left -= need
            chosen.add(one.id)
    return frozenset(chosen or [one.id for one in live[:1]])


def reserve(costs: Iterable[float], *, start: float, settings: Settings) -> float:
    """Give the seconds to keep for the confirmation of what is slower so far; 0 where nothing is."""
    whole = sum(costs)
    return (whole + start) * settings.looks[0] * _SPARE if whole else 0.0


def order(
    benches: Sequence[Bench], suite: Suite, *, stage: Stage, number: int, settings: Settings
) -> tuple[Bench, ...]:
    """Give the order in one pair, both sides the same. A torch script runs in its own, which is the caller's."""
    if suite.adapter is Adapter.TORCH:
        return tuple(benches)
    shuffled = list(benches)
    _random(settings, suite, stage, number, "order").shuffle(shuffled)
    return tuple(shuffled)


def environment(suite: Suite, *, stage: Stage, number: int, settings: Settings) -> dict[str, str]:
    """Give the variables of one pair, both sides the same: another hash seed each pair, the number of threads."""
    seed = _random(settings, suite, stage, number, "hash").randrange(1, 1 << 32)
    return {
        "PYTHONHASHSEED": str(seed),
        **dict.fromkeys(_THREADS, str(settings.threads)),
    }


def lead_of(number: int) -> str:
    """Say which side goes first in the pair with this number."""
    return "base" if number % 2 == 0 else "head"


def group(
    benches: Iterable[Bench], suites: Sequence[Suite]
) -> tuple[Mapping[int, tuple[Bench, ...]], tuple[Bench, ...]]:
    """Give the benchmarks of each suite, by its place in `suites`, and those whose suite is not there."""
    groups: dict[int, tuple[Bench, ...]] = {}
    strangers: list[Bench] = []
    for bench in benches:
        same = [
            place
            for place, suite in enumerate(suites)
            if (suite.adapter, suite.root) == (bench.adapter, bench.root)
        ]
        holding = [place for place in same if bench.file in suites[place].files]
        place = next(iter((*holding, *same)), None)
        if place is None:
            strangers.append(bench)
        else:
            groups[place] = (*groups.get(place, ()), bench)
    return groups, tuple(strangers)


def _random(
    settings: Settings, suite: Suite, stage: Stage, number: int, purpose: str
) -> random.Random:
    # A string seeds by its digest, the same in every process.
    words = (settings.seed, purpose, stage, suite.adapter, suite.root, number)
    return random.Random("/".join(map(str, words)))  # noqa: S311 - no secret
