"""Django's own runner, `manage.py test …`: a runner of ours, made of the project's, is named by `--testrunner`.

Which options take a value: django/core/management/commands/test.py and django/test/runner.py.
"""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING, Final

from presubmit.runners import unittest
from presubmit.runners.values import Collects, Invocation

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from presubmit.runners.values import Told

NAME: Final = "django"
RECORDS: Final = False
MODULE: Final = "presubmit_django"
_PROGRAM: Final = re.compile(r"(?:.*/)?(?:manage\.py|django-admin(?:\.py)?)")
_PATTERN: Final = "test*.py"
_VALUED: Final = frozenset(
    {
        *("-p", "--pattern", "-t", "--top-level-directory", "--testrunner", "-k", "--tag", "--exclude-tag"),
        *("-v", "--verbosity", "--settings", "--pythonpath", "--shuffle-seed"),
    }
)  # fmt: skip
_MAY_BE_VALUED: Final = {"--parallel": r"\d+|auto", "--shuffle": r"\d+", "--durations": r"\d+"}


def takes(command: Sequence[str]) -> bool:
    """Whether a command holds `manage.py test`, `django-admin test` or `-m django test`."""
    return _at(command) > 0


def _at(command: Sequence[str]) -> int:
    """Give where `test` stands; -1 where no test is run."""
    for number, word in enumerate(command[:-1]):
        module = word == "django" and number > 0 and command[number - 1] == "-m"
        if (module or _PROGRAM.fullmatch(word)) and command[number + 1] == "test":
            return number + 1
    return -1


def _grouped(words: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Give each argument, an option together with its value."""
    position = 0
    while position < len(words):
        word = words[position]
        following = words[position + 1] if position + 1 < len(words) else None
        may = _MAY_BE_VALUED.get(word)
        valued = following is not None and (
            word in _VALUED or (may is not None and re.fullmatch(may, following) is not None)
        )
        yield tuple(words[position : position + 1 + valued])
        position += 1 + valued


def _value(command: Sequence[str], *names: str) -> str:
    found = ""
    for words in _grouped(command[_at(command) + 1 :]):
        name, equals, value = words[0].partition("=")
        if name in names:
            found = value if equals else "".join(words[1:])
    return found


def collects(command: Sequence[str]) -> Collects | None:
    """Say where it discovers tests, or which files its labels are."""
    pattern = _value(command, "-p", "--pattern") or _PATTERN
    groups = _grouped(command[_at(command) + 1 :])
    labels = [words[0] for words in groups if not words[0].startswith("-")]
    named = _value(command, "--settings")
    program = command[_at(command) - 1]
    started = posixpath.splitext(posixpath.basename(program))[0] if program.endswith(".py") else ""
    patterns = tuple(dict.fromkeys(p for label in labels for p in _files(label, pattern)))
    return Collects(
        patterns=patterns or (pattern,),
        packages=not labels,
        loads=tuple(filter(None, (started, named))),
        applications=True,
    )


def _files(label: str, pattern: str) -> tuple[str, ...]:
    """Give the files that a label may stand for: a path, or a dotted name that ends in a class and a test."""
    if "/" in label or label.endswith(".py"):
        path = posixpath.normpath(label)
        return (f"/{path}",) if path.endswith(".py") else _below(path, pattern)
    parts = label.split(".")
    stems = ["/".join(parts[:count]) for count in range(len(parts), max(0, len(parts) - 3), -1)]
    return (*(f"/{stem}.py" for stem in stems), *_below(stems[0], pattern))


def _below(folder: str, pattern: str) -> tuple[str, ...]:
    if folder == ".":
        return (pattern,)
    return (f"/{folder}/{pattern}", f"/{folder}/*/{pattern}")


def sort_arguments(arguments: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Choose by ids as they stand in reports."""
    return unittest.sort_arguments(arguments)


def plain(command: Sequence[str]) -> tuple[str, ...]:
    """Give the command without --failfast."""
    return tuple(word for word in command if word != "--failfast")


def invoke(command: Sequence[str], told: Told) -> Invocation:
    """Name our runner in the place of the project's; the one that its command names is told to ours."""
    at = _at(command) + 1
    theirs = _value(command, "--testrunner")
    kept = [
        word
        for words in _grouped(command[at:])
        for word in words
        if words[0].partition("=")[0] != "--testrunner"
    ]
    early = ("--failfast",) if told.exit_first else ()
    ours = f"--testrunner={MODULE}.Runner"
    env = {"PRESUBMIT_SELECTION": told.selection}
    return Invocation(
        command=(*command[:at], ours, *early, *kept, *told.arguments),
        env={**env, **({"PRESUBMIT_TEST_RUNNER": theirs} if theirs else {})},
    )
