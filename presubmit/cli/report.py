"""`presubmit report`."""

from __future__ import annotations

import json
import os
from pathlib import Path

import rich_click as click


@click.command()
@click.argument("run", required=False)
@click.option(
    "--format",
    "form",
    type=click.Choice(["md", "json", "junit", "sarif"]),
    default="md",
    show_default=True,
    help="The report, run.json, all test cases as JUnit XML, or all findings as SARIF.",
)
@click.option(
    "--evidence",
    is_flag=True,
    help="Say what the tree of the worktree has evidence for, and if it does not hold, what differs.",
)
@click.option(
    "--list", "listing", is_flag=True, help="List the runs of this checkout, newest last."
)
def report(run: str | None, form: str, *, evidence: bool, listing: bool) -> int:
    """Print a run's report: the newest, or the one whose folder's name begins with RUN."""
    from presubmit.change import read_repository  # noqa: PLC0415
    from presubmit.errors import UsageError  # noqa: PLC0415
    from presubmit.report.escape import for_terminal  # noqa: PLC0415
    from presubmit.report.folder import find_run, list_runs, read_run, settle_dead_runs  # noqa: PLC0415
    from presubmit.where import boot_id  # noqa: PLC0415

    if evidence:
        from presubmit.proof import say_evidence  # noqa: PLC0415

        told, code = say_evidence(Path.cwd(), os.environ)
        click.echo("\n".join(told))
        return int(code)
    top = read_repository(Path.cwd()).top
    settle_dead_runs(top, boot=boot_id())
    if listing:
        for folder in list_runs(top):
            found = read_run(folder)
            click.echo(f"{folder.name}  {found.get('state')}  exit {found.get('exit')}")
        return 0
    folder = find_run(top, run)
    if form == "json":
        click.echo(json.dumps(read_run(folder), indent=1))
        return 0
    path = folder / {"md": "report.md", "junit": "junit.xml", "sarif": "report.sarif"}[form]
    if not path.is_file():
        state = read_run(folder).get("state")
        raise UsageError(
            f"the run {folder.name} has no {path.name}: it is {state}",
            hint="presubmit report --format json",
        )
    click.echo(for_terminal(path.read_text("utf-8", "replace")), nl=False)
    return 0
