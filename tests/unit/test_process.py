from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from presubmit.process import Completed, call, run, scrubbed_environment

if TYPE_CHECKING:
    from pathlib import Path


def python(code: str) -> tuple[str, ...]:
    return (sys.executable, "-I", "-c", code)


@pytest.mark.parametrize(
    "name", ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_CONFIG"]
)
def test_what_git_exports_to_a_hook_is_dropped(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "x")
    assert name not in scrubbed_environment()


@pytest.mark.parametrize(
    "name",
    [
        "GIT_SSH_COMMAND",
        "GIT_ASKPASS",
        "GIT_CONFIG_COUNT",
        "GIT_CONFIG_KEY_0",
        "GIT_CONFIG_VALUE_0",
    ],
)
def test_what_a_user_sets_to_reach_a_remote_is_kept(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "x")
    assert scrubbed_environment()[name] == "x"


def test_extra_variables_go_on_top_even_those_of_git(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_DIR", "theirs")
    assert scrubbed_environment({"GIT_DIR": "ours"})["GIT_DIR"] == "ours"


def test_a_process_gives_its_exit_code_and_both_streams() -> None:
    code = "import sys; print('a'); print('b', file=sys.stderr); sys.exit(3)"
    done = run(python(code))
    assert (done.exit_code, done.stdout, done.stderr) == (3, b"a\n", b"b\n")


def test_a_process_reads_nothing_from_our_standard_input() -> None:
    assert run(python("import sys; print(repr(sys.stdin.read()))")).stdout == b"''\n"


def test_a_process_reads_what_it_is_given() -> None:
    done = run(python("import sys; print(sys.stdin.read().upper())"), stdin=b"abc")
    assert done.stdout == b"ABC\n"


def test_a_process_runs_where_it_is_told(tmp_path: Path) -> None:
    done = run(python("import os; print(os.getcwd())"), cwd=tmp_path)
    assert f"{tmp_path}\n" == done.text


def test_a_process_gets_the_variables_it_is_given() -> None:
    done = run(python("import os; print(os.environ['PROBE'])"), env={"PROBE": "yes"})
    assert done.text == "yes\n"


def test_a_process_that_takes_too_long_is_ended() -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        run(python("import time; time.sleep(60)"), timeout=0.1)


def test_a_process_that_a_signal_ends_has_a_negative_exit_code() -> None:
    assert run(python("import os; os.kill(os.getpid(), 9)")).exit_code == -9


def test_a_program_that_is_missing_is_told_as_such() -> None:
    with pytest.raises(FileNotFoundError):
        run(("presubmit-no-such-program",))


def completed(stdout: bytes = b"", stderr: bytes = b"") -> Completed:
    return Completed(command=("x",), exit_code=1, stdout=stdout, stderr=stderr)


def test_output_that_is_not_utf_8_survives_as_text() -> None:
    assert completed(stdout=b"\xff").text == "\udcff"


def test_a_complaint_is_the_end_of_standard_error() -> None:
    lines = b"\n".join(b"%d" % number for number in range(9))
    assert completed(stdout=b"x", stderr=lines + b"\n").complaint == "4\n5\n6\n7\n8"


def test_a_complaint_is_taken_from_standard_output_where_the_other_is_empty() -> None:
    assert completed(stdout=b"no \xff\n", stderr=b"\n").complaint == "no \\xff"


@pytest.mark.parametrize(
    ("code", "exit_code"),
    [("import sys; sys.exit(3)", 3), ("import os; os.kill(os.getpid(), 9)", 137)],
)
def test_a_process_in_the_callers_terminal_ends_as_a_shell_says(
    code: str, exit_code: int, tmp_path: Path
) -> None:
    assert call(python(code), cwd=tmp_path) == exit_code
