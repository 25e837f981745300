"""What a box has: read from one script's answer."""

from __future__ import annotations

import platform
import sys
from typing import TYPE_CHECKING

import pytest

from presubmit.container.host import HostBox
from presubmit.errors import ImageError
from presubmit.replay.job import probe
from presubmit.upstream.here import Here, Interpreter

if TYPE_CHECKING:
    from pathlib import Path

ANSWER = """\
here arch x86_64
here system Linux
here uid 0
here caps 000001ffffffffff
here tool bash /bin/bash
here tool git /usr/bin/git
here version git git version 2.39.5
here version node v18.19.0
here version java openjdk version "17.0.11" 2024-04-16 OpenJDK Runtime
here version go go version go1.22.1 linux/amd64
here version rustc rustc 1.75.0 (82e1608df 2023-12-21)
here version uv uv 0.13.9 (x86_64-unknown-linux-gnu)
some tool talks
here python {"version": "3.11.2", "kind": "cpython", "release": "", "free": false, "pip": false, "path": "/usr/bin/python3", "base": ""}
here python {"version": "3.9.1", "kind": "cpython", "release": "", "free": false, "pip": true, "path": "/opt/python3.9", "base": ""}
here python {"version": "3.11.2", "kind": "cpython", "release": "", "free": false, "pip": true, "path": "/opt/python3", "base": ""}
here python {"version": "3.11.13", "kind": "pypy", "release": "7.3.20", "free": false, "pip": true, "path": "/opt/pypy3", "base": ""}
here python broken
here end
"""


def parsed(text: str = ANSWER, *, on_host: bool = False) -> Here:
    here = probe.parse(text, on_host=on_host)
    assert here is not None
    return here


def test_versions_are_what_the_tools_say() -> None:
    assert parsed().versions == {
        "git": "2.39.5",
        "node": "18.19.0",
        "java": "17.0.11",
        "go": "1.22.1",
        "rust": "1.75.0",
        "uv": "0.13.9",
    }


def test_the_default_stands_first_and_each_version_once_with_a_pip() -> None:
    assert parsed().interpreters == (
        Interpreter(version="3.11.2", path="/opt/python3"),
        Interpreter(version="3.9.1", path="/opt/python3.9"),
        Interpreter(version="3.11.13", path="/opt/pypy3", kind="pypy", release="7.3.20"),
    )


def test_an_answer_without_its_end_is_none() -> None:
    assert probe.parse(ANSWER.replace("here end", ""), on_host=False) is None


@pytest.mark.parametrize(
    ("uid", "caps", "root"),
    [
        ("0", "here caps 000001ffffffffff", True),
        ("0", "here caps 0000000000000000", False),
        ("0", "", True),
        ("1000", "here caps 000001ffffffffff", False),
    ],
)
def test_root_without_a_roots_rights_is_no_root(uid: str, caps: str, *, root: bool) -> None:
    text = ANSWER.replace("here uid 0", f"here uid {uid}")
    assert parsed(text.replace("here caps 000001ffffffffff", caps)).root is root


@pytest.mark.parametrize(
    ("machine", "arch"),
    [
        ("x86_64", "X64"),
        ("aarch64", "ARM64"),
        ("arm64", "ARM64"),
        ("i686", "X86"),
        ("armv7l", "ARM"),
    ],
)
def test_the_architecture_is_githubs_word(machine: str, arch: str) -> None:
    assert parsed(ANSWER.replace("here arch x86_64", f"here arch {machine}")).arch == arch


def test_the_host_is_looked_at_like_a_box(tmp_path: Path) -> None:
    here = probe.probe(HostBox(workdir=str(tmp_path)), log=tmp_path / "log")
    assert here.on_host
    assert here.tools["git"].endswith("/git")
    assert here.system == {"Linux": "Linux", "Darwin": "macOS"}[platform.system()]
    assert here.interpreters


def test_a_python_first_on_path_is_the_default(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/python3").symlink_to(sys.executable)
    env = {"PATH": f"{tmp_path}/bin:/usr/bin:/bin"}
    here = probe.probe(HostBox(workdir=str(tmp_path), env=env), log=tmp_path / "log")
    assert here.interpreters[0].version == "{}.{}.{}".format(*sys.version_info[:3])


def test_pyenvs_versions_are_found_and_broken_ones_passed_over(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"pyenv/versions/{name}/bin").mkdir(parents=True)
    (tmp_path / "pyenv/versions/a/bin/python3").symlink_to(sys.executable)
    broken = tmp_path / "pyenv/versions/b/bin/python3"
    broken.write_text("#!/bin/sh\necho boom >&2\nexit 127\n")
    broken.chmod(0o755)
    (tmp_path / "empty").mkdir()
    for tool in ("sh", "uname", "id", "head", "tr"):
        (tmp_path / "empty" / tool).symlink_to(
            f"/bin/{tool}" if tool == "sh" else f"/usr/bin/{tool}"
        )
    env = {"PATH": f"{tmp_path}/empty", "PYENV_ROOT": f"{tmp_path}/pyenv"}
    here = probe.probe(HostBox(workdir=str(tmp_path), env=env), log=tmp_path / "log")
    assert any(
        one.version == "{}.{}.{}".format(*sys.version_info[:3]) for one in here.interpreters
    )
    assert "git" not in here.tools


def test_a_box_that_cannot_be_looked_at_is_an_image_fault(tmp_path: Path) -> None:
    box = HostBox(workdir=str(tmp_path), env={"PATH": str(tmp_path)})
    with pytest.raises(ImageError, match="cannot be looked at"):
        probe.probe(box, log=tmp_path / "log")


def test_what_was_found_is_kept_by_image(tmp_path: Path) -> None:
    here = parsed()
    probe.write_here(tmp_path, "sha256:abc/../x", here)
    assert probe.read_here(tmp_path, "sha256:abc/../x") == here
    assert probe.read_here(tmp_path, "sha256:def") is None
    assert [path.name for path in (tmp_path / "here").iterdir()] == ["sha256-abc-..-x.json"]


def test_a_damaged_note_is_none(tmp_path: Path) -> None:
    probe.write_here(tmp_path, "x", parsed())
    (tmp_path / "here/x.json").write_text('{"unknown": 1}')
    assert probe.read_here(tmp_path, "x") is None
