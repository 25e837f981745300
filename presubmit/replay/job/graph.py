"""Runs the chosen cells of upstream's jobs in the order of `needs`, deciding what only their results can tell."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import msgspec

from presubmit.replay.job.values import CellResult, Conclusion
from presubmit.upstream import template
from presubmit.upstream.call_inputs import call_inputs, given_inputs
from presubmit.upstream.cells import CellState, JobCell
from presubmit.upstream.expressions import to_string
from presubmit.upstream.jobs import (
    Decided,
    JobError,
    Needed,
    cells_of,
    decide_job,
    evaluate,
    flag_of,
    known_reference,
    needs_context,
    strategy_context,
)
from presubmit.upstream.judge import Judged, judge_cell, local_form
from presubmit.upstream.names import job_paths
from presubmit.upstream.secrets import EmptySecrets
from presubmit.upstream.setting import github_context

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from presubmit.upstream.matrix import Cell
    from presubmit.upstream.model import Job, Workflow
    from presubmit.upstream.setting import Setting

_GOOD: Final = frozenset({"success"})


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """One cell to be run, with everything that is known when it starts."""

    cell: JobCell
    workflow: Workflow
    """The file that the job stands in: a called workflow's own, below a call."""
    job: Job
    values: dict[str, Any]
    """The whole matrix context of the cell."""
    contexts: dict[str, Any]
    """`github`, `inputs`, `vars`, `needs`, `strategy`, `matrix`."""
    judged: Judged


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """A cell's last word: its state as it turned out, and the result where it ran."""

    cell: JobCell
    result: CellResult | None = None
    tolerated: bool = False
    """The job is `continue-on-error`: its failure does not make the workflow fail."""


class Stopper:
    """Tells cells that run to stop; one for the run, and one for each matrix that fails fast."""

    def __init__(self) -> None:
        self.reason = ""
        self._told: list[Callable[[], None]] = []
        self._lock = threading.Lock()

    def on_stop(self, tell: Callable[[], None]) -> None:
        """Have `tell` called at the stop, at once where that has been."""
        with self._lock:
            if not self.reason:
                self._told.append(tell)
                return
        tell()

    def stop(self, reason: str) -> None:
        """Stop, once."""
        with self._lock:
            if self.reason:
                return
            self.reason = reason
            told, self._told = self._told, []
        for tell in told:
            tell()


