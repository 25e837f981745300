"""What a Nox session is given: a lane to work in, the steps to do there, and where to write what came of them."""

from __future__ import annotations

from typing import Final

from presubmit.values import PlanStep, Value


class Lane(Value, frozen=True, kw_only=True):
    """A box with its folders, by their names inside the box and, with `host_`, outside it.

    `box` is what `presubmit.container.attach` takes. The lane `head` and the lane `base` have the same names
    inside, so that builds and benchmarks of the two are alike.
    """

    name: str
    box: str
    source: str
    environment: str
    output: str
    plugin: str
    tools: str
    python: str
    """The image's interpreter, `python3`."""
    host_source: str
    host_environment: str
    host_output: str
    host_tools: str
    env: dict[str, str]
    on_host: bool = False


class Assignment(Value, frozen=True, kw_only=True):
    """The steps of one Nox session."""

    lane: Lane
    steps: tuple[PlanStep, ...]
    folder: str
    """The run folder: `results/<name>.json`, `logs/`, `junit/` and `records/` are written there."""
    events: str
    prefix: str = ""
    """Put before step ids in file names and events: `base.` for the base's own runs."""
    modules: tuple[str, ...] = ()
    """Extension modules that the build produced."""
    others: tuple[Lane, ...] = ()
    """Of benchmarks, besides head's: base's, and a fresh pair (head, base) to confirm in."""


ASSIGNMENT_VARIABLE = "PRESUBMIT_ASSIGNMENT"
TOOL_VARIABLE = "PRESUBMIT_TOOL"
"""The process id of the tool that started a session."""
EARLY_VARIABLE = "PRESUBMIT_EARLY"
"""Where a session is started before its assignment is there: `container` or `host`."""

RECORDER = "presubmit-recorder"
"""The folder beside the plugin that holds the recorder; no module can have such a name."""
TRACER = "recorder"
"""The folder of an environment that coverage is installed into, for its tracer."""

BENCH: Final = "presubmit-bench"
"""The folder beside the plugin that holds the worker of benchmarks."""
BESIDE: Final = "beside"
"""The folder of an environment for what only benchmarks need: asv_runner."""
