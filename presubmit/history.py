"""What earlier runs took and gave: seconds and outcomes of steps and test files, and steps with evidence.

One SQLite file in the repository's common git directory, so that all its worktrees share it.
"""

from __future__ import annotations

import contextlib
import sqlite3
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_SCHEMA = """
create table if not exists step (key text primary key, seconds real not null, at text not null);
create table if not exists test_file (path text primary key, seconds real not null, outcome text not null, at text not null);
create table if not exists evidence (key text primary key, result text not null, at text not null);
"""


class History:
    """The repository's history; a damaged file is set aside and begun anew, since it holds nothing irreplaceable."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.note = ""
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._connection = self._open()
        except sqlite3.DatabaseError as error:
            path.replace(path.with_suffix(".damaged"))
            self.note = f"{path.name} was damaged ({error}) and is begun anew"
            self._connection = self._open()

    def _open(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, timeout=10, isolation_level=None)
        try:
            connection.execute("pragma journal_mode = wal")
            connection.execute("pragma synchronous = normal")
            connection.executescript(_SCHEMA)
        except sqlite3.Error:
            connection.close()
            raise
        return connection

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def step_seconds(self, key: str) -> float | None:
        """Give the seconds that a step with this key took last, or None."""
        row = self._connection.execute("select seconds from step where key = ?", (key,)).fetchone()
        return None if row is None else float(row[0])

    def test_seconds(self) -> dict[str, float]:
        """Give the last known seconds of each test file."""
        rows = self._connection.execute("select path, seconds from test_file")
        return {str(path): float(seconds) for path, seconds in rows}

    def evidence(self, key: str) -> str | None:
        """Give the stored green result of a step with this key, as JSON, or None."""
        row = self._connection.execute(
            "select result from evidence where key = ?", (key,)
        ).fetchone()
        return None if row is None else str(row[0])

    def write_step(self, key: str, seconds: float) -> None:
        """Remember how long a step took."""
        self._write("insert or replace into step values (?, ?, datetime('now'))", [(key, seconds)])

    def write_tests(self, rows: Iterable[tuple[str, float, str]]) -> None:
        """Remember (path, seconds, outcome) of test files."""
        self._write(
            "insert or replace into test_file values (?, ?, ?, datetime('now'))",
            [(path.encode("utf-8", "backslashreplace").decode(), s, o) for path, s, o in rows],
        )

    def write_evidence(self, key: str, result: str) -> None:
        """Remember the green result of a step."""
        self._write(
            "insert or replace into evidence values (?, ?, datetime('now'))", [(key, result)]
        )

    def _write(self, statement: str, rows: list[tuple[object, ...]]) -> None:
        # A full disk or a locked file must not cost the run its verdict: history is a convenience.
        with contextlib.suppress(sqlite3.Error):
            self._connection.executemany(statement, rows)
