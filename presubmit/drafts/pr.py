"""Drafts a pull request: the blocks that facts fill, on the project's template or on a short one of our own."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING, Final

from presubmit.drafts.boxes import answer_boxes, first_boxes
from presubmit.drafts.checklist import pr_items
from presubmit.drafts.commits import body_lines, issues_of, summary_lines
from presubmit.drafts.environment import environment_lines
from presubmit.drafts.fill import (
    TODO,
    DraftState,
    block,
    harmless,
    in_url,
    refill,
    state_line,
    visible_in_blocks,
    with_issue,
)
from presubmit.drafts.tested import lines_on_tests, performance_lines, review_lines
from presubmit.drafts.text import at_most, folded, in_text, listed
from presubmit.report.escape import for_code

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from presubmit.drafts.template import Template
    from presubmit.drafts.values import DraftFacts

_MOST_OURS: Final = 21
"""Visible lines within our blocks; with the headings of our own template that makes 25."""
_MANY_FILES: Final = 10
"""More than that are named by folder; fewer are seen at a glance beside the pull request's text."""
_WHY: Final = f"{TODO}: why this change: what was wrong or missing, and for whom."
_OWN: Final = ("tested", "performance", "review", "checklist", "environment")
_HEADINGS: Final = {
    "summary": re.compile(
        r"(?i)\b(summary|description|overview|what|changes? proposed|proposed changes?)\b"
    ),
    "tested": re.compile(r"(?i)\b(test(?:s|ing|ed)?( plan)?|verification|verified)\b"),
    "performance": re.compile(r"(?i)\b(performance|benchmarks?)\b"),
}
_BOXES: Final = "checklist"
_CHECKLIST: Final = re.compile(r"(?i)\bcheck ?list\b")
_HEADING: Final = re.compile(r"^#{1,4}\s+(?P<text>.+?)\s*#*$")


def draft_pr(
    facts: DraftFacts, template: Template | None, earlier: str, shown: Callable[[str], str]
) -> str:
    """Write the pull request's text; where there is an `earlier` draft, only what is presubmit's own is written anew."""
    text = earlier or (_on_template(template, facts) if template else _own(facts))
    most = 5
    while True:
        blocks = blocks_of(facts, most, boxes=f"<!-- presubmit:{_BOXES} -->" in text)
        filled = answer_boxes(refill(text, blocks, shown), facts)
        if most == 1 or visible_in_blocks(filled) <= _MOST_OURS:
            return filled
        most -= 1


def _own(facts: DraftFacts) -> str:
    parts = [block("state", ""), "## Summary\n", _placed("summary", facts), "\n## Tested\n"]
    parts += [block(name, "") for name in ("tested", "performance", "review")]
    parts += ["\n## Checklist\n", block("checklist", ""), block("environment", "")]
    return "\n".join(parts) + "\n"


def _on_template(template: Template, facts: DraftFacts) -> str:
    """Put our blocks under the template's headings that ask for them, the others at its end."""
    text = first_boxes(
        with_issue(harmless(template.text), issues_of(facts.commits, facts.branch)),
        facts.asked.items,
    )
    lines, placed = [], set[str]()
    for line in text.splitlines():
        lines.append(line)
        heading = _HEADING.match(line)
        if heading is None or _CHECKLIST.search(heading["text"]):
            continue
        name = next(
            (
                n
                for n, words in _HEADINGS.items()
                if n not in placed and words.search(heading["text"])
            ),
            "",
        )
        if name:
            placed.add(name)
            lines += ["", *_placed(name, facts).splitlines()]
    first = [block("state", "")]
    if "summary" not in placed:
        first += [_placed("summary", facts), ""]
    has_boxes = any("[ ]" in line for line in text.splitlines())
    rest = [n for n in _OWN if n not in placed and not (n == "checklist" and has_boxes)]
    titles = {
        "tested": "### Tested\n\n",
        "checklist": "### Checklist\n\n",
    }
    last = [titles.get(name, "") + block(name, "") for name in rest]
    return "\n".join([*first, *lines, "", *last]) + "\n"


