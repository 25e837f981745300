"""The worker as a process: its line to the driver, its time limit, commands and torch's scripts."""

from __future__ import annotations

import importlib.util
import os
import shutil
from typing import TYPE_CHECKING

import pytest

from tests.integration.bench.worker_session import INSIDE, TURNS, VALUE, Tree, follow, hear, tell

if TYPE_CHECKING:
    from pathlib import Path

CORE = {
    "src/pkg/__init__.py": """\
        import threading

        def add(n):
            return sum(range(n))

        class Box:
            def fill(self):
                thread = threading.Thread(target=lift)
                thread.start()
                thread.join()

        def lift():
            return 1
        """
}


def command(tmp_path: Path, *run: str, json: str = "") -> Tree:
    return Tree(
        tmp_path, {"adapter": "command", "root": "job", "command": list(run), "json": json}
    )


# --- commands -------------------------------------------------------------------------------------------------------


def test_a_command_is_timed_with_what_it_starts(tmp_path: Path) -> None:
    tree = command(tmp_path, "sh", "-c", "python3 -c 'sum(range(3 * 10**6))'")
    assert tree.list().ids("bench") == ["job"]
    heard = tree.run(["job"], [{"do": "calibrate", "seconds": 0.001}, {"do": "turn", "loops": 1}])
    assert (heard.one("loops")["loops"], heard.one("loops")["fixed"]) == (1, True)
    turn = heard.one("turn")
    assert turn["wait"] is None
    assert turn["cpu"] > 0.01


def test_a_command_that_fails_is_said_with_its_last_words(tmp_path: Path) -> None:
    failed = command(tmp_path, "sh", "-c", "echo alas; exit 3").run(["job"], TURNS).one("failed")
    assert "exit code 3" in failed["error"]
    assert "alas" in failed["error"]


def test_the_numbers_of_a_command_come_from_one_run_of_it(tmp_path: Path) -> None:
    script = 'echo x >> log; echo "{\\"a\\": 3, \\"b\\": 2.5}" > out.json'
    tree = command(tmp_path, "sh", "-c", script, json="out.json")
    assert tree.list().ids("bench") == ["job::a", "job::b"]
    heard = tree.run(["job::b", "job::a", "job::c"], VALUE)
    assert [it["value"] for it in heard.of("value")] == [2.5, 3.0]
    assert heard.ids("failed") == ["job::c"]
    assert (tmp_path / "log").read_text() == "x\n" * 2


def test_numbers_of_an_earlier_run_are_not_taken(tmp_path: Path) -> None:
    (tmp_path / "out.json").write_text('{"a": 1}')
    assert command(tmp_path, "true", json="out.json").list().ids("broken") == ["x"]


# --- the line -------------------------------------------------------------------------------------------------------


def test_what_a_benchmark_prints_and_reads_is_not_the_line(tmp_path: Path) -> None:
    tree = Tree(tmp_path, {"adapter": "pytest", "root": ".", "files": ["test_a.py"]})
    tree.write(
        {
            "test_a.py": """\
                import os, sys
                def test_x(benchmark):
                    print("loud")
                    os.write(1, b"louder")
                    assert sys.stdin.read() == ""
                    benchmark(len, "")
                """
        }
    )
    heard = tree.run(["test_a.py::test_x"], TURNS)
    assert [it["say"] for it in heard.said] == ["hello", "at", "warm", "loops", "turn", "end"]
    assert "louder" in heard.errors


def test_the_worker_ends_with_its_driver(tmp_path: Path) -> None:
    process = command(tmp_path, "true").start({"mode": "run", "ids": ["job"]})
    while (message := hear(process)) and message["say"] != "at":
        pass
    process.communicate(timeout=30)
    assert process.returncode == 0


