from __future__ import annotations

import os
import sqlite3
import threading
from typing import TYPE_CHECKING

import pytest

from presubmit.history import History

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "presubmit" / "history.db"


def test_a_new_history_knows_nothing(path: Path) -> None:
    with History(path) as history:
        assert (
            history.step_seconds("k"),
            history.test_seconds(),
            history.evidence("k"),
        ) == (None, {}, None)


def test_the_seconds_of_a_step_are_its_last(path: Path) -> None:
    with History(path) as history:
        history.write_step("k", 1.0)
        history.write_step("k", 2.5)
        assert history.step_seconds("k") == 2.5


def test_what_one_run_writes_the_next_one_reads(path: Path) -> None:
    with History(path) as history:
        history.write_tests([("a.py", 1.0, "passed"), ("b.py", 2.0, "failed")])
        history.write_evidence("k", "{}")
    with History(path) as history:
        assert history.test_seconds() == {"a.py": 1.0, "b.py": 2.0}
        assert history.evidence("k") == "{}"


def test_two_worktrees_share_one_history(path: Path) -> None:
    with History(path) as one, History(path) as other:
        one.write_step("k", 1.0)
        assert other.step_seconds("k") == 1.0


def test_a_path_that_is_not_utf_8_is_written_as_an_escape(path: Path) -> None:
    with History(path) as history:
        history.write_tests([("\udcff.py", 1.0, "passed")])
        assert history.test_seconds() == {"\\udcff.py": 1.0}


def test_a_damaged_history_is_set_aside_and_begun_anew(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"this is not a database, not at all" * 100)
    with History(path) as history:
        history.write_step("k", 1.0)
        assert history.step_seconds("k") == 1.0
        assert "history.db was damaged" in history.note
    assert path.with_suffix(".damaged").read_bytes().startswith(b"this is not")


def test_a_sound_history_has_nothing_to_note(path: Path) -> None:
    with History(path) as history:
        assert history.note == ""


def test_a_history_with_tables_of_another_make_knows_nothing(path: Path) -> None:
    path.parent.mkdir()
    with sqlite3.connect(path) as connection:
        connection.execute("create table step (other text)")
        connection.execute("create table test_file (other text)")
        connection.execute("create table evidence (other text)")
    connection.close()
    with History(path) as history:
        history.write_step("k", 1.0)
        assert (
            history.step_seconds("k"),
            history.test_seconds(),
            history.evidence("k"),
        ) == (None, {}, None)


def test_a_history_whose_pages_are_lost_knows_nothing(path: Path) -> None:
    with History(path) as history:
        history.write_tests((f"{n}.py", 1.0, "passed") for n in range(5000))
        history._connection.execute("pragma wal_checkpoint(truncate)")
    data = bytearray(path.read_bytes())
    data[8192:] = b"\xaa" * (len(data) - 8192)
    path.write_bytes(data)
    with History(path) as history:
        assert history.test_seconds() == {}


def test_a_history_that_another_holds_locked_is_left_alone(path: Path) -> None:
    with History(path) as history:
        history.write_step("k", 1.0)
    holder = sqlite3.connect(path, isolation_level=None)
    try:
        holder.execute("pragma locking_mode = exclusive")
        holder.execute("begin exclusive")
        with History(path, patience=0.05) as history:
            assert None is history.step_seconds("k")
            assert "history.db" in history.note
    finally:
        holder.close()
    with History(path) as history:
        assert history.step_seconds("k") == 1.0


def test_a_history_that_cannot_be_opened_costs_the_run_nothing(path: Path) -> None:
    path.mkdir(parents=True)
    with History(path) as history:
        history.write_step("k", 1.0)
        assert "history.db" in history.note
    assert path.is_dir()


def test_a_folder_that_cannot_be_written_costs_the_run_nothing(
    as_other_user: Callable[[Callable[[], object]], str], open_folder: Path
) -> None:
    closed = open_folder / "closed"
    closed.mkdir(mode=0o500)
    os.chown(closed, 0, 0)

    def use() -> None:
        with History(closed / "presubmit" / "history.db") as history:
            history.write_step("k", 1.0)

    assert as_other_user(use) == ""


def test_what_another_thread_writes_is_remembered(tmp_path: Path) -> None:
    with History(tmp_path / "history.db") as history:
        thread = threading.Thread(target=lambda: history.write_step("build", 2.5))
        thread.start()
        thread.join()
        assert history.step_seconds("build") == 2.5


def test_what_was_taken_from_upstream_is_remembered_and_the_oldest_is_forgotten(
    path: Path,
) -> None:
    with History(path) as history:
        assert history.taken("a") is None
        history.write_taken("a", "first")
        history.write_taken("a", "second")
        assert history.taken("a") == "second"
        for number in range(49):
            history.write_taken(f"other {number}", "x")
        assert history.taken("a") == "second"
        history.write_taken("one more", "x")
        assert history.taken("a") is None
        assert history.taken("one more") == "x"
