"""Scores of tests by what was edited together with them."""

from __future__ import annotations

import pytest

from presubmit.change.coedit import MOST_FILES, Edits, coedit_scores, parse_log


def edits(*commits: str) -> Edits:
    """Make commits, newest first, each of files with blanks between."""
    names = list(dict.fromkeys(name for commit in commits for name in commit.split()))
    return Edits(
        tip="t",
        paths=tuple(name.encode() for name in names),
        commits=tuple(tuple(names.index(name) for name in commit.split()) for commit in commits),
    )


TESTS = ("test_a", "test_b", "test_c")


def order(found: dict[str, float]) -> list[str]:
    return sorted(found, key=lambda test: (-found[test], test))


def test_the_test_that_was_edited_more_often_with_the_change_scores_higher() -> None:
    history = edits("a test_b", "a test_a", "a test_a", "b test_c")
    assert order(coedit_scores(history, ["a"], TESTS)) == ["test_a", "test_b"]


def test_a_test_that_was_never_edited_with_it_has_no_score() -> None:
    assert coedit_scores(edits("a test_a", "b test_b"), ["b"], TESTS).keys() == {"test_b"}
    assert coedit_scores(edits("a test_a"), ["new"], TESTS) == {}
    assert coedit_scores(edits(), ["a"], TESTS) == {}


def test_a_commit_of_many_tests_says_less_of_each() -> None:
    history = edits("a test_a test_b test_c", "a test_c")
    found = coedit_scores(history, ["a"], TESTS)
    assert found["test_a"] == pytest.approx(found["test_b"])
    assert found["test_c"] > 3 * found["test_a"]


def test_a_file_that_is_in_every_commit_says_less() -> None:
    history = edits("busy test_a", *["busy x"] * 30, "rare test_b")
    assert order(coedit_scores(history, ["busy", "rare"], TESTS)) == ["test_b", "test_a"]


def test_what_is_old_counts_less() -> None:
    history = edits("a test_b", *["x"] * 3000, "a test_a")
    found = coedit_scores(history, ["a"], TESTS)
    assert found["test_a"] == pytest.approx(found["test_b"] / 2, rel=0.01)


def test_edited_tests_are_no_sources() -> None:
    assert coedit_scores(edits("test_a test_b"), ["test_a"], TESTS) == {}


def test_names_that_are_not_utf_8_are_found() -> None:
    history = Edits(tip="t", paths=(b"l\xe9", b"test_\xe9"), commits=((0, 1),))
    assert list(coedit_scores(history, ["l\udce9"], ["test_\udce9"])) == ["test_\udce9"]


def test_a_log_is_read_commit_by_commit() -> None:
    log = b"\x01\0\na.py\0b b.py\0\0\x01\0\x01\0\nb b.py\0"
    assert parse_log(log, tip="t") == Edits(
        tip="t", paths=(b"a.py", b"b b.py"), commits=((0, 1), (), (1,))
    )
    assert parse_log(b"", tip="t") == Edits(tip="t")


@pytest.mark.parametrize(("count", "kept"), [(MOST_FILES, MOST_FILES), (MOST_FILES + 1, 0)])
def test_a_huge_commit_says_nothing(count: int, kept: int) -> None:
    log = b"\x01\0\n" + b"".join(b"%d.py\0" % number for number in range(count))
    assert [len(files) for files in parse_log(log, tip="t").commits] == [kept]
