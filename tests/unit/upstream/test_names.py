from __future__ import annotations

import re
from typing import Any

import pytest

from presubmit.errors import UsageError
from presubmit.upstream.cells import CellState, JobCell
from presubmit.upstream.matrix import expand
from presubmit.upstream.names import (
    Query,
    axis_text,
    called_name,
    cell_id,
    display_name,
    find_cells,
    job_paths,
    parse_query,
    unique_ids,
)


def cell(
    job: str = "tests", axes: dict[str, Any] | None = None, *, file: str = "ci.yml", name: str = ""
) -> JobCell:
    axes = axes or {}
    made = cell_id(file, job, axes) if job else file
    return JobCell(
        id=made,
        workflow=f".github/workflows/{file}",
        job=job,
        name=name or display_name("", job, axes),
        axes=axes,
        state=CellState.REPLAYED,
        reason="on: pull_request",
    )


# --- display names ---


def test_the_values_of_the_axes_follow_the_id() -> None:
    axes = {"python": "3.12", "os": "ubuntu-latest"}
    assert display_name("", "tests", axes) == "tests (3.12, ubuntu-latest)"


def test_a_job_without_a_matrix_is_its_id() -> None:
    assert display_name("", "tests", {}) == "tests"


def test_scalars_are_shown_as_expressions_print_them() -> None:
    axes = {"a": 3.1, "b": True, "c": 16.0, "d": 10}  # trap 34: an unquoted 3.10
    assert display_name("", "t", axes) == "t (3.1, true, 16, 10)"


def test_null_and_empty_texts_are_not_shown() -> None:
    assert display_name("", "t", {"a": None, "b": "", "c": "x", "d": False}) == "t (x, false)"
    assert display_name("", "t", {"a": None, "b": [], "c": {}}) == "t"


def test_the_scalars_inside_of_mappings_and_lists_are_shown() -> None:
    axes = {"cfg": {"os": "linux", "more": {"py": 3.12}}, "flags": ["-O", "-g"]}
    assert display_name("", "t", axes) == "t (linux, 3.12, -O, -g)"


def test_a_name_without_an_expression_takes_the_values_as_well() -> None:
    assert display_name("Tests", "t", {"a": 1}, written="Tests") == "Tests (1)"


def test_a_name_with_an_expression_stands_alone() -> None:
    written = "Tests on ${{ matrix.os }}"
    assert display_name("Tests on l", "t", {"os": "l"}, written=written) == "Tests on l"
    assert display_name("Tests on l", "t", {"os": "l"}) == "Tests on l"


def test_an_expression_that_gives_nothing_leaves_the_id() -> None:
    assert display_name("", "t", {"os": "l"}, written="${{ matrix.name }}") == "t (l)"


def test_a_long_name_is_cut_at_100_characters() -> None:
    assert len(display_name("", "t" * 100, {})) == 100
    shown = display_name("", "t", {"a": "x" * 200})
    assert len(shown) == 100
    assert shown.endswith("x...")


def test_a_called_job_follows_its_caller() -> None:
    assert called_name("build (linux)", "wheel") == "build (linux) / wheel"


# --- ids ---


def test_an_id_names_the_axes() -> None:
    axes = {"python": "3.12", "os": "ubuntu"}
    assert cell_id("ci.yml", "tests", axes) == "ci.yml/tests(python=3.12,os=ubuntu)"


