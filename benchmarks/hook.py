"""What a hook adds to `git push`: presubmit's with evidence, and pre-commit's with one trivial local hook.

Usage: python benchmarks/hook.py [ROUNDS]    (pushes to a local bare repository, turn by turn; needs git only)
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HOST = "host = true\n"
TRIVIAL = """\
repos:
- repo: local
  hooks:
  - {id: trivial, name: trivial, entry: "true", language: system, always_run: true, pass_filenames: false, stages: [pre-push]}
"""
FILES = {
    "thing.py": '"""A thing."""\n\n\ndef f():\n    """Give one."""\n    return 1\n',
    "pytest.ini": "[pytest]\npythonpath = .\n",
    "tests/test_thing.py": "import thing\n\n\ndef test_f():\n    assert thing.f() == 1\n",
    ".pre-commit-config.yaml": TRIVIAL,
}


def run(command: list[str], cwd: Path, env: dict[str, str]) -> tuple[float, str]:
    """Run a command that must succeed; give its wall seconds and what it said."""
    began = time.perf_counter()
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - began
    if done.returncode != 0:
        sys.exit(f"{command}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return seconds, done.stdout + done.stderr


def prepare(folder: Path, env: dict[str, str]) -> Path:
    """Lay out a project with a change that has evidence."""
    top = folder / "project"
    for name, text in FILES.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(text)
    for command in (
        "init -q -b main",
        "config user.name a",
        "config user.email a@example.org",
        "add -A",
        "commit -q -m start",
        f"remote add upstream {top}",
        "update-ref refs/remotes/upstream/main HEAD",
        "switch -q -c topic",
    ):
        run(["git", *command.split()], top, env)
    (top / "thing.py").write_text(FILES["thing.py"].replace("return 1", "return 2 - 1"))
    run([sys.executable, "-P", "-m", "presubmit", "run"], top, env)
    run(["git", "commit", "-q", "-a", "-m", "count"], top, env)
    return top


def hooks_of(top: Path, env: dict[str, str]) -> dict[str, Path]:
    """Install both hooks, each in a folder of its own."""
    found: dict[str, Path] = {}
    ours = [sys.executable, "-P", "-m", "presubmit", "hook", "install"]
    theirs = [sys.executable, "-m", "pre_commit", "install", "-t", "pre-push"]
    for name, install in (("presubmit", ours), ("pre-commit", theirs)):
        run(install, top, env)
        folder = top.parent / f"hooks-{name}"
        folder.mkdir()
        (top / ".git/hooks/pre-push").rename(folder / "pre-push")
        found[name] = folder
    return found


def main(rounds: int) -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory(prefix="presubmit-bench-") as name:
        folder = Path(name)
        config = folder / "config/presubmit/config.toml"
        config.parent.mkdir(parents=True)
        config.write_text(HOST)
        env = {
            **{k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"},
            "XDG_CACHE_HOME": str(folder / "cache"),
            "XDG_CONFIG_HOME": str(folder / "config"),
            "GIT_CONFIG_GLOBAL": os.devnull,
        }
        top = prepare(folder, env)
        hooks = hooks_of(top, env)
        empty = folder / "hooks-none"
        empty.mkdir()
        remote = folder / "remote.git"
        run(["git", "init", "-q", "--bare", str(remote)], folder, env)
        taken: dict[str, list[float]] = {"none": [], "presubmit": [], "pre-commit": []}
        for number in range(rounds):
            for kind, seconds in taken.items():
                place = hooks.get(kind, empty)
                push = ["git", "-c", f"core.hooksPath={place}", "push", str(remote)]
                wall, said = run([*push, f"topic:{kind}-{number}"], top, env)
                if kind == "presubmit" and "passed tier standard" not in said:
                    sys.exit(f"the push did not go by its evidence:\n{said}")
                if kind == "pre-commit" and "trivial" not in said:
                    sys.exit(f"pre-commit did not run its hook:\n{said}")
                seconds.append(wall)
        added = {
            kind: statistics.median(a - b for a, b in zip(taken[kind], taken["none"], strict=True))
            for kind in ("presubmit", "pre-commit")
        }
        print(f"{rounds} rounds, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
        for kind, seconds in taken.items():
            low, middle, high = min(seconds), statistics.median(seconds), max(seconds)
            print(f"{kind:<12} {low:6.3f} {middle:6.3f} {high:6.3f} s (min, median, max)")
        ratio = added["presubmit"] / added["pre-commit"]
        print(
            f"added        presubmit {added['presubmit']:.3f} s, pre-commit {added['pre-commit']:.3f} s: {ratio:.2f} of it"
        )
        if "--json" in sys.argv:
            Path("hook.json").write_text(json.dumps({**taken, "added": added, "ratio": ratio}))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 and sys.argv[1].isdigit() else 30)
