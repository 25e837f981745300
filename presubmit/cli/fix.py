"""`presubmit fix`."""

from __future__ import annotations

from pathlib import Path

import rich_click as click


@click.command()
@click.argument("run", required=False)
@click.option("--dry-run", is_flag=True, help="Print the patch, change nothing.")
def fix(run: str | None, *, dry_run: bool) -> int:
    """Apply to the worktree what lint tools changed in the last run (or in RUN).

    Files that you have edited since are refused, by name: run presubmit again first.
    """
    from presubmit.change import read_repository  # noqa: PLC0415
    from presubmit.fix import apply_patch, newest_with_patch, read_patch  # noqa: PLC0415
    from presubmit.report.escape import for_terminal  # noqa: PLC0415
    from presubmit.report.folder import find_run  # noqa: PLC0415

    repository = read_repository(Path.cwd())
    folder = newest_with_patch(repository.top) if run is None else find_run(repository.top, run)
    patch = read_patch(folder)
    if not patch:
        click.echo(f"lint tools changed nothing in {folder.name}")
        return 0
    if dry_run:
        click.echo(for_terminal(patch.decode("utf-8", "replace")), nl=False)
        return 0
    for path in apply_patch(repository, folder, patch):
        click.echo(f"fixed {for_terminal(path)}")
    return 0
