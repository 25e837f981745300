from __future__ import annotations

import errno
import io
import os
import socket
import tarfile
from typing import TYPE_CHECKING

import pytest

from presubmit.container.engine import engine_info, image_ref
from presubmit.container.faults import hint_for, lost, why_no_engine
from presubmit.container.identity import group_with, identity_files, passwd_with, resolve_user
from presubmit.container.model import BoxMount, BoxSpec, Limits
from presubmit.container.owner import Owner, is_alive, is_orphan, labels, this_process
from presubmit.container.scripts import Header, Process, is_full, parse_header, parse_survey
from presubmit.container.settings import (
    binds,
    environment,
    host_config,
    prepare_mount_points,
    with_safe_directory,
)
from presubmit.container.stream import Connection, FrameError, Frames
from presubmit.errors import ConfigError, EngineError, ImageError

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from presubmit.container.identity import Identity

SPEC = BoxSpec(image=None, lane="head", run="r", repo="p", workdir="/src")


def config(spec: BoxSpec = SPEC, **given: Any) -> dict[str, Any]:
    plain: dict[str, Any] = {
        "identity": None,
        "mounts": spec.mounts,
        "keep": False,
        "selinux": False,
        "keep_id": False,
        "cpus": 4,
        "sysctls": {},
    }
    return host_config(spec, **{**plain, **given})


def spec(**given: Any) -> BoxSpec:
    return BoxSpec(
        **{"image": None, "lane": "head", "run": "r", "repo": "p", "workdir": "/src", **given}
    )


# --- settings ---


def test_a_box_has_no_rights_by_default() -> None:
    found = config()
    assert found["CapDrop"] == ["ALL"]
    assert found["CapAdd"] == []
    assert found["SecurityOpt"] == ["no-new-privileges"]
    assert found["Privileged"] is False
    assert found["AutoRemove"] is True
    assert found["Tmpfs"] == {"/tmp": "exec,mode=1777"}


def test_profiles_and_debug_add_only_what_they_name() -> None:
    parity = config(spec(profile="ci-parity"))
    assert parity["CapAdd"] == ["SYS_PTRACE"]
    assert parity["SecurityOpt"] == ["no-new-privileges", "seccomp=unconfined"]
    debug = config(spec(debug=True))
    assert debug["CapAdd"] == ["SYS_PTRACE"]
    assert debug["SecurityOpt"] == ["no-new-privileges"]
    assert debug["Ulimits"] == [{"Name": "core", "Soft": -1, "Hard": -1}]
    with pytest.raises(ConfigError, match="profile 'loose' is not known"):
        config(spec(profile="loose"))


def test_selinux_is_answered_by_a_label_option_only_where_it_is_on() -> None:
    assert "label=disable" in config(selinux=True)["SecurityOpt"]


def test_limits_reach_the_engine() -> None:
    limits = Limits(memory=64 << 20, cpus=16, pids=9, shm=5, ulimits=("nofile=1:2",))
    found = config(spec(limits=limits, gpus="0,1"))
    assert found["Memory"] == found["MemorySwap"] == 64 << 20
    assert found["NanoCpus"] == 4_000_000_000
    assert (found["PidsLimit"], found["ShmSize"]) == (9, 5)
    assert found["Ulimits"] == [{"Name": "nofile", "Soft": 1, "Hard": 2}]
    assert found["DeviceRequests"][0]["DeviceIDs"] == ["0", "1"]
    assert config(spec(gpus="all"))["DeviceRequests"][0]["Count"] == -1


def test_build_tools_are_told_of_a_cpu_limit_and_the_spec_wins() -> None:
    found = environment(spec(limits=Limits(cpus=3.5), env={"MAX_JOBS": "1"}), None, cpus=8)
    assert (found["MAX_JOBS"], found["OMP_NUM_THREADS"]) == ("1", "3")
    assert environment(spec(limits=Limits(cpus=16)), None, cpus=2)["OMP_NUM_THREADS"] == "2"
    assert "MAX_JOBS" not in environment(SPEC, None, cpus=2)


def test_git_configuration_of_the_spec_is_kept() -> None:
    found = with_safe_directory(
        {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "a.b", "GIT_CONFIG_VALUE_0": "c"}
    )
    assert found["GIT_CONFIG_COUNT"] == "2"
    assert (found["GIT_CONFIG_KEY_0"], found["GIT_CONFIG_KEY_1"]) == ("a.b", "safe.directory")


