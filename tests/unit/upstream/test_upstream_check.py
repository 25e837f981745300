"""`presubmit upstream check`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from presubmit.cli import upstream as module
from presubmit.cli.upstream import upstream
from presubmit.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

GOOD = "on: push\njobs: {a: {runs-on: x}}\n"


def check(*arguments: str) -> object:
    return upstream.main(["check", *arguments], standalone_mode=False)


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("workflows/b.yml", "workflows/a.yaml", "actions/x/action.yml"):
        (tmp_path / ".github" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / ".github" / name).write_text(GOOD)
    (tmp_path / ".github/actions/x/action.yml").write_text("runs: {using: node20, main: x}\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(module, "_top", lambda: tmp_path)
    return tmp_path


def test_all_files_of_the_checkout_are_checked(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check() == 0
    assert capsys.readouterr().out == "3 files, 0 errors, 0 warnings\n"


def test_warnings_are_shown_and_allowed(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (checkout / ".github/workflows/b.yml").write_text(f"{GOOD}new-key: 1\n")
    assert check() == 0
    assert capsys.readouterr().out.splitlines() == [
        ".github/workflows/b.yml:3:1: warning: the key 'new-key' is not known",
        "3 files, 0 errors, 1 warning",
    ]


def test_a_bad_file_does_not_stop_the_others(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (checkout / ".github/workflows/a.yaml").write_bytes(b"\xff\xfejunk")
    (checkout / ".github/workflows/b.yml").write_text("on: push\n")
    assert check() == 1
    assert capsys.readouterr().out.splitlines() == [
        ".github/workflows/a.yaml:1:1: the file is UTF-16; save it as UTF-8",
        ".github/workflows/b.yml:1:1: the key 'jobs' is missing",
        "3 files, 2 errors, 0 warnings",
    ]


def test_only_the_files_that_are_named_are_checked(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (checkout / "mine.yml").write_text("on: push\n")
    assert check("mine.yml") == 1
    assert capsys.readouterr().out.splitlines() == [
        "mine.yml:1:1: the key 'jobs' is missing",
        "1 file, 1 error, 0 warnings",
    ]


def test_a_file_that_is_not_there_is_a_usage_error(checkout: Path) -> None:
    with pytest.raises(UsageError, match=r"no such file: gone\.yml"):
        check(".github/workflows/b.yml", "gone.yml")


def test_a_checkout_without_workflows_has_no_errors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(module, "_top", lambda: tmp_path)
    assert check() == 0
    assert capsys.readouterr().out == "0 files, 0 errors, 0 warnings\n"


def test_a_pipe_in_the_place_of_a_workflow_is_a_problem_and_no_wait(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (checkout / ".github/workflows/b.yml").unlink()
    os.mkfifo(checkout / ".github/workflows/b.yml")
    assert check() == 1
    assert ".github/workflows/b.yml: cannot be read: not a regular file" in capsys.readouterr().out


def test_control_characters_of_a_file_do_not_reach_the_terminal(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (checkout / "x.yml").write_text(f'{GOOD}"\\e[31mred": 1\n')
    check("x.yml")
    assert "\x1b" not in capsys.readouterr().out
