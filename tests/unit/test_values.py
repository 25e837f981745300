from __future__ import annotations

import msgspec
import pytest

from presubmit import values
from presubmit.values import (
    Base,
    BaseResults,
    Build,
    Case,
    CaseOutcome,
    Change,
    ChangedFile,
    Counts,
    Definition,
    Docstrings,
    Doctests,
    Failure,
    FailureClass,
    FileStatus,
    Finding,
    LintCommand,
    Mode,
    Outcome,
    Plan,
    PlanStep,
    Reproduces,
    Requirements,
    Rerun,
    Role,
    State,
    StepResult,
    Syntax,
    Target,
    TargetKind,
    Tier,
    Verdict,
    Work,
    builtins_of,
    counts_of,
    decode,
    encode,
)

# A name that is not UTF-8, as os.fsdecode gives it, and one that is not ASCII.
ODD = "tests/\udcff_ö.py"

DEFINITION = Definition(
    path=ODD,
    qualname="A.b",
    kind="method",
    public=True,
    first_line=1,
    last_line=2,
    docstring=False,
    digest="d",
)

WORKS: list[Work] = [
    Syntax(files=(ODD,), floor="3.9"),
    LintCommand(command=("ruff",), tool="ruff", files=(ODD,)),
    Build(mode="editable", requirements=(Requirements(origin="o", lines=("a",)),)),
    values.Tests(command=("pytest",), mode=Mode.SCOPED, files=(ODD,), ids=(f"{ODD}::test_x[ö]",)),
    Docstrings(definitions=(DEFINITION,), convention="numpy", binding=True),
    Doctests(command=("pytest",), files=(ODD,)),
]


def step(work: Work) -> PlanStep:
    return PlanStep(id="x.1", role=Role.TESTS, title="x", work=work, origin="o", why="w")


@pytest.mark.parametrize("work", WORKS, ids=lambda work: type(work).__name__)
def test_a_plan_comes_back_as_it_was(work: Work) -> None:
    plan = Plan(tier=Tier.FULL, steps=(step(work),), left_out=("x",), budget_cut=(ODD,))
    assert plan == decode(encode(plan), Plan)


def test_a_step_result_comes_back_as_it_was() -> None:
    case = Case(id=f"{ODD}::t", outcome=CaseOutcome.XFAILED, message="\x1b[31m\n\udc80")
    finding = Finding(kind="lint", subject=ODD, tool="ruff", message="m", line=3)
    result = StepResult(
        id="tests.1",
        role=Role.TESTS,
        outcome=Outcome.FAILED,
        cases=(case,),
        findings=(finding,),
        reruns=(Rerun(id="a", alone="passed"),),
    )
    assert result == decode(encode(result), StepResult)


def test_a_change_comes_back_as_it_was() -> None:
    change = Change(
        top="/t",
        common_dir="/t/.git",
        branch=None,
        target=Target(kind=TargetKind.COMMIT, commit="c", tree="t", snapshot="s"),
        base=Base(ref="r", commit="b", tree="u", how="h"),
        files=(ChangedFile(path=ODD, status=FileStatus.RENAMED, old_path="b.py"),),
    )
    assert change == decode(encode(change), Change)


def test_base_results_come_back_as_they_were() -> None:
    lint = StepResult(id="lint.1", role=Role.LINT, outcome=Outcome.PASSED)
    base = BaseResults(
        lint={"lint.1": lint}, reproduces=(Reproduces(test="t", fails_without_change=None),)
    )
    assert base == decode(encode(base), BaseResults)


def test_a_verdict_comes_back_as_it_was() -> None:
    failure = Failure(
        kind="test", subject="t", step="s", label=FailureClass.ON_BASE, base="failed"
    )
    verdict = Verdict(state=State.FAILED, exit_code=1, failures=(failure,))
    assert verdict == decode(encode(verdict), Verdict)


def test_json_is_ascii_whatever_the_names_hold() -> None:
    assert encode(step(WORKS[0])).isascii()


def test_an_unknown_key_in_json_is_an_error() -> None:
    with pytest.raises(msgspec.ValidationError):
        decode(b'{"passed": 1, "extra": 2}', Counts)


@pytest.mark.parametrize("data", [b"", b"{", b"\xff", b"[]", b"null"])
def test_json_that_is_no_value_is_a_value_error(data: bytes) -> None:
    with pytest.raises(ValueError):
        decode(data, Counts)


def test_values_are_frozen() -> None:
    with pytest.raises(AttributeError):
        Counts().passed = 1  # type: ignore[misc]  # that is the point


def test_values_take_keywords_only() -> None:
    with pytest.raises(TypeError):
        Counts(1)  # type: ignore[call-arg]  # that is the point


def test_a_changed_file_touches_its_path() -> None:
    assert ChangedFile(path="a.py", status=FileStatus.MODIFIED).paths == ("a.py",)


def test_a_renamed_file_touches_both_its_paths() -> None:
    file = ChangedFile(path="b.py", status=FileStatus.RENAMED, old_path="a.py")
    assert file.paths == ("a.py", "b.py")


def test_the_class_of_a_failure_is_called_class_in_json() -> None:
    failure = Failure(kind="test", subject="t", step="s", label=FailureClass.NEW, base="absent")
    assert builtins_of(failure)["class"] == "new"


def test_an_expected_failure_counts_as_skipped() -> None:
    cases = tuple(Case(id="t", outcome=outcome) for outcome in CaseOutcome)
    assert Counts(passed=1, failed=1, errors=1, skipped=2) == counts_of(cases)
