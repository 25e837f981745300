from __future__ import annotations

import pytest

from presubmit.bench.pair import Turns
from presubmit.bench.tally import Tally
from presubmit.bench.values import Adapter, Bench, Clock, Kind, Sample, Settings, Word

SETTINGS = Settings()
TIME = Bench(id="a", adapter=Adapter.ASV, root="b", file="b/a.py")
VALUE = Bench(id="v", adapter=Adapter.ASV, root="b", file="b/a.py", kind=Kind.VALUE)


def turns(base: float, head: float, *, wall: float = 1.0) -> Turns:
    """One turn a side; the wall time is so many times the CPU time, all of it spent waiting."""

    def sample(cpu: float) -> tuple[Sample, ...]:
        return (Sample(wall=cpu * wall, cpu=cpu, wait=cpu * (wall - 1)),)

    return Turns(base=sample(base), head=sample(head), loops=3)


def tally(*pairs: Turns, bench: Bench = TIME) -> Tally:
    made = Tally(bench, SETTINGS)
    for one in pairs:
        made.add(one)
    return made


def test_nothing_measured_has_no_result() -> None:
    assert tally().result() is None


def test_before_the_first_look_it_is_unsure_for_the_reason_that_is_given() -> None:
    found = tally(*[turns(1.0, 1.0)] * 6).result(reason="the budget ended")
    assert found is not None
    assert (found.word, found.reason, found.pairs) == (Word.UNSURE, "the budget ended", 6)


def test_the_reason_is_not_told_of_what_was_decided() -> None:
    found = tally(*[turns(1.0, 1.0)] * 7).result(reason="the budget ended")
    assert found is not None
    assert (found.word, found.reason) == (Word.SAME, "")


def test_what_came_to_its_last_look_was_not_cut_by_the_budget() -> None:
    wild = tally(*[turns(1.0, 0.8), turns(1.0, 1.3)] * 11)
    found = wild.result(reason="the budget ended")
    assert found is not None
    assert (found.word, found.reason, found.pairs) == (Word.UNSURE, "", 22)


def test_base_and_head_are_medians_by_the_clock_and_wall_time_is_told_beside() -> None:
    found = tally(*[turns(0.5, 1.0, wall=2.0)] * 7).result()
    assert found is not None
    assert (found.clock, found.base, found.head, found.loops) == (Clock.CPU, 0.5, 1.0, 3)
    assert found.wall is not None
    assert found.wall.ratio == pytest.approx(2.0)


def test_pairs_without_a_time_are_counted_and_end_it() -> None:
    blind = turns(0.0, 0.0)
    made = tally(*[turns(1.0, 0.8), turns(1.0, 1.3)] * 8, *[blind] * 6)
    found = made.result()
    assert found is not None
    assert (found.word, found.pairs, found.reason) == (
        Word.UNSURE,
        16,
        "6 of 22 pairs gave no ratio",
    )


def test_a_look_that_decides_nothing_after_the_last_pair_ends_it_too() -> None:
    made = tally(*[turns(0.0, 0.0)] * 5, *[turns(1.0, 0.8)] * 8, *[turns(1.0, 1.3)] * 9)
    assert len(made.pairs) == 22
    assert made.word is Word.UNSURE


def test_a_look_is_taken_once_not_again_while_no_ratio_comes() -> None:
    made = tally(*[turns(1.0, 0.8)] * 3, *[turns(1.0, 1.3)] * 3)
    assert not made.add(turns(1.0, 1.0))
    assert not made.add(turns(0.0, 0.0))


def test_only_after_three_pairs_it_is_said_that_none_has_a_ratio() -> None:
    zero = Turns(values=(0.0, 5.0))
    assert tally(zero, zero, bench=VALUE).why_blind == ""
    assert tally(zero, zero, zero, bench=VALUE).why_blind == (
        "its values have no ratio: 0 on base, 5 on head"
    )
    assert tally(*[turns(0.0, 0.0)] * 3).why_blind == "no turn took a time above zero"


def test_the_clock_and_the_loops_of_an_earlier_stage_are_kept() -> None:
    again = Tally(TIME, SETTINGS, clock=Clock.WALL, first=turns(1.0, 1.0))
    assert again.earlier is not None
    assert (again.clock, again.earlier.loops) == (Clock.WALL, 3)
    again.add(turns(1.0, 1.0, wall=2.0))
    found = again.result()
    assert found is not None
    assert (found.clock, found.base, found.wall) == (Clock.WALL, 2.0, None)
