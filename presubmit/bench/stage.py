"""One measurement of a set of benchmarks: pairs of processes, until all is decided or it must end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from presubmit.bench import schedule
from presubmit.bench.deadline import Deadline, StoppedError
from presubmit.bench.pair import PairEnd, run_pair
from presubmit.bench.progress import Decided, Event, Failed, Noted, Paired, Proved, Stage
from presubmit.bench.values import Bench, Broken, Settings, Suite, Trouble, Word
from presubmit.bench.worker import Worker
from presubmit.values import Value, builtins_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from presubmit.bench.talk import Side
    from presubmit.bench.tally import Tally

_DEATHS: Final = 2
"""Pairs in a row in which a process died at no benchmark: then its suite is broken."""


class Pinning(Value, frozen=True, kw_only=True):
    """What every worker is told beside its benchmarks."""

    core: int | None = None
    """The one core that both sides use; None: none is asked for."""
    watch: tuple[str, ...] = ()
    """The project's top-level modules, whose files a worker proves."""
    scratch: str = ""
    """Where each side may keep, in a folder of its own, what a suite makes once for all its processes."""


NOT_PINNED: Final = Pinning()


class Brokens:
    """What did not run, each side once; a benchmark that fails on both sides is broken on `both`."""

    def __init__(self, tell: Callable[[Event], None]) -> None:
        self._tell = tell
        self._found: dict[str, Broken] = {}

    @property
    def ids(self) -> frozenset[str]:
        """The benchmarks that are left out from now on."""
        return frozenset(self._found)

    @property
    def all(self) -> tuple[Broken, ...]:
        """Give them in the order in which they were met."""
        return tuple(self._found.values())

    def add(self, *found: Broken) -> None:
        """Note what was met at one time; each is told once, with both its sides."""
        before = dict(self._found)
        for broken in found:
            self._found[broken.id] = _merged(self._found.get(broken.id), broken)
        for broken in self._found.values():
            if broken != before.get(broken.id):
                self._tell(Failed(broken=broken))


def _merged(before: Broken | None, broken: Broken) -> Broken:
    """Put two sides of one benchmark together: the worse word stays."""
    if before is None:
        return broken
    if broken.side in {before.side, "both"} or before.side == "both":
        return before
    worse = max(before, broken, key=lambda one: list(Trouble).index(one.trouble))
    return replace(worse, side="both")


