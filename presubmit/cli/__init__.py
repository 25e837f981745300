"""The command line: one file a command; main() is the only place that turns an exception into an exit code."""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

from presubmit import __version__
from presubmit.errors import ExitCode, PresubmitError

if TYPE_CHECKING:
    from collections.abc import Sequence

_COLLECTED: Final = 100_000
"""New objects from which on the collector looks for cycles."""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit."""
    # What a command makes lives until it ends: looking for cycles at every 700 new objects takes a fifth of its time.
    gc.set_threshold(_COLLECTED)
    sys.exit(_with_output_closed(int(invoke(arguments))))


def _with_output_closed(code: int) -> int:
    """Flush what is left; a reader that went away must not change the exit code."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except (OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return code


def invoke(arguments: Sequence[str] | None = None) -> int:  # noqa: PLR0911 - one line an end
    """Run the command line; give the exit code."""
    try:
        import click  # noqa: PLC0415 - an interrupt while this loads is an interrupt all the same

        from presubmit.cli.app import app  # noqa: PLC0415
    except KeyboardInterrupt:
        return int(ExitCode.INTERRUPTED)
    try:
        code = app.main(
            args=list(arguments) if arguments is not None else None,
            prog_name="presubmit",
            standalone_mode=False,
        )
        return int(code) if isinstance(code, int) else int(ExitCode.OK)
    except PresubmitError as error:
        return _complain(str(error), error.hint, error.exit_code)
    except click.exceptions.Exit as error:
        return error.exit_code
    except click.ClickException as error:
        error.show()
        return int(ExitCode.USAGE)
    except (KeyboardInterrupt, click.Abort):
        return _complain("interrupted", "", ExitCode.INTERRUPTED)
    except BrokenPipeError:
        # The reader of our output went away (`presubmit plan | head`): nothing is left to say.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return int(ExitCode.OK)
    except OSError as error:
        what = f"{error.strerror or error}" + (f": {error.filename}" if error.filename else "")
        return _complain(
            what, "free space, or mend what stands at that place", ExitCode.ENVIRONMENT
        )
    except Exception:  # noqa: BLE001 - the last place: write down what happened and ask for it
        return _report_crash()


def _complain(message: str, hint: str, code: ExitCode) -> int:
    from presubmit.report.escape import for_terminal  # noqa: PLC0415

    if sys.stderr is not None:
        sys.stderr.write(f"presubmit: {for_terminal(message)}\n")
        if hint:
            sys.stderr.write(f"  -> {for_terminal(hint)}\n")
    return int(code)


def _report_crash() -> int:
    import platform  # noqa: PLC0415 - no other end needs them
    import traceback  # noqa: PLC0415

    root = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    path = Path(root) / "presubmit" / f"crash-{os.getpid()}.log"
    text = (
        f"presubmit {__version__}, Python {platform.python_version()}, {platform.platform()}\n"
        f"{' '.join(sys.argv)}\n\n{traceback.format_exc()}"
    )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, errors="backslashreplace")
        where = f"please report it with {path}"
    except OSError:
        sys.stderr.write(text)
        where = "please report it with the lines above"
    last = traceback.format_exc().strip().splitlines()[-1]
    return _complain(f"presubmit itself failed: {last}", where, ExitCode.ENVIRONMENT)
