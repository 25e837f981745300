"""Decides one benchmark by the pairs measured so far: slower, faster, same, or not yet; pure."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from presubmit.bench.statistics import estimate
from presubmit.bench.values import Interval, Settings, Word
from presubmit.values import Value

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from presubmit.bench.statistics import Estimate

_MOST_NEEDED: Final = 100_000


class Decision(Value, frozen=True, kw_only=True):
    """What a look at the data gave."""

    word: Word | None
    """None: go on measuring."""
    interval: Interval
    needed: int | None = None
    """Where it is not decided: about how many pairs would; None where that cannot be told."""


def decide(log_ratios: Sequence[float], settings: Settings) -> Decision:
    """Look at the data; off the planned looks nothing is decided, for each look more costs false alarms.

    Raises ValueError for no log ratios.
    """
    found = estimate(log_ratios, alpha=settings.alpha)
    interval = as_interval(found, settings)
    word = _read(interval, settings) if is_look(len(log_ratios), settings) else None
    if word is None and len(log_ratios) >= settings.looks[-1]:
        word = Word.UNSURE
    if word is None or word is Word.UNSURE:
        needed = _needed(found, len(log_ratios), settings)
        return Decision(word=word, interval=interval, needed=needed)
    return Decision(word=word, interval=interval)


def is_look(pairs: int, settings: Settings) -> bool:
    """Whether the data may be judged after so many pairs."""
    return pairs in settings.looks or pairs > settings.looks[-1]


def next_look(pairs: int, settings: Settings) -> int:
    """Give the number of pairs at which the data are looked at next; the last look's, once that is past."""
    return next((look for look in settings.looks if look > pairs), settings.looks[-1])


def interval_of(log_ratios: Sequence[float], settings: Settings) -> Interval:
    """Give the ratio head/base with its interval. Raises ValueError for no log ratios."""
    return as_interval(estimate(log_ratios, alpha=settings.alpha), settings)


def as_interval(found: Estimate, settings: Settings) -> Interval:
    """Give an estimate of log ratios as one of the ratio."""
    return Interval(
        ratio=_exp(found.middle),
        low=None if found.low is None else _exp(found.low),
        high=None if found.high is None else _exp(found.high),
        level=1 - settings.alpha,
    )


def _read(interval: Interval, settings: Settings) -> Word | None:
    if interval.low is None or interval.high is None:
        return None
    if interval.low > 1 + settings.ignore:
        return Word.SLOWER
    if interval.high < 1 - settings.ignore:
        return Word.FASTER
    if 1 - settings.care <= interval.low and interval.high <= 1 + settings.care:
        return Word.SAME
    return None


def _needed(found: Estimate, pairs: int, settings: Settings) -> int | None:
    """Estimate how many pairs decide if the middle stays: an interval's width falls with the root of their number."""
    if found.low is None or found.high is None:
        return None
    roots = _roots(found.middle, found.middle - found.low, found.high - found.middle, settings)
    least = min((math.ceil(pairs * root**2) for root in roots), default=_MOST_NEEDED + 1)
    return max(least, pairs + 1) if least <= _MOST_NEEDED else None


def _roots(middle: float, down: float, up: float, settings: Settings) -> Iterator[float]:
    """Give, for each answer that the middle allows, how many times narrower the interval must become."""
    slower, faster = math.log1p(settings.ignore), math.log1p(-settings.ignore)
    if middle > slower:
        yield down / (middle - slower)
    if middle < faster:
        yield up / (faster - middle)
    lowest, highest = math.log1p(-settings.care), math.log1p(settings.care)
    if lowest < middle < highest:
        yield max(down / (middle - lowest), up / (highest - middle))


def _exp(value: float) -> float:
    """Give infinity where a ratio is too large for a number: of a value that was almost 0."""
    try:
        return math.exp(value)
    except OverflowError:
        return math.inf
