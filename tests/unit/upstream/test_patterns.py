from __future__ import annotations

import time

import pytest

from presubmit.upstream.patterns import (
    PathMatch,
    compile_pattern,
    deciding,
    first_kept,
    first_match,
    match_filters,
)

# Each row of GitHub's cheat sheet: patterns, what they match, what they do not.
CHEAT_SHEET: tuple[tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]], ...] = (
    (("feature/*",), ("feature/my-branch", "feature/your-branch"), ("feature/a/b", "feature")),
    (
        ("feature/**",),
        ("feature/beta-a/my-branch", "feature/your-branch", "feature/mona/the/octocat"),
        ("feature", "my/feature/a"),
    ),
    (
        ("main", "releases/mona-the-octocat"),
        ("main", "releases/mona-the-octocat"),
        ("mainly", "releases"),
    ),
    (("*",), ("main", "releases", "README.md", "server.rb"), ("all/the/branches",)),
    (("**",), ("all/the/branches", "every/tag", "all/the/files.md"), ()),
    (("*feature",), ("mona-feature", "feature", "ver-10-feature"), ("a/feature", "features")),
    (("v2*",), ("v2", "v2.0", "v2.9"), ("v1", "av2", "v2/a")),
    (
        ("v[12].[0-9]+.[0-9]+",),
        ("v1.10.1", "v2.0.0"),
        ("v3.0.0", "v1.10", "v1.a.1", "v1x10x1", "v1..1"),
    ),
    (("*.jsx?",), ("page.js", "page.jsx"), ("page.jsxx", "page.j", "a/page.js", "pagejs")),
    (("*.js",), ("app.js", "index.js"), ("js/index.js", "app.jsx")),
    (("**.js",), ("index.js", "js/index.js", "src/js/app.js"), ("index.jsx",)),
    (("docs/*",), ("docs/README.md", "docs/file.txt"), ("docs/a/b.md", "docs", "a/docs/b.md")),
    (("docs/**",), ("docs/README.md", "docs/mona/octocat.txt"), ("docs", "a/docs/b", "docsx/a")),
    (
        ("docs/**/*.md",),
        ("docs/README.md", "docs/mona/hello-world.md", "docs/a/markdown/file.md"),
        ("docs/a.txt", "docs.md"),
    ),
    (
        ("**/docs/**",),
        ("docs/hello.md", "dir/docs/my-file.txt", "space/docs/plan/space.doc"),
        ("mydocs/a", "docs", "a/docs"),
    ),
    (("**/README.md",), ("README.md", "js/README.md"), ("XREADME.md", "js/README.mdx")),
    (("**/*src/**",), ("a/src/app.js", "my-src/code/js/app.js"), ("src", "srcs/a")),
    (("**/*-post.md",), ("my-post.md", "path/their-post.md"), ("post.md",)),
    (
        ("**/migrate-*.sql",),
        ("migrate-10909.sql", "db/migrate-v1.0.sql", "db/sept/migrate-v1.sql"),
        ("migrate.sql", "xmigrate-1.sql"),
    ),
    (("*.md", "!README.md"), ("hello.md",), ("README.md", "docs/hello.md")),
    (("*.md", "!README.md", "README*"), ("hello.md", "README.md", "README.doc"), ()),
)


@pytest.mark.parametrize(
    ("patterns", "value"),
    [(patterns, value) for patterns, inside, _ in CHEAT_SHEET for value in inside],
)
def test_what_the_cheat_sheet_matches_is_in(patterns: tuple[str, ...], value: str) -> None:
    assert match_filters(patterns, value) in patterns


@pytest.mark.parametrize(
    ("patterns", "value"),
    [(patterns, value) for patterns, _, outside in CHEAT_SHEET for value in outside],
)
def test_what_the_cheat_sheet_does_not_match_is_out(patterns: tuple[str, ...], value: str) -> None:
    assert match_filters(patterns, value) is None


@pytest.mark.parametrize(
    ("pattern", "inside", "outside"),
    [
        # trap 39: `?` and `+` repeat the character before them
        ("Octoc?at", ("Octocat", "Octoat"), ("Octoccat", "Octocxat")),
        ("a+b", ("ab", "aaab"), ("b", "a+b")),
        ("[CB]at", ("Cat", "Bat"), ("at", "cat", "CBat")),
        ("[1-2]00", ("100", "200"), ("300", "00")),
        ("[0-9a-f]x", ("0x", "fx"), ("gx", "Ax")),
        ("[ab]?c", ("c", "ac", "bc"), ("abc",)),
        ("[a-]", ("a", "-"), ("b",)),
        ("[-a]", ("a", "-"), ("b",)),
        ("[._]x", (".x", "_x"), ("ax",)),
        (r"[\]]", ("]",), ("\\",)),
        # everything else is plain, as no regular expression would have it
        ("a.c", ("a.c",), ("abc",)),
        ("(a|b)$^{1}", ("(a|b)$^{1}",), ("a",)),
        ("a]", ("a]",), ("a",)),
        (r"release\?", ("release?",), ("releas", "release")),
        (r"\*\*", ("**",), ("a", "a/b")),
        (r"\!important", ("!important",), ("important",)),
        (r"a\\b", ("a\\b",), ("ab",)),
        ("a!b", ("a!b",), ("ab",)),
        ("ä/*", ("ä/é",), ("a/e",)),
        ("a/\udcff*", ("a/\udcffb",), ("a/b",)),
        # `**` needs no folder around it; `**/` is any folders only where a name begins
        ("a**z", ("az", "a/b/z", "abz"), ("a",)),
        ("a**/z", ("a/z", "ab/c/z"), ("az",)),
        ("a/**/z", ("a/z", "a/b/z", "a/b/c/z"), ("a/bz", "az")),
        ("***", ("a/b", ""), ()),
        ("**/**/z", ("z", "a/z", "a/b/z"), ("az",)),
        # anchored, and case matters
        ("src", ("src",), ("src/a", "a/src", "Src")),
        ("docs/", (), ("docs", "docs/a")),
        ("/docs/**", (), ("docs/a", "docs/a/b")),
        ("./docs/**", (), ("docs/a",)),
        ("a*b*c", ("abc", "axbxc", "aabbcc"), ("ab/c", "acb")),
    ],
)
def test_a_pattern_matches_the_whole_value_only(
    pattern: str, inside: tuple[str, ...], outside: tuple[str, ...]
) -> None:
    compiled = compile_pattern(pattern)
    assert compiled.problem == ""
    assert [value for value in inside if not compiled.matches(value)] == []
    assert [value for value in outside if compiled.matches(value)] == []


