"""Chooses which time of a sample is compared, and makes one log ratio of a pair of processes; pure."""

from __future__ import annotations

import math
import statistics
from typing import TYPE_CHECKING, Final

from presubmit.bench.values import Clock, Sample

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_WITHIN: Final = 0.10
"""CPU time stands for the whole where it lacks at most this much of the time outside the run queue."""
_THREADS: Final = 0.05
"""More CPU time than that by this much comes of several threads."""


def choose_clock(samples: Iterable[Sample]) -> Clock:
    """Say which time of these samples, all of the base, is to be compared (facts/bench.md, section 4, "Clock").

    Sums are compared, not single samples: the kernel books a wait in the run queue when the thread next runs,
    so one sample can show more wait than time.
    """
    whole = [sample for sample in samples if _is_time(sample.wall) and math.isfinite(sample.cpu)]
    wall = math.fsum(sample.wall for sample in whole)
    cpu = math.fsum(sample.cpu for sample in whole)
    waits = [sample.wait for sample in whole if sample.wait is not None]
    if wall <= 0 or cpu <= 0:
        return Clock.WALL
    if len(waits) < len(whole):
        # Not known how long it waited: what lacks CPU time may sleep, and CPU time would be blind to that.
        return Clock.CPU if 1 - _WITHIN <= cpu / wall <= 1 + _THREADS else Clock.WALL
    awake = wall - min(wall, max(0.0, math.fsum(waits)))
    if cpu > awake * (1 + _THREADS):
        return Clock.WALL
    return Clock.CPU if cpu >= awake * (1 - _WITHIN) else Clock.ON_CPU


def time_of(sample: Sample, clock: Clock) -> float | None:
    """Give the time of a sample by a clock; None where it is not a time above zero, so that it has no logarithm."""
    match clock:
        case Clock.CPU:
            seconds = sample.cpu
        case Clock.ON_CPU:
            seconds = sample.wall - (sample.wait or 0.0)
        case _:
            seconds = sample.wall
    return seconds if _is_time(seconds) else None


def log_ratio(base: Sequence[Sample], head: Sequence[Sample], clock: Clock) -> float | None:
    """Give the median of log(head / base) over neighbouring turns; None where no two of them have times."""
    both = (
        (time_of(one, clock), time_of(other, clock))
        for one, other in zip(base, head, strict=False)
    )
    logs = [math.log(later / before) for before, later in both if before and later]
    return statistics.median(logs) if logs else None


def value_log_ratio(base: float, head: float) -> float | None:
    """Give log(head / base) of two numbers of a benchmark's own; None where they have no ratio.

    Equal numbers are equal, 0 and 0 too; below 0 "less is better" has no ratio that says so.
    """
    if base == head and math.isfinite(base):
        return 0.0
    return math.log(head) - math.log(base) if _is_time(base) and _is_time(head) else None


def wall_over_cpu(samples: Iterable[Sample]) -> float | None:
    """Give the median of wall time over CPU time: how long the machine let one-threaded work wait."""
    ratios = [sample.wall / sample.cpu for sample in samples if sample.cpu > 0]
    return statistics.median(ratios) if ratios else None


def _is_time(seconds: float) -> bool:
    return seconds > 0 and math.isfinite(seconds)
