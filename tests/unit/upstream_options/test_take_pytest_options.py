from __future__ import annotations

import pytest

from presubmit.upstream_options.pytest_options import (
    grouped,
    keep_options,
    keep_python_options,
    name_of,
)
from tests.unit.upstream_options.made import job, taken

TREE = frozenset({"setup.cfg", "tools/plugin.py", "src/own/__init__.py"})


def kept(*options: str, installed: tuple[str, ...] = ()) -> tuple[str, ...]:
    return keep_options(
        options, installed=lambda name: name in installed, in_tree=TREE.__contains__
    )[0]


def why(*options: str) -> dict[str, str]:
    return keep_options(options, installed=lambda _: False, in_tree=TREE.__contains__)[1]


def test_an_option_is_grouped_with_the_word_that_is_its_value() -> None:
    given = ("-v", "-n", "auto", "--cov", "pkg", "--dist=load", "-k", "-x", "-W", "error")
    assert [*grouped(given)] == [
        ("-v",), ("-n", "auto"), ("--cov", "pkg"), ("--dist=load",), ("-k", "-x"), ("-W", "error"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("option", "name"), [("-n4", "-n"), ("-nauto", "-n"), ("--dist=x", "--dist"), ("-v", "-v")]
)
def test_an_option_has_a_name(option: str, name: str) -> None:
    assert name_of(option) == name


@pytest.mark.parametrize(
    "words",
    [
        ("-n", "auto"),
        ("-n4",),
        ("-nauto",),
        ("--numprocesses=auto",),
        ("--dist", "loadfile"),
        ("--maxprocesses", "4"),
    ],
)
def test_processes_are_asked_for_only_where_xdist_is_installed(words: tuple[str, ...]) -> None:
    assert kept(*words, "-v") == ("-v",)
    assert kept(*words, "-v", installed=("pytest-xdist",)) == (*words, "-v")
    assert why(*words) == {" ".join(words): "pytest-xdist is not installed"}


@pytest.mark.parametrize(
    ("words", "plugin"),
    [
        (("--timeout=60",), "pytest-timeout"),
        (("--timeout", "60"), "pytest-timeout"),
        (("--reruns", "2"), "pytest-rerunfailures"),
        (("--benchmark-disable",), "pytest-benchmark"),
        (("--asyncio-mode=auto",), "pytest-asyncio"),
        (("--hypothesis-profile", "ci"), "hypothesis"),
        (("--mpl",), "pytest-mpl"),
        (("--parallel-threads", "1"), "pytest-run-parallel"),
        (("--doctest-collect=api",), "scipy-doctest"),
        (("--disable-socket",), "pytest-socket"),
        (("--randomly-seed=1",), "pytest-randomly"),
    ],
)
def test_an_option_of_a_plugin_is_kept_where_that_is_installed(
    words: tuple[str, ...], plugin: str
) -> None:
    assert kept(*words) == ()
    assert kept(*words, installed=(plugin,)) == words


@pytest.mark.parametrize(
    "words",
    [
        ("--cov",),
        ("--cov", "pkg"),
        ("--cov=pkg",),
        ("--cov-report", "xml"),
        ("--no-cov-on-fail",),
        ("--benchmark-json", "out.json"),
        ("--durations=10",),
        ("--log-file=x.log",),
        ("--report-log", "x"),
        ("--rootdir=.",),
        ("--confcutdir", "tests"),
    ],
)
def test_reports_of_a_whole_suite_are_left_out_with_their_value(words: tuple[str, ...]) -> None:
    installed = ("pytest-cov", "pytest-benchmark")
    assert kept(*words, "-v", installed=installed) == ("-v",)


@pytest.mark.parametrize(
    "words",
    [
        ("-ra",),
        ("-W", "error"),
        ("-p", "no:cacheprovider"),
        ("-p", "no:randomly"),
        ("-p", "pytester"),
        ("-p", "tools.plugin"),
        ("-p", "own"),
        ("-c", "setup.cfg"),
        ("--config-file=setup.cfg",),
        ("-o", "addopts="),
        ("--import-mode=importlib",),
        ("--strict-markers",),
        ("--run-slow",),
        ("-m", "not slow"),
    ],
)
def test_what_pytest_and_the_tree_know_is_kept(words: tuple[str, ...]) -> None:
    assert kept(*words) == words


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("-p", "xdist.plugin"), "xdist.plugin is not installed"),
        (("-pmissing",), "missing is not installed"),
        (("-c", "ci/pytest.ini"), "the tree has no such file"),
        (("-n",), "its value is not known"),
    ],
)
def test_what_would_end_pytest_at_once_is_left_out(words: tuple[str, ...], reason: str) -> None:
    assert kept(*words) == ()
    assert why(*words) == {" ".join(words): reason}


@pytest.mark.parametrize(
    ("plugin", "distribution"),
    [("xdist", "pytest-xdist"), ("pytest_mock", "pytest-mock"), ("anyio", "anyio"), ("foo", "pytest-foo")],
)  # fmt: skip
def test_a_plugin_that_is_named_is_found_under_its_distributions_name(
    plugin: str, distribution: str
) -> None:
    assert kept("-p", plugin, installed=(distribution,)) == ("-p", plugin)


def test_options_of_the_interpreter_stay_but_those_that_would_hide_our_plugin() -> None:
    assert keep_python_options(("-X", "dev", "-I", "-W", "error", "-bb", "-Es", "-P"))[0] == (
        *("-X", "dev", "-W", "error", "-bb", "-P"),
    )


# --- in a workflow ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("install", "there"),
    [
        ("pip install pytest-xdist", True),
        ("pip install 'pytest_xdist[psutil]>=3'", True),
        ("pip install -r more.txt", True),
        ("uv sync --group dev", True),
        ("pip install pytest", False),
        ("pip install .[test]", False),
    ],
)
def test_xdist_is_known_by_what_the_run_would_install(install: str, *, there: bool) -> None:
    found = taken(job(install, "pytest -n auto"), {"more.txt": "pytest-xdist\n"})
    command = ("pytest", "-n", "auto") if there else ("pytest",)
    assert found.options["tests.command"][0] == command


def test_xdist_is_known_by_setup_cfg_where_the_extras_are_written_there() -> None:
    files = {
        "pyproject.toml": "[build-system]\nrequires = ['setuptools']\n",
        "setup.cfg": "[options.extras_require]\ntest = pytest-xdist\n",
    }
    found = taken(job("pip install .[test]", "pytest -n auto"), files)
    assert found.options["tests.command"][0] == ("pytest", "-n", "auto")
    assert found.options["build.extras"][0] == ("test",)


def test_the_options_of_a_variable_are_put_before_the_calls_own() -> None:
    found = taken(job('PYTEST_ADDOPTS="-W error --color=yes" pytest -v tests'))
    assert found.options["tests.command"][0] == ("pytest", "-W", "error", "-v")
    assert "tests.env" not in found.options


@pytest.mark.parametrize("option", ["--version", "--collect-only -q", "--markers"])
def test_a_call_that_runs_no_test_is_neither_taken_nor_named(option: str) -> None:
    found = taken(job(f"pytest {option}", "pytest -ra"))
    assert found.options["tests.command"] == (("pytest", "-ra"), "ci.yml:10")
    assert found.besides == {}
