from __future__ import annotations

import pytest

from presubmit.change import stale
from presubmit.values import ChangedFile, FileStatus


def modified(path: str) -> ChangedFile:
    return ChangedFile(path=path, status=FileStatus.MODIFIED)


def deleted(path: str) -> ChangedFile:
    return ChangedFile(path=path, status=FileStatus.DELETED)


def renamed(old: str, new: str) -> ChangedFile:
    return ChangedFile(path=new, status=FileStatus.RENAMED, old_path=old)


@pytest.mark.parametrize(
    ("file", "why"),
    [
        (deleted("pkg/a.py"), "pkg/a.py was deleted"),
        (deleted("src/a.cpp"), "src/a.cpp was deleted"),
        (deleted("pkg/tests/test_a.py"), "pkg/tests/test_a.py was deleted"),
        (deleted("tests/helper.c"), "tests/helper.c was deleted"),
        (renamed("pkg/a.py", "pkg/b.py"), "pkg/a.py was renamed"),
        (modified("pyproject.toml"), "the build file pyproject.toml changed"),
        (modified("sub/CMakeLists.txt"), "the build file sub/CMakeLists.txt changed"),
        (renamed("meson.build", "old.txt"), "the build file old.txt changed"),
    ],
)
def test_deleted_and_renamed_sources_and_build_files_need_a_clean_build(
    file: ChangedFile, why: str
) -> None:
    assert stale.why_clean([modified("x.py"), file]) == why


@pytest.mark.parametrize(
    "file",
    [
        modified("pkg/a.py"),
        modified("src/a.cpp"),
        ChangedFile(path="pkg/new.py", status=FileStatus.ADDED),
        deleted("tests/test_a.py"),
        deleted("README.md"),
        renamed("docs/conf.py", "docs/other.py"),
    ],
)
def test_other_changes_leave_the_build_incremental(file: ChangedFile) -> None:
    assert stale.why_clean([file]) == ""


def test_bytecode_stays_only_while_every_module_has_its_source() -> None:
    assert stale.kept(["build/"], [modified("a.py")]) == ("build/", "__pycache__/")
    assert stale.kept(["build/"], [deleted("tests/a.py")]) == ("build/",)
    assert stale.kept(["build/"], [renamed("a.py", "a.txt")]) == ("build/",)
    assert stale.kept(["build/"], [deleted("a.txt")]) == ("build/", "__pycache__/")


def test_the_bytecode_of_changed_modules_is_named() -> None:
    assert stale.stale_bytecode(["a.py", "pkg/b.py", "c.txt"]) == (
        ("__pycache__", "a."),
        ("pkg/__pycache__", "b."),
    )
