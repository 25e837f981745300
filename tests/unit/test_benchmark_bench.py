"""The trial of `bench` against other tools: what it reads of them, its order, its table and its bars."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.bench.run import PERCENTS, schedule
from benchmarks.bench.table import bars, interval, render, tally
from benchmarks.bench.tools import (
    TOOLS,
    ToolError,
    read_asv,
    read_hyperfine,
    read_presubmit,
    read_pyperf,
    read_pytest_benchmark,
)
from benchmarks.bench.work import BENCHMARKS, module_text

ASV = """\
| Change   | Before [1a2b] <main>   | After [3c4d] <slower-5>   |   Ratio | Benchmark (Parameter)   |
|----------|------------------------|---------------------------|---------|-------------------------|
| +        | 315±2μs                | 341±5μs                   |    1.08 | bench_work.time_allocate |
|          | 590±2μs                | 600±5μs                   |    1.02 | bench_work.time_native  |
| -        | 690±2μs                | 600±5μs                   |    0.87 | bench_work.time_python  |
"""
PYTEST = """\
test_python (0001_base)     421.58
test_python (NOW)           740.41
test_native (NOW)           595.70
test_allocate (NOW)         589.77
Performance has regressed:
\ttest_python (0001_base) - Field 'mean' has failed PercentageRegressionCheck: 75.6 > 5.0
"""
PYPERF = """\
python
======

Mean +- std dev: [main] 643 us +- 9 us -> [slower-5] 700 us +- 12 us: 1.09x slower
Significant (t=-24.63)

native
======

Mean +- std dev: [main] 590 us +- 3 us -> [slower-5] 592 us +- 4 us: 1.00x slower
Not significant!

allocate
========

Mean +- std dev: [main] 340 us +- 3 us -> [slower-5] 320 us +- 4 us: 1.06x faster
Significant (t=24.63)
"""


def test_only_a_plus_of_asv_is_slower() -> None:
    assert read_asv(ASV) == {"python": False, "native": False, "allocate": True}


def test_a_tool_that_says_nothing_of_a_benchmark_did_not_compare_it() -> None:
    with pytest.raises(ToolError, match="native"):
        read_asv(ASV.replace("time_native", "native"))
    with pytest.raises(ToolError, match="not compared"):
        read_presubmit({"measured": {"results": []}})


def test_a_run_that_broke_is_not_taken_for_a_quiet_one() -> None:
    with pytest.raises(ToolError, match="native"):
        read_pytest_benchmark(PYTEST.replace("test_native (NOW)", "native"))
    with pytest.raises(ToolError, match="native"):
        read_pyperf(PYPERF.replace("native\n======", "other\n====="))


def test_pytest_benchmark_names_what_regressed() -> None:
    assert read_pytest_benchmark(PYTEST) == {"python": True, "native": False, "allocate": False}


def test_pyperf_is_slower_where_it_is_significant_and_slower() -> None:
    assert read_pyperf(PYPERF) == {"python": True, "native": False, "allocate": False}


@pytest.mark.parametrize(
    ("base", "head", "slower"),
    [
        ((1.0, 0.01), (1.1, 0.01), True),
        ((1.0, 0.1), (1.1, 0.1), False),
        ((1.1, 0.0), (1.0, 0.0), False),
    ],
)
def test_hyperfine_is_slower_beyond_its_spread(
    base: tuple[float, float], head: tuple[float, float], slower: bool
) -> None:
    told = {"results": [{"mean": mean, "stddev": spread} for mean, spread in (base, head)]}
    assert read_hyperfine(told) is slower


def test_presubmit_is_slower_only_when_it_was_so_twice() -> None:
    results = [
        {"bench": {"id": "bench_work.time_python"}, "word": "slower", "confirmed": True},
        {"bench": {"id": "bench_work.time_native"}, "word": "unsure", "confirmed": False},
        {"bench": {"id": "bench_work.time_allocate"}, "word": "same", "confirmed": False},
    ]
    found = read_presubmit({"measured": {"results": results}})
    assert found == {"python": True, "native": False, "allocate": False}


def test_the_plan_has_the_comparisons_that_the_bar_asks_for() -> None:
    planned = schedule([*TOOLS], 14)
    assert planned == schedule([*TOOLS], 14)
    assert len(planned) == len(set(planned))
    count = len(BENCHMARKS)
    for tool in TOOLS:
        least = 15 if tool in {"pyperf", "hyperfine"} else 42
        assert sum(count for name, percent, _ in planned if (name, percent) == (tool, 0)) >= least
        for size in PERCENTS[1:]:
            assert (
                sum(count for name, percent, _ in planned if (name, percent) == (tool, size)) >= 6
            )
    # Turn by turn: no tool has all of its trials at one end.
    half = planned[: len(planned) // 2]
    assert {tool for tool, _, _ in half} == {*TOOLS}


def test_head_does_more_of_the_same_and_in_an_a_a_trial_the_same() -> None:
    assert "range(20000)" in module_text(0)
    assert "range(21000)" in module_text(5)
    assert "range(20000 + 0)" in module_text(0, same=True)


def rows(tool: str, percent: int, slower: int, count: int, seconds: float) -> list[dict[str, Any]]:
    return [
        {
            "tool": tool,
            "percent": percent,
            "number": number,
            "seconds": seconds,
            "load": 2.0,
            "slower": {"python": number < slower},
        }
        for number in range(count)
    ]


GOOD = [
    *rows("presubmit", 0, 0, 10, 30.0),
    *rows("presubmit", 5, 5, 6, 30.0),
    *rows("asv", 0, 1, 10, 16.0),
    *rows("asv", 5, 4, 6, 16.0),
]


def test_rates_are_counted_with_intervals() -> None:
    assert tally(GOOD)["asv", 5] == (4, 6)
    assert interval(0, 42) == pytest.approx((0.0, 0.0838), abs=1e-4)
    assert interval(3, 6) == pytest.approx((0.1876, 0.8124), abs=1e-4)
    text = render(GOOD, [{"tool": "asv", "percent": 2, "number": 0, "error": "broke"}])
    assert "| presubmit | 0 of 10 [0%, 28%] | 5 of 6 [44%, 97%] | 30.0 | 1.88 |" in text
    assert "not compared: asv +2 %: broke" in text


def test_bars_are_met_or_not() -> None:
    assert all(met for _, met in bars(GOOD))
    slow = [*rows("presubmit", 0, 2, 10, 40.0), *rows("presubmit", 5, 3, 6, 30.0), *GOOD[16:]]
    assert [met for _, met in bars(slow)] == [False, False, False]
