"""presubmit without history: what `presubmit select` says in a fresh clone."""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING

from benchmarks.selection.answers import Answer, Prepared
from benchmarks.selection.projects import HERE, run

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.selection.projects import Side

REQUIREMENTS: tuple[str, ...] = ()
BARE = True


def prepare(side: Side, work: Path) -> Prepared:
    """Warm the cache of what is read from sources; nothing is recorded."""
    del work
    began = time.perf_counter()
    answer = select(side, ())
    return Prepared(note=f"first call {time.perf_counter() - began:.1f} s", failed=answer.note)


def select(side: Side, paths: tuple[str, ...]) -> Answer:
    """Answer with files, narrowed to ids where it gives any."""
    del paths
    began = time.perf_counter()
    done = run(
        [*command("select"), "--format", "json", "--base", "HEAD"],
        side.tree,
        env=environment(side),
        check=False,
    )
    seconds = time.perf_counter() - began
    try:
        said = json.loads(done.stdout)
    except ValueError:
        last = (done.stderr.strip().splitlines() or ["nothing"])[-1]
        return Answer(seconds=seconds, note=f"exit {done.returncode}: {last[-200:]}")
    return Answer(
        everything=said["mode"] == "all",
        files=tuple(test["path"] for test in said["tests"] if not test.get("ids")),
        ids=tuple(i for test in said["tests"] for i in test.get("ids", ())),
        seconds=seconds,
    )


def command(name: str) -> list[str]:
    """Give the start of a presubmit command: this checkout's, by the interpreter that runs the trial."""
    return [sys.executable, "-P", "-m", "presubmit", name]


def environment(side: Side) -> dict[str, str]:
    """Give each side caches of its own, this checkout's presubmit, and the trial's tests and requirements."""
    project = side.project
    return {
        "XDG_CACHE_HOME": str(side.folder / "cache"),
        "PYTHONPATH": str(HERE.parent.parent),
        "PRESUBMIT_TESTS_COMMAND": ",".join(("pytest", *project.arguments, *project.tests)),
        "PRESUBMIT_BUILD_PACKAGES": ",".join((*project.requirements, *project.build_requires)),
        "PRESUBMIT_BUILD_BEFORE": project.before,
    }
