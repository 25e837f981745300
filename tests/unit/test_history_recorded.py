from __future__ import annotations

import sqlite3
import threading
from typing import TYPE_CHECKING, Any

import pytest

from presubmit.history import History, RecordedRun

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "history.db"


@pytest.fixture
def history(path: Path) -> Iterator[History]:
    with History(path) as opened:
        yield opened


def run(tree: str, **facts: Any) -> RecordedRun:
    plain: dict[str, Any] = {
        "tree": tree,
        "environment": "e",
        "setting": "s",
        "python": "3.11.2",
        "core": "ctrace",
        "commit": "c",
        "at": "2026-11-30T12:00:00Z",
        "files": {"a.py": "1"},
    }
    return RecordedRun(**{**plain, **facts})


def trees(history: History, setting: str | None = "s") -> list[str]:
    return [found.tree for _, found in history.recorded_runs(setting)]


def test_a_run_comes_back_with_its_rows(history: History) -> None:
    history.write_recorded(run("t"), {"k": b"1", "l": b"2"})
    ((number, found),) = history.recorded_runs("s")
    assert (found, history.recorded_rows(number)) == (run("t"), {"k": b"1", "l": b"2"})


def test_single_rows_are_given_by_their_keys(history: History) -> None:
    history.write_recorded(run("t"), {"k": b"1", "l": b"2"})
    ((number, _),) = history.recorded_runs("s")
    assert history.recorded_rows(number, ["l", "absent"]) == {"l": b"2"}


def test_many_rows_are_given_by_their_keys(history: History) -> None:
    rows = {f"k{number}": b"1" for number in range(2500)}
    history.write_recorded(run("t"), rows)
    ((number, _),) = history.recorded_runs("s")
    assert history.recorded_rows(number, list(rows)) == rows


def test_runs_of_another_setting_are_not_given(history: History) -> None:
    history.write_recorded(run("t", setting="other"), {})
    assert trees(history) == []


def test_without_a_setting_the_last_one_is_meant(history: History) -> None:
    history.write_recorded(run("t"), {})
    history.write_recorded(run("u", setting="other"), {})
    assert trees(history, None) == ["u"]


def test_only_runs_of_the_newest_environment_are_given(history: History) -> None:
    history.write_recorded(run("t"), {})
    history.write_recorded(run("u", environment="newer"), {})
    assert trees(history) == ["u"]


def test_the_same_tree_is_one_run(history: History) -> None:
    history.write_recorded(run("t", at="old"), {"k": b"1"})
    history.write_recorded(run("t", at="new"), {"l": b"2"})
    ((number, found),) = history.recorded_runs("s")
    assert (found.at, history.recorded_rows(number)) == ("new", {"l": b"2"})


def test_the_oldest_runs_are_forgotten_with_their_rows(history: History, path: Path) -> None:
    for number in range(20):
        history.write_recorded(run(f"t{number}"), {"k": b"1"})
    assert trees(history) == [f"t{number}" for number in range(19, 11, -1)]
    with sqlite3.connect(path) as connection:
        assert connection.execute("select count(*) from recorded_row").fetchone() == (8,)


def test_the_newest_run_of_the_whole_suite_is_never_forgotten(history: History) -> None:
    history.write_recorded(run("old", suite=True), {})
    history.write_recorded(run("suite", suite=True), {})
    for number in range(20):
        history.write_recorded(run(f"t{number}"), {})
    assert (trees(history)[-1], "old" in trees(history)) == ("suite", False)


def test_a_run_that_cannot_be_read_is_left_out(history: History, path: Path) -> None:
    history.write_recorded(run("t"), {})
    with sqlite3.connect(path) as connection:
        connection.execute("update recorded_run set about = x'00'")
    assert trees(history) == []


def test_recordings_of_another_form_are_dropped(path: Path) -> None:
    with History(path) as history:
        history.write_recorded(run("t"), {"k": b"1"})
        history.write_step("k", 2.0)
    with sqlite3.connect(path) as connection:
        connection.execute("pragma user_version = 99")
    with History(path) as history:
        assert (trees(history), history.step_seconds("k")) == ([], 2.0)


def test_a_history_from_before_there_were_recordings_gets_them(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("create table step (key text primary key, seconds real, at text)")
        connection.execute("insert into step values ('k', 3.0, 'then')")
    with History(path) as history:
        assert history.write_recorded(run("t"), {})
        assert (trees(history), history.step_seconds("k")) == (["t"], 3.0)


def test_a_history_that_is_locked_keeps_no_run_and_says_so(path: Path) -> None:
    with History(path, patience=0.05) as history, sqlite3.connect(path) as other:
        other.execute("begin immediate")
        assert not history.write_recorded(run("t"), {})


def test_runs_are_written_from_several_threads(history: History) -> None:
    threads = [
        threading.Thread(target=history.write_recorded, args=(run(f"t{number}"), {"k": b"1"}))
        for number in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(trees(history)) == [f"t{number}" for number in range(6)]
