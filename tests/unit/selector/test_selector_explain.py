"""Why tests are chosen or left out."""

from __future__ import annotations

import pytest

from presubmit.selector.explain import (
    as_if_changed,
    by_rule,
    explain_test,
    find_target,
    left_out,
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


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("t.py", ""),
        ("t.py::C::test_x[1]", ""),
        ("t.py::C::test_xy", "near: C.test_x"),
        ("t.py::Other::run", "inherited"),
    ],
)
def test_an_id_that_the_file_does_not_define_is_said_to_be_so(target: str, said: str) -> None:
    found = undefined(target, ["C", "C.test_x"])
    assert said in found
    assert bool(found) is bool(said)


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
