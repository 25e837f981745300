"""Shell patterns and the files of an artifact or a cache."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from presubmit.replay.actions import globs
from presubmit.replay.actions.globber import Found, Globber, common_ancestor, globber
from presubmit.replay.job.action import ActionFailedError
from tests.unit.replay.actions.fake import FakeStep

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        ("*.py", ("a.py", ".py"), ("a/b.py", "a.pyc")),
        ("**/*.py", ("a.py", "a/b.py", "a/b/c.py", ".h/x.py"), ("a.pyx",)),
        ("src/**", ("src/a", "src/a/b.c"), ("srcs/a", "a/src/b")),
        ("docs/*", ("docs/a.md",), ("docs/a/b.md",)),
        ("**", ("a", "a/b/.c"), ()),
        ("a?c", ("abc",), ("ac", "a/c")),
        ("[a-c]x", ("bx",), ("dx",)),
        ("[!a]x", ("bx",), ("ax",)),
        ("*.{yml,yaml}", ("a.yml", "a.yaml"), ("a.yamlx",)),
        ("v{1..3}", ("v1", "v3"), ("v4",)),
        ("{a,b/{c,d}}", ("a", "b/c", "b/d"), ("b",)),
        ("{a}", ("{a}",), ("a",)),
        ("!docs/**", ("src/a",), ("docs/a",)),
        ("@(a|b).c", ("a.c", "b.c"), ("ab.c",)),
        ("+(ab).c", ("abab.c",), (".c",)),
        ("!(a|b).c", ("c.c", "aa.c"), ("a.c", "b.c")),
        ("a\\*b", ("a*b",), ("axb",)),
        ("./a", ("a",), ("b",)),
        ("a/**/b", ("a/b", "a/x/y/b"), ("ab",)),
        ("[[:digit:]]*", ("1a",), ("a1",)),
        ("a[b", ("a[b",), ("ab",)),
        ("x.+(a", ("x.+(a",), ("xa",)),
    ],
)
def test_a_pattern_means_what_it_means_to_picomatch(
    pattern: str, matching: tuple[str, ...], others: tuple[str, ...]
) -> None:
    meant = globs.matcher(pattern, dot=True)
    assert [path for path in matching if not meant(path)] == []
    assert [path for path in others if meant(path)] == []


def test_a_leading_dot_is_matched_only_where_it_is_asked_for() -> None:
    assert globs.matcher("*", dot=True)(".x")
    assert not globs.matcher("*", dot=False)(".x")
    assert not globs.matcher("**/x", dot=False)(".a/x")


def test_a_pattern_that_stands_for_too_many_is_refused() -> None:
    with pytest.raises(ValueError, match="stands for"):
        globs.matcher("{a,b}" * 20, dot=True)
    with pytest.raises(ValueError, match="too many"):
        globs.matcher("{1..99999999}", dot=True)


def found(step: FakeStep, *lines: str, hidden: bool = True, descendants: bool = True) -> list[str]:
    hits = globber(step, lines).find(step, hidden=hidden, descendants=descendants)
    root = f"{step.cell.workspace}/"
    return [one.path.removeprefix(root) for one in hits if not one.is_folder]


@pytest.fixture
def step(tmp_path: Path) -> FakeStep:
    step = FakeStep(tmp_path)
    names = ("a.txt", "dist/x.whl", "dist/deep/y.whl", "dist/.hidden", ".git/config", "b c/ü.log")
    step.write(dict.fromkeys(names, ""))
    return step


def test_a_folder_means_everything_below_it(step: FakeStep) -> None:
    assert found(step, "dist") == ["dist/.hidden", "dist/deep/y.whl", "dist/x.whl"]
    assert found(step, "dist/") == ["dist/.hidden", "dist/deep/y.whl", "dist/x.whl"]


def test_later_lines_take_out_and_put_in_again(step: FakeStep) -> None:
    lines = ("dist", "!dist/deep", "dist/deep/y.whl", "# a remark", "")
    assert found(step, *lines) == ["dist/.hidden", "dist/deep/y.whl", "dist/x.whl"]
    assert found(step, "dist", "!dist/deep") == ["dist/.hidden", "dist/x.whl"]


def test_hidden_files_and_folders_are_left_out_where_asked(step: FakeStep) -> None:
    assert found(step, "**", hidden=False) == [
        "a.txt",
        "b c/ü.log",
        "dist/deep/y.whl",
        "dist/x.whl",
    ]


def test_a_hidden_file_that_is_named_is_left_out_too(step: FakeStep) -> None:
    assert found(step, "dist/.hidden", hidden=False) == []


def test_a_tilde_is_the_home(step: FakeStep) -> None:
    place = step.folder / "home/.cache/x"
    place.parent.mkdir()
    place.write_text("")
    assert found(step, "~/.cache") == [str(place)]


def test_links_are_followed_and_broken_ones_left_out(step: FakeStep) -> None:
    (step.workspace / "link").symlink_to("dist")
    (step.workspace / "broken").symlink_to("nowhere")
    (step.workspace / "dist/loop").symlink_to("..")
    assert found(step, "link/*.whl", "broken") == ["link/x.whl"]


def test_without_descendants_only_the_named_itself_is_meant(step: FakeStep) -> None:
    hits = globber(step, ["dist", "*.txt"]).find(step, descendants=False)
    names = [(one.path.rpartition("/")[2], one.is_folder) for one in hits]
    assert names == [("a.txt", False), ("dist", True)]


def test_names_that_are_not_utf_8_survive(step: FakeStep) -> None:
    name = b"dist/\xff\n.whl".decode("utf-8", "surrogateescape")
    (step.workspace / name).write_text("")
    assert name in found(step, "dist/*.whl")


def test_search_paths_end_before_the_first_wildcard() -> None:
    patterns = Globber(["/a/b/*.x", "/a/b/c", "!/z", "/q/?"], folder="/w", home="/h")
    assert patterns.search_paths == ("/a/b", "/q")


def test_a_trailing_slash_means_folders_only() -> None:
    patterns = Globber(["/a/*/"], folder="/w", home="/h")
    assert patterns.matches(Found("/a/b", is_folder=True))
    assert not patterns.matches(Found("/a/b", is_folder=False))


def test_going_up_is_refused() -> None:
    with pytest.raises(ActionFailedError, match="Relative pathing"):
        Globber(["../x"], folder="/w", home="/h")


def test_a_workspace_with_wildcards_in_its_name_is_taken_literally() -> None:
    patterns = Globber(["x*"], folder="/w[1]*", home="/h")
    assert patterns.search_paths == ("/w[1]*",)
    assert patterns.matches(Found("/w[1]*/xy", is_folder=False))


def test_the_least_common_ancestor_keeps_whole_names() -> None:
    assert common_ancestor(["/w/a/bc", "/w/a/bd"]) == "/w/a"
    assert common_ancestor(["/foo", "/bar"]) == "/"
