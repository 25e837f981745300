"""Drafts an RFC: the facts filled in, every judgement left to its author."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from presubmit.drafts.commits import issues_of, summary_lines, title_of
from presubmit.drafts.environment import environment_lines
from presubmit.drafts.fill import TODO, block, harmless, refill
from presubmit.drafts.pr import state_lines
from presubmit.drafts.rfc_verdict import judge_rfc
from presubmit.drafts.tested import performance_lines
from presubmit.drafts.text import in_text, listed
from presubmit.report.escape import for_code
from presubmit.values import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from presubmit.drafts.template import Template
    from presubmit.drafts.values import DraftFacts

_DOCS: Final = (".md", ".rst", ".ipynb")
# The headings of pytorch/rfcs, with what this draft can say under each: a block of facts, a question for the author.
_HEADS: Final = (
    ("Summary", "summary", "one paragraph that somebody outside of the project understands"),
    ("Motivation", "", "what problem this solves, for whom, and why now"),
    (
        "Proposed Implementation",
        "api",
        "how it works, with examples, corner cases and what it leaves out",
    ),
    ("Metrics", "metrics", "what else tells that it worked"),
    (
        "Drawbacks",
        "breaks",
        "why not do this: cost, complexity, effect on users and on other features",
    ),
    ("Migration path", "", "how users get from the old to the new: deprecation, releases, tools"),
    ("Impact on dependants", "users", "projects outside of this repository that use it"),
    (
        "Alternatives",
        "",
        "what else was thought of, the trade-offs, and what happens if nothing is done",
    ),
    ("Prior Art", "", "how others solve it"),
    (
        "How we teach this",
        "docs",
        "names, terms, and what of the documentation changes for old and new users",
    ),
    ("Unresolved questions", "", "what must be settled before, during and after this RFC"),
)
_WORDS: Final = {
    "summary": re.compile(r"(?i)\b(summary|abstract)\b"),
    "api": re.compile(
        r"(?i)\b(proposed implementation|proposal|specification|reference-level|detailed design|design details)\b"
    ),
    "metrics": re.compile(r"(?i)\b(metrics|performance|benchmarks?)\b"),
    "breaks": re.compile(r"(?i)\b(drawbacks?|compatib|risks?|breaking)\w*"),
    "users": re.compile(r"(?i)\b(impact|dependants?|dependents?|migration)\b"),
    "docs": re.compile(r"(?i)\b(teach|documentation|guide-level)\b"),
}
_HEADING: Final = re.compile(r"^#{1,4}\s+(?P<text>.+?)\s*#*$")


def draft_rfc(
    facts: DraftFacts, template: Template | None, earlier: str, shown: Callable[[str], str]
) -> str:
    """Write the RFC's text on the project's template, or on PyTorch's headings."""
    text = earlier or (_on_template(template) if template else _own(facts))
    return refill(text, _blocks(facts), shown)


def _own(facts: DraftFacts) -> str:
    parts = [
        f"# RFC: {in_text(title_of(facts.commits, ''))}",
        "",
        block("state", ""),
        block("verdict", ""),
        "",
    ]
    for head, name, question in _HEADS:
        parts += [f"## {head}", ""]
        if name:
            parts += [block(name, ""), ""]
        parts += [f"{TODO}: {question}.", ""]
    return "\n".join([*parts, block("environment", "")]) + "\n"


def _on_template(template: Template) -> str:
    lines, placed = [block("state", ""), block("verdict", ""), ""], set[str]()
    for line in harmless(template.text).splitlines():
        lines.append(line)
        heading = _HEADING.match(line)
        if heading is None:
            continue
        names = [
            n for n, words in _WORDS.items() if n not in placed and words.search(heading["text"])
        ]
        placed |= set(names)
        for name in names:
            lines += ["", block(name, "")]
    for name in _WORDS:
        if name not in placed:
            lines += ["", block(name, "")]
    return (
        "\n".join([*lines, "", f"{TODO}: every heading above.", "", block("environment", "")])
        + "\n"
    )


def _blocks(facts: DraftFacts) -> Mapping[str, str]:
    return {
        "state": "\n".join(state_lines(facts)),
        "verdict": "\n".join(verdict_lines(facts)),
        "summary": "\n".join(_summary(facts)),
        "api": "\n".join(_api(facts)),
        "metrics": "\n".join(performance_lines(facts, 20))
        or "No benchmark was compared (`presubmit bench`).",
        "breaks": "\n".join(f"- {it}" for it in facts.api.breaks)
        or "No public Python name is removed or altered.",
        "users": "\n".join(_users(facts)),
        "docs": "\n".join(_docs(facts)),
        "environment": "\n".join(environment_lines(facts)),
    }


def verdict_lines(facts: DraftFacts) -> list[str]:
    """Say whether an RFC is due, why, and where the project takes one."""
    level, reasons = judge_rfc(facts)
    lines = [f"> RFC {level}: {'; '.join(reasons)}."]
    if facts.asked.rfc_places:
        lines.append(
            f"> Where it belongs: {'; '.join(in_text(it) for it in facts.asked.rfc_places)}."
        )
    return lines


def _summary(facts: DraftFacts) -> list[str]:
    shown, _ = summary_lines(facts.commits, 20)
    issues = issues_of(facts.commits, facts.branch)
    return [*shown, *(["", f"Issues: {', '.join(issues)}"] if issues else [])]


def _api(facts: DraftFacts) -> list[str]:
    api = facts.api
    lines = [f"- {counted(len(facts.files), 'file')} changed"]
    lines += [f"- new module: {for_code(name)}" for name in api.modules]
    lines += [f"- new: {for_code(name)}" for name in api.added[:30]]
    lines += [f"- {it}" for it in api.breaks]
    lines += [f"- new dependency: {for_code(name)}" for name in facts.requirements]
    return lines


def _users(facts: DraftFacts) -> list[str]:
    if not facts.api.breaks:
        return ["No public Python name is removed or altered."]
    lines = []
    for name, paths in facts.users.items():
        where = listed([for_code(path) for path in paths], most=5) if paths else "no other file"
        lines.append(f"- {for_code(name)} is named in this repository by {where}")
    return [*lines, "- Projects outside of this repository were not looked at."]


def _docs(facts: DraftFacts) -> list[str]:
    touched = [file.path for file in facts.files if file.path.endswith(_DOCS)]
    if not touched:
        return ["The change touches no documentation."]
    return [
        f"Documentation that the change touches: {listed([for_code(it) for it in touched], most=8)}."
    ]
