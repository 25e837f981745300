"""pytest with one process a file, the file named: how a suite is run whose files do not bear each other's company."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from presubmit.runners import pytest
from presubmit.runners.values import Invocation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from presubmit.runners.values import Told

MODULE: Final = "presubmit_apart"
"""The module that starts the processes, mounted beside the plugin."""


def invoke(command: Sequence[str], told: Told) -> Invocation:
    """Have our module call the command for every file; what the user named himself is one call."""
    if told.arguments:
        return pytest.invoke(command, told)
    stops = "-x" if told.exit_first else "-"
    return Invocation(
        command=(
            "python",
            "-m",
            MODULE,
            told.selection,
            told.junit,
            stops,
            *command,
            *(("-x",) if told.exit_first else ()),
        ),
        env=pytest.plugin_variables(told),
    )
