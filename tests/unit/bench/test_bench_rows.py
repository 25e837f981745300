"""One benchmark in one line."""

from __future__ import annotations

import pytest

from presubmit.bench.rows import answer, bounds, cells_of, drawn, instructions, quantity
from presubmit.bench.values import (
    Adapter,
    Bench,
    Clock,
    Counted,
    Interval,
    Kind,
    Result,
    Word,
)

BENCH = Bench(id="ops.time_add[64]", adapter=Adapter.ASV, root="b", file="b/ops.py")


def interval(ratio: float, low: float | None, high: float | None) -> Interval:
    return Interval(ratio=ratio, low=low, high=high, level=0.9842)


def result(word: Word, **more: object) -> Result:
    found = Result(
        bench=BENCH,
        word=word,
        clock=Clock.CPU,
        base=271e-6,
        head=285e-6,
        interval=interval(1.051, 1.028, 1.069),
        log_ratios=(0.05,) * 13,
        **more,  # type: ignore[arg-type]
    )
    assert found.pairs == 13
    return found


@pytest.mark.parametrize(
    ("value", "text"),
    [(271e-6, "271 us"), (1.2e-3, "1.2 ms"), (2.5, "2.5 s"), (3e-9, "3 ns"), (0.0, "0 ns")],
)
def test_seconds_have_the_unit_that_suits_them(value: float, text: str) -> None:
    assert quantity(value, Kind.TIME, "seconds") == text


def test_other_numbers_keep_their_own_unit() -> None:
    assert quantity(3 << 20, Kind.VALUE, "bytes") == "3 MiB"
    assert quantity(12.5, Kind.VALUE, "rows") == "12.5 rows"


def test_an_open_interval_says_so() -> None:
    assert bounds(interval(1.05, None, 1.069)) == "[?, +6.9]"


def test_an_interval_is_drawn_around_no_change() -> None:
    assert drawn(interval(1.05, 1.028, 1.069)) == "---|=o-"
    assert drawn(interval(1.0, 0.999, 1.001)) == "---o---"
    assert drawn(interval(3.0, None, None)) == "===|==o"


def test_a_row_has_everything() -> None:
    cells = cells_of(result(Word.SLOWER, confirmed=True, instructions=Counted(base=100, head=105)))
    assert cells[0] == "ops.time_add[64]"
    assert cells[1:5] == ("271 us", "285 us", "+5.1%", "[+2.8, +6.9]")
    assert cells[6:] == ("13", "+5.0%", "SLOWER (confirmed)")


def test_unsure_says_what_would_help() -> None:
    assert answer(result(Word.UNSURE, needed=60)) == "unsure (about 60 pairs needed)"
    assert answer(result(Word.UNSURE, reason="the budget ended")) == "unsure (the budget ended)"
    counted = Counted(base=100.0, head=102.0)
    assert answer(result(Word.UNSURE, instructions=counted)) == "unsure (instructions say +2.0%)"


def test_counts_that_cannot_be_had_are_a_dash() -> None:
    assert instructions(None) == "-"
    assert instructions(Counted(why="no PMU")) == "-"
