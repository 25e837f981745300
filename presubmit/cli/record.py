"""`presubmit record`."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from typing import Any

import msgspec
import rich_click as click

from presubmit.cli.options import ShardOf, make_options, place_options, target_options


@click.command()
@target_options
@place_options
@click.option(
    "--shard",
    type=ShardOf(),
    help="Record the I-th of N parts of the tests; the parts of one tree add up.",
)
@click.option("--fresh", is_flag=True, help="Record again what has a record of this tree.")
@click.option(
    "--export",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Then write what is recorded of this tree to a file, for others to import.",
)
@click.option(
    "--import",
    "imported",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="Take over such a file, from CI say, and run nothing.",
)
@click.option(
    "--output",
    type=click.Choice(["auto", "rich", "plain", "github"]),
    default="auto",
    show_default=True,
    help="How to print.",
)
def record(
    output: str,
    *,
    export: Path | None,
    imported: Path | None,
    **values: Any,  # noqa: ANN401 - click's parameters
) -> int:
    """Run all tests once and record what each executes, reads and starts.

    Later runs, and `presubmit select`, then choose single tests: those that ran what a change touches.
    A test without a sound record (it failed, it started a process that could not be recorded, it is new)
    is chosen as without one. `presubmit run` records the tests that it runs by itself where that costs
    less than a minute, so this is for suites that take longer.

    What this tree has a record of is not run again, so a run that was cut off goes on where it stopped;
    `--shard 2/4` records a part. The logs are in `.presubmit/record`.

    `--export FILE` and `--import FILE` carry a recording between checkouts. An imported one narrows the
    choice of tests and does nothing else: import only what you would let decide which tests to leave out.

    Exit codes: 0 all tests ran and were recorded, failing or not; 2 usage; 3 could not record;
    4 something was not recorded; 130 interrupted.
    """
    from presubmit.errors import ExitCode, UsageError  # noqa: PLC0415
    from presubmit.record import cmd_record  # noqa: PLC0415 - git and the rest cost 0.2 s
    from presubmit.record_files import cmd_export, cmd_import  # noqa: PLC0415
    from presubmit.report.terminal import Terminal, choose_output  # noqa: PLC0415

    if imported is not None and (export is not None or values.get("shard") is not None):
        raise UsageError("--import runs nothing", hint="leave --export and --shard out")
    shard, fresh = values.pop("shard"), values.pop("fresh")
    options = msgspec.structs.replace(make_options(values), shard=shard, fresh=fresh)
    stream = sys.stdout or io.StringIO()
    with Terminal(choose_output(output, os.environ, stream)) as terminal:
        if imported is not None:
            return int(cmd_import(options, imported, terminal, os.environ))
        code = cmd_record(options, terminal, os.environ)
        if export is not None and code is not ExitCode.ENVIRONMENT:
            cmd_export(options, export, terminal, os.environ)
    return int(code)
