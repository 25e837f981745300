from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from presubmit.bench.progress import Again, Decided, Failed, Noted, Paired, Proved, Stage
from presubmit.bench.values import Adapter, Bench, Clock, Kind, Settings, Suite, Trouble, Word
from presubmit.values import builtins_of
from tests.unit.bench.simulated import SUITE, Program, RefusedError, World, bench, run

if TYPE_CHECKING:
    from presubmit.bench.values import Measured

LONG = Settings(budget=1e6)


def words(measured: Measured) -> dict[str, Word]:
    return {result.bench.id: result.word for result in measured.results}


def pairs_of(world: World) -> list[list[tuple[str, str, str]]]:
    """Split the log at the start of each pair."""
    pairs: list[list[tuple[str, str, str]]] = []
    starts = 0
    for entry in world.log:
        if entry[1] == "start":
            if starts % 2 == 0:
                pairs.append([])
            starts += 1
        pairs[-1].append(entry)
    return pairs


# --- the answers -------------------------------------------------------------------------------------------------------


def test_a_slow_down_is_found_measured_again_in_new_boxes_and_confirmed() -> None:
    world = World({"a": Program(change=0.05)})
    (result,) = run(world).results
    assert (result.word, result.confirmed, result.pairs) == (Word.SLOWER, True, 7)
    assert result.interval.ratio == pytest.approx(1.05, abs=0.01)
    assert result.confirmation is not None
    assert result.confirmation.ratio == pytest.approx(1.05, abs=0.01)
    assert world.renewed == 1
    assert world.count("base") == world.count("head") == 14


def test_a_slow_down_that_new_boxes_do_not_show_is_unsure() -> None:
    world = World({"a": Program(change=0.05, again=0.0)})
    (result,) = run(world).results
    assert (result.word, result.confirmed) == (Word.UNSURE, False)
    assert result.reason.startswith("slower at first, ")
    assert result.reason.endswith("% when measured again")
    assert result.confirmation is not None


def test_the_same_code_is_the_same_and_nothing_is_renewed() -> None:
    world = World({"a": Program()})
    measured = run(world)
    assert words(measured) == {"a": Word.SAME}
    assert measured.stopped == ""
    assert world.renewed == 0


def test_a_gain_is_not_measured_again() -> None:
    world = World({"a": Program(change=-0.2)})
    (result,) = run(world).results
    assert (result.word, result.confirmed, result.pairs, world.renewed) == (
        Word.FASTER,
        False,
        7,
        0,
    )


def test_what_the_noise_hides_is_unsure_with_the_number_of_pairs_that_would_tell() -> None:
    (result,) = run(World({"a": Program(sd=0.15)}), settings=LONG).results
    assert (result.word, result.pairs, result.reason) == (Word.UNSURE, 22, "")
    assert result.needed is not None
    assert result.needed > 22


def test_the_same_code_is_flagged_in_none_of_many_runs() -> None:
    flagged = [
        word
        for seed in range(40)
        for word in words(run(World({"a": Program(sd=0.02)}, seed=seed))).values()
        if word in {Word.SLOWER, Word.FASTER}
    ]
    assert flagged == []


def test_a_tenth_more_is_found_in_nearly_all_of_many_runs() -> None:
    found = [
        word
        for seed in range(40)
        for word in words(run(World({"a": Program(sd=0.02, change=0.1)}, seed=seed))).values()
    ]
    assert found.count(Word.SLOWER) >= 39


def test_decided_benchmarks_drop_out_at_the_looks() -> None:
    world = World({"calm": Program(), "wild": Program(sd=0.15)})
    measured = run(world, settings=LONG)
    assert [(one.bench.id, one.pairs) for one in measured.results] == [("calm", 7), ("wild", 22)]
    assert [len(job["ids"]) for side, job, _ in world.jobs if side == "head"] == [2] * 7 + [1] * 15