def test_a_negative_pattern_matches_what_it_takes_out() -> None:
    pattern = compile_pattern("!docs/**")
    assert pattern.negative
    assert pattern.matches("docs/a.md")
    assert compile_pattern("!**/a").matches("a")


def test_the_last_match_wins() -> None:
    patterns = ("sub/**", "!sub/docs/**", "sub/docs/keep.md")
    assert match_filters(patterns, "sub/a.py") == "sub/**"
    assert match_filters(patterns, "sub/docs/a.md") is None
    assert match_filters(patterns, "sub/docs/keep.md") == "sub/docs/keep.md"


def test_a_negative_pattern_before_a_positive_one_takes_nothing_out() -> None:
    assert match_filters(("!docs/**", "**"), "docs/a.md") == "**"


def test_only_negative_patterns_let_nothing_in() -> None:
    assert match_filters(("!docs/**",), "src/a.py") is None
    assert match_filters(("!docs/**",), "docs/a.md") is None


def test_no_patterns_let_nothing_in() -> None:
    assert match_filters((), "a") is None
    assert deciding((), "a") is None


def test_the_deciding_pattern_may_be_a_negative_one() -> None:
    last = deciding(("**", "!docs/**"), "docs/a.md")
    assert last is not None
    assert last.text == "!docs/**"


def test_paths_hold_if_any_file_is_in() -> None:
    patterns = ("src/**",)
    assert first_match(patterns, ("docs/a.md", "src/a.c")) == PathMatch("src/a.c", "src/**")
    assert first_match(patterns, ("docs/a.md",)) is None


def test_paths_ignore_skips_only_if_all_files_are_in() -> None:
    patterns = ("docs/**", "*.md")
    assert first_kept(patterns, ("docs/a.rst", "README.md")) is None
    assert first_kept(patterns, ("docs/a.rst", "src/a.c")) == "src/a.c"


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        ("", "the pattern is empty"),
        ("!", "the pattern is empty"),
        ("a[bc", "`[` at character 2 is never closed"),
        ("a[", "`[` at character 2 is never closed"),
        ("[]", "`[]` at character 1 is empty"),
        ("x[a-Z]", "`a-Z` at character 3 is no range: only a-z, A-Z and 0-9 are"),
        ("[z-a]", "`z-a` at character 2 is no range: only a-z, A-Z and 0-9 are"),
        ("[+-9]", "`+-9` at character 2 is no range: only a-z, A-Z and 0-9 are"),
        ("?a", "`?` at character 1 has no character before it to repeat"),
        ("!+a", "`+` at character 2 has no character before it to repeat"),
        ("a*?", "`?` at character 3 has no character before it to repeat"),
        ("**/+", "`+` at character 4 has no character before it to repeat"),
        ("a++", "`+` at character 3 has no character before it to repeat"),
        ("a\\", "`\\` at character 2 has no character after it"),
        ("[\\", "`\\` at character 2 has no character after it"),
    ],
)
def test_a_malformed_pattern_says_where_and_matches_nothing(pattern: str, problem: str) -> None:
    compiled = compile_pattern(pattern)
    assert problem == compiled.problem
    assert not compiled.matches("a")
    assert not compiled.matches("")


def test_a_pattern_cannot_be_made_slow() -> None:
    begun = time.process_time()
    assert not compile_pattern("**a" * 30 + "b").matches("a" * 2000)
    assert not compile_pattern("[ab]+" * 30 + "c").matches("ab" * 1000)
    assert time.process_time() - begun < 5


def test_many_files_are_matched_fast() -> None:
    patterns = ("aten/**", "**/*.cu", "docs/**/*.md", "!docs/**", "*.jsx?", "v[0-9]+") * 4
    paths = [f"dir{i % 50}/sub{i % 7}/some/long/path/file{i}.cpp" for i in range(3000)]
    begun = time.process_time()
    assert first_match(patterns, paths) is None
    assert time.process_time() - begun < 5
