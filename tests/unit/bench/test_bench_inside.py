"""The pieces of the worker that are plain functions: clocks, counters, calibration, proof."""

from __future__ import annotations

import importlib
import json
import math
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import presubmit.bench.inside

if TYPE_CHECKING:
    from collections.abc import Callable

sys.path.append(str(Path(presubmit.bench.inside.__file__).parent))


def inside(name: str) -> Any:
    return importlib.import_module(f"presubmit_bench.{name}")


# --- clocks ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wall", "wait", "right"), [(1.0, 0.25, 0.25), (1.0, 3.0, 1.0), (1.0, -0.5, 0.0)]
)
def test_a_wait_is_within_the_wall_time(wall: float, wait: float, right: float) -> None:
    """Trap 8: it is booked when the thread next runs, so that a short turn can have more of it than it lasted."""
    watch = inside("clocks").Watch()
    watch.add(wall, 0.5, wait)
    assert watch.wait == right
    assert watch.busy == max(wall - right, 0.0)


def test_a_wait_that_is_once_unknown_is_unknown() -> None:
    watch = inside("clocks").Watch()
    watch.add(1.0, 1.0, 0.1)
    watch.add(1.0, 1.0, None)
    assert watch.wait is None


@pytest.mark.parametrize(("cpu", "right"), [(0.9, 0.9), (0.01, 1.0)])
def test_without_a_wait_what_sleeps_is_busy_all_the_time(cpu: float, right: float) -> None:
    watch = inside("clocks").Watch(waits=False)
    watch.add(1.0, cpu, None)
    assert watch.busy == right


def test_the_cpu_time_of_nothing_is_not_more_than_its_wall_time() -> None:
    clocks = inside("clocks")
    watch = clocks.Watch(waits=False)
    for _ in range(1000):
        watch.start()
        watch.stop()
    assert watch.cpu <= watch.wall


# --- calls ----------------------------------------------------------------------------------------------------------


class Told:
    """A watch that says what was done."""

    def __init__(self, log: list[str]) -> None:
        self.log = log

    def start(self) -> None:
        self.log.append("start")

    def stop(self) -> None:
        self.log.append("stop")


def calls(log: list[str], number: int = 0) -> Any:
    def fresh() -> Callable[[], None]:
        log.append("setup")
        return lambda: log.append("call")

    return inside("work").Calls(fresh, lambda: log.append("teardown"), number)


def test_a_turn_is_set_up_once_where_the_suite_does_not_say_how_many_calls_a_sample_has() -> None:
    log: list[str] = []
    assert calls(log).run(3, Told(log)) == 3
    assert log == ["setup", "start", "call", "call", "call", "stop", "teardown"]


def test_setup_and_teardown_stand_around_every_sample_of_the_suite_and_are_not_timed() -> None:
    log: list[str] = []
    assert calls(log, number=1).run(2, Told(log)) == 2
    assert log == ["setup", "start", "call", "stop", "teardown"] * 2


def test_loops_are_rounded_up_to_whole_samples() -> None:
    log: list[str] = []
    assert calls(log, number=3).run(4, Told(log)) == 6


def test_what_fails_is_torn_down_all_the_same() -> None:
    log: list[str] = []

    def fail() -> None:
        raise KeyError

    work = inside("work").Calls(lambda: fail, lambda: log.append("teardown"))
    with pytest.raises(KeyError):
        work.run(1, Told([]))
    assert log == ["teardown"]


def test_calibrated_loops_are_a_multiple_of_the_samples_and_take_the_time() -> None:
    class Slow:
        number = 3
        fixed = True

        def __init__(self) -> None:
            self.asked: list[int] = []

        def run(self, loops: int, watch: Any) -> int:
            self.asked.append(loops)
            watch.add(loops * 1e-3, loops * 1e-3, 0.0)
            return loops

    slow = Slow()
    loops = inside("serve").calibrate(slow, 0.010)
    assert loops % 3 == 0
    assert 10 <= loops <= 15
    assert slow.asked[-1] == loops


