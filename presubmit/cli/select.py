"""`presubmit select`."""

from __future__ import annotations

import os
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from presubmit.cli.options import make_options, target_options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from presubmit.values import Selection


class _Select(click.RichCommand):
    """Says what is missing where the options of the user's own command are taken for ours."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the command line."""
        without_dashes = "--exec" in args and "--" not in args
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            if not without_dashes:
                raise
            from presubmit.errors import UsageError  # noqa: PLC0415

            raise UsageError(
                f"{error.option_name} is no option of `presubmit select`",
                hint="put -- before the command: presubmit select --exec -- pytest -q",
            ) from error


@click.command(cls=_Select)
@target_options
@click.option(
    "--tests",
    type=click.Choice(["affected", "nearest", "all"]),
    default="affected",
    show_default=True,
    help="All tests that the change can affect, the nearest of them, or every one.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["ids", "files", "json"]),
    default="ids",
    show_default=True,
    help="One a line, ALL for everything. files: test files; ids: single tests where a recorded run tells them;"
    " json: with every reason, and what was left out.",
)
@click.option(
    "--explain",
    is_flag=True,
    help="Show the tests in their order, each with a reason; what was left out by which rule; what was unsure.",
)
@click.option(
    "--all", "name_all", is_flag=True, help="With --explain: name all that was left out."
)
@click.option(
    "--exec",
    "execute",
    is_flag=True,
    help="Run the command after `--` on the tests; none: nothing.",
)
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND…]")
def select(
    *,
    form: str,
    explain: bool,
    name_all: bool,
    execute: bool,
    command: tuple[str, ...],
    **values: Any,  # noqa: ANN401 - click's parameters
) -> int:
    """Print the tests that this change can affect, for editors and CI.

    One a line, the likeliest to fail first; `ALL` where everything is affected; nothing, and a word on
    stderr, where nothing is. `presubmit explain TEST` says why one runs, or why not.

    `presubmit select --exec -- pytest -q` runs them: the whole command for ALL, nothing at all for none
    (a bare `pytest $(presubmit select)` would then run everything).
    """
    from presubmit.cli.runner import with_runner  # noqa: PLC0415
    from presubmit.history import History  # noqa: PLC0415 - git and the rest cost 0.1 s
    from presubmit.reading import in_order, read_all, read_selection  # noqa: PLC0415
    from presubmit.report.selection import selection_json  # noqa: PLC0415
    from presubmit.selector.explain import left_out  # noqa: PLC0415
    from presubmit.values import Mode  # noqa: PLC0415
    from presubmit.where import history_path  # noqa: PLC0415

    _check(execute=execute, explain=explain, name_all=name_all, command=command)
    options = make_options(values)
    reading = read_all(options, os.environ)
    with ExitStack() as stack:
        history = stack.enter_context(History(history_path(reading)))
        reading = with_runner(reading, options, os.environ, history)
        selection, layout = read_selection(reading, options.tests, history)
        selection = in_order(reading, selection, history)
    if history.note:
        click.echo(f"note: {history.note}", err=True)
    out = left_out(selection, layout.tests)
    if form == "json" and not execute:
        click.echo(selection_json(selection, out))
        return 0
    if explain:
        _show(selection, out, name_all=name_all)
        return 0
    if selection.mode is Mode.NONE:
        click.echo(f"no test is affected: {selection.why}", err=True)
        return 0
    for text in selection.unsure:
        click.echo(f"unsure: {text}", err=True)
    for text in selection.notes:
        click.echo(f"note: {text}", err=True)
    if execute:
        return _execute(command, selection, form, Path(reading.change.top))
    names = ["ALL"] if selection.mode is Mode.ALL else _names(selection, form)
    # As bytes: a path need not be UTF-8.
    sys.stdout.buffer.write(b"".join(os.fsencode(name) + b"\n" for name in names))
    return 0


