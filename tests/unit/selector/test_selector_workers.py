"""When pytest-xdist's workers are started."""

from __future__ import annotations

from typing import Any

import pytest

from presubmit.config import TestsConfig
from presubmit.selector.workers import xdist_options

WORKERS = (("-n", "auto", "--dist", "loadfile"), "")
NONE: tuple[tuple[str, ...], str] = ((), "")


def options(
    *,
    requirements: tuple[str, ...] = ("pytest", "pytest-xdist[psutil]>=3.5"),
    addopts: tuple[str, ...] = (),
    groups: bool = False,
    known: float | None = 600.0,
    **config: Any,
) -> tuple[tuple[str, ...], str]:
    tests = TestsConfig(**{"xdist": "auto", **config})
    return xdist_options(
        tests, requirements=requirements, addopts=addopts, groups=groups, known=known
    )


def test_long_tests_are_shared_by_workers_and_a_file_stays_in_one() -> None:
    assert options() == WORKERS


@pytest.mark.parametrize("known", [None, 0.0, 59.0])
def test_tests_that_are_not_known_to_be_long_are_not(known: float | None) -> None:
    assert options(known=known) == NONE
    assert options(known=known, xdist="yes") == WORKERS


def test_without_a_word_in_the_configuration_there_are_no_workers() -> None:
    assert TestsConfig().xdist == "no"
    assert options(xdist="no") == NONE


@pytest.mark.parametrize(
    "word", ["-n", "-n4", "-nauto", "-n0", "--numprocesses=2", "-d", "no:xdist", "-pno:xdist"]
)
def test_what_the_project_says_itself_stays(word: str) -> None:
    assert options(addopts=(word,)) == NONE
    assert options(command=("pytest", word)) == NONE
    assert options(env=(f"PYTEST_ADDOPTS=-q {word}",)) == NONE


@pytest.mark.parametrize("word", ["-no", "--no-header", "--numbers", "-dd"])
def test_words_that_only_look_like_it_do_not_count(word: str) -> None:
    assert options(addopts=(word,)) == WORKERS


def test_marks_of_groups_are_heeded_and_so_is_the_projects_own_way() -> None:
    assert options(groups=True)[0] == ("-n", "auto", "--dist", "loadgroup")
    assert options(addopts=("--dist=worksteal",))[0] == ("-n", "auto")


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"shards": 2}, "tests.shards already shares"),
        ({"requirements": ("pytest", "pytest-xdistx")}, "not among the test requirements"),
        ({"command": ("make", "test")}, "does not call pytest itself"),
    ],
)
def test_where_they_are_asked_for_and_cannot_be_the_reason_is_given(
    given: dict[str, Any], why: str
) -> None:
    found, said = options(**given)
    assert found == ()
    assert why in said


def test_a_command_that_starts_pytest_through_python_takes_them() -> None:
    assert options(command=("python", "-m", "pytest")) == WORKERS
