"""Rows of JSON, one a line, so that a trial which was stopped goes on where it was."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Store:
    """A file of rows; each has a `type`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._rows = list(_read(path))
        # A process that was stopped while it wrote left a line without its end.
        torn = path.exists() and not path.read_bytes().endswith(b"\n")
        self._gap = "\n" if torn else ""

    def add(self, row: dict[str, Any]) -> None:
        """Append a row; it is on disk when this returns."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(row)
        with self.path.open("a", encoding="utf-8") as stream:
            stream.write(f"{self._gap}{text}\n")
        self._gap = ""
        self._rows.append(json.loads(text))

    def rows(self, kind: str) -> Iterator[dict[str, Any]]:
        """Give the rows of a type, oldest first."""
        return (row for row in self._rows if row["type"] == kind)

    def first(self, kind: str) -> dict[str, Any] | None:
        """Give the oldest row of a type."""
        return next(self.rows(kind), None)


def _read(path: Path) -> Iterator[dict[str, Any]]:
    if not path.exists():
        return
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if isinstance(row, dict) and "type" in row:
            yield row
