"""The driver in real containers: with dash, bash and busybox as `sh`."""

from __future__ import annotations

import hashlib
import os
import resource
import shutil
import subprocess
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
from docker.errors import APIError

from presubmit.container.model import BoxSpec, ExecOutcome, ImageRef, Limits
from presubmit.replay.job.driver import Driver, StepEnd, open_driver

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from presubmit.container.box import DockerBox
    from presubmit.container.engine import Engine

pytestmark = pytest.mark.engine

RUN = f"test-driver-{os.getpid()}"
APPLETS = (
    "sh",
    "cat",
    "env",
    "tr",
    "df",
    "grep",
    "head",
    "sleep",
    "printf",
    "yes",
    "true",
    "rm",
    "chmod",
)
EVERY_BYTE = os.fsdecode(bytes(range(1, 256)))


class Run:
    """Runs commands through a driver and keeps what they print."""

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self.printed = {1: b"", 2: b""}

    def __call__(
        self, *argv: str, env: dict[str, str] | None = None, timeout: float = 30, **given: Any
    ) -> StepEnd:
        self.printed = {1: b"", 2: b""}
        whole = {"PATH": self.driver.environment["PATH"], **(env or {})}
        return self.driver.run(
            argv,
            **{"env": whole, "cwd": "/tmp", "timeout": timeout, "on_output": self._hear, **given},
        )

    def sh(self, script: str, **given: Any) -> StepEnd:
        return self("sh", "-c", script, **given)

    def _hear(self, stream: int, data: bytes) -> None:
        self.printed[stream] += data


@pytest.fixture(scope="module")
def bash_image(engine: Engine, image: ImageRef) -> Iterator[ImageRef]:
    """The devel image with bash as `sh`, as Fedora and manylinux have it."""
    api = engine._api
    made = api.create_container(image.id, ["ln", "-sf", "bash", "/bin/sh"])["Id"]
    try:
        api.start(made)
        api.wait(made)
        api.commit(made, repository="presubmit-test", tag=f"bash-{os.getpid()}")
    finally:
        api.remove_container(made, force=True)
    name = f"presubmit-test:bash-{os.getpid()}"
    yield engine.image(name, origin="test")
    remove_image(engine, name)


@pytest.fixture(scope="module")
def busybox_image(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ImageRef]:
    """An image with nothing but a static busybox."""
    folder = tmp_path_factory.mktemp("busybox")
    program = find_busybox(folder)
    root = folder / "root"
    for name in ("bin", "etc", "tmp", "proc", "sys", "dev"):
        (root / name).mkdir(parents=True)
    root.chmod(0o755)
    (root / "tmp").chmod(0o1777)
    shutil.copy(program, root / "bin/busybox")
    for name in APPLETS:
        (root / "bin" / name).symlink_to("busybox")
    tar = subprocess.run(["tar", "-C", str(root), "-c", "."], check=True, capture_output=True)
    tag = f"busybox-{os.getpid()}"
    engine._api.import_image_from_data(
        tar.stdout, repository="presubmit-test", tag=tag, changes=["ENV PATH=/bin"]
    )
    yield engine.image(f"presubmit-test:{tag}", origin="test")
    remove_image(engine, f"presubmit-test:{tag}")


def remove_image(engine: Engine, name: str) -> None:
    """Remove an image; its containers may still be about to go."""
    until = time.monotonic() + 10
    while True:
        try:
            engine._api.remove_image(name)
        except APIError:
            if time.monotonic() > until:
                raise
            time.sleep(0.1)
        else:
            return


def find_busybox(folder: Path) -> str:
    """Find a static busybox: this machine's own, else Debian's package."""
    if found := os.environ.get("PRESUBMIT_TEST_BUSYBOX"):
        return found
    get = ["apt-get", "download", "-q", "busybox-static"]
    try:
        subprocess.run(get, cwd=folder, check=True, capture_output=True, timeout=60)
        package = next(folder.glob("busybox-static*.deb"))
        subprocess.run(["dpkg-deb", "-x", package.name, "x"], cwd=folder, check=True)
    except (OSError, subprocess.SubprocessError, StopIteration) as error:
        if os.environ.get("PRESUBMIT_REQUIRE_NETWORK") == "1":
            pytest.fail(f"no static busybox: {error}", pytrace=False)
        pytest.skip(f"no static busybox: {error}")
    return str(folder / "x/bin/busybox")


def make_box(engine: Engine, image: ImageRef, **given: Any) -> DockerBox:
    plain: dict[str, Any] = {
        "image": image,
        "lane": "head",
        "run": RUN,
        "repo": "repo",
        "workdir": "/tmp",
        "user": "1234:1235",
        "network": "none",
    }
    return engine.start(BoxSpec(**{**plain, **given}))


