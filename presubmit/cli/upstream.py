"""`presubmit upstream`."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Final

import rich_click as click

if TYPE_CHECKING:
    from collections.abc import Iterator

_MOST: Final = 8 * 1024 * 1024
"""Bytes; GitHub reads 1024 * 1024 characters of a workflow."""


@click.group()
def upstream() -> None:
    """Look into the project's GitHub Actions workflows, without running anything."""


@upstream.command()
@click.argument("files", nargs=-1, metavar="[FILE…]")
def check(files: tuple[str, ...]) -> int:
    """Say what GitHub would refuse in workflow and action files.

    Without FILE: all workflows of the checkout, and its own actions in .github/actions.

    Exit 0 where there are no errors (warnings are allowed), 1 where there are, 2 where a FILE does not exist.
    """
    from presubmit.errors import UsageError  # noqa: PLC0415
    from presubmit.report.escape import for_terminal  # noqa: PLC0415
    from presubmit.upstream.folder import check_file  # noqa: PLC0415
    from presubmit.values import counted  # noqa: PLC0415

    absent = [name for name in files if not Path(name).is_file()]
    if absent:
        raise UsageError(f"no such file: {', '.join(absent)}", hint="presubmit upstream check")
    top = Path() if files else _top()
    errors = warnings = 0
    paths = files or tuple(_own_files(top))
    for path in paths:
        for problem in check_file(lambda name: _read(top / name), path):
            click.echo(for_terminal(str(problem)))
            warnings += problem.warning
            errors += not problem.warning
    click.echo(
        f"{counted(len(paths), 'file')}, {counted(errors, 'error')}, {counted(warnings, 'warning')}"
    )
    return 1 if errors else 0


@upstream.command(name="eval")
@click.option(
    "--context",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help='JSON with further contexts: {"matrix": {"os": "ubuntu-latest"}}.',
)
@click.option(
    "--event",
    type=click.Choice(["pull_request", "push"]),
    default="pull_request",
    show_default=True,
    help="The event that `github` is of.",
)
@click.argument("expression")
def evaluate(expression: str, context: Path | None, event: str) -> int:
    """Show what an expression gives for this change, and what each part of it gives.

    EXPRESSION is what stands in `if:` or between `${{` and `}}`:
    `presubmit upstream eval "github.event_name == 'push' && startsWith(github.ref, 'refs/tags/')"`
    """
    from presubmit.upstream_eval import cmd_eval  # noqa: PLC0415 - git costs 0.2 s

    for line in cmd_eval(expression, os.environ, context=context, event=event):
        click.echo(line)
    return 0


def _top() -> Path:
    from presubmit.change import read_repository  # noqa: PLC0415

    return read_repository(Path.cwd()).top


def _own_files(top: Path) -> Iterator[str]:
    """Give the workflow and action files of a checkout, relative to it."""
    from presubmit.upstream.files import is_action, is_workflow  # noqa: PLC0415

    found = [
        (Path(folder) / name).relative_to(top).as_posix()
        for folder, _, names in os.walk(top / ".github")
        for name in names
    ]
    yield from sorted(filter(is_workflow, found))
    yield from sorted(filter(is_action, found))


def _read(path: Path) -> bytes | None:
    """Read a file, but no device or pipe, and no more than the reader wants to see."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise OSError(errno.EINVAL, "not a regular file")
        with path.open("rb") as file:
            return file.read(_MOST)
    except FileNotFoundError:
        return None
