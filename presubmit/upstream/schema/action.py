"""What may stand in an `action.yml`.

Sources: GitHub docs "Metadata syntax", action_yaml.json of actions/runner and action-v1.0.json of
actions/languageservices.
"""

from __future__ import annotations

from typing import Final

from presubmit.upstream.schema.shapes import (
    ANYTHING,
    FILLED,
    TEXT,
    Function,
    Keys,
    Shape,
    mapping,
    mapping_of,
    scope,
)

_HASH: Final[Function] = ("hashFiles", (1, 255))
_STATUS: Final[tuple[Function, ...]] = tuple(
    (name, (0, 0)) for name in ("always", "cancelled", "success", "failure")
)
_NAMES: Final = ("github", "inputs", "strategy", "matrix", "steps", "job", "runner", "env")
_IN_STEP: Final = scope(*_NAMES, functions=(_HASH,))
_STEP_TEXT: Final = Shape(text=True, scope=_IN_STEP)
_STEP_VALUES: Final = mapping_of(TEXT, _IN_STEP)
_IN_INPUTS: Final = scope("inputs")

_ANY_STEP: Final = {
    "name": _STEP_TEXT,
    "id": FILLED,
    "if": Shape(text=True, condition=True, scope=scope(*_NAMES, functions=(*_STATUS, _HASH))),
    "env": _STEP_VALUES,
    "continue-on-error": Shape(boolean=True, scope=_IN_STEP),
}
_STEPS: Final = Shape(
    items=mapping(
        Keys(
            known={
                **_ANY_STEP,
                "run": _STEP_TEXT,
                "shell": _STEP_TEXT,
                "working-directory": _STEP_TEXT,
            },
            required=("run", "shell"),
        ),
        Keys(known={**_ANY_STEP, "uses": FILLED, "with": _STEP_VALUES}, required=("uses",)),
    )
)

_COMPOSITE: Final = Keys(known={"using": FILLED, "steps": _STEPS}, required=("using", "steps"))
_NODE: Final = Keys(
    known=dict.fromkeys(("using", "main", "pre", "pre-if", "post", "post-if"), FILLED),
    required=("using", "main"),
)
_DOCKER: Final = Keys(
    known={
        **dict.fromkeys(
            (
                "using",
                "image",
                "entrypoint",
                "pre-entrypoint",
                "pre-if",
                "post-entrypoint",
                "post-if",
            ),
            FILLED,
        ),
        "args": Shape(items=Shape(text=True, scope=_IN_INPUTS)),
        "env": mapping_of(TEXT, _IN_INPUTS),
    },
    required=("using", "image"),
)

_INPUT: Final = Shape(
    mappings=(
        Keys(
            known={
                "default": Shape(
                    text=True,
                    scope=scope(
                        "github", "strategy", "matrix", "job", "runner", functions=(_HASH,)
                    ),
                ),
                "required": Shape(boolean=True, text=True),
            },
            others=ANYTHING,
        ),
    ),
)
_OUTPUT: Final = mapping(
    Keys(
        known={
            "description": TEXT,
            "value": Shape(text=True, scope=scope(*_NAMES)),
        }
    )
)

ACTION: Final = mapping(
    Keys(
        known={
            "name": TEXT,
            "author": TEXT,
            "description": TEXT,
            "inputs": mapping_of(_INPUT),
            "outputs": mapping_of(_OUTPUT),
            "runs": mapping(_COMPOSITE, _NODE, _DOCKER),
            "branding": ANYTHING,
        },
        required=("runs",),
    )
)
