"""hashFiles in a cell: against a computation of the test's own."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING

import pytest

from presubmit.replay.job.values import Conclusion

if TYPE_CHECKING:
    from tests.unit.replay.job.conftest import RunCell

FILES = {
    "a.txt": "a",
    "b/deep/c.txt": "c",
    "b/d.txt": "d",
    "b/ü and space.txt": "u",
    ".hidden/e.txt": "e",
    "other.md": "o",
    ".git/f.txt": "f",
}


def hashed(*contents: str) -> str:
    """Give the hash of the files' digests (hashFiles.ts)."""
    whole = hashlib.sha256()
    for content in contents:
        whole.update(hashlib.sha256(content.encode()).digest())
    return whole.hexdigest()


def give(cell: RunCell, *patterns: str) -> str:
    call = ", ".join(f"''{pattern}''" for pattern in patterns)
    ran = cell(f"- {{name: a, run: 'echo x${{{{ hashFiles({call}) }}}}'}}", files=FILES)
    return ran.printed("a")[0].removeprefix("x") if ran.ok else ran["a"].reason


@pytest.mark.parametrize(
    ("patterns", "contents"),
    [
        (("a.txt",), "a"),
        (("b/*.txt",), "du"),
        (("*.txt", "other.md"), "ao"),
        (("**/c.txt",), "c"),
        (("b/**", "!b/deep/**"), "du"),
        ((".hidden/*",), "e"),
    ],
)
def test_the_value_is_that_of_the_digests(
    cell: RunCell, patterns: tuple[str, ...], contents: str
) -> None:
    assert give(cell, *patterns) == hashed(*contents)


def test_what_matches_nothing_gives_nothing(cell: RunCell) -> None:
    assert give(cell, "no/such/*") == ""


def test_files_outside_of_the_workspace_are_none(cell: RunCell) -> None:
    (cell.workspace.parent / "outside.txt").write_text("x")
    assert give(cell, "/etc/passwd") == ""
    assert give(cell, f"{cell.workspace.parent}/*.txt") == ""


def test_a_file_that_an_earlier_step_wrote_counts(cell: RunCell) -> None:
    ran = cell(
        "- run: printf new >made.txt\n- {name: a, run: \"echo ${{ hashFiles('made.txt') }}\"}"
    )
    assert ran.printed("a") == [hashed("new")]


def test_a_link_to_a_file_is_read_and_one_to_a_folder_is_none(cell: RunCell) -> None:
    (cell.workspace / "l").mkdir()
    (cell.workspace / "l/file.txt").symlink_to("../a.txt")
    (cell.workspace / "l/folder.txt").symlink_to("../b")
    assert give(cell, "l/*.txt") == hashed("a")


def test_a_dead_link_and_a_name_of_two_lines_fail_the_step(cell: RunCell) -> None:
    (cell.workspace / "dead.txt").symlink_to("nowhere")
    assert "hashFiles: a file that matches cannot be read" in give(cell, "dead.txt")
    (cell.workspace / "two\nlines.bin").write_text("x")
    assert "hashFiles" in give(cell, "*.bin")


def test_a_name_that_is_not_utf_8_is_found(cell: RunCell) -> None:
    with open(os.fsencode(cell.workspace) + b"/\xff.raw", "wb") as file:  # noqa: PTH123 - bytes
        file.write(b"x")
    assert give(cell, "*.raw") == hashed("x")


def test_a_bad_pattern_fails_the_step(cell: RunCell) -> None:
    ran = cell("- {id: a, run: \"echo ${{ hashFiles('../x') }}\"}")
    assert ran["a"].outcome is Conclusion.FAILURE
    assert "hashFiles cannot use the pattern '../x'" in ran["a"].reason


def test_many_files_are_hashed(cell: RunCell) -> None:
    many = {f"many/{'n' * 200}{n:04}.txt": str(n) for n in range(1000)}
    ran = cell("- {name: a, run: \"echo ${{ hashFiles('many/**') }}\"}", files=many)
    assert ran.printed("a") == [hashed(*map(str, range(1000)))]