def test_an_id_without_axes_has_no_brackets() -> None:
    assert cell_id("ci.yml", "lint", {}) == "ci.yml/lint"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("ubuntu-latest", "ubuntu-latest"),
        ("cp3{11,12}", '"cp3{11,12}"'),
        ("a b", "a b"),
        (" a", '" a"'),
        ("a ", '"a "'),
        ("a=b", '"a=b"'),
        ("f(x)", '"f(x)"'),
        ('say "x"', '"say \\"x\\""'),
        ("a\nb", '"a\\nb"'),
        ("é/ß", "é/ß"),
        ("", ""),
        (None, ""),
        (3.1, "3.1"),
        (3.0, "3"),
        (True, "true"),
        ({"a": 1.0, "b": [True, None, 0.5]}, '{"a":1,"b":[true,null,0.5]}'),
        ([], "[]"),
    ],
)
def test_a_value_stands_in_an_id_so_that_it_can_be_read_again(value: Any, text: str) -> None:
    assert axis_text(value) == text
    made = cell("tests", {"weird, key": value, "z": 1})
    assert parse_query(made.id).matches(made)


def test_equal_ids_are_told_apart() -> None:
    assert unique_ids(["a", "b", "a", "a"]) == ("a", "b", "a#2", "a#3")


def test_the_cells_of_one_job_have_ids_of_their_own() -> None:
    cells = expand({"a": [1, "1", 2]}).cells
    assert job_paths("call(k=v)/inner", cells) == (
        "call(k=v)/inner(a=1)",
        "call(k=v)/inner(a=1)#2",
        "call(k=v)/inner(a=2)",
    )


# --- queries ---

PY312 = cell("tests", {"python-version": "3.12", "os": "ubuntu-latest"})
PY310 = cell("tests", {"python-version": 3.1, "os": "ubuntu-latest"})
LINT = cell("lint")
OTHER = cell("tests", file="other.yaml")
INNER = cell("call(kind=full)/inner", {"os": "linux"})
ASLEEP = cell("", file="labeler.yml")
ALL = (PY312, PY310, LINT, OTHER, INNER, ASLEEP)


def found(text: str) -> list[str]:
    return [one.id for one in find_cells(text, ALL)]


def test_a_query_is_taken_apart() -> None:
    expected = Query(
        text="ci.yml/tests(python=3.12,ubuntu)",
        path=("ci.yml", "tests"),
        axes=(("python", "3.12"),),
        values=("ubuntu",),
    )
    assert parse_query("ci.yml/tests(python=3.12,ubuntu)") == expected


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        ("ci.yml", (PY312, PY310, LINT, INNER)),
        ("ci", (PY312, PY310, LINT, INNER)),
        ("CI.YML", (PY312, PY310, LINT, INNER)),
        (".github/workflows/ci.yml", (PY312, PY310, LINT, INNER)),
        ("./.github/workflows/other.yaml/tests", (OTHER,)),
        ("ci.yml/tests", (PY312, PY310)),
        ("ci/Tests", (PY312, PY310)),
        ("tests", (PY312, PY310, OTHER)),
        ("lint", (LINT,)),
        ("labeler", (ASLEEP,)),
        # axes: some of them are enough, keys may be cut short, values are compared as text
        ("ci.yml/tests(python-version=3.12,os=ubuntu-latest)", (PY312,)),
        ("ci.yml/tests(python=3.12)", (PY312,)),
        ("ci.yml/tests(PYTHON=3.12, OS=Ubuntu-Latest)", (PY312,)),
        ("tests(python=3.10)", (PY310,)),
        ("tests(python=3.1)", (PY310,)),
        ("tests(os=ubuntu-latest)", (PY312, PY310)),
        ("tests()", (PY312, PY310, OTHER)),
        # values alone
        ("tests(3.12)", (PY312,)),
        ("tests(ubuntu-latest, 3.12)", (PY312,)),
        # display names
        ("tests (3.12, ubuntu-latest)", (PY312,)),
        ("TESTS (3.1, ubuntu-latest)", (PY310,)),
        # reusable workflows
        ("ci.yml/call", (INNER,)),
        ("call/inner", (INNER,)),
        ("inner", (INNER,)),
        ("ci.yml/call/inner(os=linux)", (INNER,)),
        ("ci.yml/call(kind=full)/inner(os=linux)", (INNER,)),
        ("ci.yml/call(kind=full)/inner", (INNER,)),
    ],
)
def test_a_query_finds_its_cells(text: str, cells: tuple[JobCell, ...]) -> None:
    assert find_cells(text, ALL) == cells


