"""`presubmit select`."""

from __future__ import annotations

import json
import os
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import rich_click as click

from presubmit.cli.options import make_options, target_options

if TYPE_CHECKING:
    from presubmit.values import Selection


@click.command()
@target_options
@click.option(
    "--tests",
    type=click.Choice(["affected", "nearest", "all"]),
    default="affected",
    show_default=True,
    help="All tests that the change can affect, the nearest of them, or every one.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["ids", "files", "json"]),
    default="ids",
    show_default=True,
    help="ids or files: one a line, ALL for everything; json: with the reasons.",
)
@click.option(
    "--exec",
    "execute",
    is_flag=True,
    help="Run the command after `--` on the tests; none: nothing.",
)
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND…]")
def select(*, form: str, execute: bool, command: tuple[str, ...], **values: Any) -> int:  # noqa: ANN401
    """Print the tests that this change can affect, for editors and CI.

    One a line; `ALL` where everything is affected; nothing, and a word on stderr, where nothing is.

    `presubmit select --exec -- pytest -q` runs them: the whole command for ALL, nothing at all for none
    (a bare `pytest $(presubmit select)` would then run everything).
    """
    from presubmit.errors import UsageError  # noqa: PLC0415
    from presubmit.reading import read_all, read_selection  # noqa: PLC0415 - git costs 0.1 s
    from presubmit.values import Mode, builtins_of  # noqa: PLC0415
    from presubmit.where import open_lane_mirror  # noqa: PLC0415

    if execute and not command:
        raise UsageError("--exec needs a command", hint="presubmit select --exec -- pytest")
    if command and not execute:
        raise UsageError("a command is run only with --exec", hint="presubmit select --exec -- …")
    options = make_options(values)
    reading = read_all(options, os.environ)
    with ExitStack() as stack:
        mirror = stack.enter_context(open_lane_mirror(reading, "plan", wait=True))
        mirror.checkout(reading.change.target.snapshot)
        selection, _ = read_selection(reading, mirror, options.tests)
    if form == "json" and not execute:
        click.echo(json.dumps(builtins_of(selection), indent=1))
        return 0
    if selection.mode is Mode.NONE:
        click.echo(f"no test is affected: {selection.why}", err=True)
        return 0
    for text in selection.unsure:
        click.echo(f"unsure: {text}", err=True)
    if execute:
        return _execute(command, selection)
    names = ["ALL"] if selection.mode is Mode.ALL else [test.path for test in selection.tests]
    # As bytes: a path need not be UTF-8.
    sys.stdout.buffer.write(b"".join(os.fsencode(name) + b"\n" for name in names))
    return 0


def _execute(command: tuple[str, ...], selection: Selection) -> int:
    from presubmit.errors import UsageError  # noqa: PLC0415
    from presubmit.process import call  # noqa: PLC0415
    from presubmit.values import Mode  # noqa: PLC0415

    files = () if selection.mode is Mode.ALL else tuple(test.path for test in selection.tests)
    try:
        return call((*command, *files))
    except FileNotFoundError as error:
        raise UsageError(f"{command[0]} is not there", hint="see PATH") from error
