from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import pytest

from presubmit.upstream.recipes.narrowing import for_narrowing, tox_override
from presubmit.upstream.recipes.pytest_call import read_pytest
from presubmit.upstream.recipes.shell_words import Word

if TYPE_CHECKING:
    from collections.abc import Callable

PASSED = "pass_env+=PYTHONPATH,PYTEST_ADDOPTS,PYTEST_PLUGINS,PRESUBMIT_*"


@pytest.mark.parametrize(
    ("line", "kept", "dropped"),
    [
        ("-n auto -v", "-n auto -v", ()),
        ("--cov=pkg --cov-report=xml", "--cov=pkg --cov-report=xml", ()),
        ("--cov-fail-under=90 --cov", "--cov", ("--cov-fail-under=90",)),
        ("--junitxml out.xml -v", "-v", ("--junitxml out.xml",)),
        ("--junitxml=out.xml", "", ("--junitxml=out.xml",)),
        ("-p no:junitxml -p xdist", "-p xdist", ("-p no:junitxml",)),
        ("-x --maxfail=3 --maxfail 2", "", ("-x", "--maxfail=3", "--maxfail 2")),
        ("-xvs", "-vs", ("-x",)),
        ("--color=yes --color yes -q", "-q", ("--color=yes", "--color yes")),
        ("--splits 3 --group 1", "", ("--splits 3", "--group 1")),
        ("--lf --sw", "", ("--lf", "--sw")),
        ("-k x -m 'not slow' -W error -o a=b", "-k x -m 'not slow' -W error -o a=b", ()),
        ("-k -x", "-k -x", ()),
        ("--durations=10 --timeout=60", "--durations=10 --timeout=60", ()),
    ],
)
def test_what_would_spoil_a_narrowed_run_is_taken_out(
    line: str, kept: str, dropped: tuple[str, ...]
) -> None:
    call = read_pytest([Word(text=text) for text in shlex.split(line)])
    found, gone = for_narrowing(call)
    assert (found.options, gone) == (tuple(shlex.split(kept)), dropped)


def ini(text: str) -> Callable[[str], str | None]:
    return {"tox.ini": text}.get


# Each of these forms was tried with tox 4: an override holds for the table that it names and for no other.
def test_tox_passes_our_variables_on_by_the_base_table() -> None:
    assert tox_override("py312", {}, ini("[testenv]\npass_env = X")) == f"testenv.{PASSED}"
    assert tox_override("py312", {}, ini("[testenv:py312]\ndeps = x")) == f"testenv.{PASSED}"


def test_an_environment_with_its_own_list_is_named_itself() -> None:
    assert tox_override("own", {}, ini("[testenv:own]\npassenv = X")) == f"testenv:own.{PASSED}"
    text = "[testenv:py{310,311}-a]\npass_env = X"
    assert tox_override("py311-a", {}, ini(text)) == f"testenv:py311-a.{PASSED}"


def test_the_tables_of_toml_have_names_of_their_own() -> None:
    native = '[tool.tox.env_run_base]\npass_env = []\n[tool.tox.env."3.12"]\npass_env = []\n'
    read = {"pyproject.toml": native}.get
    assert tox_override("x", {}, read) == f"tool.tox.env_run_base.{PASSED}"
    assert tox_override("3.12", {}, read) == f"tool.tox.env.3\\.12.{PASSED}"
    assert tox_override("x", {}, {"tox.toml": "requires = []"}.get) == f"env_run_base.{PASSED}"


def test_a_variable_that_the_project_sets_is_set_to_ours() -> None:
    text = "[testenv]\nset_env =\n  PYTEST_ADDOPTS = -v\n"
    ours = {"PYTEST_ADDOPTS": "-v -p x", "PYTEST_PLUGINS": "x"}
    expected = f"testenv.{PASSED};testenv.set_env+=PYTEST_ADDOPTS=-v -p x"
    assert tox_override("py", ours, ini(text)) == expected


def test_a_value_that_an_override_cannot_carry_is_refused() -> None:
    text = "[testenv]\nset_env = PYTEST_ADDOPTS = -v\n"
    with pytest.raises(ValueError, match="cannot carry"):
        tox_override("py", {"PYTEST_ADDOPTS": "a;b"}, ini(text))
