"""How chosen tests are shared among processes and machines, and what a budget has room for."""

from __future__ import annotations

from itertools import pairwise

import pytest

from presubmit.history import RecordedRun
from presubmit.selector.recorded_index import Index, pack
from presubmit.selector.recorded_store import Stored
from presubmit.selector.recording import Ran
from presubmit.selector.shards import (
    Shard,
    cost,
    of_shard,
    recorded_seconds,
    share,
    units_of,
    usual,
    within_budget,
)
from presubmit.values import ChosenTest, Reason


def chosen(path: str, *names: str, rule: str = "imports") -> ChosenTest:
    ids = tuple(f"{path}::{name}" for name in names)
    return ChosenTest(path=path, reasons=(Reason(rule=rule, text=""),), ids=ids)


def files(letters: str) -> list[ChosenTest]:
    return [chosen(letter) for letter in letters]


def shared(letters: str, seconds: dict[str, float], count: int) -> list[tuple[str, ...]]:
    return [part.files for part in share(files(letters), seconds, count)]


# --- how long ---------------------------------------------------------------------------------------------------------


def test_the_usual_file_takes_the_median_of_the_known_ones_or_a_second() -> None:
    assert usual({"a": 1.0, "b": 2.0, "c": 600.0, "c::test_x": 500.0}) == 2.0
    assert usual({}) == 1.0


def test_a_narrowed_file_takes_what_its_chosen_tests_took() -> None:
    seconds = {"a": 100.0, "a::x": 1.0, "a::y": 3.0}
    assert cost(chosen("a"), seconds) == 100.0
    assert cost(chosen("a", "x", "y"), seconds) == 4.0
    assert cost(chosen("a", "x", "new"), seconds) == 2.0
    assert cost(chosen("a", "new"), seconds) == 100.0
    assert cost(chosen("b"), seconds) is None


def stored(files: dict[str, str], seconds: dict[str, float]) -> Stored:
    run = RecordedRun(
        tree="t",
        environment="e",
        setting="s",
        python="3.11.2",
        core="ctrace",
        commit="c",
        at="2026-11-30T12:00:00Z",
        files=files,
    )
    rows = pack(Ran(context=name, seconds=taken) for name, taken in seconds.items())
    return Stored(number=1, run=run, index=Index(lambda keys: {key: rows[key] for key in keys}))


def test_single_tests_take_what_the_newest_recorded_run_of_the_same_file_says() -> None:
    newer = stored({"a": "1", "b": "1"}, {"test:a::x": 1.0, "test:b::x": 2.0, "collect:a": 9.0})
    older = stored({"a": "1", "b": "0"}, {"test:a::x": 5.0, "test:a::y": 6.0, "test:b::z": 7.0})
    blobs = {"a": "1", "b": "0"}
    assert recorded_seconds((newer, older), blobs) == {"a::x": 1.0, "a::y": 6.0, "b::z": 7.0}


# --- budget -----------------------------------------------------------------------------------------------------------


def test_a_file_that_does_not_fit_gives_its_place_to_shorter_ones_behind_it() -> None:
    kept, cut = within_budget(files("abc"), {"a": 1.0, "b": 9.0, "c": 2.0}, 4.0)
    assert ([test.path for test in kept], cut) == (["a", "c"], ("b",))


def test_edited_tests_are_kept_at_any_length() -> None:
    tests = [chosen("a", rule="edited"), chosen("b", rule="edited"), chosen("c")]
    kept, cut = within_budget(tests, {"a": 9.0, "b": 9.0, "c": 1.0}, 4.0)
    assert ([test.path for test in kept], cut) == (["a", "b"], ("c",))


def test_something_is_run_on_any_budget() -> None:
    kept, cut = within_budget(files("ab"), {"a": 9.0}, -5.0)
    assert ([test.path for test in kept], cut) == (["a"], ("b",))


def test_of_a_narrowed_file_the_tests_that_fit_are_kept() -> None:
    tests = [chosen("a"), chosen("b", "x", "y", "new")]
    kept, cut = within_budget(tests, {"a": 1.0, "b::x": 1.0, "b::y": 5.0}, 3.0)
    assert [test.ids for test in kept] == [(), ("b::x",)]
    assert cut == ("b::y", "b::new")


@pytest.mark.parametrize("budget", [0.0, 1.0, 3.0, 8.0, 1000.0])
def test_what_is_kept_and_what_is_cut_are_all_of_the_tests(budget: float) -> None:
    tests = [chosen("a"), chosen("b", "x", "y"), chosen("c", "z"), chosen("d")]
    kept, cut = within_budget(tests, {"a": 2.0, "b::x": 1.0, "b::y": 5.0, "c": 2.0}, budget)
    names = [name for test in kept for name in units_of([test.path], test.ids)]
    assert sorted([*names, *cut]) == ["a", "b::x", "b::y", "c::z", "d"]


# --- processes --------------------------------------------------------------------------------------------------------


def test_shares_are_balanced_by_known_seconds() -> None:
    assert shared("abcd", {"a": 10.0, "b": 6.0, "c": 4.0, "d": 1.0}, 2) == [
        ("a", "d"),
        ("b", "c"),
    ]


