"""The sixteen traps of comparing benchmarks, and the test that has each one's right value."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import Final

import pytest

TESTS: Final = Path(__file__).parents[2]
TRAPS: Final[dict[int, tuple[str, tuple[str, ...]]]] = {
    1: (
        "six pairs can never decide at this alpha",
        (
            "test_six_pairs_decide_nothing_however_clear_they_are",
            "test_seven_pairs_are_bounded_by_their_least_and_their_greatest",
        ),
    ),
    2: (
        "looking several times raises false alarms",
        ("test_the_band_that_is_ignored_and_the_smaller_alpha_both_keep_false_alarms_away",),
    ),
    3: (
        "samples of one process are not independent: a pair of processes is one observation",
        ("test_a_pair_gives_the_median_of_its_neighbouring_turns",),
    ),
    4: (
        "a mean follows every outlier",
        ("test_one_outlier_does_not_move_the_middle_far",),
    ),
    5: (
        "no base is an error, not a warning",
        ("test_a_comparison_without_a_base_is_an_error",),
    ),
    6: (
        "a suite's exit code is no result: each benchmark has its own",
        (
            "test_a_broken_file_and_a_broken_class_hide_nothing",
            "test_a_worker_that_dies_costs_the_benchmark_that_it_was_at",
        ),
    ),
    7: (
        "uncommitted changes are said",
        ("test_the_heading_says_what_by_which_clock_and_how_noisy",),
    ),
    8: ("more run-queue wait than time", ("test_a_wait_is_within_the_wall_time",)),
    9: (
        "CPU time does not see sleep, and sums threads",
        (
            "test_a_sleep_that_grows_is_found_although_cpu_time_stands_still",
            "test_the_clock_is_chosen_by_what_the_benchmark_does",
        ),
    ),
    10: ("valgrind hides AVX-512", ("test_what_valgrind_does_not_show_is_said",)),
    11: (
        "a counter that is none; hash seeds",
        (
            "test_a_counter_that_counts_nothing_says_why",
            "test_both_processes_of_a_pair_share_the_hash_seed_and_each_pair_has_another",
        ),
    ),
    12: (
        "the first calls are slower",
        ("test_both_sides_are_warmed_up_before_the_first_turn",),
    ),
    13: (
        "new benchmarks have no base; changed ones are measured by head's code",
        (
            "test_a_benchmark_that_only_head_has_is_new_and_no_failure",
            "test_a_benchmark_that_is_new_has_nothing_to_be_compared_with",
        ),
    ),
    14: (
        "a gain never fails; what has no base never passes silently",
        (
            "test_nothing_else_that_was_measured_fails",
            "test_nothing_measured_though_something_was_chosen_is_never_a_pass",
        ),
    ),
    15: (
        "one core for both sides, one after the other",
        (
            "test_the_core_is_taken_where_there_is_one",
            "test_the_sides_take_turns_a_b_b_a_and_another_one_begins_each_pair",
        ),
    ),
    16: (
        "a hundred benchmarks give false alarms by number alone: each is measured again",
        (
            "test_a_slow_down_that_new_boxes_do_not_show_is_unsure",
            "test_the_same_code_is_flagged_in_none_of_many_runs",
        ),
    ),
}


@cache
def known() -> frozenset[str]:
    return frozenset(
        node.name
        for path in TESTS.rglob("test_*.py")
        if "bench" in path.name
        for node in ast.walk(ast.parse(path.read_bytes()))
        if isinstance(node, ast.FunctionDef)
    )


def test_all_sixteen_are_here() -> None:
    assert sorted(TRAPS) == list(range(1, 17))


@pytest.mark.parametrize("number", TRAPS)
def test_the_tests_of_a_trap_are_there(number: int) -> None:
    what, tests = TRAPS[number]
    assert set(tests) <= known(), what
