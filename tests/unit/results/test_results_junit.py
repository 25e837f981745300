from __future__ import annotations

import os
from pathlib import Path

import pytest

from presubmit.results.junit import JUnitReport, clean, read_junit, write_junit
from presubmit.values import Case, CaseOutcome, Counts


def read(tmp_path: Path, text: str | bytes) -> JUnitReport:
    path = tmp_path / "junit.xml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_junit(path)


def suite(*cases: str) -> str:
    return f"<testsuites><testsuite name='pytest'>{''.join(cases)}</testsuite></testsuites>"


GREEN = "<testcase classname='tests.test_a' name='test_x' time='0.5'/>"


def test_a_plain_file_is_read(tmp_path: Path) -> None:
    report = read(tmp_path, suite(GREEN))
    assert report.readable
    assert report.cases == (
        Case(id="tests.test_a::test_x", outcome=CaseOutcome.PASSED, seconds=0.5),
    )
    assert report.problems == ()


@pytest.mark.parametrize(
    ("element", "outcome", "phase"),
    [
        ("<failure message='assert 0'>text</failure>", CaseOutcome.FAILED, "call"),
        ("<error message='failed on setup with \"X\"'/>", CaseOutcome.ERROR, "setup"),
        ("<error message='failed on teardown with \"X\"'/>", CaseOutcome.ERROR, "teardown"),
        ("<error message='collection failure'/>", CaseOutcome.ERROR, "collect"),
        ("<skipped type='pytest.skip' message='why'/>", CaseOutcome.SKIPPED, ""),
        ("<skipped type='pytest.xfail' message='why'/>", CaseOutcome.XFAILED, ""),
        ("<system-out>said</system-out>", CaseOutcome.PASSED, ""),
        ("<skipped/><failure message='x'/>", CaseOutcome.FAILED, "call"),
    ],
)
def test_each_outcome_is_told(
    tmp_path: Path, element: str, outcome: CaseOutcome, phase: str
) -> None:
    report = read(tmp_path, suite(f"<testcase name='t'>{element}</testcase>"))
    assert [(case.outcome, case.phase) for case in report.cases] == [(outcome, phase)]


def test_bare_and_nested_suites_are_read(tmp_path: Path) -> None:
    assert len(read(tmp_path, f"<testsuite>{GREEN}</testsuite>").cases) == 1
    nested = f"<testsuite name='o'><testsuite name='i'>{GREEN}</testsuite>{GREEN}</testsuite>"
    assert len(read(tmp_path, f"<testsuites>{nested}</testsuites>").cases) == 1
    two = f"<testsuite name='o'>{GREEN}</testsuite>" * 2
    assert len(read(tmp_path, f"<testsuites>{two}</testsuites>").cases) == 2


@pytest.mark.parametrize(
    ("time", "seconds"),
    [("1,234.5", 1234.5), ("", 0.0), ("soon", 0.0), ("nan", 0.0), ("-1", 0.0), ("inf", 0.0)],
)
def test_odd_times_are_read(tmp_path: Path, time: str, seconds: float) -> None:
    report = read(tmp_path, suite(f"<testcase name='t' time='{time}'/>"))
    assert report.cases[0].seconds == seconds
    assert read(tmp_path, suite("<testcase name='t'/>")).cases[0].seconds == 0.0


