"""What a replay leaves alone: the checkout, byte for byte; and whose the files are that it makes."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from presubmit.replay.job.outcome import file_name
from tests.integration.run.test_attacks import OTHER, interpreter_for, state_of

if TYPE_CHECKING:
    from tests.integration.run.conftest import MakeProject, Relay

pytestmark = pytest.mark.engine

WORKFLOW = """
on: pull_request
jobs:
  spoil:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - name: spoil
        run: |
          id -u
          rm -rf tracked.txt folder
          echo spoiled >notes.txt; echo new >made.txt; mkdir -p deep/er; echo x >deep/er/file
          git config user.name x; git commit -q -a -m spoiled --author 'x <x@x>' || true
          git tag spoiled; git update-ref -d refs/remotes/origin/main || true
          chmod -R a-w . || true
      - uses: actions/upload-artifact@v4
        with: {name: made, path: made.txt}
      - uses: actions/cache@v4
        with: {path: deep, key: k}
      - {name: more, run: 'sudo touch "$RUNNER_TOOL_CACHE/tool" "$PRESUBMIT_CACHES/mine"; echo "# s" >>$GITHUB_STEP_SUMMARY'}
"""
FILES = {
    "tracked.txt": "tracked\n",
    "folder/file.txt": "in a folder\n",
    ".github/workflows/ci.yml": WORKFLOW,
}


def test_the_checkout_is_untouched_whatever_the_steps_do(
    make_project: MakeProject, in_container: tuple[str, ...]
) -> None:
    project = make_project("untouched", files=FILES)
    (project.path / "tracked.txt").write_text("changed\n")
    project.git("add", "tracked.txt")
    (project.path / "tracked.txt").write_text("changed again\n")
    (project.path / "notes.txt").write_text("mine\n")
    (project.path / "build").mkdir()
    (project.path / "build/ignored").write_text("ignored\n")
    refs = project.git("for-each-ref"), project.git("status", "--porcelain=v2", "--ignored")
    before = state_of(project.path)
    done = project.presubmit("replay", "--all", "--as-root", *in_container)
    assert done.exit_code == 0, done.output
    assert state_of(project.path) == before
    now = project.git("status", "--porcelain=v2", "--ignored").splitlines()
    assert project.git("for-each-ref") == refs[0]
    assert [line for line in now if ".presubmit" not in line] == refs[1].splitlines()
    again = project.presubmit("replay", "--all", "--as-root", *in_container)
    assert again.exit_code == 0, again.output


def test_as_an_ordinary_user_every_file_is_the_users_even_where_steps_are_root(
    make_project: MakeProject, in_container: tuple[str, ...], relay: Relay
) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    made = make_project("ordinary-replay", files=FILES)
    with tempfile.TemporaryDirectory(prefix="presubmit-test-", dir="/var/tmp") as name:
        folder = Path(name)
        folder.chmod(0o755)
        top = folder / "ordinary"
        shutil.copytree(made.path, top, symlinks=True)
        (folder / "home").mkdir()
        subprocess.run(["git", "remote", "set-url", "upstream", str(top)], cwd=top, check=True)
        (top / "tracked.txt").write_text("changed\n")
        subprocess.run(["chown", "-R", f"{OTHER}:{OTHER}", str(folder)], check=True)
        before = state_of(top)
        python, path = interpreter_for(folder)
        env = {
            **{k: v for k, v in made.env.items() if not k.startswith(("XDG_", "GIT_"))},
            "HOME": str(folder / "home"),
            "DOCKER_HOST": relay.host,
            "PYTHONPATH": path,
        }
        for arguments in (("--as-root",), ("--as-root", "-j", "2")):
            done = subprocess.run(
                [python, "-P", "-m", "presubmit", "replay", "--all", *arguments, *in_container],
                cwd=top,
                env=env,
                user=OTHER,
                group=OTHER,
                extra_groups=[],
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, done.stdout + done.stderr
            log = top / f".presubmit/last/logs/{file_name('ci.yml/spoil')}.log"
            assert "\n0\n" in log.read_text()
        assert state_of(top) == before
        everything = [Path(where, n) for where, d, f in os.walk(folder) for n in [*d, *f]]
        assert len(everything) > 50
        foreign = [str(one) for one in everything if one.lstat().st_uid != OTHER]
        assert foreign == []
        for one in (
            top / ".presubmit/last/artifacts/made/made.txt",
            *(folder / "home").rglob("tool"),
        ):
            one.unlink()
