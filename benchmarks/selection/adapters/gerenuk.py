"""gerenuk: a type checker's references from changed symbols to tests; static. It keeps a daemon, which is stopped."""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING

from benchmarks.selection.answers import Answer, Prepared
from benchmarks.selection.projects import run

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.selection.projects import Side

REQUIREMENTS = ("gerenuk==0.5.0", "ty-find==0.5.2", "ty")
BARE = False


def prepare(side: Side, work: Path) -> Prepared:
    """Ask it whether it can work here."""
    del work
    done = run([side.tool("gerenuk"), "doctor"], side.tree, env=_env(side), check=False)
    failed = "" if done.returncode == 0 else (done.stdout + done.stderr)[-300:]
    return Prepared(failed=failed)


def select(side: Side, paths: tuple[str, ...]) -> Answer:
    """Answer with ids without parameters, and with test files that changed."""
    del paths
    command = [side.tool("gerenuk"), "impacted-tests", "--base", "HEAD", "--format", "json"]
    began = time.perf_counter()
    done = run(command, side.tree, env=_env(side), check=False)
    seconds = time.perf_counter() - began
    try:
        said = json.loads(done.stdout)
    except ValueError:
        return Answer(seconds=seconds, note=f"exit {done.returncode}: {done.stderr[-200:]}")
    ids = tuple(_id(test) for test in said["impacted_tests"] if test.get("symbol"))
    files = [test["file"] for test in said["impacted_tests"] if not test.get("symbol")]
    files += said["test_files_changed"]
    everything = said["verdict"] == "run_all"
    return Answer(
        everything=everything,
        ids=ids,
        files=tuple(files),
        seconds=seconds,
        note=said.get("reason") or "",
    )


def finish(side: Side) -> None:
    """Stop the daemon that it started for this checkout."""
    run([side.tool("tyf"), "daemon", "stop"], side.tree, env=_env(side), check=False)


def _id(test: dict[str, str]) -> str:
    """Turn `tests.test_a:TestB.test_c` and its file into pytest's id."""
    names = test["symbol"].partition(":")[2].split(".")
    return "::".join((test["file"], *(name for name in names if name)))


def _env(side: Side) -> dict[str, str]:
    folder = side.python.parent
    return {
        "VIRTUAL_ENV": str(folder.parent),
        "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}",
    }
