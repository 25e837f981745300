"""Why tests are chosen or left out."""

from __future__ import annotations

import msgspec
import pytest

from presubmit.errors import UsageError
from presubmit.selector.explain import (
    as_if_changed,
    by_rule,
    explain_test,
    find_target,
    left_out,
    may_be_there,
    not_itself_edited,
    reached_by,
    similar,
    undefined,
)
from presubmit.values import (
    Base,
    Change,
    ChangedFile,
    ChosenTest,
    FileStatus,
    LeftOut,
    Mode,
    Reason,
    Selection,
    Target,
    TargetKind,
)


def reason(rule: str, *chain: str) -> Reason:
    return Reason(rule=rule, text=f"by {rule}", chain=chain)


A = ChosenTest(path="tests/test_a.py", reasons=(reason("imports", "a.py", "tests/test_a.py"),))
X, Y = "tests/test_b.py::test_x", "tests/test_b.py::C::test_y"
B = ChosenTest(
    path="tests/test_b.py",
    reasons=(reason("recorded", "a.py::f", X), reason("recorded", "a.py::g", Y)),
    ids=(X, Y),
)
OUT = LeftOut(path="tests/test_c.py", reasons=(reason("names"),))
SELECTION = Selection(mode=Mode.SCOPED, tests=(A, B), known=5, why="two of five", left_out=(OUT,))
KNOWN = tuple(f"tests/test_{letter}.py" for letter in "abcde")


# --- tests ------------------------------------------------------------------------------------------------------------


def test_a_test_that_runs_has_all_of_its_reasons() -> None:
    answer = explain_test(SELECTION, "tests/test_a.py")
    assert (answer.runs, answer.reasons, answer.why) == (True, A.reasons, "two of five")


@pytest.mark.parametrize(
    ("target", "runs", "chains"),
    [
        ("tests/test_a.py::test_any", True, [("a.py", "tests/test_a.py")]),
        (X, True, [("a.py::f", X)]),
        (f"{X}[1-::-[]", True, [("a.py::f", X)]),
        ("tests/test_b.py::C", True, [("a.py::g", Y)]),
        ("tests/test_b.py", True, [("a.py::f", X), ("a.py::g", Y)]),
        ("tests/test_b.py::test_xx", False, [()]),
        ("tests/test_b.py::C::test_x", False, [()]),
    ],
)
def test_a_single_test_has_the_reasons_that_lead_to_it(
    target: str, runs: bool, chains: list[tuple[str, ...]]
) -> None:
    answer = explain_test(SELECTION, target)
    assert (answer.runs, [it.chain for it in answer.reasons]) == (runs, chains)


def test_a_test_that_does_not_run_has_the_rule_that_left_it_out() -> None:
    answer = explain_test(SELECTION, "tests/test_c.py::test_z")
    assert (answer.runs, answer.reasons) == (False, OUT.reasons)


def test_a_test_that_no_rule_speaks_of_is_not_reached() -> None:
    (reason,) = explain_test(SELECTION, "tests/test_d.py").reasons
    assert reason.rule == "unreached"
    nothing = Selection(mode=Mode.NONE, tests=(), known=5, why="only README.md changed")
    assert explain_test(nothing, "tests/test_d.py").reasons[0].text == "only README.md changed"


def test_what_is_left_out_and_what_is_chosen_are_all_of_the_tests() -> None:
    out = left_out(SELECTION, KNOWN)
    assert [one.path for one in out] == ["tests/test_c.py", "tests/test_d.py", "tests/test_e.py"]
    assert {rule: len(members) for rule, members in by_rule(out).items()} == {
        "unreached": 2,
        "names": 1,
    }
    assert list(by_rule(out)) == ["unreached", "names"]


def test_what_would_choose_a_test_is_no_reason_why_the_record_left_it_out() -> None:
    out = LeftOut(path="tests/test_c.py", reasons=(reason("recorded"), reason("names")))
    selection = Selection(mode=Mode.SCOPED, tests=(A,), known=5, why="w", left_out=(out,))
    answer = explain_test(selection, "tests/test_c.py::test_z")
    assert [it.rule for it in answer.reasons] == ["recorded"]


def test_a_single_test_has_no_reason_of_its_neighbours() -> None:
    many = msgspec.structs.replace(B, reasons=(reason("recorded", "a.py::f", X), reason("names")))
    selection = Selection(mode=Mode.SCOPED, tests=(many,), known=5, why="w")
    assert [it.rule for it in explain_test(selection, Y).reasons] == ["names"]


