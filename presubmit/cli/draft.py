"""`presubmit draft`."""

from __future__ import annotations

import os
from typing import Any

import rich_click as click

from presubmit.cli.options import make_options, target_options


@click.command()
@click.argument("what", type=click.Choice(["pr", "rfc", "checklist", "all"]))
@click.option(
    "--check",
    is_flag=True,
    help="Write nothing; exit 5 where a draft is stale, 1 where something is yours to write.",
)
@click.option(
    "--open", "opened", is_flag=True, help="Open what was written in $VISUAL or $EDITOR."
)
@click.option("--new", is_flag=True, help="Begin anew; your draft is kept as PR.old.md.")
@click.option("--template", default="", metavar="NAME", help="Which of the project's templates.")
@click.option(
    "--run", "run_name", metavar="RUN", help="Write from this run, not from the best one."
)
@target_options
def draft(
    what: str,
    template: str,
    run_name: str | None,
    *,
    check: bool,
    opened: bool,
    new: bool,
    **values: Any,  # noqa: ANN401 - click's parameters
) -> int:
    """Write the pull request, the RFC and the checklist out of what was measured. Posts nothing.

    A box is ticked only by a whole run of this very tree; what only a person can say is left as TODO(author).
    Your own words outside of presubmit's markers stay when the draft is written again.

    Exit codes: 0 written, 5 the evidence is stale (another tree, base, settings or presubmit): no box is
    ticked. With --check: 0 clean, 1 something is open, 5 stale.
    """
    from presubmit.drafting import DraftOptions, cmd_draft  # noqa: PLC0415 - git costs 0.2 s
    from presubmit.report.escape import for_terminal  # noqa: PLC0415

    options = DraftOptions(
        run_options=make_options(values),
        what=what,
        check=check,
        open=opened,
        new=new,
        template=template,
        run=run_name,
    )
    return int(cmd_draft(options, os.environ, lambda line: click.echo(for_terminal(line))))
