"""`presubmit plan --upstream`: what upstream CI would run for this change, and what of it can be replayed here."""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING

from presubmit.errors import ExitCode, PresubmitError
from presubmit.reading import read_all
from presubmit.replay.job.house import find_here, local_images
from presubmit.report.cells import cells_json, render_cells
from presubmit.report.escape import for_terminal
from presubmit.upstream.cells import CellState
from presubmit.upstream_reading import make_place, read_upstream
from presubmit.where import NOWHERE, Where, find_where, start_connecting

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from presubmit.container.engine import Engine
    from presubmit.reading import Reading, RunOptions


def cmd_plan_upstream(
    options: RunOptions,
    environ: Mapping[str, str],
    *,
    event: str,
    root: bool,
    require_complete: bool,
    output: str,
) -> ExitCode:
    """Print every cell with its verdict, its reason and the line that says so; nothing of the project runs."""
    with ExitStack() as stack:
        connecting = start_connecting(options, environ)
        reading = read_all(options, environ)
        where, unknown = _where(reading, options, stack, connecting)
        as_root = root or reading.config.config.replay.user == "root"
        place = make_place(reading, where, environ, root=as_root)
        upstream = read_upstream(
            reading,
            event=event,
            here=None if unknown else find_here(place),
            has_image=local_images(where.engine),
        )
    problems = [str(problem) for problem in upstream.problems]
    notes = [
        *reading.warnings,
        *where.notes,
        *upstream.notes,
        *([unknown] if unknown else []),
    ]
    if output == "json":
        text = json.dumps(cells_json(reading.change, upstream.cells, problems), indent=1) + "\n"
    else:
        text = "".join(f"note {for_terminal(note)}\n" for note in (*notes, *problems))
        text += render_cells(upstream.cells)
    if sys.stdout is not None:  # closed by who started us
        sys.stdout.write(text)
    lacking = [c for c in upstream.cells if c.state in {CellState.NOT_REPLAYED, CellState.BLOCKED}]
    return ExitCode.INCOMPLETE if require_complete and lacking else ExitCode.OK


def _where(
    reading: Reading,
    options: RunOptions,
    stack: ExitStack,
    connecting: Callable[[], Engine] | None,
) -> tuple[Where, str]:
    """Find where jobs would run; without an engine or image the plan is made all the same, and says what it misses."""
    try:
        return find_where(reading, options, stack, connecting), ""
    except PresubmitError as error:
        if options.image or error.exit_code is ExitCode.USAGE:
            raise
        return NOWHERE, f"interpreters and tools are not checked: {error}"
