"""The files of a tree that a build file's pattern means."""

from __future__ import annotations

import functools
import posixpath
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

_PIECE = re.compile(r"\*\*/|\*\*|\*|\?|\[!?[^\]/]+\]|[^*?\[]+|\[", re.DOTALL)


def matching(paths: Collection[str], folder: str, pattern: str) -> list[str]:
    """Give the paths that match a pattern relative to a folder; a pattern without wildcards is one path."""
    whole = posixpath.normpath(posixpath.join(folder, pattern))
    if not re.search(r"[*?\[]", whole):
        return [whole]
    expression = _expression(whole)
    return [path for path in sorted(paths) if expression.fullmatch(path)]


@functools.lru_cache(maxsize=256)
def _expression(pattern: str) -> re.Pattern[str]:
    made = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    out = ""
    for piece in _PIECE.findall(pattern):
        if piece in made:
            out += made[piece]
        elif piece.startswith("[") and len(piece) > 1:
            inner = piece[1:-1].replace("\\", r"\\").replace("[", r"\[")
            out += f"[^{inner[1:]}]" if inner.startswith("!") else f"[{inner}]"
        else:
            out += re.escape(piece)
    return re.compile(out, re.DOTALL)
