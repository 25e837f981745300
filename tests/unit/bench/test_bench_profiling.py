"""Sampled stacks: whose they are, and what moved between base and head."""

from __future__ import annotations

import pytest

from presubmit.bench.profiling import moved, shares
from presubmit.bench.values import Moved

WORKER = "<module> (<string>:1);obey (presubmit_bench/serve.py:28);turn (presubmit_bench/serve.py:71);Calls.run (presubmit_bench/work.py:53)"


def test_shares_count_what_a_function_calls_and_each_function_once_a_stack() -> None:
    folded = (
        f"{WORKER};time_add (bench/ops.py:3);add (pkg/ops.py:5) 60\n"
        f"{WORKER};time_add (bench/ops.py:3);add (pkg/ops.py:9);add (pkg/ops.py:5) 20\n"
        f"{WORKER};time_add (bench/ops.py:4) 20\n"
    )
    assert shares(folded) == {
        "time_add (bench/ops.py)": 1.0,
        "add (pkg/ops.py)": pytest.approx(0.8),
    }


def test_imports_set_up_and_the_worker_itself_are_no_part() -> None:
    folded = (
        "<module> (<string>:1);run (presubmit_bench/asv.py:23);<module> (pkg/ops.py:1) 500\n"
        f"{WORKER} 50\n"
        "not a stack\n"
        f"{WORKER};time_add (bench/ops.py:4) 1\n"
    )
    assert shares(folded) == {"time_add (bench/ops.py)": 1.0}
    assert shares("") == {}


def test_what_moved_most_comes_first_and_less_than_a_hundredth_is_nothing() -> None:
    base = {"a": 0.5, "b": 0.300, "gone": 0.2}
    head = {"a": 0.45, "b": 0.305, "new": 0.4}
    assert moved(base, head) == (
        Moved(function="new", base=0.0, head=0.4),
        Moved(function="gone", base=0.2, head=0.0),
        Moved(function="a", base=0.5, head=0.45),
    )
    assert moved(base, base) == ()
