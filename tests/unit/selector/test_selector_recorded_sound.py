from __future__ import annotations

import pytest

from presubmit.selector.recorded_index import Index, pack
from presubmit.selector.recorded_sound import say_read, unknown, unread, unsound
from presubmit.selector.recording import Ran

GIT = say_read(["git"])
X, Y = Ran(context="test:t.py::x"), Ran(context="test:u.py::y")


def index(*contexts: Ran) -> Index:
    rows = pack(contexts)
    return Index(lambda keys: {key: rows[key] for key in keys if key in rows})


def names(found: Index, numbers: list[int]) -> list[str]:
    return [found.contexts[number].context for number in numbers]


def test_what_a_program_read_for_the_session_makes_no_test_unknown() -> None:
    found = index(Ran(context="session:", open=GIT), X, Y)
    assert unknown(found) == frozenset()
    assert names(found, sorted(unread(found))) == ["session:", "test:t.py::x", "test:u.py::y"]


@pytest.mark.parametrize("shared", ["collect:t.py", "fixture:c.py::db"])
def test_what_a_program_read_for_some_tests_leaves_the_others(shared: str) -> None:
    uses = (shared,) if shared.startswith("fixture:") else ()
    one = Ran(context="test:t.py::x", uses=uses)
    found = index(Ran(context=shared, open=GIT), one, Y)
    assert unknown(found) == frozenset()
    assert names(found, sorted(unread(found))) == [shared, "test:t.py::x"]


def test_what_a_program_read_for_a_test_makes_it_unknown() -> None:
    found = index(Ran(context="test:t.py::x", open=GIT), Y)
    assert names(found, sorted(unknown(found))) == ["test:t.py::x"]


@pytest.mark.parametrize(
    "text",
    [
        "started a process that was not recorded (python3)",
        f"started a process that was not recorded (sh); {GIT}",
        f"{GIT}; forked",
        "programs read what is not recorded (git), and more",
        "forked",
    ],
)
def test_whatever_may_have_run_code_makes_all_tests_of_the_session_unknown(text: str) -> None:
    assert len(unknown(index(Ran(context="session:", open=text), X, Y))) == 3


def test_what_rests_on_an_open_fixture_is_unknown_itself() -> None:
    found = index(
        Ran(context="fixture:c.py::db", open="forked"),
        Ran(context="fixture:c.py::app", uses=("fixture:c.py::db",)),
        Ran(context="test:t.py::x", uses=("fixture:c.py::app",)),
        Ran(context="test:t.py::y"),
    )
    assert sorted(names(found, sorted(unknown(found)))) == [
        "fixture:c.py::app",
        "fixture:c.py::db",
        "test:t.py::x",
    ]


def test_an_open_collection_makes_every_test_of_its_file_unknown() -> None:
    found = index(
        Ran(context="collect:t.py", open="forked"),
        Ran(context="test:t.py::x"),
        Ran(context="test:u.py::y"),
    )
    assert "test:u.py::y" not in names(found, sorted(unknown(found)))
    assert "test:t.py::x" in names(found, sorted(unknown(found)))


def test_an_open_session_makes_everything_unknown() -> None:
    found = index(Ran(context="session:", open="forked"), Ran(context="test:t.py::x"))
    assert len(unknown(found)) == 2


def test_a_test_that_rests_on_a_context_that_is_not_there_is_unknown() -> None:
    found = index(Ran(context="test:t.py::x", uses=("fixture:c.py::gone",)))
    assert unknown(found) == {0}


def test_a_failed_test_has_no_sound_record() -> None:
    found = index(Ran(context="test:t.py::x", outcome="failed"), Ran(context="test:t.py::y"))
    assert names(found, sorted(unsound(found))) == ["test:t.py::x"]
