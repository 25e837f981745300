"""Inside a Nox session: do the assigned steps, one after another, and write down each result."""

from __future__ import annotations

import os
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

from presubmit.container import attach
from presubmit.errors import PresubmitError
from presubmit.replay.assignment import (
    ASSIGNMENT_VARIABLE,
    EARLY_VARIABLE,
    TOOL_VARIABLE,
    Assignment,
)
from presubmit.replay.events import write_event
from presubmit.replay.steps import Bench
from presubmit.values import (
    Benchmarks,
    Build,
    BuildWheel,
    Docstrings,
    Doctests,
    LintCommand,
    Outcome,
    ReadLibraries,
    Replay,
    Reviewing,
    ReviewingBuilt,
    StepResult,
    Syntax,
    Tests,
    decode,
    encode,
)

if TYPE_CHECKING:
    import nox

    from presubmit.container.engine import Engine
    from presubmit.container.model import Box
    from presubmit.values import PlanStep, Role


def run_session(session: nox.Session, role: Role) -> None:
    """Do what the tool assigned; started by hand (`nox -s tests`), do that session's part of `presubmit run`."""
    named = os.environ.get(ASSIGNMENT_VARIABLE)
    if named is None:
        by_hand(session, role)
        return
    path = Path(named)
    engine = None if path.exists() else _connect_early()
    wait_for_assignment(session, path)
    results = run_assignment(decode(path.read_bytes(), Assignment), engine)
    bad = [r.id for r in results if r.outcome in {Outcome.FAILED, Outcome.ERROR}]
    if bad:
        session.error(f"not green: {', '.join(bad)}")


def wait_for_assignment(session: nox.Session, path: Path) -> None:
    """Wait until the tool has written what there is to do; ends the session when the tool is gone."""
    # Asked of the tool itself: it may have ended before this process came to ask whose child it is.
    parent = int(os.environ.get(TOOL_VARIABLE) or os.getppid())
    while not path.exists():
        time.sleep(0.005)
        if os.getppid() != parent:
            session.error("the tool is gone")


def _connect_early() -> Engine | None:
    import presubmit.replay.tests  # noqa: F401, PLC0415 - loaded while there is time

    return connect_early()


def connect_early() -> Engine | None:
    """Connect to the engine while there is nothing to do yet; None on the host, or where none answers."""
    if os.environ.get(EARLY_VARIABLE) != "container":
        return None
    from presubmit.container.engine import connect  # noqa: PLC0415 - docker costs 0.3 s

    try:
        return connect()
    except PresubmitError:
        return None  # the tool says so, better


def by_hand(session: nox.Session, role: Role) -> None:
    """Run this role alone on the project that nox was started in."""
    import sys  # noqa: PLC0415 - only here

    rest = ("--", *session.posargs) if session.posargs else ()
    with session.chdir(session.invoked_from):
        session.run(
            *(sys.executable, "-P", "-m", "presubmit", "run", "--only", str(role), *rest),
            external=True,
            interrupt_timeout=30,
            terminate_timeout=30,
        )


def run_assignment(assignment: Assignment, engine: Engine | None = None) -> list[StepResult]:
    """Do every step; a crash of presubmit's own in one of them is that step's ERROR.

    `engine` is a connection that is there already.
    """
    name = assignment.lane.box
    usable = engine is not None and name.startswith("docker:")
    box = engine.attach(name) if engine is not None and usable else attach(name)
    try:
        return _run_steps(assignment, box)
    finally:
        box.close()
        if engine is not None:
            engine.close()


def _run_steps(assignment: Assignment, box: Box) -> list[StepResult]:
    """Do the steps in this very thread: an interrupt must reach the command that runs."""
    return [_run_step(assignment, step, box) for step in assignment.steps]


def _run_step(assignment: Assignment, step: PlanStep, box: Box) -> StepResult:
    name = f"{assignment.prefix}{step.id}"
    write_event(Path(assignment.events), event="start", id=name)
    bench = Bench(assignment, step, box)
    try:
        result = _do(bench, step)
    except Exception:  # noqa: BLE001 - our own crash is this step's ERROR, and the others go on
        with bench.log.open("a") as log:
            log.write(traceback.format_exc())
        result = StepResult(
            id=step.id,
            role=step.role,
            outcome=Outcome.ERROR,
            reason=f"presubmit itself failed: {traceback.format_exc().strip().splitlines()[-1]}",
            required=step.required,
            origin=step.origin,
            seconds=bench.seconds,
            log=bench.log_name,
        )
    _write_result(assignment, result)
    write_event(Path(assignment.events), event="result", id=name)
    return result


def _do(  # noqa: C901, PLR0911 - one line a kind of work
    bench: Bench, step: PlanStep
) -> StepResult:
    """Do the step; each kind is loaded by the sessions that do it, which saves the others a tenth of a second."""
    match step.work:
        case Tests() as work:
            from presubmit.replay.tests import run_tests  # noqa: PLC0415

            return run_tests(bench, work)
        case Build() as work:
            from presubmit.replay.build import run_build  # noqa: PLC0415

            return run_build(bench, work)
        case Syntax() as work:
            from presubmit.replay.lint import run_syntax  # noqa: PLC0415

            return run_syntax(bench, work)
        case LintCommand() as work:
            from presubmit.replay.lint import run_lint_command  # noqa: PLC0415

            return run_lint_command(bench, work)
        case Docstrings() as work:
            from presubmit.replay.docs import run_docstrings  # noqa: PLC0415

            return run_docstrings(bench, work)
        case Doctests() as work:
            from presubmit.replay.docs import run_doctests  # noqa: PLC0415

            return run_doctests(bench, work)
        case Benchmarks() as work:
            from presubmit.replay.benches import run_benchmarks  # noqa: PLC0415

            return run_benchmarks(bench, work)
        case ReadLibraries() as work:
            from presubmit.replay.libraries import run_libraries  # noqa: PLC0415

            return run_libraries(bench, work)
        case BuildWheel() as work:
            from presubmit.replay.wheels import run_wheel  # noqa: PLC0415

            return run_wheel(bench, work)
        case Reviewing() | ReviewingBuilt():
            raise TypeError("presubmit reviews by itself, in no session")
        case Replay():
            raise TypeError("a cell of upstream runs in the session `upstream`")


def _write_result(assignment: Assignment, result: StepResult) -> None:
    path = Path(assignment.folder) / "results" / f"{assignment.prefix}{result.id}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".tmp")
    temporary.write_bytes(encode(result))
    temporary.replace(path)
