"""unittest, `python -m unittest …`: its main is run by a module of ours, with the project's own arguments.

Which options take a value, and when `discover` is meant: the standard library's unittest/main.py.
"""

from __future__ import annotations

import argparse
import itertools
import posixpath
import re
from typing import TYPE_CHECKING, Final, NoReturn

from presubmit.runners.values import Collects, Invocation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from presubmit.runners.values import Told

NAME: Final = "unittest"
RECORDS: Final = False
MODULE: Final = "presubmit_unittest"
_PATTERN: Final = "test*.py"
_ID: Final = re.compile(r"[^-].*\.py(?:::.+)?")
_LONG: Final = {
    "-v": "--verbose",
    "-q": "--quiet",
    "-f": "--failfast",
    "-c": "--catch",
    "-b": "--buffer",
}
_EARLY: Final = frozenset({"-f", "--failfast"})


def takes(command: Sequence[str]) -> bool:
    """Whether a command holds `-m unittest`, behind whatever wrapper."""
    return _at(command) >= 0


def _at(command: Sequence[str]) -> int:
    pairs = enumerate(itertools.pairwise(command))
    return next((number for number, pair in pairs if pair == ("-m", NAME)), -1)


def collects(command: Sequence[str]) -> Collects | None:
    """Say where it discovers tests, or which files it is told to load."""
    given = _Parser.read(command[_at(command) + 2 :])
    if given is None:
        return Collects(patterns=(_PATTERN,))
    if given.names[:1] == ["discover"] or not given.names:
        words = given.names[1:]
        start, pattern, _ = (*words, None, None, None)[:3]
        folder = given.start or start or "."
        return Collects(
            folders=_folder(folder),
            patterns=(given.pattern or pattern or _PATTERN,),
            packages=True,
        )
    return Collects(patterns=tuple(p for name in given.names for p in _files(name)))


def _folder(text: str) -> tuple[str, ...]:
    found = posixpath.normpath(text)
    return () if found in {"", "."} else (found,)


def _files(name: str) -> tuple[str, ...]:
    """Give the files that a dotted name, or a path, may stand for: its end may be a class and a test."""
    if name.endswith(".py"):
        return (f"/{posixpath.normpath(name)}",)
    parts = name.split(".")
    stems = ["/".join(parts[:count]) for count in range(len(parts), max(0, len(parts) - 3), -1)]
    return (
        *(f"/{stem}.py" for stem in stems),
        # A package may load its tests itself (`load_tests`).
        *(f"/{stem}/{inner}" for stem in stems[:1] for inner in (_PATTERN, f"*/{_PATTERN}")),
    )


def sort_arguments(arguments: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Choose by ids as they stand in reports, `tests/test_x.py::Class::test_m`; the runner knows other names."""
    ids = tuple(word for word in arguments if _ID.fullmatch(word))
    return ids, tuple(word for word in arguments if word not in ids)


def plain(command: Sequence[str]) -> tuple[str, ...]:
    """Give the command without --failfast."""
    at = _at(command) + 2
    return (*command[:at], *(word for word in command[at:] if word not in _EARLY))


def invoke(command: Sequence[str], told: Told) -> Invocation:
    """Put our module in the place of unittest's."""
    at = _at(command)
    early = ("-f",) if told.exit_first else ()
    return Invocation(
        command=(*command[: at + 1], MODULE, *command[at + 2 :], *early, *told.arguments),
        env={"PRESUBMIT_SELECTION": told.selection},
    )


class _Parser(argparse.ArgumentParser):
    """Reads unittest's arguments without ending the process."""

    @staticmethod
    def read(arguments: Sequence[str]) -> _Given | None:
        parser = _Parser(add_help=False, allow_abbrev=False)
        for flag in ("-v", "-q", "-f", "-c", "-b"):
            parser.add_argument(flag, _LONG[flag], action="store_true")
        parser.add_argument("--locals", action="store_true")
        parser.add_argument("-k", action="append")
        parser.add_argument("--durations")
        parser.add_argument("-s", "--start-directory", dest="start", default="")
        parser.add_argument("-p", "--pattern", dest="pattern", default="")
        parser.add_argument("-t", "--top-level-directory", dest="top", default="")
        parser.add_argument("names", nargs="*", default=[])
        try:
            return parser.parse_known_intermixed_args(list(arguments), _Given())[0]
        except (ValueError, TypeError):
            return None

    def error(self, message: str) -> NoReturn:
        raise ValueError(message)


class _Given(argparse.Namespace):
    start: str
    pattern: str
    names: list[str]
