"""What is asked of a project, and what is taken over from upstream's jobs."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import msgspec

from presubmit.config import UPSTREAM, Sourced, fill_in
from presubmit.values import Value

if TYPE_CHECKING:
    from collections.abc import Callable

Origin = str | tuple[str, ...]
"""The line that an option comes from, `ci.yml:31`; for a list, it may be one for each item."""
Options = dict[str, tuple[Any, Origin]]
"""Options by name."""


class Project(msgspec.Struct, frozen=True, kw_only=True):
    """What the tree under test says of itself, as far as it matters here."""

    read: Callable[[str], str | None]
    name: str
    repository: str
    """`owner/name` on GitHub."""
    extras: frozenset[str] | None
    """None where they are not written down (dynamic)."""
    groups: frozenset[str]
    has_hooks: bool
    """It is linted by pre-commit or lintrunner, by convention."""
    installs: Callable[[Options], frozenset[str] | None]
    """The names of all that a run with these options would install for the tests; None where it could not be planned."""


class Taken(Value, frozen=True, kw_only=True):
    """What is taken over, from which cells, and what could not be."""

    options: dict[str, tuple[Any, Origin]] = {}
    cells: dict[str, str] = {}
    """By role, the cell that its options are of."""
    besides: dict[str, tuple[str, ...]] = {}
    """By role, what those jobs run and a run does not: `mypy src (ci.yml:45)`."""
    notes: tuple[str, ...] = ()
    """What is left out, or done otherwise, and why."""
    problems: tuple[str, ...] = ()
    """Why a workflow could not be read at all."""


def in_use(config: Sourced, taken: Taken) -> Taken:
    """Leave out what the configuration names itself, and the cells that nothing is then taken of."""
    options = {name: both for name, both in taken.options.items() if name not in config.origins}
    roles = {"lint" if name.startswith("lint.") else "tests" for name in options}
    cells = {role: cell for role, cell in taken.cells.items() if role in roles}
    return msgspec.structs.replace(taken, options=options, cells=cells)


_MOST = 3


def said_of(taken: Taken) -> list[str]:
    """Say in a line or two what is followed, and what upstream runs besides."""
    lines = []
    for role, cell in taken.cells.items():
        command, at = taken.options.get("tests.command", ((), ""))
        what = f": {shlex.join(command)} ({at})" if role == "tests" and command else ""
        lines.append(f"{role} as in {cell}{what}")
    for role, commands in taken.besides.items():
        more = f"; and {len(commands) - _MOST} more" if len(commands) > _MOST else ""
        shown = "; ".join(commands[:_MOST])
        lines.append(f"not run here: {shown}{more}   presubmit replay {role}")
    return lines


def with_upstream(config: Sourced, taken: Taken) -> Sourced:
    """Fill in what the configuration leaves open."""

    def marked(at: Origin) -> Origin:
        return f"{UPSTREAM}{at}" if isinstance(at, str) else tuple(f"{UPSTREAM}{a}" for a in at)

    return fill_in(
        config, {name: (value, marked(at)) for name, (value, at) in taken.options.items()}
    )
