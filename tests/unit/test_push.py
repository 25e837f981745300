"""What git and pre-commit tell a pre-push hook (githooks(5); facts: the pre-push contract)."""

from __future__ import annotations

import pytest

from presubmit.push import PushedRef, read_lines, read_pre_commit

A, B = "a" * 40, "b" * 40
ZERO = "0" * 40


@pytest.mark.parametrize(
    ("line", "code", "deletes"),
    [
        (f"refs/heads/x {A} refs/heads/x {B}", True, False),
        (f"refs/heads/x {A} refs/heads/x {ZERO}", True, False),
        (f"(delete) {ZERO} refs/heads/x {B}", False, True),
        (f"(delete) {'0' * 64} refs/heads/x {'b' * 64}", False, True),
        (f"HEAD {A} refs/heads/x {ZERO}", True, False),
        (f"{A} {A} refs/heads/x {ZERO}", True, False),
        (f"refs/tags/v1 {A} refs/tags/v1 {ZERO}", False, False),
        (f"refs/heads/x {A} refs/tags/v1 {ZERO}", False, False),
        (f"refs/notes/commits {A} refs/notes/commits {ZERO}", False, False),
        (f"refs/tags/v1 {A} refs/heads/x {ZERO}", True, False),
        (f"refs/heads/x {A} refs/for/main {ZERO}", True, False),
    ],
)
def test_a_line_says_whether_there_is_code_to_test(line: str, code: bool, deletes: bool) -> None:
    (ref,) = read_lines(line.encode() + b"\n")
    assert (ref.has_code, ref.deletes) == (code, deletes)


def test_every_line_counts() -> None:
    data = f"refs/heads/x {A} refs/heads/x {B}\n(delete) {ZERO} refs/heads/y {B}\n\n".encode()
    assert [ref.remote_ref for ref in read_lines(data)] == ["refs/heads/x", "refs/heads/y"]
    assert read_lines(b"") == []


def test_a_name_that_is_not_utf_8_survives() -> None:
    (ref,) = read_lines(b"refs/heads/\xe9 " + f"{A} refs/heads/x {B}".encode())
    assert ref.local_ref.encode("utf-8", "surrogateescape") == b"refs/heads/\xe9"


@pytest.mark.parametrize("data", [b"x\n", b"a b c d\n", b"refs/heads/x zz refs/heads/x zz\n"])
def test_other_lines_are_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="no line of a pre-push hook"):
        read_lines(data)


def test_pre_commit_names_the_commit_or_on_a_first_push_the_branch() -> None:
    both = {"PRE_COMMIT_LOCAL_BRANCH": "refs/heads/x", "PRE_COMMIT_REMOTE_BRANCH": "refs/heads/y"}
    assert read_pre_commit({**both, "PRE_COMMIT_TO_REF": A, "PRE_COMMIT_FROM_REF": B}) == [
        PushedRef("refs/heads/x", A, "refs/heads/y", B)
    ]
    assert read_pre_commit(both) == [PushedRef("refs/heads/x", "refs/heads/x", "refs/heads/y", "")]
    assert read_pre_commit({"PRE_COMMIT_LOCAL_BRANCH": "HEAD"})[0].has_code
    with pytest.raises(ValueError, match="PRE_COMMIT_TO_REF"):
        read_pre_commit({})
