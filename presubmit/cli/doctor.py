"""`presubmit doctor`."""

from __future__ import annotations

import json
import os
from typing import Any

import rich_click as click

from presubmit.cli.options import make_options, place_options, target_options


@click.command()
@target_options
@place_options
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def doctor(*, as_json: bool, **values: Any) -> int:  # noqa: ANN401 - click's parameters
    """Check git, the change, engine, image, GPU and disk, and say what mismatches.

    Exit 3 where a run could not be done, else 0.
    """
    from presubmit.doctor import examine  # noqa: PLC0415
    from presubmit.report.escape import for_terminal  # noqa: PLC0415
    from presubmit.values import builtins_of  # noqa: PLC0415

    options = make_options(values)
    bad = False
    rows = []
    for finding in examine(options, os.environ):
        needed = finding.layer in {"engine", "image", "inside"}
        bad = bad or (finding.level == "bad" and not (needed and not options.container))
        if as_json:
            rows.append(builtins_of(finding))
            continue
        click.echo(f"  {finding.level:<5} {finding.layer:<8} {for_terminal(finding.text)}")
        if finding.hint:
            click.echo(f"        {'':<8} -> {for_terminal(finding.hint)}")
    if as_json:
        click.echo(json.dumps(rows, indent=1))
    return 3 if bad else 0
