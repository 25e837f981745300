"""Small pieces of a draft's Markdown."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from presubmit.report.escape import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

_SIGNS: Final = re.compile(r"([\\`*_\[\]|~])")


def in_text(text: str) -> str:
    """Escape what Markdown or HTML would read within a line; an author edits this, so no more than that."""
    line = one_line(text, 1000).replace("&", "&amp;")
    return _SIGNS.sub(r"\\\1", line).replace("<", "&lt;").replace(">", "&gt;")


def listed(names: Sequence[str], *, most: int) -> str:
    """Give the first few names, and how many more there are."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def at_most(lines: Sequence[str], most: int, *, what: str = "more") -> list[str]:
    """Give the first lines, and one that says how many are left out."""
    if len(lines) <= most:
        return list(lines)
    return [*lines[: most - 1], f"- and {len(lines) - most + 1} {what}"]


def folded(title: str, lines: Sequence[str]) -> list[str]:
    """Give lines that a reader unfolds."""
    return [
        "<details><summary>" + in_text(title) + "</summary>",
        "",
        *lines,
        "",
        "</details>",
    ]
