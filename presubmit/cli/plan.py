"""`presubmit plan`."""

from __future__ import annotations

import json
import os
from contextlib import ExitStack
from typing import Any

import rich_click as click

from presubmit.cli.options import make_options, place_options, selection_options, target_options


@click.command()
@target_options
@selection_options
@place_options
@click.option("--json", "as_json", is_flag=True, help="Print the plan as JSON.")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[-- TEST ARGS…]")
def plan(*, as_json: bool, **values: Any) -> None:  # noqa: ANN401 - click's parameters
    """Show what `run` would do, and why, without running anything.

    Each step is shown with its reason, where its command comes from, and the seconds that it took last time.
    """
    from presubmit.history import History  # noqa: PLC0415 - git and the rest cost 0.2 s
    from presubmit.reading import plan_run, read_all  # noqa: PLC0415
    from presubmit.report.plan import plan_json, render_plan  # noqa: PLC0415
    from presubmit.where import history_path, open_lane_mirror  # noqa: PLC0415

    options = make_options(values)
    reading = read_all(options, os.environ)
    with ExitStack() as stack:
        history = stack.enter_context(History(history_path(reading)))
        mirror = stack.enter_context(open_lane_mirror(reading, "plan", wait=True))
        mirror.checkout(reading.change.target.snapshot)
        planned = plan_run(reading, mirror, options, history, clean=False)
    if as_json:
        click.echo(
            json.dumps(plan_json(reading.change, planned.plan, planned.selection), indent=1)
        )
    else:
        click.echo(render_plan(reading.change, planned.plan, planned.selection), nl=False)
