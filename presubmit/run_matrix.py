"""`presubmit run --matrix all`: the run itself, then the other cells of upstream's tests, narrowed to the same tests."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Final

from presubmit.change import read_repository
from presubmit.errors import ExitCode, UsageError
from presubmit.history import History
from presubmit.reading import read_all
from presubmit.replay.job.house import find_here, local_images
from presubmit.report.folder import find_run, point_last, read_run, run_digest, write_json
from presubmit.run import cmd_run
from presubmit.upstream.cells import CellState
from presubmit.upstream_reading import make_place, read_upstream
from presubmit.upstream_run import ReplayOptions, cmd_replay
from presubmit.values import counted
from presubmit.where import find_where

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from presubmit.reading import RunOptions
    from presubmit.report.terminal import Terminal
    from presubmit.upstream.cells import JobCell

_WORST_FIRST: Final = (
    *(ExitCode.TERMINATED, ExitCode.INTERRUPTED, ExitCode.USAGE),
    *(ExitCode.FAILED, ExitCode.ENVIRONMENT, ExitCode.INCOMPLETE),
)
_ENDED_EARLY: Final = frozenset({ExitCode.TERMINATED, ExitCode.INTERRUPTED})


def cmd_run_matrix(
    options: RunOptions, terminal: Terminal, environ: Mapping[str, str]
) -> ExitCode:
    """Check the change, then replay the other cells; gives the worst of both exit codes.

    Raises UsageError where the command line narrows the run in a way that cells cannot be narrowed.
    """
    for given, name in (
        (options.arguments, "arguments after `--`"),
        (options.last_failed, "--last-failed"),
        (options.budget is not None, "--budget"),
        (options.shard is not None, "--shard"),
    ):
        if given:
            raise UsageError(
                f"--matrix all and {name} contradict each other",
                hint="cells are narrowed to the affected tests; leave one of them out",
            )
    code = cmd_run(options, terminal, environ)
    if code in _ENDED_EARLY:
        return code
    repository = read_repository(options.start)
    own = find_run(repository.top, None)
    run = read_run(own)
    if not any(step["role"] == "tests" for step in run["steps"]):
        terminal.line("matrix  the run has no tests: no other cell is replayed", "dim")
        return code
    cells = _read_cells(options, environ)
    wanted = other_cells(cells, run["upstream"]["cells"].get("tests", ""))
    if not wanted:
        terminal.line("matrix  upstream has no other cell of its tests for this box", "dim")
        return code
    terminal.line()
    terminal.line(f"matrix  {counted(len(wanted), 'other cell')} of upstream's tests", "bold")
    try:
        replayed = cmd_replay(
            ReplayOptions(run=options, queries=wanted, tests=options.tests), terminal, environ
        )
        with History(repository.own_dir / "history.db") as history:
            return _settle(own, run, wanted, code, replayed, history)
    finally:
        point_last(own)


def _read_cells(options: RunOptions, environ: Mapping[str, str]) -> tuple[JobCell, ...]:
    reading = read_all(options, environ)
    root = reading.config.config.replay.user == "root"
    with ExitStack() as stack:
        where = find_where(reading, options, stack)
        place = make_place(reading, where, environ, root=root, pull=options.pull)
        has_image = None if place.pull else local_images(place.engine)
        here = find_here(place)
        return read_upstream(reading, event="pull_request", here=here, has_image=has_image).cells


def other_cells(cells: Iterable[JobCell], followed: str) -> tuple[str, ...]:
    """Give the cells of the tests that can be replayed, but not the one that the run itself follows.

    A job whose matrix is only known when it runs is one cell until then: it is among them.
    """
    return tuple(
        cell.id
        for cell in cells
        if cell.role == "tests"
        and cell.state is CellState.REPLAYED
        and (cell.id != followed or cell.later)
    )


def worst(first: ExitCode, second: ExitCode) -> ExitCode:
    """Give the exit code that says more: 1 before 3 before 4 before 0."""
    return next((code for code in _WORST_FIRST if code in {first, second}), ExitCode.OK)


def _settle(
    own: Path,
    run: dict[str, Any],
    cells: tuple[str, ...],
    code: ExitCode,
    replayed: ExitCode,
    history: History,
) -> ExitCode:
    """Write into the run's own run.json what the other cells gave; it stays the evidence that it was."""
    shown = history.run_evidence(run_digest(own))
    other = find_run(own.parent.parent.parent, None)
    end = worst(code, replayed)
    state = run["state"] if end is code else read_run(other)["state"]
    matrix = {"run": other.name, "exit": int(replayed), "cells": list(cells)}
    write_json(own / "run.json", {**run, "state": state, "exit": int(end), "matrix": matrix})
    if shown is not None:
        history.write_run_evidence({**shown, "digest": run_digest(own)})
    return end
