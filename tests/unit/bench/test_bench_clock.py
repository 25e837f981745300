from __future__ import annotations

import math

import pytest

from presubmit.bench.clock import choose_clock, log_ratio, time_of, value_log_ratio, wall_over_cpu
from presubmit.bench.values import Clock, Sample


def sample(wall: float, cpu: float, wait: float | None = 0.0) -> Sample:
    return Sample(wall=wall, cpu=cpu, wait=wait)


@pytest.mark.parametrize(
    ("one", "clock"),
    [
        (sample(10e-3, 9.9e-3), Clock.CPU),
        (sample(20e-3, 9.9e-3, 10e-3), Clock.CPU),  # half the time in the run queue
        (sample(1.07e-3, 0.02e-3), Clock.ON_CPU),  # it sleeps: CPU time would be blind
        (sample(10e-3, 8.9e-3), Clock.ON_CPU),
        (sample(10e-3, 9.1e-3), Clock.CPU),
        (sample(10e-3, 10.4e-3), Clock.CPU),
        (sample(10e-3, 10.6e-3), Clock.WALL),  # threads
        (sample(10e-3, 19e-3), Clock.WALL),
        (sample(10e-3, 9.9e-3, None), Clock.CPU),
        (sample(20e-3, 9.9e-3, None), Clock.WALL),  # waited or slept: not known
        (sample(10e-3, 0.0), Clock.WALL),
        (sample(0.0, 0.0), Clock.WALL),
    ],
)
def test_the_clock_is_chosen_by_what_the_benchmark_does(one: Sample, clock: Clock) -> None:
    assert choose_clock([one] * 8) is clock


def test_a_wait_that_is_booked_in_a_later_turn_does_not_make_one_thread_look_like_two() -> None:
    turns = [sample(10e-3, 9.9e-3, 0.0), sample(30e-3, 9.9e-3, 30e-3), sample(20e-3, 9.9e-3, 0.0)]
    assert choose_clock(turns) is Clock.CPU


def test_no_samples_choose_wall_time() -> None:
    assert choose_clock([]) is Clock.WALL


def test_one_turn_of_which_the_wait_is_unknown_makes_the_wait_unknown() -> None:
    assert choose_clock([sample(20e-3, 9.9e-3, 10e-3), sample(20e-3, 9.9e-3, None)]) is Clock.WALL


@pytest.mark.parametrize(
    ("one", "clock"),
    [
        (sample(10e-3, 9e-3, 12e-3), Clock.ON_CPU),  # trap 8: more wait than time
        (sample(10e-3, 9e-3, 10e-3), Clock.ON_CPU),
        (sample(10e-3, 0.0), Clock.CPU),
        (sample(10e-3, -1e-9), Clock.CPU),
        (sample(math.nan, 1.0), Clock.WALL),
        (sample(math.inf, 1.0), Clock.WALL),
    ],
)
def test_a_time_that_is_not_above_zero_is_none(one: Sample, clock: Clock) -> None:
    assert time_of(one, clock) is None
    assert log_ratio([one], [one], clock) is None


def test_a_pair_gives_the_median_of_its_neighbouring_turns() -> None:
    base = [sample(1.0, 1.0), sample(2.0, 2.0), sample(1.0, 1.0)]
    head = [sample(1.1, 1.1), sample(2.4, 2.4), sample(9.0, 9.0)]
    found = log_ratio(base, head, Clock.CPU)
    assert found == pytest.approx(math.log(1.2))


def test_turns_without_a_time_are_left_out_of_the_median() -> None:
    base = [sample(1.0, 0.0), sample(1.0, 1.0)]
    head = [sample(1.0, 1.0), sample(1.0, 1.5)]
    assert log_ratio(base, head, Clock.CPU) == pytest.approx(math.log(1.5))


@pytest.mark.parametrize(
    ("base", "head", "ratio"),
    [
        (100.0, 110.0, math.log(1.1)),
        (0.0, 0.0, 0.0),
        (-3.0, -3.0, 0.0),
        (0.0, 5.0, None),
        (5.0, 0.0, None),
        (-3.0, -4.0, None),
        (math.nan, math.nan, None),
        (math.inf, math.inf, None),
        (1e308, 1e-308, math.log(1e-308) - math.log(1e308)),
    ],
)
def test_values_have_a_ratio_only_above_zero_or_where_they_are_equal(
    base: float, head: float, ratio: float | None
) -> None:
    found = value_log_ratio(base, head)
    assert found == (None if ratio is None else pytest.approx(ratio))


def test_the_busyness_is_the_median_of_wall_over_cpu() -> None:
    turns = [sample(2.0, 1.0), sample(3.0, 1.0), sample(90.0, 1.0), sample(1.0, 0.0)]
    assert wall_over_cpu(turns) == 3.0
    assert wall_over_cpu([]) is None
