from __future__ import annotations

import contextlib
import gc
import os
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pytest

from presubmit.container import attach
from presubmit.container.engine import Engine, connect
from presubmit.container.facts import check_image
from presubmit.container.model import BoxMount, BoxSpec, ExecOutcome, ExecResult, ImageRef, Limits
from presubmit.container.settings import COLOUR
from presubmit.errors import EngineError, ImageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from presubmit.container.box import DockerBox
    from presubmit.container.model import Box

pytestmark = pytest.mark.engine

USER = "1234:1235"
RUN = f"test-{os.getpid()}"


class Run(Protocol):
    def __call__(
        self, *argv: str, box: Box | None = None, timeout: float = 30, **given: Any
    ) -> ExecResult: ...


def make_spec(image: ImageRef | None, **given: Any) -> BoxSpec:
    plain: dict[str, Any] = {
        "image": image,
        "lane": "head",
        "run": RUN,
        "repo": "repo",
        "workdir": "/tmp",
        "user": USER,
    }
    return BoxSpec(**{**plain, **given})


@pytest.fixture(scope="module")
def box(engine: Engine, image: ImageRef) -> Iterator[DockerBox]:
    """One box without network for everything that leaves no trace in it."""
    box = engine.start(make_spec(image, network="none", limits=Limits(memory=64 << 20)))
    yield box
    box.close()


@pytest.fixture
def start(engine: Engine, image: ImageRef) -> Iterator[Callable[..., DockerBox]]:
    made: list[DockerBox] = []

    def start(*, keep: bool = False, **given: Any) -> DockerBox:
        made.append(engine.start(make_spec(image, **given), keep=keep))
        return made[-1]

    yield start
    for one in made:
        one.close()


@pytest.fixture
def run(box: DockerBox, tmp_path: Path) -> Run:
    default = box

    def run(*argv: str, box: Box | None = None, timeout: float = 30, **given: Any) -> ExecResult:
        return (box or default).exec(argv, log=tmp_path / "log", timeout=timeout, **given)

    return run


def containers(engine: Engine) -> set[str]:
    """The containers of these tests alone: the engine may be shared."""
    found = engine._api.containers(all=True, filters={"label": f"dev.presubmit.run={RUN}"})
    return {one["Id"] for one in found}


def is_there(engine: Engine, box_id: str) -> bool:
    return box_id.removeprefix("docker:") in containers(engine)


def gone_within(engine: Engine, box_id: str, seconds: float) -> bool:
    until = time.monotonic() + seconds
    while is_there(engine, box_id):
        if time.monotonic() > until:
            return False
        time.sleep(0.1)
    return True


# --- how commands end ---


@pytest.mark.parametrize(
    ("script", "code"),
    [("exit 0", 0), ("exit 7", 7), ("exit 126", 126), ("kill -9 $$", 137), ("kill -SEGV $$", 139)],
)
def test_exit_codes_come_through(run: Run, script: str, code: int) -> None:
    found = run("sh", "-c", script)
    assert (found.outcome, found.exit_code, found.leaked) == (ExecOutcome.EXITED, code, ())


@pytest.mark.parametrize(
    ("argv", "given"),
    [("no-such-program", {}), ("/etc/hostname", {}), ("true", {"cwd": "/nowhere"})],
)
def test_what_cannot_start_is_ours_and_says_why(
    run: Run, argv: str, given: dict[str, Any]
) -> None:
    found = run(argv, **given)
    assert (found.outcome, found.exit_code) == (ExecOutcome.START_FAILED, None)
    assert argv in found.reason or "/nowhere" in found.reason


def test_lack_of_memory_is_told_from_a_plain_kill(run: Run) -> None:
    found = run("python3", "-c", "bytearray(200 << 20)")
    assert (found.outcome, found.exit_code) == (ExecOutcome.OOM, 137)
    assert found.oom_kills >= 1
    # A shell that goes on after it does not hide it.
    assert run("sh", "-c", "python3 -c 'bytearray(200 << 20)'; true").outcome is ExecOutcome.OOM
    assert run("sh", "-c", "kill -9 $$").outcome is ExecOutcome.EXITED


