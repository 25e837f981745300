"""The plugin's own parts, without a pytest process around them."""

from __future__ import annotations

import json
import os
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from presubmit.replay import pytest_plugin as plugin

if TYPE_CHECKING:
    from pathlib import Path


def make_run(tmp_path: Path, **data: Any) -> plugin._Run:
    config = SimpleNamespace(rootpath=tmp_path, getini=lambda _: ["test_*.py", "deep/check_*.py"])
    data = {"root": str(tmp_path), "mode": "scoped", "record": str(tmp_path / "record")} | data
    run = plugin._Run(config, data, json.dumps(data))
    run.take(data)
    return run


@pytest.mark.parametrize(
    "wrong",
    [
        {"mode": "some"},
        {"mode": None},
        {"files": "x"},
        {"files": {"a": 1}},
        {"ids": [1]},
        {"watch": {}},
        {"known": 3},
        {"root": 1},
        {"record": []},
    ],
)
def test_data_of_another_form_is_refused(tmp_path: Path, wrong: dict[str, Any]) -> None:
    with pytest.raises((ValueError, TypeError)):
        make_run(tmp_path, **wrong)


def test_only_a_plain_file_of_bounded_size_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / "fifo")
    for place in (str(tmp_path / "fifo"), str(tmp_path), "/dev/zero", "/nowhere", "a\0b"):
        with pytest.raises((OSError, ValueError)):
            plugin._read(place)
    (tmp_path / "large").write_bytes(b"x" * 100)
    assert plugin._read(str(tmp_path / "large")) == "x" * 100
    monkeypatch.setattr(plugin, "_LARGEST_SELECTION", 10)
    with pytest.raises(OSError, match="too large"):
        plugin._read(str(tmp_path / "large"))


def test_which_files_are_left_out(tmp_path: Path) -> None:
    run = make_run(tmp_path, files=["tests/test_a.py"])
    left = {
        name
        for name in (
            "tests/test_a.py",
            "tests/test_b.py",
            "tests/conftest.py",
            "tests/__init__.py",
            "tests/helper.py",
            "tests/test_doc.txt",
            "deep/check_x.py",
        )
        if run.leaves_out(tmp_path / name)
    }
    assert left == {"tests/test_b.py", "deep/check_x.py"}
    assert not run.leaves_out("/elsewhere/test_x.py")


def test_with_ids_every_other_file_is_left_out(tmp_path: Path) -> None:
    run = make_run(tmp_path, mode="all", ids=["tests/test_a.py::x"])
    assert run.leaves_out(tmp_path / "tests/test_doc.txt")
    assert not run.leaves_out(tmp_path / "tests/test_a.py")
    assert not run.leaves_out(tmp_path / "conftest.py")


def test_the_starts_of_an_id() -> None:
    assert list(plugin._starts("a.py::C::t[x::y[z]]")) == [
        "a.py::C::t[x::y[z]]",
        "a.py",
        "a.py::C",
        "a.py::C::t",
        "a.py::C::t[x",
        "a.py::C::t[x::y",
    ]


def test_a_record_is_never_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "record").symlink_to(tmp_path / "elsewhere")
    make_run(tmp_path).write("x")
    assert not (tmp_path / "elsewhere").exists()


def test_lines_are_appended_in_ascii(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    run.write("one", text="\udcff ä\n")
    run.write("two", path=tmp_path)
    one, two = (tmp_path / "record").read_text("ascii").splitlines()
    assert json.loads(one) == {"event": "one", "text": "\udcff ä\n"}
    assert json.loads(two)["path"] == str(tmp_path)


def test_installed_files_are_no_files_of_the_project(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    assert run.project_file(str(tmp_path / "pkg/a.py")) == "pkg/a.py"
    assert run.project_file(str(tmp_path / ".venv/lib/site-packages/a.py")) is None
    assert run.project_file("<string>") is None
    assert run.project_file("/elsewhere/a.py") is None


def test_an_error_inside_the_guard_is_recorded_and_stops_the_narrowing(tmp_path: Path) -> None:
    run = make_run(tmp_path, files=[])
    with plugin._Guard(run):
        raise KeyError("k")
    assert not run.narrow
    assert json.loads((tmp_path / "record").read_text())["error"] == "KeyError: 'k'"
    with pytest.raises(KeyboardInterrupt), plugin._Guard(run):
        raise KeyboardInterrupt
