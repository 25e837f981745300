"""Narrows every pytest that a cell's steps start to the chosen tests, and says what proves that it did."""

from __future__ import annotations

import json
import posixpath
import re
from typing import TYPE_CHECKING, Final

from presubmit.replay.assignment import PLUGIN
from presubmit.results.record import read_record
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
        self._number = 0

    def begin(self) -> None:
        """Lay the selection of a step, with a record of its own."""
        if self._cell.selection is None:
            return
        self._number += 1
        told = {
            **self._cell.selection,
            "root": self._cell.workspace,
            "ids": [],
            "watch": [],
            "none_is_fine": True,
            "record": f"{self._inside}/record-{self._number}.jsonl",
        }
        path = self._folder / f"selection-{self._number}.json"
        path.write_text(json.dumps(told), encoding="ascii")

    def environment(self, own: Mapping[str, str]) -> dict[str, str]:
        """Give the variables that load the plugin; a step's own values of the same names come after."""
        del own
        if self._cell.selection is None or not self._number:
            return {}
        return {
            "PYTEST_ADDOPTS": f"-p {PLUGIN}",
            "PYTEST_PLUGINS": PLUGIN,
            "PYTHONPATH": self._cell.plugin,
            "PRESUBMIT_SELECTION": f"{self._inside}/selection-{self._number}.json",
            **self._cell.narrowing_env,
        }

    def around(self, own: Mapping[str, str]) -> dict[str, str]:
        """Give a step's own variables, with ours kept in those that both set."""
        if self._cell.selection is None:
            return dict(own)
        kept = dict(own)
        if own.get("PYTEST_ADDOPTS"):
            kept["PYTEST_ADDOPTS"] = f"-p {PLUGIN} {own['PYTEST_ADDOPTS']}"
        if own.get("PYTEST_PLUGINS"):
            kept["PYTEST_PLUGINS"] = f"{PLUGIN},{own['PYTEST_PLUGINS']}"
        if own.get("PYTHONPATH"):
            kept["PYTHONPATH"] = f"{self._cell.plugin}:{own['PYTHONPATH']}"
        return kept

    def end(self, tail: str) -> str:
        """Say what a step's pytest ran; only the plugin's own record proves that it was narrowed."""
        if self._cell.selection is None:
            return ""
        found = read_record(self._folder / f"record-{self._number}.jsonl")
        if found.readable and found.narrowed and not found.faults:
            run = counted(found.selected, "test")
            whole = f" ({found.deselected} more were collected)" if found.deselected else ""
            return f"narrowed to {run}{whole}"
        if found.readable or _CLOSING.search(_COLOUR.sub("", tail)):
            return "its pytest ran whole: the selection did not reach it"
        return ""