def test_numbers_that_are_always_equal_are_the_same_after_seven_pairs() -> None:
    world = World({"a": Program(value=(1000, 1000)), "b": Program(value=(0, 0))})
    measured = run(world)
    assert words(measured) == {"a": Word.SAME, "b": Word.SAME}
    assert {one.pairs for one in measured.results} == {7}
    assert {one.clock for one in measured.results} == {Clock.VALUE}


def test_a_number_that_grows_is_slower_and_confirmed() -> None:
    (result,) = run(World({"peakmem": Program(value=(1000.0, 1020.0))})).results
    assert (result.word, result.confirmed, result.base, result.head) == (
        Word.SLOWER,
        True,
        1000.0,
        1020.0,
    )


def test_numbers_without_a_ratio_are_broken_not_the_same() -> None:
    measured = run(World({"a": Program(value=(0, 5))}))
    assert measured.results == ()
    assert [(one.id, one.side, one.error) for one in measured.broken] == [
        ("a", "both", "its values have no ratio: 0 on base, 5 on head")
    ]


@pytest.mark.parametrize("value", [None, "many", float("nan"), True])
def test_a_value_that_is_no_number_is_broken_on_its_side(value: object) -> None:
    measured = run(World({"a": Program(value=(1.0, value))}))
    assert [(one.id, one.side) for one in measured.broken] == [("a", "head")]
    assert measured.results == ()


# --- the clock ---------------------------------------------------------------------------------------------------------


def test_the_clock_follows_what_the_benchmark_does() -> None:
    world = World(
        {"work": Program(), "sleep": Program(sleeps=True), "threads": Program(threads=3, sd=0.001)}
    )
    measured = run(world, settings=LONG)
    assert {one.bench.id: one.clock for one in measured.results} == {
        "work": Clock.CPU,
        "sleep": Clock.ON_CPU,
        "threads": Clock.WALL,
    }
    assert {one.bench.id: one.wall is None for one in measured.results} == {
        "work": False,
        "sleep": False,
        "threads": True,
    }


def test_a_sleep_that_grows_is_found_although_cpu_time_stands_still() -> None:
    (result,) = run(World({"a": Program(sleeps=True, change=0.1)})).results
    assert (result.word, result.confirmed) == (Word.SLOWER, True)


def test_how_busy_the_machine_was_is_the_wait_of_one_threaded_work() -> None:
    measured = run(World({"work": Program(), "threads": Program(threads=9)}))
    assert measured.wall_over_cpu == pytest.approx(1.5, abs=0.1)
    assert measured.pair_sd is not None


def test_turns_that_take_no_time_break_the_benchmark_not_the_run() -> None:
    world = World({"zero": Program(seconds=0.0), "a": Program()})
    measured = run(world)
    assert words(measured) == {"a": Word.SAME}
    assert [(one.id, one.side, one.error) for one in measured.broken] == [
        ("zero", "both", "no turn took a time above zero")
    ]
    assert len([side for side, bench in world.happened("warm") if bench == "zero"]) == 3 * 4


# --- the order ---------------------------------------------------------------------------------------------------------


def test_the_sides_take_turns_a_b_b_a_and_another_one_begins_each_pair() -> None:
    world = World({"a": Program()})
    run(world)
    for number, pair in enumerate(pairs_of(world)):
        lead, other = ("base", "head") if number % 2 == 0 else ("head", "base")
        turns = [side for side, what, _ in pair if what == "turn"]
        assert turns == [lead, other, other, lead] * 4
        assert [side for side, what, _ in pair if what == "start"] == [lead, other]


def test_both_sides_are_warmed_up_before_the_first_turn() -> None:
    world = World({"a": Program()})
    run(world)
    for pair in pairs_of(world):
        talk = [(side, what) for side, what, _ in pair if what in {"warm", "turn"}]
        assert sorted(talk[:4]) == [("base", "warm")] * 2 + [("head", "warm")] * 2


