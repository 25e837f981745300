"""What may stand in a workflow file.

Sources: GitHub docs "Workflow syntax" and "Contexts" (availability), workflow-v1.0.json of actions/runner and of
actions/languageservices. Where the two differ, what either allows is allowed.
"""

from __future__ import annotations

from typing import Final

from presubmit.upstream.schema.events import ON
from presubmit.upstream.schema.shapes import (
    ANY_NUMBER,
    ANYTHING,
    BOOLEAN,
    FILLED,
    FILLED_ITEMS,
    NUMBER,
    ONE_OR_MORE,
    TEXT,
    Function,
    Keys,
    Shape,
    mapping,
    mapping_of,
    scope,
)

# --- scopes -----------------------------------------------------------------------------------------------------------

_HASH: Final[Function] = ("hashFiles", (1, 255))
_STATUS: Final[tuple[Function, ...]] = (("always", (0, 0)), ("cancelled", (0, 0)))
_JOB_STATUS: Final = (*_STATUS, ("success", (0, ANY_NUMBER)), ("failure", (0, ANY_NUMBER)))
_STEP_STATUS: Final = (*_STATUS, ("success", (0, 0)), ("failure", (0, 0)), _HASH)

_EARLY: Final = ("github", "inputs", "vars")
_JOB: Final = (*_EARLY, "needs", "strategy", "matrix")
_RUNNER: Final = (*_JOB, "steps", "job", "runner", "env")

_IN_WORKFLOW: Final = scope(*_EARLY)
_IN_NEEDS: Final = scope(*_EARLY, "needs")
_IN_JOB: Final = scope(*_JOB)
_IN_RUNNER: Final = scope(*_RUNNER, "secrets")
_IN_STEP: Final = scope(*_RUNNER, "secrets", functions=(_HASH,))

# --- parts ------------------------------------------------------------------------------------------------------------

_LEVEL: Final = Shape(words=("read", "write", "none"))
_PERMISSIONS: Final = Shape(
    words=("read-all", "write-all"),
    mappings=(
        Keys(
            known={
                **dict.fromkeys(
                    (
                        "actions",
                        "artifact-metadata",
                        "attestations",
                        "checks",
                        "code-quality",
                        "contents",
                        "deployments",
                        "discussions",
                        "drives",
                        "issues",
                        "packages",
                        "pages",
                        "pull-requests",
                        "repository-projects",
                        "security-events",
                        "statuses",
                    ),
                    _LEVEL,
                ),
                "copilot-requests": Shape(words=("write", "none")),
                "id-token": Shape(words=("write", "none")),
                "models": Shape(words=("read", "none")),
                "vulnerability-alerts": Shape(words=("read", "none")),
            }
        ),
    ),
)

_CONCURRENCY: Final = Keys(
    known={
        "group": FILLED,
        "cancel-in-progress": BOOLEAN,
        "queue": Shape(usual=("single", "max")),
    },
    required=("group",),
)

# Since September 2026 (GitHub changelog of 2026-09-10).
_CACHE_MODE: Final = Shape(usual=("read", "write", "write-only", "none"), scope=_IN_NEEDS)

_RUN_DEFAULTS: Final = Keys(known={"shell": FILLED, "working-directory": FILLED})


def _defaults(*names: str) -> Shape:
    return mapping(Keys(known={"run": mapping(_RUN_DEFAULTS, scope=scope(*names))}))


_CONTAINER: Final = {
    # `container: {image: ''}` is no container at all, which an expression may want.
    "image": TEXT,
    "options": TEXT,
    "env": mapping_of(TEXT, _IN_RUNNER),
    "ports": FILLED_ITEMS,
    "volumes": FILLED_ITEMS,
    "credentials": mapping(
        Keys(known={"username": FILLED, "password": FILLED}, closed=True),
        scope=scope(*_EARLY, "secrets", "env"),
    ),
}
_SERVICE: Final = Shape(
    text=True,
    mappings=(Keys(known={**_CONTAINER, "entrypoint": TEXT, "command": TEXT}),),
    scope=_IN_JOB,
)

_FREE_ITEM: Final = mapping_of(ANYTHING)
_STRATEGY: Final = mapping(
    Keys(
        known={
            "fail-fast": BOOLEAN,
            "max-parallel": NUMBER,
            "matrix": mapping(
                Keys(
                    known={"include": Shape(items=_FREE_ITEM), "exclude": Shape(items=_FREE_ITEM)},
                    others=Shape(items=ANYTHING),
                )
            ),
        }
    ),
    scope=_IN_NEEDS,
)

_ENVIRONMENT: Final = Shape(
    text=True,
    mappings=(
        Keys(
            known={
                "name": TEXT,
                "url": Shape(text=True, scope=scope(*_RUNNER)),
                "deployment": BOOLEAN,
            },
            required=("name",),
        ),
    ),
    scope=_IN_JOB,
)