def test_a_full_disk_is_told_from_a_mere_complaint(
    start: Callable[..., DockerBox], run: Run
) -> None:
    box = start(network="none", limits=Limits(shm=8 << 20))
    found = run("dd", "if=/dev/zero", "of=/dev/shm/full", "bs=1M", "count=64", box=box)
    assert (found.outcome, found.exit_code) == (ExecOutcome.DISK_FULL, 1)
    assert "/dev/shm" in found.reason
    found = run("sh", "-c", "rm /dev/shm/full; echo No space left on device; exit 1", box=box)
    assert found.outcome is ExecOutcome.EXITED


def test_a_timeout_leaves_nothing(run: Run) -> None:
    script = "trap '' TERM; setsid sh -c \"trap '' TERM; sleep 61\" & sleep 62; sleep 62"
    found = run("sh", "-c", script, timeout=0.5, grace=0.3)
    assert (found.outcome, found.exit_code) == (ExecOutcome.TIMEOUT, None)
    assert "sleep" not in run("ps", "-eo", "args").tail


def test_a_leaked_child_is_named_and_ended(run: Run) -> None:
    found = run(
        "sh", "-c", "setsid sleep 63 >/dev/null 2>&1 & env -i sleep 64 >/dev/null 2>&1 & sleep 0.1"
    )
    assert found.ok
    assert sorted(found.leaked) == ["sleep 63", "sleep 64"]
    assert "sleep" not in run("ps", "-eo", "args").tail


def test_a_command_beside_it_is_left_alone(run: Run) -> None:
    found: list[ExecResult] = []
    other = threading.Thread(
        target=lambda: found.append(run("sh", "-c", "env -i sleep 2; echo whole"))
    )
    other.start()
    time.sleep(0.6)
    assert run("sleep", "65", timeout=0.3, grace=0.1).outcome is ExecOutcome.TIMEOUT
    assert run("sh", "-c", "sleep 66 >/dev/null 2>&1 &").leaked == ("sleep 66",)
    other.join()
    assert (found[0].exit_code, found[0].tail) == (0, "whole\n")


