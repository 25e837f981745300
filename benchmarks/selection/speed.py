"""Measures `presubmit select` on a large tree.

    python benchmarks/selection/speed.py [--work DIR] [PACKAGE...]

The tree is made of wheels from the package registry, unpacked into one git repository. Printed are processor seconds,
wall seconds and the largest memory of the cold start, of warm starts, and after one more edit.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

PACKAGES = (
    "sympy",
    "networkx",
    "numpy",
    "scipy",
    "pip",
    "matplotlib",
    "statsmodels",
    "scikit-learn",
)
KEPT = (".py", ".json", ".toml", ".txt", ".html", ".yaml")
EDITED = "sympy/ntheory/primetest.py"
WHO = ("-c", "user.name=bench", "-c", "user.email=bench@example.org")


def make_tree(work: Path, packages: list[str]) -> Path:
    """Make the repository, once."""
    tree = work / "tree"
    if (tree / ".git").is_dir():
        return tree
    with tempfile.TemporaryDirectory(dir=work) as wheels:
        pip = (
            sys.executable,
            "-m",
            "pip",
            "download",
            "-q",
            "--no-deps",
            "--only-binary",
            ":all:",
        )
        subprocess.run((*pip, "-d", wheels, *packages), check=True)
        for wheel in sorted(Path(wheels).glob("*.whl")):
            with zipfile.ZipFile(wheel) as archive:
                names = [name for name in archive.namelist() if name.endswith(KEPT)]
                archive.extractall(tree, names)
    (tree / "pyproject.toml").write_text('[project]\nname = "tree"\nversion = "1"\n')
    for words in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-q", "-m", "base")):
        subprocess.run(("git", *WHO, *words), cwd=tree, check=True)
    return tree


def edit(tree: Path, old: str, new: str) -> None:
    """Change one function in the middle of the import graph."""
    subprocess.run(("git", "checkout", "-q", "--", EDITED), cwd=tree, check=True)
    path = tree / EDITED
    before, start, after = path.read_text("utf-8").partition("def isprime(n):")
    if old not in after:
        sys.exit(f"{EDITED} has changed: {old!r} is not in isprime")
    path.write_text(before + start + after.replace(old, new, 1))


def measure(tree: Path, cache: Path, name: str) -> None:
    """Run one selection and print what it took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    done = subprocess.run(
        (sys.executable, "-P", "-m", "presubmit", "select", "--base", "HEAD", "--format", "files"),
        cwd=tree,
        env=os.environ | {"XDG_CACHE_HOME": str(cache)},
        capture_output=True,
        text=True,
        check=True,
    )
    wall = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    # The largest child so far: the cold start comes first, so later rows repeat its memory where they need less.
    print(
        f"{name:12} {cpu:7.2f} CPU s {wall:7.2f} s {after.ru_maxrss // 1024:5} MB"
        f" {len(done.stdout.splitlines()):5} test files",
        flush=True,
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("packages", nargs="*", default=list(PACKAGES))
    parser.add_argument(
        "--work", type=Path, default=Path(tempfile.gettempdir()) / "presubmit-speed"
    )
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    tree = make_tree(options.work, options.packages)
    files = sum(1 for _ in tree.rglob("*.py"))
    print(f"{files} Python files")
    for name in ("selection.db", "selection.db-wal", "selection.db-shm"):
        (tree / ".git" / "presubmit" / name).unlink(missing_ok=True)
    cache = options.work / "cache"
    edit(tree, "n = as_int(n)", "n = as_int(n) + 1 - 1")
    measure(tree, cache, "cold")
    for _ in range(3):
        measure(tree, cache, "warm")
    edit(tree, "n = as_int(n)", "n = as_int(n) + 2 - 2")
    measure(tree, cache, "another edit")
    edit(tree, "Test if n is", "Test whether n is")
    for name in ("docstring", "warm"):
        measure(tree, cache, name)


if __name__ == "__main__":
    main()
