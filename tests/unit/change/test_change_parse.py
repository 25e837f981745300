from __future__ import annotations

from pathlib import Path

import pytest

from presubmit.change.checkout import alternates_file, config_file
from presubmit.change.diff import parse_name_status, parse_tree
from presubmit.change.git import fields, join, shown
from presubmit.errors import GitError
from presubmit.values import ChangedFile, FileStatus


def test_name_status_is_read_and_sorted() -> None:
    data = b"M\0z.py\0R087\0old.py\0new.py\0A\0b\nc\0D\0d.py\0T\0link\0"
    assert parse_name_status(data) == (
        ChangedFile(path="b\nc", status=FileStatus.ADDED),
        ChangedFile(path="d.py", status=FileStatus.DELETED),
        ChangedFile(path="link", status=FileStatus.MODIFIED),
        ChangedFile(path="new.py", status=FileStatus.RENAMED, old_path="old.py"),
        ChangedFile(path="z.py", status=FileStatus.MODIFIED),
    )


def test_a_name_that_is_not_utf8_survives() -> None:
    (file,) = parse_name_status(b"A\0lat\xe9.py\0")
    assert file.path == "lat\udce9.py"
    assert join([file.path]) == b"lat\xe9.py\0"
    assert shown([file.path]) == r"lat\udce9.py"


def test_an_unknown_status_is_an_error() -> None:
    with pytest.raises(GitError, match="status"):
        parse_name_status(b"X\0a\0")


def test_trees_are_read() -> None:
    data = b"\0".join((b"100644 blob aaa\tx y", b"160000 commit bbb\tsub", b""))
    assert parse_tree(data) == {"x y": ("100644", "aaa"), "sub": ("160000", "bbb")}


def test_long_lists_are_cut_in_messages() -> None:
    assert shown("abcdefg") == "a, b, c, d, e and 2 more"
    assert shown("ab") == "a, b"
    assert fields(b"") == []


def test_settings_are_written_as_git_reads_them() -> None:
    text = config_file("sha256", {"core.autocrlf": "false", "filter.a.b.clean": 'x "\\y"\n'})
    assert text == (
        "[core]\n\trepositoryformatversion = 1\n\tbare = false\n"
        "[extensions]\n\tobjectformat = sha256\n"
        '[core]\n\tautocrlf = "false"\n'
        '[filter "a.b"]\n\tclean = "x \\"\\\\y\\"\\n"\n'
    )


def test_object_folders_with_odd_names_are_quoted() -> None:
    assert alternates_file([Path("/a b"), Path("/c\nd")]) == '/a b\n"/c\\nd"\n'
