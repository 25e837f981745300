from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from presubmit.container.host import HostBox
from presubmit.container.model import ExecOutcome
from presubmit.errors import EngineError
from presubmit.replay.job.driver import Driver, StepEnd, open_driver

if TYPE_CHECKING:
    from collections.abc import Iterator


class Run:
    """Runs commands through a driver and keeps what they print."""

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self.printed = {1: b"", 2: b""}

    def __call__(
        self, *argv: str, env: dict[str, str] | None = None, timeout: float = 20, **given: Any
    ) -> StepEnd:
        self.printed = {1: b"", 2: b""}
        whole = {"PATH": self.driver.environment["PATH"], **(env or {})}
        return self.driver.run(
            argv,
            **{"env": whole, "cwd": "", "timeout": timeout, "on_output": self._hear, **given},
        )

    def _hear(self, stream: int, data: bytes) -> None:
        self.printed[stream] += data


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    with open_driver(HostBox(workdir=str(tmp_path)), log=tmp_path / "log") as driver:
        yield Run(driver)


def is_there(pid: int) -> bool:
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z"


@pytest.mark.parametrize("code", [0, 7, 126, 127, 137, 255])
def test_exit_codes_come_through(run: Run, code: int) -> None:
    end = run("sh", "-c", f"exit {code}")
    assert (end.outcome, end.exit_code) == (ExecOutcome.EXITED, code)


def test_a_signal_is_128_and_its_number(run: Run) -> None:
    assert run("sh", "-c", "kill -9 $$").exit_code == 137


def test_output_comes_by_stream_and_needs_no_final_line_end(run: Run) -> None:
    run("sh", "-c", "printf out; printf '\\377\\0' >&2")
    assert run.printed == {1: b"out", 2: b"\xff\0"}


def test_the_environment_is_just_what_was_given(run: Run) -> None:
    run("cat", "/proc/self/environ", env={"INPUT_FETCH-DEPTH": "a\nb", "Q": "it's"})
    found = dict(pair.split(b"=", 1) for pair in run.printed[1].split(b"\0") if pair)
    assert set(found) == {b"PATH", b"INPUT_FETCH-DEPTH", b"Q", b"PRESUBMIT_EXEC"}
    assert (found[b"INPUT_FETCH-DEPTH"], found[b"Q"]) == (b"a\nb", b"it's")


def test_a_step_that_reads_gets_nothing(run: Run) -> None:
    assert run("cat").exit_code == 0


def test_what_cannot_start_says_why(run: Run) -> None:
    for end, reason in (
        (run("no-such-program"), "no-such-program: command not found"),
        (run("true", cwd="/no/where"), "the working directory /no/where does not exist"),
        (run("true", env={"A": "\0"}), "the variable A contains a NUL byte"),
        (run("true", env={"A": "x" * 200_000}), "Argument list too long"),
    ):
        assert (end.outcome, end.exit_code) == (ExecOutcome.START_FAILED, None)
        assert reason in end.reason


def test_folders_are_relative_to_the_box(run: Run, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    run("pwd", cwd="sub")
    assert run.printed[1].decode().strip() == str(tmp_path / "sub")


def test_a_timeout_ends_everything(run: Run) -> None:
    begun = time.monotonic()
    script = (
        "trap '' TERM; setsid sh -c \"trap '' TERM; echo \\$\\$; sleep 50\" & sleep 50; sleep 50"
    )
    end = run("sh", "-c", script, timeout=0.5, grace=0.2)
    assert (end.outcome, end.exit_code, end.leaked) == (ExecOutcome.TIMEOUT, None, ())
    assert time.monotonic() - begun < 25
    assert not is_there(int(run.printed[1]))


def test_what_a_step_leaves_goes_on_unheard_until_the_driver_is_closed(tmp_path: Path) -> None:
    with open_driver(HostBox(workdir=str(tmp_path)), log=tmp_path / "log") as driver:
        run = Run(driver)
        end = run("sh", "-c", "(while :; do echo leak; sleep 0.05; done) & echo $!")
        pid = int(
            run.printed[1].split()[0] if run.printed[1][:1] != b"l" else run.printed[1].split()[1]
        )
        assert end.exit_code == 0
        assert len(end.leaked) >= 1
        begun = time.monotonic()
        assert run("sh", "-c", "echo next").exit_code == 0
        assert time.monotonic() - begun < 20
        assert run.printed[1] == b"next\n"
        assert is_there(pid)
    assert not is_there(pid)
    assert "left running by a step" in (tmp_path / "log").read_text()


def test_a_daemon_with_its_own_session_ends_with_the_driver(tmp_path: Path) -> None:
    with open_driver(HostBox(workdir=str(tmp_path)), log=tmp_path / "log") as driver:
        run = Run(driver)
        run(
            "sh",
            "-c",
            "setsid sh -c 'echo $$ >pid; exec sleep 60' >/dev/null 2>&1 & until test -s pid; do sleep 0.01; done",
        )
        pid = int((tmp_path / "pid").read_text())
        assert is_there(pid)
    assert not is_there(pid)


def test_the_last_words_of_a_child_are_heard(run: Run) -> None:
    run("sh", "-c", "(sleep 0.1; echo late) & echo main")
    assert run.printed[1] == b"main\nlate\n"


def test_an_exception_of_the_listener_ends_the_step_and_is_raised(run: Run) -> None:
    def interrupt(stream: int, data: bytes) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run("sh", "-c", "echo x; sleep 50", on_output=interrupt, grace=0.2)
    assert run("true").exit_code == 0


def test_a_trivial_step_takes_milliseconds(run: Run) -> None:
    run("true")
    begun = time.monotonic()
    for _ in range(30):
        assert run("true", env={f"V{n}": "x" * 60 for n in range(60)}).exit_code == 0
    assert (time.monotonic() - begun) / 30 < 0.1


def test_children_see_an_interrupt(run: Run) -> None:
    code = "import os, signal\ntry:\n os.kill(os.getpid(), signal.SIGINT)\nexcept KeyboardInterrupt:\n print('seen')"
    run(sys.executable, "-c", code)
    assert run.printed[1] == b"seen\n"


def test_another_kind_of_box_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="of the kind object"), contextlib.ExitStack() as stack:
        stack.enter_context(open_driver(object(), log=tmp_path / "log"))  # type: ignore[arg-type]


def test_a_step_that_kills_its_group_ends_only_itself(run: Run) -> None:
    assert run("sh", "-c", "kill -9 0").exit_code == 128 + signal.SIGKILL
    assert os.getpid() > 0
    assert run("true").exit_code == 0