class StageRun:
    """One of the two measurements: pairs of each suite in turns, until all is decided or it must end."""

    def __init__(
        self,
        stage: Stage,
        sides: tuple[Side, Side],
        tallies: Mapping[Suite, Sequence[Tally]],
        settings: Settings,
        *,
        pinning: Pinning,
        broken: Brokens,
        clock: Deadline,
        tell: Callable[[Event], None],
    ) -> None:
        self._stage = stage
        self._sides = sides
        self._tallies = tallies
        self._settings = settings
        self._pinning = pinning
        self._broken = broken
        self._clock = clock
        self._tell = tell
        self._start_seconds = dict.fromkeys(tallies, 0.0)
        self._deaths = dict.fromkeys(tallies, 0)
        self._proved: set[Suite] = set()
        self._noted: set[tuple[str, str]] = set()

    def run(self) -> str:
        """Measure; gives why it ended early, or nothing."""
        number = 0
        while any(self._live(suite) for suite in self._tallies):
            active = self._active()
            for suite in self._tallies:
                wanted = [one for one in self._live(suite) if one.bench.id in active]
                if wanted and (ended := self._end_now() or self._pair(suite, wanted, number)):
                    return ended
            number += 1
        return ""

    def _live(self, suite: Suite) -> list[Tally]:
        return [
            one
            for one in self._tallies[suite]
            if one.word is None and one.bench.id not in self._broken.ids
        ]

    def _active(self) -> frozenset[str]:
        """Choose the benchmarks of the next pair of each suite."""
        live = {suite: found for suite in self._tallies if (found := self._live(suite))}
        return schedule.choose_active(
            [
                schedule.Waiting(id=one.bench.id, pairs=len(one.pairs), cost=one.cost)
                for group in live.values()
                for one in group
            ],
            left=self._clock.left - self._reserve(),
            start=sum(self._start_seconds[suite] for suite in live),
            settings=self._settings,
        )

    def _reserve(self) -> float:
        """Give the seconds that the confirmation of what is slower so far will need."""
        if self._stage is Stage.AGAIN:
            return 0.0
        slower = {
            suite: [one.cost for one in group if one.word is Word.SLOWER]
            for suite, group in self._tallies.items()
        }
        return schedule.reserve(
            [cost for costs in slower.values() for cost in costs],
            start=sum(self._start_seconds[suite] for suite, costs in slower.items() if costs),
            settings=self._settings,
        )

    def _end_now(self) -> str:
        try:
            self._clock.check()
        except StoppedError as error:
            return str(error)
        return "budget" if 0 < self._reserve() >= self._clock.left else ""

    def _pair(self, suite: Suite, wanted: Sequence[Tally], number: int) -> str:
        """Measure one pair; gives why everything is to end, or nothing."""
        benches = schedule.order(
            [one.bench for one in wanted],
            suite,
            stage=self._stage,
            number=number,
            settings=self._settings,
        )
        end, workers = run_pair(
            self._starters(suite, benches, number),
            benches,
            lead=schedule.lead_of(number),
            earlier={one.bench.id: one.earlier for one in wanted if one.earlier is not None},
            settings=self._settings,
            now=self._clock.now,
        )
        self._take(suite, wanted, end, workers)
        return end.stopped

    def _starters(
        self, suite: Suite, benches: Sequence[Bench], number: int
    ) -> dict[str, Callable[[], Worker]]:
        job: dict[str, object] = {
            "mode": "run",
            "suite": builtins_of(suite),
            "ids": [bench.id for bench in benches],
            "core": self._pinning.core,
            "timeout": suite.timeout,
            "watch": list(self._pinning.watch),
        }
        env = schedule.environment(
            suite, stage=self._stage, number=number, settings=self._settings
        )

        def starter(side: Side, name: str) -> Callable[[], Worker]:
            scratch = f"{self._pinning.scratch}/{name}" if self._pinning.scratch else ""
            return lambda: Worker(
                name,
                side.start({**job, "scratch": scratch}, env=env),
                timeout=suite.timeout,
                check=self._clock.check,
            )

        base, head = self._sides
        return {"base": starter(base, "base"), "head": starter(head, "head")}

    def _take(
        self, suite: Suite, wanted: Sequence[Tally], end: PairEnd, workers: Sequence[Worker]
    ) -> None:
        """Take in what a pair gave."""
        self._start_seconds[suite] = end.start_seconds or self._start_seconds[suite]
        for worker in workers:
            for text in worker.notes if self._pinning.core is not None else ():
                self._note(worker.side, text)
        self._broken.add(*(broken for worker in workers for broken in worker.broken.values()))
        self._count_deaths(suite, wanted, end, workers)
        self._prove(suite, workers)
        for one in wanted:
            turns = end.turns.get(one.bench.id)
            if turns is None or one.bench.id in self._broken.ids:
                continue
            decided = one.add(turns)
            if one.why_blind:
                self._broken.add(Broken(id=one.bench.id, side="both", error=one.why_blind))
            elif decided and (result := one.result()) is not None:
                self._tell(Decided(stage=self._stage, result=result))
        live = (one.result() for one in self._live(suite))
        self._tell(
            Paired(
                stage=self._stage,
                suite=suite,
                live=tuple(result for result in live if result is not None),
                seconds=self._clock.seconds,
            )
        )

    def _count_deaths(
        self, suite: Suite, wanted: Sequence[Tally], end: PairEnd, workers: Sequence[Worker]
    ) -> None:
        """Give a suite up whose processes die twice in a row where no benchmark is to blame."""
        lost = [worker for worker in workers if worker.is_lost]
        self._deaths[suite] = self._deaths[suite] + 1 if lost else 0
        if self._deaths[suite] < _DEATHS:
            return
        self._deaths[suite] = 0
        for worker in lost:
            for one in wanted:
                if one.bench.id not in end.turns:
                    self._broken.add(Broken(id=one.bench.id, side=worker.side, error=worker.died))

    def _prove(self, suite: Suite, workers: Iterable[Worker]) -> None:
        proofs = {worker.side: worker.proofs for worker in workers if worker.ended}
        if self._stage is Stage.FIRST and suite not in self._proved and len(proofs) == 2:  # noqa: PLR2004 - both sides
            self._proved.add(suite)
            self._tell(Proved(suite=suite, base=proofs["base"], head=proofs["head"]))

    def _note(self, side: str, text: str) -> None:
        if (side, text) not in self._noted:
            self._noted.add((side, text))
            self._tell(Noted(side=side, text=text))
