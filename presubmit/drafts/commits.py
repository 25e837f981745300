"""What the commits of a change say: its title, its summary and the issues that it closes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from presubmit.report.escape import for_terminal

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from presubmit.drafts.values import Commit

_CLOSES: Final = re.compile(
    r"(?i)(?<!not )(?<!n't )(?<!never )\b(?:fix(?:e[sd])?|close[sd]?|resolve[sd]?):?\s+"
    r"((?:[\w.-]+/[\w.-]+)?#\d+|https://[\w.-]+/[\w.-]+/[\w.-]+/issues/\d+)"
)
_ONLY_CLOSES: Final = re.compile(
    rf"(?i)^\s*(?:[-*]\s+)?{_CLOSES.pattern[4:]}(?:\s*,\s*#\d+)*\.?\s*$"
)
_TRAILER: Final = re.compile(r"^[A-Z][A-Za-z]*(?:-[A-Za-z]+)+: \S")
# `fix-3-bugs` counts bugs.
_BRANCH: Final = re.compile(
    r"(?i)(?:^|[/_-])(?:(?:issue|gh)s?[-_/#]?(?=\d)|(?:bug|fix)[-_/#]?(?=\d\d))(\d+)(?:$|[/_-])"
)
# What `git rebase --autosquash` folds away, and what is no more than a mark: neither says what the change is.
_AUTOSQUASH: Final = re.compile(r"^(?:fixup|squash|amend)! |^(?i:wip)\b[\s:.!]*$")
_REVERT: Final = re.compile(r"^Revert \"")
# Blank, indented, a list, a quotation, a heading, a table: such a line stands for itself.
_NO_PROSE: Final = re.compile(r"$|\s|[-*+>#|]|\d+[.)]\s")
_CODE: Final = re.compile(r"(`[^`]+`)")
_OPENS: Final = re.compile(r"(?i)<(!--|/?details|/?summary)")
_BOX: Final = re.compile(r"^(\s*(?:[-*+]\s+)?)\[([ xX])\]")


def issues_of(commits: Iterable[Commit], branch: str | None) -> tuple[str, ...]:
    """Give the issues that the change closes: what its commits say, else the number in the branch's name."""
    said = [
        found
        for commit in commits
        if not _REVERT.match(commit.subject)
        for found in _CLOSES.findall(f"{commit.subject}\n{commit.body}")
    ]
    if not said and branch and (number := _BRANCH.search(branch)):
        said = [f"#{number.group(1)}"]
    return tuple(dict.fromkeys(said))


def title_of(commits: Sequence[Commit], asked: str) -> str:
    """Give the title: the first commit's subject, after what the template's own title begins with."""
    said = _telling(commits)
    subject = for_terminal(said[0].subject).rstrip(".") if said else "TODO(author): a title"
    prefix = asked.strip()
    if not prefix or subject.lower().startswith(prefix.lower()):
        return subject
    return f"{prefix} {subject}" if prefix.endswith((":", "]", ")")) else subject


def _telling(commits: Sequence[Commit]) -> Sequence[Commit]:
    """Leave out the commits that only mend one before them, where there is another."""
    return [it for it in commits if not _AUTOSQUASH.search(it.subject)] or commits


def summary_lines(commits: Sequence[Commit], most: int) -> tuple[list[str], list[str]]:
    """Give what the commits say, and of that what is better folded."""
    commits = _telling(commits)
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
    while rest and not rest[-1]:
        rest.pop()
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
    kept = [it for it in lines if not _TRAILER.match(it) and not _ONLY_CLOSES.match(it)]
    while kept and not kept[-1]:
        kept.pop()
    return [_harmless(it) for it in _unwrapped(kept)]


def _unwrapped(lines: Iterable[str]) -> list[str]:
    """Join the lines of a paragraph: GitHub shows every line end of a pull request's text, and messages are wrapped."""
    joined: list[str] = []
    fenced = plain = False
    for line in lines:
        fence = line.lstrip().startswith(("```", "~~~"))
        is_plain = not (fenced or fence or _NO_PROSE.match(line))
        if plain and is_plain:
            joined[-1] += f" {line}"
        else:
            joined.append(line)
        fenced, plain = fenced != fence, is_plain
    return joined


def _harmless(line: str) -> str:
    # A ticked box in a message is nobody's evidence.
    parts = _CODE.split(_BOX.sub(r"\1\\[\2]", for_terminal(line)))
    return "".join(it if it.startswith("`") else _OPENS.sub(r"&lt;\1", it) for it in parts)
