"""hashFiles: which files, in which order, and the hash of their hashes (compared with @actions/glob 0.7)."""

from __future__ import annotations

import time

import pytest

from presubmit.upstream.expressions import ExpressionError, hash_files, matches

FILES = (
    "b.lock", "a/b/z.txt", "a/b/y.lock", "a/c.txt", "a.d/c.txt", "a-b.txt", "docs/i.md", "docs/deep/j.md",
    ".hidden/k", ".dot", "B/q.lock", "x[1]/f", "foo", "sub/foo", "sub/Foo", "a!b", "#x", "ü.txt", "a/.git1",
    "package-lock.json", "sub/package-lock.json", "back\\slash",
)  # fmt: skip
WORKSPACE = "/ws/repo"


def found(*patterns: str, paths: tuple[str, ...] = FILES) -> tuple[str, ...]:
    return matches(patterns, paths, workspace=WORKSPACE, home="/home/me")


# sha256sum of "a\n" and "b\n", and GitHub's hash of the two in this order.
A = "87428fc522803d31065e7bce3cf03fe475096631e5e07bbd7a0fde60c4cf25c7"
B = "0263829989b6fd954f72baaf2fc64bc2e2f01d692d4de72986ea808f6e99813f"
BOTH = "6ec7b73f58839768f5eb006d96b02ebaa7bf3d30c5daaccc832663c8266e0931"


def test_the_hash_is_of_the_binary_digests_in_their_order() -> None:
    assert hash_files({"a": A, "b": B}) == BOTH
    assert hash_files({"a": bytes.fromhex(A), "b": B}) == BOTH
    assert hash_files({"b": B, "a": A}) != BOTH


def test_the_hash_of_one_file_is_not_its_own() -> None:
    assert hash_files({"a": A}) not in {A, ""}


def test_no_files_have_an_empty_hash() -> None:
    assert hash_files({}) == ""


def test_folders_are_searched_in_the_order_of_their_names_bytes() -> None:
    assert found("**") == (
        "#x", ".dot", ".hidden/k", "B/q.lock", "a/.git1", "a/b/y.lock", "a/b/z.txt", "a/c.txt", "a!b", "a-b.txt",
        "a.d/c.txt", "b.lock", "back\\slash", "docs/deep/j.md", "docs/i.md", "foo", "package-lock.json", "sub/Foo",
        "sub/foo", "sub/package-lock.json", "x[1]/f", "ü.txt",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        (("**/*.lock",), ("B/q.lock", "a/b/y.lock", "b.lock")),
        (("*.lock",), ("b.lock",)),
        (("a",), ("a/.git1", "a/b/y.lock", "a/b/z.txt", "a/c.txt")),
        (("a/",), ("a/.git1", "a/b/y.lock", "a/b/z.txt", "a/c.txt")),
        (("a/*",), ("a/.git1", "a/b/y.lock", "a/b/z.txt", "a/c.txt")),  # a/b is a folder
        (("foo/",), ()),
        (("foo/**",), ("foo",)),
        (("**/foo",), ("foo", "sub/foo")),
        (("**/foo/**",), ("foo", "sub/foo")),
        (("docs/*.md",), ("docs/i.md",)),
        (("docs/**/*.md",), ("docs/deep/j.md", "docs/i.md")),
        (("**/[a-c].txt",), ("a/c.txt", "a.d/c.txt")),
        (("**/[!a-y].txt",), ("a/b/z.txt", "ü.txt")),
        (("?oo",), ("foo",)),
        (("[.]dot",), (".dot",)),
        (("[\\]a]!b",), ("a!b",)),
        (("[a-]!b",), ("a!b",)),
        (("**/.*",), (".dot", ".hidden/k", "a/.git1")),
        (("a**b.txt",), ("a-b.txt",)),
        (("x[1]/*",), ()),
        (("x[[]1]/*",), ("x[1]/f",)),
        (("x\\[1\\]",), ("x[1]/f",)),
        (("back\\\\slash",), ("back\\slash",)),
        (("a!b",), ("a!b",)),
        (("\\#x",), ("#x",)),
        (("*.{lock,md}",), ()),
        (("+(f|o)oo",), ()),
        (("FOO",), ()),
        (("./foo",), ("foo",)),
        (("sub//foo",), ("sub/foo",)),
        (("  foo  ",), ("foo",)),
        (("*",), found("**")),
        ((".",), found("**")),
        (("[z-a]",), ()),
        (("[",), ()),
        (("",), ()),
        ((), ()),
    ],
)
def test_a_pattern_matches_as_at_github(
    patterns: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    assert found(*patterns) == expected


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        (("sub", "!sub/foo"), ("sub/Foo", "sub/package-lock.json")),
        (("sub", "!**/foo", "sub/foo"), ("sub/Foo", "sub/foo", "sub/package-lock.json")),
        (("!sub/foo", "sub"), ("sub/Foo", "sub/foo", "sub/package-lock.json")),
        (("**", "!*"), ()),
        (("!foo",), ()),
        (("!!foo",), ("foo",)),
        (("! ! foo",), ("foo",)),
        (("a", "!a/b"), ("a/.git1", "a/c.txt")),
        (("a", "!a/b/"), ("a/.git1", "a/c.txt")),
    ],
)
def test_the_last_pattern_that_matches_decides(
    patterns: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    assert found(*patterns) == expected


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        (("foo", "b.lock"), ("foo", "b.lock")),
        (("sub/foo", "docs/i.md", "foo"), ("sub/foo", "docs/i.md", "foo")),
        (("sub/foo", "sub"), ("sub/Foo", "sub/foo", "sub/package-lock.json")),
        (("foo", "**/*.lock"), ("B/q.lock", "a/b/y.lock", "b.lock", "foo")),
        (("docs/deep", "a/b"), ("docs/deep/j.md", "a/b/y.lock", "a/b/z.txt")),
    ],
)
def test_the_search_begins_where_the_first_pattern_does(
    patterns: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    assert found(*patterns) == expected


def test_a_pattern_may_have_many_lines() -> None:
    assert found("foo\n\n# note\n  b.lock\n") == ("foo", "b.lock")


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("/ws/repo/docs/*.md", ("docs/i.md",)),
        ("/ws/repo", found("**")),
        ("/**/foo", ("foo", "sub/foo")),
        ("/", found("**")),
        ("/elsewhere/**", ()),
        ("/docs/i.md", ()),
        ("~/**", ()),
        ("~", ()),
    ],
)
def test_an_absolute_pattern_takes_files_of_the_workspace_only(
    pattern: str, expected: tuple[str, ...]
) -> None:
    assert found(pattern) == expected