def test_one_side_waits_until_the_other_stands_at_its_first_benchmark() -> None:
    world = World({"a": Program()})
    run(world)
    assert [what for _, what, _ in world.log[:4]] == ["start", "at", "start", "at"]


def test_loops_are_calibrated_once_on_the_base() -> None:
    world = World({"a": Program(change=0.5), "b": Program()})
    measured = run(world)
    assert sorted(world.happened("calibrate")) == [("base", "a"), ("base", "b")]
    assert [one.loops for one in measured.results] == [10, 10]


def test_a_fixed_number_of_loops_is_kept() -> None:
    (result,) = run(World({"a": Program(fixed=3)})).results
    assert result.loops == 3


def test_a_long_call_takes_fewer_turns_and_is_warmed_up_once() -> None:
    world = World({"a": Program(seconds=0.9)})
    run(world, settings=LONG)
    assert len(world.happened("turn")) == 7 * 2
    assert len(world.happened("warm")) == 7 * 2


def test_a_command_is_warmed_up_in_the_first_pair_only() -> None:
    suite = Suite(adapter=Adapter.COMMAND, root="run", files=("a.py",), origin="config")
    program = Program(seconds=0.01, fixed=1)
    world = World({"run": program})
    run(world, suites=[suite], benches=[bench("run", program, suite=suite)])
    assert len(world.happened("warm")) == 2


def test_both_processes_of_a_pair_share_the_hash_seed_and_each_pair_has_another() -> None:
    world = World({"a": Program()})
    run(world)
    seeds = {
        side: [env["PYTHONHASHSEED"] for name, _, env in world.jobs if name == side]
        for side in ("base", "head")
    }
    assert seeds["base"] == seeds["head"]
    assert len(set(seeds["base"])) == 7


def test_one_thread_is_asked_for() -> None:
    world = World({"a": Program()})
    run(world)
    assert {env["OMP_NUM_THREADS"] for _, _, env in world.jobs} == {"1"}


def test_both_sides_run_the_benchmarks_in_one_order_that_changes_from_pair_to_pair() -> None:
    world = World({name: Program() for name in "abcdef"})
    run(world)
    orders = {
        side: [job["ids"] for name, job, _ in world.jobs if name == side]
        for side in ("base", "head")
    }
    assert orders["base"] == orders["head"]
    assert len({tuple(ids) for ids in orders["base"]}) > 4


def test_the_seed_alone_says_the_order_and_the_hash_seeds() -> None:
    def jobs(seed: int) -> list[object]:
        world = World({name: Program() for name in "abcdef"}, seed=1)
        run(world, settings=Settings(seed=seed))
        return [(job["ids"], env) for _, job, env in world.jobs[:6]]

    assert jobs(1) == jobs(1)
    assert jobs(1) != jobs(2)


def test_a_torch_script_keeps_its_own_order() -> None:
    suite = Suite(adapter=Adapter.TORCH, root="", files=("s.py",), origin="s.py")
    world = World({name: Program() for name in "abcdef"})
    benches = [bench(name, program, suite=suite) for name, program in world.programs.items()]
    run(world, suites=[suite], benches=benches)
    assert {tuple(job["ids"]) for _, job, _ in world.jobs} == {tuple("abcdef")}


def test_suites_are_measured_pair_by_pair_in_turns() -> None:
    other = replace(SUITE, root="more", files=("more/b.py",))
    programs = {"a": Program(), "b": Program()}
    world = World(programs)
    run(
        world,
        suites=[SUITE, other],
        benches=[bench("a", programs["a"]), bench("b", programs["b"], suite=other)],
    )
    assert [job["suite"]["root"] for _, job, _ in world.jobs[:8]] == [
        *["benchmarks"] * 2,
        *["more"] * 2,
        *["benchmarks"] * 2,
        *["more"] * 2,
    ]


def test_results_stand_in_the_order_in_which_the_benchmarks_were_given() -> None:
    world = World({name: Program() for name in "dbca"})
    assert [one.bench.id for one in run(world).results] == list("dbca")


