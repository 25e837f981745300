from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from presubmit import values
from presubmit.replay.base import (
    Failing,
    Question,
    _reproduces,
    make_question,
    on_base_files,
)
from presubmit.values import (
    Base,
    Build,
    Case,
    CaseOutcome,
    Change,
    ChangedFile,
    Definition,
    Docstrings,
    FileStatus,
    Finding,
    LintCommand,
    Mode,
    Outcome,
    Plan,
    PlanStep,
    Reproduces,
    Rerun,
    Role,
    StepResult,
    Syntax,
    Target,
    TargetKind,
    Tier,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

NOTHING = Question(failing=(), touched=(), findings=(), build=False)


def step(name: str, role: Role, work: values.Work) -> PlanStep:
    return PlanStep(id=name, role=role, title=name, work=work, origin="o", why="w")


TESTS = step("tests.1", Role.TESTS, values.Tests(command=("pytest",), mode=Mode.ALL))
LINT = step("lint.1", Role.LINT, LintCommand(command=("r",), tool="ruff", files=("a.py",)))
BUILD = step("build.1", Role.BUILD, Build(mode="editable"))
PURE = step(
    "tests.pure",
    Role.TESTS,
    values.Tests(command=("pytest",), mode=Mode.ALL, env=("A=1", "X_PURE=1"), pure=("x.slow",)),
)
PLAN = Plan(tier=Tier.STANDARD, steps=(LINT, BUILD, TESTS, PURE))
FINDING = Finding(kind="lint", subject="s", tool="t", message="m")


def failing(name: str, outcome: CaseOutcome = CaseOutcome.FAILED) -> Case:
    return Case(id=name, outcome=outcome)


def passing(name: str) -> Case:
    return Case(id=name, outcome=CaseOutcome.PASSED)


def ran(*cases: Case, **given: Any) -> StepResult:
    return StepResult(id="tests.1", role=Role.TESTS, outcome=Outcome.FAILED, cases=cases, **given)


def ask(
    *results: StepResult, touched: tuple[str, ...] = (), code_changed: bool = True
) -> Question:
    return make_question(PLAN, results, frozenset(touched), code_changed=code_changed)


# --- what is asked --------------------------------------------------------------------------------------------------


def test_a_green_run_asks_nothing() -> None:
    question = ask(ran(passing("t.py::a")))
    assert question == NOTHING
    assert question.empty


def test_failing_tests_are_asked_about_each_once() -> None:
    error = failing("t.py::b", CaseOutcome.ERROR)
    question = ask(ran(failing("t.py::a"), error), ran(failing("t.py::a")))
    assert question.failing == ("t.py::a", "t.py::b")
    assert not question.empty


def test_a_flake_is_not_asked_about() -> None:
    flake = Rerun(id="t.py::a", alone="passed", company="passed")
    assert ask(ran(failing("t.py::a"), reruns=(flake,))).failing == ()


@pytest.mark.parametrize(
    ("alone", "company"), [("passed", "failed"), ("passed", ""), ("failed", ""), ("error", "")]
)
def test_a_test_that_is_no_flake_is_asked_about(alone: str, company: str) -> None:
    again = Rerun(id="t.py::a", alone=alone, company=company)
    assert ask(ran(failing("t.py::a"), reruns=(again,))).failing == ("t.py::a",)


def test_a_second_run_is_asked_about_apart_with_its_variable() -> None:
    usual = ran(passing("t.py::a"), failing("t.py::b"))
    again = ran(failing("t.py::a"), failing("t.py::b"))
    question = ask(usual, msgspec.structs.replace(again, id="tests.pure"), touched=("t.py::c",))
    assert question.failing == ("t.py::b",)
    assert question.twins == (
        Failing(step="tests.pure", tests=("t.py::a", "t.py::b"), variable="X_PURE=1"),
    )
    assert not question.empty


def test_not_more_tests_are_asked_about_than_a_command_bears() -> None:
    cases = (failing(f"t.py::test_{n}") for n in range(1000))
    assert len(ask(ran(*cases)).failing) == 400


def test_new_and_changed_tests_that_ran_are_asked_about() -> None:
    result = ran(passing("t.py::b[1]"), passing("t.py::b[2]"), passing("t.py::a"))
    question = ask(result, touched=("t.py::a", "t.py::b", "t.py::not_run"))
    assert question.touched == ("t.py::a", "t.py::b")


def test_new_tests_are_not_asked_about_where_only_tests_changed() -> None:
    question = ask(ran(passing("t.py::a")), touched=("t.py::a",), code_changed=False)
    assert question.empty


def test_a_step_with_findings_is_asked_about() -> None:
    result = StepResult(id="lint.1", role=Role.LINT, outcome=Outcome.FAILED, findings=(FINDING,))
    assert ask(result).findings == (LINT,)


@pytest.mark.parametrize(
    "given",
    [
        {"outcome": Outcome.PASSED, "advice": (FINDING,)},
        {"outcome": Outcome.ERROR, "findings": (FINDING,)},
        {"outcome": Outcome.FAILED},
    ],
)
def test_a_step_without_findings_of_its_own_is_not_asked_about(given: dict[str, Any]) -> None:
    assert ask(StepResult(id="lint.1", role=Role.LINT, **given)).findings == ()


@pytest.mark.parametrize(
    ("outcome", "asked"), [(Outcome.FAILED, True), (Outcome.ERROR, False), (Outcome.PASSED, False)]
)
def test_a_build_that_failed_is_asked_about(*, outcome: Outcome, asked: bool) -> None:
    result = StepResult(id="build.1", role=Role.BUILD, outcome=outcome, findings=(FINDING,))
    assert (ask(result).build, ask(result).findings) == (asked, ())


# --- the base's version of the files --------------------------------------------------------------------------------

CHANGE = Change(
    top="/t",
    common_dir="/t/.git",
    branch=None,
    target=Target(kind=TargetKind.WORKTREE, commit=None, tree="t", snapshot="s"),
    base=Base(ref="main", commit="b", tree="u", how="test"),
    files=(
        ChangedFile(path="new.py", status=FileStatus.ADDED),
        ChangedFile(path="now.py", status=FileStatus.RENAMED, old_path="then.py"),
        ChangedFile(path="same.py", status=FileStatus.MODIFIED),
    ),
)


def definition(path: str) -> Definition:
    return Definition(
        path=path,
        qualname="f",
        kind="function",
        public=True,
        first_line=1,
        last_line=2,
        docstring=True,
        digest="d",
    )


def definitions(paths: Sequence[str]) -> tuple[Definition, ...]:
    return tuple(definition(path) for path in paths)


@pytest.mark.parametrize(
    "work",
    [
        Syntax(files=("new.py", "now.py", "same.py"), floor="3.9"),
        LintCommand(command=("r",), tool="ruff", files=("new.py", "now.py", "same.py")),
    ],
)
def test_tools_run_on_the_bases_files_under_their_old_names(work: Syntax | LintCommand) -> None:
    asked = on_base_files(step("lint.1", Role.LINT, work), CHANGE, definitions)
    assert asked is not None
    assert isinstance(asked.work, type(work))
    assert asked.work.files == ("then.py", "same.py")


def test_docstrings_are_checked_on_the_bases_definitions() -> None:
    work = Docstrings(
        definitions=definitions(("same.py", "new.py", "now.py")), convention="numpy", binding=True
    )
    asked = on_base_files(step("docs.1", Role.DOCS, work), CHANGE, definitions)
    assert asked is not None
    assert isinstance(asked.work, Docstrings)
    assert asked.work.definitions == definitions(("then.py", "same.py"))
    assert (asked.work.convention, asked.work.binding) == ("numpy", True)


@pytest.mark.parametrize(
    "work",
    [
        Syntax(files=("new.py",), floor=""),
        Docstrings(definitions=definitions(("new.py",)), convention="", binding=True),
        values.Tests(command=("pytest",), mode=Mode.ALL),
    ],
)
def test_where_the_base_has_none_of_the_files_it_is_not_asked(work: values.Work) -> None:
    assert on_base_files(step("x.1", Role.LINT, work), CHANGE, definitions) is None


# --- without the change ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (ran(failing("t.py::a")), True),
        (ran(passing("t.py::a"), failing("t.py::b")), False),
        (ran(passing("t.py::a[1]"), failing("t.py::a[2]")), True),
    ],
)
def test_a_test_that_fails_without_the_change_reproduces(
    *, result: StepResult, expected: bool
) -> None:
    assert _reproduces("t.py::a", result) == Reproduces(
        test="t.py::a", fails_without_change=expected
    )


def test_a_test_whose_file_cannot_be_imported_without_the_change_reproduces() -> None:
    case = Case(id="t.py", outcome=CaseOutcome.ERROR, phase="collect", message="No module x")
    found = _reproduces("t.py::a", ran(case))
    assert (found.fails_without_change, found.reason) == (
        True,
        "its file cannot be imported without the change: No module x",
    )


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        (ran(failing("t.py::b")), "it gave no result there"),
        (
            StepResult(id="x", role=Role.TESTS, outcome=Outcome.ERROR, reason="no memory"),
            "no memory",
        ),
    ],
)
def test_a_test_without_a_result_says_nothing(result: StepResult, reason: str) -> None:
    assert _reproduces("t.py::a", result) == Reproduces(
        test="t.py::a", fails_without_change=None, reason=reason
    )
