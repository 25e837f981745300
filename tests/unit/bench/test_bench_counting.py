"""Instructions a call: what is worth counting, how sides are put together, and an end in time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from presubmit.bench.counting import Count, both, count_suite, worth_counting
from presubmit.bench.deadline import Deadline, StoppedError
from presubmit.bench.values import Adapter, Bench, Clock, Counted, Interval, Kind, Result, Word
from presubmit.values import Suite

if TYPE_CHECKING:
    from collections.abc import Mapping


def result(name: str, word: Word, kind: Kind = Kind.TIME) -> Result:
    return Result(
        bench=Bench(id=name, adapter=Adapter.ASV, root="b", file="b/ops.py", kind=kind),
        word=word,
        clock=Clock.CPU,
        base=1.0,
        head=1.0,
        interval=Interval(ratio=1.0, low=0.9, high=1.1, level=0.98),
        loops=100,
    )


ALL = (
    result("slow", Word.SLOWER),
    result("open", Word.UNSURE),
    result("same", Word.SAME),
    result("size", Word.UNSURE, Kind.VALUE),
)


@pytest.mark.parametrize(
    ("asked", "names"),
    [("auto", ["slow", "open"]), ("yes", ["slow", "open", "same"]), ("no", [])],
)
def test_what_is_not_settled_is_counted_or_what_was_asked_for(
    asked: str, names: list[str]
) -> None:
    assert [it.bench.id for it in worth_counting(ALL, asked=asked)] == names


def test_a_side_without_a_count_says_why() -> None:
    assert both(Count(instructions=10.0, tool="perf"), Count(instructions=11.0, tool="perf")) == (
        Counted(base=10.0, head=11.0, tool="perf")
    )
    missing = both(Count(instructions=10.0, tool="perf"), None)
    assert (missing.base, missing.head, missing.why) == (10.0, None, "not counted")


class Silent:
    """A worker that never answers."""

    errors = ""

    def __init__(self) -> None:
        self.closed = False

    def send(self, message: Mapping[str, object]) -> None:
        """Take it."""

    def receive(self, seconds: float) -> dict[str, Any] | None:
        del seconds
        raise TimeoutError

    def close(self) -> None:
        self.closed = True


class Side:
    name = "head"

    def __init__(self, talk: Silent) -> None:
        self._talk = talk

    def start(self, job: Mapping[str, object], *, env: Mapping[str, str]) -> Silent:
        assert job["mode"] == "run"
        assert env["PYTHONHASHSEED"] == "0"
        return self._talk


def test_counting_ends_with_its_time_and_lets_go_of_the_worker() -> None:
    """A library that takes minutes to import under valgrind must not outlast the budget."""
    talk, seconds = Silent(), iter(range(1000))
    deadline = Deadline(now=lambda: float(next(seconds)), stop=lambda: False, seconds=30.0)
    suite = Suite(adapter=Adapter.ASV, root="b", files=("b/ops.py",), origin="asv.conf.json")
    with pytest.raises(StoppedError, match="budget"):
        count_suite(Side(talk), suite, ALL[:1], core=None, env={}, check=deadline.check)
    assert talk.closed
