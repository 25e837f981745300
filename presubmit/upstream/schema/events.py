"""What may stand below `on`.

Sources: GitHub docs "Events that trigger workflows" and "Workflow syntax" (`on`), workflow-v1.0.json of
actions/languageservices. An event, filter or activity type that is not listed is a warning: new ones appear.
"""

from __future__ import annotations

from typing import Final

from presubmit.upstream.schema.shapes import (
    BOOLEAN,
    FILLED,
    TEXT,
    Keys,
    Shape,
    mapping,
    mapping_of,
    scope,
)

_FILTER: Final = Shape(filled=True, items=FILLED, null=True)
_ISSUE_COMMENT: Final = "created edited deleted"
_PULL_REQUEST: Final = (
    "assigned unassigned labeled unlabeled opened edited closed reopened synchronize converted_to_draft locked "
    "unlocked enqueued dequeued milestoned demilestoned ready_for_review review_requested review_request_removed "
    "auto_merge_enabled auto_merge_disabled stacked"
)
_ACTIVITIES: Final = {
    "branch_protection_rule": "created edited deleted",
    "check_run": "created rerequested completed requested_action",
    "check_suite": "completed",
    "create": "",
    "delete": "",
    "deployment": "",
    "deployment_status": "",
    "discussion": "created edited deleted transferred pinned unpinned labeled unlabeled locked unlocked "
    "category_changed answered unanswered",
    "discussion_comment": "created edited deleted",
    "fork": "",
    "gollum": "",
    "image_version": "created ready deleted",
    "issue_comment": _ISSUE_COMMENT,
    "issues": "opened edited deleted transferred pinned unpinned closed reopened assigned unassigned labeled "
    "unlabeled locked unlocked milestoned demilestoned field_added field_removed typed untyped",
    "label": "created edited deleted",
    "member": "",
    "merge_group": "checks_requested",
    "milestone": "created closed opened edited deleted",
    "page_build": "",
    "project": "created closed reopened edited deleted",
    "project_card": "created moved converted edited deleted",
    "project_column": "created updated moved deleted",
    "public": "",
    "pull_request": _PULL_REQUEST,
    "pull_request_comment": _ISSUE_COMMENT,
    "pull_request_review": "submitted edited dismissed",
    "pull_request_review_comment": "created edited deleted",
    "pull_request_target": _PULL_REQUEST,
    "push": "",
    "registry_package": "published updated",
    "release": "published unpublished created edited deleted prereleased released",
    "repository_dispatch": "",
    "status": "",
    "watch": "started",
    "workflow_run": "completed requested in_progress",
}

_BRANCHES: Final = ("branches", "branches-ignore")
_PATHS: Final = ("paths", "paths-ignore")
_FILTERS: Final[dict[str, tuple[str, ...]]] = {
    "image_version": ("names", "versions"),
    "merge_group": _BRANCHES,
    "pull_request": (*_BRANCHES, *_PATHS),
    "pull_request_target": (*_BRANCHES, *_PATHS),
    "push": (*_BRANCHES, "tags", "tags-ignore", *_PATHS),
    "workflow_run": (*_BRANCHES, "workflows"),
}
# Events whose `types` are words of the sender's own.
_OWN_TYPES: Final = frozenset({"repository_dispatch"})


def _event(name: str) -> Shape:
    known = dict.fromkeys(_FILTERS.get(name, ()), _FILTER)
    activities = tuple(_ACTIVITIES[name].split())
    if name in _OWN_TYPES:
        known["types"] = _FILTER
    elif activities:
        known["types"] = Shape(usual=activities, items=Shape(usual=activities), null=True)
    return Shape(null=True, mappings=(Keys(known=known),))


_INPUT_KINDS: Final = ("string", "boolean", "number")

_CALL_SCOPE: Final = ("github", "inputs", "vars")
_CALL_INPUT: Final = mapping(
    Keys(
        known={
            "description": TEXT,
            "type": Shape(words=_INPUT_KINDS),
            "required": BOOLEAN,
            "default": Shape(text=True, boolean=True, number=True, scope=scope(*_CALL_SCOPE)),
        },
        required=("type",),
    )
)
_CALL_SECRET: Final = Shape(
    null=True, mappings=(Keys(known={"description": TEXT, "required": BOOLEAN}),)
)
_CALL_OUTPUT: Final = mapping(
    Keys(
        known={
            "description": TEXT,
            "value": Shape(text=True, scope=scope(*_CALL_SCOPE, "jobs")),
        },
        required=("value",),
    )
)
_CALL: Final = Shape(
    null=True,
    mappings=(
        Keys(
            known={
                "inputs": mapping_of(_CALL_INPUT),
                "secrets": mapping_of(_CALL_SECRET),
                "outputs": mapping_of(_CALL_OUTPUT),
            }
        ),
    ),
)

_DISPATCH_INPUT: Final = Shape(
    null=True,
    mappings=(
        Keys(
            known={
                "description": TEXT,
                "type": Shape(usual=(*_INPUT_KINDS, "choice", "environment")),
                "required": BOOLEAN,
                "default": Shape(text=True, boolean=True, number=True),
                "options": Shape(items=TEXT),
                "deprecationMessage": TEXT,
            },
            closed=True,
        ),
    ),
)
_DISPATCH: Final = Shape(
    null=True,
    mappings=(
        Keys(
            known={
                "inputs": Shape(null=True, mappings=(Keys(known={}, others=_DISPATCH_INPUT),)),
            },
            # Real workflows filter a dispatch by paths, and run (astropy's CFF-test.yml).
            idle=frozenset(("types", *(name for names in _FILTERS.values() for name in names))),
            closed=True,
        ),
    ),
)

_SCHEDULE: Final = Shape(
    items=mapping(Keys(known={"cron": FILLED, "timezone": FILLED}, required=("cron",)))
)

EVENTS: Final[dict[str, Shape]] = {
    **{name: _event(name) for name in _ACTIVITIES},
    "schedule": _SCHEDULE,
    "workflow_call": _CALL,
    "workflow_dispatch": _DISPATCH,
}

_NAMES: Final = tuple(EVENTS)
ON: Final = Shape(usual=_NAMES, items=Shape(usual=_NAMES), mappings=(Keys(known=EVENTS),))