def test_an_interrupt_ends_the_command_and_is_raised(run: Run) -> None:
    def interrupt(_: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run("sh", "-c", "echo x; sleep 67", on_output=interrupt, grace=0.2)
    assert "sleep" not in run("ps", "-eo", "args").tail


def test_the_holder_can_end_what_a_dead_session_left(box: DockerBox, run: Run) -> None:
    found: list[ExecResult] = []
    other = threading.Thread(target=lambda: found.append(run("sleep", "72")))
    other.start()
    time.sleep(0.6)
    assert box.end_commands(grace=1) == ("sleep 72",)
    other.join()
    assert (found[0].outcome, found[0].exit_code) == (ExecOutcome.EXITED, 143)
    assert box.end_commands() == ()


def test_a_fork_bomb_is_ended(start: Callable[..., DockerBox], run: Run) -> None:
    box = start(network="none", limits=Limits(pids=40))
    found = run(
        "sh", "-c", "f() { f & f & sleep 68; }; f; sleep 68", box=box, timeout=1, grace=0.2
    )
    assert found.outcome is ExecOutcome.TIMEOUT
    assert run("sh", "-c", "echo alive", box=box).tail.endswith("alive\n")
    assert "sleep" not in run("ps", "-eo", "args", box=box).tail


def test_a_box_that_is_removed_from_outside_is_lost(
    engine: Engine, start: Callable[..., DockerBox], run: Run
) -> None:
    box = start(network="none")
    timer = threading.Timer(
        0.5, engine._api.remove_container, [box.id.removeprefix("docker:")], {"force": True}
    )
    timer.start()
    assert run("sleep", "69", box=box).outcome is ExecOutcome.ENGINE_LOST
    timer.join()
    assert run("true", box=box).outcome is ExecOutcome.ENGINE_LOST


class Relay:
    """A socket that passes everything on to the engine, until it is cut."""

    def __init__(self, path: Path, target: str) -> None:
        self._target = target
        self._sockets: list[socket.socket] = []
        self._server = socket.socket(socket.AF_UNIX)
        self._server.bind(str(path))
        self._server.listen()
        self._sockets.append(self._server)
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        for one in self._sockets:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._server.accept()
                far = socket.socket(socket.AF_UNIX)
                far.connect(self._target)
                self._sockets += [near, far]
                for pair in ((near, far), (far, near)):
                    threading.Thread(target=self._pass, args=pair, daemon=True).start()

    @staticmethod
    def _pass(source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_engine_that_goes_away_is_lost_and_its_box_with_it(
    engine: Engine, image: ImageRef, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock")
    if not address.startswith("unix://"):
        pytest.skip("the engine is not behind a Unix socket")
    folder = tempfile.TemporaryDirectory(
        prefix="relay"
    )  # short: a socket's path is limited to 108 bytes
    relay = Relay(Path(folder.name) / "s", address.removeprefix("unix://"))
    monkeypatch.setenv("DOCKER_HOST", f"unix://{folder.name}/s")
    with folder, connect(cache=tmp_path) as through:
        box = through.start(make_spec(image, network="none"))
        timer = threading.Timer(0.7, relay.cut)
        timer.start()
        found = run("sleep", "71", box=box)
        timer.join()
        assert found.outcome is ExecOutcome.ENGINE_LOST
        assert found.reason
        assert found.seconds < 30
        assert gone_within(engine, box.id, 10)
    # docker-py leaves a socket open when it cannot connect; its warning belongs to this test.
    gc.collect()


# --- output ---


def test_secrets_are_masked_everywhere(run: Run, tmp_path: Path) -> None:
    heard: list[str] = []
    script = "printf hunt; sleep 0.2; printf 'er2 '; printf 'hunter2\\n' >&2; printenv WORD"
    env = {"WORD": "hunter2"}
    found = run(
        "sh", "-c", script, "hunter2", secrets=["hunter2"], on_output=heard.append, env=env
    )
    for text in ("".join(heard), (tmp_path / "log").read_text(), found.tail, " ".join(found.argv)):
        assert "hunter2" not in text
    assert found.tail.count("***") == 3


def test_junk_bytes_and_split_characters_survive(run: Run, tmp_path: Path) -> None:
    code = "import os,time\nos.write(1,b'\\xff\\xc3'); time.sleep(.2); os.write(1,b'\\xa9\\0'); os.write(2, b'\\x01\\0\\0\\0')"
    found = run("python3", "-c", code)
    assert found.tail.replace("\x01\0\0\0", "") == "\ufffdé\0"
    assert (tmp_path / "log").read_bytes().replace(b"\x01\0\0\0", b"") == b"\xff\xc3\xa9\0"


def test_much_output_is_written_whole_with_little_memory(run: Run, tmp_path: Path) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = run(
        "sh",
        "-c",
        "head -c 20000000 /dev/zero | tr '\\0' x; echo; echo end",
        secrets=["xy", "hunter2"],
    )
    assert found.ok
    assert (tmp_path / "log").stat().st_size == 20_000_005
    assert found.tail.endswith("end\n")
    assert len(found.tail) <= 4000
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 10_000  # kB


def test_there_is_no_terminal_and_colour_is_a_wish(run: Run) -> None:
    code = "import sys,os; print(sys.stdout.isatty(), os.environ.get('FORCE_COLOR'))"
    assert run("python3", "-c", code).tail == "False None\n"
    assert run("python3", "-c", code, env=COLOUR).tail == "False 1\n"


# --- who and where ---


def test_the_caller_is_somebody_inside(run: Run) -> None:
    code = (
        "import os, pwd, grp, getpass\n"
        "open(os.path.expanduser('~/x'), 'w').close()\n"
        "print(os.getuid(), os.getgid(), pwd.getpwuid(os.getuid()).pw_dir, grp.getgrgid(os.getgid()).gr_name)\n"
        "print(getpass.getuser(), os.environ['HOME'], os.environ['USER'], os.stat(os.environ['HOME']).st_mode & 0o777)\n"
        "print(pwd.getpwnam('root').pw_uid)"
    )
    assert run("python3", "-c", code).tail.splitlines() == [
        "1234 1235 /tmp/home presubmit",
        f"presubmit /tmp/home presubmit {0o700}",
        "0",
    ]


def test_the_callers_umask_holds_and_files_belong_to_the_user(
    start: Callable[..., DockerBox], run: Run, tmp_path: Path
) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    tree.chmod(0o777)
    box = start(
        network="none", mounts=(BoxMount(source=str(tree), target="/src"),), workdir="/src"
    )
    before = os.umask(0o007)
    try:
        assert run("sh", "-c", "touch new; pwd", box=box).tail == "/src\n"
    finally:
        os.umask(before)
    made = (tree / "new").stat()
    assert (made.st_uid, made.st_gid, made.st_mode & 0o777) == (1234, 1235, 0o660)


def test_no_rights_and_no_socket(run: Run) -> None:
    status = run("cat", "/proc/self/status").tail
    for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert f"{name}:\t0000000000000000" in status
    assert "NoNewPrivs:\t1" in status
    assert (
        run(
            "sh",
            "-c",
            "find / -xdev -type s 2>/dev/null; ls /var/run/docker.sock /run/docker.sock 2>&1 | grep -v 'No such'",
        ).tail
        == ""
    )


def test_git_works_in_trees_of_anyone(
    start: Callable[..., DockerBox], run: Run, tmp_path: Path
) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path / "tree")], check=True)
    box = start(
        network="none",
        mounts=(BoxMount(source=str(tmp_path / "tree"), target="/src"),),
        workdir="/src",
    )
    assert run("git", "status", "--short", box=box).ok
    env = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.abbrev", "GIT_CONFIG_VALUE_0": "9"}
    assert run("git", "config", "core.abbrev", box=box, env=env).tail == "9\n"
    assert run("git", "status", "--short", box=box, env=env).ok