def test_every_id_finds_its_own_cell_only() -> None:
    for one in ALL:
        assert find_cells(one.id, ALL) == (one,)


def test_an_id_that_was_told_apart_is_found() -> None:
    first = cell("tests", {"a": 1})
    second = JobCell(
        id=f"{first.id}#2",
        workflow=first.workflow,
        job=first.job,
        state=CellState.REPLAYED,
        reason="",
    )
    assert find_cells(second.id, (first, second)) == (second,)


def test_a_key_that_begins_two_axes_matches_neither() -> None:
    both = cell("tests", {"python-version": 1, "python-arch": 1})
    assert not parse_query("tests(python=1)").matches(both)
    assert parse_query("tests(python-a=1)").matches(both)


def test_a_whole_key_wins_over_one_that_it_begins() -> None:
    both = cell("tests", {"python": "a", "python-arch": "b"})
    assert parse_query("tests(python=a)").matches(both)
    assert not parse_query("tests(python=b)").matches(both)


def test_null_and_zero_are_not_the_same_text() -> None:
    made = cell("tests", {"a": None, "b": 0})
    assert parse_query("tests(a=)").matches(made)
    assert not parse_query("tests(a=0)").matches(made)
    assert not parse_query("tests(b=)").matches(made)
    assert parse_query("tests(b=0)").matches(made)


def test_a_mapping_is_compared_as_json() -> None:
    made = cell("tests", {"cfg": {"a": 1, "b": [2]}})
    assert parse_query('tests(cfg={"a":1,"b":[2]})').matches(made)
    assert not parse_query('tests(cfg={"a":1})').matches(made)


def test_a_display_name_that_is_no_query_is_found() -> None:
    odd = cell("odd", name="odd (unclosed")
    assert find_cells("odd (unclosed", (odd,)) == (odd,)


def test_a_query_that_cannot_be_read_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="lacks a closing"):
        find_cells("tests(", ALL)


def test_a_query_that_matches_nothing_names_the_nearest() -> None:
    with pytest.raises(UsageError, match=r"no cell is called 'ci\.yml/test'") as caught:
        find_cells("ci.yml/test", ALL)
    assert caught.value.hint.startswith("did you mean ci.yml/tests")


def test_a_query_with_a_wrong_value_names_the_ids() -> None:
    with pytest.raises(UsageError) as caught:
        find_cells("ci.yml/tests(python-version=3.9,os=ubuntu-latest)", ALL)
    assert PY312.id in caught.value.hint


def test_a_query_without_anything_near_names_the_workflows() -> None:
    with pytest.raises(UsageError) as caught:
        find_cells("zzzzzzzz", ALL)
    assert caught.value.hint == "there are ci.yml, other.yaml, labeler.yml"


def test_a_query_where_there_is_no_workflow_says_so() -> None:
    with pytest.raises(UsageError) as caught:
        find_cells("ci.yml", ())
    assert caught.value.hint == "there is no workflow here"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ci.yml/tests(python=3.12", "lacks a closing )"),
        ('tests(a="b)', 'lacks a closing "'),
        ("tests(a={1)", "lacks a closing }"),
        ("tests(a=1)x", "goes on after its brackets"),
    ],
)
def test_brackets_that_do_not_close_are_a_usage_error(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(f"{text!r} {message}")):
        parse_query(text)


@pytest.mark.parametrize("text", ["", "  ", "ci.yml/", "/tests", "ci.yml//tests", "(a=1)"])
def test_an_empty_name_is_a_usage_error(text: str) -> None:
    with pytest.raises(UsageError, match="names no cell"):
        parse_query(text)


def test_a_quote_that_is_no_json_is_taken_as_it_is() -> None:
    assert parse_query('tests(a="\\x")').axes == (("a", '"\\x"'),)
