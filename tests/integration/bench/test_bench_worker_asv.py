"""asv's suites under the worker, with the real asv_runner."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.integration.bench.test_bench_worker import CORE
from tests.integration.bench.worker_session import TURNS, VALUE, Tree

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.network


@pytest.fixture(scope="session")
def asv_runner(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that asv_runner was installed into."""
    folder = tmp_path_factory.mktemp("asv_runner")
    command = [sys.executable, "-m", "pip", "install", "-q", "--target", str(folder)]
    subprocess.run([*command, "asv_runner>=0.2,<0.4"], check=True, capture_output=True)
    return folder


@pytest.fixture
def make(tmp_path: Path, asv_runner: Path) -> Callable[[str], Tree]:
    def made(source: str) -> Tree:
        tree = Tree(tmp_path, {"adapter": "asv", "root": "benchmarks"}, [asv_runner])
        tree.write({**CORE, "benchmarks/__init__.py": "", "benchmarks/ops.py": source})
        return tree

    return made


KINDS = """\
    def time_plain(): pass
    def track_size(): return 42
    track_size.unit = "things"
    def peakmem_list(): return [0] * 10
    def timeraw_json(): return "json.dumps([1] * 100)", "import json"
    class Suite:
        params = [[1, 2], ["a", "b"]]
        def setup(self, n, s):
            if (n, s) == (1, "b"): raise NotImplementedError
        def time_sort(self, n, s): sorted([n])
    def helper_time(): pass
    time_plain.benchmark_name = "own.time_name"
    """


def test_all_kinds_are_listed_with_their_parameters_and_units(make: Callable[[str], Tree]) -> None:
    heard = make(KINDS).list()
    assert [(it["id"], it["kind"], it["unit"]) for it in heard.of("bench")] == [
        ("own.time_name", "time", "seconds"),
        ("ops.track_size", "value", "things"),
        ("ops.peakmem_list", "value", "bytes"),
        ("ops.timeraw_json", "time", "seconds"),
        ("ops.Suite.time_sort[1, 'a']", "time", "seconds"),
        ("ops.Suite.time_sort[1, 'b']", "time", "seconds"),
        ("ops.Suite.time_sort[2, 'a']", "time", "seconds"),
        ("ops.Suite.time_sort[2, 'b']", "time", "seconds"),
    ]
    assert {it["file"] for it in heard.of("bench")} == {"benchmarks/ops.py"}


def test_all_times_are_taken_in_the_given_order_and_skipped_parameters_are_said(
    make: Callable[[str], Tree],
) -> None:
    ids = [
        "ops.Suite.time_sort[2, 'b']",
        "ops.Suite.time_sort[1, 'b']",
        "ops.timeraw_json",
        "own.time_name",
    ]
    heard = make(KINDS).run(ids, TURNS)
    assert heard.ids("at") == [ids[0], *ids[2:]]
    assert heard.ids("skipped") == [ids[1]]
    assert [it["fixed"] for it in heard.of("loops")] == [False, True, False]
    assert heard.ids("failed") == []


def test_values_are_given(make: Callable[[str], Tree]) -> None:
    heard = make(KINDS).run(["ops.track_size", "ops.peakmem_list"], VALUE)
    track, peak = (it["value"] for it in heard.of("value"))
    assert track == 42
    assert peak > 1e6


def test_a_peak_is_not_that_of_another_benchmark(make: Callable[[str], Tree]) -> None:
    source = """\
        def track_big(): return len(bytes(300_000_000))
        def peakmem_small(): pass
        """
    heard = make(source).run(["ops.track_big", "ops.peakmem_small"], VALUE)
    assert heard.of("value")[1]["value"] < 200e6


def test_a_nan_is_skipped_and_what_is_no_number_fails(make: Callable[[str], Tree]) -> None:
    source = """\
        def track_nan(): return float("nan")
        def track_text(): return "fast"
        """
    heard = make(source).run(["ops.track_nan", "ops.track_text"], VALUE)
    assert heard.ids("skipped") == ["ops.track_nan"]
    assert "no number" in heard.one("failed", "ops.track_text")["error"]


