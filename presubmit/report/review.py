"""A review in lines of text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from presubmit.report.escape import for_code, for_markdown, one_line
from presubmit.review.values import Severity
from presubmit.values import counted

if TYPE_CHECKING:
    from presubmit.review.values import Remark, Review

STYLES: Final = {Severity.ERROR: "bold red", Severity.WARNING: "yellow", Severity.NOTE: ""}
SHOWN: Final = 40
"""A longer review is cut; review.json has all of it."""


def place_of(remark: Remark) -> str:
    """Give `file:line`, or what is known of it."""
    return f"{remark.file}:{remark.line}" if remark.line and remark.file else remark.file


def summary(review: Review) -> str:
    """Say in one line how much was found, and how much could not be looked at."""
    counts = [
        counted(number, str(severity))
        for severity in Severity
        if (number := sum(one.severity is severity for one in review.remarks))
    ]
    if review.unchecked:
        counts.append(f"{len(review.unchecked)} not checked")
    return ", ".join(counts) or "no remarks"


def review_lines(review: Review, *, shown: int = SHOWN) -> list[tuple[str, str]]:
    """Give a review's lines for a terminal, each with its style."""
    lines = []
    for one in review.remarks[:shown]:
        place = f"{place_of(one)}: " if one.file else ""
        text = one_line(f"{place}{one.severity} {one.code}: {one.text}")
        lines.append((text, STYLES[one.severity]))
        lines += [(f"    {one_line(part)}", "dim") for part in (one.why, one.mend) if part]
    if len(review.remarks) > shown:
        lines.append((f"and {len(review.remarks) - shown} more", "dim"))
    lines += [
        (one_line(f"not checked: {one.rule}: {one.what}: {one.why}"), "yellow")
        for one in review.unchecked[:shown]
    ]
    return lines


def render_review(review: Review, *, shown: int = SHOWN) -> str:
    """Give a review as a section of Markdown."""
    lines = ["", "## Review", "", summary(review), ""]
    lines += [
        f"- **{one.severity}** {for_code(one.code)}"
        f"{' ' + for_code(place_of(one)) if one.file else ''} {for_markdown(one.text)}"
        for one in review.remarks[:shown]
    ]
    if len(review.remarks) > shown:
        lines.append(f"- and {len(review.remarks) - shown} more")
    lines += [
        f"- not checked: {for_markdown(f'{one.rule}: {one.what}: {one.why}')}"
        for one in review.unchecked[:shown]
    ]
    return "\n".join(lines) + "\n"
