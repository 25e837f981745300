"""Whether pytest-xdist shares the tests of a process among workers, and by which options."""

from __future__ import annotations

import posixpath
import re
import shlex
from typing import TYPE_CHECKING, Final

from presubmit.values import assigned

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from presubmit.config import TestsConfig

_LONG: Final = 60.0
"""Seconds from which on starting workers pays."""
_XDIST: Final = re.compile(r"pytest[-_.]xdist\b", re.IGNORECASE)
# Of pytest-xdist 3: `-n NUM`, `-nNUM`, `--numprocesses`, `-d`, `--tx`; of pytest: `-p no:xdist`, and what wants one process.
_SAID: Final = re.compile(
    r"-n(?:\d+|auto|logical)?$|--numprocesses(?:=|$)|-d$|--tx(?:=|$)|(?:-p)?no:xdist$|--pdb$|--trace$"
)
_DIST: Final = re.compile(r"--dist(?:=|$)")


def xdist_options(
    tests: TestsConfig,
    *,
    requirements: Iterable[str],
    addopts: Sequence[str],
    groups: bool,
    known: float | None,
) -> tuple[tuple[str, ...], str]:
    """Give the options that start workers, or none; and why there are none where the configuration asks for them.

    `known` are the seconds that the chosen tests took; `groups` tells that tests are marked with `xdist_group`. A
    file's tests stay in one worker and in their order, unless marks or the project say otherwise: tests that rely on
    their neighbours mostly rely on those of their file.
    """
    if tests.xdist == "no" or (tests.xdist == "auto" and (known is None or known < _LONG)):
        return (), ""
    said = (*tests.command, *addopts, *_words(assigned(tests.env).get("PYTEST_ADDOPTS", "")))
    if any(_SAID.match(word) for word in said):
        return (), ""
    why = ""
    if tests.shards > 1:
        why = "tests.shards already shares the tests"
    elif not any(_XDIST.match(line.strip()) for line in requirements):
        why = "it is not among the test requirements"
    elif not any(posixpath.basename(word) in {"pytest", "py.test"} for word in tests.command):
        why = "tests.command does not call pytest itself"
    if why:
        return (), f"workers of pytest-xdist: {why}"
    if any(_DIST.match(word) for word in said):
        return ("-n", "auto"), ""
    return ("-n", "auto", "--dist", "loadgroup" if groups else "loadfile"), ""


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()