def test_the_images_own_user_is_left_alone(start: Callable[..., DockerBox], run: Run) -> None:
    assert (
        run("sh", "-c", "id -u; echo $HOME", box=start(user="image", network="none")).tail
        == "0\n/root\n"
    )


def test_mounts_are_read_only_where_asked(
    start: Callable[..., DockerBox], run: Run, tmp_path: Path
) -> None:
    (tmp_path / "a:b, é").mkdir()
    (tmp_path / "a:b, é" / "x").write_text("seen")
    mount = BoxMount(source=str(tmp_path / "a:b, é"), target="/data", read_only=True)
    box = start(network="none", mounts=(mount,))
    assert run("cat", "/data/x", box=box).tail == "seen"
    assert not run("touch", "/data/y", box=box).ok


def test_programs_can_be_run_from_tmp(run: Run) -> None:
    assert (
        run(
            "sh", "-c", "printf '#!/bin/sh\\necho ran' >/tmp/p; chmod +x /tmp/p; /tmp/p; rm /tmp/p"
        ).tail
        == "ran\n"
    )


def test_ci_parity_allows_what_sanitizers_need_and_limits_hold(
    start: Callable[..., DockerBox], run: Run
) -> None:
    limits = Limits(cpus=1.5, ulimits=("nofile=512:600",))
    box = start(network="none", profile="ci-parity", debug=True, limits=limits)
    found = run("sh", "-c", "setarch -R true && ulimit -n && ulimit -c && echo $MAX_JOBS", box=box)
    assert found.tail.split() == ["512", "unlimited", "1"]
    assert "CapEff:\t0000000000000000" in run("cat", "/proc/self/status", box=box).tail


