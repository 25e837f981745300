"""The checklist: each item with the evidence that ticks it, or the reason why nothing does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from presubmit.drafts.boxes import answer_to
from presubmit.drafts.fill import block, refill
from presubmit.drafts.rfc_verdict import Level, judge_rfc
from presubmit.drafts.text import in_text
from presubmit.drafts.values import Item

if TYPE_CHECKING:
    from collections.abc import Callable

    from presubmit.drafts.values import DraftFacts

ITEMS: Final = (
    Item(id="build", text="Builds from source", evidence="build"),
    Item(id="tests", text="No new failure in the affected tests", evidence="tests"),
    Item(id="tests-added", text="The change comes with tests", evidence="tests-added"),
    Item(id="lint", text="Lint and format", evidence="lint"),
    Item(id="docs", text="Docstrings of changed public names", evidence="docs"),
    Item(id="api", text="No public API break", evidence="api"),
    Item(id="bench", text="No performance regression", evidence="bench"),
    Item(id="changelog", text="Changelog entry", evidence="changelog"),
    Item(id="dco", text="Commits signed off", evidence="dco"),
    Item(id="merges", text="Merges with the base", evidence="merges"),
    Item(id="files", text="Only intended files", evidence="files"),
)
# What a reader of a pull request looks for first; the others are in CHECKLIST.md.
_IN_PR: Final = ("tests", "tests-added", "lint", "build", "changelog", "dco", "api")

_TOLD: Final = frozenset({"tests", "build"})
"""Numbers stand under Tested, and which step built it is in the table of commands."""


def items_of(facts: DraftFacts) -> tuple[Item, ...]:
    """Give our items and those of `[[draft.item]]`; one with an id of ours stands in its place."""
    own = {item.id: item for item in ITEMS}
    own |= {item.id: item for item in facts.asked.items}
    return tuple(item for item in own.values() if _applies(item, facts))


def _applies(item: Item, facts: DraftFacts) -> bool:
    """Leave out what the project does not ask for, or what cannot be of this change."""
    if item.id == "changelog":
        return bool(facts.asked.fragments)
    if item.id == "dco":
        return facts.asked.dco
    return bool(facts.sources) or item.id not in {"tests-added", "api", "docs", "bench"}


def pr_items(facts: DraftFacts, most: int) -> list[str]:
    """Give the boxes of a pull request: the project's own items first."""
    own = [item for item in items_of(facts) if item in facts.asked.items]
    ours = [
        item for name in _IN_PR for item in items_of(facts) if item.id == name and item not in own
    ]
    return [
        box(item, facts, told=item.evidence in _TOLD)
        for item in (*own, *ours)[: max(most, len(own))]
    ]


def box(item: Item, facts: DraftFacts, *, told: bool = False) -> str:
    """Give one item as a box with its reason; where that is `told` elsewhere, a tick needs none."""
    if item.evidence == "none":
        return f"- [ ] {in_text(item.text)}"
    given = answer_to(item.text, item.evidence, facts)
    why = f" — {given.why}" if given.why and not (told and given.ok) else ""
    return f"- [{'x' if given.ok else ' '}] {item.text}{why}"


def draft_checklist(
    facts: DraftFacts, state: str, earlier: str, shown: Callable[[str], str]
) -> str:
    """Write the whole checklist; what stands outside of the markers stays."""
    level, reasons = judge_rfc(facts)
    rfc = f"- RFC: {level}" + (f" ({'; '.join(reasons)})" if reasons else "")
    lines = [*(box(item, facts) for item in items_of(facts))]
    if level is not Level.NOT_NEEDED:
        lines.append(f"- [ ] RFC linked — {level}; only its author can say where it is")
    blocks = {"state": state, "checklist": "\n".join(lines), "rfc": rfc}
    fresh = "\n".join(
        [
            "# Checklist",
            "",
            block("state", ""),
            "",
            block("checklist", ""),
            "",
            block("rfc", ""),
        ]
    )
    return refill(earlier or f"{fresh}\n", blocks, shown)
