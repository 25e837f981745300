"""What earlier runs took and gave: seconds and outcomes of steps and test files, and steps with evidence.

One SQLite file in the repository's common git directory, so that all its worktrees share it.
"""

from __future__ import annotations

import sqlite3
import threading
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_SCHEMA = """
create table if not exists step (key text primary key, seconds real not null, at text not null);
create table if not exists test_file (path text primary key, seconds real not null, outcome text not null, at text not null);
create table if not exists lock (key text primary key, lines text not null);
create table if not exists taken (key text primary key, value text not null, at integer not null);
create table if not exists evidence (key text primary key, result text not null, at text not null);
"""


_MOST_TAKEN = 50


class History:
    """The repository's history; a damaged file is set aside and begun anew, since it holds nothing irreplaceable.

    A file that is locked or cannot be written is left alone: the run then remembers nothing.
    """

    def __init__(self, path: Path, *, patience: float = 10.0) -> None:
        self.path = path
        self.note = ""
        self._patience = patience
        # Results come from the threads of several lanes.
        self._lock = threading.Lock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = self._open_sound()
        except (OSError, sqlite3.Error) as error:
            self.note = f"{path.name} cannot be used ({error}): this run remembers nothing"
            self._connection = self._open(":memory:")

    def _open_sound(self) -> sqlite3.Connection:
        try:
            return self._open(self.path)
        except sqlite3.OperationalError:
            raise  # locked, read-only or no file: that is no damage
        except sqlite3.DatabaseError as error:
            self.path.replace(self.path.with_suffix(".damaged"))
            self.note = f"{self.path.name} was damaged ({error}) and is begun anew"
            return self._open(self.path)

    def _open(self, name: Path | str) -> sqlite3.Connection:
        connection = sqlite3.connect(
            name, timeout=self._patience, isolation_level=None, check_same_thread=False
        )
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
        rows = self._read("select seconds from step where key = ?", key)
        return float(rows[0][0]) if rows else None

    def test_seconds(self) -> dict[str, float]:
        """Give the last known seconds of each test file."""
        rows = self._read("select path, seconds from test_file")
        return {str(path): float(seconds) for path, seconds in rows}

    def evidence(self, key: str) -> str | None:
        """Give the stored green result of a step with this key, as JSON, or None."""
        rows = self._read("select result from evidence where key = ?", key)
        return str(rows[0][0]) if rows else None

    def lock_lines(self, key: str) -> str | None:
        """Give what was read from these lock files, as JSON, or None."""
        rows = self._read("select lines from lock where key = ?", key)
        return str(rows[0][0]) if rows else None

    def write_lock(self, key: str, lines: str) -> None:
        """Remember what was read from lock files, by their blob ids."""
        self._write("insert or replace into lock values (?, ?)", [(key, lines)])

    def taken(self, key: str) -> str | None:
        """Give what was taken over from upstream's jobs, as JSON, or None."""
        rows = self._read("select value from taken where key = ?", key)
        return str(rows[0][0]) if rows else None

    def write_taken(self, key: str, value: str) -> None:
        """Remember what was taken over from upstream's jobs, and forget the oldest."""
        newest = "(select coalesce(max(at), 0) + 1 from taken)"
        self._write(f"insert or replace into taken values (?, ?, {newest})", [(key, value)])  # noqa: S608 - no value in it
        self._write(
            "delete from taken where at <= (select max(at) from taken) - ?", [(_MOST_TAKEN,)]
        )

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

    # A full disk, a locked or a damaged file must not cost the run its verdict: history is a convenience.

    def _read(self, statement: str, *values: str) -> list[tuple[Any, ...]]:
        try:
            with self._lock:
                return self._connection.execute(statement, values).fetchall()
        except sqlite3.ProgrammingError:
            raise  # our own mistake, which must not be silent
        except sqlite3.Error:
            return []

    def _write(self, statement: str, rows: list[tuple[object, ...]]) -> None:
        try:
            with self._lock:
                self._connection.executemany(statement, rows)
        except sqlite3.ProgrammingError:
            raise  # as above
        except sqlite3.Error:
            return
