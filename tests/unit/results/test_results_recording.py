"""What a recorder wrote is read as a whole or not at all."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from presubmit.results.recording import join, parse_recording, read_recording
from presubmit.selector.recording import Ran, Recording

if TYPE_CHECKING:
    from pathlib import Path

TEST = "test:t.py::test_x"
START = {
    "kind": "start",
    "p": "7-a",
    "core": "ctrace",
    "python": "3.11.2",
    "environment": "e",
}
END = {"kind": "end", "p": "7-a", "complete": True, "note": ""}
NAMES = {"kind": "names", "p": "7-a", "n": 0, "file": "a.py", "names": ["f", "C.m"]}


def ran(**facts: Any) -> dict[str, Any]:
    return {
        "kind": "ran",
        "p": "7-a",
        "context": TEST,
        "functions": {},
        "modules": [],
        "opened": [],
        "listed": [],
        "uses": [],
        "started": [],
        "open": [],
        "outcome": "passed",
        "seconds": 0.5,
    } | facts


def raw(**facts: Any) -> dict[str, Any]:
    plain = {"kind": "raw", "p": "8-b", "context": TEST, "files": {"a.py": [2]}}
    return plain | {"opened": [], "listed": [], "started": [], "open": []} | facts


def begun(**facts: Any) -> dict[str, Any]:
    plain = {"kind": "begun", "p": "8-b", "context": TEST, "pid": 8, "parent": 7}
    return plain | {"announced": True} | facts


def parse(*lines: dict[str, Any]) -> Recording:
    found = parse_recording("".join(f"{json.dumps(line)}\n" for line in lines).encode())
    assert found is not None
    return found


def the_test(*lines: dict[str, Any]) -> Ran:
    return next(it for it in parse(START, *lines, END).contexts if it.context == TEST)


def test_numbers_become_names() -> None:
    found = the_test(NAMES, ran(functions={"0": [1]}, opened=["x.json"], listed=["."]))
    assert found == Ran(
        context=TEST, functions={"a.py": ("C.m",)}, opened=("x.json",), listed=(".",), seconds=0.5
    )


def test_the_parameters_of_a_test_are_joined_and_one_failure_decides() -> None:
    lines = [
        ran(functions={"0": [index]}, outcome=how) for index, how in ((0, "failed"), (1, "passed"))
    ]
    found = the_test(NAMES, *lines)
    assert (found.functions, found.outcome, found.seconds) == (
        {"a.py": ("C.m", "f")},
        "failed",
        1.0,
    )


def test_a_test_of_which_all_was_skipped_is_skipped() -> None:
    assert the_test(ran(outcome="skipped"), ran(outcome="skipped")).outcome == "skipped"
    assert the_test(ran(outcome="skipped"), ran(outcome="passed")).outcome == "passed"


def test_a_process_that_did_not_say_that_it_began_leaves_its_test_open() -> None:
    found = the_test(ran(started=["make", "./git"]))
    assert found.open == "started a process that was not recorded (make, git)"


def test_a_program_that_asks_about_the_machine_leaves_nothing_open() -> None:
    assert the_test(ran(started=["uname", "ldconfig"])).open == ""


def test_a_program_that_runs_no_python_may_have_read_something() -> None:
    found = the_test(ran(started=["git", "tar", "uname"]))
    assert found.open == "programs read what is not recorded (git, tar)"


def test_a_program_that_runs_no_python_does_not_stand_for_a_recorded_one() -> None:
    lines = [NAMES, begun(), raw(), ran(of="8-b", functions={"0": [0]})]
    found = the_test(*lines, ran(started=["git", "python"]))
    assert found.open == "programs read what is not recorded (git)"


def test_a_process_that_was_recorded_leaves_nothing_open() -> None:
    found = the_test(
        NAMES, begun(), raw(), ran(started=["python"]), ran(of="8-b", functions={"0": [0]})
    )
    assert (found.open, found.functions) == ("", {"a.py": ("f",)})


@pytest.mark.parametrize("lines", [[begun()], [begun(), raw()]], ids=["killed", "unresolved"])
def test_a_process_that_was_killed_leaves_its_test_open(lines: list[dict[str, Any]]) -> None:
    assert "did not come to its end" in the_test(*lines, ran(started=["python"])).open


def test_what_multiprocessing_started_does_not_stand_for_an_announced_process() -> None:
    lines = [begun(announced=False), raw(), ran(of="8-b"), ran(started=["sh"])]
    assert "(sh)" in the_test(*lines).open


def test_a_process_of_an_unrecorded_one_does_not_stand_for_it() -> None:
    lines = [begun(parent=99), raw(), ran(of="8-b"), ran(started=["make"])]
    assert "(make)" in the_test(*lines).open


def test_a_worker_ends_by_itself() -> None:
    worker = [begun(), {**START, "p": "8-b"}, {**END, "p": "8-b"}]
    assert the_test(*worker, ran(started=["python"])).open == ""


def test_a_session_without_an_end_is_not_complete() -> None:
    found = parse(START, ran())
    assert (found.complete, found.note, len(found.contexts)) == (
        False,
        "the recorded session did not come to its end",
        1,
    )


def test_a_session_that_was_left_alone_beside_a_recorded_one_makes_it_incomplete() -> None:
    found = parse(START, ran(), END, {"kind": "note", "p": "9-c", "text": "left alone"})
    assert (found.complete, found.note) == (False, "left alone")


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (
            {"kind": "fault", "p": "7-a", "error": "KeyError: 1"},
            "cannot be used: KeyError: 1",
        ),
        ({**START, "p": "9-c", "core": "sysmon"}, "loses contexts"),
        ({**START, "p": "9-c", "environment": "other"}, "different environments"),
        (ran(functions={"5": [0]}), "damaged"),
        (ran(functions={"x": [0]}), "damaged"),
        ({"kind": "surprise"}, "damaged"),
        (ran(opened="x"), "damaged"),
        ({**START, "core": 3}, "damaged"),
        ({**NAMES, "n": "one"}, "damaged"),
    ],
)
def test_what_is_damaged_or_failed_holds_nothing(line: dict[str, Any], why: str) -> None:
    found = parse(START, NAMES, ran(), line, END)
    assert (found.contexts, found.complete, why in found.note) == ((), False, True)


@pytest.mark.parametrize("index", [2, -1])
def test_an_index_beyond_the_names_is_damage(index: int) -> None:
    assert parse(START, NAMES, ran(functions={"0": [index]}), END).contexts == ()


@pytest.mark.parametrize(
    "data", [b"{", b"[]", b"\xff", b"null", b"[" * 100_000, b'{"kind": "start"']
)
def test_junk_never_raises(data: bytes) -> None:
    found = parse_recording(json.dumps(START).encode() + b"\n" + data)
    assert found is not None
    assert (found.contexts, found.note) == ((), "the recording is damaged")


def test_a_name_that_is_not_utf8_survives() -> None:
    assert the_test(ran(opened=["data/\udcff.txt"])).opened == ("data/\udcff.txt",)


def test_nothing_written_is_no_recording(tmp_path: Path) -> None:
    assert read_recording(tmp_path / "none") is None
    (tmp_path / "empty").write_bytes(b"")
    assert read_recording(tmp_path / "empty") is None


def test_links_and_large_files_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "real").write_text(json.dumps(START))
    (tmp_path / "link").symlink_to("real")
    linked = read_recording(tmp_path / "link")
    large = read_recording(tmp_path / "real", max_bytes=5)
    assert linked is not None
    assert large is not None
    assert "symbolic link" in linked.note
    assert "larger than 5 bytes" in large.note


def test_only_a_note_says_why_nothing_was_recorded() -> None:
    found = parse({"kind": "note", "p": "7-a", "text": "left alone: --cov"})
    assert (found.contexts, found.complete, found.note) == ((), False, "left alone: --cov")


def chosen(**tests: int) -> dict[str, Any]:
    return {"kind": "chosen", "p": "7-a", "tests": {f"t.py::{k}": n for k, n in tests.items()}}


def test_a_test_of_which_not_every_parameter_ran_is_open() -> None:
    found = parse(START, chosen(x=2, y=1), ran(context="test:t.py::x"))
    assert found.chosen == ("t.py::x", "t.py::y")
    assert [one.open for one in found.contexts] == ["1 of its 2 parameters ran"]


def test_a_test_of_which_every_parameter_ran_is_not_open() -> None:
    one = ran(context="test:t.py::x")
    assert [it.open for it in parse(START, chosen(x=2), one, one, END).contexts] == [""]


def test_of_a_session_that_was_cut_off_a_fixture_without_tear_down_is_open() -> None:
    db = ran(context="fixture:c.py::db")
    assert "tear-down" in parse(START, db).contexts[0].open
    assert parse(START, db, db).contexts[0].open == ""
    assert parse(START, db, END).contexts[0].open == ""


# --- joining --------------------------------------------------------------------------------------------------------


def shard(
    *contexts: Ran, complete: bool = True, environment: str = "e", note: str = ""
) -> Recording:
    return Recording(
        python="3.11.2",
        core="ctrace",
        environment=environment,
        contexts=contexts,
        complete=complete,
        note=note,
    )


def test_contexts_of_several_shards_are_united() -> None:
    one = Ran(context="session:", functions={"a.py": ("f",)}, opened=("x",), open="forked")
    two = Ran(context="session:", functions={"a.py": ("g",), "b.py": ("h",)}, outcome="failed")
    assert join([shard(one), shard(two)]) == shard(
        Ran(
            context="session:",
            functions={"a.py": ("f", "g"), "b.py": ("h",)},
            opened=("x",),
            open="forked",
            outcome="failed",
        )
    )


def test_one_incomplete_shard_makes_the_whole_incomplete() -> None:
    joined = join([shard(Ran(context=TEST)), shard(complete=False, note="why")])
    assert (joined.complete, joined.note, len(joined.contexts)) == (False, "why", 1)


def test_a_shard_of_another_environment_is_left_out() -> None:
    joined = join([shard(Ran(context="a")), shard(Ran(context="b"), environment="other")])
    assert ([it.context for it in joined.contexts], joined.complete) == (["a"], False)
    assert "another environment" in joined.note


def test_there_must_be_something_to_join() -> None:
    with pytest.raises(ValueError, match="no recording"):
        join([])


def left(*names: str, tests: tuple[str, ...] = (TEST,)) -> dict[str, Any]:
    return {"kind": "left", "p": "7-a", "tests": [*tests], "left": [*names]}


def test_what_a_test_left_is_joined() -> None:
    found = the_test(ran(), left("a.py::X"), ran(), left("a.py::Y", "a.py::X"))
    assert found.left == ("a.py::X", "a.py::Y")


def test_what_one_look_saw_is_said_of_every_test_before_it() -> None:
    lines = (ran(), ran(context="test:t.py::y"), left("a.py::X", tests=(TEST, "test:t.py::y")))
    found = {it.context: it.left for it in parse(START, *lines, END).contexts}
    assert found == {TEST: ("a.py::X",), "test:t.py::y": ("a.py::X",)}


def test_a_test_that_was_not_looked_at_each_time_may_have_left_anything() -> None:
    assert the_test(ran(), left(), ran()).left is None
    assert the_test(ran()).left is None
    assert the_test(ran(), ran(), left(tests=(TEST, TEST))).left == ()


def test_of_shards_what_is_not_known_of_one_is_not_known() -> None:
    one, other = parse(START, ran(), left("a.py::X"), END), parse(START, ran(), END)
    (joined,) = join([one, one]).contexts
    assert joined.left == ("a.py::X",)
    (joined,) = join([one, other]).contexts
    assert joined.left is None
