"""`presubmit replay`."""

from __future__ import annotations

import io
import os
import sys
from typing import Any

import rich_click as click

from presubmit.cli.options import make_options, place_options, print_run, target_options


@click.command()
@target_options
@place_options
@click.option("--all", "everything", is_flag=True, help="Every job that the event starts.")
@click.option(
    "--event",
    type=click.Choice(["pull_request", "push"]),
    default="pull_request",
    show_default=True,
    help="The event that starts the workflows.",
)
@click.option(
    "--tests",
    type=click.Choice(["all", "affected", "nearest"]),
    default="all",
    show_default=True,
    help="Narrow every pytest that the jobs start to the tests that the change can affect.",
)
@click.option("--no-needs", is_flag=True, help="Leave out the jobs that a chosen one needs.")
@click.option(
    "--no-fail-fast", is_flag=True, help="Go on with a matrix after one of its cells failed."
)
@click.option(
    "-j", "--parallel", type=click.IntRange(1, 64), help="Cells that run at a time.", default=None
)
@click.option(
    "--as-root",
    is_flag=True,
    help="Run steps as root inside the container, so that sudo and apt-get work.",
)
@click.option(
    "--require-complete",
    is_flag=True,
    help="Exit 4 where a chosen job cannot be replayed here.",
)
@click.option(
    "--check-base",
    type=click.Choice(["auto", "never"]),
    default="auto",
    show_default=True,
    help="Replay failing jobs on the base, to tell the change's failures from older ones.",
)
@click.option(
    "--output",
    type=click.Choice(["auto", "rich", "plain", "github", "json"]),
    default="auto",
    show_default=True,
    help="How to print; json prints run.json at the end and nothing else.",
)
@click.argument("cells", nargs=-1, metavar="[JOB…]")
def replay(
    *,
    output: str,
    everything: bool,
    cells: tuple[str, ...],
    parallel: int | None,
    **values: Any,  # noqa: ANN401 - click's parameters
) -> int:
    """Replay jobs of upstream CI for this change, as their workflows are written.

    JOB is a cell (`ci.yml/tests(python=3.12)`), a job (`ci.yml/tests` or `tests`), a workflow (`ci.yml`)
    or a role (lint, build, tests, docs, bench). `presubmit plan --upstream` lists them all, with what can
    be replayed here and what cannot, and why.

    Exit codes: 0 nothing new failed, 1 a new failure, 2 usage, 3 could not test, 4 incomplete,
    130 interrupted.
    """
    from presubmit.report.terminal import Terminal, choose_output  # noqa: PLC0415
    from presubmit.upstream_run import ReplayOptions, cmd_replay  # noqa: PLC0415 - git costs 0.2 s

    narrow = values.pop("tests")
    options = ReplayOptions(
        run=make_options(values),
        queries=cells,
        everything=everything,
        event=values["event"],
        needs=not values["no_needs"],
        fail_fast=not values["no_fail_fast"],
        parallel=parallel or 0,
        root=values["as_root"],
        require_complete=values["require_complete"],
        tests=narrow,
    )
    stream = sys.stdout or io.StringIO()
    chosen = "quiet" if output == "json" else choose_output(output, os.environ, stream)
    with Terminal(chosen) as terminal:
        code = cmd_replay(options, terminal, os.environ)
    if output == "json":
        print_run()
    return int(code)
