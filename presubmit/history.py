"""What earlier runs took and gave: seconds and outcomes of test files, steps with evidence, recorded runs.

One SQLite file in the repository's common git directory, so that all its worktrees share it.
"""

from __future__ import annotations

import sqlite3
import threading
import zlib
from typing import TYPE_CHECKING, Any, Final, Self

import msgspec

from presubmit.evidence_key import COLUMNS, TABLE, find_rows
from presubmit.values import Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

_SCHEMA = """
create table if not exists step (key text primary key, seconds real not null, at text not null);
create table if not exists test_file (path text primary key, seconds real not null, outcome text not null, at text not null);
create table if not exists lock (key text primary key, lines text not null);
create table if not exists taken (key text primary key, value text not null, at integer not null);
create table if not exists benchmark (
    name text not null, tree text not null, value real not null, ratio real not null, at text not null,
    primary key (name, tree)
);
create table if not exists run_evidence (
    digest text primary key, tree text not null, base text not null, base_ref text not null, settings text not null,
    tool text not null, cut text not null, at text not null
);
create table if not exists evidence (key text primary key, result text not null, at text not null);
"""

RUN_COLUMNS: Final = ("digest", "tree", "base", "base_ref", "settings", "tool", "cut", "at")

_RECORDED_FORM: Final = 1
"""Kept as the file's `user_version`: recorded runs of another form are dropped, and recorded again in time."""
_RECORDED_SCHEMA = """
create table if not exists recorded_run (
    run integer primary key, tree text not null, environment text not null, setting text not null,
    origin text not null, suite integer not null, about blob not null,
    unique (tree, environment, setting, origin)
);
create table if not exists recorded_row (
    run integer not null, key text not null, value blob not null, primary key (run, key)
) without rowid;
"""

_MOST_TAKEN = 50
_MOST_RUNS: Final = 8
_MOST_ENVIRONMENTS: Final = 4
_BATCH: Final = 500
_LARGEST_ABOUT: Final = 256 * 1024 * 1024


