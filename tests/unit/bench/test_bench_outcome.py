"""What a comparison means for the run (facts/bench.md, traps 5, 6, 13, 14, 16)."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from presubmit.bench.outcome import in_words, judge_comparison
from presubmit.bench.values import (
    Adapter,
    Bench,
    Broken,
    Clock,
    Comparison,
    Interval,
    Machine,
    Measured,
    Result,
    Settings,
    SideFacts,
    Word,
)
from presubmit.values import Outcome


def result(name: str, word: Word, ratio: float, *, confirmed: bool = False, **more: Any) -> Result:
    return Result(
        bench=Bench(id=name, adapter=Adapter.ASV, root="benchmarks", file="benchmarks/ops.py"),
        word=word,
        clock=Clock.CPU,
        base=1e-6,
        head=1e-6 * ratio,
        interval=Interval(ratio=ratio, low=ratio - 0.01, high=ratio + 0.01, level=0.9842),
        confirmed=confirmed,
        **more,
    )


def comparison(*results: Result, broken: tuple[Broken, ...] = (), **more: Any) -> Comparison:
    measured = Measured(
        results=results,
        broken=broken,
        unmeasured=more.pop("unmeasured", ()),
        stopped=more.pop("stopped", ""),
    )
    facts: dict[str, Any] = {
        "base": SideFacts(commit="b" * 40),
        "head": SideFacts(commit="h" * 40),
        "machine": Machine(),
        "settings": Settings(),
        "considered": len(results) + len(broken),
        "new": tuple(it.id for it in broken if it.side == "base"),
        "measured": measured,
    }
    return Comparison(**{**facts, **more})


SLOWER = result("ops.slow", Word.SLOWER, 1.08, confirmed=True)


def test_a_confirmed_slow_down_of_five_per_cent_fails() -> None:
    end = judge_comparison(comparison(SLOWER))
    assert end.outcome is Outcome.FAILED
    assert [it.subject for it in end.findings] == ["ops.slow"]
    assert "+8.0%" in end.findings[0].message


@pytest.mark.parametrize(
    "other",
    [
        result("ops.small", Word.SLOWER, 1.03, confirmed=True),
        result("ops.once", Word.SLOWER, 1.5),
        result("ops.gain", Word.FASTER, 0.5),
        result("ops.unsure", Word.UNSURE, 1.2),
        result("ops.same", Word.SAME, 1.0),
    ],
)
def test_nothing_else_that_was_measured_fails(other: Result) -> None:
    end = judge_comparison(comparison(other))
    assert end.outcome is Outcome.PASSED
    assert not end.findings
    assert not end.cut


def test_the_threshold_is_the_settings_own() -> None:
    small = result("ops.small", Word.SLOWER, 1.03, confirmed=True)
    strict = comparison(small, settings=Settings(fail_above=0.02))
    assert judge_comparison(strict).outcome is Outcome.FAILED


def test_a_benchmark_that_fails_on_head_alone_fails_the_run() -> None:
    broken = Broken(id="ops.time_x", side="head", error="Traceback\nTypeError: no")
    end = judge_comparison(comparison(result("a", Word.SAME, 1.0), broken=(broken,)))
    assert end.outcome is Outcome.FAILED
    assert end.findings[0].message == "fails on head only: TypeError: no"


def test_a_benchmark_that_fails_on_both_sides_is_no_news() -> None:
    broken = Broken(id="ops.time_x", side="both", error="ImportError: no")
    end = judge_comparison(comparison(result("a", Word.SAME, 1.0), broken=(broken,)))
    assert end.outcome is Outcome.PASSED
    assert "1 failed" in end.reason


def test_a_benchmark_that_only_head_has_is_new_and_no_failure() -> None:
    broken = Broken(id="ops.time_new", side="base", error="AttributeError: new_function")
    end = judge_comparison(comparison(broken=(broken,)))
    assert end.outcome is Outcome.PASSED
    assert not end.cut
    assert end.reason == "1 new"


def test_nothing_measured_though_something_was_chosen_is_never_a_pass() -> None:
    broken = Broken(id="ops.time_x", side="both", error="ImportError: no")
    end = judge_comparison(comparison(broken=(broken,)))
    assert end.cut == "nothing was measured: ops.time_x fails on both: ImportError: no"
    late = comparison(unmeasured=("ops.a", "ops.b"), stopped="budget")
    assert judge_comparison(late).cut == "nothing was measured: budget"


def test_a_budget_that_reached_only_some_leaves_the_step_incomplete() -> None:
    some = comparison(result("a", Word.SAME, 1.0), unmeasured=("b",), stopped="budget")
    assert judge_comparison(some).cut == "1 benchmark not measured: budget"


def test_nothing_that_runs_the_change_is_a_pass() -> None:
    end = judge_comparison(comparison(considered=41))
    assert end.outcome is Outcome.PASSED
    assert not end.cut
    assert end.reason == "none runs what changed"


def test_unsure_is_incomplete_where_that_is_asked_for() -> None:
    unsure = comparison(result("a", Word.UNSURE, 1.02))
    assert judge_comparison(unsure, strict=True).cut == "1 benchmark unsure"


def test_the_same_build_on_both_sides_is_an_error_and_not_same() -> None:
    end = judge_comparison(comparison(result("a", Word.SAME, 1.0), same_build=True))
    assert end.outcome is Outcome.ERROR
    assert "very same files" in end.reason


def test_the_base_against_itself_counts_false_alarms_and_never_fails() -> None:
    alarm = result("b", Word.SLOWER, 1.2, confirmed=True)
    own = comparison(result("a", Word.SAME, 1.0), alarm, self_test=True)
    end = judge_comparison(own)
    assert end.outcome is Outcome.PASSED
    assert end.reason == "1 false alarm of 2 (base against itself)"


def test_words_are_counted_in_the_order_of_their_weight() -> None:
    found = comparison(
        result("a", Word.SAME, 1.0), SLOWER, result("c", Word.UNSURE, 1.0), unmeasured=("d",)
    )
    assert in_words(found) == "1 slower, 1 same, 1 unsure, 1 not measured"


def test_a_comparison_survives_its_file() -> None:
    before = comparison(SLOWER, broken=(Broken(id="x", side="both", error="no"),))
    assert msgspec.json.decode(msgspec.json.encode(before), type=Comparison) == before
