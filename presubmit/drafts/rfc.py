"""Drafts an RFC: the facts filled in, every judgement left to its author."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING, Final

from presubmit.drafts.commits import issues_of, summary_lines, title_of
from presubmit.drafts.environment import environment_lines
from presubmit.drafts.fill import TODO, block, harmless, refill
from presubmit.drafts.pr import state_lines
from presubmit.drafts.rfc_verdict import judge_rfc
from presubmit.drafts.tested import performance_lines
from presubmit.drafts.text import in_text, listed
from presubmit.report.escape import for_code, one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

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
_OF_BREAKS: Final = frozenset({"Migration path", "Impact on dependants"})
# What is written once the discussion has ended.
_LATER: Final = re.compile(r"(?i)^(?:resolution|decision|outcome)s?$")
# Where names of old stay for ever.
_HISTORY: Final = re.compile(r"(?i)^(?:changelog|changes|history|news|release)")
_HEADING: Final = re.compile(r"^#{1,4}\s+(?P<text>.+?)\s*#*$")


def draft_rfc(
    facts: DraftFacts, template: Template | None, earlier: str, shown: Callable[[str], str]
) -> str:
    """Write the RFC's text on the project's template, or on PyTorch's headings."""
    text = earlier or (_on_template(template, facts) if template else _own(facts))
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
        if head in _OF_BREAKS and not facts.api.breaks:
            continue
        parts += [f"## {head}", ""]
        if name:
            parts += [block(name, ""), ""]
        parts += [f"{TODO}: {question}.", ""]
    return "\n".join([*parts, block("environment", "")]) + "\n"


def _on_template(template: Template, facts: DraftFacts) -> str:
    """Put facts under the headings that ask for them, and a question to the author under each."""
    text = harmless(template.text).splitlines()
    heads = {number: found for number, it in enumerate(text) if (found := _HEADING.match(it))}
    title = _title_line(heads)
    later = next((n for n, it in heads.items() if _LATER.search(_words(it))), len(text))
    asked = {n: _words(it) for n, it in heads.items() if n != title and n < later}
    places = _places(asked)
    lines = [block("state", ""), block("verdict", ""), ""]
    for number, line in enumerate(text[:later]):
        lines.append(
            f"# {in_text(title_of(facts.commits, template.title))}" if number == title else line
        )
        for name in (it for it, place in places.items() if place == number):
            lines += ["", block(name, "")]
        if number in asked and not _holds_others(number, heads) and not _is_boxes(text, number):
            lines += ["", f"{TODO}: {asked[number]}.", ""]
    if "api" not in places:
        lines += ["", "## What changes for others", ""]
        lines += [block(name, "") for name in ("api", "breaks", "users") if name not in places]
        lines.append("")
    return "\n".join([*lines, *text[later:], "", block("environment", "")]) + "\n"


def _words(heading: re.Match[str]) -> str:
    return heading["text"].strip("* ")


def _places(asked: Mapping[int, str]) -> dict[str, int]:
    """Give each block of facts the heading that asks for it, else one that is near to it."""
    found = {
        name: number
        for name, words in _WORDS.items()
        for number in [next((n for n, text in asked.items() if words.search(text)), None)]
        if number is not None
    }
    for name, near in (("breaks", "api"), ("users", "breaks")):
        if name not in found and near in found:
            found[name] = found[near]
    return found


def _is_boxes(text: Sequence[str], number: int) -> bool:
    """Tell whether a heading stands over boxes: these ask the author themselves."""
    return next((it for it in text[number + 1 :] if it.strip()), "").startswith("- [ ]")


def _title_line(heads: Mapping[int, re.Match[str]]) -> int | None:
    """Give the number of the line that only stands for a title: the one heading of the first level."""
    tops = [number for number, it in heads.items() if it.group().startswith("# ")]
    return tops[0] if len(tops) == 1 else None


def _holds_others(number: int, heads: Mapping[int, re.Match[str]]) -> bool:
    """Tell whether directly below a heading stands a deeper one, and no text of its own."""
    below = heads.get(number + 1) or heads.get(number + 2)
    return below is not None and _depth(below) > _depth(heads[number])


def _depth(heading: re.Match[str]) -> int:
    return len(heading.group()) - len(heading.group().lstrip("#"))


def _blocks(facts: DraftFacts) -> Mapping[str, str]:
    performance = performance_lines(facts, 20)
    return {
        "state": "\n".join(state_lines(facts)),
        "verdict": "\n".join(verdict_lines(facts)),
        "summary": "\n".join(_summary(facts)),
        "api": "\n".join(_api(facts)),
        "metrics": "\n".join(performance) or "No benchmark was compared.",
        "breaks": _breaks(facts),
        "users": "\n".join(_users(facts)),
        "docs": "\n".join(_docs(facts)),
        "environment": "\n".join(environment_lines(facts)) if performance else "",
    }


def verdict_lines(facts: DraftFacts) -> list[str]:
    """Say to the author alone whether an RFC is due, why, and where the project takes one."""
    level, reasons = judge_rfc(facts)
    told = [f"RFC {level}: {'; '.join(reasons)}."]
    if facts.asked.rfc_places:
        told.append(f"Where it belongs: {'; '.join(facts.asked.rfc_places)}.")
    return ["<!--", *(one_line(it, 1000).replace("-->", "--&gt;") for it in told), "-->"]


def _breaks(facts: DraftFacts) -> str:
    names = [for_code(name) for name in (*facts.api.removed, *facts.api.names)]
    if names:
        verb = "breaks its callers" if len(names) == 1 else "break their callers"
        return f"{listed(names, most=8)} {verb}."
    if facts.api.breaks:
        return "The public API breaks."
    if facts.api.whole:
        return "No public Python name is removed or altered."
    return "No break of the public API was seen, but not all of it could be looked at."


def _summary(facts: DraftFacts) -> list[str]:
    shown, _ = summary_lines(facts.commits, 20)
    issues = issues_of(facts.commits, facts.branch)
    return [*shown, *(["", f"Issues: {', '.join(issues)}"] if issues else [])]


def _api(facts: DraftFacts) -> list[str]:
    api = facts.api
    lines = [f"- new module: {for_code(name)}" for name in api.modules]
    lines += [f"- new: {for_code(name)}" for name in api.added[:30]]
    lines += [f"- {it}" for it in api.breaks]
    lines += [f"- new dependency: {for_code(name)}" for name in facts.requirements]
    return lines or ["No public name and no dependency changes."]


def _users(facts: DraftFacts) -> list[str]:
    if not facts.api.breaks:
        return [_breaks(facts)]
    lines = []
    for name, paths in facts.users.items():
        living = [path for path in paths if not _HISTORY.match(posixpath.basename(path))]
        where = listed([for_code(path) for path in living], most=5) if living else "no other file"
        lines.append(f"- {for_code(name)} is named in this repository by {where}")
    return [*lines, "- Projects outside of this repository were not looked at."]


def _docs(facts: DraftFacts) -> list[str]:
    touched = [file.path for file in facts.files if file.path.endswith(_DOCS)]
    if not touched:
        return ["The change touches no documentation."]
    return [
        f"Documentation that the change touches: {listed([for_code(it) for it in touched], most=8)}."
    ]
