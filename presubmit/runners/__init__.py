"""Runners of tests: which commands start one, which files it collects, and how it is kept to the chosen tests.

Every runner writes the same record inside the box (`presubmit/replay/inside/`, `results/record.py`), with ids such as
`tests/test_x.py::Class::test_m`; so reruns, the base, history and the verdict know no runner.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from presubmit.runners import django, pytest, script, unittest
from presubmit.runners.values import Collects, Invocation, Told

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["RUNNERS", "Collects", "Invocation", "Runner", "Told", "runner_of"]


class Runner(Protocol):
    """A module that knows one runner; the names in capitals are its constants."""

    @property
    def NAME(self) -> str:  # noqa: N802 - a module's constant
        """How it is called in reports."""

    @property
    def RECORDS(self) -> bool:  # noqa: N802 - a module's constant
        """Whether what each of its tests runs can be recorded."""

    def takes(self, command: Sequence[str]) -> bool:
        """Whether a command starts this runner."""

    def collects(self, command: Sequence[str]) -> Collects | None:
        """Say which files the command collects; None where the project's pytest configuration says so."""

    def sort_arguments(self, arguments: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Part what the user gave after `--`: ids of tests that presubmit chooses by, and the runner's arguments."""

    def plain(self, command: Sequence[str]) -> tuple[str, ...]:
        """Give upstream's command without what ends a run early."""

    def invoke(self, command: Sequence[str], told: Told) -> Invocation:
        """Say how the command is run so that it keeps to the chosen tests and records them."""


RUNNERS: Final[Mapping[str, Runner]] = {
    runner.NAME: runner for runner in (unittest, django, script, pytest)
}
"""The first one that takes a command has it; pytest takes all: its plugin is found behind make, tox and scripts, too."""


def runner_of(command: Sequence[str]) -> Runner:
    """Give the runner that a test command starts."""
    return next(runner for runner in RUNNERS.values() if runner.takes(command))
