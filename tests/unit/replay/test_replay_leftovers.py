"""What a build left stays, and only that; whatever else lies in the tree goes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from presubmit.replay.build import add_to_stamp, read_stamp
from presubmit.replay.leftovers import remember_built, settle_leftovers

if TYPE_CHECKING:
    from collections.abc import Callable

TRACKED = frozenset({"a.py", "pkg/b.py", "sub"})


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    top = tmp_path / "tree"
    for name in ("a.py", "pkg/b.py", "pkg/_fast.so", "build/x.o", "sub/inner.py", ".git"):
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(name)
    (top / "pkg/__pycache__").mkdir()
    (top / "pkg/__pycache__/b.pyc").write_text("made by the build")
    remember_built(tmp_path / "env", top, TRACKED)
    return top


def names(top: Path) -> set[str]:
    return {
        str((Path(folder) / name).relative_to(top))
        for folder, _, files in os.walk(top)
        for name in files
    }


ALL = {"a.py", "pkg/b.py", "pkg/_fast.so", "build/x.o", "sub/inner.py", ".git"}


def test_what_the_build_left_is_whole_and_stays_but_no_bytecode(tree: Path) -> None:
    assert settle_leftovers(tree.parent / "env", tree, TRACKED) is True
    assert names(tree) == ALL


def test_files_folders_and_links_of_tests_go(tree: Path) -> None:
    (tree / "build/more").mkdir()
    (tree / "build/more/state").write_text("x")
    (tree / "good.py").write_text("x")
    (tree / "link").symlink_to("/etc")
    (tree / "dangling").symlink_to("nowhere")
    assert settle_leftovers(tree.parent / "env", tree, TRACKED) is True
    assert names(tree) == ALL
    assert not (tree / "link").is_symlink()


def _overwrite(path: Path) -> None:
    facts = path.stat()
    path.write_text("X" * facts.st_size)
    os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))  # as if nothing had been


def _replace(path: Path) -> None:
    path.rename(path.with_suffix(".old"))
    path.write_text(path.name)


@pytest.mark.parametrize("tamper", [_overwrite, _replace, lambda path: path.unlink()])
def test_what_was_tampered_with_is_not_whole(tree: Path, tamper: Callable[[Path], None]) -> None:
    tamper(tree / "pkg/_fast.so")
    assert settle_leftovers(tree.parent / "env", tree, TRACKED) is False
    assert names(tree) == ALL - {"pkg/_fast.so"}


def test_without_a_stamp_nothing_is_believed(tree: Path) -> None:
    (tree.parent / "env.json").unlink()
    settle_leftovers(tree.parent / "env", tree, TRACKED)
    assert names(tree) == {"a.py", "pkg/b.py", "sub/inner.py", ".git"}


def test_a_damaged_stamp_is_none(tmp_path: Path) -> None:
    (tmp_path / "env.json").write_text("[")
    assert read_stamp(tmp_path / "env") == {}
    add_to_stamp(tmp_path / "env", key="k")
    assert read_stamp(tmp_path / "env") == {"key": "k"}
