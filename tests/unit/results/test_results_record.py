from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from presubmit.results.record import Record, parse_record, read_record
from presubmit.values import Case, CaseOutcome, Counts

if TYPE_CHECKING:
    from pathlib import Path

SESSION = {
    "event": "session",
    "pytest": "9",
    "python": "3.11",
    "rootdir": "/src",
    "narrowed": True,
}


def lines(*events: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(event).encode() + b"\n" for event in events)


def end(code: int = 0, **more: Any) -> dict[str, Any]:
    return {"event": "end", "exit": code, "selected": 1, "deselected": 2} | more


def start(name: str = "t.py::x") -> dict[str, Any]:
    return {"event": "start", "id": name}


def finish(name: str = "t.py::x") -> dict[str, Any]:
    return {"event": "finish", "id": name}


def phase(outcome: str, when: str = "call", name: str = "t.py::x", **more: Any) -> dict[str, Any]:
    return {"event": "phase", "id": name, "when": when, "outcome": outcome, "seconds": 0.5} | more


def case(*events: dict[str, Any]) -> Case:
    (found,) = parse_record(lines(SESSION, start(), *events, finish(), end())).cases
    return found


def test_a_whole_session_is_read() -> None:
    modules = {"a": "/x/a.so", "b": None}
    record = parse_record(
        lines(SESSION, start(), phase("passed"), finish(), end(modules=modules, missing=["m"]))
    )
    assert record == Record(
        readable=True,
        ended=True,
        narrowed=True,
        cases=(Case(id="t.py::x", outcome=CaseOutcome.PASSED, seconds=0.5),),
        exit=0,
        sessions=1,
        selected=1,
        deselected=2,
        pytest="9",
        python="3.11",
        rootdir="/src",
        modules=modules,
        missing=("m",),
    )


@pytest.mark.parametrize(
    ("events", "outcome", "where"),
    [
        ([phase("passed")], CaseOutcome.PASSED, ""),
        ([phase("failed")], CaseOutcome.FAILED, "call"),
        ([phase("failed", "setup")], CaseOutcome.ERROR, "setup"),
        ([phase("passed"), phase("failed", "teardown")], CaseOutcome.ERROR, "teardown"),
        ([phase("failed"), phase("failed", "teardown")], CaseOutcome.FAILED, "call"),
        ([phase("skipped", "setup")], CaseOutcome.SKIPPED, ""),
        ([phase("skipped", wasxfail="r")], CaseOutcome.XFAILED, ""),
        ([phase("passed", wasxfail="r")], CaseOutcome.PASSED, ""),
        ([phase("rerun"), phase("passed")], CaseOutcome.PASSED, ""),
        ([phase("rerun"), phase("rerun"), phase("failed")], CaseOutcome.FAILED, "call"),
        ([phase("failed", subtest=True), phase("passed")], CaseOutcome.FAILED, "call"),
        ([phase("skipped", subtest=True), phase("passed")], CaseOutcome.PASSED, ""),
        ([phase("failed", "???")], CaseOutcome.FAILED, "call"),
        ([phase("nonsense")], CaseOutcome.FAILED, "call"),
    ],
)
def test_the_phases_of_a_test_are_one_case(
    events: list[dict[str, Any]], outcome: CaseOutcome, where: str
) -> None:
    found = case(*events)
    assert (found.outcome, found.phase) == (outcome, where)


def test_the_failures_facts_are_kept() -> None:
    found = case(
        phase(
            "failed",
            exception="builtins.KeyError",
            frame="pkg/a.py:f",
            line=3,
            file="pkg/a.py",
            message="'k'",
            text="x" * 30_000,
        )
    )
    assert (found.exception, found.frame, found.line) == ("builtins.KeyError", "pkg/a.py:f", 3)
    assert (found.file, found.message) == ("pkg/a.py", "'k'")
    assert len(found.text) <= 20_200


def test_a_test_that_never_finished_is_told() -> None:
    record = parse_record(
        lines(SESSION, start("a"), finish("a"), start("b"), phase("passed", name="b"))
    )
    assert record.unfinished == ("b",)
    assert not record.ended


def test_a_test_in_which_a_worker_died_is_no_candidate() -> None:
    record = parse_record(lines(SESSION, start(), phase("failed", "???"), end(1)))
    assert record.unfinished == ()
    assert record.counts == Counts(failed=1)


def test_errors_of_collection_are_cases() -> None:
    event = {"event": "collect-error", "id": "t.py", "exception": "builtins.NameError"}
    (found,) = parse_record(lines(SESSION, event, end(2))).cases
    assert (found.id, found.outcome, found.phase) == ("t.py", CaseOutcome.ERROR, "collect")


@pytest.mark.parametrize(
    ("codes", "worst"), [([0, 0], 0), ([0, 1], 1), ([1, 2], 2), ([5, 0], 5), ([1, 77], 77)]
)
def test_of_several_sessions_the_worst_exit_counts(codes: list[int], worst: int) -> None:
    events = [event for code in codes for event in (SESSION, end(code))]
    record = parse_record(lines(*events))
    assert (record.exit, record.ended, record.sessions) == (worst, True, 2)


def test_a_session_without_end_among_others_is_told() -> None:
    assert not parse_record(lines(SESSION, end(), SESSION)).ended


def test_junk_is_counted_and_survived() -> None:
    junk = b"\n".join(
        (
            *(b"\xff\xfe", b"[1]", b"{", b"{}", b"null", b"{'event': 1}", b"[" * 100_000),
            b'{"event": "start", "id": 7}',
            b'{"event": "phase", "id": "t", "seconds": "x", "line": true, "outcome": []}',
            b'{"event": "end", "exit": "x", "modules": [1], "missing": {"a": 1}}',
        )
    )
    record = parse_record(lines(SESSION) + junk)
    assert record.junk == 8
    assert record.exit is None
    assert record.problems == ("record: 8 lines could not be read",)


def test_the_plugins_own_errors_are_told() -> None:
    event = {"event": "plugin-error", "where": "w", "error": "E: x"}
    assert parse_record(lines(SESSION, event)).faults == ("w: E: x",)


def test_only_a_plain_file_is_read(tmp_path: Path) -> None:
    good = tmp_path / "good"
    good.write_bytes(lines(SESSION, end()))
    (tmp_path / "link").symlink_to(good)
    assert read_record(good).ended
    assert read_record(tmp_path / "link").problems == (
        "record: a symbolic link, which is not followed",
    )
    assert read_record(tmp_path / "gone").problems == ("record: missing",)
    assert not read_record(good, max_bytes=5).readable
