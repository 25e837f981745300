"""Narrows every pytest that a cell's steps start to the chosen tests, and says what proves that it did."""

from __future__ import annotations

import json
import posixpath
import re
from typing import TYPE_CHECKING, Final

from presubmit.replay.job.own_folder import write_own
from presubmit.results.record import read_record
from presubmit.runners.pytest import PLUGIN
from presubmit.values import counted

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from presubmit.replay.job.values import CellAssignment

# pytest's closing line, whoever called it: "=== 3 passed, 1 skipped in 0.12s ===", or with -q without the signs.
_CLOSING: Final = re.compile(
    r"^=*\s*(?:\d+ (?:passed|failed|errors?|skipped|deselected|xfailed|xpassed|warnings?)(?:, )?)+ in \d+\.\d+s",
    re.MULTILINE,
)
_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*m")


class Narrowing:
    """What one cell's steps are told of the selection; nothing where all tests run."""

    def __init__(self, cell: CellAssignment, folder: Path) -> None:
        self._cell = cell
        self._folder = folder
        self._inside = posixpath.join(cell.temp, folder.name)
        self._laid = 0

    def lay(self) -> int:
        """Lay the selection for one more step, with a record of its own; give its number."""
        if self._cell.selection is None:
            return 0
        self._laid += 1
        told = {
            **self._cell.selection,
            "root": self._cell.workspace,
            "ids": [],
            "watch": [],
            "none_is_fine": True,
            "record": f"{self._inside}/record-{self._laid}.jsonl",
        }
        write_own(self._folder / f"selection-{self._laid}.json", json.dumps(told).encode())
        return self._laid

    def around(self, number: int, given: Mapping[str, str]) -> dict[str, str]:
        """Give a process's variables with those that load the plugin; what it has of the same names is kept."""
        if not number:
            return dict(given)
        return {
            **given,
            "PYTEST_ADDOPTS": _together(" ", f"-p {PLUGIN}", given.get("PYTEST_ADDOPTS")),
            "PYTEST_PLUGINS": _together(",", PLUGIN, given.get("PYTEST_PLUGINS")),
            "PYTHONPATH": _together(":", self._cell.plugin, given.get("PYTHONPATH")),
            "PRESUBMIT_SELECTION": f"{self._inside}/selection-{number}.json",
            **self._cell.narrowing_env,
        }

    def what_ran(self, number: int, tail: str) -> str:
        """Say what a step's pytest ran; only the plugin's own record proves that it was narrowed."""
        if not number:
            return ""
        found = read_record(self._folder / f"record-{number}.jsonl")
        closed = len(_CLOSING.findall(_COLOUR.sub("", tail)))
        if found.readable and found.narrowed and not found.faults:
            run = counted(found.selected, "test")
            whole = f" ({found.deselected} more were collected)" if found.deselected else ""
            other = "; another pytest of it ran whole" if closed > found.sessions else ""
            return f"narrowed to {run}{whole}{other}"
        if found.readable or closed:
            return "its pytest ran whole: the selection did not reach it"
        return ""


def _together(separator: str, ours: str, theirs: str | None) -> str:
    return f"{ours}{separator}{theirs}" if theirs else ours
