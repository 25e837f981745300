"""What a review says: remarks, each with its place, why it matters and how to mend it, and what could not be checked."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from presubmit.values import Value

SCHEMA: Final = "presubmit-review/1"


class Severity(StrEnum):
    """How much a remark weighs: an `error` fails a run, the others are shown."""

    ERROR = "error"
    """Nobody can want it: a merge marker, an imported file that was never added."""
    WARNING = "warning"
    """It breaks somebody, or is often a mistake; the author says whether it is meant."""
    NOTE = "note"
    """A reviewer will want to know."""


class Remark(Value, frozen=True, kw_only=True):
    """One fact about the change; `code` is its rule's and the kind of fact's (`api.removed`, `pins.lost-local`)."""

    code: str
    severity: Severity
    text: str
    """What is so, in one sentence, with names."""
    why: str = ""
    mend: str = ""
    file: str = ""
    line: int | None = None
    """In head's file; in the base's, where head has it no more."""
    subject: str = ""
    """What stays the same when lines move: a dotted name, a requirement, a path."""


class Unchecked(Value, frozen=True, kw_only=True):
    """What a rule could not look at, and why: never the same as clean."""

    rule: str
    what: str
    why: str


class Review(Value, frozen=True, kw_only=True):
    """All remarks, ordered by severity, file and line; `rules` are those that looked."""

    schema: str = SCHEMA
    tree: str
    base: str
    """The base's commit."""
    rules: tuple[str, ...]
    remarks: tuple[Remark, ...] = ()
    unchecked: tuple[Unchecked, ...] = ()
