"""Upstream's cells as a table, as lines of a terminal, as Markdown and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from presubmit.report.escape import for_markdown, one_line
from presubmit.upstream.cells import CellState, by_workflow, summary
from presubmit.values import builtins_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from presubmit.upstream.cells import JobCell
    from presubmit.values import Change

WORDS: Final = {
    CellState.REPLAYED: "replay",
    CellState.NOT_REPLAYED: "not here",
    CellState.FILTERED: "filtered",
    CellState.BLOCKED: "blocked",
    CellState.NOT_STARTED: "not started",
}
_WIDEST: Final = 60


def render_cells(cells: Sequence[JobCell], *, notes: bool = True) -> str:
    """Give the table: each cell, what becomes of it here, why, and where that stands."""
    width = min(_WIDEST, max([len(cell.id) for cell in cells] + [len("workflow / job")]))
    lines = [f" {'workflow / job':<{width}}  {'here':<11}  {'for':<5}  why"]
    for group in by_workflow(cells).values():
        for cell in group:
            name, origin = one_line(cell.id), one_line(cell.origin)
            reason = one_line(cell.reason, 160)
            word = WORDS[cell.state] + ("?" if cell.later else "")
            lines.append(
                f" {name:<{width}}  {word:<11}  {cell.role:<5}  {reason}   {origin}".rstrip()
            )
            if notes and cell.state is CellState.REPLAYED:
                lines += [
                    f" {'':<{width}}  {'':<11}  {'':<5}  note: {one_line(n, 160)}"
                    for n in cell.notes
                ]
    if not cells:
        lines = ["There are no workflows in .github/workflows."]
    else:
        lines.append(summary(cells))
    return "\n".join(lines) + "\n"


def cells_json(
    change: Change, cells: Sequence[JobCell], problems: Sequence[str]
) -> dict[str, Any]:
    """Give the cells as JSON; `schema` grows by new keys only."""
    return {
        "schema": 1,
        "target": {"tree": change.target.tree, "commit": change.target.commit},
        "base": {"ref": change.base.ref, "commit": change.base.commit},
        "summary": summary(cells),
        "cells": [{**builtins_of(cell), "origin": cell.origin} for cell in cells],
        "problems": list(problems),
    }


def markdown_cells(cells: Sequence[JobCell]) -> list[str]:
    """Give the table as lines of Markdown."""
    lines = ["| cell | here | why | where |", "| --- | --- | --- | --- |"]
    lines += [
        f"| {for_markdown(c.id)} | {WORDS[c.state]} | {for_markdown(one_line(c.reason, 200))} | {for_markdown(c.origin)} |"
        for c in cells
    ]
    return lines