def test_a_turn_that_takes_too_long_ends_the_worker_with_a_traceback(tmp_path: Path) -> None:
    tree = Tree(tmp_path, {"adapter": "pytest", "root": ".", "files": ["test_a.py"]})
    tree.write({"test_a.py": "import time\ndef test_x(benchmark): benchmark(time.sleep, 30)\n"})
    heard = tree.run(["test_a.py::test_x"], TURNS, timeout=1.0)
    assert [it["say"] for it in heard.said] == ["hello", "at"]
    assert heard.code != 0
    assert "Timeout" in heard.errors


def test_the_time_that_a_side_waits_for_its_turn_does_not_count(tmp_path: Path) -> None:
    process = command(tmp_path, "true").start({"mode": "run", "ids": ["job"], "timeout": 0.2})
    while (message := hear(process)) and message["say"] != "at":
        pass
    with pytest.raises(Exception, match="timed out"):
        process.wait(timeout=0.6)
    tell(process, {"do": "next"})
    assert follow(process, ()).ids("failed") == []


def test_the_core_is_taken_where_there_is_one(tmp_path: Path) -> None:
    core = min(os.sched_getaffinity(0))
    tree = command(tmp_path, "true")
    assert tree.run([], (), core=core).one("hello")["pinned"] is True
    assert tree.run([], (), core=4095).one("hello")["pinned"] is False


def test_a_suite_that_cannot_be_served_is_broken_and_its_benchmarks_fail(tmp_path: Path) -> None:
    tree = Tree(tmp_path, {"adapter": "torch", "root": ".", "files": ["a.py"]})
    if importlib.util.find_spec("torch"):
        pytest.skip("torch is here")
    assert tree.list().ids("broken") == ["x"]
    failed = tree.run(["a.py::b threads=1"], TURNS).one("failed")
    assert "No module named 'torch'" in failed["error"]
    assert failed["absent"] is False


# --- torch ----------------------------------------------------------------------------------------------------------

TORCH = {
    "src/torch/__init__.py": """\
        threads = [8]
        def get_num_threads(): return threads[-1]
        def set_num_threads(n): threads.append(n)
        """,
    "src/torch/utils/__init__.py": "",
    "src/torch/utils/benchmark/__init__.py": "from torch.utils.benchmark.utils.timer import Timer",
    "src/torch/utils/benchmark/utils/__init__.py": "",
    "src/torch/utils/benchmark/utils/common.py": """\
        import dataclasses
        @dataclasses.dataclass(frozen=True)
        class TaskSpec:
            stmt: str
            setup: str
            label: str = None
            sub_label: str = None
            description: str = None
            env: str = None
            num_threads: int = 1
        @dataclasses.dataclass
        class Measurement:
            number_per_run: int
            raw_times: list
            task_spec: TaskSpec
            @property
            def median(self):
                times = sorted(it / self.number_per_run for it in self.raw_times)
                return times[len(times) // 2]
        """,
    "src/torch/utils/benchmark/utils/timer.py": """\
        import timeit
        from torch.utils.benchmark.utils.common import TaskSpec
        class Timer:
            def __init__(self, stmt="pass", setup="pass", globals=None, num_threads=1, **labels):
                self._timer = timeit.Timer(stmt, setup, globals=globals)
                self._task_spec = TaskSpec(stmt, setup, num_threads=num_threads, **labels)
            def timeit(self, number=1000000): raise SystemError("not patched")
            blocked_autorange = adaptive_autorange = collect_callgrind = timeit
        """,
}
SCRIPT = """\
    import sys, time
    from torch.utils.benchmark import Timer
    import torch
    def main(argv):
        found = []
        for n in (10, 20):
            timer = Timer("sum(range(n))", globals={"n": n}, label="sum", sub_label=str(n), description="plain")
            found.append(timer.blocked_autorange(min_run_time=1))
        found.append(Timer("f()", "from __main__ import slow; slow()", globals={"f": threads}, num_threads=3).timeit(5))
        found.append(Timer("f()", globals={"f": threads}, num_threads=3).adaptive_autorange(0.1, max_run_time=1))
        found.append(Timer("nothing").timeit(1))
        print(argv, [it.median > 0 for it in found], torch.threads[-1])
        Timer("pass", label="late").collect_callgrind()
    def slow(): time.sleep(0.02)
    def threads(): assert torch.get_num_threads() == 3
    if __name__ == "__main__":
        main(sys.argv[1:])
    """
