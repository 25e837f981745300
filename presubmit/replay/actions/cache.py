"""actions/cache, actions/cache/restore and actions/cache/save: kept between runs in a folder of presubmit's own.

https://github.com/actions/cache: action.yml, restore/action.yml, save/action.yml, src/restoreImpl.ts, src/saveImpl.ts.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from presubmit.replay.actions import cache_store
from presubmit.replay.job.action import ActionFailedError, Support

if TYPE_CHECKING:
    from presubmit.replay.job.action import ActionStep, Wanted
    from presubmit.upstream.here import Here

NAMES: Final = ("actions/cache", "actions/cache/restore", "actions/cache/save")


def support(wanted: Wanted, here: Here) -> Support:  # noqa: ARG001 - the protocol's
    """Nothing is needed."""
    return Support()


def run(step: ActionStep) -> None:
    """Restore, or save."""
    match _part(step):
        case "save":
            save(step, _paths(step), _key(step))
        case "restore":
            _restore(step, alone=True)
        case _:
            _restore(step, alone=False)


def post(step: ActionStep) -> None:
    """Save what `actions/cache` did not find under its very key."""
    if _part(step) == "" and "key" in step.state:
        save(step, _paths(step), step.state["key"], matched=step.state.get("matched", ""))


def restore(
    step: ActionStep, paths: tuple[str, ...], keys: tuple[str, ...], *, lookup_only: bool = False
) -> str:
    """Restore the entry that fits best; gives its key, empty where there is none."""
    cache_store.check_keys(keys)
    entry = cache_store.find(step, paths, keys)
    if entry is None:
        step.say(f"Cache not found for input keys: {', '.join(keys)}")
        return ""
    if lookup_only:
        step.say(f"Cache found and can be restored from key: {entry.key}")
        return entry.key
    if not cache_store.restore(step, entry):
        return ""
    step.say(f"Cache restored from key: {entry.key}")
    return entry.key


def save(step: ActionStep, paths: tuple[str, ...], key: str, *, matched: str = "") -> None:
    """Save an entry, unless the one that was restored had this very key."""
    if _is_exact(key, matched):
        step.say(f"Cache hit occurred on the primary key {key}, not saving cache.")
        return
    if cache_store.save(step, paths, key):
        step.say(f"Cache saved with key: {key}")


def _restore(step: ActionStep, *, alone: bool) -> None:
    paths, key = _paths(step), _key(step)
    keys = (key, *_lines(step, "restore-keys"))
    if alone:
        step.set_output("cache-primary-key", key)
    else:
        step.state["key"] = key
    matched = restore(step, paths, keys, lookup_only=step.flag("lookup-only"))
    if not matched:
        # `cache-hit` stays empty then: https://github.com/actions/cache/issues/1466.
        if step.flag("fail-on-cache-miss"):
            raise ActionFailedError(
                f"Failed to restore cache entry. Exiting as fail-on-cache-miss is set. Input key: {key}"
            )
        return
    if alone:
        step.set_output("cache-matched-key", matched)
    else:
        step.state["matched"] = matched
    step.set_output("cache-hit", "true" if _is_exact(key, matched) else "false")


def _part(step: ActionStep) -> str:
    """`restore`, `save`, or empty for the action that does both."""
    return step.wanted.uses.partition("@")[0].lower().removeprefix("actions/cache").strip("/")


def _key(step: ActionStep) -> str:
    key = step.input("key")
    if not key:
        raise ActionFailedError("Input required and not supplied: key")
    return key


def _paths(step: ActionStep) -> tuple[str, ...]:
    paths = _lines(step, "path")
    if not paths:
        raise ActionFailedError("Input required and not supplied: path")
    return paths


def _lines(step: ActionStep, name: str) -> tuple[str, ...]:
    return tuple(re.sub(r"^!\s+", "!", line) for line in step.lines(name))


def _is_exact(key: str, matched: str) -> bool:
    """Whether a key was met, as the action compares them: in any letter case."""
    return matched.casefold() == key.casefold() and matched != ""
