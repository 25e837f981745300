"""Small pieces of a draft's Markdown."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from presubmit.report.escape import for_code, one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

_CODE: Final = re.compile(r"`([^`\n]+)`")
_SIGNS: Final = re.compile(r"([\\`*_\[\]|~])")


def in_text(text: str) -> str:
    """Escape what Markdown or HTML would read within a line; an author edits this, so no more than that."""
    return _escaped(one_line(text, 1000))


def _escaped(line: str) -> str:
    shown = _SIGNS.sub(r"\\\1", line.replace("&", "&amp;"))
    return shown.replace("<", "&lt;").replace(">", "&gt;")


def in_prose(text: str) -> str:
    """Escape as `in_text` does, but leave `code` as code."""
    parts = _CODE.split(one_line(text, 1000))
    return "".join(for_code(it) if n % 2 else _escaped(it) for n, it in enumerate(parts))


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
