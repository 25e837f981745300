"""The Hodges-Lehmann estimate and the exact signed-rank interval of a few paired differences; pure, no numpy.

Source of both: Hollander, Wolfe and Chicken, Nonparametric Statistical Methods, 3rd edition, sections 3.1 to 3.3.
"""

from __future__ import annotations

import functools
import statistics
from typing import TYPE_CHECKING, Final

from presubmit.values import Value

if TYPE_CHECKING:
    from collections.abc import Sequence

_ROUNDING: Final = 1e-12
"""An alpha that is written as a decimal fraction may lie this much beside the tail that it means."""


class Estimate(Value, frozen=True, kw_only=True):
    """The middle of paired differences, with bounds where there are enough of them for any."""

    middle: float
    low: float | None
    high: float | None


def estimate(differences: Sequence[float], *, alpha: float) -> Estimate:
    """Give the Hodges-Lehmann estimate with its exact two-sided interval at level 1 - alpha.

    Ties and zeros make the interval wider than it need be, never narrower. Raises ValueError for no differences.
    """
    averages = walsh_averages(differences)
    rank = rank_of_bound(len(differences), alpha=alpha)
    return Estimate(
        middle=statistics.median(averages),
        low=averages[rank - 1] if rank else None,
        high=averages[-rank] if rank else None,
    )


def walsh_averages(differences: Sequence[float]) -> list[float]:
    """Give the mean of every two differences, each with itself too, in ascending order."""
    return sorted(
        (one + other) / 2
        for number, one in enumerate(differences)
        for other in differences[number:]
    )


@functools.lru_cache(maxsize=256)
def rank_of_bound(pairs: int, *, alpha: float) -> int:
    """Give which Walsh average, counted from either end, is the bound; 0 where no bound has this confidence.

    With 6 pairs even the outermost has a tail of 1/64: at alpha .0158 the least that can decide is 7.
    """
    most = (alpha / 2 + _ROUNDING) * 2**pairs
    total = rank = 0
    for ways in signed_rank_counts(pairs):
        total += ways
        if total > most:
            break
        rank += 1
    return rank


def signed_rank_counts(pairs: int) -> tuple[int, ...]:
    """Count, for each value of the signed-rank statistic, in how many of the 2**pairs sign patterns it comes up."""
    counts = [1] + [0] * (pairs * (pairs + 1) // 2)
    for rank in range(1, pairs + 1):
        for value in range(len(counts) - 1, rank - 1, -1):
            counts[value] += counts[value - rank]
    return tuple(counts)
