"""`presubmit review`."""

from __future__ import annotations

import io
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import rich_click as click

from presubmit.cli.options import make_options, place_options, target_options
from presubmit.errors import ExitCode

if TYPE_CHECKING:
    from presubmit.reading import RunOptions
    from presubmit.review.values import Review


@click.command()
@target_options
@click.option(
    "--build",
    "build_both",
    is_flag=True,
    help="Build both sides, too: compare exported symbols, and the wheel with the tree.",
)
@place_options
@click.option("--rule", "rules", multiple=True, metavar="NAME", help="Ask this rule alone.")
@click.option("--json", "as_json", is_flag=True, help="Print the review as JSON.")
@click.option(
    "--sarif",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the review as SARIF 2.1.0, too.",
)
def review(
    *,
    rules: tuple[str, ...],
    as_json: bool,
    sarif: Path | None,
    build_both: bool,
    **values: Any,  # noqa: ANN401 - click's parameters
) -> int:
    """Say what the change brings that no test tells: API, docs, image and pins, packaging, files.

    Exit 1 where something is an error; warnings and notes are shown alone.
    Nothing of the project is run, and no engine is needed.

    With --build head and base are built as `presubmit run` builds them, in the project's devel container: then what
    their libraries export is compared, and a wheel is built and compared with the tree. Only then the options on the
    image and the host count.
    """
    from presubmit.report.review import STYLES, review_lines, summary  # noqa: PLC0415
    from presubmit.report.sarif import sarif_of  # noqa: PLC0415
    from presubmit.review.values import Severity  # noqa: PLC0415
    from presubmit.values import builtins_of  # noqa: PLC0415

    options = make_options(values)
    if build_both:
        code, found = build_and_review(options, rules)
        if found is None:
            return int(code)
    else:
        code, found = ExitCode.OK, review_alone(options, rules)
    if sarif is not None:
        sarif.write_text(json.dumps(sarif_of(found), indent=1) + "\n", "utf-8")
    if as_json:
        click.echo(json.dumps(builtins_of(found), indent=1))
    else:
        colours = {STYLES[Severity.ERROR]: "red", "yellow": "yellow"}
        for text, style in review_lines(found, shown=len(found.remarks) + len(found.unchecked)):
            click.echo(click.style(text, fg=colours.get(style), dim=style == "dim"))
        click.echo(summary(found))
    failed = any(one.severity is Severity.ERROR for one in found.remarks)
    return int(ExitCode.FAILED if failed else code)


def review_alone(options: RunOptions, rules: tuple[str, ...]) -> Review:
    """Review without a build; warnings go to standard error."""
    from presubmit.reading import read_all  # noqa: PLC0415 - git and the rest cost 0.2 s
    from presubmit.report.escape import for_terminal  # noqa: PLC0415
    from presubmit.review_reading import read_review  # noqa: PLC0415

    reading = read_all(options, os.environ)
    found = read_review(reading, rules)
    for warning in reading.warnings:
        click.echo(for_terminal(warning), err=True)
    return found


def build_and_review(
    options: RunOptions, rules: tuple[str, ...]
) -> tuple[ExitCode, Review | None]:
    """Run the review's steps of a run, which goes on in standard error; no review where there is no change."""
    from presubmit.change import read_repository  # noqa: PLC0415
    from presubmit.report.folder import find_run  # noqa: PLC0415
    from presubmit.report.terminal import Terminal, choose_output  # noqa: PLC0415
    from presubmit.review_reading import known_rules, read_kept_review  # noqa: PLC0415
    from presubmit.run import cmd_run  # noqa: PLC0415

    stream = sys.stderr or io.StringIO()
    options = msgspec.structs.replace(
        options,
        only=("review",),
        check_base="never",
        rules=known_rules(rules),
        build_both=True,
    )
    with Terminal(choose_output("auto", os.environ, stream), stream) as terminal:
        code = cmd_run(options, terminal, os.environ)
    return code, read_kept_review(find_run(read_repository(Path.cwd()).top, None))