class RecordedRun(Value, frozen=True, kw_only=True):
    """What is known of a recorded run, apart from its rows; runs of one tree in one environment are one."""

    tree: str
    """Git's id of the recorded tree."""
    environment: str
    """Digest of what was installed, of the Python and the platform."""
    setting: str
    """Digest of how tests are started: the command, its variables, container or host."""
    python: str
    core: str
    commit: str
    at: str
    """When, as `2026-11-30T12:00:00Z`."""
    files: dict[str, str]
    """Blob id of every file of the tree."""
    whole: tuple[str, ...] = ()
    """Test files of which every test is in the run."""
    suite: bool = False
    """Every test of the project is in the run."""
    origin: str = ""
    """Where a foreign run came from; empty for this repository's own."""
    place: dict[str, str] = {}
    """What is known of the place without starting anything (`recorded_setting`): the image, the build."""


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
            connection.executescript(TABLE)
            _make_recorded(connection)
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

    def failed_tests(self) -> frozenset[str]:
        """Give the test files that failed when they last ran."""
        rows = self._read("select path from test_file where outcome = 'failed'")
        return frozenset(str(path) for (path,) in rows)

    def benchmark_points(self, name: str) -> tuple[tuple[str, str, float, float], ...]:
        """Give what was measured of a benchmark, oldest first: when, tree, value, ratio to its base then."""
        rows = self._read(
            "select at, tree, value, ratio from benchmark where name = ? order by at", name
        )
        return tuple((str(at), str(tree), float(v), float(r)) for at, tree, v, r in rows)

    def benchmark_names(self) -> tuple[str, ...]:
        """Give the benchmarks of which something is known."""
        return tuple(
            str(it[0]) for it in self._read("select distinct name from benchmark order by name")
        )

    def write_benchmarks(self, tree: str, points: Mapping[str, tuple[float, float]]) -> None:
        """Remember of each benchmark its value (seconds, mostly) and the ratio to the base, by tree."""
        if points:
            self._write(
                "insert or replace into benchmark values (?, ?, ?, ?, strftime('%Y-%m-%dT%H:%M:%SZ'))",
                [(name, tree, value, ratio) for name, (value, ratio) in points.items()],
            )

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

    def tier_evidence(self, tree: str) -> list[dict[str, Any]]:
        """Give the evidence that a tree has, by column, the widest tier first."""
        try:
            with self._lock:
                return find_rows(self._connection, tree)
        except sqlite3.ProgrammingError:
            raise  # as below
        except sqlite3.Error:
            return []

    def newest_evidence(self) -> dict[str, Any] | None:
        """Give the newest evidence of any tree."""
        names = ", ".join(COLUMNS)
        rows = self._read(f"select {names} from tier_evidence order by at desc limit 1")  # noqa: S608 - our own names
        return dict(zip(COLUMNS, rows[0], strict=True)) if rows else None

    def write_tier_evidence(self, row: Mapping[str, object]) -> None:
        """Remember that the plan of a tier ran green, by column."""
        marks = ", ".join("?" * len(COLUMNS))
        self._write(
            f"insert or replace into tier_evidence values ({marks})",  # noqa: S608 - question marks only
            [tuple(row[name] for name in COLUMNS)],
        )

    def run_evidence(self, digest: str) -> dict[str, str] | None:
        """Give what is known of the run that wrote these files, by column; None where no run wrote them so."""
        names = ", ".join(RUN_COLUMNS)
        rows = self._read(f"select {names} from run_evidence where digest = ?", digest)  # noqa: S608 - our own names
        return dict(zip(RUN_COLUMNS, rows[0], strict=True)) if rows else None

    def write_run_evidence(self, row: Mapping[str, object]) -> None:
        """Remember what a run that came to its end wrote, by column."""
        marks = ", ".join("?" * len(RUN_COLUMNS))
        self._write(
            f"insert or replace into run_evidence values ({marks})",  # noqa: S608 - question marks only
            [tuple(row[name] for name in RUN_COLUMNS)],
        )

    def skipped_pushes(self, tree: str) -> tuple[tuple[str, str], ...]:
        """Give when and why a tree was pushed without being tested."""
        rows = self._read("select at, reason from skipped_push where tree = ? order by at", tree)
        return tuple((str(at), str(reason)) for at, reason in rows)

    def write_skipped_push(self, tree: str, reason: str) -> None:
        """Remember that a tree was pushed without being tested, and why."""
        self._write(
            "insert into skipped_push values (?, ?, strftime('%Y-%m-%dT%H:%M:%SZ'))",
            [(tree, reason)],
        )

    # --- recorded runs ----------------------------------------------------------------------------------------------

    def recorded_runs(self, setting: str | None) -> tuple[tuple[int, RecordedRun], ...]:
        """Give the runs of this setting in the environment that was recorded last, the newest first.

        None stands for the setting of the last run.
        """
        if setting is None:
            last = self._read("select setting from recorded_run order by run desc limit 1")
            return self.recorded_runs(str(last[0][0])) if last else ()
        newest = "select environment from recorded_run where setting = ? order by run desc limit 1"
        rows = self._read(
            f"select run, about from recorded_run where setting = ? and environment = ({newest})"  # noqa: S608 - no value in it
            " order by run desc",
            setting,
            setting,
        )
        found = ((int(number), _about(data)) for number, data in rows)
        return tuple((number, run) for number, run in found if run is not None)

    def recorded_about(self, number: int) -> RecordedRun | None:
        """Give what is known of one run."""
        rows = self._read("select about from recorded_run where run = ?", number)
        return _about(rows[0][0]) if rows else None

    def recorded_number(self, run: RecordedRun) -> int | None:
        """Give the number of the stored run of the same tree, environment, setting and origin."""
        rows = self._read(
            "select run from recorded_run"
            " where tree = ? and environment = ? and setting = ? and origin = ?",
            *(run.tree, run.environment, run.setting, run.origin),
        )
        return int(rows[0][0]) if rows else None

    def recorded_rows(self, number: int, keys: Sequence[str] | None = None) -> dict[str, bytes]:
        """Give rows of a run by their keys, or all of them."""
        if keys is None:
            found = self._read("select key, value from recorded_row where run = ?", number)
            return {str(key): bytes(value) for key, value in found}
        rows: dict[str, bytes] = {}
        for start in range(0, len(keys), _BATCH):
            batch = keys[start : start + _BATCH]
            marks = ",".join("?" * len(batch))
            query = f"select key, value from recorded_row where run = ? and key in ({marks})"  # noqa: S608 - question marks only
            rows |= {str(key): bytes(value) for key, value in self._read(query, number, *batch)}
        return rows

    def write_recorded(self, run: RecordedRun, rows: Mapping[str, bytes]) -> bool:
        """Keep a run in place of the one of the same tree, and forget the oldest; whether it was kept."""
        key = (run.tree, run.environment, run.setting, run.origin)
        about = zlib.compress(msgspec.msgpack.encode(run), 1)
        try:
            with self._lock:
                self._connection.execute("begin immediate")
                try:
                    number = self._replace_run(key, about, suite=run.suite)
                    self._connection.executemany(
                        "insert into recorded_row values (?, ?, ?)",
                        ((number, name, value) for name, value in rows.items()),
                    )
                    self._forget_runs(run.setting)
                    self._connection.execute("commit")
                except BaseException:
                    self._connection.execute("rollback")
                    raise
        except sqlite3.ProgrammingError:
            raise
        except sqlite3.Error:
            return False
        return True

    def _replace_run(self, key: tuple[str, ...], about: bytes, *, suite: bool) -> int:
        of_key = "(select run from recorded_run where tree = ? and environment = ? and setting = ? and origin = ?)"
        for table in ("recorded_row", "recorded_run"):
            self._connection.execute(f"delete from {table} where run in {of_key}", key)  # noqa: S608 - no value in it
        # Counted on, so that a number never stands for two runs.
        newest = "(select coalesce(max(run), 0) + 1 from recorded_run)"
        self._connection.execute(
            f"insert into recorded_run values ({newest}, ?, ?, ?, ?, ?, ?)",  # noqa: S608 - no value in it
            (*key, int(suite), about),
        )
        return int(self._connection.execute("select max(run) from recorded_run").fetchone()[0])

    def _forget_runs(self, setting: str) -> None:
        """Keep the newest runs of the newest environments, and the newest run of the whole suite."""
        rows = self._connection.execute(
            "select run, environment, suite from recorded_run where setting = ? order by run desc",
            (setting,),
        ).fetchall()
        environments = list(dict.fromkeys(environment for _, environment, _ in rows))
        kept: set[int] = set()
        for environment in environments[:_MOST_ENVIRONMENTS]:
            runs = [(run, suite) for run, of, suite in rows if of == environment]
            kept |= {run for run, _ in runs[:_MOST_RUNS]}
            kept |= set([run for run, suite in runs if suite][:1])
        for run in {run for run, _, _ in rows} - kept:
            self._connection.execute("delete from recorded_row where run = ?", (run,))
            self._connection.execute("delete from recorded_run where run = ?", (run,))

    # A full disk, a locked or a damaged file must not cost the run its verdict: history is a convenience.

    def _read(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
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


def _make_recorded(connection: sqlite3.Connection) -> None:
    (form,) = connection.execute("pragma user_version").fetchone()
    if form != _RECORDED_FORM:
        connection.executescript(
            "begin immediate; drop table if exists recorded_run; drop table if exists recorded_row;"
            f"{_RECORDED_SCHEMA} pragma user_version = {_RECORDED_FORM}; commit;"
        )


def _about(data: bytes) -> RecordedRun | None:
    """Read what is known of a run; one that cannot be read is none."""
    try:
        unpacker = zlib.decompressobj()
        return msgspec.msgpack.decode(unpacker.decompress(data, _LARGEST_ABOUT), type=RecordedRun)
    except (zlib.error, msgspec.MsgspecError, UnicodeError, TypeError):
        return None
