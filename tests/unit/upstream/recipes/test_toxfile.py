from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from presubmit.upstream.recipes import toxfile

if TYPE_CHECKING:
    from collections.abc import Callable


def ini(text: str) -> Callable[[str], str | None]:
    return {"tox.ini": text}.get


TOX = """
[tox]
env_list = py{310,311}-{plain,cov}, lint
[base]
flags = -ra
   -q
[testenv]
deps =
    pytest
    cov: coverage
    -r requirements/test.txt
extras = test
set_env =
    A = 1
    lint: B = 2
commands =
    cov: coverage run -m pytest {[base]flags} {posargs:tests}
    !cov: pytest {posargs} --basetemp={env_tmp_dir}
    - echo \\
      done
[testenv:lint]
skip_install = true
commands = ruff check {tox_root}
[testenv:py{310,311}-own, other]
base_python = python3.9
commands = make
"""


def test_lines_hold_for_the_factors_that_they_name() -> None:
    found = toxfile.tox_environment("py311-cov", ini(TOX))
    assert found is not None
    assert found.commands == ("coverage run -m pytest -ra -q tests", "echo  done")
    assert found.deps == ("pytest", "coverage", "-r requirements/test.txt")
    assert (found.extras, found.python, found.installs_project) == (("test",), "3.11", True)
    assert found.env == (("A", "1"),)


def test_a_substitution_that_is_not_known_becomes_a_variable_without_value() -> None:
    found = toxfile.tox_environment("py310-plain", ini(TOX), posargs=("-v",))
    assert found is not None
    assert found.commands[0] == "pytest -v --basetemp=${env_tmp_dir}"


def test_an_environment_s_own_section_goes_before_the_base() -> None:
    found = toxfile.tox_environment("lint", ini(TOX))
    assert found is not None
    assert (found.commands, found.origin) == (("ruff check .",), "tox.ini [testenv:lint]")
    assert not found.installs_project


def test_a_section_may_name_several_environments() -> None:
    for name, python in (("py310-own", "3.10"), ("other", "3.9")):
        found = toxfile.tox_environment(name, ini(TOX))
        assert found is not None
        assert (found.commands, found.python) == (("make",), python)


def test_the_default_environments_are_expanded() -> None:
    assert toxfile.tox_default_environments(ini(TOX)) == (
        *("py310-plain", "py310-cov", "py311-plain", "py311-cov", "lint"),
    )


def test_a_range_in_an_environment_list_is_expanded() -> None:
    found = toxfile.tox_default_environments(ini("[tox]\nenvlist = py3{9-11}"))
    assert found == ("py39", "py310", "py311")


def test_native_toml_is_read() -> None:
    text = """
[tool.tox]
env_list = ["py312"]
[tool.tox.env_run_base]
dependency_groups = ["tests"]
commands = [["pytest", "-v", {replace = "posargs", default = ["a b"], extend = true}]]
[tool.tox.env.lint]
package = "skip"
commands = [["ruff", "check"]]
"""
    read = {"pyproject.toml": text}.get
    found = toxfile.tox_environment("py312", read)
    assert found is not None
    assert (found.commands, found.groups) == (("pytest -v 'a b'",), ("tests",))
    lint = toxfile.tox_environment("lint", read)
    assert lint is not None
    assert (lint.commands, lint.groups, lint.installs_project) == (
        ("ruff check",),
        ("tests",),
        False,
    )


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("py312", "3.12"),
        ("py39-x", "3.9"),
        ("3.13t", "3.13t"),
        ("py3.14", "3.14"),
        ("test-py313t", "3.13t"),
        ("pypy310", "pypy3.10"),
        ("pypy3", "pypy3"),
        ("py3", "3"),
        ("py", ""),
        ("docs", ""),
        ("pyinstaller", ""),
    ],
)
def test_the_python_of_a_name(name: str, version: str) -> None:
    assert toxfile.python_of(name) == version


def test_broken_files_say_nothing() -> None:
    assert toxfile.tox_default_environments({"tox.ini": "[tox\nx"}.get) == ()
    assert toxfile.tox_environment("x", {"pyproject.toml": "= ="}.get) is None
