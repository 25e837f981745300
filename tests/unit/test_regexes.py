"""Regular expressions of ours: what older patch releases of the supported Pythons get wrong."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

SOURCES = sorted((Path(__file__).parents[2] / "presubmit").rglob("*.py"))


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_no_possessive_group_is_used(path: Path) -> None:
    # Python 3.11.2 matches all of `1e` with `1(?:e[0-9])?+` (fixed in 3.11.5).
    text = path.read_text()
    patterns = re.findall(
        r"""\bre\.(?:compile|match|search|fullmatch|sub|findall)\(\s*[rb]*(["'].*)""", text
    )
    assert not [pattern for pattern in patterns if re.search(r"(?<!\\)\)[*+?]\+", pattern)]
