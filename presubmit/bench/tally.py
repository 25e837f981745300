"""What has been measured of one benchmark so far, and the answer that it gives."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

from presubmit.bench.clock import choose_clock, log_ratio, time_of, value_log_ratio
from presubmit.bench.looks import decide, interval_of, is_look
from presubmit.bench.values import Bench, Clock, Interval, Kind, Result, Settings, Word

if TYPE_CHECKING:
    from presubmit.bench.pair import Turns
    from presubmit.bench.values import Sample

_BLIND_PAIRS = 3
"""After so many pairs without one ratio there will be none."""


class Tally:
    """One benchmark in one stage; `clock` and `first` are given where an earlier stage has settled them."""

    def __init__(
        self,
        bench: Bench,
        settings: Settings,
        *,
        clock: Clock | None = None,
        first: Turns | None = None,
    ) -> None:
        self.bench = bench
        self._settings = settings
        self._clock = clock
        self._first = first
        self.pairs: list[Turns] = []
        self.word: Word | None = None
        """Set once it is decided."""

    @property
    def earlier(self) -> Turns | None:
        """Whose loops are used again."""
        return self.pairs[-1] if self.pairs else self._first

    @property
    def clock(self) -> Clock:
        """By which time it is compared: chosen from all that the base has shown so far."""
        if self.bench.kind is Kind.VALUE:
            return Clock.VALUE
        return self._clock or choose_clock(sample for turns in self.pairs for sample in turns.base)

    @property
    def cost(self) -> float:
        """Seconds of a pair, as far as they are known."""
        known = self.earlier
        return known.seconds if known else 2 * self._settings.turns * self._settings.turn

    def log_ratios(self, clock: Clock) -> tuple[float, ...]:
        """Give one log ratio for each pair that has one."""
        found = (
            log_ratio(turns.base, turns.head, clock)
            if turns.values is None
            else value_log_ratio(*turns.values)
            for turns in self.pairs
        )
        return tuple(ratio for ratio in found if ratio is not None)

    def add(self, turns: Turns) -> bool:
        """Take one more pair, and look at the data where a look is planned; tells whether it is decided now."""
        before = len(self.log_ratios(self.clock))
        self.pairs.append(turns)
        ratios = self.log_ratios(self.clock)
        if len(ratios) > before and is_look(len(ratios), self._settings):
            self.word = decide(ratios, self._settings).word
        if self.word is None and len(self.pairs) >= self._settings.looks[-1]:
            self.word = Word.UNSURE
        return self.word is not None

    @property
    def why_blind(self) -> str:
        """Why it has no ratio and will have none; empty where it has, or may."""
        if len(self.pairs) < _BLIND_PAIRS or self.log_ratios(self.clock):
            return ""
        values = self.pairs[-1].values
        if values is None:
            return "no turn took a time above zero"
        return f"its values have no ratio: {values[0]:g} on base, {values[1]:g} on head"

    def result(self, *, reason: str = "") -> Result | None:
        """Give what is known; what is not decided is `unsure` for `reason`. None where there is no ratio."""
        clock = self.clock
        ratios = self.log_ratios(clock)
        if not ratios:
            return None
        decision = decide(ratios, self._settings)
        if self.word is not None:
            reason = ""
        word = self.word or Word.UNSURE
        lost = len(self.pairs) - len(ratios)
        if word is Word.UNSURE and not reason and lost:
            reason = f"{lost} of {len(self.pairs)} pairs gave no ratio"
        return Result(
            bench=self.bench,
            word=word,
            clock=clock,
            base=self._median("base", clock),
            head=self._median("head", clock),
            interval=decision.interval,
            wall=self._wall(clock),
            log_ratios=ratios,
            loops=self.pairs[-1].loops,
            needed=decision.needed if word is Word.UNSURE else None,
            reason=reason if word is Word.UNSURE else "",
        )

    def samples(self) -> tuple[Sample, ...]:
        """Give all turns of both sides."""
        return tuple(sample for turns in self.pairs for sample in (*turns.base, *turns.head))

    def _median(self, side: str, clock: Clock) -> float:
        if clock is Clock.VALUE:
            place = 0 if side == "base" else 1
            return statistics.median(turns.values[place] for turns in self.pairs if turns.values)
        samples = (
            sample
            for turns in self.pairs
            for sample in (turns.base if side == "base" else turns.head)
        )
        return statistics.median(
            seconds for sample in samples if (seconds := time_of(sample, clock)) is not None
        )

    def _wall(self, clock: Clock) -> Interval | None:
        if clock in {Clock.WALL, Clock.VALUE}:
            return None
        ratios = self.log_ratios(Clock.WALL)
        return interval_of(ratios, self._settings) if ratios else None
