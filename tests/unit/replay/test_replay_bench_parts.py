"""To which suite a benchmark belongs, and what of it is not profiled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from presubmit.bench.values import Adapter, Bench, Clock, Interval, Result, Word
from presubmit.replay.bench_counts import suite_of
from presubmit.replay.bench_profile import take_profile
from presubmit.values import Suite

if TYPE_CHECKING:
    from pathlib import Path


def result(adapter: Adapter, root: str, file: str) -> Result:
    return Result(
        bench=Bench(id="x", adapter=adapter, root=root, file=file),
        word=Word.SAME,
        clock=Clock.CPU,
        base=1.0,
        head=1.0,
        interval=Interval(ratio=1.0, low=0.9, high=1.1, level=0.98),
    )


SUITES = (
    Suite(adapter=Adapter.ASV, root="b", files=("b/one.py",), origin="asv.conf.json"),
    Suite(adapter=Adapter.ASV, root="b", files=("b/two.py",), origin="asv.conf.json"),
    Suite(adapter=Adapter.COMMAND, root="go", files=(), origin="config bench.command"),
)


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        (result(Adapter.ASV, "b", "b/two.py"), 1),
        (result(Adapter.ASV, "b", "b/base_class.py"), 0),
        (result(Adapter.COMMAND, "go", ""), 2),
    ],
)
def test_a_benchmark_is_of_the_suite_with_its_file_and_a_command_of_its_name(
    found: Result, wanted: int
) -> None:
    assert suite_of(found, SUITES) is SUITES[wanted]


def test_a_command_is_not_profiled_and_that_is_said(tmp_path: Path) -> None:
    def open_side(name: str, under: tuple[str, ...]) -> Any:
        raise AssertionError((name, under))

    profile = take_profile(result(Adapter.COMMAND, "go", ""), SUITES[2], {}, open_side, tmp_path)
    assert profile.problems == ("no profile: a command runs in processes of its own",)
    assert not profile.files
