"""pytest-selective: a file graph of base and head; static."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.selection.answers import Answer, Prepared, collected
from benchmarks.selection.suite import run_tests

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.selection.projects import Side

REQUIREMENTS = ("pytest-selective==0.4.1",)
BARE = False


def prepare(side: Side, work: Path) -> Prepared:
    """Warm its cache."""
    del work
    run = run_tests(side, arguments=("--selective", "--collect-only"))
    return Prepared(note=_said(run.text))


def select(side: Side, paths: tuple[str, ...]) -> Answer:
    """Answer with ids: what is left of the collection."""
    del paths
    return collected(run_tests(side, arguments=("--selective", "--collect-only")))


def _said(text: str) -> str:
    lines = [line for line in text.splitlines() if line.startswith("pytest-selective:")]
    return lines[-1][:200] if lines else "said nothing"
