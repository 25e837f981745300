from __future__ import annotations

import time
from typing import Any

import pytest

from presubmit.upstream.matrix import MatrixError, expand
from presubmit.upstream.nodes import Mark


def values(matrix: Any) -> list[dict[str, Any]]:
    return [cell.values for cell in expand(matrix).cells]


def axes(matrix: Any) -> list[dict[str, Any]]:
    return [cell.axes for cell in expand(matrix).cells]


# --- the cross product ---


def test_one_axis_gives_one_cell_each() -> None:
    assert values({"python": ["3.11", "3.12"]}) == [{"python": "3.11"}, {"python": "3.12"}]


def test_the_last_axis_is_the_fastest() -> None:  # trap 35
    assert values({"os": ["l", "w"], "py": [1, 2]}) == [
        {"os": "l", "py": 1},
        {"os": "l", "py": 2},
        {"os": "w", "py": 1},
        {"os": "w", "py": 2},
    ]


@pytest.mark.parametrize(
    "value", ["text", "", 3.1, 0, True, False, None, {"a": 1}, ["a", "b"], {}, []]
)
def test_a_value_of_every_type_is_kept_as_it_is(value: Any) -> None:
    assert values({"axis": [value]}) == [{"axis": value}]


def test_cells_know_their_place() -> None:
    cells = expand({"a": [1, 2], "include": [{"a": 3}]}).cells
    assert [(cell.job_index, cell.job_total) for cell in cells] == [(0, 3), (1, 3), (2, 3)]


def test_the_same_value_twice_gives_two_cells() -> None:
    assert values({"a": [1, 1]}) == [{"a": 1}, {"a": 1}]


# --- exclude ---


def test_exclude_takes_out_what_matches_in_part() -> None:
    matrix = {"os": ["l", "w"], "py": [1, 2], "exclude": [{"os": "w", "py": 1}, {"py": 2}]}
    assert values(matrix) == [{"os": "l", "py": 1}]


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (3.1, "3.10"),  # trap 27
        ("Linux", "linux"),
        (1, True),
        ("1", True),
        (None, ""),
        (None, None),
        ("", None),
        (0, False),
        ("0xff", 255),
    ],
)
def test_exclude_compares_as_expressions_do(value: Any, wanted: Any) -> None:
    assert values({"a": [value, "other"], "exclude": [{"a": wanted}]}) == [{"a": "other"}]


@pytest.mark.parametrize(
    ("value", "wanted"), [("3.1", "3.10"), ("true", True), ("a", 0), ({"a": 1}, "Object")]
)
def test_exclude_keeps_what_expressions_tell_apart(value: Any, wanted: Any) -> None:
    assert values({"a": [value], "exclude": [{"a": wanted}]}) == [{"a": value}]


def test_exclude_matches_a_part_of_a_mapping() -> None:  # trap 28
    matrix = {"cfg": [{"a": 1, "b": 2}, {"a": 2}], "exclude": [{"cfg": {"a": 1}}]}
    assert values(matrix) == [{"cfg": {"a": 2}}]


def test_exclude_matches_keys_in_any_letter_case() -> None:
    matrix = {"Cfg": [{"A": 1}, {"A": 2}], "exclude": [{"cfg": {"a": 1}}]}
    assert values(matrix) == [{"Cfg": {"A": 2}}]


def test_exclude_matches_the_beginning_of_a_list() -> None:
    matrix = {"a": [["x", "y"], ["z"], "x"], "exclude": [{"a": ["x"]}]}
    assert values(matrix) == [{"a": ["z"]}, {"a": "x"}]


def test_what_is_not_there_is_null_to_exclude() -> None:
    matrix = {"cfg": [{"a": 1}, {"b": 1}, "text"], "exclude": [{"cfg": {"b": None}}]}
    assert values(matrix) == [{"cfg": {"b": 1}}]
    assert values({"a": [["x"], ["x", "y"]], "exclude": [{"a": ["x", None]}]}) == [
        {"a": ["x", "y"]}
    ]


def test_all_excluded_leaves_no_cell() -> None:  # trap 32
    assert expand({"a": [1], "exclude": [{"a": 1}]}).cells == ()


def test_exclude_of_a_key_that_is_no_axis_is_an_error() -> None:  # trap 29
    with pytest.raises(MatrixError, match="exclude names arch, which is no axis") as caught:
        expand({"os": ["l"], "exclude": [{"os": "l"}, {"arch": "x"}]}, mark=Mark(3, 7))
    assert caught.value.path == ("exclude", 1, "arch")
    assert caught.value.mark == Mark(3, 7)


def test_a_key_of_include_is_no_axis_to_exclude() -> None:
    with pytest.raises(MatrixError, match="build"):
        expand({"include": [{"service": "a"}], "exclude": [{"build": False}]})


# --- include ---

DOCS = {
    "fruit": ["apple", "pear"],
    "animal": ["cat", "dog"],
    "include": [
        {"color": "green"},
        {"color": "pink", "animal": "cat"},
        {"fruit": "apple", "shape": "circle"},
        {"fruit": "banana"},
        {"fruit": "banana", "animal": "cat"},
    ],
}


def test_the_example_of_the_docs_has_six_cells() -> None:  # traps 26 and 30
    assert values(DOCS) == [
        {"fruit": "apple", "animal": "cat", "color": "pink", "shape": "circle"},
        {"fruit": "apple", "animal": "dog", "color": "green", "shape": "circle"},
        {"fruit": "pear", "animal": "cat", "color": "pink"},
        {"fruit": "pear", "animal": "dog", "color": "green"},
        {"fruit": "banana"},
        {"fruit": "banana", "animal": "cat"},
    ]