def test_a_file_of_unknown_seconds_counts_as_a_usual_one() -> None:
    assert shared("abcd", {"a": 4.0, "b": 2.0}, 2) == [("a", "b"), ("c", "d")]


def test_without_known_seconds_shares_have_equal_numbers_of_files() -> None:
    assert [len(part) for part in shared("abcde", {}, 3)] == [2, 2, 1]


def test_no_share_stays_empty() -> None:
    assert shared("abc", dict.fromkeys("abc", 0.0), 2) == [("a", "c"), ("b",)]
    assert shared("ab", {}, 9) == [("a",), ("b",)]
    assert share([], {}, 3) == []


def test_a_file_that_is_not_long_is_never_parted() -> None:
    seconds = {"a": 2.0, "b": 2.0, "a::x": 1.0, "a::y": 1.0}
    assert [(part.within, part.without) for part in share(files("ab"), seconds, 2)] == [
        ((), ()),
        ((), ()),
    ]


LONG = {"a": 60.0, "b": 1.0, "a::x": 20.0, "a::y": 20.0, "a::C::m": 10.0, "a::C::n": 10.0}


def test_a_long_file_is_parted_and_its_classes_stay_whole() -> None:
    parts = share(files("ab"), LONG, 3)
    assert [(part.within, part.without) for part in parts] == [
        ((), ("a::x", "a::y")),
        (("a::x",), ()),
        (("a::y",), ()),
    ]
    assert [part.seconds for part in parts] == [21.0, 20.0, 20.0]


@pytest.mark.parametrize("count", range(2, 7))
def test_however_a_file_is_parted_each_of_its_tests_runs_once(count: int) -> None:
    tests = ["a::x", "a::y", "a::C::m", "a::C::n", "a::new", "a::New::m"]
    parts = share(files("ab"), LONG, count)
    for one in tests:
        starts = {"::".join(one.split("::")[:end]) for end in (2, 3)}
        runs = [
            part
            for part in parts
            if "a" in part.files
            and not starts & set(part.without)
            and (part.without or not part.within or starts & set(part.within))
        ]
        assert len(runs) == 1, one


def test_parts_of_a_file_that_meet_in_one_process_are_one_part() -> None:
    seconds = {"a": 12.0, "a::x": 4.0, "a::y": 4.0, "a::z": 4.0, "b": 11.0}
    parts = share(files("ab"), seconds, 2)
    assert all(part.files.count("a") <= 1 for part in parts)
    assert all(not set(part.within) & set(part.without) for part in parts)


def test_a_long_narrowed_file_is_parted_into_its_chosen_tests() -> None:
    tests = [chosen("a", "x", "C::m", "C::n"), chosen("b")]
    seconds = {"a::x": 30.0, "a::C::m": 10.0, "a::C::n": 10.0, "b": 1.0}
    parts = share(tests, seconds, 2)
    assert [(part.files, part.within, part.without) for part in parts] == [
        (("a",), ("a::x",), ()),
        (("a", "b"), ("a::C::m", "a::C::n"), ()),
    ]


def test_an_edited_file_is_not_parted_since_its_known_tests_may_be_gone() -> None:
    parts = share([chosen("a", rule="edited"), chosen("b")], LONG, 3)
    assert [part.files for part in parts] == [("a",), ("b",)]
    assert not any(part.within or part.without for part in parts)


def test_serial_files_stay_whole_and_together() -> None:
    parts = share(files("abcd"), {**LONG, "d": 50.0}, 3, serial=("a", "d"))
    assert [part.files for part in parts] == [("a", "d"), ("c",), ("b",)]
    assert not any(part.within or part.without for part in parts)


# --- machines ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_every_file_runs_on_exactly_one_machine(count: int) -> None:
    tests = files("hgfedcba")
    for serial in ((), ("c", "f")):
        shards = [Shard(number=number, count=count) for number in range(1, count + 1)]
        parts = [of_shard(tests, shard, serial=serial) for shard in shards]
        assert sorted(test.path for kept, _ in parts for test in kept) == list("abcdefgh")
        for kept, others in parts:
            assert len(kept) + len(others) == len(tests)


def test_machines_find_the_same_parts_in_whichever_order_they_rank() -> None:
    two = Shard(number=1, count=2)
    for order in ("abcd", "dcba", "cadb"):
        assert {test.path for test in of_shard(files(order), two)[0]} == {"a", "c"}


def test_serial_files_go_to_one_machine_in_their_order() -> None:
    kept, _ = of_shard(files("dcba"), Shard(number=2, count=2), serial=("a", "c"))
    assert [test.path for test in kept] == ["d", "c", "a"]


def test_the_parts_of_machines_are_of_like_size() -> None:
    tests = [chosen(f"t{number:02}") for number in range(23)]
    sizes = [len(of_shard(tests, Shard(number=one, count=4))[0]) for one in (1, 2, 3, 4)]
    assert all(more >= less for more, less in pairwise(sizes))
    assert max(sizes) - min(sizes) == 1
