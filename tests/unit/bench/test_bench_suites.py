"""Which benchmark suites a tree has, by its files alone."""

from __future__ import annotations

import textwrap

import pytest

from presubmit.bench.suites import Found, find_suites
from presubmit.bench.values import Adapter, Suite
from presubmit.config import BenchCommand


def found(files: dict[str, str], *commands: BenchCommand) -> Found:
    texts = {name: textwrap.dedent(text) for name, text in files.items()}
    return find_suites(list(texts), texts.get, commands)


def pytest_files(files: dict[str, str]) -> list[str]:
    return [
        file
        for suite in found(files).suites
        if suite.adapter is Adapter.PYTEST
        for file in suite.files
    ]


# --- asv ------------------------------------------------------------------------------------------------------------


def test_an_asv_config_with_comments_and_trailing_commas_names_its_folder() -> None:
    config = """\
        {
            // a comment, with "a string"
            "project_url": "https://example.org/", /* "benchmark_dir": "no" */
            "benchmark_dir": "speed",
            "matrix": {"numpy": [],},
        }
        """
    files = {"asv.conf.json": config, "speed/ops.py": "", "speed/data.txt": "", "other.py": ""}
    assert found(files).suites == (
        Suite(adapter=Adapter.ASV, root="speed", files=("speed/ops.py",), origin="asv.conf.json"),
    )


@pytest.mark.parametrize("config", ["benchmarks/asv.conf.json", "asv_bench/asv.conf.jsonc"])
def test_an_asv_folder_is_seen_from_its_config(config: str) -> None:
    folder = config.partition("/")[0]
    files = {config: "{}", f"{folder}/benchmarks/a.py": "", "benchmarks.py": ""}
    (suite,) = found(files).suites
    assert (suite.root, suite.files) == (
        f"{folder}/benchmarks",
        (f"{folder}/benchmarks/a.py",),
    )


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ("{", "no JSON with comments"),
        ("[]", "no JSON object"),
        ('{"benchmark_dir": 1}', "no text"),
        ('{"benchmark_dir": "../up"}', "no folder within the tree"),
        ('{"benchmark_dir": "/abs"}', "no folder within the tree"),
        ('{"benchmark_dir": "."}', "no folder within the tree"),
        ('{"benchmark_dir": "none"}', "no Python files"),
    ],
)
def test_an_asv_config_that_cannot_be_used_is_said(config: str, said: str) -> None:
    result = found({"asv.conf.json": config, "benchmarks/a.py": ""})
    assert result.suites == ()
    assert [it.id for it in result.problems] == ["asv.conf.json"]
    assert said in result.problems[0].error


def test_two_configs_of_one_folder_are_one_suite() -> None:
    files = {"asv.conf.json": "{}", "asv.conf.jsonc": "{}", "benchmarks/a.py": ""}
    assert [it.origin for it in found(files).suites] == ["asv.conf.json"]


def test_files_of_an_asv_folder_are_no_pytest_files() -> None:
    source = "def test_x(benchmark): pass"
    files = {"asv.conf.json": "{}", "benchmarks/test_a.py": source}
    assert [it.adapter for it in found(files).suites] == [Adapter.ASV]


# --- pytest ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "source",
    [
        "def test_x(benchmark): pass",
        "def test_x(n, *, codspeed_benchmark): pass",
        "class TestX:\n    def test_x(self, benchmark): pass",
        "class TestX:\n    class TestY:\n        async def test_x(self, benchmark): pass",
        "import pytest\n@pytest.mark.benchmark\ndef test_x(): pass",
        "import pytest\n@pytest.mark.benchmark(group='a')\ndef test_x(): pass",
        "from pytest import mark\n@mark.codspeed_benchmark\ndef test_x(): pass",
        "import pytest\n@pytest.mark.benchmark\nclass TestX:\n    def test_x(self): pass",
        "import pytest\npytestmark = pytest.mark.benchmark\ndef test_x(): pass",
        "import pytest\npytestmark = [pytest.mark.a, pytest.mark.benchmark()]\ndef test_x(): pass",
        "if True:\n    def test_x(benchmark): pass",
        "try:\n    import a\nexcept ImportError:\n    pass\nelse:\n    def test_x(benchmark): pass",
        "def bench_x(benchmark): pass",
        "import pytest\n@pytest.fixture\ndef b(benchmark): return benchmark\ndef test_x(b): pass",
    ],
)
def test_a_file_whose_tests_measure_is_found(source: str) -> None:
    assert pytest_files({"tests/test_a.py": source}) == ["tests/test_a.py"]


@pytest.mark.parametrize(
    "source",
    [
        "def test_x(): benchmark = 1",
        "# benchmark\ndef test_x(n): pass",
        "def helper(benchmark): pass",
        "import pytest\n@pytest.fixture\ndef test_data(benchmark): pass",
        "import pytest\n@pytest.mark.skip(reason='benchmark')\ndef test_x(): pass",
        "import pytest\n@pytest.fixture\ndef benchmark(): return 1\ndef test_x(benchmark): pass",
        'def test_x():\n    """\n    def test_y(benchmark): pass\n    """',
    ],
)
def test_a_file_that_only_speaks_of_benchmarks_is_not(source: str) -> None:
    assert pytest_files({"tests/test_a.py": source}) == []