@pytest.fixture
def start(engine: Engine) -> Iterator[Callable[..., DockerBox]]:
    made: list[DockerBox] = []

    def start(image: ImageRef, **given: Any) -> DockerBox:
        made.append(make_box(engine, image, **given))
        return made[-1]

    yield start
    for box in made:
        box.close()


@pytest.fixture(scope="module")
def box(engine: Engine, image: ImageRef) -> Iterator[DockerBox]:
    box = make_box(engine, image, limits=Limits(memory=128 << 20, shm=8 << 20))
    yield box
    box.close()


@pytest.fixture
def run(box: DockerBox, tmp_path: Path) -> Iterator[Run]:
    with open_driver(box, log=tmp_path / "log") as driver:
        yield Run(driver)


@pytest.fixture(scope="module", params=["dash", "bash", "busybox"])
def some_box(request: pytest.FixtureRequest, engine: Engine) -> Iterator[DockerBox]:
    """A box with each kind of `sh`."""
    fixture = {"dash": "image", "bash": "bash_image", "busybox": "busybox_image"}[request.param]
    box = make_box(engine, request.getfixturevalue(fixture), limits=Limits(memory=128 << 20))
    yield box
    box.close()


@pytest.fixture
def any_run(some_box: DockerBox, tmp_path: Path) -> Iterator[Run]:
    with open_driver(some_box, log=tmp_path / "log") as driver:
        yield Run(driver)


# --- with every shell ---


@pytest.mark.parametrize("code", [0, 7, 126, 127, 137, 255])
def test_exit_codes_come_through(any_run: Run, code: int) -> None:
    end = any_run.sh(f"exit {code}")
    assert (end.outcome, end.exit_code, end.leaked) == (ExecOutcome.EXITED, code, ())


def test_a_killed_step_is_one_that_failed(any_run: Run) -> None:
    end = any_run.sh("echo before; kill -9 $$")
    assert (end.outcome, end.exit_code) == (ExecOutcome.EXITED, 137)
    assert any_run.printed == {1: b"before\n", 2: b""}


def test_any_environment_and_any_words_arrive_whole(any_run: Run) -> None:
    env = {
        "INPUT_FETCH-DEPTH": "a\nb",
        "Q": EVERY_BYTE,
        "BIG": "y" * 100_000,
        "1 x": "it's",
        "EMPTY": "",
        "IFS": "x",
    }
    any_run("cat", "/proc/self/environ", env=env)
    found = dict(pair.split(b"=", 1) for pair in any_run.printed[1].split(b"\0") if pair)
    assert {os.fsdecode(name) for name in found} == {*env, "PATH", "PRESUBMIT_EXEC"}
    assert {name: os.fsdecode(found[os.fsencode(name)]) for name in env} == env
    any_run("printf", "%s|", "it's", "", '$x `y` "z" *', EVERY_BYTE)
    assert any_run.printed[1] == b'it\'s||$x `y` "z" *|' + os.fsencode(EVERY_BYTE) + b"|"


def test_a_program_with_an_equals_sign_is_no_variable(any_run: Run) -> None:
    assert (
        any_run.sh("printf '#!/bin/sh\\necho ran $1' >/tmp/a=b; chmod +x /tmp/a=b").exit_code == 0
    )
    assert any_run("/tmp/a=b", "word").exit_code == 0
    assert any_run.printed[1] == b"ran word\n"


def test_what_cannot_start_says_why(any_run: Run) -> None:
    many = {f"A{number}": "x" * 130_000 for number in range(20)}
    for end, reason in (
        (any_run("no-such-program"), "no-such-program: command not found"),
        (any_run("/etc/hosts"), "/etc/hosts: command not found"),
        (any_run("sh", env={"PATH": "/no/where:"}), "sh: command not found"),
        (any_run("true", cwd="/no/where"), "the working directory /no/where does not exist"),
        (any_run("true", env={"A": "\0"}), "the variable A contains a NUL byte"),
        (any_run("true", env={"A": "x" * 200_000}), "the variable A has 200,002 bytes"),
        (any_run("true", env=many), "Argument list too long: arguments and variables have 2,6"),
    ):
        assert (end.outcome, end.exit_code) == (ExecOutcome.START_FAILED, None)
        assert reason in end.reason
    assert any_run("true").exit_code == 0


def test_a_step_that_reads_gets_nothing(any_run: Run) -> None:
    assert any_run("cat").exit_code == 0
    assert any_run.sh('read x; echo "<$x>"').exit_code == 0
    assert any_run.printed[1] == b"<>\n"


def test_output_comes_by_stream_with_junk_and_without_a_final_line_end(any_run: Run) -> None:
    any_run.sh("printf 'out\\000\\377'; printf err >&2")
    assert any_run.printed == {1: b"out\0\xff", 2: b"err"}