_SNAPSHOT: Final = Shape(
    filled=True,
    mappings=(
        Keys(
            known={
                "image-name": FILLED,
                "version": FILLED,
                "if": Shape(
                    text=True, condition=True, scope=scope(*_RUNNER, functions=_STEP_STATUS)
                ),
            },
            required=("image-name",),
        ),
    ),
    scope=_IN_JOB,
)

# --- steps ------------------------------------------------------------------------------------------------------------

_STEP_TEXT: Final = Shape(text=True, scope=_IN_STEP)
_STEP_VALUES: Final = mapping_of(TEXT, _IN_STEP)
_ANY_STEP: Final = {
    "name": _STEP_TEXT,
    "id": FILLED,
    "continue-on-error": Shape(boolean=True, scope=_IN_STEP),
}
_DOING_STEP: Final = {
    **_ANY_STEP,
    "if": Shape(text=True, condition=True, scope=scope(*_RUNNER, functions=_STEP_STATUS)),
    "timeout-minutes": Shape(number=True, scope=_IN_STEP),
    "env": _STEP_VALUES,
    "background": BOOLEAN,
}
_STEPS: Final = (
    Keys(
        known={
            **_DOING_STEP,
            "run": _STEP_TEXT,
            "working-directory": _STEP_TEXT,
            "shell": FILLED,
        },
        required=("run",),
    ),
    Keys(known={**_DOING_STEP, "uses": FILLED, "with": _STEP_VALUES}, required=("uses",)),
    Keys(known={**_ANY_STEP, "wait": ONE_OR_MORE}, required=("wait",)),
    Keys(known={**_ANY_STEP, "wait-all": Shape(null=True, boolean=True)}, required=("wait-all",)),
    Keys(known={**_ANY_STEP, "cancel": FILLED}, required=("cancel",)),
)
_PARALLEL: Final = Keys(
    known={"parallel": Shape(items=mapping(*_STEPS[:2]))}, required=("parallel",)
)

# --- jobs -------------------------------------------------------------------------------------------------------------

_ANY_JOB: Final = {
    "name": Shape(text=True, scope=_IN_JOB),
    "needs": ONE_OR_MORE,
    "if": Shape(text=True, condition=True, scope=scope(*_EARLY, "needs", functions=_JOB_STATUS)),
    "permissions": _PERMISSIONS,
    "cache-mode": _CACHE_MODE,
    "concurrency": Shape(filled=True, mappings=(_CONCURRENCY,), scope=_IN_JOB),
    "strategy": _STRATEGY,
}
_NUMBER_IN_JOB: Final = Shape(number=True, scope=_IN_JOB)
_RUNNER_JOB: Final = Keys(
    known={
        **_ANY_JOB,
        "runs-on": Shape(
            filled=True,
            items=FILLED,
            mappings=(Keys(known={"group": FILLED, "labels": ONE_OR_MORE}),),
            scope=_IN_JOB,
        ),
        "timeout-minutes": _NUMBER_IN_JOB,
        "cancel-timeout-minutes": _NUMBER_IN_JOB,
        "continue-on-error": Shape(boolean=True, scope=_IN_JOB),
        "container": Shape(text=True, mappings=(Keys(known=_CONTAINER),), scope=_IN_JOB),
        "services": mapping_of(_SERVICE, _IN_JOB),
        "env": mapping_of(TEXT, scope(*_JOB, "secrets")),
        "environment": _ENVIRONMENT,
        "outputs": mapping_of(Shape(text=True, scope=_IN_RUNNER)),
        "defaults": _defaults(*_JOB, "env"),
        "steps": Shape(items=mapping(*_STEPS, _PARALLEL)),
        "snapshot": _SNAPSHOT,
    },
    required=("runs-on",),
)
_CALLED_WITH: Final = Shape(text=True, boolean=True, number=True, scope=_IN_JOB)
_CALLED_SECRET: Final = Shape(text=True, boolean=True, number=True, scope=scope(*_JOB, "secrets"))
_CALLING_JOB: Final = Keys(
    known={
        **_ANY_JOB,
        "uses": FILLED,
        "with": mapping_of(_CALLED_WITH),
        "secrets": Shape(words=("inherit",), mappings=mapping_of(_CALLED_SECRET).mappings),
    },
    required=("uses",),
)

WORKFLOW: Final = mapping(
    Keys(
        known={
            "on": ON,
            "name": TEXT,
            "description": TEXT,
            "run-name": Shape(text=True, scope=_IN_WORKFLOW),
            "defaults": _defaults(),
            "env": mapping_of(TEXT, scope(*_EARLY, "secrets")),
            "permissions": _PERMISSIONS,
            "cache-mode": Shape(usual=_CACHE_MODE.usual, scope=_IN_WORKFLOW),
            "concurrency": Shape(text=True, mappings=(_CONCURRENCY,), scope=_IN_WORKFLOW),
            "jobs": mapping_of(mapping(_RUNNER_JOB, _CALLING_JOB)),
        },
        required=("on", "jobs"),
    )
)
