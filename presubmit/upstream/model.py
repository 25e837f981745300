"""A workflow as it is written: everything that may hold an expression is kept as a node, with its place."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from presubmit.upstream.nodes import Mapping, Mark, Node, Scalar, Sequence


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One step of a job or of a composite action: `run` or `uses`, never both; neither where `control` says so."""

    mark: Mark
    id: str
    """As written, else GitHub's own: `__run`, `__run_2`, `__actions_checkout`."""
    named: bool
    """Whether `id` is the author's."""
    name: Scalar | None = None
    condition: Scalar | None = None
    run: Scalar | None = None
    uses: Scalar | None = None
    inputs: Mapping | None = None
    """`with`."""
    env: Node | None = None
    shell: Scalar | None = None
    working_directory: Scalar | None = None
    continue_on_error: Scalar | None = None
    timeout_minutes: Scalar | None = None
    background: Scalar | None = None
    """The job goes on while this step runs."""
    control: str = ""
    """`wait`, `wait-all`, `cancel` or `parallel`: a step that only steers background steps."""


class Strategy(msgspec.Struct, frozen=True, kw_only=True):
    """`strategy` of a job; the matrix is a mapping, or an expression that gives one."""

    mark: Mark
    matrix: Node | None = None
    fail_fast: Scalar | None = None
    max_parallel: Scalar | None = None


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """One job: steps on a runner, or (`uses`) a call of a reusable workflow."""

    mark: Mark
    id: str
    name: Scalar | None = None
    needs: tuple[Scalar, ...] = ()
    condition: Scalar | None = None
    runs_on: Node | None = None
    strategy: Strategy | None = None
    container: Node | None = None
    services: Node | None = None
    env: Node | None = None
    shell: Scalar | None = None
    """`defaults.run.shell`."""
    working_directory: Scalar | None = None
    """`defaults.run.working-directory`."""
    steps: tuple[Step, ...] = ()
    outputs: Mapping | None = None
    continue_on_error: Scalar | None = None
    timeout_minutes: Scalar | None = None
    concurrency: Node | None = None
    permissions: Node | None = None
    environment: Node | None = None
    uses: Scalar | None = None
    inputs: Mapping | None = None
    """`with` of a call."""
    secrets: Node | None = None


class Trigger(msgspec.Struct, frozen=True, kw_only=True):
    """One event of `on`, with its filters as they are written."""

    mark: Mark
    event: str
    filters: dict[str, Sequence]
    """`branches`, `branches-ignore`, `tags`, `tags-ignore`, `paths`, `paths-ignore`, `types`; a single value is a
    sequence of one."""
    node: Node | None = None
    """The whole of it: inputs of workflow_call, crons of schedule."""


class CallInput(msgspec.Struct, frozen=True, kw_only=True):
    """An input of a reusable workflow."""

    name: str
    kind: str
    """`string`, `number` or `boolean`."""
    required: bool = False
    default: Node | None = None


class Workflow(msgspec.Struct, frozen=True, kw_only=True):
    """One workflow file."""

    path: str
    """Relative to the repository: `.github/workflows/ci.yml`."""
    name: Scalar | None = None
    run_name: Scalar | None = None
    triggers: tuple[Trigger, ...] = ()
    env: Node | None = None
    shell: Scalar | None = None
    working_directory: Scalar | None = None
    concurrency: Node | None = None
    permissions: Node | None = None
    jobs: tuple[Job, ...] = ()
    call_inputs: tuple[CallInput, ...] = ()
    call_secrets: tuple[str, ...] = ()
    required_secrets: tuple[str, ...] = ()
    """Those of `call_secrets` without which it cannot be called."""
    call_outputs: dict[str, Scalar] = {}

    text: str = ""
    """The file's text, where it stands for one that is not in the repository."""
    notes: tuple[str, ...] = ()
    """What such a file does otherwise."""

    @property
    def file(self) -> str:
        """`ci.yml`."""
        return self.path.rpartition("/")[2]

    def job(self, name: str) -> Job | None:
        """Give a job by its id, in any letter case."""
        return next((job for job in self.jobs if job.id.casefold() == name.casefold()), None)


class ActionInput(msgspec.Struct, frozen=True, kw_only=True):
    """An input of an action."""

    name: str
    required: bool = False
    default: Node | None = None


class ActionFile(msgspec.Struct, frozen=True, kw_only=True):
    """An `action.yml`: `using` is `composite`, `docker`, `node20`, …; only composite ones have steps."""

    path: str
    using: str
    name: str = ""
    inputs: tuple[ActionInput, ...] = ()
    outputs: dict[str, Node] = {}
    steps: tuple[Step, ...] = ()
