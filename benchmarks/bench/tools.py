"""The tools: each compares the base with a head once, and says which of the three benchmarks it calls slower."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from benchmarks.bench.work import BENCHMARKS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

THRESHOLD: Final = 1.05
"""Where a tool has a bar, it is 5 %: the smallest change that all of them are asked for."""


class Lab(NamedTuple):
    """Where the work lies."""

    top: Path
    """The repository; head is a branch `slower-N`."""
    sides: Mapping[str, Path]
    """Checkouts that are built in place, by branch."""
    asv: Path
    """asv's configuration."""
    python: str
    """The interpreter that the tools are installed for."""
    image: str
    """The devel image for presubmit; empty: it runs on the host."""
    scratch: Path


class ToolError(Exception):
    """A tool did not compare."""


def _run(command: list[str], cwd: Path, good: tuple[int, ...], **env: str) -> str:
    done = subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=False,
        timeout=1200,
    )
    if done.returncode not in good:
        raise ToolError(
            f"{command[:4]}: exit {done.returncode}\n{done.stdout}{done.stderr}"[-3000:]
        )
    return done.stdout + done.stderr  # pytest-benchmark's regressions are on the latter


def presubmit(lab: Lab, head: str) -> dict[str, bool]:
    """`presubmit bench`: slower means slower, and again when it was measured once more."""
    place = ["--image", lab.image] if lab.image else ["--no-container"]
    command = [sys.executable, "-P", "-m", "presubmit", "bench", "--commit", head, "--all"]
    _run([*command, "--output", "plain", *place], lab.top, (0, 1))
    return read_presubmit(json.loads((lab.top / ".presubmit/last/bench.json").read_text()))


def read_presubmit(comparison: Mapping[str, Any]) -> dict[str, bool]:
    """Read bench.json."""
    found = {}
    for result in comparison["measured"]["results"]:
        name = result["bench"]["id"].rpartition("time_")[2]
        found[name] = result["word"] == "slower" and bool(result["confirmed"])
    return _whole(found)


def asv(lab: Lab, head: str) -> dict[str, bool]:
    """`asv continuous`: what its list of changes holds with a plus."""
    command = [lab.python, "-m", "asv", "continuous", "--config", str(lab.asv)]
    command += ["-f", str(THRESHOLD), "--no-only-changed", "main", head]
    return read_asv(_run(command, lab.asv.parent, (0, 1)))


def read_asv(text: str) -> dict[str, bool]:
    """Read asv's table: a row that begins with `+` is a regression."""
    rows = re.findall(r"^\|\s*([-+x!~]?)\s*\|.*?time_(\w+)", text, re.MULTILINE)
    return _whole({name: mark == "+" for mark, name in rows})


def pytest_benchmark(lab: Lab, head: str) -> dict[str, bool]:
    """pytest-benchmark: base saved, head compared with `mean:5%`."""
    storage = lab.scratch / "pytest-benchmark"
    shutil.rmtree(storage, ignore_errors=True)
    common = [lab.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_work.py"]
    common += [f"--benchmark-storage={storage}"]
    base, side = lab.sides["main"], lab.sides[head]
    _run([*common, "--benchmark-save=base"], base, (0,), PYTHONPATH=str(base / "src"))
    compare = ["--benchmark-compare=0001", "--benchmark-compare-fail=mean:5%"]
    text = _run([*common, *compare], side, (0, 1), PYTHONPATH=str(side / "src"))
    return read_pytest_benchmark(text)


def read_pytest_benchmark(text: str) -> dict[str, bool]:
    """Read which tests are named as `Field 'mean' has failed PercentageRegressionCheck`."""
    measured = set(re.findall(r"^test_(\w+) \(NOW\)", text, re.MULTILINE))
    if missing := [name for name in BENCHMARKS if name not in measured]:
        raise ToolError(f"not compared: {', '.join(missing)}")
    failed = re.findall(r"test_(\w+).*?has failed PercentageRegressionCheck", text)
    return {name: name in failed for name in BENCHMARKS}


def pyperf(lab: Lab, head: str) -> dict[str, bool]:
    """Run pyperf on each side with `--fast`, and ask `compare_to` what is significant."""
    files = {}
    for name in ("main", head):
        side = lab.sides[name]
        files[name] = lab.scratch / f"pyperf-{name}.json"
        files[name].unlink(missing_ok=True)
        command = [lab.python, "pyperf_work.py", "--fast", "--quiet", "--inherit-environ"]
        command += ["PYTHONPATH", "-o", str(files[name])]
        _run(command, side, (0,), PYTHONPATH=str(side / "src"))
    command = [lab.python, "-m", "pyperf", "compare_to", "-v", *map(str, files.values())]
    return read_pyperf(_run(command, lab.scratch, (0,)))


def read_pyperf(text: str) -> dict[str, bool]:
    """Read pyperf's comparison: significant and slower."""
    found = {}
    for name in BENCHMARKS:
        part = re.search(rf"^{name}\n=+\n(.*?)(?=^\w+\n=+|\Z)", text, re.MULTILINE | re.DOTALL)
        if part is None:
            raise ToolError(f"not compared: {name}")
        told = part.group(1)
        found[name] = (
            re.search(r"[\d.]x slower", told) is not None and "Not significant" not in told
        )
    return _whole(found)


def hyperfine(lab: Lab, head: str) -> dict[str, bool]:
    """Time whole processes by hyperfine: slower where its `times slower ± s` lies above 1."""
    found = {}
    for name in BENCHMARKS:
        file = lab.scratch / "hyperfine.json"
        calls = f"import toil; [toil.{name}() for _ in range(60)]"
        commands = [
            f"env PYTHONPATH={lab.sides[side]}/src {lab.python} -c '{calls}'"
            for side in ("main", head)
        ]
        options = ["-N", "-w", "2", "-r", "15", "--export-json", str(file)]
        _run(["hyperfine", *options, *commands], lab.scratch, (0,))
        found[name] = read_hyperfine(json.loads(file.read_text()))
    return _whole(found)


def read_hyperfine(told: Mapping[str, Any]) -> bool:
    """Say whether the second command is slower by more than the spread that hyperfine prints beside the ratio."""
    base, head = told["results"]
    ratio = head["mean"] / base["mean"]
    # As hyperfine does: the relative spreads of both, added in squares (src/benchmark/relative_speed.rs).
    relative = (base["stddev"] / base["mean"]) ** 2 + (head["stddev"] / head["mean"]) ** 2
    return bool(ratio - ratio * relative**0.5 > 1.0)


def _whole(found: dict[str, bool]) -> dict[str, bool]:
    missing = [name for name in BENCHMARKS if name not in found]
    if missing:
        raise ToolError(f"not compared: {', '.join(missing)}")
    return {name: found[name] for name in BENCHMARKS}


TOOLS: Final[Mapping[str, Callable[[Lab, str], dict[str, bool]]]] = {
    "presubmit": presubmit,
    "asv": asv,
    "pytest-benchmark": pytest_benchmark,
    "pyperf": pyperf,
    "hyperfine": hyperfine,
}
REQUIREMENTS: Final = (
    *("asv>=0.6", "virtualenv", "pytest", "pytest-benchmark", "pyperf"),
    *("setuptools>=70", "wheel", "pip"),
)
