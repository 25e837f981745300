"""Keeps files between runs as `actions/cache` does: an archive for a key, written once, found again by prefix.

https://docs.github.com/en/actions/reference/workflows-and-actions/dependency-caching (cache key matching) and
https://github.com/actions/toolkit/tree/main/packages/cache. An entry is `VERSION/HASH.tar` and `HASH.json`, the
latter written last; both appear in one step, so that cells side by side never see half of one.
"""

from __future__ import annotations

import hashlib
import json
import os
import posixpath
import secrets
import time
from typing import TYPE_CHECKING, Final

import msgspec

from presubmit.replay.actions import exchange
from presubmit.replay.actions.globber import globber
from presubmit.replay.job.action import ActionFailedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from presubmit.replay.job.action import ActionStep

_LONGEST_KEY: Final = 512
_MOST_KEYS: Final = 10

# $1 the entry without its ending, $2 a scratch name, $3 the list of paths, $4 the workspace, $5 what is known of it.
_SAVE: Final = r"""
exec 2>&1
mkdir -p "${1%/*}" || exit 1
trap 'rm -f "$2.tar" "$2.json"' EXIT
tar --version 2>/dev/null | grep -q 'GNU tar' && posix=--posix || posix=
tar $posix -cf "$2.tar" -P -C "$4" -T "$3" || exit 1
printf '%s\n' "$5" >"$2.json" && mv -f "$2.tar" "$1.tar" && mv -f "$2.json" "$1.json"
"""


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One entry; `place` is its path without an ending."""

    key: str
    created: int
    place: str


def check_keys(keys: Sequence[str]) -> None:
    """Refuse the keys that the cache refuses; raises ActionFailedError."""
    if len(keys) > _MOST_KEYS:
        raise ActionFailedError("Key Validation Error: Keys are limited to a maximum of 10.")
    for key in keys:
        if len(key) > _LONGEST_KEY:
            raise ActionFailedError(
                f"Key Validation Error: {key} cannot be larger than 512 characters."
            )
        if "," in key:
            raise ActionFailedError(f"Key Validation Error: {key} cannot contain commas.")


def find(step: ActionStep, paths: Sequence[str], keys: Sequence[str]) -> Entry | None:
    """Find the entry for keys: the first one exactly, then each as a prefix, the newest first."""
    entries = _entries(step, paths)
    exact = next((one for one in entries if one.key == keys[0]), None)
    if exact is not None:
        return exact
    return next((one for key in keys for one in entries if one.key.startswith(key)), None)


def restore(step: ActionStep, entry: Entry) -> bool:
    """Lay an entry's files where they came from; whether that went well."""
    script = 'exec 2>&1; touch "$1.tar"; exec tar -xf "$1.tar" -P -C "$2"'
    done = step.ask(script, entry.place, step.cell.workspace)
    if done.exit_code != 0:
        step.annotate("warning", f"Failed to restore: {done.text.strip()[-200:]}")
    return done.exit_code == 0


def save(step: ActionStep, paths: Sequence[str], key: str) -> bool:
    """Make an entry; an entry that is there stays as it is. Whether there is one now."""
    folder = _folder(step, paths)
    if not folder:
        return False
    if any(one.key == key for one in _entries(step, paths)):
        step.say(f"Cache with key {key} exists already, another job may have created it.")
        return True
    workspace = step.cell.workspace
    found = globber(step, paths).find(step, descendants=False)
    if not found:
        step.annotate(
            "warning",
            "Path Validation Error: Path(s) specified in the action for caching do(es) not exist, "
            "hence no cache is being saved.",
        )
        return False
    listed = b"".join(
        b"./" + os.fsencode(posixpath.relpath(one.path, workspace)) + b"\n"
        for one in found
        if "\n" not in one.path
    )
    place = f"{folder}/{hashlib.sha256(key.encode()).hexdigest()[:40]}"
    known = json.dumps({"key": key, "created": time.time_ns()})
    with exchange.handed(step, listed) as names:
        scratch = f"{folder}/.{secrets.token_hex(8)}"
        done = step.ask(_SAVE, place, scratch, names, workspace, known)
    if done.exit_code != 0:
        step.annotate("warning", f"Failed to save: {done.text.strip()[-200:]}")
    return done.exit_code == 0


def _entries(step: ActionStep, paths: Sequence[str]) -> tuple[Entry, ...]:
    """List the entries for these paths, the newest first."""
    folder = _folder(step, paths)
    if not folder:
        return ()
    said = step.ask('cd "$1" 2>/dev/null && cat -- *.json 2>/dev/null', folder)
    found = []
    for line in said.text.splitlines():
        try:
            known = json.loads(line)
            key, created = str(known["key"]), int(known["created"])
        except (ValueError, KeyError, TypeError):
            continue
        place = f"{folder}/{hashlib.sha256(key.encode()).hexdigest()[:40]}"
        found.append(Entry(key=key, created=created, place=place))
    return tuple(sorted(found, key=lambda one: -one.created))


def _folder(step: ActionStep, paths: Sequence[str]) -> str:
    """Name the folder of the entries for these paths (the cache's `version`); empty where nothing is kept."""
    kept = step.cell.env.get("PRESUBMIT_CACHES", "")
    version = hashlib.sha256("|".join((*paths, "1.0")).encode()).hexdigest()[:40]
    return f"{kept}/actions-cache/{version}" if kept else ""
