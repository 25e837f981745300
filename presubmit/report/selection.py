"""A selection for the eye: the chosen tests in their order, what was left out and why, what a file reaches."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from presubmit.report.escape import for_terminal, one_line
from presubmit.selector.explain import by_rule
from presubmit.values import Mode, builtins_of, counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rich.console import RenderableType

    from presubmit.selector.explain import Answer, Reached
    from presubmit.values import ChosenTest, LeftOut, Reason, Selection

_ARROW: Final = " -> "
_WIDEST: Final = 60
_MOST_IN_A_GROUP: Final = 20
_FAR: Final = "with no chain that leads there"

Row = tuple[str, str, str]
"""Number, test, reason."""


# --- select ---------------------------------------------------------------------------------------------------------


def selection_json(selection: Selection, out: Sequence[LeftOut]) -> str:
    """Give everything that is known of a selection, as JSON."""
    return json.dumps(builtins_of(selection) | {"left_out": builtins_of(out)}, indent=1)


def chosen_rows(selection: Selection) -> list[Row]:
    """Give a row for each chosen file: where it stands in the order, its name, and the first of its reasons."""
    return [
        (str(number), named(test), _first(test.reasons))
        for number, test in enumerate(selection.tests, start=1)
    ]


def named(test: ChosenTest) -> str:
    """Name a chosen file, and how many of its tests where it is narrowed."""
    return f"{test.path} ({counted(len(test.ids), 'test')})" if test.ids else test.path


def _first(reasons: Sequence[Reason]) -> str:
    return reasons[0].text if reasons else ""


def selection_notes(
    selection: Selection, out: Sequence[LeftOut], *, name_all: bool = False
) -> list[str]:
    """Say by which rules tests were left out, and what was not sure; `name_all` gives each file."""
    lines = []
    if out:
        lines += ["", f"left out: {len(out)} of {counted(selection.known, 'test file')}"]
        for rule, members in by_rule(out).items():
            lines.append(f"  {len(members):>5}  {rule}: {_first(members[0].reasons)}")
            if len(members) > 1 and not name_all:
                lines[-1] += f" ({members[0].path}, …)"
            if name_all:
                lines += [f"         {one.path}   {_first(one.reasons)}" for one in members]
    if selection.unsure:
        lines += ["", "unsure, so more is run:", *(f"  {text}" for text in selection.unsure)]
    if selection.notes:
        lines += ["", *(f"note: {text}" for text in selection.notes)]
    if selection.unreached:
        lines += ["", "no test reaches:", *(f"  {path}" for path in selection.unreached)]
    return lines


def render_selection(
    selection: Selection, out: Sequence[LeftOut], *, name_all: bool = False
) -> str:
    """Give a selection as plain text."""
    lines = [selection.why, *_aligned(chosen_rows(selection))]
    lines += selection_notes(selection, out, name_all=name_all)
    return _text(lines)


def selection_table(selection: Selection) -> RenderableType:
    """Give the chosen tests as a table for a terminal."""
    from rich.table import Table  # noqa: PLC0415 - it costs 0.1 s, and a pipe needs none
    from rich.text import Text  # noqa: PLC0415

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("", justify="right", style="dim")
    table.add_column("test", overflow="fold")
    table.add_column("why", overflow="fold", style="dim")
    for row in chosen_rows(selection):
        table.add_row(*(Text(one_line(cell, 1000)) for cell in row))
    return table


# --- explain --------------------------------------------------------------------------------------------------------


def render_answer(answer: Answer) -> str:
    """Say why a test runs or does not, each reason with its whole chain."""
    lines = [f"{answer.target}   {'runs' if answer.runs else 'does not run'}   ({answer.why})"]
    for reason in answer.reasons:
        lines.append(f"  {reason.rule:<10} {reason.text}")
        if reason.chain:
            lines.append(f"  {'':<10} {_ARROW.join(reason.chain)}")
    lines += [f"  note: {text}" for text in answer.notes]
    return _text(lines)


def render_reached(reached: Reached, *, name_all: bool = False) -> str:
    """Say which tests a file reaches, the nearest first."""
    count = sum(len(tests) for _, tests in reached.groups)
    every = "all " if reached.mode is Mode.ALL else ""
    lines = [
        f"{reached.target}   reaches {every}{count} of {counted(reached.known, 'test file')}",
        f"  {reached.why}",
    ]
    for far, tests in reached.groups:
        where = _FAR if far is None else f"at distance {far}"
        lines.append(f"  {where}: {counted(len(tests), 'test file')}")
        rows = [_chained(test) for test in tests]
        told = {why for _, why in rows}
        if len(rows) > 1 and len(told) == 1 and "" not in told and not name_all:
            lines.append(f"    each: {one_line(told.pop(), 1000)}   (by name: --all)")
            continue
        shown = rows if name_all else rows[:_MOST_IN_A_GROUP]
        lines += [f"    {line}" for line in _aligned(shown)]
        if len(shown) < len(tests):
            lines.append(f"    and {len(tests) - len(shown)} more: --all")
    return _text(lines)


def _chained(test: ChosenTest) -> tuple[str, str]:
    chain = next((reason.chain for reason in test.reasons if reason.chain), ())
    return test.path, _ARROW.join(chain) or _first(test.reasons)


def render_unreached(reached: Reached) -> str:
    """Name the tests that a file does not reach."""
    if not reached.unreached:
        return _text([f"{reached.target}   reaches all {counted(reached.known, 'test file')}"])
    of = f"{len(reached.unreached)} of {counted(reached.known, 'test file')}"
    lines = [f"{reached.target}   does not reach {of}"]
    return _text([*lines, *(f"    {path}" for path in reached.unreached)])


# --- lines ----------------------------------------------------------------------------------------------------------


def _aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Give rows with their columns below each other, the last one ragged."""
    cells = [[one_line(cell, 1000) for cell in row] for row in rows]
    widths = [min(max(map(len, column)), _WIDEST) for column in zip(*cells, strict=True)]
    for row in cells:
        *before, last = row
        padded = [cell.ljust(width) for cell, width in zip(before, widths, strict=False)]
        yield "  ".join([*padded, last]).rstrip()


def _text(lines: Iterable[str]) -> str:
    return "".join(f"{for_terminal(line).replace(chr(10), ' ')}\n" for line in lines)


def answer_json(answer: Answer | Reached, **more: Any) -> str:  # noqa: ANN401 - whatever JSON holds
    """Give an explanation as JSON."""
    return json.dumps(builtins_of(answer) | more, indent=1)
