from __future__ import annotations

import pytest
from msgspec.structs import replace

from presubmit.bench.progress import Stage
from presubmit.bench.schedule import (
    Waiting,
    choose_active,
    environment,
    group,
    lead_of,
    order,
    reserve,
)
from presubmit.bench.values import Adapter, Bench, Settings, Suite

SETTINGS = Settings()
SUITE = Suite(adapter=Adapter.ASV, root="b", files=("b/a.py",), origin="asv.conf.json")


def waiting(name: str, *, pairs: int = 0, cost: float = 1.0) -> Waiting:
    return Waiting(id=name, pairs=pairs, cost=cost)


def chosen(*live: Waiting, left: float, start: float = 0.0) -> set[str]:
    return set(choose_active(live, left=left, start=start, settings=SETTINGS))


def test_what_fits_is_measured_all_at_once() -> None:
    assert chosen(waiting("a"), waiting("b"), left=14.0) == {"a", "b"}


def test_what_cannot_come_to_its_look_waits_in_the_order_that_was_given() -> None:
    assert chosen(waiting("a"), waiting("b"), waiting("c"), left=14.0) == {"a", "b"}


def test_a_cheap_one_fits_where_a_dear_one_does_not() -> None:
    assert chosen(waiting("a", cost=9.0), waiting("b"), left=14.0) == {"b"}


def test_those_never_looked_at_come_before_those_that_go_on() -> None:
    assert chosen(waiting("a", pairs=17), waiting("b"), left=7.0) == {"b"}


def test_only_the_pairs_to_the_next_look_are_needed() -> None:
    assert chosen(waiting("a", pairs=5), waiting("b", pairs=7), left=5.0) == {"a", "b"}


def test_starting_the_processes_costs_too() -> None:
    assert chosen(waiting("a"), waiting("b"), left=14.0, start=1.0) == {"a"}


def test_at_least_one_goes_on() -> None:
    assert chosen(waiting("a"), waiting("b"), left=0.1) == {"a"}
    assert chosen(left=1.0) == set()


def test_time_is_kept_for_what_is_slower_only() -> None:
    assert reserve([], start=5.0, settings=SETTINGS) == 0.0
    assert reserve([1.0, 2.0], start=1.0, settings=SETTINGS) == pytest.approx(1.2 * 7 * 4)


def test_the_sides_lead_by_turns() -> None:
    assert [lead_of(number) for number in range(4)] == ["base", "head", "base", "head"]


def test_the_two_stages_have_different_orders_and_hash_seeds() -> None:
    benches = [Bench(id=name, adapter=Adapter.ASV, root="b", file="b/a.py") for name in "abcdefgh"]
    orders = {
        stage: order(benches, SUITE, stage=stage, number=0, settings=SETTINGS) for stage in Stage
    }
    seeds = {
        environment(SUITE, stage=stage, number=0, settings=SETTINGS)["PYTHONHASHSEED"]
        for stage in Stage
    }
    assert orders[Stage.FIRST] != orders[Stage.AGAIN]
    assert sorted(one.id for one in orders[Stage.FIRST]) == list("abcdefgh")
    assert len(seeds) == 2


def test_a_hash_seed_is_never_zero_which_would_turn_hashing_at_random_off() -> None:
    seeds = [
        int(
            environment(SUITE, stage=Stage.FIRST, number=number, settings=SETTINGS)[
                "PYTHONHASHSEED"
            ]
        )
        for number in range(100)
    ]
    assert min(seeds) > 0
    assert max(seeds) < 1 << 32


def test_the_number_of_threads_is_the_settings() -> None:
    settings = replace(SETTINGS, threads=4)
    found = environment(SUITE, stage=Stage.FIRST, number=0, settings=settings)
    assert (found["OMP_NUM_THREADS"], found["OPENBLAS_NUM_THREADS"]) == ("4", "4")


def test_a_benchmark_belongs_to_the_suite_that_holds_its_file() -> None:
    other = replace(SUITE, files=("b/c.py",))
    one, two, lost = (
        Bench(id=name, adapter=adapter, root="b", file=file)
        for name, adapter, file in (
            ("one", Adapter.ASV, "b/c.py"),
            ("two", Adapter.ASV, "b/elsewhere.py"),
            ("lost", Adapter.TORCH, "b/a.py"),
        )
    )
    groups, strangers = group([one, two, lost], [SUITE, other])
    assert groups == {1: (one,), 0: (two,)}
    assert strangers == (lost,)
