"""What evidence is found by: in the standard library alone, since a push waits for it (`hook_entry`).

Evidence says that the whole required plan of a tier ran green on a tree, against a base, with these settings, by this
presubmit. It is a row in history.db, in the repository's common git directory.
"""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Mapping

TABLE: Final = """
create table if not exists tier_evidence (
    tree text not null, base text not null, settings text not null, tool text not null, tier text not null,
    base_ref text not null, place text not null, plan text not null, at text not null,
    untracked text not null, on_base integer not null,
    primary key (tree, base, settings, tool, tier)
);
create table if not exists skipped_push (tree text not null, reason text not null, at text not null);
"""
COLUMNS: Final = ("tree", "base", "settings", "tool", "tier", "base_ref", "place", "plan", "at", "untracked", "on_base")  # fmt: skip
TIERS: Final = ("quick", "standard", "full")
SKIP: Final = "PRESUBMIT_SKIP"
_DECIDES_NOTHING: Final = (SKIP, "PRESUBMIT_REQUIRE_", "PRESUBMIT_ENGINE_HOME")


def user_config_path(environ: Mapping[str, str]) -> str:
    """Name the user's own config file; a relative base directory is ignored, as its specification wants it."""
    return os.path.join(
        base_directory(environ, "XDG_CONFIG_HOME", ".config"), "presubmit", "config.toml"
    )


def base_directory(environ: Mapping[str, str], name: str, otherwise: str) -> str:
    """Give one of the XDG base directories (https://specifications.freedesktop.org/basedir-spec/)."""
    given = environ.get(name) or ""
    return given if os.path.isabs(given) else os.path.join(os.path.expanduser("~"), otherwise)


def settings_digest(environ: Mapping[str, str]) -> str:
    """Name the user's own settings: the bytes of their config file, and the options in the environment.

    The project's are part of the tree. Raises OSError where the file is there and cannot be read.
    """
    try:
        with open(user_config_path(environ), "rb") as stream:
            data = stream.read()
    except FileNotFoundError:
        data = b""
    options = sorted(
        f"{name}={value}"
        for name, value in environ.items()
        if name.startswith(("PRESUBMIT_", "GITHUB_BASE_REF"))
        and not name.startswith(_DECIDES_NOTHING)
    )
    return hashlib.sha256(
        data + b"\0" + "\0".join(options).encode("utf-8", "surrogateescape")
    ).hexdigest()


def find_rows(connection: sqlite3.Connection, tree: str) -> list[dict[str, Any]]:
    """Give what is known of a tree, as dicts by column, the widest tier first, of one tier the newest."""
    names = ", ".join(COLUMNS)
    found = connection.execute(f"select {names} from tier_evidence where tree = ?", (tree,))  # noqa: S608 - our own names
    rows = [dict(zip(COLUMNS, row, strict=True)) for row in found.fetchall()]
    rows = [row for row in rows if row["tier"] in TIERS]
    return sorted(rows, key=lambda row: (TIERS.index(row["tier"]), row["at"]), reverse=True)


def why_not(row: Mapping[str, Any], *, base: str, settings: str, tool: str) -> str:
    """Name the first part of a row's key that differs; empty where the row holds. `base` is the commit now."""
    if row["tool"] != tool:
        return f"it is presubmit {row['tool']}'s, this is {tool}"
    if row["settings"] != settings:
        return "your own settings were others (config file or PRESUBMIT_ variables)"
    if row["base"] != base:
        return f"the base moved: {row['base_ref']} @ {row['base'][:7]} then, {base[:7] if base else 'none'} now"
    return ""


def in_words(row: Mapping[str, Any]) -> str:
    """Say what a row is evidence of."""
    known = f", {row['on_base']} failing on the base as well" if row["on_base"] else ""
    untracked = f", with untracked {row['untracked']}" if row["untracked"] else ""
    return (
        f"tree {row['tree'][:7]} passed tier {row['tier']} at {row['at']} against {row['base_ref']} @ {row['base'][:7]}"
        f" ({row['place']}{known}{untracked})"
    )