# --- ends --------------------------------------------------------------------------------------------------------------


def test_at_the_end_of_the_budget_what_is_not_decided_is_unsure_never_the_same() -> None:
    world = World({"a": Program(), "wild": Program(sd=0.15)})
    measured = run(world, settings=Settings(budget=14.0))
    assert measured.stopped == "budget"
    assert words(measured) == {"a": Word.SAME, "wild": Word.UNSURE}
    (wild,) = (one for one in measured.results if one.bench.id == "wild")
    assert wild.reason == "the budget ended"
    assert 7 <= wild.pairs < 22
    assert measured.seconds == pytest.approx(14.0, abs=1.0)


def test_equal_sides_are_unsure_where_the_budget_ends_before_the_first_look() -> None:
    measured = run(World({"a": Program(sd=0.0)}), settings=Settings(budget=4.0))
    (result,) = measured.results
    assert (result.word, result.interval.low, result.interval.high) == (Word.UNSURE, None, None)
    assert 0 < result.pairs < 7


def test_without_time_for_one_whole_pair_it_is_unmeasured() -> None:
    measured = run(World({"a": Program(), "b": Program()}), settings=Settings(budget=0.6))
    assert (measured.results, measured.unmeasured, measured.stopped) == ((), ("a", "b"), "budget")


def test_no_budget_at_all_starts_no_process() -> None:
    world = World({"a": Program()})
    measured = run(world, settings=Settings(budget=0.0))
    assert (measured.unmeasured, world.jobs) == (("a",), [])


def test_an_interrupt_ends_it_at_once_with_what_is_known() -> None:
    world = World({"a": Program(), "wild": Program(sd=0.15)})
    world.stop_at = 14.0
    measured = run(world)
    assert measured.stopped == "interrupted"
    assert words(measured) == {"a": Word.SAME, "wild": Word.UNSURE}
    assert world.time < 14.5


def test_a_slow_down_that_there_was_no_time_to_confirm_is_unsure() -> None:
    world = World({"a": Program(change=0.05)})
    world.stop_at = 1004.0  # renewing alone takes 1000 s
    measured = run(world)
    (result,) = measured.results
    assert (result.word, result.confirmed) == (Word.UNSURE, False)
    assert result.reason == "slower, but interrupted before that was confirmed"


def test_the_boxes_are_not_renewed_after_an_interrupt() -> None:
    world = World({"a": Program(change=0.05), "wild": Program(sd=0.15)})
    world.stop_at = 13.0
    (first, _) = run(world).results
    assert world.renewed == 0
    assert first.reason == "slower, but interrupted before that was confirmed"


def test_time_is_kept_to_confirm_a_slow_down() -> None:
    programs = {"slow": Program(change=0.1), **{f"wild{n}": Program(sd=0.2) for n in range(8)}}
    world = World(programs)
    measured = run(world, settings=Settings(budget=36.0))
    slow = measured.results[0]
    assert (slow.word, slow.confirmed) == (Word.SLOWER, True)
    assert measured.stopped == "budget"
    assert {one.word for one in measured.results[1:]} == {Word.UNSURE}


def test_renewing_the_boxes_is_not_counted() -> None:
    world = World({"a": Program(change=0.05)})
    measured = run(world, settings=Settings(budget=60.0))
    assert measured.stopped == ""
    assert measured.seconds < 60.0


def test_where_not_all_fits_the_budget_the_first_ones_are_decided_and_the_last_unmeasured() -> (
    None
):
    world = World({f"b{number:03}": Program() for number in range(200)})
    measured = run(world, settings=Settings(budget=60.0))
    decided = [one.bench.id for one in measured.results if one.word is Word.SAME]
    assert len(decided) > 20
    assert "b000" in decided
    assert "b199" in measured.unmeasured
    assert len(measured.results) + len(measured.unmeasured) == 200


