"""What the commits of a change say: its title, its summary and the issues that it closes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from presubmit.report.escape import for_terminal

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from presubmit.drafts.values import Commit

_CLOSES: Final = re.compile(
    r"(?i)\b(?:fix(?:e[sd])?|close[sd]?|resolve[sd]?):?\s+"
    r"((?:[\w.-]+/[\w.-]+)?#\d+|https://[\w.-]+/[\w.-]+/[\w.-]+/issues/\d+)"
)
_ONLY_CLOSES: Final = re.compile(
    rf"(?i)^\s*(?:[-*]\s+)?{_CLOSES.pattern[4:]}(?:\s*,\s*#\d+)*\.?\s*$"
)
_TRAILER: Final = re.compile(r"^[A-Z][A-Za-z]*(?:-[A-Za-z]+)+: \S")
_BRANCH: Final = re.compile(r"(?i)(?:^|[/_-])(?:issue|gh|bug|fix)s?[-_/#]?(\d+)(?:$|[/_-])")
_CODE: Final = re.compile(r"(`[^`]+`)")
_OPENS: Final = re.compile(r"(?i)<(!--|/?details|/?summary)")
_BOX: Final = re.compile(r"^(\s*(?:[-*+]\s+)?)\[([ xX])\]")


def issues_of(commits: Iterable[Commit], branch: str | None) -> tuple[str, ...]:
    """Give the issues that the change closes: what its commits say, else the number in the branch's name."""
    said = [
        found
        for commit in commits
        for found in _CLOSES.findall(f"{commit.subject}\n{commit.body}")
    ]
    if not said and branch and (number := _BRANCH.search(branch)):
        said = [f"#{number.group(1)}"]
    return tuple(dict.fromkeys(said))


def title_of(commits: Sequence[Commit], asked: str) -> str:
    """Give the title: the first commit's subject, after what the template's own title begins with."""
    subject = for_terminal(commits[0].subject) if commits else "TODO(author): a title"
    prefix = asked.strip()
    if not prefix or subject.lower().startswith(prefix.lower()):
        return subject
    return f"{prefix} {subject}" if prefix.endswith((":", "]", ")")) else subject


def summary_lines(commits: Sequence[Commit], most: int) -> tuple[list[str], list[str]]:
    """Give what the commits say, and of that what is better folded."""
    if len(commits) == 1:
        lines = body_lines(commits[0])
        shown = lines[:most]
        return (shown, lines) if len(lines) > most else (shown, [])
    subjects = [f"- {_harmless(commit.subject)}" for commit in commits]
    rest = [
        line
        for commit in commits
        if body_lines(commit)
        for line in (f"**{_harmless(commit.subject)}**", "", *body_lines(commit), "")
    ]
    if len(subjects) <= most:
        return subjects, rest
    return [*subjects[: most - 1], f"- and {len(subjects) - most + 1} more commits"], [
        *subjects[most - 1 :],
        "",
        *rest,
    ]


def body_lines(commit: Commit) -> list[str]:
    """Give a commit's own words, without trailers and without the lines that only name an issue."""
    lines = [line.rstrip() for line in commit.body.strip().splitlines()]
    kept = [_harmless(it) for it in lines if not _TRAILER.match(it) and not _ONLY_CLOSES.match(it)]
    while kept and not kept[-1]:
        kept.pop()
    return kept


def _harmless(line: str) -> str:
    # A ticked box in a message is nobody's evidence.
    parts = _CODE.split(_BOX.sub(r"\1\\[\2]", for_terminal(line)))
    return "".join(it if it.startswith("`") else _OPENS.sub(r"&lt;\1", it) for it in parts)
