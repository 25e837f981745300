from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from presubmit.container import attach
from presubmit.container.host import HostBox
from presubmit.container.model import ExecOutcome, ExecResult
from presubmit.container.output import TAIL_CHARACTERS
from presubmit.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def box(tmp_path: Path) -> HostBox:
    return HostBox(workdir=str(tmp_path))


@pytest.fixture
def run(box: HostBox, tmp_path: Path) -> Callable[..., ExecResult]:
    def run(*argv: str, timeout: float = 20, **given: Any) -> ExecResult:
        return box.exec(argv, log=tmp_path / "log", timeout=timeout, **given)

    return run


def lives(pid: int) -> bool:
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z"


def test_exit_codes_come_through(run: Callable[..., ExecResult]) -> None:
    assert run("true").ok
    assert run("sh", "-c", "exit 7").exit_code == 7
    assert (run("sh", "-c", "kill -9 $$").exit_code, run("sh", "-c", "kill -9 $$").outcome) == (
        137,
        ExecOutcome.EXITED,
    )


def test_what_cannot_start_says_why(run: Callable[..., ExecResult], tmp_path: Path) -> None:
    found = run("no-such-program")
    assert (found.outcome, found.exit_code) == (ExecOutcome.START_FAILED, None)
    assert "no-such-program" in found.reason
    assert run("true", cwd="missing").outcome is ExecOutcome.START_FAILED


def test_output_goes_to_the_log_and_the_listener(
    run: Callable[..., ExecResult], tmp_path: Path
) -> None:
    heard: list[str] = []
    found = run("sh", "-c", "echo out; echo err >&2", on_output=heard.append)
    assert sorted("".join(heard).split()) == ["err", "out"]
    assert sorted((tmp_path / "log").read_text().split()) == ["err", "out"]
    assert sorted(found.tail.split()) == ["err", "out"]
    run("echo", "more")
    assert (tmp_path / "log").read_text().endswith("more\n")


def test_a_timeout_ends_the_whole_tree(run: Callable[..., ExecResult], tmp_path: Path) -> None:
    script = (
        "trap '' TERM; setsid sh -c \"trap '' TERM; echo \\$\\$; sleep 50\" & sleep 50; sleep 50"
    )
    begun = time.monotonic()
    found = run("sh", "-c", script, timeout=0.7, grace=0.3)
    assert (found.outcome, found.exit_code, found.leaked) == (ExecOutcome.TIMEOUT, None, ())
    assert time.monotonic() - begun < 25
    assert not lives(int(found.tail.split()[0]))


def test_term_comes_first_so_that_reports_are_written(run: Callable[..., ExecResult]) -> None:
    found = run(
        "sh",
        "-c",
        "trap 'echo saved; exit' TERM; while :; do sleep 0.05; done",
        timeout=0.5,
        grace=5,
    )
    assert found.outcome is ExecOutcome.TIMEOUT
    assert "saved" in found.tail


def test_a_leaked_child_is_named_and_ended(run: Callable[..., ExecResult]) -> None:
    found = run("sh", "-c", "setsid sleep 51 & echo $!")
    assert found.ok
    assert found.leaked == ("sleep 51",)
    assert not lives(int(found.tail))


def test_a_child_that_dropped_its_environment_is_ended_by_its_session(
    run: Callable[..., ExecResult],
) -> None:
    found = run("sh", "-c", "env -i sleep 52 >/dev/null 2>&1 & echo $!; sleep 0.1")
    assert found.leaked == ("sleep 52",)
    assert not lives(int(found.tail))


def test_a_process_that_closed_its_streams_is_waited_for(run: Callable[..., ExecResult]) -> None:
    found = run("sh", "-c", "exec >&- 2>&-; sleep 0.5; exit 4")
    assert found.exit_code == 4
    assert found.seconds > 0.4


def test_secrets_are_masked_everywhere(run: Callable[..., ExecResult], tmp_path: Path) -> None:
    heard: list[str] = []
    script = "printf hunt; sleep 0.2; printf 'er2 '; printf 'hunter2\\n' >&2"
    found = run("sh", "-c", script, "hunter2", secrets=["hunter2"], on_output=heard.append)
    for text in ("".join(heard), (tmp_path / "log").read_text(), found.tail, " ".join(found.argv)):
        assert "hunter2" not in text
    assert found.tail.count("***") == 2


def test_junk_bytes_survive(run: Callable[..., ExecResult], tmp_path: Path) -> None:
    heard: list[str] = []
    found = run(
        sys.executable,
        "-c",
        "import os,time\nos.write(1,b'\\xff\\xc3'); time.sleep(.2); os.write(1,b'\\xa9\\x00ok')",
        on_output=heard.append,
    )
    assert "".join(heard) == found.tail == "\ufffdé\0ok"
    assert (tmp_path / "log").read_bytes() == b"\xff\xc3\xa9\x00ok"


def test_much_output_leaves_a_short_tail(run: Callable[..., ExecResult], tmp_path: Path) -> None:
    found = run("sh", "-c", "head -c 20000000 /dev/zero | tr '\\0' x; echo; echo end")
    assert found.ok
    assert (tmp_path / "log").stat().st_size == 20_000_005
    assert len(found.tail) <= TAIL_CHARACTERS
    assert found.tail.endswith("end\n")


def test_a_failing_listener_ends_the_command_and_is_raised(
    run: Callable[..., ExecResult], tmp_path: Path
) -> None:
    def fail(_: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run("sh", "-c", "echo $$ > pid; echo x; sleep 53", on_output=fail, grace=0.2)
    assert not lives(int((tmp_path / "pid").read_text()))


def test_only_a_short_list_of_the_callers_environment_passes(
    run: Callable[..., ExecResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "x")
    monkeypatch.setenv("SSH_AUTH_SOCK", "x")
    monkeypatch.setenv("PIP_INDEX_URL", "x")
    monkeypatch.setenv("GIT_DIR", "x")
    names = {line.partition("=")[0] for line in run("env", env={"MINE": "1"}).tail.splitlines()}
    assert {"PATH", "MINE", "GIT_OPTIONAL_LOCKS"} <= names
    assert not names & {"AWS_SECRET_ACCESS_KEY", "SSH_AUTH_SOCK", "PIP_INDEX_URL", "GIT_DIR"}


def test_another_process_attaches_by_the_id(tmp_path: Path) -> None:
    box = attach(HostBox(workdir=str(tmp_path), env={"A": "é"}).id)
    found = box.exec(["sh", "-c", "pwd; echo $A"], log=tmp_path / "log", timeout=9)
    assert found.tail.split() == [os.path.realpath(tmp_path), "é"]
    box.cut_network()
    box.close()
    box.close()


@pytest.mark.parametrize("box_id", ["", "host:", "host:{}", "host:[1]", "vm:1"])
def test_a_wrong_id_is_an_error(box_id: str) -> None:
    with pytest.raises(EngineError, match="box id"):
        attach(box_id)