def test_a_broken_file_and_a_broken_class_hide_nothing(make: Callable[[str], Tree]) -> None:
    tree = make("""\
        class Wrong:
            def __init__(self): raise RuntimeError("cannot be made")
            def time_x(self): pass
        def time_fine(): pass
        def time_bad(): raise ValueError("no")
        """)
    tree.write({"benchmarks/broken.py": "import nothing_here"})
    listed = tree.list()
    assert listed.ids("bench") == ["ops.time_fine", "ops.time_bad"]
    assert listed.ids("broken") == ["benchmarks/broken.py", "ops.Wrong.time_x"]
    ids = ["ops.time_bad", "broken.time_x", "ops.Wrong.time_x", "ops.gone", "ops.time_fine"]
    heard = tree.run(ids, TURNS)
    assert [(it["id"], it["absent"]) for it in heard.of("failed")] == [
        ("ops.time_bad", False),
        ("broken.time_x", False),
        ("ops.Wrong.time_x", False),
        ("ops.gone", True),
    ]
    assert len(heard.of("turn")) == 1


def test_number_says_how_many_calls_one_setup_has(make: Callable[[str], Tree]) -> None:
    source = """\
        class Suite:
            number = 1
            def setup(self): self.items = [1]
            def teardown(self): self.items = None
            def time_pop(self): self.items.pop()
        """
    heard = make(source).run(["ops.Suite.time_pop"], TURNS)
    assert heard.ids("failed") == []
    assert heard.one("loops")["fixed"] is True


def test_setup_runs_before_every_turn(make: Callable[[str], Tree]) -> None:
    source = """\
        class Suite:
            def setup(self): self.left = 3
            def time_use(self):
                self.left -= 1
                assert self.left >= 0
        """
    turns = [{"do": "turn", "loops": 3}] * 3
    assert make(source).run(["ops.Suite.time_use"], turns).ids("failed") == []


CACHED = """\
    class Suite:
        def setup_cache(self):
            open("left.txt", "a").write("x")
            return {"n": [1]}
        def setup(self, cache):
            assert cache == {"n": [1]}
        def time_a(self, cache): cache["n"] = open("left.txt").read()
        def time_b(self, cache): assert open("left.txt").read() == "x"
    """


def test_a_cache_is_made_once_and_each_benchmark_has_its_own_copy(
    make: Callable[[str], Tree], tmp_path: Path
) -> None:
    tree = make(CACHED)
    for _ in range(2):
        ids = ["ops.Suite.time_a", "ops.Suite.time_b"]
        heard = tree.run(ids, [{"do": "turn", "loops": 1}], scratch=str(tmp_path / "scratch"))
        assert heard.ids("failed") == []
        assert heard.ids("at") == ids


def test_a_benchmark_does_not_run_in_the_checkout(make: Callable[[str], Tree]) -> None:
    source = "import os\ndef track_files(): return len(os.listdir('.'))"
    assert make(source).run(["ops.track_files"], VALUE).one("value")["value"] == 0


def test_the_attribute_timeout_ends_a_turn(make: Callable[[str], Tree]) -> None:
    source = "import time\ndef time_x(): time.sleep(30)\ntime_x.timeout = 1"
    heard = make(source).run(["ops.time_x"], TURNS)
    assert heard.of("end") == []
    assert "Timeout" in heard.errors


def test_what_a_benchmark_and_its_setup_run_is_noted(make: Callable[[str], Tree]) -> None:
    source = """\
        from pkg import add, Box
        class Suite:
            def setup(self): add(1)
            def time_x(self): Box().fill()
            def time_y(self): pass
        def timeraw_z(): return "pass"
        """
    ids = ["ops.Suite.time_x", "ops.Suite.time_y", "ops.timeraw_z"]
    heard = make(source).trace(ids, "pkg")
    of_x, of_y, _ = (set(it["functions"]["src/pkg/__init__.py"]) for it in heard.of("ran"))
    assert of_x >= {"add", "Box.fill", "lift"}
    assert "Box.fill" not in of_y
    assert [it["elsewhere"] for it in heard.of("ran")] == [False, False, True]
