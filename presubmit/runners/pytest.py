"""pytest, whoever starts it: a plugin is named in the environment, which make, tox and nox pass on (facts: injection)."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Final

from presubmit.runners.values import Invocation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from presubmit.runners.values import Collects, Told

NAME: Final = "pytest"
RECORDS: Final = True
PLUGIN: Final = "presubmit_pytest_plugin"
"""The module name that the pytest plugin is mounted and loaded under."""


def takes(command: Sequence[str]) -> bool:  # noqa: ARG001 - what no other runner takes
    """Whether a command starts this runner: it may, whatever it is."""
    return True


def collects(command: Sequence[str]) -> Collects | None:  # noqa: ARG001 - the configuration says it
    """Leave to the project's configuration which files are collected."""
    return None


def sort_arguments(arguments: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Leave ids to pytest, which takes them itself."""
    return (), tuple(arguments)


def plain(command: Sequence[str]) -> tuple[str, ...]:
    """Give the command as it is: `upstream_options.tests` takes pytest's options apart."""
    return tuple(command)


def invoke(command: Sequence[str], told: Told) -> Invocation:
    """Name the plugin in the environment."""
    return Invocation(
        command=(*command, *told.arguments, *(("-x",) if told.exit_first else ())),
        env=plugin_variables(told),
    )


def plugin_variables(told: Told) -> dict[str, str]:
    """Give the variables that load the plugin."""
    options = (
        told.given.get("PYTEST_ADDOPTS", ""),
        *("-p", PLUGIN, f"--junitxml={shlex.quote(told.junit)}"),
        # A file that cannot be imported must not keep the others from being run.
        "--continue-on-collection-errors",
    )
    return {
        "PYTEST_ADDOPTS": " ".join(options).strip(),
        "PYTEST_PLUGINS": ",".join(filter(None, (PLUGIN, told.given.get("PYTEST_PLUGINS")))),
        "PRESUBMIT_SELECTION": told.selection,
    }
