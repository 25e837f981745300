"""What recording costs: CPU seconds of a recorded run of the whole suite against those of a plain one.

Usage: python benchmarks/selection/recording.py --work DIR [--projects a,b] [--rounds 3] [--python PYTHON] [--testmon]

Rounds alternate, and the median of each kind counts. PYTHON (else the one that runs this) makes the environments: up
to 3.11 coverage's C tracer records, from 3.12 `sys.monitoring`. With --testmon, pytest-testmon records beside it.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks.selection.adapters import testmon  # noqa: E402 - the path comes first
from benchmarks.selection.projects import (  # noqa: E402
    Side,
    environment,
    install,
    make_side,
    read_projects,
    run,
)
from presubmit.replay.assignment import RECORDER  # noqa: E402
from presubmit.replay.lanes import plugin_folder  # noqa: E402
from presubmit.results.recording import read_recording  # noqa: E402
from presubmit.runners.pytest import PLUGIN  # noqa: E402

if TYPE_CHECKING:
    from presubmit.selector.recording import Recording

COVERAGE: Final = "coverage>=7.2,<7.18"
MOST_BYTES: Final = 1 << 28


def suite(side: Side, *arguments: str, env: dict[str, str] | None = None) -> float:
    """Run the suite; give its CPU seconds, those of its child processes included."""
    deselected = [word for one in side.project.deselect for word in ("--deselect", one)]
    command = [str(side.python), "-m", "pytest", "-q", *arguments]
    command += [*side.project.arguments, *deselected, *side.project.tests]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        command,
        cwd=side.tree,
        env=environment({"PYTHONDONTWRITEBYTECODE": "1", **(env or {})}),
        capture_output=True,
        text=True,
        check=False,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in {0, 1}:
        sys.exit(f"{side.project.name}: exit {done.returncode}\n{done.stdout[-2000:]}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def recorded(side: Side) -> tuple[float, Recording]:
    """Run the suite as `presubmit record` does; give its CPU seconds and what was recorded."""
    mount = plugin_folder(side.folder / "cache")
    told, written = side.folder / "selection.json", side.folder / "recording.jsonl"
    written.unlink(missing_ok=True)
    selection = {
        "root": str(side.tree),
        "mode": "all",
        "record": str(side.folder / "record.jsonl"),
        "recording": {
            "file": str(written),
            "root": str(side.tree),
            "source": str(side.tree),
            "coverage": str(side.folder / "tracer"),
            "seconds": 3600.0,
            "project": side.project.name,
        },
    }
    told.write_text(json.dumps(selection))
    env = {
        "PYTHONPATH": f"{mount}/{RECORDER}:{mount}",
        "PYTEST_ADDOPTS": f"-p {PLUGIN}",
        "PYTEST_PLUGINS": PLUGIN,
        "PRESUBMIT_SELECTION": str(told),
    }
    seconds = suite(side, env=env)
    recording = read_recording(written, max_bytes=MOST_BYTES)
    if recording is None or not recording.contexts:
        sys.exit(f"{side.project.name}: nothing recorded: {recording and recording.note}")
    return seconds, recording


def measure(plain: Side, beside: Side | None, rounds: int) -> str:
    """Alternate the kinds of runs; give a row of the table."""
    taken: dict[str, list[float]] = {"plain": [], "recorded": [], "testmon": []}
    core = tests = ""
    for _ in range(rounds):
        taken["plain"].append(suite(plain))
        seconds, recording = recorded(plain)
        taken["recorded"].append(seconds)
        core = f"{recording.core}, {recording.python}"
        tests = str(sum(one.context.startswith("test:") for one in recording.contexts))
        if beside is not None:
            for old in beside.tree.glob(f"{testmon.STATE}*"):
                old.unlink()
            taken["testmon"].append(suite(beside, "--testmon"))
    medians = {name: statistics.median(of) for name, of in taken.items() if of}
    ratios = [
        f"{medians[name] / medians['plain']:.2f}" if name in medians else "-"
        for name in ("recorded", "testmon")
    ]
    words = [plain.project.name, core, tests, f"{medians['plain']:.1f}", *ratios]
    return f"| {' | '.join(words)} |"


def prepared(name: str, work: Path, python: str) -> Side:
    """Give a project's own checkout, environment and tracer."""
    side = make_side(
        read_projects()[name], f"recording-{Path(python).resolve().name}", work, bare=True
    )
    if not side.python.exists():
        install(side, (), python)
    if not (side.folder / "tracer").exists():
        pip = [str(side.python), "-m", "pip", "install", "-q", "--no-deps"]
        run([*pip, "--target", str(side.folder / "tracer"), COVERAGE], side.folder)
    return side


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--projects", default="itsdangerous,markupsafe,tomlkit,jinja2,msgpack")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--testmon", action="store_true")
    given = parser.parse_args()
    os.nice(5)
    print("| project | core, Python | tests | plain CPU s | recorded | testmon |")
    print("|---|---|---|---|---|---|")
    for name in given.projects.split(","):
        work = given.work.resolve()
        beside = None
        if given.testmon:
            beside = make_side(read_projects()[name], "testmon", work, beside=testmon.REQUIREMENTS)
        print(measure(prepared(name, work, given.python), beside, given.rounds), flush=True)


if __name__ == "__main__":
    main()