def test_what_looks_like_the_end_is_output(any_run: Run) -> None:
    fake = "\\036%s end 0 - - none\\n"
    end = any_run.sh(f"printf '{fake}' 0123456789abcdef0123456789abcdef; exit 3")
    assert end.exit_code == 3
    assert any_run.printed[1].startswith(b"\x1e0123456789abcdef")


@pytest.mark.parametrize(
    "script", ["head -c 50000000 /dev/zero | tr '\\000' x", "yes | head -c 50000000"]
)
def test_much_output_arrives_whole_in_little_memory(any_run: Run, script: str) -> None:
    digest, size = hashlib.sha256(), 0

    def hear(stream: int, data: bytes) -> None:
        nonlocal size
        size += len(data)
        digest.update(data)

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert any_run.sh(script, on_output=hear, timeout=100).exit_code == 0
    wanted = b"x" * 50_000_000 if "zero" in script else b"y\n" * 25_000_000
    assert size == 50_000_000
    assert (
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 60_000 + len(wanted) // 1000
    )
    assert digest.digest() == hashlib.sha256(wanted).digest()


def test_a_timeout_ends_also_what_ignores_it(any_run: Run, some_box: DockerBox) -> None:
    begun = time.monotonic()
    script = "trap '' TERM; (trap '' TERM; sleep 61) & sleep 62; sleep 62"
    end = any_run.sh(script, timeout=0.5, grace=0.3)
    assert (end.outcome, end.exit_code, end.leaked) == (ExecOutcome.TIMEOUT, None, ())
    assert time.monotonic() - begun < 30
    assert some_box.look("").mine == ()
    assert any_run("true").exit_code == 0


def test_a_leftover_is_named_and_its_output_is_not_the_next_steps(
    any_run: Run, some_box: DockerBox
) -> None:
    end = any_run.sh("(while :; do echo leak; sleep 0.05; done) & echo main")
    assert (end.outcome, end.exit_code) == (ExecOutcome.EXITED, 0)
    assert any("leak" in words for words in end.leaked)
    assert any_run.sh("sleep 0.2; echo next").leaked == ()
    assert any_run.printed[1] == b"next\n"
    begun = time.monotonic()
    for _ in range(5):
        assert any_run("true").exit_code == 0
    assert time.monotonic() - begun < 20
    # It goes on all the same.
    assert any("echo leak" in process.words for process in some_box.look("").mine)


def test_a_step_that_kills_the_shell_is_lost_and_the_next_one_runs(any_run: Run) -> None:
    end = any_run.sh("echo x; kill -9 $PPID; sleep 0.2")
    assert (end.outcome, end.exit_code) == (ExecOutcome.ENGINE_LOST, None)
    assert "was killed" in end.reason
    assert any_run.sh("echo next").exit_code == 0
    end = any_run.sh("kill -9 -1")
    assert end.outcome is ExecOutcome.ENGINE_LOST
    assert any_run.sh("echo next").exit_code == 0
    assert any_run.printed[1] == b"next\n"


def test_a_step_that_ends_its_group_spares_the_shell(any_run: Run) -> None:
    assert any_run.sh("trap 'kill 0' EXIT; echo x").exit_code == 143
    assert any_run.sh("echo y").exit_code == 0
    assert any_run.printed[1] == b"y\n"


def test_lack_of_memory_is_told_from_a_plain_kill(any_run: Run) -> None:
    end = any_run.sh("x=$(head -c 300000000 /dev/zero | tr '\\000' x); true")
    assert end.outcome is ExecOutcome.OOM
    assert end.oom_kills >= 1
    assert any_run.sh("kill -9 $$").outcome is ExecOutcome.EXITED


# --- with the devel image ---


def test_the_environment_of_the_box_is_known(run: Run) -> None:
    found = run.driver.environment
    assert found["PATH"].startswith("/usr/lib/ccache:")
    assert (found["HOME"], found["LANG"]) == ("/tmp/home", "C.UTF-8")
    assert not [name for name in found if name.startswith("PRESUBMIT_")]


def test_the_token_is_neither_in_the_environment_nor_in_an_argument(run: Run) -> None:
    run.sh(
        "cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline | tr '\\000' '\\n'; grep -c . /proc/$PPID/cmdline"
    )
    words = run.printed[1].split()
    marks = {word for word in words if len(word) == 32 and not word.strip(b"0123456789abcdef")}
    assert marks == set()
    assert b"sh" in words