def test_several_records_of_a_test_are_one_case(tmp_path: Path) -> None:
    retried = "<testcase classname='c' name='t'/>"
    failed = "<testcase classname='c' name='t'><failure message='m'/></testcase>"
    torn = "<testcase classname='c' name='t'><error message='failed on teardown'/></testcase>"
    assert read(tmp_path, suite(retried, retried, failed)).counts == Counts(failed=1)
    assert read(tmp_path, suite(retried, retried)).counts == Counts(passed=1)
    assert read(tmp_path, suite(failed, torn)).counts == Counts(failed=1)
    report = read(tmp_path, suite(retried, torn))
    assert report.counts == Counts(errors=1)
    assert report.problems == (
        "1 tests have several records (retried, or an error after the call)",
    )


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (b"\x1b[31m", "\\x1b[31m"),
        (b"&#27;[31m", "\\x1b[31m"),
        (b"&#x1B;[31m", "\\x1b[31m"),
        (b"\x00", "\\x00"),
        (b"\xff", "\\xff"),
        (b"&#xD800;", "\\ud800"),
        (b"&#99999999;", "\ufffd"),
        (b"&#65;&amp;", "A&"),
        ("\ufffe".encode(), "\\ufffe"),
    ],
)
def test_control_characters_are_escaped(tmp_path: Path, raw: bytes, shown: str) -> None:
    text = b"<testsuite><testcase name='t'><failure message='m'>" + raw
    report = read(tmp_path, text + b"</failure></testcase></testsuite>")
    assert report.cases[0].text == shown


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "<testsuites><testsuite><testcase name='t'",
        "<html/>",
        "no xml",
        "<a>" * 100_000,
        "<!DOCTYPE x [<!ENTITY a 'b'>]><testsuite/>",
        "<?xml version='1.0'?><!-- c --><!DOCTYPE x SYSTEM 'file:///etc/passwd'><testsuite/>",
        "<testsuite><testcase name='&undefined;'/></testsuite>",
    ],
)
def test_a_broken_file_is_a_problem_and_no_exception(tmp_path: Path, text: str) -> None:
    report = read(tmp_path, text)
    assert not report.readable
    assert not report.missing
    assert report.cases == ()
    assert report.problems


def test_a_doctype_in_a_message_is_no_doctype(tmp_path: Path) -> None:
    text = "<testsuite><testcase name='t'><failure><![CDATA[<!DOCTYPE html>]]></failure></testcase></testsuite>"
    assert read(tmp_path, text).cases[0].text == "<!DOCTYPE html>"


def test_the_declared_encoding_does_not_matter(tmp_path: Path) -> None:
    text = f"<?xml version='1.0' encoding='nonsense'?>{suite(GREEN)}"
    assert read(tmp_path, text).readable
    assert read(tmp_path, b"\xef\xbb\xbf" + text.encode()).readable
    assert read(tmp_path, text.encode("utf-16")).readable


def test_only_a_plain_file_of_bounded_size_is_read(tmp_path: Path) -> None:
    good = tmp_path / "good.xml"
    good.write_text(suite(GREEN))
    (tmp_path / "link.xml").symlink_to(good)
    os.mkfifo(tmp_path / "fifo.xml")
    (tmp_path / "folder.xml").mkdir()
    for name in ("link.xml", "fifo.xml", "folder.xml"):
        assert not read_junit(tmp_path / name).readable
    assert not read_junit(good, max_bytes=10).readable
    assert read_junit(tmp_path / "gone.xml").missing
    assert not read_junit(Path("/dev/zero")).readable


def test_a_written_file_is_read_back(tmp_path: Path) -> None:
    cases = (
        Case(id="tests/test_a.py::TestC::test_x[a::b/c.py]", outcome=CaseOutcome.PASSED),
        Case(
            id="tests/test_a.py::test_f",
            outcome=CaseOutcome.FAILED,
            phase="call",
            exception="builtins.KeyError",
            message="\x1b[31m'k'",
            text="]]> \x00 <b>&",
            file="tests/test_a.py",
        ),
        Case(id="t::e", outcome=CaseOutcome.ERROR, phase="call"),
        Case(id="t::s", outcome=CaseOutcome.SKIPPED, message="why"),
        Case(id="t::x", outcome=CaseOutcome.XFAILED),
    )
    path = tmp_path / "deep" / "junit.xml"
    write_junit(path, [("tests.1\x07", cases), ("tests.2", cases[:1])])
    report = read_junit(path)
    assert report.counts == Counts(passed=2, failed=1, errors=1, skipped=2)
    assert report.cases[0].id == "tests.test_a.TestC::test_x[a::b/c.py]"
    failed = report.cases[1]
    assert failed.message == "\\x1b[31m'k'"
    assert failed.text == "]]> \\x00 <b>&"
    assert failed.exception == "builtins.KeyError"
    assert failed.file == "tests/test_a.py"


def test_clean_keeps_what_xml_can_hold() -> None:
    assert clean("tab\t ä 😀 &#10; &lt;") == "tab\t ä 😀 &#10; &lt;"
