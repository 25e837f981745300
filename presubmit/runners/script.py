"""A script of the project's own that runs its tests, `python runtests.py`: whatever it runs them with.

Our module runs the script, so a suite of unittest that it makes is narrowed and recorded; a pytest that it calls is by
the plugin, which the environment names.
"""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING, Final

from presubmit.runners import pytest, unittest
from presubmit.runners.values import Collects, Invocation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from presubmit.runners.values import Told

NAME: Final = "script"
RECORDS: Final = False
_PYTHON: Final = re.compile(r"python[\d.]*|pypy[\d.]*")
_NAMED: Final = re.compile(
    r"(?:run|all|do)[-_]?(?:all[-_]?|unit[-_]?)?tests?(?:[-_]suite|[-_]all)?\.py|test[-_]?(?:all|suite|runner)\.py"
)

_PATTERNS: Final = ("test_*.py", "*_test.py", "test*.py", "*_tests.py", "tests.py")


def takes(command: Sequence[str]) -> bool:
    """Whether a command is a Python script whose name says that it runs tests."""
    return _at(command) > 0


def _at(command: Sequence[str]) -> int:
    """Give where the script stands: the first word behind the interpreter's options."""
    program = posixpath.basename(command[0]) if command else ""
    if not _PYTHON.fullmatch(program):
        return -1
    position = 1
    while position < len(command) and command[position].startswith("-"):
        if command[position][:2] in {"-m", "-c"}:
            return -1
        position += 2 if command[position] in {"-W", "-X"} else 1
    named = position < len(command) and _NAMED.fullmatch(posixpath.basename(command[position]))
    return position if named else -1


def collects(command: Sequence[str]) -> Collects | None:
    """Go by the names of files: the script may look for them in any way."""
    script = posixpath.splitext(posixpath.basename(command[_at(command)]))[0]
    # It may set up Django.
    return Collects(patterns=_PATTERNS, loads=(script,), applications=True)


def sort_arguments(arguments: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Choose by ids as they stand in reports."""
    return unittest.sort_arguments(arguments)


def plain(command: Sequence[str]) -> tuple[str, ...]:
    """Give the command as it is: its arguments are the script's own."""
    return tuple(command)


def invoke(command: Sequence[str], told: Told) -> Invocation:
    """Have our module run the script."""
    at = _at(command)
    return Invocation(
        command=(*command[:at], "-m", unittest.MODULE, "--script", *command[at:], *told.arguments),
        env=pytest.plugin_variables(told),
    )
