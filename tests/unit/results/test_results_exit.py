from __future__ import annotations

from typing import Any

import msgspec
import pytest

from presubmit.results.junit import JUnitReport
from presubmit.results.pytest_exit import Judged, judge_pytest
from presubmit.results.record import Record
from presubmit.values import Case, CaseOutcome, Counts, Outcome

GOOD = Case(id="t.py::ok", outcome=CaseOutcome.PASSED)
SKIP = Case(id="t.py::skip", outcome=CaseOutcome.SKIPPED)
BAD = Case(id="t.py::bad", outcome=CaseOutcome.FAILED, phase="call")
COLLECT = Case(id="t.py", outcome=CaseOutcome.ERROR, phase="collect")

MISSING = JUnitReport(missing=True, problems=("JUnit file: missing",))
BROKEN = JUnitReport(problems=("JUnit file: empty",))
NO_RECORD = Record(problems=("record: missing",))


def recorded(*cases: Case, exit: int | None = 0, **more: Any) -> Record:  # noqa: A002
    base = Record(
        readable=True,
        ended=exit is not None,
        exit=exit,
        sessions=1,
        cases=cases,
        root="/src",
        path_inside="/out/record.jsonl",
        xmlpath="/out/junit.xml",
    )
    return msgspec.structs.replace(base, **more)


def junit(*cases: Case) -> JUnitReport:
    return JUnitReport(readable=True, cases=cases)


def judge(code: int | None, j: JUnitReport, r: Record, **more: Any) -> Judged:
    return judge_pytest(exit_code=code, junit=j, record=r, **more)


@pytest.mark.parametrize(
    ("report", "record"),
    [
        (junit(GOOD), recorded(GOOD)),
        (junit(SKIP), recorded(SKIP)),
        (junit(GOOD), NO_RECORD),
        (MISSING, recorded(GOOD, xmlpath="")),
        (MISSING, recorded(GOOD, xmlpath="/src/their.xml")),
    ],
)
def test_exit_0_with_tests_that_ran_has_passed(report: JUnitReport, record: Record) -> None:
    judged = judge(0, report, record)
    assert (judged.outcome, judged.reason) == (Outcome.PASSED, "")
    assert judged.cases


@pytest.mark.parametrize(
    ("report", "record", "reason"),
    [
        (junit(), recorded(), "no tests were run though tests were chosen"),
        (junit(), NO_RECORD, "no tests were run though tests were chosen"),
        (MISSING, NO_RECORD, "JUnit file: missing"),
        (BROKEN, NO_RECORD, "JUnit file: empty"),
        (MISSING, recorded(GOOD), "JUnit file: missing"),
        (BROKEN, recorded(GOOD, xmlpath=""), "JUnit file: empty"),
        (
            junit(GOOD),
            recorded(GOOD, exit=None, unfinished=("t.py::x",)),
            "pytest ended before its session did while t.py::x was running",
        ),
    ],
)
def test_exit_0_without_proof_never_passes(
    report: JUnitReport, record: Record, reason: str
) -> None:
    judged = judge(0, report, record, chosen=True)
    assert (judged.outcome, judged.reason) == (Outcome.ERROR, reason)


def test_exit_1_is_the_contributors_news() -> None:
    judged = judge(1, junit(GOOD, BAD), recorded(GOOD, BAD, exit=1))
    assert (judged.outcome, judged.reason) == (Outcome.FAILED, "1 test failed")
    assert judged.counts == Counts(passed=1, failed=1)
    assert judge(1, junit(BAD), NO_RECORD).cases == (BAD,)


def test_exit_1_without_a_failing_test_says_the_last_line() -> None:
    judged = judge(1, junit(GOOD), recorded(GOOD, exit=1), tail="x\nERROR: coverage too low\n")
    assert judged.outcome is Outcome.FAILED
    assert judged.reason == "pytest failed, though no test did: ERROR: coverage too low"


def test_an_error_of_collection_is_the_contributors_news() -> None:
    judged = judge(2, junit(COLLECT), recorded(COLLECT, exit=2))
    assert (judged.outcome, judged.reason) == (Outcome.FAILED, "1 files could not be collected")
    assert judged.cases == (COLLECT,)
    assert judge(2, junit(COLLECT), NO_RECORD).outcome is Outcome.FAILED


def test_an_interruption_is_not() -> None:
    judged = judge(2, junit(GOOD), recorded(GOOD, exit=2), tail="!!! KeyboardInterrupt !!!")
    assert judged.outcome is Outcome.ERROR
    assert judged.reason == "pytest was interrupted: !!! KeyboardInterrupt !!!"
    stopped = judge(2, junit(BAD), recorded(BAD, exit=2))
    assert stopped.outcome is Outcome.FAILED


