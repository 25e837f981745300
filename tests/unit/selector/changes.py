"""Changes and small trees, made of texts, for the tests of the selector."""

from __future__ import annotations

from typing import TYPE_CHECKING

from presubmit.selector import Tree, imports_of
from presubmit.selector.shape import Shape, read_shape
from presubmit.values import Base, Change, ChangedFile, FileStatus, Selection, Target, TargetKind

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping


def make_change(*files: ChangedFile, submodules: tuple[str, ...] = ()) -> Change:
    return Change(
        top="/checkout",
        common_dir="/checkout/.git",
        branch="topic",
        target=Target(kind=TargetKind.WORKTREE, commit=None, tree="t", snapshot="s"),
        base=Base(ref="main", commit="b", tree="u", how="test"),
        files=files,
        submodules=submodules,
    )


def shapes_of(files: Mapping[str, str]) -> Callable[[Collection[str]], Mapping[str, Shape]]:
    return lambda paths: {p: read_shape(files[p].encode()) for p in paths if p in files}


def tree_after(edits: Mapping[str, str], files: Mapping[str, str]) -> tuple[Change, Tree]:
    """Make the change that edits or adds some files of a tree, and the tree after it."""
    head = {**files, **edits}
    tree = Tree(
        paths=tuple(sorted(head)),
        imports={p: imports_of(p, s.encode()) for p, s in head.items() if p.endswith(".py")},
        configs={p: s for p, s in head.items() if p.endswith((".toml", ".ini"))},
        shapes=shapes_of(head),
        base_shapes=shapes_of(files),
        texts=lambda paths: {p: head[p].encode() for p in paths if p in head},
    )
    change = make_change(
        *(
            ChangedFile(path=p, status=FileStatus.MODIFIED if p in files else FileStatus.ADDED)
            for p in edits
        )
    )
    return change, tree


def edited(old: str, new: str, path: str, files: Mapping[str, str]) -> dict[str, str]:
    """Give the file at a path with one text in the place of another."""
    assert old in files[path]
    return {path: files[path].replace(old, new)}


def chosen(selection: Selection) -> list[str]:
    """Give the chosen files, without the `tests/test_` that all of them start with."""
    return sorted(test.path.removeprefix("tests/test_") for test in selection.tests)
