"""The second run of tests, with Python in place of an extension module."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from presubmit import values
from presubmit.plan import SECOND_RUN, planned_tests
from presubmit.selector.shards import Shard
from presubmit.values import Mode, Plan, PureTwin, Selection, Tier
from tests.unit.test_plan import (
    NATIVE,
    NONE,
    changed,
    chosen,
    config,
    facts,
    ids,
    plan,
    shards,
    step,
)

if TYPE_CHECKING:
    from presubmit.config import Sourced

CHANGE = changed("src/x/slow.py")
TWIN = PureTwin(
    path="src/x/slow.py",
    modules=("src.x.slow", "x.slow"),
    native="x._x",
    variable="X_PURE",
    tests=("tests/test_a.py",),
)
CHOSEN = chosen("tests/test_a.py", "tests/test_b.py")


def with_twins(selection: Selection = CHOSEN, *twins: PureTwin) -> Selection:
    return msgspec.structs.replace(selection, twins=twins or (TWIN,))


def made(
    selection: Selection | None = None, *, sourced: Sourced | None = None, **asked: Any
) -> Plan:
    return plan(CHANGE, selection or with_twins(), of=facts(NATIVE), sourced=sourced, **asked)


def second(found: Plan) -> values.Tests:
    work = step(found, SECOND_RUN).work
    assert isinstance(work, values.Tests)
    return work


def test_the_tests_of_a_changed_twin_run_once_more_with_its_variable() -> None:
    found = made(sourced=config(tests={"env": ["A=1"], "command": ["pytest", "-q"]}))
    usual, work = shards(found)
    assert usual.files == ("tests/test_a.py", "tests/test_b.py")
    assert usual.env == ("A=1",)
    assert work.files == ("tests/test_a.py",)
    assert work.env == ("A=1", "X_PURE=1")
    assert work.pure == ("src.x.slow", "x.slow")
    assert work.command == ("pytest", "-q")
    assert work.mode is Mode.SCOPED
    assert work.record is None
    assert step(found, SECOND_RUN).needs == ("build.1",)


def test_without_a_twin_there_is_no_second_run() -> None:
    assert SECOND_RUN not in ids(made(CHOSEN))


def test_a_recorded_run_that_never_saw_the_twin_leaves_its_second_run_there() -> None:
    found = made(with_twins(NONE))
    assert ids(found)[-2:] == ["build.1", SECOND_RUN]
    assert second(found).files == ("tests/test_a.py",)


def test_where_the_tests_run_with_the_variable_anyway_there_is_no_second_run() -> None:
    assert SECOND_RUN not in ids(made(sourced=config(tests={"env": ["X_PURE=yes"]})))
    assert SECOND_RUN in ids(made(sourced=config(tests={"env": ["X_PURE="]})))


@pytest.mark.parametrize(
    ("besides", "value", "origin"),
    [
        ("X_PURE=yes pytest (ci.yml:31)", "yes", "ci.yml:31"),
        ("A=1 X_PURE=on pytest -v (ci.yml:7: it runs in sub)", "on", "ci.yml:7"),
        ("pytest bench (ci.yml:9)", "1", ""),
        ("NOT_X_PURE=0 pytest (ci.yml:9)", "1", ""),
    ],
)
def test_upstreams_own_second_run_gives_the_value(besides: str, value: str, origin: str) -> None:
    found = made(besides=(besides,))
    assert second(found).env == (f"X_PURE={value}",)
    assert step(found, SECOND_RUN).origin.startswith(origin or "convention: ")


def test_twins_of_one_variable_share_a_run_and_another_variable_has_its_own() -> None:
    other = msgspec.structs.replace(
        TWIN, path="src/x/b.py", modules=("x.b",), tests=("tests/test_b.py",)
    )
    third = msgspec.structs.replace(TWIN, variable="Y_PURE")
    found = made(with_twins(CHOSEN, TWIN, other, third))
    assert ids(found)[-2:] == ["tests.pure", "tests.pure2"]
    assert second(found).files == ("tests/test_a.py", "tests/test_b.py")
    assert second(found).pure == ("src.x.slow", "x.slow", "x.b")


def test_where_it_is_not_known_which_tests_a_twin_has_all_run_again() -> None:
    whole = msgspec.structs.replace(TWIN, tests=())
    found = made(with_twins(chosen("tests/test_a.py", mode=Mode.ALL), whole))
    assert second(found).files == ()
    assert second(found).mode is Mode.ALL


def test_tests_that_are_asked_for_run_both_ways() -> None:
    found = made(arguments=("tests/test_a.py::t",), only=(SECOND_RUN,))
    assert ids(found) == ["build.1", SECOND_RUN]
    assert second(found).arguments == ("tests/test_a.py::t",)
    assert second(found).files == ()


def test_a_machine_of_several_runs_its_own_share_again() -> None:
    one, two = (made(shard=Shard(number=n, count=2)) for n in (1, 2))
    again = [second(it).files for it in (one, two) if SECOND_RUN in ids(it)]
    assert again == [("tests/test_a.py",)]


def test_the_quick_tier_builds_no_extension_and_runs_nothing_again() -> None:
    assert SECOND_RUN not in ids(made(tier=Tier.QUICK))


def test_the_second_run_does_not_count_as_further_tests() -> None:
    assert planned_tests(made()) == ("tests/test_a.py", "tests/test_b.py")