def test_no_signal_is_ignored(run: Run) -> None:
    run("grep", "SigIgn", "/proc/self/status")
    assert run.printed[1] == b"SigIgn:\t0000000000000000\n"
    code = "import os, signal\ntry:\n os.kill(os.getpid(), signal.SIGINT)\nexcept KeyboardInterrupt:\n print('seen')"
    run("python3", "-c", code)
    assert run.printed[1] == b"seen\n"


def test_streams_that_one_step_made_non_blocking_are_not_so_for_the_next(run: Run) -> None:
    run("python3", "-c", "import os; os.set_blocking(1, False); os.set_blocking(2, False)")
    run("python3", "-c", "import os; print(os.get_blocking(1), os.get_blocking(2))")
    assert run.printed[1] == b"True True\n"


def test_the_last_words_of_a_child_are_heard(run: Run) -> None:
    end = run("bash", "-c", "exec > >(sleep 0.1; cat) 2>&1; echo late; echo err >&2")
    assert run.printed == {1: b"late\nerr\n", 2: b""}
    assert end.leaked == ()


def test_a_daemon_that_let_go_of_the_streams_costs_no_waiting(run: Run) -> None:
    begun = time.monotonic()
    end = run.sh("setsid sleep 63 >/dev/null 2>&1 & env -i sleep 64 >/dev/null 2>&1 & sleep 0.5")
    assert time.monotonic() - begun < 20
    assert sorted(end.leaked) == ["sleep 63", "sleep 64"]
    assert run("true").leaked == ()


def test_leftovers_end_with_the_driver(box: DockerBox, tmp_path: Path) -> None:
    with open_driver(box, log=tmp_path / "log") as driver:
        Run(driver).sh("setsid sleep 65 >/dev/null 2>&1 & sleep 66 & sleep 0.1")
        assert len(box.look("").mine) == 2
    assert box.look("").mine == ()
    text = (tmp_path / "log").read_text()
    assert "presubmit: processes left running by a step: 2" in text


def test_a_full_disk_is_told_from_a_mere_complaint(run: Run) -> None:
    end = run("dd", "if=/dev/zero", "of=/dev/shm/full", "bs=1M", "count=64")
    assert (end.outcome, end.exit_code) == (ExecOutcome.DISK_FULL, 1)
    assert "/dev/shm" in end.reason
    end = run.sh("rm /dev/shm/full; echo No space left on device; exit 1")
    assert end.outcome is ExecOutcome.EXITED


def test_a_fork_bomb_is_ended(
    start: Callable[..., DockerBox], image: ImageRef, tmp_path: Path
) -> None:
    with open_driver(start(image, limits=Limits(pids=50)), log=tmp_path / "log") as driver:
        run = Run(driver)
        end = run.sh(
            "f() { f & f & sleep 68; }; f 2>/dev/null & exec sleep 68", timeout=1, grace=0.2
        )
        assert end.outcome is ExecOutcome.TIMEOUT
        assert run.sh("echo alive").exit_code == 0
        assert run.printed[1] == b"alive\n"


def test_an_interrupt_ends_the_step_and_is_raised(run: Run, box: DockerBox) -> None:
    def interrupt(stream: int, data: bytes) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run.sh("echo x; sleep 67", on_output=interrupt, grace=0.2)
    assert box.look("").mine == ()
    assert run.sh("echo next").exit_code == 0


def test_a_box_that_is_removed_under_a_step_is_lost_for_good(
    engine: Engine, start: Callable[..., DockerBox], image: ImageRef, tmp_path: Path
) -> None:
    box = start(image)
    with open_driver(box, log=tmp_path / "log") as driver:
        run = Run(driver)
        timer = threading.Timer(
            0.5, engine._api.remove_container, [box.id.removeprefix("docker:")], {"force": True}
        )
        timer.start()
        begun = time.monotonic()
        first = run("sleep", "69")
        timer.join()
        assert time.monotonic() - begun < 30
        for end in (first, run("true")):
            assert (end.outcome, end.exit_code) == (ExecOutcome.ENGINE_LOST, None)
            assert "the box is gone" in end.reason or "is not running" in end.reason


def test_a_trivial_step_takes_milliseconds(run: Run) -> None:
    env = {f"VARIABLE_{number}": "x" * 60 for number in range(60)}
    run.sh("true", env=env)
    begun = time.monotonic()
    for _ in range(100):
        assert run.sh("true", env=env).exit_code == 0
    # Three to five on a quiet machine; an exec of its own takes sixty.
    assert (time.monotonic() - begun) / 100 < 0.03


def test_other_commands_in_the_box_do_not_touch_the_driver(
    run: Run, box: DockerBox, tmp_path: Path
) -> None:
    assert box.exec(["true"], log=tmp_path / "x", timeout=20).ok
    assert box.end_commands(grace=0) == ()
    assert run.sh("echo next").exit_code == 0
    assert not (tmp_path / "log").exists()
