"""What a runner is told, and what it answers."""

from __future__ import annotations

from presubmit.values import Value


class Collects(Value, frozen=True, kw_only=True):
    """Which files of a tree a runner takes for tests."""

    folders: tuple[str, ...] = ()
    """Where it looks; empty: everywhere."""
    patterns: tuple[str, ...]
    """Of file names, or with a slash in front of whole paths."""
    packages: bool = False
    """It enters only folders that hold an `__init__.py`."""
    loads: tuple[str, ...] = ()
    """Modules that are loaded for every test."""
    applications: bool = False
    """A framework loads every application (its models, urls, commands) for every test, and calls what it finds there
    by strings: names tell nothing."""


class Told(Value, frozen=True, kw_only=True):
    """What a runner is told for one run."""

    selection: str
    """The file of what was chosen, as it is named in the box."""
    junit: str
    """Where a JUnit file may be written."""
    arguments: tuple[str, ...] = ()
    """What the user gave after `--`."""
    exit_first: bool = False
    given: dict[str, str] = {}
    """The variables that the tests get anyway."""


class Invocation(Value, frozen=True, kw_only=True):
    """How a test command is run."""

    command: tuple[str, ...]
    env: dict[str, str]
