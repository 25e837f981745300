"""The table of upstream's cells, in the terminal, in Markdown and as JSON."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from presubmit.report.cells import cells_json, markdown_cells, render_cells
from presubmit.upstream.cells import CellState, JobCell
from presubmit.values import Base, Change, Target, TargetKind

CELLS = (
    JobCell(
        id="ci.yml/tests(python=3.12)",
        workflow=".github/workflows/ci.yml",
        job="tests",
        state=CellState.REPLAYED,
        reason="on: pull_request",
        line=3,
        file="ci.yml",
        role="tests",
        notes=("3.12 is 3.12.4 here",),
    ),
    JobCell(
        id="ci.yml/wheels",
        workflow=".github/workflows/ci.yml",
        job="wheels",
        state=CellState.NOT_REPLAYED,
        reason="runs-on windows-latest",
        line=31,
        file="ci.yml",
        role="build",
        notes=("of no interest",),
    ),
    JobCell(
        id="docs.yml",
        workflow=".github/workflows/docs.yml",
        state=CellState.NOT_STARTED,
        reason="on: push only",
        line=1,
        file="docs.yml",
    ),
    JobCell(
        id="ci.yml/later",
        workflow=".github/workflows/ci.yml",
        job="later",
        state=CellState.REPLAYED,
        reason="`if` needs needs.x.outputs.y",
        line=40,
        file="ci.yml",
        later=True,
    ),
)
TABLE = """\
 workflow / job             here         for    why
 ci.yml/tests(python=3.12)  replay       tests  on: pull_request   ci.yml:3
                                                note: 3.12 is 3.12.4 here
 ci.yml/wheels              not here     build  runs-on windows-latest   ci.yml:31
 ci.yml/later               replay?             `if` needs needs.x.outputs.y   ci.yml:40
 docs.yml                   not started         on: push only   docs.yml:1
2 of 3 jobs that this pull request starts are replayed here; 1 windows
"""


def made(**fields: Any) -> JobCell:
    return msgspec.structs.replace(CELLS[0], notes=(), **fields)


def test_the_table_groups_by_workflow_and_ends_with_the_count() -> None:
    assert render_cells(CELLS) == TABLE
    assert "note:" not in render_cells(CELLS, notes=False)


def test_no_workflows_are_said() -> None:
    assert render_cells(()) == "There are no workflows in .github/workflows.\n"


@pytest.mark.parametrize("field", ["id", "reason", "file"])
def test_what_a_change_may_name_cannot_drive_the_terminal(field: str) -> None:
    text = render_cells((made(**{field: "a\x1b[31m\nb\u202e"}),))
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert len(text.splitlines()) == 3


def test_a_long_id_and_a_long_reason_do_not_widen_the_table() -> None:
    lines = render_cells((made(id="x" * 200), made(reason="y" * 1000))).splitlines()
    assert max(map(len, lines[1:])) < 320
    assert lines[2].index("replay") == 63


def test_the_markdown_table_holds_what_would_break_it() -> None:
    cell = made(id="ci.yml/a(b=|)", reason="<b> | `x`", file="a|<i>.yml")
    row = markdown_cells((cell,))[2]
    assert row == (r"| ci.yml/a\(b=\|\) | replay | &lt;b&gt; \| \`x\` | a\|&lt;i&gt;.yml:3 |")


def test_the_json_has_each_cell_with_its_origin() -> None:
    change = Change(
        top="/x",
        common_dir="/x/.git",
        branch="topic",
        target=Target(kind=TargetKind.WORKTREE, commit="c", tree="t", snapshot="s"),
        base=Base(ref="upstream/main", commit="b", tree="bt", how="remote upstream"),
        files=(),
    )
    found = cells_json(change, CELLS, ["a.yml:1:1: bad"])
    assert (found["schema"], found["problems"]) == (1, ["a.yml:1:1: bad"])
    assert found["base"] == {"ref": "upstream/main", "commit": "b"}
    assert found["summary"] == TABLE.splitlines()[-1]
    first = found["cells"][0]
    assert (first["id"], first["state"], first["origin"]) == (
        "ci.yml/tests(python=3.12)",
        "replayed",
        "ci.yml:3",
    )
