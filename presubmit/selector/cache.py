"""Keeps what was read from a Python source, by the source's content, so that only changed files are parsed again."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from typing import TYPE_CHECKING, Final, Protocol, Self

import msgspec

from presubmit.selector.imports import Imports

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from types import TracebackType

_MOST_ROWS: Final = 200_000
_BATCH: Final = 500


class ImportCache(Protocol):
    """Where parsed imports are kept between runs."""

    def load(self, keys: Sequence[str]) -> Mapping[str, Imports]:
        """Give the values that are there; a missing key is simply absent."""

    def store(self, entries: Mapping[str, Imports]) -> None:
        """Keep some values."""


class MemoryCache:
    """An ImportCache in a dict."""

    def __init__(self) -> None:
        self.entries: dict[str, Imports] = {}

    def load(self, keys: Sequence[str]) -> Mapping[str, Imports]:
        """Give the values that are there."""
        return {key: self.entries[key] for key in keys if key in self.entries}

    def store(self, entries: Mapping[str, Imports]) -> None:
        """Keep some values."""
        self.entries.update(entries)


class SqliteCache:
    """An ImportCache in a SQLite file; a file that cannot be used is made anew, or done without."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._connection: sqlite3.Connection | None = self._open()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the database."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def load(self, keys: Sequence[str]) -> Mapping[str, Imports]:
        """Give the values that are there; a row that does not fit counts as absent."""
        found: dict[str, Imports] = {}
        for key, value in self._rows(keys):
            with contextlib.suppress(msgspec.MsgspecError, UnicodeError, TypeError):
                found[key] = msgspec.json.decode(value, type=Imports)
        return found

    def store(self, entries: Mapping[str, Imports]) -> None:
        """Keep some values, and forget the oldest beyond a bound."""
        if self._connection is None:
            return
        now = int(time.time())
        rows = [(key, msgspec.json.encode(value), now) for key, value in entries.items()]
        try:
            with self._connection as connection:
                connection.executemany("INSERT OR REPLACE INTO imports VALUES (?, ?, ?)", rows)
                connection.execute(
                    "DELETE FROM imports WHERE key IN (SELECT key FROM imports"
                    " ORDER BY written DESC LIMIT -1 OFFSET ?)",
                    (_MOST_ROWS,),
                )
        except sqlite3.Error as error:
            self._give_up(error)

    def _rows(self, keys: Sequence[str]) -> list[tuple[str, bytes]]:
        rows: list[tuple[str, bytes]] = []
        if self._connection is None:
            return rows
        try:
            for start in range(0, len(keys), _BATCH):
                batch = keys[start : start + _BATCH]
                marks = ",".join("?" * len(batch))
                query = f"SELECT key, value FROM imports WHERE key IN ({marks})"  # noqa: S608 - question marks only
                rows.extend(self._connection.execute(query, batch))
        except sqlite3.Error as error:
            self._give_up(error)
        return rows

    def _give_up(self, error: sqlite3.Error) -> None:
        """Go on without the database; one that is broken is removed, for the next run to make anew."""
        self.close()
        if not isinstance(error, sqlite3.OperationalError):
            _remove(self.path)

    def _open(self) -> sqlite3.Connection | None:
        for _ in range(2):
            try:
                return _connect(self.path)
            except (sqlite3.OperationalError, OSError):
                return None  # locked, read-only, full: not worth a run
            except sqlite3.Error:
                _remove(self.path)
        return None


def _connect(path: Path) -> sqlite3.Connection:
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path, timeout=5.0)
    try:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.execute(
            "CREATE TABLE IF NOT EXISTS imports"
            " (key TEXT PRIMARY KEY, value BLOB NOT NULL, written INTEGER NOT NULL) WITHOUT ROWID"
        )
        connection.execute("SELECT key, value, written FROM imports LIMIT 1").fetchone()
    except sqlite3.OperationalError as error:
        connection.close()
        if "no such column" in str(error):
            raise sqlite3.DatabaseError("the table has another form") from error
        raise
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _remove(path: Path) -> None:
    for suffix in ("", "-wal", "-shm", "-journal"):
        with contextlib.suppress(OSError):
            path.with_name(path.name + suffix).unlink()
