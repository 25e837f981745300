from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from presubmit.selector.recorded_index import (
    DamagedRecordingError,
    Index,
    merge,
    pack,
)
from presubmit.selector.recording import Ran

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

RUN = (
    Ran(context="session:", modules=("tests/conftest.py",), listed=("tests",)),
    Ran(context="collect:tests/test_a.py", modules=("pkg/a.py", "tests/test_a.py")),
    Ran(context="fixture:tests/conftest.py::db", functions={"pkg/a.py": ("connect",)}),
    Ran(
        context="test:tests/test_a.py::test_x",
        functions={"pkg/a.py": ("f", "C.m"), "tests/test_a.py": ("test_x",)},
        opened=("data/x.json",),
        uses=("fixture:tests/conftest.py::db",),
        seconds=0.5,
    ),
)


def index(*contexts: Ran, without: str = "") -> Index:
    rows = pack(contexts)

    def read(keys: Sequence[str]) -> Mapping[str, bytes]:
        return {key: rows[key] for key in keys if key in rows and key != without}

    return Index(read)


def names(found: Index, numbers: Sequence[int]) -> list[str]:
    return [found.contexts[number].context for number in numbers]


def test_a_function_gives_the_contexts_that_ran_it() -> None:
    found = index(*RUN)
    assert names(found, found.ran("pkg/a.py")["f"]) == ["test:tests/test_a.py::test_x"]


def test_a_file_that_nobody_ran_gives_nothing() -> None:
    assert index(*RUN).ran("pkg/b.py") == {}


def test_an_opened_file_gives_its_readers() -> None:
    found = index(*RUN)
    assert names(found, found.opened("data/x.json")) == ["test:tests/test_a.py::test_x"]


def test_a_listed_folder_gives_who_listed_it() -> None:
    found = index(*RUN)
    assert names(found, found.listed("tests")) == ["session:"]


def test_a_wide_context_gives_its_functions() -> None:
    found = index(*RUN)
    (number,) = found.ran("pkg/a.py")["connect"]
    assert found.functions_of(number) == {"pkg/a.py": ("connect",)}


def test_what_was_packed_comes_back_as_it_was() -> None:
    assert {ran.context: ran for ran in index(*RUN).all_contexts()}.keys() == {
        ran.context for ran in RUN
    }
    back = next(r for r in index(*RUN).all_contexts() if r.context.startswith("test:"))
    assert (back.functions, back.opened, back.uses, back.seconds) == (
        RUN[3].functions,
        RUN[3].opened,
        RUN[3].uses,
        RUN[3].seconds,
    )


def test_a_missing_row_is_damage_and_not_an_empty_one() -> None:
    found = index(*RUN, without="ran pkg/a.py")
    with pytest.raises(DamagedRecordingError):
        found.ran("pkg/a.py")


def test_a_missing_first_row_is_damage() -> None:
    with pytest.raises(DamagedRecordingError):
        index(*RUN, without="contexts")


@pytest.mark.parametrize("junk", [b"", b"junk", pack(RUN)["contexts"][:-3]])
def test_a_row_of_junk_is_damage(junk: bytes) -> None:
    with pytest.raises(DamagedRecordingError):
        Index(lambda keys: dict.fromkeys(keys, junk))


def test_a_row_that_names_contexts_that_are_not_there_is_damage() -> None:
    few, many = pack(RUN[:1]), pack(RUN)
    rows = {**many, "ran pkg/a.py": pack([*RUN, *more(50)])["ran pkg/a.py"]}
    assert few
    with pytest.raises(DamagedRecordingError):
        Index(lambda keys: {key: rows[key] for key in keys}).ran("pkg/a.py")


def more(count: int) -> list[Ran]:
    return [
        Ran(context=f"test:tests/test_a.py::a{number}", functions={"pkg/a.py": ("f",)})
        for number in range(count)
    ]


def test_a_name_that_is_not_utf_8_is_found_again() -> None:
    odd = "pkg/\udcff.py"
    found = index(Ran(context="test:t.py::x", functions={odd: ("f",)}))
    assert found.ran(odd)["f"] == (0,)


@pytest.mark.parametrize("left", [None, (), ("a.py::X",)])
def test_what_a_test_left_comes_back(left: tuple[str, ...] | None) -> None:
    found = index(Ran(context="test:t.py::x", left=left))
    assert found.all_contexts()[0].left == left
    assert found.contexts[0].may_leave is (left != ())


def test_a_newer_record_of_a_test_replaces_the_older() -> None:
    old = Ran(context="test:t.py::x", functions={"a.py": ("f",)}, outcome="failed")
    new = Ran(context="test:t.py::x", functions={"a.py": ("g",)})
    assert merge([old], [new]) == (new,)


def test_what_tests_share_is_joined() -> None:
    old = Ran(context="session:", functions={"a.py": ("f",)}, modules=("a.py",))
    new = Ran(context="session:", functions={"a.py": ("g",)}, open="forked")
    (found,) = merge([old], [new])
    assert (found.functions, found.modules, found.open) == (
        {"a.py": ("f", "g")},
        ("a.py",),
        "forked",
    )
