from __future__ import annotations

from pathlib import Path

import pytest

from presubmit.errors import ExitCode, UsageError
from presubmit.reading import RunOptions
from presubmit.report.terminal import Terminal
from presubmit.run_matrix import cmd_run_matrix, other_cells, worst
from presubmit.selector.shards import Shard
from presubmit.upstream.cells import CellState, JobCell


def cell(
    name: str, *, state: CellState = CellState.REPLAYED, role: str = "tests", later: bool = False
) -> JobCell:
    return JobCell(
        id=f"ci.yml/{name}", workflow="w", job=name, state=state, reason="", role=role, later=later
    )


def test_the_other_cells_are_those_of_the_tests_that_can_be_replayed_here() -> None:
    cells = [
        cell("tests(a=1)"),
        cell("tests(a=2)"),
        cell("tests(a=3)", state=CellState.NOT_REPLAYED),
        cell("lint", role="lint"),
        cell("slow"),
    ]
    assert other_cells(cells, "ci.yml/tests(a=1)") == ("ci.yml/tests(a=2)", "ci.yml/slow")


def test_a_job_whose_matrix_is_not_known_yet_is_among_them_though_it_is_followed() -> None:
    assert other_cells([cell("tests", later=True)], "ci.yml/tests") == ("ci.yml/tests",)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (0, 0, 0),
        (0, 4, 4),
        (4, 3, 3),
        (3, 1, 1),
        (1, 3, 1),
        (1, 130, 130),
        (0, 143, 143),
    ],
)
def test_the_worst_exit_code_counts(first: int, second: int, expected: int) -> None:
    assert worst(ExitCode(first), ExitCode(second)) is ExitCode(expected)


@pytest.mark.parametrize(
    "options",
    [
        RunOptions(start=Path(), arguments=("-k", "x")),
        RunOptions(start=Path(), last_failed=True),
        RunOptions(start=Path(), budget=60.0),
        RunOptions(start=Path(), shard=Shard(number=1, count=2)),
    ],
)
def test_what_cells_cannot_be_narrowed_to_is_a_usage_error(options: RunOptions) -> None:
    with pytest.raises(UsageError, match=r"--matrix all and .* contradict each other"):
        cmd_run_matrix(options, Terminal("quiet"), {})
