"""`presubmit plan`."""

from __future__ import annotations

import json
import os
from contextlib import ExitStack
from typing import Any

import rich_click as click

from presubmit.cli.options import make_options, place_options, selection_options, target_options
from presubmit.errors import ExitCode


@click.command()
@target_options
@selection_options
@place_options
@click.option("--json", "as_json", is_flag=True, help="Print the plan as JSON.")
@click.option(
    "--upstream",
    is_flag=True,
    help="Show the jobs that upstream CI would run, which of them can be replayed here, and why.",
)
@click.option(
    "--event",
    type=click.Choice(["pull_request", "push"]),
    default="pull_request",
    show_default=True,
    help="With --upstream: the event that starts the workflows.",
)
@click.option(
    "--as-root", is_flag=True, help="With --upstream: judge as `replay --as-root` would."
)
@click.option(
    "--require-complete",
    is_flag=True,
    help="With --upstream: exit 4 where a job cannot be replayed here.",
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[-- TEST ARGS…]")
def plan(*, as_json: bool, upstream: bool, **values: Any) -> int:  # noqa: ANN401 - click's parameters
    """Show what `run` would do, and why, without running anything.

    Each step is shown with its reason, where its command comes from, and the seconds that it took last time.
    """
    from presubmit.history import History  # noqa: PLC0415 - git and the rest cost 0.2 s
    from presubmit.reading import plan_run, read_all  # noqa: PLC0415
    from presubmit.report.escape import for_terminal  # noqa: PLC0415
    from presubmit.report.plan import plan_json, render_plan  # noqa: PLC0415
    from presubmit.upstream_options import said_of  # noqa: PLC0415
    from presubmit.upstream_taking import take_options  # noqa: PLC0415
    from presubmit.where import history_path  # noqa: PLC0415

    options = make_options(values)
    if upstream:
        from presubmit.upstream_plan import cmd_plan_upstream  # noqa: PLC0415

        return int(
            cmd_plan_upstream(
                options,
                os.environ,
                event=values["event"],
                root=values["as_root"],
                require_complete=values["require_complete"],
                output="json" if as_json else "text",
            )
        )
    reading = read_all(options, os.environ)
    with ExitStack() as stack:
        history = stack.enter_context(History(history_path(reading)))
        reading, taken = take_options(reading, options, None, os.environ, history)
        planned = plan_run(reading, options, history, clean=False)
    if as_json:
        click.echo(
            json.dumps(plan_json(reading.change, planned.plan, planned.selection), indent=1)
        )
    else:
        click.echo(render_plan(reading.change, planned.plan, planned.selection), nl=False)
        for text in (*said_of(taken), *taken.problems, *taken.notes):
            click.echo(for_terminal(f"upstream: {text}"))
    return int(ExitCode.OK)
