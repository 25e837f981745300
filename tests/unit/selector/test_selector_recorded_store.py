from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from presubmit.errors import UsageError
from presubmit.history import History
from presubmit.selector import recorded_file
from presubmit.selector.recorded_file import read_exported, write_exported
from presubmit.selector.recorded_store import (
    of_place,
    read_stored,
    setting_of,
    store_recording,
    whole_files,
    without_parameters,
)
from presubmit.selector.recording import Ran, Recording

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from presubmit.selector.recorded_store import Stored

TREE = "a" * 40
FILES = {"pkg/a.py": "1", "tests/test_a.py": "2"}
COLLECTED = Ran(context="collect:tests/test_a.py")
X = Ran(context="test:tests/test_a.py::test_x", functions={"pkg/a.py": ("f",)})
Y = Ran(context="test:tests/test_a.py::test_y", functions={"pkg/a.py": ("g",)})


@pytest.fixture
def history(tmp_path: Path) -> Iterator[History]:
    with History(tmp_path / "history.db") as opened:
        yield opened


def recording(*contexts: Ran, **facts: Any) -> Recording:
    plain: dict[str, Any] = {
        "python": "3.11.2",
        "core": "ctrace",
        "environment": "e",
        "contexts": contexts,
        "complete": True,
    }
    return Recording(**{**plain, **facts})


def store(history: History, found: Recording, **facts: Any) -> bool:
    plain: dict[str, Any] = {
        "tree": TREE,
        "commit": "c" * 40,
        "files": FILES,
        "setting": "s",
        "whole": (),
        "known": ("tests/test_a.py",),
        "at": "2026-11-30T12:00:00Z",
    }
    return store_recording(history, found, **{**plain, **facts})


def stored(history: History) -> Stored:
    (found,) = read_stored(history, "s")
    return found


def contexts(found: Stored) -> set[str]:
    return {one.context for one in found.index.contexts}


def test_a_recording_is_kept(history: History) -> None:
    assert store(history, recording(COLLECTED, X))
    assert stored(history).index.ran("pkg/a.py").keys() == {"f"}


def test_a_recording_without_a_test_is_not_kept(history: History) -> None:
    assert not store(history, recording(COLLECTED))
    assert read_stored(history, "s") == ()


def test_a_recording_of_a_core_that_loses_contexts_is_refused(history: History) -> None:
    assert not store(history, recording(X, core="sysmon"))
    assert read_stored(history, "s") == ()


def test_a_second_recording_of_the_tree_adds_to_the_first(history: History) -> None:
    store(history, recording(COLLECTED, X))
    store(history, recording(COLLECTED, Y))
    assert contexts(stored(history)) == {COLLECTED.context, X.context, Y.context}


def test_a_recording_in_another_environment_does_not_add(history: History) -> None:
    store(history, recording(COLLECTED, X))
    store(history, recording(COLLECTED, Y, environment="other"))
    assert contexts(stored(history)) == {COLLECTED.context, Y.context}


def test_a_partial_recording_leaves_the_other_tests_as_they_were(history: History) -> None:
    store(history, recording(COLLECTED, X, Y), whole=["tests/test_a.py"])
    store(history, recording(COLLECTED, Ran(context=X.context, outcome="failed")))
    outcomes = {one.id: one.outcome for one in stored(history).index.contexts if one.id}
    assert outcomes == {"tests/test_a.py::test_x": "failed", "tests/test_a.py::test_y": "passed"}
    assert stored(history).run.whole == ("tests/test_a.py",)


def test_a_run_with_every_test_file_is_of_the_whole_suite(history: History) -> None:
    store(history, recording(COLLECTED, X), whole=["tests/test_a.py"])
    assert stored(history).run.suite


def test_a_file_of_which_every_test_has_a_record_is_whole() -> None:
    ran = ["tests/test_a.py::test_x[1]", "tests/test_a.py::test_x[a::b]"]
    assert whole_files(recording(COLLECTED, X), ran, ()) == {"tests/test_a.py"}


def test_a_file_with_a_test_without_a_record_is_not_whole() -> None:
    ran = ["tests/test_a.py::test_x", "tests/test_a.py::test_y"]
    assert whole_files(recording(COLLECTED, X), ran, ()) == frozenset()


