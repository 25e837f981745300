"""What the change touches, as the actions that ask GitHub for it would be told: by git, in the repository's stand-in."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from presubmit.replay.actions import exchange
from presubmit.replay.job.action import ActionFailedError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from presubmit.replay.job.action import ActionStep

_STATUSES: Final = {
    "A": "added",
    "D": "deleted",
    "M": "modified",
    "T": "modified",
    "U": "unmerged",
}
_PULL_REQUEST: Final = frozenset(
    {
        "pull_request",
        "pull_request_target",
        "pull_request_review",
        "pull_request_review_comment",
    }
)
_DIFF: Final = (
    'exec git --no-optional-locks -c core.quotePath=false -C "$1" '
    'diff --no-ext-diff --no-renames --name-status -z "$3" >"$2"'
)
_WORKTREE: Final = (
    'exec git -C "$1" diff --no-ext-diff --no-renames --name-status -z "$3" -- >"$2"'
)


class ChangedPath(NamedTuple):
    """A path and what became of it: `added`, `modified` or `deleted` (a rename is one of each)."""

    path: str
    status: str


def changed_paths(
    step: ActionStep, *, base: str, ref: str, folder: str
) -> tuple[ChangedPath, ...]:
    """List what changed: for a pull request all of it (three dots), else since the last push or `base`.

    Raises ActionFailedError where git cannot tell.
    """
    if base == "HEAD":
        return _diff(step, _WORKTREE, folder, "HEAD")
    event = step.cell.github.get("event")
    payload: dict[str, Any] = event if isinstance(event, dict) else {}
    name = str(step.cell.github.get("event_name", ""))
    if name in _PULL_REQUEST and isinstance(request := payload.get("pull_request"), dict):
        low, high = (str(request.get(side, {}).get("sha", "")) for side in ("base", "head"))
        return _diff(step, _DIFF, step.cell.origin, f"{low}...{high or step.cell.github['sha']}")
    head = ref or str(step.cell.github.get("sha", ""))
    before = str(payload.get("before", ""))
    if not base and before.strip("0"):
        return _diff(step, _DIFF, step.cell.origin, f"{before}..{head}")
    repository = payload.get("repository")
    default = str(repository.get("default_branch", "")) if isinstance(repository, dict) else ""
    low = base or default
    if not low:
        raise ActionFailedError(
            "This action requires 'base' input to be configured or "
            "'repository.default_branch' to be set in the event payload"
        )
    return _diff(step, _DIFF, step.cell.origin, f"{low.removeprefix('refs/heads/')}...{head}")


def _diff(step: ActionStep, script: str, folder: str, what: str) -> tuple[ChangedPath, ...]:
    with exchange.answer(step) as answer:
        done = step.ask(f"exec 2>&1; {script}", folder, answer.inside, what)
        data = answer.read()
    if done.exit_code != 0:
        raise ActionFailedError(f"git cannot compare {what}: {done.text.strip()[-300:]}")
    return tuple(_parsed(data))


def _parsed(data: bytes) -> Iterator[ChangedPath]:
    words = [os.fsdecode(word) for word in data.split(b"\0")]
    for letter, path in zip(words[::2], words[1::2], strict=False):
        yield ChangedPath(path, _STATUSES.get(letter[:1], "modified"))