class Graph:
    """The jobs of all started workflows, each waiting for those that it needs."""

    def __init__(
        self,
        setting: Setting,
        *,
        chosen: Collection[JobCell],
        run: Callable[[Order, Sequence[Stopper]], CellResult],
        ended: Callable[[Ended], None],
        parallel: int,
        fail_fast: bool = True,
    ) -> None:
        self._setting = setting
        self._chosen = {cell.id: cell for cell in chosen}
        self._run = run
        self._tell = ended
        self._slots = threading.Semaphore(parallel)
        self._fail_fast = fail_fast
        self.stopper = Stopper()
        self._lock = threading.Lock()
        self.ended: list[Ended] = []

    def go(self, workflows: Sequence[Workflow]) -> None:
        """Run every workflow to its end; KeyboardInterrupt stops the cells that run, and is raised again."""
        done = [self._thread(partial(self._jobs, w, w, {}, "")) for w in workflows]
        try:
            for future in done:
                while not _wait(future):
                    pass
        except BaseException:
            self.stopper.stop("interrupted")
            for future in done:
                _wait(future, 30)
            raise

    # --- jobs -------------------------------------------------------------------------------------------------------

    def _jobs(
        self, top: Workflow, workflow: Workflow, inputs: Mapping[str, Any], prefix: str
    ) -> dict[str, Needed]:
        futures: dict[str, Future[Needed]] = {job.id: Future() for job in workflow.jobs}
        for job in workflow.jobs:
            self._thread(partial(self._settle, futures, top, workflow, job, inputs, prefix))
        return {name: future.result() for name, future in futures.items()}

    def _settle(
        self,
        futures: Mapping[str, Future[Needed]],
        top: Workflow,
        workflow: Workflow,
        job: Job,
        inputs: Mapping[str, Any],
        prefix: str,
    ) -> None:
        try:
            futures[job.id].set_result(self._job(futures, top, workflow, job, inputs, prefix))
        except BaseException as error:  # noqa: BLE001 - whoever waits for the job must hear of it
            futures[job.id].set_exception(error)

    def _job(
        self,
        futures: Mapping[str, Future[Needed]],
        top: Workflow,
        workflow: Workflow,
        job: Job,
        inputs: Mapping[str, Any],
        prefix: str,
    ) -> Needed:
        ended = _results_before(workflow, job, futures)
        contexts = {
            "github": github_context(self._setting, top, job.id),
            "inputs": dict(inputs),
            "vars": dict(self._setting.vars),
            "needs": needs_context(job, ended),
            "secrets": EmptySecrets(),
        }
        base = JobCell(
            id=f"{top.file}/{prefix}{job.id}",
            workflow=top.path,
            job=f"{prefix}{job.id}",
            name=job.id,
            state=CellState.REPLAYED,
            reason="",
            file=workflow.file,
            line=job.mark.line,
            needs=tuple(f"{prefix}{need.value}" for need in job.needs),
        )
        if not self._wants_job(base.id):
            # Left out by who asked: those that need it find it done, and no outputs of it.
            return Needed(result="success")
        try:
            decided = decide_job(workflow, job, contexts, ended)
            if decided.runs is False:
                return self._passed_over(base, decided, ended)
            cells: tuple[Any, ...] = cells_of(job, contexts, ended)
        except JobError as error:
            return self._broken(base, error)
        return self._run_cells(top, workflow, job, cells, contexts, ended, base, prefix)

    def _passed_over(self, cell: JobCell, decided: Decided, ended: Mapping[str, Needed]) -> Needed:
        """Take down a job that does not run: upstream would not run it either, or something before it is not here."""
        cell = msgspec.structs.replace(
            cell, state=CellState.FILTERED, line=decided.mark.line if decided.mark else cell.line
        )
        gone = next(
            (n for n, need in ended.items() if need.absent and need.result == "skipped"), ""
        )
        absent = ""
        if gone:
            reason = f"needs {gone}, which is not replayed: {ended[gone].absent}"
            cell = msgspec.structs.replace(cell, state=CellState.BLOCKED, reason=reason)
            absent = f"needs {gone}"
        else:
            cell = msgspec.structs.replace(cell, reason=decided.reason)
        below = [known for name, known in self._chosen.items() if _is_below(name, cell.id)]
        for known in below or [cell]:
            self._end(
                msgspec.structs.replace(
                    known, state=cell.state, reason=cell.reason, line=cell.line, file=cell.file
                )
            )
        return Needed(result="skipped", absent=absent)

    def _broken(self, cell: JobCell, error: JobError) -> Needed:
        """Take down a job that cannot be made: it is a failure of the workflow upstream as well; the others go on."""
        line = error.mark.line if error.mark else cell.line
        result = CellResult(
            cell=cell.id,
            conclusion=Conclusion.FAILURE,
            notes=(f"the job cannot be made: {error}",),
        )
        self._end(msgspec.structs.replace(cell, reason=str(error), line=line), result)
        return Needed(result="failure")

    def _run_cells(
        self,
        top: Workflow,
        workflow: Workflow,
        job: Job,
        cells: Sequence[Cell],
        contexts: Mapping[str, Any],
        ended: Mapping[str, Needed],
        base: JobCell,
        prefix: str,
    ) -> Needed:
        if not cells:
            self._end(
                msgspec.structs.replace(
                    base, state=CellState.FILTERED, reason="its matrix has no combination left"
                )
            )
            return Needed(result="skipped")
        strategy = strategy_context(job, cells[0], contexts)
        stopper = Stopper()
        self.stopper.on_stop(lambda: stopper.stop(self.stopper.reason))
        most = threading.Semaphore(max(1, int(strategy["max-parallel"])))
        fail_fast = bool(strategy["fail-fast"]) and self._fail_fast and len(cells) > 1
        futures = []
        for cell, path in zip(cells, job_paths(f"{prefix}{job.id}", cells), strict=True):
            name = f"{top.file}/{path}"
            made = msgspec.structs.replace(base, id=name, axes=dict(cell.axes))
            run = partial(
                self._cell, top, workflow, job, cell, contexts, ended, made, stopper, most
            )
            futures.append(self._thread(partial(run, fail_fast=fail_fast)))
        return _together([future.result() for future in futures])

    def _cell(
        self,
        top: Workflow,
        workflow: Workflow,
        job: Job,
        cell: Cell,
        contexts: Mapping[str, Any],
        ended: Mapping[str, Needed],
        made: JobCell,
        stopper: Stopper,
        most: threading.Semaphore,
        *,
        fail_fast: bool,
    ) -> Needed:
        inside = {**contexts, "matrix": dict(cell.values) or None}
        if job.uses is not None:
            return self._call(top, job, inside, made)
        if not self._wants_cell(made.id):
            return Needed(result="skipped")
        judged = judge_cell(
            job, cell, contexts, self._setting, known_reference(ended), workflow=workflow
        )
        made = msgspec.structs.replace(
            made, name=judged.name, role=judged.role, role_reason=judged.role_reason
        )
        if judged.lacks:
            line = judged.mark.line if judged.mark else made.line
            self._end(
                msgspec.structs.replace(
                    made, state=CellState.NOT_REPLAYED, reason=judged.lacks, line=line
                )
            )
            return Needed(result="skipped", absent=judged.lacks)
        known = self._chosen.get(made.id, made)
        made = msgspec.structs.replace(
            made,
            notes=tuple(dict.fromkeys((*known.notes, *judged.notes))),
            reason=known.reason,
            file=known.file,
            line=known.line,
        )
        with most, self._slots:
            if stopper.reason:
                result = CellResult(
                    cell=made.id, conclusion=Conclusion.CANCELLED, notes=(stopper.reason,)
                )
            else:
                inside["strategy"] = strategy_context(job, cell, inside)
                order = Order(
                    cell=made,
                    workflow=workflow,
                    job=job,
                    values=dict(cell.values),
                    contexts=inside,
                    judged=judged,
                )
                result = self._run(order, (self.stopper, stopper))
        gone = _judged_without(job, ended)
        if gone and result.conclusion is Conclusion.FAILURE and not result.lacks:
            # It looked at results that are not there: that says nothing of the change.
            reason = f"needs {gone}, which is not replayed: {ended[gone].absent}"
            blocked = msgspec.structs.replace(made, state=CellState.BLOCKED, reason=reason)
            self._end(blocked, result)
            return Needed(result="skipped", absent=f"needs {gone}")
        return self._conclude(job, inside, made, result, stopper, fail_fast=fail_fast)

    def _conclude(
        self,
        job: Job,
        contexts: Mapping[str, Any],
        made: JobCell,
        result: CellResult,
        stopper: Stopper,
        *,
        fail_fast: bool,
    ) -> Needed:
        if result.lacks:
            self._end(
                msgspec.structs.replace(made, state=CellState.NOT_REPLAYED, reason=result.lacks),
                result,
            )
            return Needed(result="skipped", absent=result.lacks)
        try:
            tolerated = flag_of(job.continue_on_error, contexts, otherwise=False)
        except JobError:
            tolerated = False
        self._end(made, result, tolerated=tolerated)
        if result.conclusion is Conclusion.FAILURE and tolerated:
            # The workflow goes on as if it had succeeded (docs: jobs.<job_id>.continue-on-error).
            return Needed(result="success", outputs=result.outputs)
        if result.conclusion is Conclusion.FAILURE and fail_fast:
            stopper.stop(f"fail-fast: {made.id} failed")
        return Needed(result=str(result.conclusion), outputs=result.outputs)

    def _call(self, top: Workflow, job: Job, contexts: Mapping[str, Any], made: JobCell) -> Needed:
        """Run the jobs of a local reusable workflow; the call ends as they do."""
        assert job.uses is not None  # noqa: S101 - asked by the caller
        uses = local_form(str(job.uses.value))
        if not self._wants_job(made.id):
            return Needed(result="skipped")
        try:
            called, inputs = self._called(uses, job, contexts)
        except JobError as error:
            return self._broken(made, error)
        if called is None:
            github = contexts["github"]
            lacks = self._setting.remote(
                uses, given_inputs(job, contexts), self._setting.here, github
            )
            reason = lacks or f"workflow {uses}"
            line = job.uses.mark.line
            self._end(
                msgspec.structs.replace(
                    made, state=CellState.NOT_REPLAYED, reason=reason, line=line
                )
            )
            return Needed(result="skipped", absent=reason)
        prefix = f"{made.id.partition('/')[2]}/"
        inner = self._jobs(top, called, inputs, prefix)
        jobs = {name: {"result": n.result, "outputs": n.outputs} for name, n in inner.items()}
        outputs = {}
        for name, node in called.call_outputs.items():
            try:
                outputs[name] = to_string(
                    evaluate(node, {**contexts, "inputs": inputs, "jobs": jobs})
                )
            except JobError as error:
                return self._broken(made, error)
        together = _together([*inner.values()])
        return Needed(result=together.result, outputs=outputs, absent=together.absent)

    def _called(
        self, uses: str, job: Job, contexts: Mapping[str, Any]
    ) -> tuple[Workflow | None, dict[str, Any]]:
        """Give a called workflow and its inputs; None for one of another repository without a substitute."""
        if not uses.startswith("./"):
            inputs, github = given_inputs(job, contexts), contexts["github"]
            if self._setting.remote(uses, inputs, self._setting.here, github):
                return None, {}
            return self._setting.remote_workflow(uses, inputs, github), {}
        called = self._setting.load(uses)
        if called is None:
            raise JobError(f"workflow {uses} cannot be read", job.mark)
        return called, call_inputs(job, called, contexts)

    # --- helpers ----------------------------------------------------------------------------------------------------

    def _wants_job(self, job: str) -> bool:
        """Whether any chosen cell is of this job, or below it."""
        return any(_is_below(chosen, job) for chosen in self._chosen)

    def _wants_cell(self, cell: str) -> bool:
        """Whether this very cell is chosen, or its whole job (whose matrix was not known then)."""
        return cell in self._chosen or _without_axes(cell) in self._chosen

    def _end(
        self, cell: JobCell, result: CellResult | None = None, *, tolerated: bool = False
    ) -> None:
        ended = Ended(cell=cell, result=result, tolerated=tolerated)
        with self._lock:
            self.ended.append(ended)
            self._tell(ended)

    @staticmethod
    def _thread(work: Callable[[], Any]) -> Future[Any]:
        future: Future[Any] = Future()

        def run() -> None:
            try:
                future.set_result(work())
            except BaseException as error:  # noqa: BLE001 - handed to who waits for it
                future.set_exception(error)

        threading.Thread(target=run, daemon=True).start()
        return future