def _check(*, execute: bool, explain: bool, name_all: bool, command: tuple[str, ...]) -> None:
    from presubmit.errors import UsageError  # noqa: PLC0415

    if execute and not command:
        raise UsageError("--exec needs a command", hint="presubmit select --exec -- pytest")
    if command and not execute:
        raise UsageError("a command is run only with --exec", hint="presubmit select --exec -- …")
    if execute and explain:
        raise UsageError("--exec and --explain contradict each other", hint="give one of them")
    if name_all and not explain:
        raise UsageError("--all goes with --explain", hint="presubmit select --explain --all")


def _names(selection: Selection, form: str) -> list[str]:
    """Give the chosen files, or with `ids` the single tests of those that are narrowed."""
    from presubmit.selector.shards import units_of  # noqa: PLC0415

    files = [test.path for test in selection.tests]
    within = [one for test in selection.tests for one in test.ids]
    return files if form == "files" else list(units_of(files, within))


def _show(selection: Selection, out: Sequence[Any], *, name_all: bool) -> None:
    from presubmit.report.escape import for_terminal  # noqa: PLC0415
    from presubmit.report.selection import (  # noqa: PLC0415
        render_selection,
        selection_notes,
        selection_table,
    )
    from presubmit.report.terminal import choose_output  # noqa: PLC0415

    if choose_output("auto", os.environ, sys.stdout) != "rich":
        click.echo(render_selection(selection, out, name_all=name_all), nl=False)
        return
    from rich.console import Console  # noqa: PLC0415 - it costs 0.1 s

    console = Console(highlight=False)
    console.print(for_terminal(selection.why), style="bold", markup=False)
    if selection.tests:
        console.print(selection_table(selection))
    for line in selection_notes(selection, out, name_all=name_all):
        console.print(for_terminal(line), markup=False)


# --- running ----------------------------------------------------------------------------------------------------------


def _execute(command: tuple[str, ...], selection: Selection, form: str, top: Path) -> int:
    """Run the command in this folder, on names as they are from here."""
    from presubmit.values import Mode  # noqa: PLC0415

    if selection.mode is Mode.ALL:
        return _call(command)
    from presubmit.selector import arguments  # noqa: PLC0415

    here = os.path.relpath(top, Path.cwd())
    names = _names(selection, form if form == "files" else "ids")
    if here != ".":
        names = [os.path.join(here, name) for name in names]  # noqa: PTH118 - `..` must stay
    words = arguments.as_arguments(names)
    most = os.sysconf("SC_ARG_MAX")
    if arguments.fits((*command, *words), os.environ, most=most):
        return _call((*command, *words))
    text, outside = arguments.as_file(words)
    _check_reads_files(command)
    with tempfile.NamedTemporaryFile("w", prefix="presubmit-tests-", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        return _call((*command, f"@{file.name}", *outside))


def _check_reads_files(command: tuple[str, ...]) -> None:
    from presubmit.errors import UsageError  # noqa: PLC0415
    from presubmit.process import run  # noqa: PLC0415
    from presubmit.selector import arguments  # noqa: PLC0415

    asking = arguments.version_command(command)
    said = ""
    if asking:
        try:
            done = run(asking, timeout=60)
        except FileNotFoundError as error:
            raise UsageError(f"{command[0]} is not there", hint="see PATH") from error
        said = f"{done.text}\n{os.fsdecode(done.stderr)}"
    if not arguments.reads_files(said):
        raise UsageError(
            "the names of the tests are too many for one command, and only pytest 8.2 or newer takes them in a file",
            hint="presubmit select --format files --exec -- …, or a newer pytest",
        )


def _call(command: tuple[str, ...]) -> int:
    from presubmit.errors import UsageError  # noqa: PLC0415
    from presubmit.process import call  # noqa: PLC0415

    try:
        return call(command)
    except FileNotFoundError as error:
        raise UsageError(f"{command[0]} is not there", hint="see PATH") from error
