from __future__ import annotations

import shlex

import pytest

from presubmit.upstream.recipes.pytest_call import PytestCall, read_pytest
from presubmit.upstream.recipes.shell_words import Word


def call(line: str, *exist: str) -> PytestCall:
    return read_pytest([Word(text=t) for t in shlex.split(line)], exists=set(exist).__contains__)


@pytest.mark.parametrize(
    ("line", "paths", "options"),
    [
        ("py -W error", ("py",), ("-W", "error")),
        ("-v test", ("test",), ("-v",)),
        ("-n auto tests/", ("tests/",), ("-n", "auto")),
        ("-n4 tests", ("tests",), ("-n4",)),
        ("-k 'a and not b' x.py::test_y", ("x.py::test_y",), ("-k", "a and not b")),
        ("-m -slow tests", ("tests",), ("-m", "-slow")),
        ("-vk expr tests", ("tests",), ("-vk", "expr")),
        ("-rA tests", ("tests",), ("-rA",)),
        ("--durations=10 --timeout 600 numpy", ("numpy",), ("--durations=10", "--timeout", "600")),
        ("--cov tests", (), ("--cov", "tests")),
        ("--cov=pkg tests", ("tests",), ("--cov=pkg",)),
        ("--runslow tests/a.py", ("tests/a.py",), ("--runslow",)),
        ("--xfails-file tools/x.txt tests", ("tests",), ("--xfails-file", "tools/x.txt")),
        ("--max-examples 10 tests", ("tests",), ("--max-examples", "10")),
        ("--strict-markers pkg", ("pkg",), ("--strict-markers",)),
        ("-p no:cacheprovider -x a b a", ("a", "b"), ("-p", "no:cacheprovider", "-x")),
        ("-- -odd.py", ("-odd.py",), ()),
        ("", (), ()),
    ],
)
def test_paths_are_told_from_options(
    line: str, paths: tuple[str, ...], options: tuple[str, ...]
) -> None:
    found = call(line)
    assert (found.paths, found.options) == (paths, options)


def test_a_word_that_exists_is_a_path_after_an_option_that_is_not_known() -> None:
    assert call("--mystery checks").paths == ()
    assert call("--mystery checks", "checks").paths == ("checks",)


def test_pyargs_names_installed_packages() -> None:
    found = call("--pyargs pywt -m 'not slow' tests/x.py")
    assert (found.packages, found.paths) == (("pywt",), ("tests/x.py",))


def test_what_is_not_known_is_left_out_and_named() -> None:
    line = [
        Word(text="$ARGS", literal=False),
        Word(text="-n"),
        Word(text="$N", literal=False),
        Word(text="t"),
    ]
    found = read_pytest(line)
    assert (found.paths, found.options, found.unknown) == (("t",), (), ("$ARGS", "-n $N"))


def test_the_last_value_of_an_option_counts() -> None:
    found = call("-n 2 --junitxml=a.xml -n4 --maxfail=3")
    assert (found.value("-n"), found.value("--junitxml"), found.value("-k")) == (
        "4",
        "a.xml",
        None,
    )
    assert found.has("--maxfail")