def test_a_file_that_was_narrowed_is_not_whole() -> None:
    found = whole_files(recording(COLLECTED, X), (), ["tests/test_a.py::test_x"])
    assert found == frozenset()


def test_a_file_that_could_not_be_imported_is_not_whole() -> None:
    failed = Ran(context=COLLECTED.context, outcome="failed")
    assert whole_files(recording(failed, X), (), ()) == frozenset()


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("test_x", "test_x"),
        ("test_x[1]", "test_x"),
        ("C::test_x[a::b[c]]", "C::test_x"),
        ("test_x[a]b", "test_x[a]b"),
    ],
)
def test_parameters_are_left_out_of_an_id(name: str, plain: str) -> None:
    assert without_parameters(name) == plain


def test_another_command_or_variable_is_another_setting() -> None:
    every = {
        setting_of(["pytest"], []),
        setting_of(["pytest", "-x"], []),
        setting_of(["pytest"], ["A=1"]),
    }
    assert len(every) == 3


# --- files --------------------------------------------------------------------------------------------------------------


def test_an_exported_run_is_read_again(history: History) -> None:
    store(history, recording(COLLECTED, X), whole=["tests/test_a.py"])
    ((run, found),) = read_exported(write_exported([stored(history)]), list(FILES), "ci.rec")
    assert (run.origin, run.tree, run.whole) == ("ci.rec", TREE, ("tests/test_a.py",))
    assert {one.context for one in found.contexts} == {COLLECTED.context, X.context}


def refused(data: bytes, *paths: str) -> str:
    with pytest.raises(UsageError) as error:
        read_exported(data, paths or tuple(FILES), "ci.rec")
    assert error.value.hint
    return str(error.value)


def test_a_run_of_another_repository_is_refused(history: History) -> None:
    store(history, recording(COLLECTED, X))
    said = refused(write_exported([stored(history)]), "src/other.py")
    assert said == "it is of another repository or layout: 0 of its 2 Python files are here"


@pytest.mark.parametrize("junk", [b"", b"PK\x03\x04", b"{}"])
def test_any_other_file_is_refused(junk: bytes) -> None:
    assert refused(junk) == "this is no file of `presubmit record --export`"


def test_a_file_that_is_cut_off_is_refused(history: History) -> None:
    store(history, recording(COLLECTED, X))
    assert refused(write_exported([stored(history)])[:-20]).startswith("the file is cut off")


def test_a_damaged_file_is_refused(history: History) -> None:
    store(history, recording(COLLECTED, X))
    data = bytearray(write_exported([stored(history)]))
    data[40] ^= 0xFF
    assert refused(bytes(data)).startswith("the file is ")


def test_a_file_of_another_form_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("presubmit.selector.recorded_file._SCHEMA", 2)
    data = write_exported([])
    monkeypatch.undo()
    assert refused(data) == "the file has form 2, this presubmit reads form 1"


def test_a_file_without_a_run_is_refused() -> None:
    assert refused(write_exported([])) == "ci.rec holds no recording"


def test_a_file_that_grows_beyond_a_bound_is_not_decoded(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    store(history, recording(COLLECTED, X), whole=["tests/test_a.py"])
    data = write_exported([stored(history)])
    monkeypatch.setattr(recorded_file, "LARGEST", 100)
    assert refused(data).startswith("the file holds more than")
    with pytest.raises(UsageError, match="larger than"):
        write_exported([stored(history)])


# --- where a run was made -------------------------------------------------------------------------------------------


def test_runs_of_another_place_are_left_out_and_that_is_said(history: History) -> None:
    store(history, recording(COLLECTED, X), place={"image": "1"})
    runs = read_stored(history, "s")
    assert of_place(runs, {"image": "1"}) == (runs, ())
    assert of_place(runs, {}) == (runs, ())
    fit, (note,) = of_place(runs, {"image": "2"})
    assert fit == ()
    assert "another image" in note


def test_a_recording_of_another_place_takes_the_place_of_the_first(history: History) -> None:
    store(history, recording(COLLECTED, X), place={"image": "1"})
    store(history, recording(COLLECTED, Y), place={"image": "2"})
    assert contexts(stored(history)) == {COLLECTED.context, Y.context}
    assert stored(history).run.place == {"image": "2"}


def test_both_cores_are_kept(history: History) -> None:
    assert store(history, recording(COLLECTED, X, core="monitoring"))
    assert stored(history).run.core == "monitoring"
