"""`presubmit shell`."""

from __future__ import annotations

import os
from typing import Any

import rich_click as click

from presubmit.cli.options import make_options, place_options, target_options


@click.command()
@click.argument("step", required=False)
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND…]")
@target_options
@place_options
@click.option("--debug", is_flag=True, help="Allow ptrace and core files, for gdb.")
@click.option("--network", is_flag=True, help="Leave the network on, which tests do not have.")
def shell(
    step: str | None,
    command: tuple[str, ...],
    *,
    debug: bool,
    network: bool,
    **values: Any,  # noqa: ANN401
) -> int:
    """Open a shell where STEP ran (`tests`, `build`, `lint.2`): same tree, environment and folder.

    Without STEP, where the tests run. What follows `--` is run there instead of a shell:
    `presubmit shell tests -- pytest -x tests/test_a.py`
    """
    from presubmit.shell import cmd_shell  # noqa: PLC0415 - git and the rest cost 0.2 s

    return cmd_shell(
        make_options(values),
        step,
        command,
        os.environ,
        debug=debug,
        network=network,
        say=lambda text: click.echo(f"presubmit: {text}", err=True),
    )
