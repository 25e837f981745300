"""How names of tests are handed to a command: as arguments, or where they are too many as a file for pytest."""

from __future__ import annotations

import os
import posixpath
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_LONGEST: Final = 128 * 1024
"""Bytes of one argument, or variable, at the most (Linux, MAX_ARG_STRLEN)."""
_ROOM: Final = 0.9
"""Of what the system allows; the kernel and a wrapper take some for themselves."""
_POINTER: Final = 8
_VERSION: Final = re.compile(r"pytest (?:version )?(\d+)\.(\d+)")


def as_arguments(names: Sequence[str]) -> tuple[str, ...]:
    """Give names so that no command takes one for an option, nor pytest for a file of arguments."""
    return tuple(f"./{name}" if name.startswith(("-", "@")) else name for name in names)


def fits(command: Sequence[str], environ: Mapping[str, str], *, most: int) -> bool:
    """Tell whether the system starts a command of this length; `most` is its ARG_MAX."""
    words = [*command, *(f"{name}={value}" for name, value in environ.items())]
    sizes = [len(os.fsencode(word)) + 1 for word in words]
    total = sum(sizes) + _POINTER * len(sizes)
    return total <= most * _ROOM and max(sizes, default=0) <= _LONGEST


def as_file(arguments: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """Give the text of a file that pytest 8.2 reads for `@file`, and the arguments that cannot stand in one.

    It is read as argparse does: split by `str.splitlines`, which also parts at form feeds and the like, and in an
    encoding that need not have every name.
    """
    inside = [one for one in arguments if _is_one_line(one)]
    outside = tuple(one for one in arguments if not _is_one_line(one))
    return "".join(f"{one}\n" for one in inside), outside


def _is_one_line(text: str) -> bool:
    return text.isascii() and text.splitlines() == [text]


def version_command(command: Sequence[str]) -> tuple[str, ...]:
    """Give the command that prints the version of the pytest that a command starts; empty where it starts none."""
    for index, word in enumerate(command):
        if posixpath.basename(word) in {"pytest", "py.test"}:
            return (*command[: index + 1], "--version")
    return ()


def reads_files(version: str) -> bool:
    """Tell from what `pytest --version` prints whether it takes `@file` (8.2 and later: its changelog, #11871)."""
    found = _VERSION.search(version)
    return found is not None and (int(found.group(1)), int(found.group(2))) >= (8, 2)
