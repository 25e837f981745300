"""Inside a Nox session: run the assigned cell, and write down its result."""

from __future__ import annotations

import os
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from presubmit.container import attach
from presubmit.errors import PresubmitError
from presubmit.replay.assignment import ASSIGNMENT_VARIABLE
from presubmit.replay.events import write_event
from presubmit.replay.job.driver import open_driver
from presubmit.replay.job.machine import Machine
from presubmit.replay.job.own_folder import held
from presubmit.replay.job.run import CellRun
from presubmit.replay.job.values import CellAssignment, CellResult, Conclusion
from presubmit.replay.session import connect_early, wait_for_assignment
from presubmit.replay.sessions import write_whole
from presubmit.upstream.reader import read_workflow
from presubmit.values import decode, encode

if TYPE_CHECKING:
    import nox

    from presubmit.container.engine import Engine


def run_cell_session(session: nox.Session) -> None:
    """Do what the tool assigned; started by hand (`nox -s upstream -- CELL`), do `presubmit replay CELL`."""
    named = os.environ.get(ASSIGNMENT_VARIABLE)
    if named is None:
        _by_hand(session)
        return
    path = Path(named)
    engine = None if path.exists() else connect_early()
    wait_for_assignment(session, path)
    assignment = decode(path.read_bytes(), CellAssignment)
    result = run_assigned(assignment, engine)
    if result.conclusion is not Conclusion.SUCCESS:
        session.error(f"{assignment.cell}: {result.error or result.conclusion}")


def _by_hand(session: nox.Session) -> None:
    with session.chdir(session.invoked_from):
        session.run(
            *(sys.executable, "-P", "-m", "presubmit", "replay", *(session.posargs or ["--all"])),
            external=True,
            interrupt_timeout=30,
            terminate_timeout=30,
        )


def run_assigned(assignment: CellAssignment, engine: Engine | None = None) -> CellResult:
    """Run the cell; a crash of presubmit's own is the cell's error. `engine` is a connection that is there already."""
    events = Path(assignment.events)
    write_event(events, event="start", id=assignment.name, cell=assignment.cell)
    try:
        result = _run(assignment, engine)
    except PresubmitError as error:
        result = _error(assignment, str(error))
    except Exception:  # noqa: BLE001 - our own crash is this cell's error, and the others go on
        log = Path(assignment.folder) / "logs" / f"{assignment.name}.log"
        with log.open("a", encoding="utf-8", errors="backslashreplace") as stream:
            stream.write(traceback.format_exc())
        last = traceback.format_exc().strip().splitlines()[-1]
        result = _error(assignment, f"presubmit itself failed: {last}")
    write_whole(Path(assignment.folder) / "results" / f"{assignment.name}.json", encode(result))
    write_event(events, event="result", id=assignment.name, cell=assignment.cell)
    return result


def _run(assignment: CellAssignment, engine: Engine | None) -> CellResult:
    path = Path(assignment.tree) / assignment.workflow
    text = assignment.workflow_text
    data = text.encode() if text else path.read_bytes()
    workflow, problems = read_workflow(data, assignment.workflow)
    job = None if workflow is None else workflow.job(assignment.job)
    if workflow is None or job is None:
        said = "; ".join(str(problem) for problem in problems if not problem.warning)
        return _error(assignment, f"{assignment.workflow} has no job {assignment.job}: {said}")
    box = engine.attach(assignment.box) if engine is not None else attach(assignment.box)
    try:
        log = Path(assignment.folder) / "logs" / f"{assignment.name}.driver.log"
        with held(Path(assignment.host_temp)) as temp:
            cell = msgspec.structs.replace(assignment, host_temp=temp)
            with open_driver(box, log=log) as driver, Machine(cell, driver) as machine:
                return CellRun(cell, workflow, job, machine).go()
    finally:
        box.close()
        if engine is not None:
            engine.close()


def _error(assignment: CellAssignment, reason: str) -> CellResult:
    return CellResult(cell=assignment.cell, conclusion=Conclusion.FAILURE, error=reason)
