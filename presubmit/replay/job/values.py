"""What a cell's session is given, and what it gives back; both cross a process as JSON."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final

from presubmit.upstream.here import Here  # noqa: TC001 - msgspec reads it
from presubmit.values import Value


class Conclusion(StrEnum):
    """How a step or a job ended, in GitHub's words."""

    SUCCESS = "success"
    FAILURE = "failure"
    CANCELLED = "cancelled"
    SKIPPED = "skipped"


STEP_BEFORE: Final = "a step before it failed"
"""Why a step was skipped whose own `if` did not ask for anything else."""


class Annotation(Value, frozen=True, kw_only=True):
    """A message that a step attached to a place: `::error file=a.py,line=3::text`."""

    level: str
    """`error`, `warning` or `notice`."""
    message: str
    title: str = ""
    file: str = ""
    line: int | None = None
    end_line: int | None = None
    column: int | None = None
    step: str = ""


class StepRecord(Value, frozen=True, kw_only=True):
    """What became of one step; `outcome` is before, `conclusion` after `continue-on-error`."""

    name: str
    id: str
    kind: str
    """`run`, `substituted`, `stubbed`, `composite`, or `post` for an action's clean-up."""
    outcome: Conclusion
    conclusion: Conclusion
    origin: str
    """`ci.yml:31`."""
    seconds: float = 0.0
    exit_code: int | None = None
    reason: str = ""
    """Why it was skipped, failed without an exit code, or what a substitute did otherwise than the action."""
    tail: str = ""
    """The last lines that a failing step printed (at most 32,000 characters)."""


class CellResult(Value, frozen=True, kw_only=True):
    """What became of a cell."""

    cell: str
    conclusion: Conclusion
    outputs: dict[str, str] = {}
    steps: tuple[StepRecord, ...] = ()
    annotations: tuple[Annotation, ...] = ()
    seconds: float = 0.0
    error: str = ""
    """Ours: the box was lost, out of memory, a full disk; then nothing is said of the change."""
    lacks: str = ""
    """What could not be had here, found only while it ran: the cell is not replayed after all."""
    notes: tuple[str, ...] = ()


class CellAssignment(Value, frozen=True, kw_only=True):
    """One cell for one session: where its container is, which job it is, and what it may read."""

    cell: str
    """`ci.yml/tests(python=3.12,os=ubuntu)`."""
    box: str
    """What `presubmit.container.attach` takes."""
    tree: str
    """The checked-out snapshot on the host, read only: the workflow file is read from it."""
    workflow: str
    """`.github/workflows/ci.yml`."""
    workflow_text: str = ""
    """The workflow itself, where it is not a file of the tree."""
    job: str
    github: dict[str, Any]
    matrix: dict[str, Any] | None = None
    strategy: dict[str, Any] = {}
    needs: dict[str, Any] = {}
    inputs: dict[str, Any] | None = None
    vars: dict[str, Any] = {}
    job_context: dict[str, Any] = {}
    """`job.container` and `job.services` as expressions see them."""
    workspace: str
    """GITHUB_WORKSPACE, inside the box."""
    temp: str
    """RUNNER_TEMP, inside the box."""
    host_temp: str
    """The same folder on the host; command files and step scripts lie there."""
    tools: str
    """RUNNER_TOOL_CACHE, inside the box; kept between runs."""
    host_tools: str
    origin: str
    """A bare repository inside the box (read-only) that stands for the repository on GitHub."""
    artifacts: str
    """A folder of the run on the host, shared by its cells: one folder an artifact."""
    caches: str
    """A folder on the host that `actions/cache` keeps its entries in, kept between runs."""
    laid: dict[str, str] = {}
    """What `actions/checkout` already finds done: workspace-relative path -> checked-out commit."""
    env: dict[str, str] = {}
    """The box's own further variables: network, caches."""
    here: Here
    in_container: bool = False
    """The job names its own `container:`; then the default shell is `sh -e` (ScriptHandler.cs)."""
    substitutes: dict[str, str] = {}
    """The user's own: `owner/name` -> shell script, from `[actions]` of the configuration."""
    plugin: str = ""
    """The folder of the pytest plugin inside the box."""
    selection: dict[str, Any] | None = None
    """What every pytest of the cell is narrowed to: `files`, `known`, `mode`; None: all run."""
    narrowing_env: dict[str, str] = {}
    """What some runners need besides, so that the plugin reaches pytest: TOX_OVERRIDE."""
    folder: str
    """Where logs, summaries and the result are written, on the host."""
    name: str
    """File-system name of the cell: `logs/<name>.log`, `results/<name>.json`."""
    events: str
    notes: tuple[str, ...] = ()
    """What is otherwise than upstream before the first step."""
    timeout: float = 21600.0
    """Seconds that the cell may take at most (`timeout-minutes`, 360 minutes on GitHub)."""