def test_only_axes_name_a_cell_that_include_added_to() -> None:  # trap 36
    assert axes(DOCS)[0] == {"fruit": "apple", "animal": "cat"}


def test_all_keys_name_a_cell_that_include_made() -> None:
    matrix = {"os": ["l"], "include": [{"extra": 1, "os": "w"}]}
    assert axes(matrix) == [{"os": "l"}, {"os": "w", "extra": 1}]
    assert list(axes(matrix)[1]) == ["os", "extra"]


def test_a_later_include_overwrites_what_an_earlier_one_added() -> None:
    matrix = {"a": [1], "include": [{"x": 1}, {"X": 2, "y": 3}]}
    assert values(matrix) == [{"a": 1, "x": 2, "y": 3}]


def test_include_never_overwrites_an_axis() -> None:  # trap 30
    assert values({"a": [1], "include": [{"a": 2, "x": 1}]}) == [{"a": 1}, {"a": 2, "x": 1}]


def test_include_matches_loosely() -> None:  # trap 27
    assert values({"os": ["Linux"], "include": [{"os": "linux", "x": 1}]}) == [
        {"os": "Linux", "x": 1}
    ]
    assert values({"PY": [3.1], "include": [{"py": "3.10", "x": 1}]}) == [{"PY": 3.1, "x": 1}]


def test_include_brings_an_excluded_cell_back_as_a_new_one() -> None:  # trap 31
    matrix = {"a": [1, 2], "exclude": [{"a": 1}], "include": [{"a": 1}]}
    assert values(matrix) == [{"a": 2}, {"a": 1}]


def test_include_alone_makes_its_own_cells() -> None:
    matrix = {"include": [{"os": "l", "py": 1}, {"os": "w"}]}
    assert values(matrix) == [{"os": "l", "py": 1}, {"os": "w"}]
    assert axes(matrix) == values(matrix)


def test_include_with_nothing_in_common_goes_to_every_cell() -> None:
    assert values({"a": [1, 2], "include": [{"x": 1}]}) == [{"a": 1, "x": 1}, {"a": 2, "x": 1}]


def test_an_empty_include_beside_axes_changes_nothing() -> None:
    assert values({"a": [1], "include": [], "exclude": []}) == [{"a": 1}]


def test_the_axes_are_not_changed_by_what_include_adds() -> None:
    matrix = {"a": [1], "include": [{"x": 1}]}
    cell = expand(matrix).cells[0]
    assert cell.axes == {"a": 1}
    assert matrix == {"a": [1], "include": [{"x": 1}]}


# --- what GitHub refuses ---


@pytest.mark.parametrize(
    ("matrix", "message", "path"),
    [
        (None, "a matrix is a mapping, not null", ()),
        ("", "a matrix is a mapping, not the text ''", ()),
        ([1], "a matrix is a mapping, not a list", ()),
        ({}, "a matrix must define at least one axis, or `include`", ()),
        ({"include": []}, "a matrix must define at least one axis, or `include`", ()),
        ({"py": []}, "axis py has no values", ("py",)),  # trap 33
        ({"py": [], "include": [{"py": 1}]}, "axis py has no values", ("py",)),
        ({"py": 3.1}, "axis py is a list of values, not 3.1", ("py",)),
        ({"py": {"a": 1}}, "axis py is a list of values, not a mapping", ("py",)),
        ({"py": None}, "axis py is a list of values, not null", ("py",)),
        (
            {"os": [1], "OS": [2]},
            "axis OS is there twice, apart from its letter case",
            ("OS",),
        ),
        ({"include": "x"}, "include is a list of mappings, not the text 'x'", ("include",)),
        ({"include": None}, "include is a list of mappings, not null", ("include",)),
        ({"a": [1], "include": [1]}, "include is a list of mappings, not of 1", ("include", 0)),
        ({"a": [1], "include": [{}]}, "an item of include is empty", ("include", 0)),
        ({"a": [1], "exclude": [{}]}, "an item of exclude is empty", ("exclude", 0)),
        ({"a": [1], "exclude": True}, "exclude is a list of mappings, not true", ("exclude",)),
    ],
)
def test_a_matrix_that_cannot_be_is_an_error_with_its_place(
    matrix: Any, message: str, path: tuple[str | int, ...]
) -> None:
    with pytest.raises(MatrixError) as caught:
        expand(matrix)
    assert (str(caught.value), caught.value.path) == (message, path)


def test_256_jobs_are_the_most() -> None:
    assert len(expand({"a": list(range(16)), "b": list(range(16))}).cells) == 256
    with pytest.raises(MatrixError, match="makes more than 256 jobs"):
        expand({"a": list(range(257))})


def test_excluded_cells_do_not_count_as_jobs() -> None:
    matrix = {"a": list(range(300)), "exclude": [{"a": number} for number in range(50)]}
    assert len(expand(matrix).cells) == 250


def test_a_huge_matrix_is_refused_at_once() -> None:
    begun = time.process_time()
    matrix = {f"a{number}": list(range(20)) for number in range(12)}
    with pytest.raises(MatrixError, match="more than 65536 combinations"):
        expand(matrix | {"exclude": [{"a0": number} for number in range(20)]})
    assert time.process_time() - begun < 5
