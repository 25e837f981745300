"""pytest-benchmark's and pytest-codspeed's files under the worker, with a real pytest."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from tests.integration.bench.test_bench_worker import CORE
from tests.integration.bench.worker_session import TURNS, Tree

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FILE = "tests/test_a.py"


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., Tree]:
    def made(source: str, **files: str) -> Tree:
        tree = Tree(tmp_path, {"adapter": "pytest", "root": ".", "files": [FILE]})
        tree.write({**CORE, "pytest.ini": "[pytest]\n", FILE: source})
        tree.write({name.replace("__", "/") + ".py": text for name, text in files.items()})
        return tree

    return made


def test_benchmarks_are_listed_by_fixture_and_by_marker(make: Callable[..., Tree]) -> None:
    tree = make("""\
        import pytest
        @pytest.mark.parametrize("n", [1, 2])
        def test_n(benchmark, n): pass
        @pytest.fixture
        def wrapped(benchmark): return benchmark
        def test_wrapped(wrapped): pass
        class TestC:
            def test_m(self, codspeed_benchmark): pass
        @pytest.mark.benchmark
        def test_whole(): pass
        def test_plain(): pass
        """)
    names = ["test_n[1]", "test_n[2]", "test_wrapped", "TestC::test_m", "test_whole"]
    assert tree.list().ids("bench") == [f"{FILE}::{it}" for it in names]


def test_the_driver_says_the_order_and_assertions_see_what_the_function_gave(
    make: Callable[..., Tree],
) -> None:
    tree = make("""\
        from pkg import add
        def test_right(benchmark):
            assert benchmark(add, 10) == 45
            assert 0 < benchmark.stats.stats.mean < 1
            assert benchmark.stats["rounds"] == 1
        def test_wrong(benchmark): assert benchmark(add, n=10) == 1
        """)
    heard = tree.run([f"{FILE}::test_wrong", f"{FILE}::test_right"], TURNS)
    assert heard.ids("at") == [f"{FILE}::test_wrong", f"{FILE}::test_right"]
    assert "assert 45 == 1" in heard.one("failed")["error"]
    assert heard.ids("failed") == [f"{FILE}::test_wrong"]


def test_a_failing_function_fails_without_turns(make: Callable[..., Tree]) -> None:
    heard = make("def test_x(benchmark): benchmark(int, 'x')").run([f"{FILE}::test_x"], TURNS)
    assert "ValueError" in heard.one("failed")["error"]
    assert heard.of("warm") == []


def test_a_pedantic_setup_runs_before_every_call_and_its_teardown_after(
    make: Callable[..., Tree],
) -> None:
    tree = make("""\
        log = []
        def target(items):
            items.pop()
            log.append("call")
        def setup():
            log.append("setup")
            return ([1],), {}
        def test_x(benchmark):
            benchmark.pedantic(target, setup=setup, teardown=lambda items: log.append("down"), rounds=3)
            assert log == ["setup", "call", "down"] * (len(log) // 3)
            assert len(log) > 9
        """)
    heard = tree.run([f"{FILE}::test_x"], TURNS)
    assert heard.ids("failed") == []
    assert heard.one("loops")["fixed"] is True


def test_pedantic_iterations_say_how_many_calls_a_sample_has(make: Callable[..., Tree]) -> None:
    tree = make(
        "def test_x(benchmark): assert benchmark.pedantic(len, ('ab',), iterations=7) == 2"
    )
    heard = tree.run([f"{FILE}::test_x"], TURNS)
    assert heard.one("loops")["loops"] % 7 == 0
    assert heard.ids("failed") == []


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("benchmark(len, ''); benchmark(len, '')", "already used"),
        ("benchmark.weave('os.path.join')", "not measured by presubmit bench"),
        ("benchmark.pedantic(len, setup=list, iterations=2)", "one iteration"),
        ("benchmark.pedantic(len, ('',), setup=lambda: (('',), {}))", "either"),
        ("benchmark.pedantic(len, ('',), rounds=0)", "whole numbers"),
    ],
)
def test_what_the_fixture_does_not_do_is_a_failure_with_a_word(
    make: Callable[..., Tree], body: str, said: str
) -> None:
    heard = make(f"def test_x(benchmark): {body}").run([f"{FILE}::test_x"], TURNS)
    assert said in heard.one("failed")["error"]


def test_the_marker_measures_the_whole_test_with_its_fixtures(make: Callable[..., Tree]) -> None:
    tree = make("""\
        import pytest
        calls = []
        @pytest.fixture
        def data(): return [3, 1, 2]
        @pytest.mark.benchmark
        def test_x(data): calls.append(sorted(data))
        """)
    heard = tree.run([f"{FILE}::test_x"], TURNS)
    assert [it["say"] for it in heard.said] == ["hello", "at", "warm", "loops", "turn", "end"]


def test_skipped_and_silent_tests_are_said_and_are_no_failures(make: Callable[..., Tree]) -> None:
    tree = make("""\
        import pytest
        @pytest.mark.skip(reason="not here")
        def test_a(benchmark): pass
        def test_b(benchmark): pytest.skip("nor here")
        def test_c(benchmark): pass
        """)
    heard = tree.run([f"{FILE}::test_a", f"{FILE}::test_b", f"{FILE}::test_c"], TURNS)
    assert [it["why"] for it in heard.of("skipped")] == [
        "Skipped: not here",
        "Skipped: nor here",
        "it does not call its benchmark fixture",
    ]
    assert heard.ids("failed") == []


def test_a_file_that_is_not_collected_is_broken_and_hides_no_other(
    make: Callable[..., Tree],
) -> None:
    tree = make("import nothing_here\ndef test_x(benchmark): pass")
    tree.write({"tests/test_b.py": "def test_y(benchmark): benchmark(len, '')"})
    tree.suite["files"] = [FILE, "tests/test_b.py"]
    listed = tree.list()
    assert listed.ids("bench") == ["tests/test_b.py::test_y"]
    assert "nothing_here" in listed.one("broken", FILE)["error"]
    heard = tree.run([f"{FILE}::test_x", "tests/test_b.py::test_y"], TURNS)
    assert heard.ids("at") == ["tests/test_b.py::test_y"]
    assert "nothing_here" in heard.one("failed", f"{FILE}::test_x")["error"]


def test_a_benchmark_that_is_not_there_is_absent(make: Callable[..., Tree]) -> None:
    failed = make("def test_x(benchmark): pass").run([f"{FILE}::test_gone"], TURNS).one("failed")
    assert failed["absent"] is True


def test_the_projects_options_neither_hide_nor_break_its_benchmarks(
    make: Callable[..., Tree],
) -> None:
    tree = make(
        "import pytest\nfrom pytest_codspeed import BenchmarkFixture\n@pytest.mark.slow\n"
        "def test_x(benchmark: BenchmarkFixture): benchmark(len, '')\n",
        tests__conftest="def pytest_benchmark_update_json(config, benchmarks, output_json): pass",
    )
    options = (
        "--benchmark-disable --benchmark-columns=min,max --benchmark-warmup --codspeed -x"
        " --benchmark-compare-fail=mean:5% -m 'not slow' -k nothing --strict-markers --showlocals"
    )
    ini = f"[pytest]\naddopts = {options}\nmarkers = slow: slow\nfilterwarnings = error\n"
    tree.write({"pytest.ini": ini + "required_plugins = pytest-benchmark\n"})
    assert tree.list().ids("bench") == [f"{FILE}::test_x"]
    heard = tree.run([f"{FILE}::test_x"], TURNS)
    assert len(heard.of("turn")) == 1
    assert heard.ids("failed") == []


def test_options_that_pytest_does_not_know_are_said(make: Callable[..., Tree]) -> None:
    tree = make("def test_x(benchmark): pass")
    tree.write({"pytest.ini": "[pytest]\naddopts = --no-such-option\n"})
    assert "--no-such-option" in tree.list().one("broken")["error"]


def test_ids_are_paths_in_the_tree_wherever_pytest_has_its_root(make: Callable[..., Tree]) -> None:
    tree = make("")
    tree.write({"sub/pytest.ini": "[pytest]\n", "sub/t/test_s.py": "def test_x(benchmark): pass"})
    tree.suite.update(root="sub", files=["sub/t/test_s.py"])
    assert tree.list().ids("bench") == ["sub/t/test_s.py::test_x"]


def test_each_benchmark_has_the_functions_that_it_runs_on_any_thread(
    make: Callable[..., Tree],
) -> None:
    tree = make("""\
        from pkg import add, Box
        def test_add(benchmark): benchmark(add, 3)
        def test_box(benchmark): benchmark(Box().fill)
        """)
    heard = tree.trace([f"{FILE}::test_add", f"{FILE}::test_box"], "pkg")
    add = heard.one("ran", f"{FILE}::test_add")
    box = heard.one("ran", f"{FILE}::test_box")
    assert set(add["functions"]["src/pkg/__init__.py"]) - {"<module>", "Box"} == {"add"}
    assert set(box["functions"]["src/pkg/__init__.py"]) - {"<module>", "Box"} == {
        "Box.fill",
        "lift",
    }
    assert add["elsewhere"] is False
    assert "src/pkg/__init__.py" in add["files"]


def test_what_a_shared_fixture_runs_belongs_to_every_later_benchmark(
    make: Callable[..., Tree],
) -> None:
    tree = make("""\
        import pytest
        from pkg import add
        @pytest.fixture(scope="module")
        def data(): return add(3)
        def test_a(benchmark, data): benchmark(len, "")
        def test_b(benchmark, data): benchmark(len, "")
        """)
    heard = tree.trace([f"{FILE}::test_a", f"{FILE}::test_b"], "pkg")
    assert ["add" in it["functions"]["src/pkg/__init__.py"] for it in heard.of("ran")] == [
        True,
        True,
    ]


def test_a_benchmark_that_starts_processes_is_not_seen_whole(make: Callable[..., Tree]) -> None:
    tree = make("""\
        import subprocess
        def test_x(benchmark): benchmark(subprocess.run, ["true"])
        def test_y(benchmark): benchmark(len, "")
        """)
    heard = tree.trace([f"{FILE}::test_x", f"{FILE}::test_y"], "pkg")
    assert [it["elsewhere"] for it in heard.of("ran")] == [True, False]


def test_the_files_that_were_loaded_are_proved(make: Callable[..., Tree]) -> None:
    tree = make("import pkg\ndef test_x(benchmark): benchmark(len, '')")
    (proof,) = tree.run([f"{FILE}::test_x"], TURNS, watch=["pkg"]).one("end")["proof"]
    assert (proof["module"], proof["file"]) == ("pkg", "src/pkg/__init__.py")
    assert len(proof["blob"]) == 40


def test_functions_of_an_installed_copy_have_the_path_of_the_source(
    make: Callable[..., Tree], tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    tree = make("""\
        from pkg import add
        def test_add(benchmark): benchmark(add, 3)
        """)
    site = tmp_path_factory.mktemp("env") / "site-packages"
    shutil.copytree(tmp_path / "src", site)
    tree.path[1] = site
    ran = tree.trace([f"{FILE}::test_add"], "pkg").one("ran")
    assert "add" in ran["functions"]["src/pkg/__init__.py"]
    assert "src/pkg/__init__.py" in ran["files"]
