"""SARIF 2.1.0 of a review and of what lint tools found: one run a tool, within the limits of code scanning."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from presubmit import __version__
from presubmit.report.escape import for_terminal

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from presubmit.review.values import Remark, Review
    from presubmit.values import Finding

MOST_RUNS: Final = 20
MOST_RESULTS: Final = 25_000
_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"


def sarif_of(review: Review | None, findings: Iterable[Finding] = ()) -> dict[str, Any]:
    """Give a SARIF log; tools beyond the limit of runs are left out, and so are results beyond theirs."""
    runs = [] if review is None else [_of_review(review)]
    by_tool: dict[str, list[Finding]] = {}
    for finding in findings:
        by_tool.setdefault(finding.tool or "lint", []).append(finding)
    runs += [
        _run(tool, [_of_finding(f) for f in found]) for tool, found in sorted(by_tool.items())
    ]
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": runs[:MOST_RUNS]}


def _of_review(review: Review) -> dict[str, Any]:
    run = _run("presubmit", [_of_remark(one) for one in review.remarks])
    run["tool"]["driver"]["version"] = __version__
    said = [_told(f"{one.rule}: {one.what}: {one.why}") for one in review.unchecked]
    run["invocations"] = [
        {
            "executionSuccessful": True,
            "toolExecutionNotifications": [
                {"level": "warning", "message": {"text": f"not checked: {text}"}} for text in said
            ],
        }
    ]
    return run


def _run(tool: str, results: Sequence[dict[str, Any]]) -> dict[str, Any]:
    names = sorted({one["ruleId"] for one in results})
    return {
        "tool": {"driver": {"name": tool, "rules": [{"id": name} for name in names]}},
        "automationDetails": {"id": f"presubmit/{tool}/"},
        "results": [
            {**one, "ruleIndex": names.index(one["ruleId"])} for one in results[:MOST_RESULTS]
        ],
    }


def _of_remark(remark: Remark) -> dict[str, Any]:
    parts = (remark.text, remark.why, remark.mend)
    return _result(
        remark.code,
        str(remark.severity),
        ". ".join(part for part in parts if part),
        remark.file,
        remark.line,
        remark.subject,
    )


def _of_finding(finding: Finding) -> dict[str, Any]:
    return _result(
        finding.code or finding.tool or "lint",
        "warning",
        finding.message or finding.subject,
        finding.file,
        finding.line,
        finding.subject,
    )


def _result(
    rule: str, level: str, text: str, file: str, line: int | None, subject: str
) -> dict[str, Any]:
    key = hashlib.sha256(f"{rule}\0{file}\0{subject}".encode("utf-8", "surrogateescape"))
    found: dict[str, Any] = {
        "ruleId": rule,
        "level": level,
        "message": {"text": _told(text)},
        "partialFingerprints": {"presubmit/v1": key.hexdigest()[:32]},
    }
    if file:
        place: dict[str, Any] = {"artifactLocation": {"uri": _uri(file), "uriBaseId": "%SRCROOT%"}}
        if line:
            place["region"] = {"startLine": line}
        found["locations"] = [{"physicalLocation": place}]
    return found


def _uri(path: str) -> str:
    return quote(path.encode("utf-8", "surrogateescape"))


def _told(text: str) -> str:
    return for_terminal(text) or "(no message)"