@pytest.mark.parametrize(
    "name",
    [
        "testing/benchmark.py",
        "bench_ops.py",
        "benchmarks/ops.py",
        "ops_bench.py",
        "pkg/test_a.py",
        "a_test.py",
        "tests/perf.py",
    ],
)
def test_the_names_of_benchmark_files_are_those_that_people_use(name: str) -> None:
    assert pytest_files({name: "def test_x(benchmark): pass"}) == [name]


def test_a_module_of_the_project_is_none() -> None:
    assert pytest_files({"src/pkg/contest.py": "def test_x(benchmark): pass"}) == []


def test_a_fixture_of_a_conftest_above_leads_to_the_benchmark() -> None:
    files = {
        "tests/conftest.py": """\
            import pytest
            @pytest.fixture(name="speed")
            def _speed(wrapped): return wrapped
            @pytest.fixture
            def wrapped(benchmark): return benchmark
            """,
        "tests/deep/test_a.py": "# benchmark\ndef test_x(speed): pass",
        "other/test_b.py": "# benchmark\ndef test_x(speed): pass",
    }
    assert pytest_files(files) == ["tests/deep/test_a.py"]


def test_a_fixture_that_wraps_its_own_name_is_the_benchmark_of_the_level_above() -> None:
    conftest = "import pytest\n@pytest.fixture\ndef benchmark(benchmark): return benchmark"
    files = {"tests/conftest.py": conftest, "tests/test_a.py": "def test_x(benchmark): pass"}
    assert pytest_files(files) == ["tests/test_a.py"]


def test_a_fixture_of_the_project_that_hides_the_benchmark_is_none() -> None:
    conftest = "import pytest\n@pytest.fixture\ndef benchmark(): return 'data'"
    files = {"tests/conftest.py": conftest, "tests/test_a.py": "def test_x(benchmark): pass"}
    assert pytest_files(files) == []


def test_fixtures_that_ask_for_each_other_end() -> None:
    source = """\
        import pytest  # benchmark
        @pytest.fixture
        def a(b): pass
        @pytest.fixture
        def b(a): pass
        def test_x(a): pass
        """
    assert pytest_files({"tests/test_a.py": source}) == []


def test_a_file_that_cannot_be_read_is_said() -> None:
    result = found({"tests/test_a.py": "def test_x(benchmark: pass"})
    assert result.suites == ()
    assert [it.id for it in result.problems] == ["tests/test_a.py"]


def test_files_below_one_set_of_options_are_one_suite() -> None:
    test = "def test_x(benchmark): pass"
    files = {
        "pyproject.toml": "[tool.pytest.ini_options]\n",
        "tests/test_a.py": test,
        "bench/test_b.py": test,
        "plugin/pyproject.toml": "[project]\nname = 'x'\n",
        "plugin/tests/test_c.py": test,
        "second/setup.cfg": "[tool:pytest]\n",
        "second/tests/test_d.py": test,
    }
    assert [(it.root, it.files) for it in found(files).suites] == [
        (".", ("bench/test_b.py", "plugin/tests/test_c.py", "tests/test_a.py")),
        ("second", ("second/tests/test_d.py",)),
    ]


# --- torch ----------------------------------------------------------------------------------------------------------

MAIN = "if __name__ == '__main__':\n    main()\n"


@pytest.mark.parametrize(
    "source",
    [
        f"import torch.utils.benchmark as B\ndef main(): B.Timer('x').timeit()\n{MAIN}",
        f"from torch.utils.benchmark import Timer\ndef main(): Timer('x').timeit()\n{MAIN}",
        "from torch.utils import benchmark\nprint(benchmark.Timer('x').timeit(3))\n",
        "from torch.utils.benchmark import Timer as T\nt = T('x')\nt.timeit()\n",
        "import torch.utils.benchmark as B\nfor n in (1, 2):\n    B.Timer('x').timeit()\n",
    ],
)
def test_a_script_with_torch_timers_is_found(source: str) -> None:
    (suite,) = found({"bench/ops.py": source}).suites
    assert (suite.adapter, suite.root, suite.files) == (Adapter.TORCH, "bench", ("bench/ops.py",))


@pytest.mark.parametrize(
    "source",
    [
        "import torch.utils.benchmark as B\ndef main(): B.Timer('x').timeit()\n",
        f"import threading\ndef benchmark(): threading.Timer(1, f)\n{MAIN}",
        f"from torch.utils.benchmark import Compare  # Timer\n{MAIN}",
        "from torch.utils.benchmark import Timer\ndef f(: pass",
    ],
)
def test_a_module_that_runs_no_timer_is_none(source: str) -> None:
    assert found({"src/ops.py": source}) == Found(suites=())


# --- commands -------------------------------------------------------------------------------------------------------


def test_a_configured_command_is_a_suite_by_its_name() -> None:
    command = BenchCommand(name="startup", run=("python", "-c", "import pkg"), json="out.json")
    assert found({}, command).suites == (
        Suite(
            adapter=Adapter.COMMAND,
            root="startup",
            files=(),
            origin="config bench.command",
            command=("python", "-c", "import pkg"),
            json="out.json",
        ),
    )
