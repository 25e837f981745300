"""pytest-tia: coverage of each test per function, and the files it opened; needs a recorded run."""

from __future__ import annotations

import os
import re
import time
from typing import TYPE_CHECKING

from benchmarks.selection.answers import Answer, Prepared
from benchmarks.selection.projects import HERE, run
from benchmarks.selection.suite import run_tests

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.selection.projects import Side

REQUIREMENTS = ("pytest-tia==1.1.1",)
BARE = False


def prepare(side: Side, work: Path) -> Prepared:
    """Run the suite plainly, then recording."""
    del work
    plain = run_tests(side)
    began = time.perf_counter()
    done = run(_tia(side, "record"), side.tree, env=_env(side), check=False)
    said = re.search(r"recorded (\d+) tests", done.stdout)
    failed = "" if said and int(said.group(1)) else (done.stdout + done.stderr)[-300:]
    note = said.group() if said else ""
    return Prepared(
        seconds=time.perf_counter() - began, plain=plain.wall, failed=failed, note=note
    )


def select(side: Side, paths: tuple[str, ...]) -> Answer:
    """Answer with ids, with parameters."""
    del paths
    began = time.perf_counter()
    done = run(_tia(side, "run", "--list"), side.tree, env=_env(side), check=False)
    seconds = time.perf_counter() - began
    ids = re.findall(r"^       -> (.*)   \(.*\)$", done.stdout, re.MULTILINE)
    note = "" if done.returncode == 0 else f"exit {done.returncode}: {done.stderr[-200:]}"
    return Answer(ids=tuple(ids), seconds=seconds, note=note)


def _tia(side: Side, *words: str) -> list[str]:
    return [str(side.python), "-m", "tia", *words]


def _env(side: Side) -> dict[str, str]:
    # It takes one path at most; a part of a suite has several. The plugin makes hypothesis steady.
    words = ("-p", "watch", *side.project.arguments, *side.project.tests)
    return {
        "PYTEST_ADDOPTS": " ".join(words),
        "PYTHONPATH": str(HERE / "inside"),
        "WATCH_OUT": os.devnull,
    }
