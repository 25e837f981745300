"""`presubmit config`."""

from __future__ import annotations

import json
import os
from pathlib import Path

import rich_click as click

from presubmit.cli.options import make_options


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
@click.option("--user-file", is_flag=True, help="Print the path of your own config file.")
@click.option("--schema", is_flag=True, help="Print the JSON Schema of the configuration.")
@click.option("--trust-head", is_flag=True, help="Take container settings from the change itself.")
def config(*, as_json: bool, user_file: bool, schema: bool, trust_head: bool) -> int:
    """Print every option, its value and where that came from.

    First wins: command line, environment (PRESUBMIT_<TABLE>_<OPTION>), your own file, the project's
    presubmit.toml or [tool.presubmit], upstream's own jobs, convention.
    """
    import msgspec  # noqa: PLC0415

    from presubmit.config import Config, described_options, value_of  # noqa: PLC0415
    from presubmit.history import History  # noqa: PLC0415
    from presubmit.reading import read_all, user_config_path  # noqa: PLC0415
    from presubmit.upstream_taking import take_options  # noqa: PLC0415
    from presubmit.where import history_path  # noqa: PLC0415

    if user_file:
        click.echo(str(user_config_path(os.environ)))
        return 0
    if schema:
        click.echo(json.dumps(msgspec.json.schema(Config), indent=1))
        return 0
    options = make_options({"trust_head": trust_head})
    reading = read_all(options, os.environ)
    with History(history_path(reading)) as history:
        found = take_options(reading, options, None, os.environ, history)[0].config
    rows = [
        (option, value_of(found.config, option), found.origins.get(option, "default"), text)
        for option, text in described_options()
    ]
    if as_json:
        keys = ("option", "value", "from", "help")
        click.echo(json.dumps([dict(zip(keys, row, strict=True)) for row in rows], indent=1))
        return 0
    for option, value, origin, _ in rows:
        click.echo(f"{option:<24} {json.dumps(value):<32} {_short(origin)}")
    return 0


def _short(origin: str) -> str:
    return origin.replace(str(Path.home()), "~")