IDS = [
    "b/a.py::sum/10/plain threads=1",
    "b/a.py::sum/20/plain threads=1",
    "b/a.py::f() threads=3",
    "b/a.py::f() threads=3 #2",
    "b/a.py::nothing threads=1",
]


@pytest.fixture
def script(tmp_path: Path) -> Tree:
    tree = Tree(tmp_path, {"adapter": "torch", "root": "b", "files": ["b/a.py"]})
    tree.write({**TORCH, "b/a.py": SCRIPT})
    return tree


def test_the_timers_of_a_script_are_named_without_being_run(script: Tree) -> None:
    heard = script.list()
    assert heard.ids("bench") == IDS
    assert "[] [True, True, True, True, True] 8" in heard.errors


def test_a_callgrind_of_torch_is_refused_with_a_word(script: Tree) -> None:
    broken = script.list().one("broken")
    assert broken["id"] == "b/a.py"
    assert "collect_callgrind is not run" in broken["error"]


def test_the_wanted_timers_obey_and_the_others_pass(script: Tree) -> None:
    heard = script.run(IDS[1:4], TURNS)
    assert heard.ids("at") == IDS[1:4]
    assert len(heard.of("turn")) == 3
    assert heard.ids("failed") == []
    assert "[] [True, True, True, True, True] 8" in heard.errors


def test_the_setup_of_a_timer_is_not_timed(script: Tree) -> None:
    assert script.run([IDS[2]], TURNS).one("turn")["cpu"] < 0.001
    assert script.run([IDS[2]], TURNS).one("turn")["wall"] < 0.02 / 3


def test_a_statement_that_fails_does_not_end_the_script(script: Tree) -> None:
    heard = script.run([IDS[4], "b/a.py::gone threads=1"], TURNS)
    assert "NameError" in heard.one("failed", IDS[4])["error"]
    assert "the script ended" in heard.one("failed", "b/a.py::gone threads=1")["error"]


# --- counts ---------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")
def test_under_valgrind_instructions_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = Tree(tmp_path, {"adapter": "torch", "root": ".", "files": ["a.py"]})
    source = """\
        from torch.utils.benchmark import Timer
        for n in (1000, 2000):
            Timer("for _ in r: pass", globals={"r": [None] * n}, label=str(n)).timeit()
        """
    tree.write({**TORCH, "a.py": source})
    out = tmp_path / "out"
    monkeypatch.setenv("PRESUBMIT_BENCH_CALLGRIND", str(out))
    monkeypatch.setenv("PYTHONHASHSEED", "0")
    options = ["--instr-atstart=no", "--collect-atstart=no", f"--callgrind-out-file={out}.%p"]
    tree.python = ["valgrind", "-q", "--tool=callgrind", *options, *tree.python]
    orders = [{"do": "warm", "calls": 2}, {"do": "count", "loops": 10}]
    heard = tree.run(["a.py::1000 threads=1", "a.py::2000 threads=1"], orders, timeout=0.0)
    assert heard.ids("failed") == [], heard.of("failed")
    one, two = (it["instructions"] for it in heard.of("count"))
    assert 1.9 < two / one < 2.1
    assert {it["tool"] for it in heard.of("count")} == {"valgrind"}


def test_the_worker_imports_nothing_but_the_standard_library_and_the_suites_tools() -> None:
    allowed = {"asv_runner", "pytest", "presubmit_bench", "torch"}
    lines = [
        line.split()[1].partition(".")[0]
        for path in INSIDE.glob("presubmit_bench/*.py")
        for line in path.read_text().splitlines()
        if line.lstrip().startswith(("import ", "from "))
        and not line.lstrip().startswith(("from timeit", "from presubmit_bench"))
    ]
    assert {it for it in lines if importlib.util.find_spec(it) is None} <= allowed
