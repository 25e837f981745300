"""docs/reference/review.md names every code that the rules write, and no other."""

from __future__ import annotations

import re
from pathlib import Path

from presubmit.review.api import _BREAKS

ROOT = Path(__file__).parents[3]
RULES = "api|documentation|dockerfile|pins|packaging|files|symbols"


def written() -> set[str]:
    """Give the codes in the rules' sources, as literals and as the first word of a helper's call."""
    found = {f"api.{kind}" for kind in _BREAKS.values()} | {"api.added", "api.module-added"}
    for path in (ROOT / "presubmit/review").glob("*.py"):
        text = path.read_text()
        found |= set(re.findall(rf'"((?:{RULES})\.[a-z-]+)"', text))
        if path.stem in {"dockerfile", "packaging"}:
            found |= {
                f"{path.stem}.{kind}" for kind in re.findall(r'_remark\(\s*"([a-z-]+)"', text)
            }
        if path.stem == "pins":
            found |= {f"pins.{kind}" for kind in re.findall(r'_index\(\s*"([a-z-]+)"', text)}
        if path.stem == "documentation":
            found |= {f"documentation.stale-{kind}" for kind in re.findall(r'kind="(\w+)"', text)}
            found |= {
                f"documentation.{kind}" for kind in re.findall(r'_new\(one, "([a-z-]+)"', text)
            }
    return {code for code in found if not code.endswith(".py")}


def test_the_reference_names_every_code_and_no_other() -> None:
    page = (ROOT / "docs/reference/review.md").read_text()
    assert set(re.findall(rf"^\| `((?:{RULES})\.[a-z-]+)`", page, re.MULTILINE)) == written()
