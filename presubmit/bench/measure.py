"""Measures benchmarks in pairs of fresh processes until each is decided, and every slow-down once more."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from presubmit.bench import schedule
from presubmit.bench.clock import wall_over_cpu
from presubmit.bench.deadline import Deadline
from presubmit.bench.progress import Again, Event, Stage
from presubmit.bench.stage import NOT_PINNED, Brokens, Pinning, StageRun
from presubmit.bench.tally import Tally
from presubmit.bench.values import Broken, Clock, Interval, Measured, Result, Word

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from presubmit.bench.talk import Side
    from presubmit.bench.values import Bench, Settings, Suite

_ENDED: Final = {"budget": "the budget ended", "interrupted": "interrupted"}


def measure(
    sides: tuple[Side, Side],
    benches: Sequence[Bench],
    suites: Sequence[Suite],
    settings: Settings,
    *,
    tell: Callable[[Event], None],
    renew: Callable[[], tuple[Side, Side]],
    now: Callable[[], float],
    stop: Callable[[], bool],
    pinning: Pinning = NOT_PINNED,
) -> Measured:
    """Compare head with base (`sides`: base, head); the benchmarks come in the order of their importance.

    `renew` restarts the boxes before the second measurement and gives the sides anew; its time is not counted.
    `stop` is asked all the time and ends the measuring at once; so does what `tell` raises, and that is raised on.
    Raises EngineError where a worker cannot be started.
    """
    clock = Deadline(now=now, stop=stop, seconds=settings.budget)
    broken = Brokens(tell)
    groups, strangers = schedule.group(benches, suites)
    for bench in strangers:
        broken.add(Broken(id=bench.id, side="both", error="its suite is not there"))

    def run(
        stage: Stage, sides: tuple[Side, Side], tallies: Mapping[Suite, Sequence[Tally]]
    ) -> str:
        return StageRun(
            stage, sides, tallies, settings, pinning=pinning, broken=broken, clock=clock, tell=tell
        ).run()

    first = {
        suites[place]: tuple(Tally(bench, settings) for bench in group)
        for place, group in groups.items()
    }
    stopped = run(Stage.FIRST, sides, first)
    again = _once_more(first, settings) if not clock.ended else {}
    if again:
        tell(Again(ids=tuple(one.bench.id for group in again.values() for one in group)))
        stopped = run(Stage.AGAIN, clock.pausing(renew), again) or stopped
    return _collect(
        [bench.id for bench in benches], first, again, broken, stopped=stopped, clock=clock
    )


def _once_more(
    tallies: Mapping[Suite, Sequence[Tally]], settings: Settings
) -> dict[Suite, tuple[Tally, ...]]:
    """Give what is to be measured again: all that was slower, by the same clock and with the same loops."""
    slower = {
        suite: tuple(
            Tally(one.bench, settings, clock=one.clock, first=one.earlier)
            for one in group
            if one.word is Word.SLOWER
        )
        for suite, group in tallies.items()
    }
    return {suite: group for suite, group in slower.items() if group}


def _collect(
    ids: Sequence[str],
    first: Mapping[Suite, Sequence[Tally]],
    again: Mapping[Suite, Sequence[Tally]],
    broken: Brokens,
    *,
    stopped: str,
    clock: Deadline,
) -> Measured:
    """Put together what is known; what has no pair at all is named."""
    known = [one for group in first.values() for one in group if one.bench.id not in broken.ids]
    second = {one.bench.id: one for group in again.values() for one in group}
    results = {
        result.bench.id: confirm(result, second.get(result.bench.id), why=_ENDED.get(stopped, ""))
        for one in known
        if (result := one.result(reason=_ENDED.get(stopped, ""))) is not None
    }
    wanted = tuple(dict.fromkeys(ids))
    return Measured(
        results=tuple(results[name] for name in wanted if name in results),
        broken=broken.all,
        unmeasured=tuple(
            name for name in wanted if name not in results and name not in broken.ids
        ),
        stopped=stopped,
        seconds=clock.seconds,
        wall_over_cpu=_busyness(known),
        pair_sd=_spread(results.values()),
    )


def confirm(result: Result, again: Tally | None, *, why: str) -> Result:
    """Set a slow-down beside its second measurement: only where both agree it stays one; pure."""
    if result.word is not Word.SLOWER:
        return result
    second = None if again is None else again.result()
    interval = None if second is None else second.interval
    if second is not None and second.word is Word.SLOWER:
        return replace(result, confirmed=True, confirmation=interval)
    if second is None or again is None or again.word is None:
        reason = f"slower, but {why or 'no time was left'} before that was confirmed"
    else:
        reason = f"slower at first, {_said(second.interval)} when measured again"
    return replace(result, word=Word.UNSURE, reason=reason, confirmation=interval)


def _said(interval: Interval) -> str:
    return f"{interval.ratio - 1:+.1%}"


def _busyness(tallies: Iterable[Tally]) -> float | None:
    """Give the median of wall time over CPU time where one thread did all."""
    return wall_over_cpu(
        sample for one in tallies if one.clock is Clock.CPU for sample in one.samples()
    )


def _spread(results: Iterable[Result]) -> float | None:
    """Give the median standard deviation of a pair's log ratio."""
    found = [
        statistics.stdev(result.log_ratios) for result in results if len(result.log_ratios) > 1
    ]
    return statistics.median(found) if found else None
