"""Boxes: those of a project's template, which of them a run can answer, and what a tick is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from presubmit.drafts.fill import harmless
from presubmit.drafts.proof import answer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from presubmit.drafts.proof import Answer
    from presubmit.drafts.values import DraftFacts, Item

# `- [ ] text`, and PyTorch's template has them bare: `[ ] text`. A link's text `[x](…)` is no box.
_BOX: Final = re.compile(
    r"^(?P<head>\s*(?:(?:[-*+]|\d+[.)])\s+)?)\[(?P<tick>[ xX])\](?P<rest>\s+\S.*)$"
)
_OURS: Final = re.compile(r"^(?P<text>.*?)\s*<!-- presubmit:box (?P<evidence>\S+) -->.*$")
_EVERYTHING: Final = re.compile(r"(?i)\b(all|every|each|any|everything|full|entire|whole)\b")
_PROMISE: Final = re.compile(
    r"(?i)\b(I|we|my|agree|acknowledge|read|contribut\w+ guide\w*|code of conduct|CLA|licen[cs]e|polic(?:y|ies))\b"
)
# What a template's box says, and what of a run answers it. A box that a person promises something with is none.
_TOOLS: Final = re.compile(
    r"\b(pre-commit|lintrunner|ruff|flake8|black|isort|pylint|mypy|pyright|clang-format)\b"
)
_WORDS: Final = (
    (
        re.compile(r"(?i)\b(pre-commit|lintrunner|ruff|flake8|black|lint(?:er|ers|ing)?)\b"),
        "step:lint",
    ),
    (
        re.compile(r"(?i)\btests?\b.*\bpass(?:es|ed|ing)?\b|\bpass(?:es|ing)?\b.*\btests?\b"),
        "step:tests",
    ),
    (
        re.compile(r"(?i)\b(news ?fragment|changelog|change log|towncrier|release note)"),
        "changelog",
    ),
    (re.compile(r"(?i)\b(signed[- ]off|sign-off|DCO)\b"), "dco"),
    (
        re.compile(
            r"(?i)\b(builds?|compiles?)\b.*\b(from source|locally|cleanly|without errors)\b"
        ),
        "build",
    ),
    (
        re.compile(
            r"(?i)\b(tests?\b.*\b(add(?:ed|s)?|new|cover(?:s|ed)?)|(add(?:ed|s)?|new)\b.*\btests?)\b"
        ),
        "tests-added",
    ),
)


def is_ticked(line: str) -> bool:
    """Tell whether a line is a ticked box."""
    found = _BOX.match(line)
    return found is not None and found["tick"] in "xX"


def first_boxes(text: str, items: Iterable[Item]) -> str:
    """Clear every box of a template, and mark those that evidence can answer; code blocks and comments stay."""
    lines, apart = [], ""
    for line in text.splitlines():
        apart = _apart(line, apart)
        found = None if apart else _BOX.match(line)
        if found is None:
            lines.append(line)
            continue
        evidence = evidence_for(found["rest"], items)
        mark = f" <!-- presubmit:box {evidence} -->" if evidence else ""
        lines.append(f"{found['head']}[ ]{found['rest'].rstrip()}{mark}")
    return "\n".join(lines) + "\n"


def _apart(line: str, apart: str) -> str:
    """Follow fences and comments, inside which a box is only an example."""
    text = line.strip()
    if apart == "-->":
        return "" if "-->" in text else apart
    if apart:
        return "" if text == apart else apart
    if text.startswith(("```", "~~~")):
        return text[:3]
    return "-->" if "<!--" in text and "-->" not in text.rpartition("<!--")[2] else ""


def evidence_for(text: str, items: Iterable[Item]) -> str:
    """Name what answers a box: what the configuration says of its text, else its words; empty where only a person can."""
    said = _plain(text)
    for item in items:
        if _plain(item.text) in said:
            return item.evidence if item.evidence != "none" else ""
    if _PROMISE.search(said):
        return ""
    return next((evidence for words, evidence in _WORDS if words.search(said)), "")


def _plain(text: str) -> str:
    return " ".join(re.sub(r"[`*_]", "", text).split())


def answer_boxes(text: str, facts: DraftFacts) -> str:
    """Tick those of our boxes that evidence for this very tree answers, and clear the others, each with its reason."""
    lines = []
    for line in text.splitlines():
        found = _BOX.match(line)
        ours = _OURS.match(found["rest"]) if found else None
        if found is None or ours is None:
            lines.append(line)
            continue
        given = answer_to(ours["text"], ours["evidence"], facts)
        mark = f"<!-- presubmit:box {ours['evidence']} -->"
        why = f" — {harmless(given.why)}" if given.why else ""
        tick = "x" if given.ok else " "
        lines.append(f"{found['head']}[{tick}]{ours['text']} {mark}{why}")
    return "\n".join(lines) + "\n"


def _tools_not_run(text: str, facts: DraftFacts) -> list[str]:
    """Give the tools that a box names and that no step of the run is."""
    ran = {word for step in facts.run.steps for word in step.command[:3]}
    return [it for it in dict.fromkeys(_TOOLS.findall(text.lower())) if it not in ran]


def answer_to(text: str, evidence: str, facts: DraftFacts) -> Answer:
    """Answer one box; one that speaks of everything is the author's where less than that was looked at."""
    given = answer(evidence, facts)
    narrow = evidence == "tests-added" or (
        evidence in {"step:tests", "tests"} and facts.run.selection.mode != "all"
    )
    missing = _tools_not_run(text, facts) if evidence == "step:lint" else []
    if given.ok and missing:
        return given.but(f"`{missing[0]}` itself was not run; {given.why} passed")
    if given.ok and narrow and _EVERYTHING.search(text):
        return given.but(given.why)
    return given
