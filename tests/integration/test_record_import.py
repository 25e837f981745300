"""`presubmit record --import` where nothing but a checkout is there: no base, no image, no engine."""

from __future__ import annotations

import os
import subprocess
import sys
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from presubmit.history import RecordedRun
from presubmit.selector.recorded_file import write_exported
from presubmit.selector.recorded_index import Index, pack
from presubmit.selector.recorded_store import Stored
from presubmit.selector.recording import Ran

if TYPE_CHECKING:
    from tests.conftest import MakeRepo, Repo

ROOT = Path(__file__).parents[2]
FILES = {"pkg.py": "x = 1\n", "tests/test_a.py": "def test_x(): pass\n"}


def imported(repo: Repo, file: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", "-m", "presubmit", "record", "--import", str(file)],
        cwd=repo.path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "DOCKER_HOST": "unix:///nowhere"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.fixture
def repo(make_repo: MakeRepo) -> Repo:
    """Give a repository that has neither a remote nor a base."""
    made = make_repo(FILES)
    made.git("checkout", "-q", "--detach")
    made.git("branch", "-q", "-D", "main")
    return made


def exported(repo: Repo) -> bytes:
    rows = pack([Ran(context="test:tests/test_a.py::test_x")])
    run = RecordedRun(
        tree=repo.git("rev-parse", "HEAD^{tree}"),
        environment="e",
        setting="s",
        python="3.12",
        core="ctrace",
        commit="",
        at="2026-01-01T00:00:00Z",
        files=dict.fromkeys(FILES, "0" * 40),
    )
    return write_exported(
        [Stored(number=1, run=run, index=Index(lambda keys: {k: rows[k] for k in keys}))]
    )


def test_a_recording_is_taken_over_without_a_base_or_an_image(repo: Repo, tmp_path: Path) -> None:
    file = tmp_path / "ci.rec"
    file.write_bytes(exported(repo))
    done = imported(repo, file)
    assert done.returncode == 0, done.stderr
    assert "imported the records of 1 test from ci.rec" in done.stdout


def test_a_pipe_is_refused_and_not_waited_for(repo: Repo, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    done = imported(repo, tmp_path / "pipe")
    assert done.returncode == 2
    assert "no regular file" in done.stderr


def test_a_file_that_decompresses_to_too_much_is_refused(repo: Repo, tmp_path: Path) -> None:
    made = zlib.compressobj(1)
    block = bytes(1 << 24)
    body = b"".join(made.compress(block) for _ in range(17)) + made.flush()
    (tmp_path / "bomb").write_bytes(b"presubmit recording\n" + body)
    done = imported(repo, tmp_path / "bomb")
    assert done.returncode == 2
    assert "holds more than 256 MiB" in done.stderr