def test_a_tilde_is_the_home_folder() -> None:
    assert matches(["~/r/*.txt"], ["a.txt"], workspace="/home/me/r", home="/home/me") == ("a.txt",)


@pytest.mark.parametrize("pattern", ["../x", "a/../b", "a/./b", "/./x", "..", "a/[.]", "!"])
def test_a_pattern_with_dots_inside_or_without_anything_is_an_error(pattern: str) -> None:
    with pytest.raises(ExpressionError, match="hashFiles cannot use the pattern"):
        found(pattern)


def test_the_option_to_follow_links_is_taken() -> None:
    assert found("--Follow-Symbolic-Links", "foo") == ("foo",)


def test_another_option_is_an_error() -> None:
    with pytest.raises(ExpressionError, match="no option '--nope'"):
        found("--nope", "foo")


def test_an_option_that_is_not_first_is_a_pattern() -> None:
    assert found("foo", "--follow-symbolic-links") == ("foo",)


def test_paths_outside_of_the_workspace_are_never_taken() -> None:
    paths = ("../x", "/etc/passwd", "a/../../x", "x")
    assert found("**", paths=paths) == ("x",)


def test_names_that_are_not_utf_8_are_taken() -> None:
    assert found("**", paths=("b\udcff", "a")) == ("a", "b\udcff")


@pytest.mark.parametrize(
    "pattern",
    [
        "*a" * 40,
        "**a" * 40 + "*c",
        "**/" * 60 + "x",
        "/".join(["**/*a*"] * 30) + "/c",
        "[" * 5000,
        "[!-a--]" * 200,
    ],
)
def test_no_pattern_takes_long(pattern: str) -> None:
    began = time.process_time()
    assert found(pattern, paths=("a" * 249 + "b", "/".join(["a"] * 60) + "/b")) == ()
    assert time.process_time() - began < 5


def test_fifty_thousand_files_are_matched_in_good_time() -> None:
    paths = tuple(f"src/p{place % 100}/d{place % 7}/f{place}.py" for place in range(50_000))
    began = time.process_time()
    assert len(found("**/*.py", "!**/d0/**", paths=paths)) == 42_857
    assert time.process_time() - began < 10
