"""`.pre-commit-hooks.yaml` as pre-commit itself reads, installs and runs it: real pushes through its pre-push hook."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.conftest import run_git
from tests.integration.run.pusher import FILES, GREEN, RED, TESTED, Pusher

if TYPE_CHECKING:
    from tests.integration.run.conftest import MakeProject

pytestmark = pytest.mark.network

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def hooks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a repository of these sources as they are here, which pre-commit can clone."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    names = [name for name in listed.stdout.split("\0") if name]
    if ".pre-commit-hooks.yaml" not in names:
        pytest.skip("the sources are no git checkout, so pre-commit cannot clone them")
    folder = tmp_path_factory.mktemp("hooks") / "presubmit"
    for name in names:
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    run_git(folder, "init", "-q", "-b", "main")
    run_git(folder, "add", "-A", "-f")
    run_git(folder, "commit", "-q", "-m", "As it is here")
    return folder


def pre_commit(pusher: Pusher, *args: str) -> None:
    """Run pre-commit in the checkout."""
    done = subprocess.run(
        [sys.executable, "-m", "pre_commit", *args],
        cwd=pusher.path,
        env=pusher.env,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode and os.environ.get("PRESUBMIT_REQUIRE_NETWORK") != "1":
        pytest.skip(f"pre-commit cannot install the hook: {done.stdout[-300:]}")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def pusher(
    make_project: MakeProject, hooks: Path, tmp_path_factory: pytest.TempPathFactory
) -> Pusher:
    """Make a checkout in which pre-commit has the hook, and an environment that tests run in."""
    folder = tmp_path_factory.mktemp("pre-commit")
    run_git(folder, "init", "-q", "--bare", str(folder / "remote.git"))
    config = (
        f"repos:\n- repo: {hooks}\n  rev: {run_git(hooks, 'rev-parse', 'HEAD')}\n"
        "  hooks:\n  - id: presubmit\n"
    )
    project = make_project("pre-commit", files={**FILES, ".pre-commit-config.yaml": config})
    made = Pusher(project, folder / "remote.git", folder / "config")
    made.env["PRE_COMMIT_HOME"] = str(folder / "store")
    made.configure("")
    pre_commit(made, "install", "-t", "pre-push", "--install-hooks")
    return made


def test_a_tested_tree_goes_on_at_once(pusher: Pusher) -> None:
    pusher.git("checkout", "-q", "-B", "tested", "start")
    pusher.project.edit(*GREEN)
    code, output = pusher.presubmit("run")
    assert code == 0, output
    pusher.git("commit", "-q", "-a", "-m", "Count down")
    code, said = pusher.push("tested")
    assert (code, TESTED in said) == (0, True), said
    assert "syntax" not in said  # nothing was run
    assert pusher.has("tested")


def test_another_tree_is_run_through_tier_quick(pusher: Pusher) -> None:
    pusher.git("checkout", "-q", "-B", "untested", "start")
    pusher.commit(("thing.py", "return 1", "return 3 - 2"))
    code, said = pusher.push("untested")
    assert (code, TESTED in said) == (0, False), said
    assert "tier quick passed" in said
    assert pusher.has("untested")


def test_a_new_failure_stops_the_push(pusher: Pusher) -> None:
    pusher.git("checkout", "-q", "-B", "red", "start")
    pusher.commit(RED)
    code, said = pusher.push("red")
    assert (code, "PUSH REFUSED" in said) == (1, True), said
    assert "tests/test_thing.py::test_b" in said
    assert not pusher.has("red")
