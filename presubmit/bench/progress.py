"""What measuring tells while it goes on: for a live table, and for who must stop it."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from presubmit.values import Value

if TYPE_CHECKING:
    from presubmit.bench.values import Broken, Proof, Result, Suite


class Stage(StrEnum):
    """Which of the two measurements."""

    FIRST = "first"
    AGAIN = "again"
    """Fresh pairs for what was slower, in restarted boxes."""


class Noted(Value, frozen=True, kw_only=True):
    """Something about a whole side; each is told once."""

    side: str
    text: str


class Proved(Value, frozen=True, kw_only=True):
    """What both sides of the first pair of a suite had loaded."""

    suite: Suite
    base: tuple[Proof, ...]
    head: tuple[Proof, ...]


class Paired(Value, frozen=True, kw_only=True):
    """A pair of processes has ended; what is not yet decided stands there as it looks now."""

    stage: Stage
    suite: Suite
    live: tuple[Result, ...]
    seconds: float
    """Since measuring began."""


class Decided(Value, frozen=True, kw_only=True):
    """One benchmark has its answer; a first `slower` is still to be confirmed."""

    stage: Stage
    result: Result


class Failed(Value, frozen=True, kw_only=True):
    """One benchmark did not run."""

    broken: Broken


class Again(Value, frozen=True, kw_only=True):
    """The boxes are restarted and these are measured once more."""

    ids: tuple[str, ...]


Event = Noted | Proved | Paired | Decided | Failed | Again
