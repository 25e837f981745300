"""A selection and an explanation as text."""

from __future__ import annotations

import io
import json

from rich.console import Console

from presubmit.report.selection import (
    answer_json,
    render_answer,
    render_reached,
    render_selection,
    render_unreached,
    selection_json,
    selection_table,
)
from presubmit.selector.explain import Answer, Reached
from presubmit.values import ChosenTest, LeftOut, Mode, Reason, Selection

CHAIN = ("src/pkg/_speedups.c", "src/pkg/_speedups.so", "src/pkg/__init__.py", "tests/test_a.py")
NATIVE = Reason(rule="native", text="reaches src/pkg/_speedups.c", chain=CHAIN)
SELECTION = Selection(
    mode=Mode.SCOPED,
    tests=(
        ChosenTest(path="tests/test_a.py", reasons=(NATIVE,)),
        ChosenTest(
            path="tests/test_long_name.py",
            reasons=(Reason(rule="recorded", text="2 of 9 tests ran it"),),
            rank=1,
            ids=("tests/test_long_name.py::x", "tests/test_long_name.py::y"),
        ),
    ),
    known=5,
    unsure=("conftest.py cannot be parsed",),
    unreached=("src/pkg/lonely.py",),
    why="2 of 5 test files depend on the change",
)
OUT = (
    LeftOut(path="tests/test_c.py", reasons=(Reason(rule="names", text="no name leads here"),)),
    LeftOut(path="tests/test_d.py", reasons=(Reason(rule="names", text="nor here"),)),
    LeftOut(path="tests/test_e.py", reasons=(Reason(rule="imports", text="imports nothing"),)),
)


def test_a_selection_is_shown_with_reasons_rules_and_what_was_unsure() -> None:
    assert render_selection(SELECTION, OUT).splitlines() == [
        "2 of 5 test files depend on the change",
        "1  tests/test_a.py                    reaches src/pkg/_speedups.c",
        "2  tests/test_long_name.py (2 tests)  2 of 9 tests ran it",
        "",
        "left out: 3 of 5 test files",
        "      2  names: no name leads here (tests/test_c.py, …)",
        "      1  imports: imports nothing",
        "",
        "unsure, so more is run:",
        "  conftest.py cannot be parsed",
        "",
        "no test reaches:",
        "  src/pkg/lonely.py",
    ]


def test_every_file_that_was_left_out_is_named_where_that_is_asked_for() -> None:
    text = render_selection(SELECTION, OUT, name_all=True)
    assert "tests/test_d.py   nor here" in text
    assert all(one.path in text for one in OUT)


def test_nothing_chosen_is_shown_as_the_reason_why() -> None:
    nothing = Selection(mode=Mode.NONE, tests=(), known=0, why="only README.md changed")
    assert render_selection(nothing, ()) == "only README.md changed\n"


def test_a_table_holds_what_the_text_holds_and_no_markup_of_names() -> None:
    stream = io.StringIO()
    odd = ChosenTest(path="tests/[bold]\x1b[31m.py", reasons=(NATIVE,))
    selection = Selection(mode=Mode.SCOPED, tests=(odd, *SELECTION.tests), known=5)
    Console(file=stream, width=100).print(selection_table(selection))
    text = stream.getvalue()
    assert "tests/[bold]\\x1b[31m.py" in text
    assert "tests/test_long_name.py (2 tests)" in text
    assert "2 of 9 tests ran it" in text


def test_json_holds_every_reason_id_and_what_was_left_out() -> None:
    found = json.loads(selection_json(SELECTION, OUT))
    assert found["tests"][0]["reasons"][0]["chain"] == list(CHAIN)
    assert found["tests"][1]["ids"] == list(SELECTION.tests[1].ids)
    assert [one["path"] for one in found["left_out"]] == [one.path for one in OUT]
    assert (found["mode"], found["known"], found["unsure"]) == (
        "scoped",
        5,
        ["conftest.py cannot be parsed"],
    )


def test_an_answer_has_the_whole_chain() -> None:
    answer = Answer(
        target="tests/test_a.py", runs=True, why="why", reasons=(NATIVE,), notes=("a note",)
    )
    assert render_answer(answer).splitlines() == [
        "tests/test_a.py   runs   (why)",
        "  native     reaches src/pkg/_speedups.c",
        f"             {' -> '.join(CHAIN)}",
        "  note: a note",
    ]
    assert json.loads(answer_json(answer))["runs"] is True


def test_a_test_that_does_not_run_is_said_not_to() -> None:
    answer = Answer(target="t.py::x", runs=False, why="why", reasons=OUT[0].reasons)
    assert render_answer(answer).splitlines() == [
        "t.py::x   does not run   (why)",
        "  names      no name leads here",
    ]


REACHED = Reached(
    target="src/pkg/_speedups.c",
    mode=Mode.SCOPED,
    why="26 of 30 test files depend on the change",
    known=30,
    groups=(
        (3, (SELECTION.tests[0],)),
        (None, tuple(ChosenTest(path=f"t{n:02}.py", reasons=()) for n in range(25))),
    ),
    unreached=("tests/test_c.py",),
)


def test_what_a_file_reaches_is_shown_the_nearest_first() -> None:
    lines = render_reached(REACHED).splitlines()
    assert lines[0] == "src/pkg/_speedups.c   reaches 26 of 30 test files"
    assert lines[2] == "  at distance 3: 1 test file"
    assert lines[3].endswith("-> src/pkg/__init__.py -> tests/test_a.py")
    assert lines[4] == "  with no chain that leads there: 25 test files"
    assert lines[-1] == "    and 5 more: --all"
    assert "t24.py" in render_reached(REACHED, name_all=True)


def test_what_leads_to_many_tests_in_one_way_is_one_line() -> None:
    why = (Reason(rule="all", text="pyproject.toml is a build file"),)
    tests = tuple(ChosenTest(path=f"t{number}.py", reasons=why) for number in range(17))
    reached = Reached(
        target="pyproject.toml", mode=Mode.ALL, why="w", known=17, groups=((None, tests),)
    )
    lines = render_reached(reached).splitlines()
    assert lines[3:] == ["    each: pyproject.toml is a build file   (by name: --all)"]
    assert "t16.py" in render_reached(reached, name_all=True)


def test_a_file_that_reaches_everything_is_said_to() -> None:
    every = Reached(target="a.py", mode=Mode.ALL, why="w", known=17, groups=())
    assert render_unreached(every) == "a.py   reaches all 17 test files\n"


def test_what_a_file_does_not_reach_is_named() -> None:
    assert render_unreached(REACHED).splitlines() == [
        "src/pkg/_speedups.c   does not reach 1 of 30 test files",
        "    tests/test_c.py",
    ]


def test_line_ends_and_control_characters_of_names_are_escaped() -> None:
    odd = Answer(target="a\nb\x1b[2J.py", runs=False, why="w", reasons=())
    assert render_answer(odd) == "a b\\x1b[2J.py   does not run   (w)\n"
