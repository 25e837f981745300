"""`presubmit record` and what later runs make of it, on the host, in a small project without an installation."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.integration.run.conftest import wait_for

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

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
    "pkg/__init__.py": "",
    "pkg/a.py": """
from functools import lru_cache


def base(x):
    return x + 1


@lru_cache
def cached(x):
    return base(x)


def other(x):
    return x * 2
""",
    "pkg/unit.txt": "cm",
    "pkg/kept.txt": "m",
    "tests/test_unit.py": """
import functools
from pathlib import Path

import pkg

FOLDER = Path(pkg.__file__).parent


@functools.cache
def kept():
    return FOLDER.joinpath("kept.txt").read_text()


def test_unit():
    assert FOLDER.joinpath("unit.txt").read_text()


def test_filled():
    assert kept()


def test_served():
    assert kept()
""",
    "tests/test_a.py": """
from pkg import a


def test_base():
    assert a.base(1) == 2


def test_cached_first():
    assert a.cached(1) == 2


def test_cached_second():
    assert a.cached(1) == 2


def test_other():
    assert a.other(2) == 4
""",
    "tests/test_b.py": """
from pkg.a import other


def test_b():
    assert other(1) == 2
""",
}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a project and record it, once for all tests here: they edit it and put it back."""
    top = tmp_path_factory.mktemp("recorded")
    for name, text in FILES.items():
        (top / name).parent.mkdir(exist_ok=True)
        (top / name).write_text(text)
    git(top, "init", "-q", "-b", "main")
    git(top, "add", "-A")
    git(top, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "start")
    done = presubmit(top, "record", "--no-container", "--base", "main")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "8 tests" in done.stdout
    assert "0 without a sound record" in done.stdout
    return top


def git(top: Path, *args: str) -> None:
    subprocess.run(("git", *args), cwd=top, check=True)


def presubmit(top: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        (sys.executable, "-m", "presubmit", *args),
        cwd=top,
        env={**os.environ, "XDG_CACHE_HOME": str(top.parent / "cache")},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def edit(recorded: Path) -> Callable[[str, str, str], Path]:
    git(recorded, "checkout", "-q", ".")

    def change(name: str, old: str, new: str) -> Path:
        path = recorded / name
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))
        return recorded

    return change


def selected(top: Path) -> list[str]:
    done = presubmit(top, "select", "--base", "main")
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_changed_body_selects_the_single_tests_that_ran_it(
    edit: Callable[[str, str, str], Path],
) -> None:
    top = edit("pkg/a.py", "x * 2", "x * 2 + 0")
    assert selected(top) == ["tests/test_a.py::test_other", "tests/test_b.py"]


def test_a_test_that_a_cache_served_is_selected_too(
    edit: Callable[[str, str, str], Path],
) -> None:
    top = edit("pkg/a.py", "x + 1", "x + 1 + 0")
    assert selected(top) == [
        "tests/test_a.py::test_base",
        "tests/test_a.py::test_cached_first",
        "tests/test_a.py::test_cached_second",
    ]


def test_an_edit_at_import_selects_whole_files(edit: Callable[[str, str, str], Path]) -> None:
    top = edit("pkg/a.py", "def other", "REGISTERED = print()\n\n\ndef other")
    assert set(selected(top)) == {"tests/test_a.py", "tests/test_b.py"}


def test_a_changed_test_selects_itself(edit: Callable[[str, str, str], Path]) -> None:
    top = edit("tests/test_a.py", "a.other(2) == 4", "a.other(3) == 6")
    assert selected(top) == ["tests/test_a.py::test_other"]


def test_a_data_file_selects_the_one_test_that_read_it(
    edit: Callable[[str, str, str], Path],
) -> None:
    top = edit("pkg/unit.txt", "cm", "km")
    assert selected(top) == ["tests/test_unit.py::test_unit"]


def test_a_data_file_that_one_test_read_for_others_selects_their_file(
    edit: Callable[[str, str, str], Path],
) -> None:
    top = edit("pkg/kept.txt", "m", "km")
    assert selected(top) == ["tests/test_unit.py"]


def test_what_was_recorded_in_another_environment_is_not_used_and_that_is_said(
    edit: Callable[[str, str, str], Path], tmp_path: Path
) -> None:
    top = edit("pkg/a.py", "x * 2", "x * 2 + 0")
    config = tmp_path / "presubmit" / "config.toml"
    config.parent.mkdir()
    config.write_text('[container]\nenv = ["LEVEL=2"]\n')
    env = {**os.environ, "XDG_CONFIG_HOME": str(tmp_path)}
    command = (sys.executable, "-m", "presubmit", "select", "--base", "main", "--explain")
    done = subprocess.run(command, cwd=top, env=env, capture_output=True, text=True, check=True)
    assert "was made with other variables (container.env)" in done.stdout + done.stderr
    assert "presubmit record" in done.stdout + done.stderr
    assert "recorded tests" not in done.stdout