# --- what breaks -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("side", ["base", "head"])
@pytest.mark.parametrize("what", ["at", "warm", "turn"])
def test_a_benchmark_that_fails_on_one_side_is_broken_there_and_the_others_go_on(
    side: str, what: str
) -> None:
    world = World({"a": Program(), "bad": Program(fails={side: what}), "z": Program()})
    measured = run(world)
    assert words(measured) == {"a": Word.SAME, "z": Word.SAME}
    (broken,) = measured.broken
    assert (broken.id, broken.side, broken.error) == ("bad", side, f"ValueError in {what}")
    assert all("bad" not in job["ids"] for _, job, _ in world.jobs[2:])


def test_a_failing_calibration_is_the_bases() -> None:
    measured = run(World({"bad": Program(fails={"base": "calibrate"}), "a": Program()}))
    assert [(one.id, one.side) for one in measured.broken] == [("bad", "base")]
    assert words(measured) == {"a": Word.SAME}


@pytest.mark.parametrize("what", ["at", "warm"])
def test_a_benchmark_that_fails_on_both_sides_is_broken_on_both(what: str) -> None:
    world = World({"bad": Program(fails={"base": what, "head": what}), "a": Program()})
    measured = run(world)
    assert [(one.id, one.side) for one in measured.broken] == [("bad", "both")]
    assert words(measured) == {"a": Word.SAME}
    told = [event.broken for event in world.events if isinstance(event, Failed)]
    assert tuple(told) == measured.broken


def test_one_that_its_suite_leaves_out_is_told_from_one_that_fails() -> None:
    both = {"base": "at", "head": "at"}
    world = World(
        {
            "left": Program(fails=both, skips=True),
            "bad": Program(fails={"head": "at"}),
            "gone": Program(absent=("head",)),
            "a": Program(),
        }
    )
    assert {(one.id, one.side, one.trouble) for one in run(world).broken} == {
        ("left", "both", Trouble.SKIPPED),
        ("bad", "head", Trouble.FAILED),
        ("gone", "head", Trouble.ABSENT),
    }


def test_one_that_fails_on_one_side_and_is_absent_on_the_other_fails() -> None:
    world = World({"bad": Program(fails={"head": "at"}, absent=("base",)), "a": Program()})
    assert [(one.side, one.trouble) for one in run(world).broken] == [("both", Trouble.FAILED)]


def test_one_that_fails_only_later_has_no_answer() -> None:
    world = World({"bad": Program(fails={"head": "turn"}, from_process=4), "a": Program()})
    measured = run(world)
    assert words(measured) == {"a": Word.SAME}
    assert [(one.id, one.side) for one in measured.broken] == [("bad", "head")]


@pytest.mark.parametrize("side", ["base", "head"])
@pytest.mark.parametrize("what", ["warm", "turn"])
def test_a_worker_that_dies_costs_the_benchmark_that_it_was_at(side: str, what: str) -> None:
    world = World({"a": Program(), "bad": Program(dies={side: what}), "z": Program()})
    measured = run(world)
    assert words(measured) == {"a": Word.SAME, "z": Word.SAME}
    (broken,) = measured.broken
    assert (broken.id, broken.side) == ("bad", side)
    assert broken.error.splitlines() == [
        "the process ended",
        "line",
        "Fatal Python error: Aborted",
    ]


def test_many_benchmarks_that_kill_their_worker_cost_one_pair_each() -> None:
    names = {f"bad{number}": Program(dies={"head": "warm"}) for number in range(5)}
    measured = run(World({**names, "a": Program()}))
    assert words(measured) == {"a": Word.SAME}
    assert {one.id for one in measured.broken} == set(names)


def test_a_worker_that_hangs_is_given_up_and_its_benchmark_is_broken() -> None:
    suite = replace(SUITE, timeout=5.0)
    programs = {"a": Program(), "bad": Program(hangs={"head": "turn"})}
    world = World(programs)
    measured = run(world, suites=[suite])
    assert words(measured) == {"a": Word.SAME}
    (broken,) = measured.broken
    assert (broken.id, broken.side, broken.error) == ("bad", "head", "no answer within 20 s")


