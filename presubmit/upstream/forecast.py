"""Says, before anything runs, which cells an event starts, which of them can be replayed here, and why the others not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from presubmit.upstream.call_inputs import call_inputs, given_inputs
from presubmit.upstream.calls import NESTED
from presubmit.upstream.cells import CellState, JobCell
from presubmit.upstream.jobs import (
    JobError,
    Needed,
    ancestors,
    cells_of,
    decide_job,
    known_reference,
    needs_context,
    reads_needs,
    without_matrix,
)
from presubmit.upstream.judge import judge_cell, local_form
from presubmit.upstream.matrix import Cell
from presubmit.upstream.names import job_paths
from presubmit.upstream.secrets import EmptySecrets
from presubmit.upstream.setting import Setting, github_context
from presubmit.upstream.triggers import Word, decide

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from presubmit.upstream.jobs import Reference
    from presubmit.upstream.model import Job, Workflow
    from presubmit.upstream.nodes import Mark
    from presubmit.upstream.recipes.job_commands import StepScript

_ABSENT: Final = frozenset({CellState.NOT_REPLAYED, CellState.BLOCKED})


_STATES: Final = {
    Word.FILTERED: CellState.FILTERED,
    Word.NOT_STARTED: CellState.NOT_STARTED,
    Word.NOT_REPLAYED: CellState.NOT_REPLAYED,
    Word.INVALID: CellState.NOT_REPLAYED,
}


def forecast(workflows: Iterable[Workflow], setting: Setting) -> tuple[JobCell, ...]:
    """Give every cell of every workflow, in the order of the files."""
    return tuple(cell for cell, _ in forecast_with_steps(workflows, setting))


def forecast_with_steps(
    workflows: Iterable[Workflow], setting: Setting
) -> tuple[tuple[JobCell, tuple[StepScript, ...]], ...]:
    """Give every cell with the steps that it will run, as far as that is known."""
    found: list[tuple[JobCell, tuple[StepScript, ...]]] = []
    for workflow in workflows:
        cells, steps = _workflow(workflow, setting)
        found += [(cell, steps.get(cell.id, ())) for cell in cells]
    return tuple(found)


def _workflow(
    workflow: Workflow, setting: Setting
) -> tuple[list[JobCell], dict[str, tuple[StepScript, ...]]]:
    decision = decide(workflow, setting.event, setting.facts)
    if not decision.starts:
        cell = JobCell(
            id=workflow.file,
            workflow=workflow.path,
            state=_STATES[decision.word],
            reason=decision.reason,
            line=decision.mark.line if decision.mark else None,
            file=workflow.file,
        )
        return [cell], {}
    started = f"{workflow.file}:{decision.mark.line}" if decision.mark else workflow.file
    walk = _Walk(setting, workflow, started=(decision.reason, started))
    walk.jobs(workflow, {}, prefix="", depth=0)
    if decision.notes and walk.cells:
        first = walk.cells[0]
        walk.cells[0] = msgspec.structs.replace(first, notes=(*decision.notes, *first.notes))
    return walk.cells, walk.steps


class _Walk:
    """Goes through one started workflow and those that it calls."""

    def __init__(self, setting: Setting, top: Workflow, *, started: tuple[str, str]) -> None:
        self.setting = setting
        self.top = top
        self.why, self.why_at = started
        self.cells: list[JobCell] = []
        self.calling = [top.path]
        """The workflows that are being gone through, each called by the one before it."""
        self.steps: dict[str, tuple[StepScript, ...]] = {}

    def jobs(
        self, workflow: Workflow, inputs: Mapping[str, Any], *, prefix: str, depth: int
    ) -> dict[str, Needed]:
        """Judge all jobs of a workflow, those first that others need; give how each would end."""
        ended: dict[str, Needed] = {}
        absent: dict[str, str] = {}
        for job in in_order(workflow):
            first = len(self.cells)
            self._job(workflow, job, inputs, ended, absent, prefix=prefix, depth=depth)
            states = [cell.state for cell in self.cells[first:]]
            if states and all(state in _ABSENT for state in states):
                absent[job.id] = "is not replayed"
                ended[job.id] = Needed(result="skipped", known=False)
            elif CellState.REPLAYED in states:
                missing = sum(state in _ABSENT for state in states)
                if missing:
                    absent[job.id] = (
                        f"is replayed in {len(states) - missing} of {len(states)} cells"
                    )
                ended[job.id] = Needed(result="success", known=False)
            else:
                ended[job.id] = Needed(result="skipped")
        return ended

    def _job(
        self,
        workflow: Workflow,
        job: Job,
        inputs: Mapping[str, Any],
        ended: Mapping[str, Needed],
        absent: Mapping[str, str],
        *,
        prefix: str,
        depth: int,
    ) -> None:
        contexts = {
            "github": github_context(self.setting, self.top, job.id),
            "inputs": dict(inputs),
            "vars": dict(self.setting.vars),
            "needs": needs_context(job, ended),
            "secrets": EmptySecrets(),
        }
        gone = [name for name in ancestors(workflow, job) if name in absent]
        place = _Place(self.top, workflow, job, prefix, f"{prefix}{job.id}")
        try:
            decided = decide_job(workflow, job, contexts, ended)
            if decided.runs is False:
                blocking = [name for name in gone if ended[name].result == "skipped"]
                if decided.reason.startswith("if:") and not reads_needs(job):
                    blocking = []  # it would not run whatever they gave
                state = CellState.BLOCKED if blocking else CellState.FILTERED
                reason = (
                    f"needs {blocking[0]}, which {absent[blocking[0]]}"
                    if blocking
                    else decided.reason
                )
                self.cells.append(place.cell(state, reason, decided.mark))
                return
            cells = cells_of(job, contexts, ended)
        except JobError as error:
            self.cells.append(place.cell(CellState.NOT_REPLAYED, str(error), error.mark))
            return
        notes = tuple(f"needs {name}, which {absent[name]}" for name in gone)
        if not cells:
            self.cells.append(
                place.cell(CellState.FILTERED, "its matrix has no combination left", job.mark)
            )
            return
        later = decided.reason if decided.runs is None else ""
        known = known_reference(ended)
        made = [cell for cell in cells if isinstance(cell, Cell)]
        if not made:
            known = without_matrix(known)
            waiting = f"its matrix expands at run time ({', '.join(map(str, cells))})"
            made = [Cell(values={}, axes={}, job_index=0, job_total=1)]
            later = f"{later}; {waiting}" if later else waiting
        for cell, path in zip(made, job_paths(f"{prefix}{job.id}", made), strict=True):
            at = msgspec.structs.replace(place, combination=cell, path=path)
            self._cell(at, cell, contexts, known, later=later, notes=notes, depth=depth)

    def _cell(
        self,
        place: _Place,
        cell: Cell,
        contexts: Mapping[str, Any],
        known: Callable[[Reference], bool],
        *,
        later: str,
        notes: tuple[str, ...],
        depth: int,
    ) -> None:
        job = place.job
        if job.uses is not None:
            self._call(place, cell, contexts, later=later, notes=notes, depth=depth)
            return
        judged = judge_cell(job, cell, contexts, self.setting, known, workflow=place.workflow)
        self.steps[f"{self.top.file}/{place.path}"] = judged.steps
        if judged.lacks:
            self.cells.append(
                msgspec.structs.replace(
                    place.cell(CellState.NOT_REPLAYED, judged.lacks, judged.mark),
                    name=judged.name,
                    notes=notes,
                    role=judged.role,
                    role_reason=judged.role_reason,
                )
            )
            return
        reason = f"{self.why}; {later}" if later else self.why
        file, _, line = self.why_at.partition(":")
        replayed = place.cell(CellState.REPLAYED, reason, None)
        self.cells.append(
            msgspec.structs.replace(
                replayed,
                name=judged.name,
                later=bool(later),
                file=file,
                line=int(line) if line else None,
                notes=(*notes, *judged.notes),
                role=judged.role,
                role_reason=judged.role_reason,
            )
        )

    def _call(
        self,
        place: _Place,
        cell: Cell,
        contexts: Mapping[str, Any],
        *,
        later: str,
        notes: tuple[str, ...],
        depth: int,
    ) -> None:
        """Judge a call of a reusable workflow: a local one by its jobs, a remote one by its substitute."""
        job = place.job
        assert job.uses is not None  # noqa: S101 - asked by the caller
        uses = local_form(str(job.uses.value))
        inner = {**contexts, "matrix": cell.values or None}
        if not uses.startswith("./"):
            self._remote(place, uses, inner, later=later, notes=notes)
            return
        called = self.setting.load(uses)
        if called is not None and called.path in self.calling:
            why = f"workflow {uses} calls itself in the end"
            self.cells.append(place.cell(CellState.NOT_REPLAYED, why, job.uses.mark))
            return
        if called is None or depth >= NESTED:
            why = (
                f"workflow {uses} cannot be read" if called is None else f"calls nest {depth} deep"
            )
            self.cells.append(place.cell(CellState.NOT_REPLAYED, why, job.uses.mark))
            return
        try:
            given = call_inputs(job, called, inner)
        except JobError as error:
            self.cells.append(place.cell(CellState.NOT_REPLAYED, str(error), error.mark))
            return
        first = len(self.cells)
        self.calling.append(called.path)
        self.jobs(called, given, prefix=f"{place.path}/", depth=depth + 1)
        self.calling.pop()
        if later or notes:
            for index in range(first, len(self.cells)):
                made = self.cells[index]
                self.cells[index] = msgspec.structs.replace(
                    made, later=made.later or bool(later), notes=(*notes, *made.notes)
                )

    def _remote(
        self,
        place: _Place,
        uses: str,
        contexts: Mapping[str, Any],
        *,
        later: str,
        notes: tuple[str, ...],
    ) -> None:
        """Judge a call of another repository's workflow: one that is substituted runs as if it were local."""
        inputs, github = given_inputs(place.job, contexts), contexts["github"]
        mark = place.job.uses.mark if place.job.uses is not None else place.job.mark
        lacks = self.setting.remote(uses, inputs, self.setting.here, github)
        called = None if lacks else self.setting.remote_workflow(uses, inputs, github)
        if called is None:
            made = place.cell(CellState.NOT_REPLAYED, lacks or f"workflow {uses}", mark)
            self.cells.append(msgspec.structs.replace(made, notes=notes, later=bool(later)))
            return
        first = len(self.cells)
        self.jobs(called, {}, prefix=f"{place.path}/", depth=NESTED)
        for index in range(first, len(self.cells)):
            made = self.cells[index]
            self.cells[index] = msgspec.structs.replace(
                made, later=made.later or bool(later), notes=(*notes, *called.notes, *made.notes)
            )


