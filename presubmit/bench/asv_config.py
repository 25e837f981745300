"""Reads what asv's config says of where its benchmarks are: JSON with comments and trailing commas."""

from __future__ import annotations

import json
import posixpath
import re
from typing import Final

# A string is taken whole, so that what looks like a comment in it stays.
_PIECES: Final = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_COMMA: Final = re.compile(r'("(?:[^"\\]|\\.)*")|,(?=\s*[]}])', re.DOTALL)


def read_benchmark_dir(config: str, text: str) -> str:
    """Give the folder of the benchmarks in the tree; a ValueError says what is wrong with the config."""
    bare = _PIECES.sub(lambda it: it[0] if it[0].startswith('"') else " ", text)
    bare = _COMMA.sub(lambda it: it[1] or "", bare)
    try:
        data = json.loads(bare)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"it is no JSON with comments: {error}") from error
    if not isinstance(data, dict):
        raise ValueError("it is no JSON object")  # noqa: TRY004 - what cannot be read is one kind of error
    # https://asv.readthedocs.io/en/stable/asv.conf.json.html: relative to the config, `benchmarks` where it is not given.
    folder = data.get("benchmark_dir", "benchmarks")
    if not isinstance(folder, str):
        raise ValueError("its benchmark_dir is no text")  # noqa: TRY004 - as above
    root = posixpath.normpath(posixpath.join(posixpath.dirname(config), folder))
    if root == "." or root.startswith(("../", "/")) or root == "..":
        raise ValueError(f"its benchmark_dir `{folder}` is no folder within the tree")
    return root
