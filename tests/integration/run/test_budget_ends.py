"""A budget that ends a run: what was done until then is reported, on the host, in a small project."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import run_git

pytestmark = pytest.mark.skipif(
    os.environ.get("PRESUBMIT_REQUIRE_NETWORK") != "1", reason="installs pytest from the index"
)

FILES = {
    "pyproject.toml": """
[project]
name = "pkg"
version = "1"

[tool.presubmit.build]
mode = "none"
packages = ["pytest"]
""",
    "pkg.py": "VALUE = 1\n",
    "tests/test_a.py": "import pkg\n\n\ndef test_a():\n    assert pkg.VALUE == 1\n",
    "tests/test_b.py": """
import time

import pkg


def test_quick():
    assert pkg.VALUE


def test_slow():
    time.sleep(pkg.VALUE * 60)
""",
    "tests/test_c.py": "import pkg\n\n\ndef test_c():\n    assert pkg.VALUE\n",
}


def presubmit(top: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    root = str(Path(__file__).parents[3])
    cache = str(top.parent / "cache")
    return subprocess.run(
        [sys.executable, "-P", "-m", "presubmit", *arguments],
        cwd=top,
        env={**os.environ, "PYTHONPATH": root, "XDG_CACHE_HOME": cache},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Give a checkout with a change that makes one test fail and another one sleep."""
    top = tmp_path / "project"
    for name, text in FILES.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(text)
    run_git(top, "init", "-q", "-b", "main")
    run_git(top, "config", "user.name", "A. Contributor")
    run_git(top, "config", "user.email", "contributor@example.org")
    run_git(top, "add", "-A")
    run_git(top, "commit", "-q", "-m", "Start")
    (top / "pkg.py").write_text("VALUE = 2\nprint()\n")
    return top


ASKED = ("--no-container", "--base", "main", "--only", "tests")


def test_failures_that_were_there_when_the_budget_ended_are_reported(project: Path) -> None:
    built = presubmit(project, "run", *ASKED, "--budget", "0.5")
    assert built.returncode == 4, built.stdout + built.stderr
    assert "the build alone took longer than the budget" in built.stdout
    assert "ERROR" not in built.stdout
    assert presubmit(project, "run", *ASKED, "--", "-k", "test_a").returncode == 1
    done = presubmit(project, "run", *ASKED, "--budget", "15")
    assert done.returncode == 1, done.stdout + done.stderr
    run: dict[str, Any] = json.loads((project / ".presubmit/last/run.json").read_text())
    (step,) = (one for one in run["steps"] if one["role"] == "tests")
    assert (step["counts"]["failed"], step["counts"]["passed"]) == (1, 1)
    assert step["seconds"] > 1
    assert [one["subject"] for one in run["failures"]] == ["tests/test_a.py::test_a"]
    assert run["not_run"] == ["tests.1: 2 of 3 affected test files not run to their end: budget"]