class _Place(msgspec.Struct, frozen=True):
    """A job in the walk, and how its cells are named."""

    top: Workflow
    workflow: Workflow
    job: Job
    prefix: str
    path: str
    """`caller(a=1)/inner(b=2)`, as it stands in a cell's id."""
    combination: Cell | None = None

    @property
    def axes(self) -> dict[str, Any]:
        return dict(self.combination.axes) if self.combination is not None else {}

    def cell(self, state: CellState, reason: str, mark: Mark | None) -> JobCell:
        return JobCell(
            id=f"{self.top.file}/{self.path}",
            workflow=self.top.path,
            job=f"{self.prefix}{self.job.id}",
            name=self.job.id,
            axes=self.axes,
            state=state,
            reason=reason,
            line=mark.line if mark else None,
            file=self.workflow.file,
            needs=tuple(f"{self.prefix}{need.value}" for need in self.job.needs),
        )


def in_order(workflow: Workflow) -> tuple[Job, ...]:
    """Give the jobs so that each comes after those that it needs, else in file order."""
    placed: dict[str, Job] = {}
    waiting = list(workflow.jobs)
    while waiting:
        ready = [
            job
            for job in waiting
            if all(str(need.value).casefold() in placed for need in job.needs)
        ]
        for job in ready or waiting:  # a cycle was refused when the file was read
            placed[job.id.casefold()] = job
        waiting = [job for job in waiting if job.id.casefold() not in placed]
    return tuple(placed.values())
