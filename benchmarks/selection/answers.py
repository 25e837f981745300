"""What a tool answers to a change, and which of a project's tests that comes to."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Protocol

from benchmarks.selection.suite import EVERYTHING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from benchmarks.selection.projects import Side
    from benchmarks.selection.suite import SuiteRun


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The tests that a tool would run; `everything` where it gives up choosing."""

    everything: bool = False
    files: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    seconds: float = 0.0
    note: str = ""

    def plain(self) -> dict[str, Any]:
        """Give the plain form, for JSON."""
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """How a tool got ready on the clean tree."""

    seconds: float = 0.0
    """Of a recorded run, where the tool makes one."""
    plain: float = 0.0
    """Of the same tests without recording, right before or after."""
    failed: str = ""
    """Why its recording is not whole; its answers are asked for all the same."""
    note: str = ""


class Adapter(Protocol):
    """One file of `adapters/`: a plain module with these names."""

    REQUIREMENTS: tuple[str, ...]
    """What is installed beside the project; the tool's own version is pinned here."""
    BARE: bool
    """It only reads sources: no environment is made for it."""

    @staticmethod
    def prepare(side: Side, work: Path) -> Prepared:
        """Get ready on the clean tree, once."""

    @staticmethod
    def select(side: Side, paths: tuple[str, ...]) -> Answer:
        """Answer to the change that the checkout holds now; `paths` are the changed files."""


def plain_id(test: str) -> str:
    """Give a test's id without its parameters: the first `[` of the last part begins them."""
    head, sep, tail = test.partition("[")
    return head if sep and tail.endswith("]") else test


def chosen(answer: Answer, stable: Iterable[str]) -> frozenset[str]:
    """Give the stable tests that an answer selects.

    An id without parameters stands for the test with any: that is how testmon and presubmit write them.
    """
    tests = tuple(stable)
    if answer.everything:
        return frozenset(tests)
    files, ids = set(answer.files), set(answer.ids)
    return frozenset(
        t for t in tests if t in ids or plain_id(t) in ids or t.partition("::")[0] in files
    )


def collected(run: SuiteRun) -> Answer:
    """Turn what a pytest plugin left of a collection into an answer.

    A file that cannot be collected is reported as an error in the user's run, so it counts as selected.
    """
    if run.timed_out or EVERYTHING in run.broken:
        return Answer(everything=True, seconds=run.wall, note=f"no collection, exit {run.code}")
    files = tuple(re.split(r"::", name)[0] for name in run.broken)
    return Answer(files=files, ids=run.collected or (), seconds=run.wall)
