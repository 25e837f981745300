"""Keeps what was read from sources, by the sources' content, so that only changed files are parsed again."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from enum import StrEnum
from typing import TYPE_CHECKING, Final, Protocol, Self

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from types import TracebackType

_BATCH: Final = 500


class Kind(StrEnum):
    """What is kept; each kind has a table of its own."""

    IMPORTS = "imports"
    SHAPES = "shapes"
    NATIVE = "native"
    """Which native files extension modules are built from."""
    BUILT = "built"
    """Which files extension modules were made from, in a build."""
    PACKS = "packs"
    """A whole tree's imports, or its file graph, in one row: thousands of rows take a second to load."""


_MOST_ROWS: Final = {
    Kind.IMPORTS: 200_000,
    Kind.SHAPES: 200_000,
    Kind.NATIVE: 6,
    Kind.BUILT: 6,
    Kind.PACKS: 6,
}
_FORM: Final = 3
"""The form of the tables: a database of another form is made anew."""


class Cache(Protocol):
    """Where encoded values are kept between runs."""

    def load(self, kind: Kind, keys: Sequence[str]) -> Mapping[str, bytes]:
        """Give the values that are there; a missing key is simply absent."""

    def store(self, kind: Kind, entries: Mapping[str, bytes]) -> None:
        """Keep some values."""


class MemoryCache:
    """A Cache in dicts."""

    def __init__(self) -> None:
        self.entries: dict[Kind, dict[str, bytes]] = {kind: {} for kind in Kind}

    def load(self, kind: Kind, keys: Sequence[str]) -> Mapping[str, bytes]:
        """Give the values that are there."""
        return {key: self.entries[kind][key] for key in keys if key in self.entries[kind]}

    def store(self, kind: Kind, entries: Mapping[str, bytes]) -> None:
        """Keep some values."""
        self.entries[kind].update(entries)


class SqliteCache:
    """A Cache in a SQLite file; a file that cannot be used is made anew, or done without."""

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

    def load(self, kind: Kind, keys: Sequence[str]) -> Mapping[str, bytes]:
        """Give the values that are there."""
        rows: list[tuple[str, object]] = []
        if self._connection is None:
            return {}
        try:
            for start in range(0, len(keys), _BATCH):
                batch = keys[start : start + _BATCH]
                marks = ",".join("?" * len(batch))
                query = f"SELECT key, value FROM {kind} WHERE key IN ({marks})"  # noqa: S608 - an enum's value, question marks
                rows.extend(self._connection.execute(query, batch))
        except sqlite3.Error as error:
            self._give_up(error)
        return {key: value for key, value in rows if isinstance(value, bytes)}

    def store(self, kind: Kind, entries: Mapping[str, bytes]) -> None:
        """Keep some values, and forget the oldest beyond a bound."""
        if self._connection is None:
            return
        now = time.time()
        rows = [(key, value, now) for key, value in entries.items()]
        try:
            with self._connection as connection:
                connection.executemany(
                    f"INSERT OR REPLACE INTO {kind} VALUES (?, ?, ?)",  # noqa: S608 - an enum's value
                    rows,
                )
                connection.execute(
                    f"DELETE FROM {kind} WHERE key IN (SELECT key FROM {kind}"  # noqa: S608 - the same
                    " ORDER BY written DESC LIMIT -1 OFFSET ?)",
                    (_MOST_ROWS[kind],),
                )
        except sqlite3.Error as error:
            self._give_up(error)

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
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version not in {0, _FORM} or (version == 0 and _has_tables(connection)):
            raise sqlite3.DatabaseError("the tables have another form")
        for kind in Kind:
            connection.execute(
                f"CREATE TABLE IF NOT EXISTS {kind}"
                " (key TEXT PRIMARY KEY, value BLOB NOT NULL, written REAL NOT NULL)"
            )
            connection.execute(
                f"CREATE INDEX IF NOT EXISTS {kind}_written ON {kind} (written)",
            )
        connection.execute(f"PRAGMA user_version={_FORM}")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _has_tables(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT 1 FROM sqlite_master").fetchone() is not None


def _remove(path: Path) -> None:
    for suffix in ("", "-wal", "-shm", "-journal"):
        with contextlib.suppress(OSError):
            path.with_name(path.name + suffix).unlink()
