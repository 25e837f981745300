"""`presubmit explain`."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from presubmit.cli.options import make_options, target_options

if TYPE_CHECKING:
    from presubmit.history import History
    from presubmit.reading import Reading
    from presubmit.selector.explain import Answer, Reached
    from presubmit.selector.layout import PytestSettings
    from presubmit.values import Selection


@click.command()
@target_options
@click.option(
    "--why-not",
    is_flag=True,
    help="Of a file: name the tests that it does not reach. Of a test: it is said anyway.",
)
@click.option("--all", "name_all", is_flag=True, help="Name every test, however many there are.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="How to print.",
)
@click.argument("target")
def explain(
    *,
    target: str,
    why_not: bool,
    name_all: bool,
    form: str,
    **values: Any,  # noqa: ANN401 - click's parameters
) -> int:
    """Say why a test runs or does not, or what a file reaches.

    TARGET is a test file or the id of a test: then every reason is given with the whole chain from the change
    to the test, or why none leads there. Or it is any other file of the tree, or one that the change deletes:
    then the tests that a change of the whole file would run are listed, the nearest first.

    Exit codes: 0, 2 where there is no such file (the nearest names are given), 3 where git cannot be read.
    """
    from presubmit.cli.runner import with_runner  # noqa: PLC0415
    from presubmit.history import History  # noqa: PLC0415 - git and the rest cost 0.1 s
    from presubmit.reading import in_order, read_all, read_selection  # noqa: PLC0415
    from presubmit.report import selection as report  # noqa: PLC0415
    from presubmit.selector.explain import Answer  # noqa: PLC0415
    from presubmit.where import history_path  # noqa: PLC0415

    options = make_options(values)
    reading = read_all(options, os.environ)
    path = _find(target, reading)
    with ExitStack() as stack:
        history = stack.enter_context(History(history_path(reading)))
        reading = with_runner(reading, options, os.environ, history)
        selection, layout = read_selection(reading, options.tests, history)
        name = path.partition("::")[0]
        if name in layout.tests:
            found: Answer | Reached = _answer(
                path, in_order(reading, selection, history), reading, layout.settings
            )
        else:
            found = _reached(path, reading, history)
    if form == "json":
        click.echo(report.answer_json(found))
    elif isinstance(found, Answer):
        click.echo(report.render_answer(found), nl=False)
    elif why_not:
        click.echo(report.render_unreached(found), nl=False)
    else:
        click.echo(report.render_reached(found, name_all=name_all), nl=False)
    return 0


def _find(target: str, reading: Reading) -> str:
    """Give the target as a path of the tree, or of the base; raises UsageError with the nearest names."""
    from presubmit.errors import UsageError  # noqa: PLC0415
    from presubmit.selector.explain import find_target, similar  # noqa: PLC0415

    folder = Path.cwd().resolve().relative_to(Path(reading.change.top).resolve()).as_posix()
    paths = {**reading.base_reader.blobs, **reading.head_reader.blobs}
    found = find_target(target, "" if folder == "." else folder, paths)
    if not found:
        near = similar(target, sorted(paths))
        hint = f"did you mean {' or '.join(near)}?" if near else "git ls-files"
        raise UsageError(f"there is no file {target.partition('::')[0]} in the tree", hint=hint)
    return found


def _answer(path: str, selection: Selection, reading: Reading, settings: PytestSettings) -> Answer:
    """Say why a test runs or not, and whether its file has a test of that name."""
    import msgspec  # noqa: PLC0415

    from presubmit.change.definitions import read_definitions  # noqa: PLC0415
    from presubmit.facts import read_touched_tests  # noqa: PLC0415
    from presubmit.selector.explain import (  # noqa: PLC0415
        explain_test,
        not_itself_edited,
        undefined,
        without_parameters,
    )

    name = path.partition("::")[0]
    source = reading.head_reader.data(name) or b""
    answer = explain_test(selection, path)
    # What a recorded run has met is there, whatever the source shows.
    met = {one for test in selection.tests for one in test.ids}
    note = ""
    if without_parameters(path) not in met:
        note = undefined(path, [one.qualname for one in read_definitions(name, source)], source)
    touched = read_touched_tests(
        *(reading.change, reading.base_reader, reading.head_reader),
        lambda one: one == name,
        functions=settings.python_functions,
    )
    answer = not_itself_edited(answer, touched)
    return msgspec.structs.replace(answer, notes=(note,)) if note else answer


def _reached(path: str, reading: Reading, history: History) -> Reached:
    """Select as if nothing but this file were changed, and all of it."""
    import msgspec  # noqa: PLC0415

    from presubmit.errors import UsageError  # noqa: PLC0415
    from presubmit.reading import in_order, read_selection  # noqa: PLC0415
    from presubmit.selector.explain import as_if_changed, reached_by  # noqa: PLC0415

    name, colons, _ = path.partition("::")
    if colons:
        raise UsageError(f"{name} is no test file", hint=f"presubmit explain {name}")
    change = as_if_changed(reading.change, name, present=name in reading.head_reader.blobs)
    alone = msgspec.structs.replace(reading, change=change)
    selection, layout = read_selection(alone, "affected")
    return reached_by(in_order(alone, selection, history), name, layout.tests)
