"""Fills the parts of a draft that are presubmit's own, between markers; everything else is the author's."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from presubmit.values import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

TODO: Final = "TODO(author)"
# A comment's sign within code is none.
_COMMENT: Final = re.compile(r"(`[^`\n]+`)|<!--.*?-->", re.DOTALL)
_DETAILS: Final = re.compile(r"<details>.*?</details>", re.DOTALL)
_BLOCK: Final = re.compile(
    r"<!-- presubmit:(?P<name>[a-z-]+) -->\n(?P<inner>.*?)<!-- /presubmit:(?P=name) -->", re.DOTALL
)
_STATE: Final = re.compile(
    r"<!-- tree=(?P<tree>[0-9a-f]+) base=(?P<base>[0-9a-f]+) run=(?P<run>\S*) branch=(?P<branch>\S*) -->"
)
_PLACEHOLDER: Final = re.compile(
    r"#(?:ISSUE_NUMBER|ISSUE|XXXX+|issue_number|<issue[^>]*>)(?![\w-])"
)


def block(name: str, text: str) -> str:
    """Give a block of ours with its markers, a line each."""
    inner = f"{harmless(text).strip(chr(10))}\n" if text.strip() else ""
    return f"<!-- presubmit:{name} -->\n{inner}<!-- /presubmit:{name} -->"


def harmless(text: str) -> str:
    """Give text that cannot be taken for a marker of ours."""
    return re.sub(r"<!--(\s*/?presubmit:)", r"&lt;!--\1", text)


class DraftState(Value, frozen=True, kw_only=True):
    """What a draft was written for."""

    tree: str
    base: str
    run: str
    branch: str
    """As in a URL, so that it ends no comment."""

    def differs(self, tree: str, base: str) -> str:
        """Say in which way this is another tree or base; empty where it is not."""
        if self.tree != tree:
            return f"it was written for tree {self.tree[:7]}, this is {tree[:7]}"
        if self.base != base:
            return f"its base was {self.base[:7]}, now it is {base[:7]}"
        return ""


def in_url(branch: str | None) -> str:
    """Write a branch's name so that it ends no comment."""
    return quote(branch or "", safe="/")


def state_line(state: DraftState) -> str:
    """Give the line that says what a draft was written for."""
    return f"<!-- tree={state.tree} base={state.base} run={state.run} branch={state.branch} -->"


def read_state(text: str) -> DraftState | None:
    """Read what a draft was written for; None where it does not say."""
    found = _STATE.search(text)
    return DraftState(**found.groupdict()) if found else None


def refill(text: str, blocks: Mapping[str, str], shown: Callable[[str], str]) -> str:
    """Give a draft with its blocks written anew; what stands between them stays, and a block that is gone stays gone.

    What is written goes through `shown`, which keeps secrets out.
    """

    def anew(found: re.Match[str]) -> str:
        name = found["name"]
        return block(name, shown(blocks[name])) if name in blocks else found.group()

    return _BLOCK.sub(anew, text)


def visible_lines(text: str) -> int:
    """Count the lines that a reader sees: no comments, no blank lines, nothing folded."""
    shown = _DETAILS.sub("", _COMMENT.sub(r"\1", text))
    return sum(1 for line in shown.splitlines() if line.strip())


def visible_in_blocks(text: str) -> int:
    """Count the visible lines of our blocks."""
    return sum(visible_lines(found["inner"]) for found in _BLOCK.finditer(text))


def open_todos(text: str) -> tuple[str, ...]:
    """Give what only a person can say and nobody has said yet: TODO lines, and issue numbers that are none."""
    shown = _COMMENT.sub(r"\1", text)
    return tuple(
        line.strip(" -*>|")
        for line in shown.splitlines()
        if TODO in line or _PLACEHOLDER.search(line)
    )


def with_issue(text: str, issues: Iterable[str]) -> str:
    """Put the first issue where a template has a placeholder for one."""
    first = next(iter(issues), "")
    return _PLACEHOLDER.sub(first, text) if first.startswith("#") else text
