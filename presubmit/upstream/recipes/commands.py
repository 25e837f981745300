"""Recognises what a command of a script is: a test run, an install, a build, a lint, …, behind whatever wrappers.

One tool more: a name in `kinds`, or a handler in one of the `tools_…` modules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from presubmit.upstream.recipes import tools_building, tools_tasks, tools_testing
from presubmit.upstream.recipes.kinds import Kind, kind_of_tool
from presubmit.upstream.recipes.recognised import Recognised, all_commands
from presubmit.upstream.recipes.seen import Seen
from presubmit.upstream.recipes.wrappers import peel

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from presubmit.upstream.recipes.shell_script import Command

    Read = Callable[[str], str | None]

__all__ = ["Recognised", "all_commands", "recognise"]

_HANDLERS: Final[Mapping[str, Callable[[Seen], Recognised]]] = {
    **tools_testing.HANDLERS,
    **tools_tasks.HANDLERS,
    **tools_building.HANDLERS,
}
_DEEPEST: Final = 4


def recognise(
    command: Command, variables: Mapping[str, str], read: Read = lambda _: None, *, depth: int = 0
) -> Recognised:
    """Say what a command is. `variables` is its environment; `read` gives a file of the tree, or None."""

    def inner(found: Command, known: Mapping[str, str]) -> Recognised:
        return recognise(found, known, read, depth=depth + 1)

    peeled = peel(command.words, command.cwd or "")
    follow = inner if depth < _DEEPEST else None
    seen = Seen(command, peeled, dict(variables), read, follow, _HANDLERS.__contains__)
    if peeled.script:
        return seen.made(Kind.OTHER, "bash", origin="bash -c", lines=(peeled.script,))
    task = tools_tasks.managed(seen)
    if task is not None:
        return task
    handler = _HANDLERS.get(seen.tool)
    if handler is not None:
        return handler(seen)
    if seen.is_script():
        return tools_tasks.script(seen)
    kind = kind_of_tool(seen.tool)
    if kind is None:
        kind = Kind.LINT if seen.tool.startswith(("lint", "check-")) else Kind.OTHER
    if seen.texts and set(seen.texts) <= {"--version", "-V", "--help", "version"}:
        kind = Kind.SILENT
    # `python -m pre_commit` is pre-commit.
    named = seen.tool.replace("_", "-") if "python -m" in peeled.via else seen.tool
    return seen.made(kind, named)
