"""`presubmit bench` beside the tools that a user would pick instead, on the same work, trials turn by turn.

Usage: python benchmarks/bench/run.py --work DIR [--rounds 14] [--power 2] [--percents 0,5] [--few]
       [--tools presubmit,asv] [--image NAME] [--check]

Needs the package index, git, a C compiler and, for hyperfine, that program. A trial is one comparison of three
benchmarks by one tool; every trial is a row in DIR/trials.jsonl, and what is there is not run again.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

if __package__ in {None, ""}:  # started as a file: its own folder is on the path, the root is not
    sys.path[0] = str(Path(__file__).resolve().parent.parent.parent)

from benchmarks.bench.table import bars, render
from benchmarks.bench.tools import REQUIREMENTS, TOOLS, Lab, ToolError
from benchmarks.bench.work import make_asv, make_sides, make_work
from benchmarks.store import Store

PERCENTS: Final = (0, 2, 5, 10, 20)
ROUNDS: Final = 14
SLOW: Final = {"pyperf": 5, "hyperfine": 5}
"""Rounds of A/A for the tools that need long."""
POWER: Final = 2
"""Rounds of each slow-down: six comparisons a tool."""


def schedule(
    tools: list[str],
    rounds: int,
    *,
    power: int = POWER,
    percents: tuple[int, ...] = PERCENTS,
) -> list[tuple[str, int, int]]:
    """Give the trials as (tool, percent, number), mixed in an order that is always the same.

    `power` are the rounds of each slow-down; they are spread over the rounds of A/A.
    """
    slowed = [percent for percent in percents if percent]
    planned: list[tuple[str, int, int]] = []
    shuffle = random.Random(5)  # noqa: S311 - an order, no secret
    for number in range(rounds):
        turn = [
            (tool, 0, number)
            for tool in tools
            if 0 in percents and number < min(rounds, SLOW.get(tool, rounds))
        ]
        for at, percent in enumerate(slowed):
            for times in range(power):
                if (at * power + times) * rounds // (power * len(slowed)) == number:
                    turn += [(tool, percent, times) for tool in tools]
        shuffle.shuffle(turn)
        planned += turn
    return planned


def make_lab(folder: Path, image: str) -> Lab:
    """Make the work and install the tools, once."""
    folder.mkdir(parents=True, exist_ok=True)
    environment = folder / "venv"
    python = environment / "bin/python"
    if not (environment / "ready").exists():
        subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
        install = [str(python), "-m", "pip", "install", "-q", *REQUIREMENTS]
        subprocess.run(install, check=True)
        (environment / "ready").touch()
    top = make_work(folder, PERCENTS)
    asv = make_asv(folder, top)
    scratch = folder / "scratch"
    scratch.mkdir(exist_ok=True)
    sides = make_sides(folder, top, str(python), PERCENTS)
    machine = [str(python), "-m", "asv", "machine", "--yes", "--config", str(asv)]
    subprocess.run(machine, cwd=asv.parent, check=True, capture_output=True)
    return Lab(top, sides, asv, str(python), image, scratch)


def main() -> None:
    """Run the trials that are missing, and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--power", type=int, default=POWER, help="rounds of each slow-down")
    parser.add_argument("--percents", default=",".join(map(str, PERCENTS)))
    parser.add_argument("--few", action="store_true", help="one round, presubmit and asv")
    parser.add_argument("--tools", default=",".join(TOOLS))
    parser.add_argument("--image", default="", help="devel image for presubmit; else the host")
    parser.add_argument("--check", action="store_true", help="exit 1 where a bar is not met")
    parser.add_argument("--table", action="store_true", help="run nothing")
    given = parser.parse_args()
    tools = ["presubmit", "asv"] if given.few else given.tools.split(",")
    if "hyperfine" in tools and shutil.which("hyperfine") is None:
        print("hyperfine is not installed: left out")
        tools.remove("hyperfine")
    store = Store(given.work / "trials.jsonl")
    if not given.table:
        lab = make_lab(given.work.resolve(), given.image)
        done = {(r["tool"], r["percent"], r["number"]) for r in store.rows("trial")}
        percents = tuple(map(int, given.percents.split(",")))
        rounds = 1 if given.few else given.rounds
        for trial in schedule(tools, rounds, power=given.power, percents=percents):
            if trial not in done:
                measure(lab, store, *trial)
    rows = list(store.rows("trial"))
    kept = {(r["tool"], r["percent"], r["number"]) for r in rows}
    errors = [
        row
        for row in store.rows("error")
        if (row["tool"], row["percent"], row["number"]) not in kept
    ]
    print(render(rows, errors))
    met = bars(rows)
    for what, is_met in met:
        print(f"{'met' if is_met else 'NOT MET'}: {what}")
    if given.check and not all(is_met for _, is_met in met):
        sys.exit(1)


def measure(lab: Lab, store: Store, tool: str, percent: int, number: int) -> None:
    """Run one trial and keep its row; a tool that did not compare is a row of its own, and tried again."""
    load, began = os.getloadavg()[0], time.perf_counter()
    key = {"tool": tool, "percent": percent, "number": number}
    try:
        slower = TOOLS[tool](lab, f"slower-{percent}")
    except (ToolError, subprocess.TimeoutExpired) as error:
        store.add({"type": "error", **key, "error": str(error)[-600:]})
        print(f"{tool} +{percent} %: {error}", file=sys.stderr)
        return
    seconds = time.perf_counter() - began
    store.add({"type": "trial", **key, "seconds": seconds, "load": load, "slower": slower})
    flagged = ", ".join(name for name, it in slower.items() if it) or "none"
    print(f"{tool} +{percent} % #{number}: slower: {flagged}   {seconds:.0f} s", flush=True)


if __name__ == "__main__":
    main()
