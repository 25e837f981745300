"""What a test step tells of how long test files take, and whether they fail."""

from __future__ import annotations

from typing import TYPE_CHECKING

from presubmit.values import CaseOutcome, Tests

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from presubmit.values import Case, Work

Row = tuple[str, float, str]
"""Path, seconds and outcome (`passed`, `failed`) of a test file."""


def rows_of(work: Work, cases: Iterable[Case], known: Mapping[str, float]) -> list[Row]:
    """Give a row for each test file that ran; `known` are the seconds of earlier runs.

    Of a file that ran in part only the outcome is news: its few tests say nothing of how long it takes.
    """
    if not isinstance(work, Tests):
        return []
    seconds: dict[str, float] = {}
    failed: set[str] = set()
    for case in cases:
        path = case.id.partition("::")[0]
        seconds[path] = seconds.get(path, 0.0) + case.seconds
        if case.outcome in {CaseOutcome.FAILED, CaseOutcome.ERROR}:
            failed.add(path)
    rows = []
    for path, taken in seconds.items():
        if _in_part(work, path):
            if path not in known and path not in failed:
                continue
            taken = max(taken, known.get(path, 0.0))  # noqa: PLW2901 - the better figure of the two
        rows.append((path, round(taken, 3), "failed" if path in failed else "passed"))
    return rows


def _in_part(work: Tests, path: str) -> bool:
    """Whether a step runs only some of a file's tests, as far as it says so."""
    if work.arguments or work.exit_first:
        return True
    names = (*work.ids, *work.within, *work.without)
    return any(one.partition("::")[0] == path and "::" in one for one in names)