def _placed(name: str, facts: DraftFacts) -> str:
    """Give an empty block; that of the summary with what the change means for others, and who knows why it is made."""
    if name != "summary":
        return block(name, "")
    said = any(body_lines(commit) for commit in facts.commits)
    why = "" if said else f"\n\n{_WHY}\n"
    return f"{block('summary', '')}{why}\n{block('changes', '')}"


def blocks_of(facts: DraftFacts, most: int, *, boxes: bool) -> Mapping[str, str]:
    """Give the text of every block, of lists at most so many lines; `boxes`: our own checklist is among them."""
    return {
        "state": "\n".join(state_lines(facts)),
        "summary": "\n".join(_summary(facts, most)),
        "changes": "\n".join(_changes(facts, most)),
        "tested": "\n".join(lines_on_tests(facts, most, boxes=boxes)),
        "performance": "\n".join(performance_lines(facts, min(most, 3))),
        "review": "\n".join(review_lines(facts, min(most, 3))),
        "checklist": "\n".join(pr_items(facts, 5 if most > 1 else 4)),
        "environment": "\n".join(environment_lines(facts)),
    }


def written_for(facts: DraftFacts) -> DraftState:
    """Give what a draft is written for."""
    return DraftState(
        tree=facts.tree,
        base=facts.base.commit,
        run=facts.run.name,
        branch=in_url(facts.branch),
    )


def state_lines(facts: DraftFacts) -> list[str]:
    """Say what a draft was written for, and warn where the run is of something else."""
    lines = [state_line(written_for(facts))]
    if facts.stale:
        why = in_text("; ".join(facts.stale))
        lines += [
            "> [!WARNING]",
            f"> Stale: {why}. No box is ticked; run `presubmit run`, then draft again.",
        ]
    elif facts.unproven:
        lines += ["> [!WARNING]", f"> No box is ticked: {in_text(facts.unproven)}."]
    return lines


def _summary(facts: DraftFacts, most: int) -> list[str]:
    shown, rest = summary_lines(facts.commits, most)
    lines = shown
    issues = issues_of(facts.commits, facts.branch)
    if issues:
        lines = [*lines, "", *(f"Fixes {issue}" for issue in issues[:3])]
    return [*lines, "", *folded("The commits in full", rest)] if rest else lines


def _changes(facts: DraftFacts, most: int) -> list[str]:
    """Say what the change means for others; files are listed only where they are many."""
    lines = _areas(facts, most) if len(facts.files) > _MANY_FILES else []
    owners = sorted({name for names in facts.owners.values() for name in names})
    if owners and not lines:
        lines.append(f"- Code owners: {listed([for_code(name) for name in owners], most=4)}")
    breaks = facts.api.breaks
    if breaks:
        lines.append(f"- **API break**: {listed(breaks, most=3)}")
    if facts.api.added:
        lines.append(
            f"- New public names: {listed([for_code(name) for name in facts.api.added], most=4)}"
        )
    if facts.requirements:
        lines.append(
            f"- New dependencies: {listed([for_code(name) for name in facts.requirements], most=4)}"
        )
    return lines


def _areas(facts: DraftFacts, most: int) -> list[str]:
    areas: dict[str, list[str]] = {}
    for file in facts.files:
        areas.setdefault(posixpath.dirname(file.path) or ".", []).append(file.path)
    if len(areas) > most:
        wide: dict[str, list[str]] = {}
        for area, paths in areas.items():
            wide.setdefault("/".join(area.split("/")[:1]), []).extend(paths)
        areas = wide
    status = {file.path: str(file.status) for file in facts.files}
    lines = []
    for area, paths in sorted(areas.items(), key=lambda it: (-len(it[1]), it[0])):
        names = listed([_named(path, area, status[path]) for path in paths], most=3)
        owners = sorted({name for path in paths for name in facts.owners.get(path, ())})
        asked = f" — {' '.join(for_code(name) for name in owners[:4])}" if owners else ""
        place = "top folder" if area == "." else for_code(area)
        lines.append(f"- {place}: {names}{asked}")
    return at_most(lines, most, what="folders")


def _named(path: str, area: str, status: str) -> str:
    name = path.removeprefix(f"{area}/") if area != "." else path
    word = {"added": " (new)", "deleted": " (removed)", "renamed": " (renamed)"}.get(status, "")
    return f"{for_code(name)}{word}"