def test_a_hang_does_not_outlast_the_budget() -> None:
    world = World({"bad": Program(hangs={"head": "at"})})
    measured = run(world, settings=Settings(budget=30.0))
    assert (measured.stopped, measured.unmeasured) == ("budget", ("bad",))
    assert world.time < 31.0


def test_a_hang_does_not_outlast_an_interrupt() -> None:
    world = World({"bad": Program(hangs={"base": "turn"})})
    world.stop_at = 5.0
    measured = run(world)
    assert (measured.stopped, measured.unmeasured) == ("interrupted", ("bad",))
    assert world.time < 5.5


@pytest.mark.parametrize("side", ["base", "head"])
def test_a_worker_that_dies_at_its_start_twice_breaks_the_whole_suite(side: str) -> None:
    world = World({"a": Program(), "b": Program()})
    world.dead_at_start = lambda name, _: name == side
    measured = run(world)
    assert {(one.id, one.side) for one in measured.broken} == {("a", side), ("b", side)}
    assert "ImportError: no module" in measured.broken[0].error
    assert world.count(side) == 2


def test_a_worker_that_dies_at_its_start_once_costs_one_pair() -> None:
    world = World({"a": Program()})
    world.dead_at_start = lambda name, number: name == "head" and number in {1, 4}
    measured = run(world)
    assert words(measured) == {"a": Word.SAME}
    assert measured.broken == ()
    assert world.count("base") == 9


def test_a_worker_that_dies_twice_between_benchmarks_breaks_what_it_never_came_to() -> None:
    world = World({name: Program() for name in "abc"})
    world.dead_between = lambda name, _: name == "head"
    measured = run(world)
    assert measured.broken
    assert {one.side for one in measured.broken} == {"head"}
    assert len(measured.broken) + len(measured.results) == 3


def test_other_suites_go_on_where_one_is_broken() -> None:
    other = replace(SUITE, root="more", files=("more/b.py",))
    programs = {"bad": Program(dies={"base": "at"}), "b": Program()}
    world = World(programs)
    measured = run(
        world,
        suites=[SUITE, other],
        benches=[bench("bad", programs["bad"]), bench("b", programs["b"], suite=other)],
    )
    assert words(measured) == {"b": Word.SAME}
    assert [(one.id, one.side) for one in measured.broken] == [("bad", "base")]


@pytest.mark.parametrize("side", ["base", "head"])
@pytest.mark.parametrize("gone", ["a", "c", "e"])
def test_a_benchmark_that_one_side_does_not_have_is_broken_there(side: str, gone: str) -> None:
    world = World({name: Program(absent=(side,) if name == gone else ()) for name in "abcde"})
    measured = run(world)
    assert [(one.id, one.side, one.error) for one in measured.broken] == [
        (gone, side, "this side has no such benchmark")
    ]
    assert len(measured.results) == 4


def test_a_side_without_any_benchmark_breaks_all_of_them() -> None:
    measured = run(World({name: Program(absent=("base",)) for name in "abc"}))
    assert {(one.id, one.side) for one in measured.broken} == {(name, "base") for name in "abc"}


def test_sides_that_have_nothing_in_common_break_each_others_benchmarks() -> None:
    world = World({"a": Program(absent=("base",)), "b": Program(absent=("head",))})
    assert {(one.id, one.side) for one in run(world).broken} == {("a", "base"), ("b", "head")}


def test_a_script_with_an_order_of_its_own_is_still_measured() -> None:
    world = World({name: Program() for name in "abc"})
    world.own_order = ("c", "a", "b")
    assert words(run(world)) == dict.fromkeys("abc", Word.SAME)


