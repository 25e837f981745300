"""`presubmit run`."""

from __future__ import annotations

import io
import os
import sys
from typing import Any

import msgspec
import rich_click as click

from presubmit.cli.options import (
    make_options,
    place_options,
    print_run,
    selection_options,
    target_options,
)


@click.command()
@target_options
@selection_options
@place_options
@click.option(
    "--check-base",
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    show_default=True,
    help="Ask the base where head's failures, or new tests, call for it.",
)
@click.option(
    "--matrix",
    type=click.Choice(["one", "all"]),
    default="one",
    show_default=True,
    help="all: then replay the other cells of upstream's tests, narrowed to the same tests.",
)
@click.option(
    "--fresh",
    is_flag=True,
    help="Build from a clean tree; reuse nothing: not what was built before, nor a step that ran green on this tree.",
)
@click.option("--no-record", is_flag=True, help="Do not record what the tests run.")
@click.option("--allow-partial", is_flag=True, help="Exit 0 though required steps did not run.")
@click.option(
    "--output",
    type=click.Choice(["auto", "rich", "plain", "github", "json"]),
    default="auto",
    show_default=True,
    help="How to print; json prints run.json at the end and nothing else.",
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[-- TEST ARGS…]")
def run(output: str, matrix: str, *, no_record: bool, **values: Any) -> int:  # noqa: ANN401 - click's parameters
    """Check this change the way upstream CI would.

    Lints the changed files, builds the project, runs the tests that the change can affect and checks
    docstrings, in the project's devel container. Failures are run again, and again on the base, to
    tell the change's own from those that were there before.

    Commands, requirements and variables that the configuration does not name are those of the matching
    job of upstream's workflows. `--matrix all` then replays the other cells of its tests that can be
    replayed here; the exit code is the worst of both: 1 before 3 before 4 before 0.

    What follows `--` goes to the test command, and then nothing is narrowed:
    `presubmit run --only tests -- tests/test_a.py -k name`

    Exit codes: 0 nothing new failed, 1 a new failure, 2 usage, 3 could not test, 4 incomplete,
    130 interrupted.
    """
    from presubmit.report.terminal import Terminal, choose_output  # noqa: PLC0415
    from presubmit.run import cmd_run  # noqa: PLC0415 - git and the rest cost 0.2 s

    options = make_options(values)
    if no_record:
        config = {**options.config, "tests.record": "no"}
        options = msgspec.structs.replace(options, config=config)
    stream = sys.stdout or io.StringIO()
    chosen = "quiet" if output == "json" else choose_output(output, os.environ, stream)
    with Terminal(chosen) as terminal:
        if matrix == "all":
            from presubmit.run_matrix import cmd_run_matrix  # noqa: PLC0415 - replaying costs more

            code = cmd_run_matrix(options, terminal, os.environ)
        else:
            code = cmd_run(options, terminal, os.environ)
    if output == "json":
        print_run()
    return int(code)