def test_the_engine_knows_when_somebody_else_runs_a_command(box: DockerBox, run: Run) -> None:
    assert not box._others_run("mine")
    other = threading.Thread(target=run, args=("sleep", "1"))
    other.start()
    time.sleep(0.5)
    assert box._others_run("mine")
    other.join()
    assert not box._others_run("mine")


# --- network ---

LOOPBACK = """
import socket
for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
    with socket.socket(family) as server:
        server.bind((address, 0))
        server.listen()
        socket.create_connection(server.getsockname()[:2], 2).close()
name = socket.gethostname()
print(name, sorted({entry[4][0] for entry in socket.getaddrinfo(name, 1)}))
print([line.split()[0] for line in open("/proc/net/route")][1:])
"""


def test_the_network_can_be_cut_and_loopback_stays(
    start: Callable[..., DockerBox], run: Run
) -> None:
    box = start()
    assert run("python3", "-c", LOOPBACK, box=box).tail.endswith("'eth0']\n")
    box.cut_network()
    box.cut_network()
    assert run("python3", "-c", LOOPBACK, box=box).tail == "presubmit ['127.0.0.1']\n[]\n"


def test_a_box_without_network_is_the_same(run: Run) -> None:
    assert run("python3", "-c", LOOPBACK).tail == "presubmit ['127.0.0.1']\n[]\n"


# --- beginnings and ends ---


def test_closing_removes_the_box_and_twice_is_harmless(
    engine: Engine, start: Callable[..., DockerBox]
) -> None:
    box = start(network="none")
    box.close()
    deadline = time.monotonic() + 5
    while is_there(engine, box.id) and time.monotonic() < deadline:
        time.sleep(0.05)  # the engine removes it by itself, once it has ended
    assert not is_there(engine, box.id)
    box.close()


def test_a_kept_box_stays(engine: Engine, start: Callable[..., DockerBox]) -> None:
    box = start(network="none", keep=True)
    try:
        box.close()
        assert is_there(engine, box.id)
        assert not any(RUN in name for name in engine.sweep(dry_run=True))
    finally:
        engine._api.remove_container(box.id.removeprefix("docker:"), force=True)


HOLD = """
import sys, time
from pathlib import Path
from presubmit.container.engine import connect
from presubmit.container.model import BoxSpec
engine = connect(cache=Path(sys.argv[2]))
image = engine.image(sys.argv[1], origin="test")
box = engine.start(BoxSpec(image=image, lane="head", run=sys.argv[3], repo="r", workdir="/tmp", network="none"))
print(box.id, flush=True)
time.sleep(60)
"""


@pytest.fixture
def other_owner(image: ImageRef, tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Another process that holds a box, and the box's id."""
    root = str(Path(__file__).parents[3])
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, image.name, str(tmp_path), RUN],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": root},
    ) as process:
        assert process.stdout is not None
        yield process, process.stdout.readline().strip()
        process.kill()


def test_the_box_of_a_killed_process_is_gone(
    engine: Engine, other_owner: tuple[subprocess.Popen[str], str]
) -> None:
    process, box_id = other_owner
    assert is_there(engine, box_id)
    process.send_signal(signal.SIGKILL)
    assert gone_within(engine, box_id, 10)


def test_another_process_attaches_and_leaves_the_box_alone(
    engine: Engine, other_owner: tuple[subprocess.Popen[str], str], tmp_path: Path
) -> None:
    _, box_id = other_owner
    box = attach(box_id)
    assert box.id == box_id
    assert box.exec(["sh", "-c", "exit 3"], log=tmp_path / "log", timeout=20).exit_code == 3
    leak = box.exec(["sh", "-c", "sleep 70 >/dev/null 2>&1 &"], log=tmp_path / "log", timeout=20)
    assert leak.leaked == ("sleep 70",)
    box.cut_network()
    box.close()
    assert is_there(engine, box_id)


