"""The cells that upstream CI would run for a change, and what becomes of each of them here."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from presubmit.values import Value, counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class CellState(StrEnum):
    """What becomes of a cell here; only a replayed one says anything about the change."""

    REPLAYED = "replayed"
    NOT_REPLAYED = "not replayed"
    """Its runner, interpreter, image, action or secret is not here."""
    FILTERED = "filtered out"
    """A filter of `on` or an `if` keeps it from running upstream as well."""
    BLOCKED = "blocked"
    """A job that it needs is not replayed."""
    NOT_STARTED = "not started"
    """Its workflow does not start for this event."""


class JobCell(Value, frozen=True, kw_only=True):
    """One job of one workflow with one combination of its matrix."""

    id: str
    """`ci.yml/tests(python=3.12,os=ubuntu)`; a workflow that does not start is `ci.yml`."""
    workflow: str
    """`.github/workflows/ci.yml`."""
    job: str = ""
    """The job's id; below a call of a reusable workflow `caller/inner`."""
    name: str = ""
    """As GitHub shows it: `tests (3.12, ubuntu)`."""
    axes: dict[str, Any] = {}
    state: CellState
    reason: str
    line: int | None = None
    """Where in `file` the reason stands."""
    file: str = ""
    """The file that `line` counts in, `ci.yml`; a called workflow's own, below a call."""
    needs: tuple[str, ...] = ()
    """The jobs that it needs, by their ids."""
    role: str = ""
    role_reason: str = ""
    later: bool = False
    """Part of the decision (an `if`, the matrix) can only be made while the jobs run."""
    notes: tuple[str, ...] = ()
    """What is done otherwise than upstream."""

    @property
    def origin(self) -> str:
        """`ci.yml:31`."""
        return f"{self.file}:{self.line}" if self.line else self.file

    @property
    def starts(self) -> bool:
        """Whether upstream would run it for this event."""
        return self.state in {CellState.REPLAYED, CellState.NOT_REPLAYED, CellState.BLOCKED}


def summary(cells: Sequence[JobCell]) -> str:
    """Count in one line what is replayed and what is not, and why: an incomplete mirror is never silent."""
    starting = [cell for cell in cells if cell.starts]
    replayed = [cell for cell in starting if cell.state is CellState.REPLAYED]
    rest = Counter(kind_of_lack(c) for c in starting if c.state is CellState.NOT_REPLAYED)
    parts = [f"{number} {kind}" for kind, number in rest.most_common()]
    blocked = sum(cell.state is CellState.BLOCKED for cell in cells)
    filtered = sum(cell.state is CellState.FILTERED for cell in cells)
    if blocked:
        parts.append(f"{blocked} blocked")
    text = f"{len(replayed)} of {counted(len(starting), 'job')} that this pull request starts are replayed here"
    if parts:
        text += f"; {', '.join(parts)}"
    return f"{text} ({filtered} filtered out)" if filtered else text


def kind_of_lack(cell: JobCell) -> str:
    """Give one word or two for why a cell is not replayed, for counting."""
    reason = cell.reason
    for word, kind in _KINDS:
        if word in reason:
            return kind
    return "not replayed"


_KINDS = (
    ("windows", "windows"),
    ("macos", "macos"),
    ("arm", "arm"),
    ("gpu", "GPU"),
    ("runs-on", "other runners"),
    ("Python", "interpreter"),
    ("PyPy", "interpreter"),
    ("GraalPy", "interpreter"),
    ("interpreter", "interpreter"),
    ("the host", "host"),
    ("sudo", "sudo"),
    ("secret", "secret"),
    ("token", "secret"),
    ("action", "action"),
    ("image", "image"),
    ("workflow", "remote workflow"),
)


def by_workflow(cells: Iterable[JobCell]) -> dict[str, list[JobCell]]:
    """Group cells by their workflow, in order."""
    grouped: dict[str, list[JobCell]] = {}
    for cell in cells:
        grouped.setdefault(cell.workflow, []).append(cell)
    return grouped
