"""SARIF of a review and of lint findings, by its structure."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from presubmit.report import sarif
from presubmit.report.sarif import sarif_of
from presubmit.review.values import Remark, Review, Severity, Unchecked
from presubmit.values import Finding

if TYPE_CHECKING:
    import pytest

REVIEW = Review(
    tree="d" * 40,
    base="b" * 40,
    rules=("pins",),
    remarks=(
        Remark(
            code="pins.lost-pin",
            severity=Severity.WARNING,
            text="numpy floats",
            why="tomorrow",
            mend="pin it",
            file="a b/requirements.txt",
            line=3,
            subject="numpy",
        ),
        Remark(code="files.owners", severity=Severity.NOTE, text="@all \x1b[31m"),
    ),
    unchecked=(Unchecked(rule="api", what="pkg", why="it cannot be parsed"),),
)
LINT = Finding(
    kind="lint",
    subject="a.py: F401 x",
    tool="ruff",
    message="x is unused",
    file="a.py",
    line=1,
    code="F401",
)


def test_a_review_is_one_run_with_its_rules_and_what_was_not_checked() -> None:
    log = sarif_of(REVIEW)
    [run] = log["runs"]
    assert log["version"] == "2.1.0"
    assert run["tool"]["driver"]["rules"] == [{"id": "files.owners"}, {"id": "pins.lost-pin"}]
    first, second = run["results"]
    assert (first["ruleId"], first["ruleIndex"], first["level"]) == ("pins.lost-pin", 1, "warning")
    assert first["locations"] == [
        {
            "physicalLocation": {
                "artifactLocation": {"uri": "a%20b/requirements.txt", "uriBaseId": "%SRCROOT%"},
                "region": {"startLine": 3},
            }
        }
    ]
    assert "locations" not in second
    assert "\x1b" not in json.dumps(log)
    [said] = run["invocations"][0]["toolExecutionNotifications"]
    assert said["message"]["text"] == "not checked: api: pkg: it cannot be parsed"


def test_a_fingerprint_stays_when_lines_move() -> None:
    moved = Remark(
        code="pins.lost-pin",
        severity=Severity.NOTE,
        text="other",
        file="a b/requirements.txt",
        line=9,
        subject="numpy",
    )
    before = sarif_of(REVIEW)["runs"][0]["results"][0]["partialFingerprints"]
    again = Review(tree="1", base="2", rules=(), remarks=(moved,))
    assert sarif_of(again)["runs"][0]["results"][0]["partialFingerprints"] == before


def test_each_tool_has_a_run_of_its_own() -> None:
    runs = sarif_of(REVIEW, [LINT])["runs"]
    assert [run["tool"]["driver"]["name"] for run in runs] == ["presubmit", "ruff"]
    assert runs[1]["results"][0]["ruleId"] == "F401"


def test_the_limits_of_code_scanning_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sarif, "MOST_RESULTS", 1)
    tools = [
        Finding(kind="lint", subject="s", tool=f"tool{n}", message="m", file="a.py")
        for n in range(30)
    ]
    log = sarif_of(REVIEW, tools)
    assert len(log["runs"]) == 20
    assert len(log["runs"][0]["results"]) == 1