@pytest.mark.parametrize(
    ("code", "tail", "reason"),
    [
        (3, "INTERNALERROR> x", "pytest had an internal error: INTERNALERROR> x"),
        (4, "ERROR: no such option", "pytest could not use its arguments: ERROR: no such option"),
        (
            4,
            "ERROR: usage: pytest [options]\npytest: error: unrecognized arguments: --x\n  inifile: None\n",
            "pytest could not use its arguments: unrecognized arguments: --x",
        ),
        (
            4,
            'ImportError: Error importing plugin "presubmit_pytest_plugin": no module',
            "presubmit's own pytest plugin could not be imported",
        ),
        (5, "", "no tests were collected"),
        (127, "pytest: not found", "the test command ended with 127: pytest: not found"),
    ],
)
def test_the_other_exits_are_errors(code: int, tail: str, reason: str) -> None:
    judged = judge(code, MISSING, NO_RECORD, tail=tail)
    assert (judged.outcome, judged.reason) == (Outcome.ERROR, reason)


def test_a_conftest_that_cannot_be_imported_is_the_contributors_news() -> None:
    tail = (
        "ImportError while loading conftest '/src/tests/conftest.py'.\n"
        "tests/conftest.py:1: in <module>\nE   ModuleNotFoundError: No module named 'x'\n"
    )
    judged = judge(4, MISSING, recorded(exit=None), tail=tail)
    assert judged.outcome is Outcome.FAILED
    (case,) = judged.cases
    assert (case.id, case.phase) == ("tests/conftest.py", "collect")
    assert (case.exception, case.message) == ("ModuleNotFoundError", "No module named 'x'")


@pytest.mark.parametrize("code", [-11, 139])
def test_a_crash_in_a_test_is_the_contributors_news(code: int) -> None:
    record = recorded(GOOD, exit=None, unfinished=("tests/test_x.py::test_y",))
    judged = judge(code, MISSING, record)
    assert judged.outcome is Outcome.FAILED
    assert judged.reason == "crashed: SIGSEGV in tests/test_x.py::test_y"
    assert judged.cases[-1].id == "tests/test_x.py::test_y"
    assert judged.counts == Counts(passed=1, failed=1)


def test_a_crash_is_named_by_faulthandler_where_there_is_no_record() -> None:
    tail = (
        "Fatal Python error: Segmentation fault\n\nCurrent thread 0x1 (most recent call first):\n"
        '  File "/src/pkg/a.py", line 3 in f\n'
        '  File "/src/tests/test_x.py", line 9 in test_y\n'
        '  File "/lib/_pytest/python.py", line 1 in pytest_pyfunc_call\n'
    )
    judged = judge(139, MISSING, Record(root="/src"), tail=tail)
    assert judged.reason == "crashed: SIGSEGV in tests/test_x.py::test_y"


@pytest.mark.parametrize(
    ("code", "unfinished", "reason"),
    [
        (139, (), "ended by SIGSEGV"),
        (137, ("t.py::x",), "ended by SIGKILL while t.py::x was running"),
        (-15, (), "ended by SIGTERM"),
    ],
)
def test_a_crash_outside_tests_or_from_outside_is_an_error(
    code: int, unfinished: tuple[str, ...], reason: str
) -> None:
    judged = judge(code, MISSING, recorded(exit=None, unfinished=unfinished))
    assert (judged.outcome, judged.reason) == (Outcome.ERROR, reason)


def test_trouble_is_an_error_that_keeps_what_finished() -> None:
    record = recorded(GOOD, BAD, exit=None, unfinished=("t.py::slow",))
    judged = judge(None, MISSING, record, trouble="timeout after 5 s")
    assert judged.outcome is Outcome.ERROR
    assert judged.reason == "timeout after 5 s while t.py::slow was running"
    assert judged.cases == (GOOD, BAD)
    assert judge(None, MISSING, NO_RECORD).outcome is Outcome.ERROR


def test_what_pytest_itself_said_outranks_the_command_around_it() -> None:
    assert judge(2, junit(BAD), recorded(BAD, exit=1)).outcome is Outcome.FAILED  # make
    hidden = judge(0, junit(BAD), recorded(BAD, exit=1))  # pytest || true
    assert hidden.reason == "1 test failed, though the command ended with 0"
    after = judge(9, junit(GOOD), recorded(GOOD, exit=0))  # pytest; something else
    assert after.outcome is Outcome.ERROR
    assert judge(0, junit(BAD), recorded(BAD, exit=0)).outcome is Outcome.FAILED
    custom = judge(77, junit(BAD), recorded(BAD, exit=77))
    assert custom.outcome is Outcome.FAILED


def test_disagreement_and_what_is_missing_are_said() -> None:
    record = recorded(GOOD, missing=("a", "b", "c", "d"), faults=("w: e",))
    notes = judge(
        0, junit(GOOD, GOOD.__class__(id="t.py::more", outcome=GOOD.outcome)), record
    ).notes
    assert notes == (
        "presubmit's pytest plugin had an error: w: e",
        "4 chosen were not there to be run: a, b, c, …",
        (
            "record and JUnit file disagree: 1 passed, 0 failed, 0 errors, 0 skipped;"
            " 2 passed, 0 failed, 0 errors, 0 skipped"
        ),
    )
