"""Reads TOML tables of other people's projects: what is absent or of another form is simply empty."""

from __future__ import annotations

import re
import tomllib
from typing import Any


def read_toml(text: str | None) -> dict[str, Any]:
    """Parse TOML; empty where there is none, or it is broken."""
    try:
        return tomllib.loads(text or "")
    except tomllib.TOMLDecodeError:
        return {}


def table(data: Any, *names: str) -> dict[str, Any]:  # noqa: ANN401 - parsed TOML
    """Give a table inside another, empty where it is absent or no table."""
    for name in names:
        data = data.get(name) if isinstance(data, dict) else None
    return data if isinstance(data, dict) else {}


def strings(value: Any) -> tuple[str, ...]:  # noqa: ANN401 - parsed TOML
    """Give the strings of a list; empty where it is none."""
    return (
        tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()
    )


def quoted(word: str) -> str:
    """Quote a word for a shell, where it needs that; `{…}` stays bare."""
    return (
        "'" + word.replace("'", "'\\''") + "'"
        if re.search(r"[^\w@%+=:,./\[\]{}-]", word)
        else word
    )