def test_a_benchmark_whose_suite_is_not_there_is_broken() -> None:
    stranger = Bench(id="x", adapter=Adapter.PYTEST, root="", file="t.py", kind=Kind.TIME)
    measured = run(World({"x": Program()}), benches=[stranger])
    assert [(one.id, one.side, one.error) for one in measured.broken] == [
        ("x", "both", "its suite is not there")
    ]


def test_a_slow_down_that_fails_when_measured_again_has_no_answer() -> None:
    world = World({"bad": Program(change=0.1, fails={"head": "turn"}, from_process=7)})
    measured = run(world)
    assert measured.results == ()
    assert [(one.id, one.side) for one in measured.broken] == [("bad", "head")]


def test_nothing_to_measure_gives_nothing() -> None:
    world = World({})
    measured = run(world)
    assert (measured.results, measured.broken, measured.unmeasured) == ((), (), ())
    assert (measured.stopped, measured.wall_over_cpu, measured.pair_sd) == ("", None, None)


# --- what is told ------------------------------------------------------------------------------------------------------


def test_what_both_sides_loaded_is_told_once_after_the_first_pair() -> None:
    world = World({"a": Program(), "b": Program()})
    run(world)
    proved = [event for event in world.events if isinstance(event, Proved)]
    assert [
        ([one.blob for one in event.base], [one.blob for one in event.head]) for event in proved
    ] == [(["base"], ["head"])]
    first = next(number for number, one in enumerate(world.events) if isinstance(one, Paired))
    assert world.events.index(proved[0]) < first


def test_what_a_listener_raises_ends_it_and_every_worker() -> None:
    world = World({"a": Program()})
    world.refuses = lambda event: isinstance(event, Proved)
    with pytest.raises(RefusedError):
        run(world)
    assert (world.open, len(world.jobs)) == (0, 2)


def test_each_pair_and_each_decision_is_told() -> None:
    world = World({"a": Program(change=0.05)})
    run(world)
    paired = [event for event in world.events if isinstance(event, Paired)]
    assert [[one.pairs for one in event.live] for event in paired[:7]] == [
        *([number] for number in range(1, 7)),
        [],
    ]
    decided = [event for event in world.events if isinstance(event, Decided)]
    assert [(event.stage, event.result.word, event.result.confirmed) for event in decided] == [
        (Stage.FIRST, Word.SLOWER, False),
        (Stage.AGAIN, Word.SLOWER, False),
    ]
    assert [event.ids for event in world.events if isinstance(event, Again)] == [("a",)]


def test_what_is_live_is_never_told_as_the_same() -> None:
    world = World({"a": Program(sd=0.0)})
    run(world)
    live = [one.word for event in world.events if isinstance(event, Paired) for one in event.live]
    assert set(live) == {Word.UNSURE}


def test_what_breaks_and_what_cannot_be_pinned_is_told_once() -> None:
    world = World({"bad": Program(fails={"head": "turn"}), "a": Program()})
    run(world)
    assert [event.broken.id for event in world.events if isinstance(event, Failed)] == ["bad"]
    assert [(event.side, event.text) for event in world.events if isinstance(event, Noted)] == [
        ("head", "could not be pinned to one core")
    ]


def test_nothing_is_said_of_a_core_that_was_not_asked_for() -> None:
    world = World({"a": Program()})
    run(world, core=None)
    assert [event for event in world.events if isinstance(event, Noted)] == []
    assert world.jobs[0][1]["core"] is None


def test_a_worker_is_told_all_that_it_needs() -> None:
    world = World({"a": Program()})
    run(world)
    assert {tuple(sorted(job)) for _, job, _ in world.jobs} == {
        ("core", "ids", "mode", "scratch", "suite", "timeout", "watch")
    }
    assert world.jobs[1][1]["scratch"] == "/scratch/head"
    assert world.jobs[0][1] == {
        "mode": "run",
        "suite": builtins_of(SUITE),
        "ids": ["a"],
        "core": 1,
        "timeout": 60.0,
        "watch": ["pkg"],
        "scratch": "/scratch/base",
    }