@pytest.mark.parametrize("given", ["x", None, [], math.inf])
def test_what_is_no_number_is_no_value(given: object) -> None:
    serve = inside("serve")
    with pytest.raises((TypeError, ValueError), match="it gave"):
        serve.value(inside("work").Value(lambda: given))


def test_a_value_that_is_nan_says_that_there_is_nothing_to_say() -> None:
    with pytest.raises(inside("failure").Skipped):
        inside("serve").value(inside("work").Value(lambda: math.nan))


# --- counters -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("read", "said"),
    [
        ((2**64 - 1, 10, 10), "2^64-1"),
        ((0, 10, 10), "never ran"),
        ((5, 10, 0), "never ran"),
        ((5, 10, 6), "shared"),
    ],
)
def test_a_counter_that_counts_nothing_says_why(read: tuple[int, int, int], said: str) -> None:
    """Trap 11: a machine without a performance unit may give a number, and no error."""
    total, why = inside("counts").judge(*read)
    assert total == 0
    assert said in why


def test_a_counter_that_ran_all_the_time_counts() -> None:
    assert inside("counts").judge(5, 10, 10) == (5, "")


def test_valgrind_is_not_asked_for_more_where_it_does_not_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PRESUBMIT_BENCH_CALLGRIND", str(tmp_path / "out"))
    found = inside("serve").count(inside("work").Value(lambda: 1), 1)
    assert (found["instructions"], found["tool"]) == (None, "valgrind")
    assert found["why"]


def test_what_runs_elsewhere_is_not_counted_by_valgrind(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PRESUBMIT_BENCH_CALLGRIND", str(tmp_path / "out"))
    work = inside("work").Elsewhere(lambda _: (1.0, 1.0, None))
    assert inside("serve").count(work, 1)["why"] == "it runs in a process of its own"


# --- proof ----------------------------------------------------------------------------------------------------------


def test_the_blob_is_the_one_that_git_has(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(b"\x00text\r\n")
    command = ["git", "hash-object", "--no-filters", str(path)]
    right = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    assert inside("proof").blob_of(str(path)) == right


def test_only_watched_modules_prove_something(tmp_path: Path) -> None:
    found = inside("proof").loaded(["json"], str(Path(json.__file__).resolve().parents[1]))
    assert {it["module"] for it in found} >= {"json", "json.decoder"}
    assert {it["module"].partition(".")[0] for it in found} == {"json"}
    assert next(it["file"] for it in found if it["module"] == "json") == "json/__init__.py"


# --- numbers of commands --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "right"),
    [
        ({"a": 1, "b": "x", "c": True}, {"a": (1.0, "")}),
        ([{"name": "a", "value": 2, "unit": "ms"}], {"a": (2.0, "ms")}),
    ],
)
def test_the_numbers_of_a_command_are_named(data: object, right: object) -> None:
    assert inside("commands").numbers_of(data) == right


@pytest.mark.parametrize("data", [3, [1], {}, {"a": "x"}, []])
def test_json_without_numbers_is_an_error(data: object) -> None:
    with pytest.raises((TypeError, ValueError), match="its JSON"):
        inside("commands").numbers_of(data)


# --- what is said of a failure --------------------------------------------------------------------------------------


def test_a_failure_is_said_without_how_the_worker_came_there() -> None:
    def broken() -> None:
        raise ValueError("this one")

    work = inside("work").Calls(lambda: broken)
    with pytest.raises(ValueError, match="this one") as caught:
        work.run(1, Told([]))
    caught.value.__traceback__ = caught.value.__traceback__ and caught.value.__traceback__.tb_next
    said = inside("failure").last_lines(caught.value)
    assert said.endswith("ValueError: this one")
    assert "presubmit_bench" not in said
