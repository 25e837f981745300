"""What is read of a build folder that untrusted code wrote."""

from __future__ import annotations

import os
import struct
from typing import TYPE_CHECKING

import pytest

from presubmit.replay.assignment import Lane
from presubmit.replay.traces import read_traces

if TYPE_CHECKING:
    from pathlib import Path

    from presubmit.selector.native.exact import Built

BLOBS = {"a.c": "1", "h.h": "2"}
NINJA = "build pkg/_x.abi3.so: link a.o\nbuild a.o: cc /src/a.c\n"
LOG = "  gcc -c a.c -o /tmp/t/a.o\n  gcc -shared /tmp/t/a.o -o build/lib.linux/pkg/_x.abi3.so\n"


def deps(*paths: str) -> bytes:
    data = b"# ninjadeps\n" + struct.pack("<i", 4)
    for index, path in enumerate(paths):
        name = path.encode() + b"\0" * (-len(path) % 4)
        data += struct.pack("<I", len(name) + 4) + name + struct.pack("<I", index ^ 0xFFFFFFFF)
    words = (0, 7, 0, *range(1, len(paths)))
    return data + struct.pack(f"<I{len(words)}I", 0x80000000 | len(words) * 4, *words)


DEPS = deps("a.o", "/src/a.c", "/src/h.h")


def traces(tmp_path: Path, log: str = "") -> Built | None:
    (tmp_path / "log").write_text(log)
    lane = Lane(
        name="head",
        box="b",
        source="/src",
        environment="/env",
        output="/out",
        plugin="/plugin",
        tools="/tools",
        python="python3",
        host_source="/nowhere",
        host_environment=str(tmp_path / "env"),
        host_output="/nowhere",
        host_tools="/nowhere",
        env={},
    )
    return read_traces(lane, tmp_path / "log", BLOBS, ["pkg._x"])


@pytest.fixture
def build(tmp_path: Path) -> Path:
    folder = tmp_path / "env" / "build"
    folder.mkdir(parents=True)
    (folder / "build.ninja").write_text(NINJA)
    (folder / ".ninja_deps").write_bytes(DEPS)
    return folder


@pytest.mark.usefixtures("build")
def test_ninja_tells_sources_and_headers(tmp_path: Path) -> None:
    found = traces(tmp_path)
    assert found is not None
    assert {name: set(files) for name, files in found.modules.items()} == {
        "pkg._x": {"a.c", "h.h"}
    }
    assert found.headers
    assert found.whole
    assert found.files == BLOBS


def test_the_log_of_setuptools_tells_sources_alone(tmp_path: Path) -> None:
    found = traces(tmp_path, LOG)
    assert found is not None
    assert found.modules == {"pkg._x": ("a.c",)}
    assert found.whole
    assert not found.headers


def test_a_build_that_left_nothing_tells_nothing(tmp_path: Path) -> None:
    assert traces(tmp_path, "Successfully installed x-1\n") is None


@pytest.mark.parametrize("name", ["build.ninja", ".ninja_deps"])
def test_no_link_is_followed(tmp_path: Path, build: Path, name: str) -> None:
    (build / name).rename(tmp_path / "elsewhere")
    (build / name).symlink_to(tmp_path / "elsewhere")
    assert traces(tmp_path) is None


def test_a_linked_folder_is_not_read(tmp_path: Path, build: Path) -> None:
    build.rename(tmp_path / "elsewhere")
    build.symlink_to(tmp_path / "elsewhere")
    assert traces(tmp_path) is None


def test_a_pipe_in_place_of_a_file_does_not_hold_the_run_up(tmp_path: Path, build: Path) -> None:
    (build / "build.ninja").unlink()
    os.mkfifo(build / "build.ninja")
    assert traces(tmp_path) is None


def test_a_huge_file_is_not_read(tmp_path: Path, build: Path) -> None:
    with (build / "build.ninja").open("ab") as stream:
        stream.truncate((64 << 20) + 1)
    assert traces(tmp_path) is None


@pytest.mark.parametrize("junk", [b"", b"\xff" * 99, b"# ninjadeps\n", DEPS[:-3]])
def test_damaged_dependencies_are_not_taken_for_exact(
    tmp_path: Path, build: Path, junk: bytes
) -> None:
    (build / ".ninja_deps").write_bytes(junk)
    found = traces(tmp_path)
    assert found is None or not (found.headers or found.whole)
