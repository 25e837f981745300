from __future__ import annotations

from typing import Any

import pytest

from presubmit.upstream.cells import CellState, JobCell
from presubmit.upstream.here import Here, Interpreter
from presubmit.upstream.recipes.job_commands import StepScript
from presubmit.upstream_options.pythons import (
    Python,
    python_of_cell,
    read_python,
    unusual_words,
)
from presubmit.upstream_options.ranking import candidates, choose_interpreter, ranked
from tests.unit.upstream_options.made import image, taken

FILE = ".github/workflows/ci.yml"


def cell(
    name: str = "tests",
    axes: dict[str, Any] | None = None,
    *,
    state: CellState = CellState.REPLAYED,
    reason: str = "",
) -> JobCell:
    return JobCell(
        id=f"ci.yml/{name}({axes})",
        workflow=FILE,
        job=name,
        axes=axes or {},
        state=state,
        reason=reason,
        role="tests",
    )


def setup(version: str, *, early: bool = False) -> tuple[StepScript, ...]:
    inputs = {"python-version": version, "allow-prereleases": "true" if early else ""}
    return (StepScript(uses="actions/setup-python@v6", line=9, inputs=inputs),)


def order(
    *found: tuple[JobCell, tuple[StepScript, ...]], python: tuple[int, int] | None = (3, 11)
) -> list[str]:
    steps = {one.id: own for one, own in found}
    return [c.cell.id for c in ranked(candidates([one for one, _ in found], steps), python)]


# --- which Python a cell sets up --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3.11", Python("cpython", (3, 11))),
        ("3.11.4", Python("cpython", (3, 11))),
        ("python3.12", Python("cpython", (3, 12))),
        ("3.13t", Python("cpython", (3, 13), free_threaded=True)),
        ("3.15-dev", Python("cpython", (3, 15), early=True)),
        ("3.15t-dev", Python("cpython", (3, 15), free_threaded=True, early=True)),
        ("3.14.0-rc.2", Python("cpython", (3, 14), early=True)),
        ("3.15.0rc1", Python("cpython", (3, 15), early=True)),
        ("pypy-3.11", Python("pypy", (3, 11))),
        ("pypy3.11", Python("pypy", (3, 11))),
        ("pypy-3.11-v7.3.20", Python("pypy", (3, 11))),
        ("graalpy-25", Python("graalpy", (25, 0))),
        ("3.x", None),
        (">=3.10", None),
        ("3", None),
        ("3.10 - 3.12", None),
        ("", None),
    ],
)
def test_a_version_is_read_as_setup_actions_are_given_it(
    text: str, expected: Python | None
) -> None:
    assert read_python(text) == expected


@pytest.mark.parametrize(
    ("axes", "version"),
    [
        ({"python-version": "3.11"}, (3, 11)),
        ({"python": 3.11}, (3, 11)),
        ({"python": {"version": 3.11}}, (3, 11)),
        ({"py": "py311"}, (3, 11)),
        ({"py": 311}, (3, 11)),
        ({"toxenv": "py311-cov"}, (3, 11)),
        ({"name": "ubuntu-py311"}, (3, 11)),
        ({"build": "cp313-manylinux_x86_64"}, (3, 13)),
    ],
)
def test_a_version_is_found_in_the_values_of_a_matrix(
    axes: dict[str, Any], version: tuple[int, int]
) -> None:
    found, origin = python_of_cell(cell(axes=axes), ())
    assert found == Python("cpython", version)
    assert origin == ""


@pytest.mark.parametrize(
    "axes", [{"django": "3.2"}, {"numpy": 3.11}, {"os": "ubuntu-22.04"}, {"python": True}, {}]
)
def test_a_number_of_something_else_is_no_version_of_python(axes: dict[str, Any]) -> None:
    assert python_of_cell(cell(axes=axes), ())[0] is None


def test_what_a_step_sets_up_counts_more_than_what_a_matrix_says() -> None:
    found = python_of_cell(cell(axes={"python": "3.9"}), setup("3.12"))
    assert found == (Python("cpython", (3, 12)), "ci.yml:9")


@pytest.mark.parametrize(
    ("axes", "words"),
    [
        ({"name": "ubuntu-py310"}, 0),
        ({"name": "ubuntu-py310-pytestmain"}, 1),
        ({"os": "ubuntu-latest", "python": "3.11", "arch": "x64"}, 0),
        ({"python": "3.11", "zmq": "head", "tornado": "head"}, 2),
        ({"python": "3.11", "deps": {"set": "minimum"}}, 1),
        ({"no-extensions": "", "experimental": False, "name": None}, 0),
        ({"no-extensions": "Yes"}, 1),
    ],
)
def test_words_that_make_a_cell_a_variation_are_counted(axes: dict[str, Any], words: int) -> None:
    assert unusual_words(cell(axes=axes)) == words


# --- order ------------------------------------------------------------------------------------------------------------


def test_a_cell_with_our_very_python_comes_first_then_the_nearest() -> None:
    cells = [(cell(axes={"python": v}), setup(v)) for v in ("3.9", "3.14", "3.11", "3.12")]
    found = order(*cells)
    assert [text[-7:-3] for text in found] == ["3.11", "3.12", "'3.9", "3.14"]


