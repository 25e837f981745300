"""`presubmit hook`."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TextIO


@click.group()
def hook() -> None:
    """Install the pre-push hook, which lets a tested tree through at once.

    A push of a tree that a green `presubmit run` is evidence for goes on at once. Any other is run through tier quick
    (lint, docstrings, the nearest tests where nothing has to be built) within `hook.budget` seconds: a new failure
    stops the push; what could not be tested is named.
    """


@hook.command()
def install() -> int:
    """Put the hook in its place; one that is there already runs first, with the same input."""
    from presubmit.change import read_repository  # noqa: PLC0415
    from presubmit.hooks import install as put  # noqa: PLC0415

    found = put(read_repository(Path.cwd()))
    click.echo(f"installed {found.path}")
    if found.previous:
        click.echo(f"the hook that was there runs first: {found.previous}")
    click.echo("a push now waits for evidence, or for tier quick; git push --no-verify does not")
    return 0


@hook.command()
def uninstall() -> int:
    """Remove the hook, and put back the one that was there before."""
    from presubmit.change import read_repository  # noqa: PLC0415
    from presubmit.hooks import uninstall as remove  # noqa: PLC0415

    previous = remove(read_repository(Path.cwd()))
    click.echo(f"put back: {previous}" if previous else "removed")
    return 0


@hook.command()
def status() -> int:
    """Say what is at the hook's place, and whether a push of HEAD would go on at once; 4 where it is not in order."""
    from presubmit.change import read_repository  # noqa: PLC0415
    from presubmit.evidence_key import settings_digest  # noqa: PLC0415
    from presubmit.history import History  # noqa: PLC0415
    from presubmit.hooks import read_installed  # noqa: PLC0415
    from presubmit.pushing import evidence_of_head  # noqa: PLC0415

    repository = read_repository(Path.cwd())
    found = read_installed(repository)
    if found.ours:
        click.echo(f"installed: {found.path}")
    elif found.other:
        click.echo(f"not installed: another hook is at {found.path}; presubmit hook install")
    elif Path(found.path).exists():
        click.echo(f"called by another hook: {found.path}")
    else:
        click.echo("not installed: presubmit hook install")
    if found.previous:
        click.echo(f"runs first: {found.previous}")
    for problem in found.problems:
        click.echo(f"problem: {problem}")
    with History(repository.own_dir / "history.db") as history:
        told = evidence_of_head(repository, history, settings_digest(os.environ))
    click.echo(f"HEAD: {told}" if told else "HEAD: no evidence; presubmit run")
    return 4 if found.problems or (not found.ours and found.other) else 0


@hook.command()
@click.argument("remote", nargs=-1)
@click.option(
    "--from-pre-commit",
    is_flag=True,
    help="What is pushed stands in PRE_COMMIT_ variables, for the first ref alone.",
)
def run(remote: tuple[str, ...], *, from_pre_commit: bool) -> int:
    """Check what is pushed, as git's pre-push hook; REMOTE is its name and URL, the refs are read from standard input.

    Exit codes: 0 the push goes on, anything else stops it: 1 a new failure, 2 usage, 4 incomplete with
    `hook.incomplete = "refuse"`, 130 interrupted.
    """
    from presubmit import process  # noqa: PLC0415
    from presubmit.errors import UsageError  # noqa: PLC0415
    from presubmit.push import read_lines, read_pre_commit  # noqa: PLC0415
    from presubmit.pushing import cmd_push  # noqa: PLC0415
    from presubmit.report.terminal import Terminal  # noqa: PLC0415

    environ = process.scrubbed_environment()
    try:
        if from_pre_commit:
            refs = read_pre_commit(os.environ)
        elif sys.stdin is None or sys.stdin.isatty():
            raise UsageError(
                "git's lines are read from standard input, and there are none",
                hint="this is what the hook starts; to test now: presubmit run",
            )
        else:
            refs = read_lines(sys.stdin.buffer.read())
    except ValueError as error:
        raise UsageError(str(error), hint="presubmit hook install") from error
    # Nothing that is started from here on may work on the repository that git named to the hook.
    os.environ.clear()
    os.environ.update(environ)
    with _open_stream(live=from_pre_commit) as stream, Terminal("plain", stream) as terminal:
        return int(cmd_push(refs, remote, Path.cwd(), terminal, environ))


@contextlib.contextmanager
def _open_stream(*, live: bool) -> Iterator[TextIO]:
    """Give standard error; pre-commit holds that back until the end, so there the terminal itself, where there is one."""
    terminal: TextIO | None = None
    if live:
        with contextlib.suppress(OSError):
            terminal = Path("/dev/tty").open("w", encoding="utf-8")  # noqa: SIM115 - closed below
    if terminal is None:
        yield sys.stderr or io.StringIO()
        return
    with terminal:
        yield terminal
