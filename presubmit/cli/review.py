"""`presubmit review`."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import rich_click as click

from presubmit.cli.options import make_options, target_options
from presubmit.errors import ExitCode


@click.command()
@target_options
@click.option("--rule", "rules", multiple=True, metavar="NAME", help="Ask this rule alone.")
@click.option("--json", "as_json", is_flag=True, help="Print the review as JSON.")
@click.option(
    "--sarif",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the review as SARIF 2.1.0, too.",
)
def review(*, rules: tuple[str, ...], as_json: bool, sarif: Path | None, **values: Any) -> int:  # noqa: ANN401 - click's parameters
    """Say what the change brings that no test tells: API, docs, image and pins, packaging, files.

    Exit 1 where something is an error; warnings and notes are shown alone.
    Nothing of the project is run, and no engine is needed.
    """
    from presubmit.reading import read_all  # noqa: PLC0415 - git and the rest cost 0.2 s
    from presubmit.report.escape import for_terminal  # noqa: PLC0415
    from presubmit.report.review import STYLES, review_lines, summary  # noqa: PLC0415
    from presubmit.report.sarif import sarif_of  # noqa: PLC0415
    from presubmit.review.values import Severity  # noqa: PLC0415
    from presubmit.review_reading import read_review  # noqa: PLC0415
    from presubmit.values import builtins_of  # noqa: PLC0415

    reading = read_all(make_options(values), os.environ)
    found = read_review(reading, rules)
    if sarif is not None:
        sarif.write_text(json.dumps(sarif_of(found), indent=1) + "\n", "utf-8")
    if as_json:
        click.echo(json.dumps(builtins_of(found), indent=1))
    else:
        for warning in reading.warnings:
            click.echo(for_terminal(warning), err=True)
        colours = {STYLES[Severity.ERROR]: "red", "yellow": "yellow"}
        for text, style in review_lines(found, shown=len(found.remarks) + len(found.unchecked)):
            click.echo(click.style(text, fg=colours.get(style), dim=style == "dim"))
        click.echo(summary(found))
    failed = any(one.severity is Severity.ERROR for one in found.remarks)
    return int(ExitCode.FAILED if failed else ExitCode.OK)
