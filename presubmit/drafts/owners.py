"""Reads CODEOWNERS: who is asked to review which of the changed files."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

PLACES: Final = (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS")


def read_owners(text: str, paths: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Give the owners of each path; the last line that matches decides, also where it names nobody."""
    rules = [rule for line in text.splitlines() if (rule := _rule(line))]
    found = {}
    for path in paths:
        names = next((names for pattern, names in reversed(rules) if pattern.search(path)), ())
        if names:
            found[path] = names
    return found


def _rule(line: str) -> tuple[re.Pattern[str], tuple[str, ...]] | None:
    words = re.split(r"\s+#", line.strip())[0].replace("\\ ", "\0").split()
    if not words or words[0].startswith(("#", "[", "!")):
        return None
    return _pattern(words[0].replace("\0", " ")), tuple(words[1:])


def _pattern(glob: str) -> re.Pattern[str]:
    """Read a pattern as .gitignore has it; one that holds a slash in its middle begins at the top."""
    anchored = "/" in glob.rstrip("/")
    inner = glob.strip("/")
    text = ""
    for part in re.split(r"(\*\*/|/\*\*|\*\*|\*|\?)", inner):
        text += _SIGNS.get(part, re.escape(part))
    # `docs/*` is the folder's own files; whatever else names a folder names all below it.
    end = "$" if glob.endswith("/*") else ("/" if glob.endswith("/") else "(?:/|$)")
    return re.compile(("^" if anchored else "(?:^|/)") + text + end)


_SIGNS: Final = {"**/": "(?:.*/)?", "/**": "/.*", "**": ".*", "*": "[^/]*", "?": "[^/]"}
