"""What a test step tells of its test files."""

from __future__ import annotations

from typing import Any

import pytest

from presubmit import values
from presubmit.results.seconds import rows_of
from presubmit.values import Case, CaseOutcome, Docstrings, Mode

CASES = (
    Case(id="a.py::test_x", outcome=CaseOutcome.PASSED, seconds=1.0),
    Case(id="a.py::test_y[1]", outcome=CaseOutcome.SKIPPED, seconds=0.5),
    Case(id="b.py::test_x", outcome=CaseOutcome.FAILED, seconds=2.0),
)


def work(**given: Any) -> values.Tests:
    return values.Tests(command=("pytest",), mode=Mode.ALL, **given)


def test_a_whole_file_tells_its_seconds_and_outcome() -> None:
    assert rows_of(work(), CASES, {"a.py": 90.0}) == [
        ("a.py", 1.5, "passed"),
        ("b.py", 2.0, "failed"),
    ]


@pytest.mark.parametrize(
    "given",
    [
        {"within": ("a.py::test_x", "b.py::test_x")},
        {"ids": ("a.py::test_x", "b.py::test_x")},
        {"without": ("a.py::C", "b.py::C")},
        {"arguments": ("-k", "x")},
        {"exit_first": True},
    ],
)
def test_a_file_that_ran_in_part_keeps_the_seconds_that_are_known(given: dict[str, Any]) -> None:
    assert rows_of(work(**given), CASES, {"a.py": 90.0}) == [
        ("a.py", 90.0, "passed"),
        ("b.py", 2.0, "failed"),
    ]
    assert rows_of(work(**given), CASES[:2], {}) == []


def test_files_that_were_not_narrowed_beside_narrowed_ones_are_whole() -> None:
    rows = rows_of(work(within=("b.py::test_x",)), CASES, {"a.py": 90.0, "b.py": 9.0})
    assert rows == [("a.py", 1.5, "passed"), ("b.py", 9.0, "failed")]


def test_doctests_and_the_like_say_nothing_of_test_files() -> None:
    docs = Docstrings(definitions=(), convention="numpy", binding=False)
    assert rows_of(docs, CASES, {"a.py": 9.0}) == []