def test_what_is_recorded_is_not_run_again(edit: Callable[[str, str, str], Path]) -> None:
    top = edit("pkg/a.py", "x", "x")
    done = presubmit(top, "record", "--no-container", "--base", "main")
    assert done.returncode == 0
    assert "3 test files recorded before on this tree" in done.stdout


def test_a_run_tests_what_is_selected_and_records_it(
    edit: Callable[[str, str, str], Path],
) -> None:
    top = edit("pkg/a.py", "x * 2", "x * 3")
    done = presubmit(top, "run", "--no-container", "--base", "main", "--only", "tests")
    assert done.returncode == 1, done.stdout
    run = json.loads((top / ".presubmit/last/run.json").read_text())
    (step,) = (one for one in run["steps"] if one["role"] == "tests")
    assert (step["counts"]["passed"], step["counts"]["failed"]) == (0, 2)
    # A failing test stays selected, though what is edited next is nothing that it runs.
    (top / "pkg/a.py").write_text(FILES["pkg/a.py"].replace("x + 1", "1 + x"))
    assert selected(top) == ["tests/test_a.py"]


def test_an_exported_recording_narrows_in_another_checkout(recorded: Path, tmp_path: Path) -> None:
    git(recorded, "checkout", "-q", ".")
    file = tmp_path / "ci.rec"
    done = presubmit(recorded, "record", "--no-container", "--base", "main", "--export", str(file))
    assert done.returncode == 0, done.stdout + done.stderr
    other = tmp_path / "other"
    git(tmp_path, "clone", "-q", str(recorded), str(other))
    done = presubmit(other, "record", "--base", "main", "--import", str(file))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "imported the records of 8 tests from ci.rec" in done.stdout
    path = other / "pkg/a.py"
    path.write_text(path.read_text().replace("x * 2", "x * 2 + 0"))
    said = presubmit(other, "select", "--base", "main", "--explain").stdout
    assert "imported from ci.rec" in said
    assert selected(other) == ["tests/test_a.py::test_other", "tests/test_b.py"]


def test_a_file_that_is_no_recording_is_refused(recorded: Path, tmp_path: Path) -> None:
    (tmp_path / "junk").write_bytes(b"junk")
    done = presubmit(recorded, "record", "--base", "main", "--import", str(tmp_path / "junk"))
    assert done.returncode == 2
    assert "no file of `presubmit record --export`" in done.stderr


def test_what_was_recorded_before_an_interruption_is_kept(tmp_path: Path) -> None:
    top, marker = tmp_path / "cut", tmp_path / "marker"
    slow = f"""
import time
from pathlib import Path


def test_slow():
    if not Path({str(marker)!r}).exists():
        Path({str(marker)!r}).touch()
        time.sleep(120)
"""
    for name, text in {**FILES, "tests/test_c.py": slow}.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(text)
    git(top, "init", "-q", "-b", "main")
    git(top, "add", "-A")
    git(top, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "start")
    command = (sys.executable, "-m", "presubmit", "record", "--no-container", "--base", "main")
    process = subprocess.Popen(
        command, cwd=top, env={**os.environ, "XDG_CACHE_HOME": str(top.parent / "cache")}
    )
    assert wait_for(marker.exists, 90)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    path = top / "pkg/a.py"
    path.write_text(path.read_text().replace("x * 2", "x * 2 + 0"))
    assert selected(top) == ["tests/test_a.py::test_other", "tests/test_b.py"]
    git(top, "checkout", "-q", ".")
    done = presubmit(top, "record", "--no-container", "--base", "main")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 test files recorded before on this tree" in done.stdout
    assert "recorded 9 tests" in done.stdout


def test_what_has_no_sound_record_is_said_with_its_reasons(tmp_path: Path) -> None:
    top = tmp_path / "odd"
    odd = """
import sys

import pytest


@pytest.mark.parametrize("value", [1, 2, 3])
def test_cases(value):
    assert value


def test_tr():
    sys.settrace(None)


def test_only_recorded():
    assert sys.gettrace() is None


@pytest.mark.skip
def test_skipped():
    pass
"""
    for name, text in {**FILES, "tests/test_odd.py": odd}.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(text)
    git(top, "init", "-q", "-b", "main")
    git(top, "add", "-A")
    git(top, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "start")
    said = presubmit(top, "record", "--no-container", "--base", "main").stdout
    alone = (
        "1 test of them passed alone without the recorder: tests/test_odd.py::test_only_recorded"
    )
    assert alone in said, said
    assert "1 skipped: they have no record of what they would run" in said
    assert "recorded 12 tests (14 cases) in" in said
    assert "2 without a sound record: 1 failed (tests/test_odd.py::test_only_recorded)," in said
    assert "1 replaced the tracer (tests/test_odd.py::test_tr)" in said
