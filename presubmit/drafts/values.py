"""What a draft is written from: the commits, the change, the run that tested it, and what the project asks for."""

from __future__ import annotations

from typing import Any

import msgspec

# msgspec reads these types when it makes a value.
from presubmit.bench.values import Comparison  # noqa: TC001
from presubmit.report.escape import for_code
from presubmit.review.values import Review  # noqa: TC001
from presubmit.upstream.cells import JobCell  # noqa: TC001
from presubmit.values import Base, ChangedFile, Counts, Value


class _Lenient(msgspec.Struct, frozen=True, kw_only=True):
    """A part of run.json, which grows by keys that are nothing to a draft."""


class RunTarget(_Lenient, frozen=True, kw_only=True):
    """Which tree was tested."""

    tree: str
    untracked: tuple[str, ...] = ()


class RunBase(_Lenient, frozen=True, kw_only=True):
    """What it was compared with."""

    commit: str
    ref: str = ""


class RunSelection(_Lenient, frozen=True, kw_only=True):
    """How many test files were chosen, of how many."""

    mode: str = "scoped"
    chosen: int = 0
    narrowed: int = 0
    known: int = 0
    unsure: tuple[str, ...] = ()


class RunStep(_Lenient, frozen=True, kw_only=True):
    """A step's result."""

    id: str
    role: str
    outcome: str
    required: bool = True
    reason: str = ""
    command: tuple[str, ...] = ()
    origin: str = ""
    seconds: float = 0.0
    cached: bool = False
    counts: Counts = Counts()
    cut: str = ""


class RunFailure(_Lenient, frozen=True, kw_only=True):
    """One failure, classed."""

    kind: str
    subject: str
    step: str = ""
    label: str = msgspec.field(name="class")
    message: str = ""


class RunReproduces(_Lenient, frozen=True, kw_only=True):
    """Whether a new test fails without the change."""

    test: str
    fails_without_change: bool | None = None


class RunView(_Lenient, frozen=True, kw_only=True):
    """run.json, as far as a draft reads it."""

    name: str = ""
    """Its folder's."""
    tool: str = ""
    started: str = ""
    state: str
    exit: int | None = None
    tier: str = ""
    target: RunTarget
    base: RunBase
    environment: dict[str, Any] = {}
    selection: RunSelection = RunSelection()
    steps: tuple[RunStep, ...] = ()
    failures: tuple[RunFailure, ...] = ()
    reproduces: tuple[RunReproduces, ...] = ()
    not_run: tuple[str, ...] = ()
    incomplete: tuple[str, ...] = ()
    budget_cut: tuple[str, ...] = ()
    other_shards: tuple[str, ...] = ()
    evidence: dict[str, Any] = {}
    upstream: dict[str, Any] = {}
    matrix: dict[str, Any] = {}


class Commit(Value, frozen=True, kw_only=True):
    """A commit of the change."""

    subject: str
    body: str = ""
    email: str = ""


class Item(Value, frozen=True, kw_only=True):
    """A box and what ticks it (`[[draft.item]]`)."""

    id: str
    text: str
    evidence: str


class Api(Value, frozen=True, kw_only=True):
    """Public names that the change adds, takes away or gives another signature."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    altered: tuple[str, ...] = ()
    """What a caller may have to change, in a sentence each."""
    names: tuple[str, ...] = ()
    """The names of what is altered."""
    modules: tuple[str, ...] = ()
    """New public modules."""
    whole: bool = False
    """Nothing of it was left unchecked."""

    @property
    def breaks(self) -> tuple[str, ...]:
        """What breaks a caller."""
        return (*(f"{for_code(name)} removed" for name in self.removed), *self.altered)


class Asked(Value, frozen=True, kw_only=True):
    """What the project asks of a pull request, in its own files and in `[draft]`."""

    fragments: tuple[str, ...] = ()
    """Patterns of changelog fragments; empty where the project has none."""
    dco: bool = False
    items: tuple[Item, ...] = ()
    rfc_needed: tuple[str, ...] = ()
    rfc_places: tuple[str, ...] = ()
    """Where the project takes proposals, from its own files."""


class DraftFacts(Value, frozen=True, kw_only=True):
    """Everything that a draft is written from."""

    branch: str | None
    commits: tuple[Commit, ...]
    files: tuple[ChangedFile, ...]
    sources: tuple[str, ...] = ()
    """Changed source files, tests and documentation apart."""
    tests: tuple[str, ...] = ()
    """Changed test files."""
    tree: str
    base: Base
    uncommitted: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    """Why pushes of this tree were let through untested (`PRESUBMIT_SKIP`)."""
    owners: dict[str, tuple[str, ...]] = {}
    """The owners of each changed file."""
    run: RunView
    stale: tuple[str, ...] = ()
    """Why the run says nothing of this tree; empty where it does."""
    unproven: str = ""
    """Why the run ticks nothing though it is of this tree: it was asked for less than the whole tier."""
    measured_whole: bool = True
    """The comparison is of a run that evidence holds for."""
    comparison: Comparison | None = None
    review: Review | None = None
    api: Api = Api()
    users: dict[str, tuple[str, ...]] = {}
    """Files of the tree that name what was removed or altered."""
    requirements: tuple[str, ...] = ()
    """Required dependencies that the change adds."""
    cells: tuple[JobCell, ...] = ()
    merges: bool | None = None
    """Whether the commit merges with the base's newest; None where that is not known."""
    unsigned: int = 0
    """Commits without a sign-off of their author."""
    asked: Asked = Asked()
