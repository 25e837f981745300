"""ziplex: a file graph by tree-sitter; static. Newer language packs fetch grammars at run time, hence the limit."""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING

from benchmarks.selection.answers import Answer, Prepared
from benchmarks.selection.projects import run

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.selection.projects import Side

REQUIREMENTS: tuple[str, ...] = ()
BARE = True
TOOL = ("ziplex==0.6.1", "tree-sitter-language-pack<1")


def prepare(side: Side, work: Path) -> Prepared:
    """Install it away from the projects (it needs several of them itself) and index the tree."""
    folder = work / "tools/ziplex"
    if not (folder / "ready").exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        run([sys.executable, "-m", "venv", "--clear", str(folder)], work)
        run([str(folder / "bin/python"), "-m", "pip", "install", "-q", *TOOL], work)
        (folder / "ready").touch()
    (side.folder / "tool").unlink(missing_ok=True)
    (side.folder / "tool").symlink_to(folder / "bin/ziplex")
    began = time.perf_counter()
    run([str(side.folder / "tool"), "index"], side.tree)
    return Prepared(note=f"indexed in {time.perf_counter() - began:.1f} s")


def select(side: Side, paths: tuple[str, ...]) -> Answer:
    """Answer with files, or everything."""
    del paths
    command = [str(side.folder / "tool"), "impact", "--diff", "worktree", "--format", "json"]
    began = time.perf_counter()
    done = run(command, side.tree, check=False)
    seconds = time.perf_counter() - began
    try:
        said = json.loads(done.stdout)
    except ValueError:
        return Answer(seconds=seconds, note=f"exit {done.returncode}: {done.stderr[-200:]}")
    files = tuple(test["file"] for test in said["tests"])
    return Answer(everything=bool(said["run_all"]), files=files, seconds=seconds)
