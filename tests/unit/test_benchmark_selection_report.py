"""Scores, tables and bars of the selection trials."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from benchmarks.selection.answers import Answer, chosen, collected, plain_id
from benchmarks.selection.report import Bar, Cost, Score, Trial, bars, render, score, suspects
from benchmarks.selection.suite import EVERYTHING, SuiteRun, read_events
from benchmarks.store import Store

if TYPE_CHECKING:
    from pathlib import Path

STABLE = ("t/test_a.py::test_x[1-[a]]", "t/test_a.py::test_x[2]", "t/test_b.py::C::test_y")
SECONDS = {STABLE[0]: 1.0, STABLE[1]: 1.0, STABLE[2]: 2.0}


def one(
    tool: str, kind: str = "operator", *, share: float, caught: bool = True, of: str = "a"
) -> Score:
    return Score(
        tool=tool,
        project="p",
        kind=kind,
        mutant=f"{kind}:{of}",
        caught=caught,
        recall=float(caught),
        share=share,
        time_share=share,
        seconds=0.5,
    )


def judged(*scores: Score, costs: tuple[Cost, ...] = ()) -> dict[str, Bar]:
    trial = Trial(scores=scores, costs=costs, suites={"p": "1.0"})
    return {bar.name: bar for bar in bars(trial)}


def holds(found: dict[str, Bar], start: str) -> bool | None:
    (bar,) = [bar for name, bar in found.items() if start in name]
    return bar.holds


def test_an_id_without_parameters_stands_for_all_of_them() -> None:
    assert plain_id(STABLE[0]) == "t/test_a.py::test_x"
    assert chosen(Answer(ids=("t/test_a.py::test_x",)), STABLE) == set(STABLE[:2])


def test_an_id_with_parameters_stands_for_itself() -> None:
    assert chosen(Answer(ids=(STABLE[0],)), STABLE) == {STABLE[0]}


def test_a_file_stands_for_its_tests_and_everything_for_all() -> None:
    assert chosen(Answer(files=("t/test_b.py",)), STABLE) == {STABLE[2]}
    assert chosen(Answer(everything=True), STABLE) == set(STABLE)


def test_a_file_that_a_plugin_could_not_collect_counts_as_selected() -> None:
    run = SuiteRun(collected=(STABLE[2],), broken=("t/test_a.py",))

    assert chosen(collected(run), STABLE) == set(STABLE)


def test_a_collection_that_failed_as_a_whole_selects_everything() -> None:
    assert collected(SuiteRun(broken=(EVERYTHING,))).everything


def test_a_score_counts_failing_tests_shares_and_seconds() -> None:
    found = score(
        tool="x",
        project="p",
        kind="operator",
        mutant="m",
        failing=STABLE[1:],
        selected=STABLE[:2],
        seconds_of=SECONDS,
        seconds=0.1,
    )

    assert (found.caught, found.recall, found.missed) == (False, 0.5, (STABLE[2],))
    assert found.share == pytest.approx(2 / 3)
    assert found.time_share == pytest.approx(0.5)


def test_events_of_a_run_are_read_and_a_torn_line_is_passed_over() -> None:
    lines = [
        '{"event": "collected", "ids": ["a::x", "a::y"]}',
        '{"event": "broken", "id": "b.py"}',
        '{"event": "phase", "id": "a::x", "when": "call", "outcome": "passed", "seconds": 1}',
        '{"event": "phase", "id": "a::x", "when": "teardown", "outcome": "failed", "seconds": 1}',
        '{"event": "finish", "code": 1, "module": "/p.py"}',
        '{"event": "pha',
    ]

    run = SuiteRun(**read_events(lines))

    assert run.outcomes == {"a::x": "failed"}
    assert run.seconds == {"a::x": 2}
    assert run.broken == ("b.py",)


def test_tests_of_a_file_that_cannot_be_collected_fail_and_other_absent_ones_are_gone() -> None:
    run = SuiteRun(outcomes={"a.py::x": "passed"}, broken=("b.py",))
    stable = ("a.py::x", "a.py::y[1]", "b.py::z")

    assert run.failing(stable) == ("b.py::z",)
    assert run.gone(stable) == ("a.py::y[1]",)


def test_a_session_that_did_not_end_fails_every_test_that_has_no_outcome() -> None:
    run = SuiteRun(**read_events(['{"event": "broken", "id": "c.py"}']))

    assert run.failing(("a.py::x",)) == ("a.py::x",)


def test_what_was_not_measured_is_neither_met_nor_missed() -> None:
    assert {bar.holds for bar in judged().values()} == {None}


def test_one_missed_mutant_fails_the_bar_of_all_caught() -> None:
    found = judged(
        one("presubmit-static", share=0.5),
        one("presubmit-static", share=0.1, caught=False, of="b"),
    )

    assert holds(found, "without history, presubmit-static") is False


def test_a_share_above_closures_counts_only_where_closure_catches_all() -> None:
    ours = one("presubmit-static", "data", share=1.0)

    caught = judged(ours, one("closure", "data", share=0.5))
    missed = judged(ours, one("closure", "data", share=0.5, caught=False))

    assert holds(caught, "never above file closure") is False
    assert holds(missed, "never above file closure") is None


def test_the_mean_share_is_that_of_function_bodies() -> None:
    found = judged(
        one("presubmit-static", share=0.86), one("presubmit-static", "constant", share=1.0)
    )

    assert holds(found, "mean share at most") is True


@pytest.mark.parametrize(("share", "expected"), [(0.13, True), (0.14, False)])
def test_recorded_selection_may_be_three_points_wider_than_testmon(
    share: float, expected: bool
) -> None:
    found = judged(one("presubmit-recorded", share=share), one("testmon", share=0.10))

    assert holds(found, "testmon's + 3 points") is expected


def test_a_project_that_testmon_could_not_record_is_no_measure() -> None:
    costs = (Cost(tool="testmon", project="p", failed="INTERNALERROR"),)
    found = judged(one("presubmit-recorded", share=0.9), one("testmon", share=0.1), costs=costs)

    assert holds(found, "testmon's + 3 points") is None


def test_recording_may_take_twice_the_plain_run_and_must_not_fail() -> None:
    def cost(seconds: float, failed: str = "") -> tuple[Cost, ...]:
        return (
            Cost(tool="presubmit-recorded", project="p", seconds=seconds, plain=5, failed=failed),
        )

    assert holds(judged(costs=cost(10)), "recording") is True
    assert holds(judged(costs=cost(10.1)), "recording") is False
    assert holds(judged(costs=cost(1, "exit 3")), "recording") is False


def test_a_quiet_edit_must_select_nothing() -> None:
    assert (
        holds(judged(one("presubmit-static", "comment", share=0.01)), "(presubmit-static)")
        is False
    )
    assert holds(
        judged(one("presubmit-static", "comment", share=0.0)),
        "edit selects no test (presubmit-static)",
    )


def test_a_tool_that_never_selects_anything_is_suspect_and_quiet_edits_do_not_count() -> None:
    assert suspects([one("x", share=0.0), one("x", "comment", share=1.0)])
    assert not suspects([one("x", share=0.0), one("x", share=0.1, of="b")])


def test_the_tables_have_every_tool_and_say_which_were_not_run() -> None:
    trial = Trial(
        scores=(one("closure", share=0.5), one("testmon", "comment", share=0.0)),
        absent={"tia, p": "no wheel"},
        suites={"p": "1.0"},
    )

    text = render(trial, ["closure", "testmon", "tia"])

    assert "| closure | 100 / 100 / 50.0 / 50.0 / 0.5 (1) |" in text
    assert "not run: tia, p: no wheel" in text
    assert "## quiet edits" in text


def test_stored_rows_survive_a_torn_line(tmp_path: Path) -> None:
    store = Store(tmp_path / "rows")
    store.add({"type": "a", "n": 1})
    with (tmp_path / "rows").open("a") as stream:
        stream.write('{"type": "a", "n"')
    Store(tmp_path / "rows").add({"type": "a", "n": 3})

    assert [row["n"] for row in Store(tmp_path / "rows").rows("a")] == [1, 3]
