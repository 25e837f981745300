"""presubmit with history: one recorded run of the clean tree, then what `presubmit select` says."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

from benchmarks.selection.adapters.presubmit_static import command, environment, select
from benchmarks.selection.answers import Prepared
from benchmarks.selection.projects import make_side, run
from benchmarks.selection.suite import run_tests

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.selection.projects import Side

__all__ = ["BARE", "REQUIREMENTS", "prepare", "select"]

REQUIREMENTS: tuple[str, ...] = ()
BARE = True
SAID = re.compile(
    r"recorded ([\d,]+) tests(?: \([\d,]+ cases\))? in ([\d.]+) s(?: \(plain ([\d.]+) s\))?"
)


def prepare(side: Side, work: Path) -> Prepared:
    """Record the whole suite; what the record command says of its seconds is what counts, its build apart."""
    words = ["--no-container", "--base", "HEAD"]
    began = time.perf_counter()
    done = run([*command("record"), *words], side.tree, env=environment(side), check=False)
    wall = time.perf_counter() - began
    text = done.stdout + done.stderr
    said = SAID.search(text)
    # Where it does not name the plain run's seconds, they are those of the tests in the side of the truth.
    plain = said.group(3) if said else None
    if said and not plain:
        plain = str(run_tests(make_side(side.project, "truth", work)).wall)
    last = (text.strip().splitlines() or ["nothing"])[-1][-300:]
    return Prepared(
        seconds=float(said.group(2)) if said else wall,
        plain=float(plain or 0.0),
        failed="" if done.returncode == 0 else f"exit {done.returncode}: {last}",
        note=f"{last} ({wall:.0f} s with the build)",
    )
