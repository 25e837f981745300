"""`presubmit demo`."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
import rich_click as click

from presubmit import process
from presubmit.errors import EngineError, ExitCode, ImageError, PresubmitError

if TYPE_CHECKING:
    from presubmit.demo import DemoRepository
    from presubmit.reading import RunOptions
    from presubmit.report.terminal import Terminal

_COMPILERS: Final = ("c++", "g++")
_INSTALL: Final = "apt install g++ python3-dev python3-venv"
_FIND_HEADER: Final = (
    "import os, sysconfig; "
    "print(os.path.isfile(os.path.join(sysconfig.get_path('include'), 'Python.h')))"
)


@click.command()
@click.argument("folder", required=False, type=click.Path(path_type=Path))
@click.option("--image", metavar="NAME", help="Image to run in.")
@click.option("--no-container", is_flag=True, help="Run on this host.")
@click.option("--no-run", is_flag=True, help="Only make the repository.")
@click.option(
    "--output",
    type=click.Choice(["auto", "rich", "plain", "github"]),
    default="auto",
    show_default=True,
    help="How to print.",
)
def demo(
    folder: Path | None, image: str | None, output: str, *, no_container: bool, no_run: bool
) -> int:
    """Make a small repository with a faulty change, and run on it.

    The repository is made in FOLDER, which must be new or empty; without one, in presubmit's cache.
    Where no engine answers, or its image is not there, the demo runs on this host and says so: it is
    presubmit's own code, not somebody's.

    Exit codes: those of `presubmit run`, so 1, since it finds the fault; with --no-run 0.
    """
    from presubmit.demo import lay_out, new_folder  # noqa: PLC0415 - so that --help stays fast
    from presubmit.reading import RunOptions, cache_root  # noqa: PLC0415
    from presubmit.report.terminal import Terminal, choose_output  # noqa: PLC0415
    from presubmit.run import cmd_run  # noqa: PLC0415

    made = lay_out(folder or new_folder(cache_root(os.environ) / "demo"))
    code = ExitCode.OK
    with Terminal(choose_output(output, os.environ, sys.stdout)) as terminal:
        _introduce(made, terminal)
        options = RunOptions(start=made.checkout, image=image, container=not no_container)
        if not no_run:
            options = _place(options, terminal)
            terminal.line()
            code = cmd_run(options, terminal, os.environ)
        _name_next(made, options, terminal, ran=not no_run)
    return int(code)


def _introduce(made: DemoRepository, terminal: Terminal) -> None:
    terminal.line(f"made {made.checkout}, a small Python/C++ project, and its upstream beside it")
    terminal.line(
        f"its branch {made.branch} speeds `scale` up and breaks it: one fault for presubmit to find"
    )


def _name_next(
    made: DemoRepository, options: RunOptions, terminal: Terminal, *, ran: bool
) -> None:
    place = "" if options.container else " --no-container"
    if options.image is not None:
        place = f" --image {shlex.quote(options.image)}"
    commands = [("presubmit plan", "what runs, and why")]
    if ran:
        commands += [
            ("presubmit report", "the run again, at length"),
            (f"presubmit shell tests{place}", "a shell where the tests ran"),
        ]
    again = "once src/tensorlet/kernels.hpp is mended" if ran else "find the fault"
    commands.append((f"presubmit run{place}", again))
    terminal.line()
    terminal.line("to go on:", "bold")
    terminal.line(f"  cd {shlex.quote(str(made.checkout))}")
    width = max(len(command) for command, _ in commands)
    for command, what in commands:
        terminal.line(f"  {command:<{width}}   # {what}")


def _place(options: RunOptions, terminal: Terminal) -> RunOptions:
    """Choose the container where there is one, else the host; an image that was asked for is not replaced."""
    from presubmit.reading import read_all  # noqa: PLC0415

    if options.container and (reason := _why_no_container(options)):
        terminal.line(f"note running on this host, not in a container: {reason}", "yellow")
        options = msgspec.structs.replace(options, container=False)
    if not options.container:
        check_host(read_all(options, os.environ).config.config.container.python)
    return options


def _why_no_container(options: RunOptions) -> str:
    from presubmit.reading import read_all  # noqa: PLC0415
    from presubmit.where import find_where  # noqa: PLC0415

    try:
        with ExitStack() as stack:
            find_where(read_all(options, os.environ), options, stack)
    except (EngineError, ImageError) as error:
        if options.image is not None:
            raise
        return str(error)
    return ""


def check_host(python: str) -> None:
    """See that this host can build an extension module; a failing build would look like the demo's fault."""
    missing = []
    if not any(shutil.which(name) for name in _COMPILERS):
        missing.append("C++ compiler")
    if not _has_headers(python):
        missing.append(f"headers of {python} (Python.h)")
    if missing:
        raise PresubmitError(
            f"this host cannot build the demo's extension module: {' and '.join(missing)} missing",
            hint=f"{_INSTALL}   (or start a container engine)",
        )


def _has_headers(python: str) -> bool:
    try:
        asked = process.run((python, "-I", "-c", _FIND_HEADER), timeout=60)
    except OSError:
        return False
    return asked.text.strip() == "True"
