"""Makes text of unknown origin harmless for the place it is shown in: terminal, Markdown, GitHub's commands."""

from __future__ import annotations

import re
from typing import Final

_CONTROL: Final = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]"
)
_MARKDOWN: Final = re.compile(r"([\\`*_{}\[\]<>()#+|~!-])")


def for_terminal(text: str) -> str:
    """Show control characters, direction marks and undecodable bytes as escapes; line ends and tabs stay."""
    shown = text.encode("utf-8", "backslashreplace").decode("utf-8")
    return _CONTROL.sub(lambda m: m.group().encode("unicode_escape").decode(), shown)


def one_line(text: str, most: int = 300) -> str:
    """Give text as one harmless line of at most `most` characters."""
    line = " ".join(for_terminal(text).split())
    return line if len(line) <= most else line[: most - 1] + "…"


def for_markdown(text: str) -> str:
    """Escape what Markdown or HTML would read; the result is one line."""
    line = one_line(text, 1000)
    return (
        _MARKDOWN.sub(r"\\\1", line.replace("&", "&amp;"))
        .replace("\\<", "&lt;")
        .replace("\\>", "&gt;")
    )


def for_code(text: str) -> str:
    """Give text as one Markdown code span that it cannot end."""
    line = one_line(text, 1000)
    longest = max((len(run) for run in re.findall(r"`+", line)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{pad}{line}{pad}{fence}"


def for_code_in_table(text: str) -> str:
    """Give text as a code span inside a table, whose cells end at a pipe even in code."""
    return for_code(text).replace("|", "\\|")


def for_command_data(text: str) -> str:
    """Escape the message of a GitHub workflow command (actions/toolkit, packages/core/src/command.ts)."""
    return for_terminal(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def for_command_property(text: str) -> str:
    """Escape a property of a GitHub workflow command (as above)."""
    return for_command_data(text).replace(":", "%3A").replace(",", "%2C")