def _wait(future: Future[Any], seconds: float = 0.2) -> bool:
    """Wait a while, so that an interrupt comes through; whether it is done. Raises what the work raised."""
    try:
        future.result(timeout=seconds)
    except TimeoutError:
        if not future.done():
            return False
        raise
    return True


def _results_before(
    workflow: Workflow, job: Job, futures: Mapping[str, Future[Needed]]
) -> dict[str, Needed]:
    """Wait for every job before this one, however far away."""
    from presubmit.upstream.jobs import ancestors  # noqa: PLC0415 - a name of its own there

    return {name: futures[name].result() for name in ancestors(workflow, job)}


def _together(cells: Sequence[Needed]) -> Needed:
    """Give a job's result out of its cells': the worst; of outputs, the last cell's that sets one wins."""
    outputs: dict[str, str] = {}
    for cell in cells:
        outputs |= {
            name: value for name, value in cell.outputs.items() if value or name not in outputs
        }
    results = {cell.result for cell in cells}
    absent = next((cell.absent for cell in cells if cell.absent), "")
    for word in ("failure", "cancelled"):
        if word in results:
            return Needed(result=word, outputs=outputs, absent=absent)
    if results & _GOOD:
        return Needed(result="success", outputs=outputs, absent=absent)
    return Needed(result="skipped", outputs=outputs, absent=absent)


def _judged_without(job: Job, ended: Mapping[str, Needed]) -> str:
    """Name a job that is not replayed and whose result this one looks at: it ran all the same, or it reads `needs`."""
    reads = any(
        template.unknown(node, lambda path: path[:1] != ("needs",))
        for step in job.steps
        for node in (step.run, step.env, step.inputs)
    )
    for name, need in ended.items():
        if need.absent and (reads or need.result == "skipped"):
            return name
    return ""


def _without_axes(cell: str) -> str:
    """`ci.yml/tests(a=1)` -> `ci.yml/tests`."""
    return cell[: cell.rindex("(")] if cell.endswith(")") and "(" in cell else cell


def _is_below(chosen: str, job: str) -> bool:
    return chosen == job or chosen.startswith((f"{job}(", f"{job}/"))
