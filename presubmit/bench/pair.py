"""One pair of processes: both sides come to the same benchmarks, one by one, and take turns at each."""

from __future__ import annotations

import math
import statistics
from typing import TYPE_CHECKING, Any, Final

from presubmit.bench.deadline import StoppedError
from presubmit.bench.values import Adapter, Bench, Kind, Sample, Settings, Trouble
from presubmit.values import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from presubmit.bench.worker import Worker

_SLOW: Final = 0.25
"""Seconds of a call from which one warm-up does."""
_MISSING: Final = "this side has no such benchmark"


class Turns(Value, frozen=True, kw_only=True):
    """What one benchmark gave in one pair of processes: neighbouring turns stand at the same place of both."""

    base: tuple[Sample, ...] = ()
    head: tuple[Sample, ...] = ()
    values: tuple[float, float] | None = None
    """Of base and head, for a benchmark that gives a value."""
    loops: int = 1
    seconds: float = 0.0
    """What it cost in all, set-up included."""


class PairEnd:
    """What came of one pair; it is filled while the pair runs, so that an early end keeps what is known."""

    def __init__(self) -> None:
        self.turns: dict[str, Turns] = {}
        self.start_seconds = 0.0
        """Until both sides stood at their first benchmark."""
        self.stopped = ""
        """`budget` or `interrupted`."""


def run_pair(
    start: Mapping[str, Callable[[], Worker]],
    benches: Sequence[Bench],
    *,
    lead: str,
    earlier: Mapping[str, Turns],
    settings: Settings,
    now: Callable[[], float],
) -> tuple[PairEnd, tuple[Worker, ...]]:
    """Measure `benches`, given in the order to run, in one fresh process of each side; `lead` goes first.

    `earlier` is what the benchmarks gave in an earlier pair: its loops are used again.
    One side works at a time: the other stands still, so both can have the same core.
    """
    end = PairEnd()
    begun = now()
    workers: dict[str, Worker] = {}
    try:
        for side in (lead, "head" if lead == "base" else "base"):
            workers[side] = start[side]()
            workers[side].advance()
        end.start_seconds = now() - begun
        _walk(workers, benches, end, lead=lead, earlier=earlier, settings=settings, now=now)
    except StoppedError as error:
        end.stopped = str(error)
    finally:
        for worker in workers.values():
            worker.close()
    return end, tuple(workers.values())


def _walk(
    workers: Mapping[str, Worker],
    benches: Sequence[Bench],
    end: PairEnd,
    *,
    lead: str,
    earlier: Mapping[str, Turns],
    settings: Settings,
    now: Callable[[], float],
) -> None:
    """Go along both sides' benchmarks; one that a side does not come to is passed on the other."""
    first, second = workers[lead], workers["head" if lead == "base" else "base"]
    places = {bench.id: number for number, bench in enumerate(benches)}
    known = {bench.id: bench for bench in benches}
    while first.at is not None and second.at is not None:
        if first.at != second.at:
            _behind(first, second, places).advance()
            continue
        bench = known.get(first.at)
        begun = now()
        if bench is None:
            turns = None
        elif bench.kind is Kind.VALUE:
            turns = _values(first, second)
        else:
            turns = _take_turns(bench, first, second, earlier.get(bench.id), settings)
        first.advance()
        second.advance()
        if bench is not None and turns is not None:
            end.turns[bench.id] = Turns(
                base=turns.base,
                head=turns.head,
                values=turns.values,
                loops=turns.loops,
                seconds=now() - begun,
            )
    for worker in (first, second):
        if worker.ended:
            for missing in places.keys() - {*worker.seen}:
                worker.fail(missing, _MISSING, trouble=Trouble.ABSENT)


def _behind(first: Worker, second: Worker, places: Mapping[str, int]) -> Worker:
    """Say which side stands at a benchmark that the other does not come to any more."""
    if first.at in second.seen or second.at in first.seen:
        return first if first.at in second.seen else second
    one, other = (places.get(worker.at or "", -1) for worker in (first, second))
    return first if one < other else second


def _take_turns(
    bench: Bench, first: Worker, second: Worker, earlier: Turns | None, settings: Settings
) -> Turns | None:
    """Warm both sides up and let them take turns: A B, B A, A B, …; None where one of them fails."""
    base = first if first.side == "base" else second
    calls = _warm_calls(bench, earlier, settings)
    warm = {one.side: _warm(one, calls) for one in (first, second)}
    if first.at is None or second.at is None:
        return None
    if earlier is None:
        found = base.ask({"do": "calibrate", "seconds": settings.turn}, answer="loops")
        if found is None:
            return None
        loops, seconds = max(1, int(_number(found, "loops", 1.0))), warm["base"]
    else:
        loops = earlier.loops
        seconds = statistics.median(sample.wall for sample in earlier.base)
    samples: dict[str, list[Sample]] = {first.side: [], second.side: []}
    for number in range(_count_turns(seconds * loops, settings)):
        for one in (first, second) if number % 2 == 0 else (second, first):
            sample = _sample(one.ask({"do": "turn", "loops": loops}, answer="turn"))
            if sample is None:
                if one.at is not None:
                    one.fail(one.at, "it gave no time")
                return None
            samples[one.side].append(sample)
    return Turns(base=tuple(samples["base"]), head=tuple(samples["head"]), loops=loops)


def _values(first: Worker, second: Worker) -> Turns | None:
    """Ask both sides for the benchmark's own number."""
    values: dict[str, float] = {}
    for one in (first, second):
        found = one.ask({"do": "value"}, answer="value")
        value = _number(found, "value", math.nan)
        if found is not None and one.at is not None and not math.isfinite(value):
            one.fail(one.at, f"its value is no number: {found.get('value')!r}")
        values[one.side] = value
    if not all(math.isfinite(value) for value in values.values()):
        return None
    return Turns(values=(values["base"], values["head"]))


def _warm_calls(bench: Bench, earlier: Turns | None, settings: Settings) -> int:
    """Say how many calls come first: a process of its own has nothing to warm but the disk, once."""
    if bench.adapter is Adapter.COMMAND:
        return 1 if earlier is None else 0
    return settings.warm


def _warm(worker: Worker, calls: int) -> float:
    """Warm up; gives the seconds of the last call. A slow call is not made twice."""
    seconds = 0.0
    for _ in range(calls):
        found = worker.ask({"do": "warm", "calls": 1}, answer="warm")
        seconds = _number(found, "seconds", 0.0)
        if found is None or seconds > _SLOW:
            break
    return seconds


def _count_turns(seconds: float, settings: Settings) -> int:
    """Say how many turns fit: fewer where one turn takes longer than it should, or a pair would never end."""
    if seconds <= 2 * settings.turn:
        return settings.turns
    return max(1, min(settings.turns, round(settings.turns * settings.turn / seconds)))


def _sample(found: Mapping[str, Any] | None) -> Sample | None:
    if found is None:
        return None
    wall, cpu = _number(found, "wall", math.nan), _number(found, "cpu", math.nan)
    if math.isnan(wall) or math.isnan(cpu):
        return None
    wait = _number(found, "wait", math.nan)
    return Sample(wall=wall, cpu=cpu, wait=None if math.isnan(wait) else min(max(wait, 0.0), wall))


def _number(found: Mapping[str, Any] | None, key: str, otherwise: float) -> float:
    value = None if found is None else found.get(key)
    return (
        float(value)
        if isinstance(value, int | float) and not isinstance(value, bool)
        else otherwise
    )