def test_only_the_containers_of_dead_owners_are_swept(
    engine: Engine, image: ImageRef, start: Callable[..., DockerBox]
) -> None:
    mine = start(network="none")
    labels = engine._api.inspect_container(mine.id.removeprefix("docker:"))["Config"]["Labels"]

    def make(**changed: str) -> str:
        given = {**labels, **{f"dev.presubmit.{name}": value for name, value in changed.items()}}
        name = f"{RUN}-{uuid.uuid4().hex}"
        return str(engine._api.create_container(image.id, ["true"], labels=given, name=name)["Id"])

    dead = [make(owner="1:1"), make(boot="another-boot")]
    others = [make(owner="1:1", host="another-host")]
    try:
        assert len([name for name in engine.sweep(dry_run=True) if name.startswith(RUN)]) == 2
        assert set(dead) <= containers(engine)
        assert len([name for name in engine.sweep() if name.startswith(RUN)]) == 2
        assert not set(dead) & containers(engine)
        assert {*others, mine.id.removeprefix("docker:")} <= containers(engine)
    finally:
        for one in others:
            engine._api.remove_container(one, force=True)


@pytest.mark.parametrize(
    ("given", "match"),
    [
        (
            {"mounts": (BoxMount(source="/nowhere/at/all", target="/x"),)},
            "cannot mount /nowhere/at/all",
        ),
        ({"gpus": "all"}, "NVIDIA"),
        ({"network": "no-such-network"}, "cannot start a box"),
        ({"limits": Limits(ulimits=("nosuch=1",))}, "cannot start a box"),
        ({"limits": Limits(memory=4096)}, "memory"),
    ],
)
def test_a_start_that_fails_leaves_no_container(
    engine: Engine, start: Callable[..., DockerBox], given: dict[str, Any], match: str
) -> None:
    before = containers(engine)
    with pytest.raises(EngineError, match=match):
        start(**given)
    # One of an earlier test may go only now, so fewer are fine.
    assert set(containers(engine)) <= set(before)
    assert not Path("/nowhere").exists()


def test_an_image_without_a_shell_is_an_image_error(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    tar = subprocess.run(
        ["tar", "-C", str(tmp_path), "-c", "file"], check=True, capture_output=True
    )
    engine._api.import_image_from_data(tar.stdout, repository="presubmit-test", tag="empty")
    image = engine.image("presubmit-test:empty", origin="test")
    before = containers(engine)
    try:
        with pytest.raises(ImageError, match="has no `sh`"):
            engine.start(make_spec(image, network="none"))
        assert containers(engine) == before
    finally:
        engine._api.remove_image("presubmit-test:empty", force=True)


def test_an_image_that_is_missing_is_not_pulled(engine: Engine) -> None:
    with pytest.raises(
        ImageError, match=r"no-such/image:1 .from --image. is not on this machine"
    ) as error:
        engine.image("no-such/image:1", origin="--image")
    assert "presubmit image pull no-such/image:1" in error.value.hint


def test_attaching_to_what_is_gone_is_an_error(engine: Engine) -> None:
    with pytest.raises(EngineError, match="cannot attach"):
        engine.attach("docker:0123456789ab")


@pytest.mark.parametrize(
    ("address", "match"),
    [("unix:///nowhere/sock", "there is no socket"), ("tcp://127.0.0.1:1", "nothing answers")],
)
def test_no_engine_is_said_in_one_line_with_two_ways_out(
    monkeypatch: pytest.MonkeyPatch, address: str, match: str
) -> None:
    monkeypatch.setenv("DOCKER_HOST", address)
    with pytest.raises(EngineError, match=match) as error:
        connect()
    assert "\n" not in str(error.value)
    assert "systemctl start docker" in error.value.hint
    assert "--no-container" in error.value.hint


def test_a_devel_image_is_told(box: DockerBox, tmp_path: Path) -> None:
    facts = check_image(box, log=tmp_path / "log")
    assert facts.is_devel, facts.missing
    assert facts.python.startswith("3.")
    assert (facts.cuda, facts.torch) == ("", "")
