"""How much longer `presubmit run --only tests` takes than a bare `docker exec … pytest` of the same tests, warm.

Usage: python benchmarks/overhead.py [ROUNDS]    (needs an engine and the image presubmit-test:deb)
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

IMAGE = os.environ.get("PRESUBMIT_TEST_IMAGE", "presubmit-test:deb")
PROJECT = "markupsafe==3.0.4"


def run(command: list[str], cwd: Path, env: dict[str, str]) -> float:
    """Run a command that must succeed; give its wall seconds."""
    began = time.perf_counter()
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - began
    if done.returncode != 0:
        sys.exit(f"{command}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return seconds


def prepare(folder: Path, env: dict[str, str]) -> Path:
    """Lay out the project with a neutral change against its upstream."""
    name = PROJECT.replace("==", "-")
    download = ["-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:", PROJECT]
    run([sys.executable, *download, "-d", str(folder)], folder, env)
    with tarfile.open(folder / f"{name}.tar.gz") as archive:
        # Python 3.11.2 has no filters.
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        archive.extractall(folder)  # noqa: S202 - pinned sdists of the registry
    top = folder / name
    for command in (
        "init -q -b main",
        "add -A -f",
        "-c user.name=a -c user.email=a@example.org commit -q -m start",
        f"remote add upstream {top}",
        "update-ref refs/remotes/upstream/main HEAD",
        "switch -q -c topic",
    ):
        run(["git", *command.split()], top, env)
    with (top / "src/markupsafe/_speedups.c").open("a") as stream:
        stream.write("/* neutral */\n")
    return top


def main(rounds: int) -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory(prefix="presubmit-bench-") as name:
        folder = Path(name)
        # Without the variable that some images set: an installed presubmit has its bytecode.
        env = {
            **{k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"},
            "XDG_CACHE_HOME": str(folder / "cache"),
            "GIT_CONFIG_GLOBAL": os.devnull,
        }
        top = prepare(folder, env)
        presubmit = [sys.executable, "-P", "-m", "presubmit", "run", "--only", "tests"]
        presubmit += ["--image", IMAGE, "--check-base", "never"]
        run(presubmit, top, env)  # builds, and warms everything
        circle = next((folder / "cache/presubmit").glob("*/own"))
        environment = next((circle / "envs").glob("head-*[!n]/"))
        source = next((circle / "mirrors/head").glob("**/tree"))
        container = subprocess.run(
            [
                *("docker", "run", "-d", "--rm", "--network", "none", "-w", "/src"),
                *("-v", f"{source}:/src", "-v", f"{environment}:/env", IMAGE, "sleep", "3600"),
            ],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        try:
            bare = ["docker", "exec", container, "/env/venv/bin/pytest"]
            run(bare, top, env)
            ours, theirs = [], []
            for _ in range(rounds):
                ours.append(run(presubmit, top, env))
                theirs.append(run(bare, top, env))
        finally:
            subprocess.run(["docker", "rm", "-f", container], capture_output=True, check=False)
        differences = [a - b for a, b in zip(ours, theirs, strict=True)]
        print(
            f"{PROJECT}, {rounds} rounds, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors"
        )
        for label, values in (
            ("presubmit", ours),
            ("docker exec", theirs),
            ("difference", differences),
        ):
            low, middle, high = min(values), statistics.median(values), max(values)
            print(f"{label:<12} {low:6.2f} {middle:6.2f} {high:6.2f} s (min, median, max)")
        report = {
            "presubmit": ours,
            "docker_exec": theirs,
            "difference": statistics.median(differences),
        }
        Path("overhead.json").write_text(json.dumps(report)) if "--json" in sys.argv else None


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 and sys.argv[1].isdigit() else 7)