def test_our_very_python_is_told_from_one_that_begins_alike() -> None:
    cells = [(cell(axes={"python": v}), setup(v)) for v in ("3.11", "3.1")]
    assert order(*cells, python=(3, 1))[0] == cells[1][0].id


@pytest.mark.parametrize("odd", ["pypy-3.11", "graalpy-25", "3.11t", "3.15-dev"])
def test_pypy_and_pre_releases_come_last(odd: str) -> None:
    cells = [(cell(axes={"python": v}), setup(v)) for v in (odd, "3.8")]
    assert order(*cells)[0] == cells[1][0].id


def test_without_a_known_python_the_newest_release_comes_first() -> None:
    cells = [
        (cell(axes={"python": v}), setup(v, early=True)) for v in ("3.10", "3.15", "3.14", "3.9")
    ]
    # The newest row of a job that allows pre-releases may be one.
    assert order(*cells, python=None)[0] == cells[2][0].id
    plain = [(cell(axes={"python": v}), setup(v)) for v in ("3.10", "3.15", "3.14")]
    assert order(*plain, python=None)[0] == plain[1][0].id


def test_the_largest_job_comes_before_one_with_our_python() -> None:
    main = [(cell("tests", {"python": v}), setup(v)) for v in ("3.10", "3.12")]
    other = (cell("docs-tests"), setup("3.11"))
    assert order(other, *main)[0] == main[0][0].id


def test_a_job_whose_matrix_expands_later_counts_as_a_large_one() -> None:
    later = (cell("tests", reason="started; its matrix expands at run time (x)"), setup(""))
    others = [(cell("other", {"python": v}), setup(v)) for v in ("3.10", "3.11")]
    assert order(*others, later)[0] == later[0].id


def test_a_job_that_is_a_variation_by_its_name_comes_after_the_others() -> None:
    musl = [(cell("musl", {"python": v}), setup(v)) for v in ("3.10", "3.11")]
    main = (cell("tests"), setup("3.14"))
    assert order(*musl, main)[0] == main[0].id


def test_of_equal_cells_one_that_can_be_replayed_comes_first_then_the_files_order() -> None:
    absent = (cell("a", state=CellState.NOT_REPLAYED, reason="sudo"), setup("3.11"))
    blocked = (cell("b", state=CellState.BLOCKED), setup("3.11"))
    here = (cell("c"), setup("3.11"))
    assert order(absent, blocked, here) == [here[0].id, absent[0].id, blocked[0].id]


def test_cells_of_other_systems_and_those_that_do_not_start_are_no_candidates() -> None:
    cells = [
        cell("win", state=CellState.NOT_REPLAYED, reason="runs-on windows-latest"),
        cell("filtered", state=CellState.FILTERED),
        cell("off", state=CellState.NOT_STARTED),
        cell("no-steps"),
    ]
    steps = {one.id: setup("3.11") for one in cells[:3]}
    assert candidates(cells, steps) == []


# --- the interpreter --------------------------------------------------------------------------------------------------


def chosen(here: Here, *versions: str) -> str:
    cells = [cell(axes={"python": v}) for v in versions]
    found = candidates(cells, {one.id: setup(v) for one, v in zip(cells, versions, strict=True)})
    interpreter = choose_interpreter(found, here)
    return interpreter.version if interpreter is not None else ""


def test_the_default_interpreter_stays_where_upstream_tests_on_it() -> None:
    assert chosen(image("3.11.2", "3.13.1"), "3.13", "3.11") == "3.11.2"


def test_the_newest_that_upstream_tests_on_is_taken_where_the_default_is_not_among_its_versions() -> (
    None
):
    here = image("3.9.2", "3.12.1", "3.13.1", "3.14.0", "3.15.0rc1")
    assert chosen(here, "3.12", "3.13", "3.15") == "3.13.1"


@pytest.mark.parametrize("versions", [("3.x", "3.13"), ()])
def test_the_default_stays_where_upstreams_versions_are_not_all_known(
    versions: tuple[str, ...],
) -> None:
    assert chosen(image("3.9.2", "3.13.1"), *versions) == "3.9.2"


def test_the_default_stays_where_nothing_in_the_image_is_better() -> None:
    pypy = Interpreter(version="3.13.1", path="/p", kind="pypy")
    free = Interpreter(version="3.13.1", path="/t", free_threaded=True)
    without_pip = Interpreter(version="3.13.1", path="/n", pip=False)
    here = Here(interpreters=(*image("3.9.2").interpreters, pypy, free, without_pip))
    assert chosen(here, "3.13") == "3.9.2"


WORKFLOW = """\
on: pull_request
jobs:
  tests:
    runs-on: ubuntu-latest
    strategy:
      matrix: {python: ["3.12", "3.13"]}
    steps:
      - uses: actions/setup-python@v6
        with: {python-version: "${{ matrix.python }}"}
      - run: pytest -v
"""


def test_the_interpreter_is_an_option_with_the_line_that_sets_it_up() -> None:
    found = taken(WORKFLOW, here=image("3.9.2", "3.13.1"))
    assert found.options["container.python"] == ("/opt/3.13.1/python", "ci.yml:8")
    assert found.cells == {"tests": "ci.yml/tests(python=3.13)"}


def test_the_interpreter_stays_the_images_where_no_call_of_pytest_is_taken() -> None:
    found = taken(WORKFLOW.replace("pytest -v", "nox -s tests"), here=image("3.9.2", "3.13.1"))
    assert found.options == {}
