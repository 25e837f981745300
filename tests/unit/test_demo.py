"""What of the demo needs neither git nor a compiler: its stored files, its folders and what it asks of a host."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from presubmit import demo
from presubmit.cli.demo import check_host
from presubmit.errors import ExitCode, PresubmitError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FILES = {
    ".devcontainer/devcontainer.json",
    ".github/workflows/ci.yml",
    ".gitignore",
    ".pre-commit-config.yaml",
    "LICENSE",
    "MANIFEST.in",
    "README.md",
    "benchmarks/bench_ops.py",
    "pyproject.toml",
    "setup.py",
    "src/tensorlet/__init__.py",
    "src/tensorlet/_kernels.cpp",
    "src/tensorlet/formatting.py",
    "src/tensorlet/kernels.hpp",
    "src/tensorlet/ops.py",
    "tests/test_dot.py",
    "tests/test_elementwise.py",
    "tests/test_formatting.py",
}


def test_the_project_has_all_of_its_files() -> None:
    assert {path for path, _ in demo.project_files()} == FILES


def test_a_checkout_without_dotfiles_loses_nothing() -> None:
    stored = [
        path.relative_to(demo.examples_folder()).parts
        for path in demo.examples_folder().rglob("*")
        if path.name != "__pycache__"
    ]
    tools = {".pytest_cache", ".ruff_cache", ".mypy_cache"}
    assert [
        parts for parts in stored if parts[-1].startswith(".") and not tools & set(parts)
    ] == []


def test_no_stored_line_ends_in_a_blank() -> None:
    # A fixer of trailing blanks must find nothing to break in the patches.
    patches = sorted(demo.examples_folder().glob("*/*.patch"))
    assert len(patches) == 3
    for patch in patches:
        assert re.search(rb"[ \t\r]$", patch.read_bytes(), re.MULTILINE) is None


def test_what_tools_leave_behind_is_not_laid_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leftovers = (
        "src/tensorlet/__pycache__/ops.cpython-311.pyc",
        "src/tensorlet.egg-info/PKG-INFO",
        "src/tensorlet/_kernels.cpython-311-x86_64-linux-gnu.so",
        "build/lib/ops.py",
        ".ruff_cache/content",
    )
    for name in (*leftovers, "src/tensorlet/ops.py", "dot-github/ci.yml"):
        path = tmp_path / "tensorlet" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")
    monkeypatch.setattr(demo, "examples_folder", lambda: tmp_path)
    assert dict(demo.project_files()) == {".github/ci.yml": b"x", "src/tensorlet/ops.py": b"x"}


# --- folders ------------------------------------------------------------------------------------------------------


def test_new_folders_are_numbered(tmp_path: Path) -> None:
    parent = tmp_path / "cache/demo"
    made = [demo.new_folder(parent) for _ in range(2)]
    assert made == [parent / "1", parent / "2"]
    assert all(folder.is_dir() for folder in made)


def test_a_cache_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    with pytest.raises(PresubmitError, match="no folder can be made in") as caught:
        demo.new_folder(tmp_path / "cache/demo")
    assert caught.value.hint == "name a folder: presubmit demo FOLDER"


def test_a_folder_with_something_in_it_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(UsageError, match="is not empty") as caught:
        demo.lay_out(tmp_path)
    assert caught.value.exit_code is ExitCode.USAGE
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot be used: File exists"):
        demo.lay_out(tmp_path / "file")


# --- the host -----------------------------------------------------------------------------------------------------


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Give what makes a PATH of nothing but these programs, each printing its text."""

    def make(**texts: str) -> None:
        for name, text in texts.items():
            path = tmp_path / name.replace("cxx", "c++")
            path.write_text(f"#!/bin/sh\necho {text}\n")
            path.chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path))

    return make


def test_a_host_with_compiler_and_headers_will_do(programs: Callable[..., None]) -> None:
    programs(cxx="", python3="True")
    check_host("python3")


@pytest.mark.parametrize(
    ("texts", "missing"),
    [
        ({"python3": "True"}, "C++ compiler missing"),
        ({"cxx": "", "python3": "False"}, "module: headers of python3 (Python.h) missing"),
        ({}, "C++ compiler and headers of python3 (Python.h) missing"),
    ],
)
def test_a_host_that_cannot_build_is_told_what_to_install(
    programs: Callable[..., None], texts: dict[str, str], missing: str
) -> None:
    programs(**texts)
    with pytest.raises(PresubmitError) as caught:
        check_host("python3")
    assert missing in str(caught.value)
    assert "apt install g++ python3-dev python3-venv" in caught.value.hint
