"""What a substitute for an action sees of the cell that it runs in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from presubmit.upstream.uses import Support, Wanted
from presubmit.values import Value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from presubmit.replay.job.values import CellAssignment
    from presubmit.upstream.here import Here

__all__ = [
    "Action",
    "ActionFailedError",
    "ActionStep",
    "LackingError",
    "Said",
    "Support",
    "Wanted",
]


class ActionFailedError(Exception):
    """The action fails, as the real one would: the step's outcome is `failure`, with this message."""


class LackingError(Exception):
    """Something that the action needs is not here: the whole cell counts as not replayed."""


class Said(Value, frozen=True, kw_only=True):
    """What a command in the box printed, and its exit code."""

    exit_code: int
    text: str


class ActionStep(Protocol):
    """One use of an action while its cell runs."""

    @property
    def wanted(self) -> Wanted:
        """What was asked for, with every input known (one that is not given is absent)."""

    @property
    def cell(self) -> CellAssignment:
        """The cell: folders, here, origin."""

    @property
    def here(self) -> Here:
        """What the box has."""

    @property
    def env(self) -> Mapping[str, str]:
        """The step's whole environment, as a command of its would see it."""

    @property
    def state(self) -> dict[str, str]:
        """What the main part leaves for the action's own post part."""

    def input(self, name: str, default: str = "") -> str:
        """Give an input, stripped; `default` where it is absent or empty."""

    def flag(self, name: str, *, default: bool = False) -> bool:
        """Give a boolean input, by the YAML 1.2 words; ActionFailedError for anything else (core.getBooleanInput)."""

    def lines(self, name: str) -> tuple[str, ...]:
        """Give the non-empty lines of an input, stripped (core.getMultilineInput)."""

    def sh(
        self,
        script: str,
        *arguments: str,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
    ) -> int:
        """Run a POSIX shell script in the box with `$1`…; its output goes to the log; gives the exit code."""

    def run(
        self, argv: Sequence[str], *, cwd: str | None = None, env: Mapping[str, str] | None = None
    ) -> None:
        """Run a command in the box, output to the log; ActionFailedError where it does not give 0."""

    def ask(
        self,
        script: str,
        *arguments: str,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
    ) -> Said:
        """Run a POSIX shell script in the box and give what it prints (at most 16 MB), nothing of it to the log."""

    def say(self, text: str) -> None:
        """Write a line into the log; workflow commands in it are not obeyed."""

    def annotate(self, level: str, message: str) -> None:
        """Attach a message to the cell: `error`, `warning` or `notice`."""

    def set_output(self, name: str, value: str) -> None:
        """Set an output of the step."""

    def export(self, name: str, value: str) -> None:
        """Set a variable for all later steps, as GITHUB_ENV does."""

    def add_path(self, folder: str) -> None:
        """Put a folder first on PATH for all later steps, as GITHUB_PATH does."""

    def add_mask(self, secret: str) -> None:
        """Hide a text in everything that is written from now on."""

    def note(self, text: str) -> None:
        """Say what was done otherwise than upstream; it is shown with the step."""


class Action(Protocol):
    """A substitute: a module of `presubmit.replay.actions` with these names."""

    NAMES: tuple[str, ...]
    """Lower case `owner/name` or `owner/name/path` without `@ref`; one substitute may stand for several."""

    def support(self, wanted: Wanted, here: Here) -> Support:
        """Say whether this use can be replayed; pure."""

    def run(self, step: ActionStep) -> None:
        """Do it."""

    # A module may have `post(step: ActionStep) -> None`, which runs after the job's steps, in reverse order,
    # if the job succeeded so far (`POST_ALWAYS = True`: always).