def test_a_missing_mount_source_is_an_error_and_nothing_is_made(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match=r"cannot mount .*missing at /x: no such file"):
        binds([BoxMount(source=str(tmp_path / "missing"), target="/x")])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("source", ["/", "/proc", "/dev", "/run", "/dev/null"])
def test_system_folders_and_devices_are_refused(source: str) -> None:
    with pytest.raises(EngineError, match="refused to mount"):
        binds([BoxMount(source=source, target="/x")])


def test_a_link_to_a_system_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/run")
    with pytest.raises(EngineError, match="refused to mount"):
        binds([BoxMount(source=str(tmp_path / "link"), target="/x")])


def test_a_volume_is_mounted_by_name_and_without_what_the_image_has_there() -> None:
    volume = BoxMount(source="name", target="/x", kind="volume")
    assert binds([volume]) == [
        {
            "Type": "volume",
            "Source": "name",
            "Target": "/x",
            "ReadOnly": False,
            "VolumeOptions": {"NoCopy": True},
        }
    ]


def test_the_folder_for_a_volume_is_made_in_the_mount_around_it(tmp_path: Path) -> None:
    outer = BoxMount(source=str(tmp_path), target="/ws")
    volume = BoxMount(source="name", target="/ws/a/b", kind="volume")
    prepare_mount_points([outer, volume], workdir="/ws/a/b/c")
    assert (tmp_path / "a" / "b").is_dir()
    assert list((tmp_path / "a" / "b").iterdir()) == []


@pytest.mark.parametrize("target", ["x", "/a/../b"])
def test_a_target_that_is_not_absolute_is_refused(tmp_path: Path, target: str) -> None:
    with pytest.raises(EngineError, match="not an absolute path"):
        binds([BoxMount(source=str(tmp_path), target=target)])


def test_mount_points_inside_a_mount_are_made_by_the_caller(tmp_path: Path) -> None:
    outer = BoxMount(source=str(tmp_path), target="/src")
    prepare_mount_points(
        [outer, BoxMount(source="/usr", target="/src/deep/build")], workdir="/src/work"
    )
    assert (tmp_path / "deep" / "build").is_dir()
    assert (tmp_path / "work").is_dir()


def test_a_mount_point_missing_in_a_read_only_mount_is_an_error(tmp_path: Path) -> None:
    outer = BoxMount(source=str(tmp_path), target="/src", read_only=True)
    with pytest.raises(EngineError, match="mounted read-only"):
        prepare_mount_points([outer], workdir="/src/work")


def test_a_mount_point_behind_a_link_out_of_the_mount_is_refused(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "build").symlink_to(tmp_path)
    outer = BoxMount(source=str(tmp_path / "tree"), target="/src")
    with pytest.raises(EngineError, match="leads out of"):
        prepare_mount_points([outer], workdir="/src/build/new")
    assert not (tmp_path / "new").exists()


# --- identity ---


@pytest.mark.parametrize(
    ("user", "rootless", "expected"),
    [
        ("caller", False, (5, 6)),
        ("caller", True, (0, 0)),
        ("7:8", True, (7, 8)),
        ("image", False, None),
    ],
)
def test_users_are_resolved(user: str, rootless: bool, expected: tuple[int, int] | None) -> None:
    assert resolve_user(user, uid=5, gid=6, rootless=rootless) == expected


@pytest.mark.parametrize("user", ["", "root", "1:", "a:b", "1:2:3", "-1:2"])
def test_other_users_are_refused(user: str) -> None:
    with pytest.raises(ConfigError):
        resolve_user(user, uid=5, gid=6, rootless=False)


def test_the_caller_joins_the_images_users() -> None:
    text, identity = passwd_with("root:x:0:0::/root:/bin/sh\n", uid=1000, gid=100)
    assert text.splitlines()[0] == "presubmit:x:1000:100:presubmit:/tmp/home:/bin/sh"
    assert "root:x:0:0" in text
    assert identity.user == "1000:100"


def test_the_images_own_name_for_the_uid_is_kept() -> None:
    text, identity = passwd_with(
        "root:x:0:0::/root:/bin/sh\nvscode:x:1000:1000::/home/vscode:/bin/bash\n", uid=1000, gid=5
    )
    assert identity.name == "vscode"
    assert [line for line in text.splitlines() if ":1000:" in line] == [
        "vscode:x:1000:5:presubmit:/tmp/home:/bin/sh"
    ]


