"""pytest-testmon: coverage of each test, per function; needs a recorded run."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from benchmarks.selection.answers import Answer, Prepared, collected
from benchmarks.selection.suite import run_tests

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.selection.projects import Side

REQUIREMENTS = ("pytest-testmon==2.2.0",)
BARE = False
STATE = ".testmondata"


def prepare(side: Side, work: Path) -> Prepared:
    """Run the suite plainly, then recording; keep the database of the clean tree."""
    del work
    for old in side.tree.glob(f"{STATE}*"):
        old.unlink()
    plain = run_tests(side)
    run = run_tests(side, arguments=("--testmon",))
    _keep(side.tree, side.folder)
    failed = ""
    if "INTERNALERROR" in run.text or run.timed_out or run.code not in {0, 1}:
        failed = f"exit {run.code}: {run.text.strip().splitlines()[-1][:200]}"
    elif not (side.folder / STATE).exists():
        failed = "no database"
    return Prepared(seconds=run.wall, plain=plain.wall, failed=failed)


def select(side: Side, paths: tuple[str, ...]) -> Answer:
    """Answer with ids, from the database of the clean tree each time."""
    del paths
    _keep(side.folder, side.tree)
    run = run_tests(side, arguments=("--testmon", "--testmon-nocollect", "--collect-only"))
    return collected(run)


def _keep(source: Path, target: Path) -> None:
    for old in target.glob(f"{STATE}*"):
        old.unlink()
    for file in source.glob(f"{STATE}*"):
        shutil.copy2(file, target / file.name)
