"""A step may have made anything of its output folder: nothing outside is ever read."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

import pytest

from presubmit.replay.assignment import Lane
from presubmit.replay.harvest import MOST_BYTES, OutputFolder

if TYPE_CHECKING:
    from pathlib import Path

SECRET = b"secret"


def make_lane(tmp_path: Path) -> Lane:
    (tmp_path / "output").mkdir()
    return Lane(
        name="head",
        box="host:x",
        source="/src",
        environment="/env",
        output="/out",
        plugin="/plugin",
        tools="/tools",
        python="python3",
        host_source=str(tmp_path / "source"),
        host_environment=str(tmp_path / "environment"),
        host_output=str(tmp_path / "output"),
        host_tools=str(tmp_path / "tools"),
        env={},
    )


@pytest.fixture
def lane(tmp_path: Path) -> Lane:
    return make_lane(tmp_path)


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "junit.xml").write_bytes(SECRET)
    return folder


def test_a_file_that_was_written_is_copied(lane: Lane, tmp_path: Path) -> None:
    copy = tmp_path / "run/junit/tests.1.xml"
    with OutputFolder(lane) as out:
        (out.host / "junit.xml").write_bytes(b"<x/>")
        assert out.take("junit.xml", copy) == ""
    assert copy.read_bytes() == b"<x/>"


def test_a_file_that_was_not_written_is_said_to_be_missing(lane: Lane, tmp_path: Path) -> None:
    with OutputFolder(lane) as out:
        assert out.take("junit.xml", tmp_path / "copy") == "junit.xml was not written"
    assert not (tmp_path / "copy").exists()


def test_every_command_has_a_folder_of_its_own(lane: Lane) -> None:
    with OutputFolder(lane) as one, OutputFolder(lane) as other:
        assert one.host != other.host
        assert list(one.host.iterdir()) == []


def test_the_folder_is_gone_afterwards(lane: Lane) -> None:
    with OutputFolder(lane) as out:
        (out.host / "deep").mkdir()
    assert not out.host.exists()


def test_a_file_that_is_put_in_has_its_name_inside_the_box(lane: Lane) -> None:
    with OutputFolder(lane) as out:
        assert out.write("told.json", b"{}") == f"{out.inside}/told.json"
        assert out.inside == f"/out/{out.host.name}"
        assert (out.host / "told.json").read_bytes() == b"{}"


def test_a_file_is_put_in_once_only(lane: Lane) -> None:
    with OutputFolder(lane) as out:
        out.write("told.json", b"{}")
        with pytest.raises(FileExistsError):
            out.write("told.json", b"{}")


def test_a_link_is_not_followed_when_a_file_is_put_in(lane: Lane, outside: Path) -> None:
    with OutputFolder(lane) as out:
        (out.host / "told.json").symlink_to(outside / "new")
        with pytest.raises(FileExistsError):
            out.write("told.json", b"{}")
    assert not (outside / "new").exists()


def test_a_link_is_not_followed(lane: Lane, tmp_path: Path, outside: Path) -> None:
    with OutputFolder(lane) as out:
        (out.host / "junit.xml").symlink_to(outside / "junit.xml")
        assert "not a plain file" in out.take("junit.xml", tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


def test_a_pipe_is_not_waited_for(lane: Lane, tmp_path: Path) -> None:
    with OutputFolder(lane) as out:
        os.mkfifo(out.host / "junit.xml")
        assert out.take("junit.xml", tmp_path / "copy") == "junit.xml is not a plain file"


def test_a_folder_is_not_a_file(lane: Lane, tmp_path: Path) -> None:
    with OutputFolder(lane) as out:
        (out.host / "junit.xml").mkdir()
        assert "not a plain file" in out.take("junit.xml", tmp_path / "copy")


def test_a_device_is_not_read(lane: Lane, tmp_path: Path) -> None:
    with OutputFolder(lane) as out:
        try:
            os.mknod(out.host / "junit.xml", stat.S_IFCHR | 0o600, os.makedev(1, 5))
        except PermissionError:
            pytest.skip("devices cannot be made here")
        assert "not a plain file" in out.take("junit.xml", tmp_path / "copy")


def test_a_file_that_is_too_large_is_not_copied(lane: Lane, tmp_path: Path) -> None:
    with OutputFolder(lane) as out:
        with (out.host / "junit.xml").open("wb") as stream:
            stream.truncate(MOST_BYTES + 1)
        assert out.take("junit.xml", tmp_path / "copy") == "junit.xml is larger than 64 MiB"
    assert not (tmp_path / "copy").exists()


def test_a_folder_that_became_a_link_is_not_followed(
    lane: Lane, tmp_path: Path, outside: Path
) -> None:
    with OutputFolder(lane) as out:
        out.host.rename(tmp_path / "moved")
        out.host.symlink_to(outside)
        assert out.take("junit.xml", tmp_path / "copy") == "junit.xml was not written"
    assert not (tmp_path / "copy").exists()
    assert (outside / "junit.xml").read_bytes() == SECRET


def test_a_folder_that_became_another_is_not_read(
    lane: Lane, tmp_path: Path, outside: Path
) -> None:
    with OutputFolder(lane) as out:
        out.host.rmdir()
        outside.rename(out.host)
        assert out.take("junit.xml", tmp_path / "copy") == "junit.xml was not written"


def test_links_inside_are_not_followed_when_the_folder_is_removed(
    lane: Lane, outside: Path
) -> None:
    with OutputFolder(lane) as out:
        (out.host / "link").symlink_to(outside)
    assert not out.host.exists()
    assert (outside / "junit.xml").read_bytes() == SECRET


def test_a_folder_that_is_gone_already_costs_nothing(lane: Lane, tmp_path: Path) -> None:
    with OutputFolder(lane) as out:
        out.host.rmdir()
        assert out.take("junit.xml", tmp_path / "copy") == "junit.xml was not written"