def test_a_taken_name_is_not_used_twice() -> None:
    assert passwd_with("presubmit:x:7:7::/:/bin/sh\n", uid=8, gid=8)[1].name == "presubmit-8"
    assert group_with("presubmit:x:7:\n", gid=8).splitlines()[0] == "presubmit-8:x:8:"
    assert group_with("staff:x:8:\n", gid=8) == "staff:x:8:\n"


def test_the_image_is_read_once(tmp_path: Path) -> None:
    reads = []

    def read(path: str) -> bytes:
        reads.append(path)
        if path == "/etc/group":
            return b""
        data = io.BytesIO()
        with tarfile.open(fileobj=data, mode="w") as tar:
            member = tarfile.TarInfo("passwd")
            member.size = 26
            tar.addfile(member, io.BytesIO(b"root:x:0:0::/root:/bin/sh\n"))
        return data.getvalue()

    def files() -> tuple[Identity, Path, Path]:
        return identity_files(tmp_path, image_id="sha256:ab", uid=9, gid=9, read_from_image=read)

    files()
    identity, passwd, group = files()
    assert reads == ["/etc/passwd", "/etc/group"]
    assert "root:x:0:0" in passwd.read_text()
    assert group.read_text() == "presubmit:x:9:\n"
    assert identity.uid == 9


# --- owner ---

HERE = Owner(process="1:2", boot="b", host="h:1")


@pytest.mark.parametrize(
    ("changed", "alive", "orphan"),
    [
        ({}, True, False),
        ({}, False, True),
        ({"host": "other:1"}, False, False),
        ({"boot": "old"}, True, True),
        ({"kept": "1"}, False, False),
        ({"kept": "1", "boot": "old"}, False, True),
        ({"owner": ""}, False, False),
        ({"boot": ""}, False, False),
    ],
)
def test_only_what_a_dead_owner_of_this_host_left_is_swept(
    changed: dict[str, str], alive: bool, orphan: bool
) -> None:
    found = labels(HERE, run="r", repo="p", lane="head", created="c", kept=False)
    found |= {f"dev.presubmit.{name}": value for name, value in changed.items()}
    assert is_orphan(found, here=HERE, alive=alive) is orphan


def test_unlabelled_containers_are_never_ours() -> None:
    assert not is_orphan({}, here=HERE, alive=False)


def test_this_process_is_alive_and_its_number_with_another_start_is_not() -> None:
    assert is_alive(this_process().process)
    assert not is_alive(f"{os.getpid()}:1")
    assert not is_alive("")
    assert not is_alive("x:1")


# --- scripts and frames ---


def test_the_wrappers_line_is_read() -> None:
    assert parse_header(b"\x1eabc 3 yes", "abc") == Header(oom_kills=3, can_start=True)
    assert parse_header(b"\x1eabc - no", "abc") == Header(oom_kills=None, can_start=False)
    assert parse_header(b"\x1eother 3 yes", "abc") is None
    assert parse_header(b"\xff\xff", "abc") is None


def test_a_survey_is_read() -> None:
    text = (
        "oom 2\nmine 7 S sleep 100\nother 8 R make\nbare 9 S cat\nbare 10 S runc init\n"
        "disk tmpfs 1024 1024 0 100% /tmp\ndisk overlay 1000000 1 900000 1% /\njunk\nend\n"
    )
    found = parse_survey(text)
    assert found.complete
    assert (found.oom_kills, found.mine, found.others) == (
        2,
        (Process(7, "sleep 100"),),
        (Process(8, "make"),),
    )
    assert found.bare == (Process(9, "cat"),)
    assert found.full_disks == ("/tmp",)


def test_a_survey_that_was_cut_short_is_not_complete() -> None:
    assert not parse_survey("oom 0\nmine 7 S x\n").complete
    assert not parse_survey("").complete


def test_a_disk_is_full_by_share_or_size() -> None:
    assert is_full(total=1 << 40, available=1 << 20)
    assert not is_full(total=64 << 20, available=32 << 20)
    assert is_full(total=64 << 20, available=1 << 20)


def frame(stream: int, data: bytes) -> bytes:
    return bytes([stream, 0, 0, 0]) + len(data).to_bytes(4, "big") + data


def test_frames_are_read_however_they_are_cut() -> None:
    data = frame(1, b"hello") + frame(2, b"") + frame(2, b"err") + frame(1, b"!")
    for step in range(1, len(data) + 1):
        frames = Frames()
        parts = [
            part for i in range(0, len(data), step) for part in frames.feed(data[i : i + step])
        ]
        assert b"".join(part for stream, part in parts if stream == 1) == b"hello!"
        assert b"".join(part for stream, part in parts if stream == 2) == b"err"