def test_only_the_test_that_is_edited_is_said_to_be() -> None:
    edited = ChosenTest(path="t.py", reasons=(reason("edited", "t.py"),))
    selection = Selection(mode=Mode.SCOPED, tests=(edited,), known=1, why="w")

    def said(target: str) -> str:
        answer = explain_test(selection, target)
        return not_itself_edited(answer, {"t.py::C::test_new"}).reasons[0].text

    assert "this test is not" in said("t.py::test_x[1]")
    assert "this test is not" in said("t.py::C::test_old")
    assert said("t.py::C::test_new[2]") == said("t.py::C") == said("t.py") == "by edited"


SOURCE = b"""
import other
from base import TestBase
import pytest
from parameterized import parameterized

class C:
    @pytest.mark.slow
    def test_x(self): ...
    @parameterized.expand([1, 2])
    def test_made(self): ...

class Inherits(TestBase): ...

Assigned = make()
"""
DEFINED = ["C", "C.test_x", "C.test_made", "Inherits"]


@pytest.mark.parametrize("target", ["t.py", "t.py::C::test_x[1]", "t.py::Inherits"])
def test_of_a_test_that_the_file_defines_nothing_is_said(target: str) -> None:
    assert undefined(target, DEFINED, SOURCE) == ""


@pytest.mark.parametrize(
    "name", ["Inherits::test_y", "TestBase::test_y", "Assigned::test_y", "C::test_made_0"]
)
def test_a_test_that_may_be_inherited_imported_or_made_is_said_to_be_so(name: str) -> None:
    assert "inherited" in undefined(f"t.py::{name}", DEFINED, SOURCE)


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("C::test_xy", "t.py::C::test_x"),
        ("test_x", "t.py::C::test_x"),
        ("nothing_like_it", "presubmit explain t.py"),
    ],
)
def test_a_test_that_is_not_there_is_an_error_with_the_nearest_names(name: str, near: str) -> None:
    with pytest.raises(UsageError, match=r"t\.py has no test") as raised:
        undefined(f"t.py::{name}", DEFINED, SOURCE)
    assert near in raised.value.hint


@pytest.mark.parametrize(
    "more", [b"from x import *", b"globals()['f'] = 1", b"T = type('T', (), {})", b"def ("]
)
def test_a_file_that_may_bind_any_name_may_have_the_test(more: bytes) -> None:
    assert may_be_there("test_q", SOURCE + more)
    assert not may_be_there("test_q", SOURCE + b"type(3)")


# --- files ------------------------------------------------------------------------------------------------------------


def test_the_tests_that_a_file_reaches_are_grouped_by_distance() -> None:
    far = ChosenTest(path="tests/test_d.py", reasons=(reason("imports", "a", "b", "c", "d"),))
    loose = ChosenTest(path="tests/test_e.py", reasons=(reason("always"),))
    selection = Selection(mode=Mode.SCOPED, tests=(A, loose, far), known=5, why="w")
    reached = reached_by(selection, "a.py", KNOWN)
    assert [(n, [test.path for test in tests]) for n, tests in reached.groups] == [
        (1, ["tests/test_a.py"]),
        (3, ["tests/test_d.py"]),
        (None, ["tests/test_e.py"]),
    ]
    assert reached.unreached == ("tests/test_b.py", "tests/test_c.py")


@pytest.mark.parametrize(
    ("present", "status"), [(True, FileStatus.ADDED), (False, FileStatus.DELETED)]
)
def test_a_file_is_explained_as_if_all_of_it_were_changed(
    present: bool, status: FileStatus
) -> None:
    change = Change(
        top="/t",
        common_dir="/t/.git",
        branch=None,
        target=Target(kind=TargetKind.WORKTREE, commit=None, tree="t", snapshot="s"),
        base=Base(ref="main", commit="b", tree="u", how="test"),
        files=(ChangedFile(path="other.py", status=FileStatus.MODIFIED),),
    )
    found = as_if_changed(change, "a.py", present=present)
    assert found.files == (ChangedFile(path="a.py", status=status),)
    assert found.base == change.base


# --- names ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "folder", "found"),
    [
        ("tests/test_a.py", "", "tests/test_a.py"),
        ("./tests//test_a.py", "", "tests/test_a.py"),
        ("test_a.py", "tests", "tests/test_a.py"),
        ("../tests/test_a.py::C::x[::/..]", "docs", "tests/test_a.py::C::x[::/..]"),
        ("tests/test_a.py", "tests", "tests/test_a.py"),
        ("test_a.py", "", ""),
        ("tests", "", ""),
    ],
)
def test_a_target_is_found_from_the_folder_and_from_the_top(
    target: str, folder: str, found: str
) -> None:
    assert find_target(target, folder, KNOWN) == found


def test_a_target_that_is_not_there_has_near_names() -> None:
    names = [*KNOWN, "src/pkg/convert.py"]
    assert similar("src/pkg/converts.py", names)[0] == "src/pkg/convert.py"
    assert similar("convert.py::f", names) == ("src/pkg/convert.py",)
    assert similar("zzz", names) == ()