def test_what_is_no_frame_is_an_error() -> None:
    with pytest.raises(FrameError):
        Frames().feed(b"HTTP/1.1 500 no")


# --- the engine's words ---


def test_why_there_is_no_engine_is_said_in_one_line() -> None:
    address = "unix:///x/sock"
    texts = [
        why_no_engine(RuntimeError("Error", OSError(number, "no")), address=address)
        for number in (errno.ENOENT, errno.EACCES, errno.ECONNREFUSED)
    ]
    assert "there is no socket at unix:///x/sock" in texts[0]
    assert "may not use the socket" in texts[1]
    assert "is the daemon running?" in texts[2]
    assert why_no_engine(RuntimeError("odd\nthing"), address=address).endswith("sock: odd thing")


def test_engines_are_told_apart() -> None:
    docker = engine_info(
        {
            "SecurityOptions": ["name=seccomp,profile=default", "name=rootless", "name=selinux"],
            "CgroupVersion": "2",
            "Runtimes": {"runc": {}, "nvidia": {}},
            "NCPU": 8,
            "MemTotal": 1,
            "Architecture": "x86_64",
        },
        {"Version": "28", "ApiVersion": "1.50", "Components": [{"Name": "Engine"}]},
    )
    assert (docker.kind, docker.rootless, docker.cgroup, docker.gpu, docker.selinux) == (
        "docker",
        True,
        2,
        True,
        True,
    )
    podman = engine_info({}, {"Components": [{"Name": "Podman Engine"}]})
    assert (podman.kind, podman.rootless, podman.gpu) == ("podman", False, False)
    assert engine_info({"OperatingSystem": "Docker Desktop"}, {}).kind == "desktop"


def test_an_image_for_another_machine_is_refused_by_name() -> None:
    found = {
        "Id": "sha256:1",
        "Os": "linux",
        "Architecture": "arm64",
        "RepoDigests": ["a@sha256:2"],
    }
    assert image_ref(found, name="a", origin="x", machine="aarch64").digest == "a@sha256:2"
    assert image_ref({"Id": "sha256:1"}, name="a", origin="x", machine="x86_64").digest is None
    with pytest.raises(
        ImageError,
        match=r"image a \(from ci.yml:3\) is for linux/arm64, and this engine runs on x86_64",
    ):
        image_ref(found, name="a", origin="ci.yml:3", machine="x86_64")


def test_a_gpu_or_mount_fault_has_a_next_step() -> None:
    assert "toolkit" in hint_for(
        RuntimeError('could not select device driver "" with capabilities: [[gpu]]')
    )
    assert "file system" in hint_for(
        RuntimeError("invalid mount config: bind source path does not exist: /x")
    )
    assert "docker system df" in hint_for(RuntimeError("write /x: no space left on device"))
    assert hint_for(RuntimeError("other")) == ""


def test_a_conflict_means_that_the_box_is_gone_and_others_that_the_engine_is() -> None:
    class Refusal(Exception):  # noqa: N818 - stands for docker's APIError
        def __init__(self, status_code: int) -> None:
            super().__init__("words")
            self.status_code = status_code

    assert "stopped or removed" in str(lost(Refusal(409)))
    assert "stopped or removed" in str(lost(Refusal(404)))
    assert "does not answer: words" in str(lost(Refusal(500)))


def test_bytes_and_the_end_come_through_a_connection() -> None:
    near, far = socket.socketpair()
    connection = Connection(near)
    assert connection.receive(0.01) == b""
    far.sendall(b"abc")
    assert connection.receive(1) == b"abc"
    far.close()
    assert connection.receive(1) is None
    connection.close()
    connection.close()


def test_bytes_that_were_read_ahead_with_the_headers_are_not_lost() -> None:
    class Response:
        def __init__(self, reader: io.BufferedReader) -> None:
            self.raw = type("Raw", (), {"_fp": type("Body", (), {"fp": reader})})

        def close(self) -> None:
            self.raw._fp.fp.close()  # type: ignore[attr-defined]

    near, far = socket.socketpair()
    reader = near.makefile("rb")
    far.sendall(b"HTTP/1.1 101\r\nearly")
    assert reader.readline() == b"HTTP/1.1 101\r\n"
    hijacked = reader.raw
    hijacked._response = Response(reader)  # type: ignore[attr-defined]
    connection = Connection(hijacked)
    assert connection.receive(1) == b"early"
    far.sendall(b"late")
    assert connection.receive(1) == b"late"
    connection.close()
    far.close()
