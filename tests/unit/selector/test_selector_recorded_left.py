from __future__ import annotations

import pytest

from presubmit.selector.recorded_index import Index, pack
from presubmit.selector.recorded_left import Left
from presubmit.selector.recording import Ran

TEST = "tests/test_a.py::x"


class Classes:
    """Knows that a Shelf is a Box."""

    def classes(self, owner: tuple[str, str]) -> set[tuple[str, str]]:
        return {owner, ("b.py", "Shelf")} if owner == ("a.py", "Box") else {owner}


def borne_out(
    element: str, why: str, *left: str, context: str = f"test:{TEST}", known: bool = True
) -> str:
    """Give the reasons that stand where one context ran an element and left this."""
    rows = pack([Ran(context=context, left=left if known else None)])
    found = Left(Index(lambda keys: {key: rows[key] for key in keys if key in rows}), Classes())
    path, _, name = element.partition("::")
    return found.borne_out((path, name), why, [0])


@pytest.mark.parametrize(
    ("element", "why", "left"),
    [
        ("a.py::f", "may write the global TABLE", "a.py::TABLE"),
        ("a.py::f", "may write the global TABLE", "a.py::TABLE.part"),
        ("a.py::f", "may write the global b.py::TABLE", "b.py::TABLE"),
        ("a.py::Box.add", "may write the global Box.kinds", "a.py::Box.kinds"),
        ("a.py::Box.add", "may write the global Box.kinds", "a.py::Box"),
        ("a.py::Box.add", "may write the global Box.items", "a a.py::Box"),
        ("a.py::Box.add", "writes to a Box", "a a.py::Box"),
        ("a.py::Box.add", "writes to a Box that lives as long as its module", "a b.py::Shelf"),
        ("a.py::f", "decorated with lru_cache", "a.py::f"),
        ("a.py::Box.all", "decorated with lru_cache", "a.py::Box.all"),
        ("a.py::f", "shares the default of known", "a.py::f"),
        ("a.py::f", "writes globals of its module", "a.py::anything"),
        ("a.py::f", "is not among the elements that were read", "b.py::other"),
    ],
)
def test_a_reason_stands_where_it_was_left(element: str, why: str, left: str) -> None:
    assert borne_out(element, why, left) == why


@pytest.mark.parametrize(
    ("element", "why", "left"),
    [
        ("a.py::f", "may write the global TABLE", "a.py::TABLES"),
        ("a.py::f", "may write the global TABLE", "b.py::TABLE"),
        ("a.py::Box.add", "writes to a Box", "a c.py::Box"),
        ("a.py::Box.add", "writes to a Box", "a.py::Box"),
        ("a.py::f", "decorated with lru_cache", "a.py::g"),
        ("a.py::f", "shares the default of known", "a.py::g"),
        ("a.py::f", "writes globals of its module", "b.py::anything"),
    ],
)
def test_a_reason_falls_where_something_else_was_left(element: str, why: str, left: str) -> None:
    assert borne_out(element, why, left) == ""


def test_a_reason_falls_where_nothing_was_left() -> None:
    assert borne_out("a.py::Box.add", "writes to a Box; may write the global TABLE") == ""


def test_what_surely_writes_a_global_may_just_have_put_it_back() -> None:
    # On head it may not come to that any more.
    why = "writes the global STATE; writes to a Box"
    assert borne_out("a.py::Box.add", why) == "writes the global STATE"


def test_where_it_is_not_known_what_was_left_all_reasons_stand() -> None:
    assert borne_out("a.py::Box.add", "writes to a Box", known=False) == "writes to a Box"


def test_only_of_tests_is_it_known() -> None:
    for context in ("session:", "collect:tests/test_a.py", "fixture:conftest.py::shared"):
        assert borne_out("a.py::Box.add", "writes to a Box", context=context) == "writes to a Box"


@pytest.mark.parametrize("name", ["os.environ", "contextvars", "context variable", "module pkg"])
def test_where_more_than_the_projects_objects_changed_all_reasons_stand(name: str) -> None:
    assert borne_out("a.py::Box.add", "writes to a Box", name) == "writes to a Box"


def test_what_a_shared_fixture_made_is_known_by_its_class() -> None:
    left = ("fixture:conftest.py::box", "a a.py::Box")
    assert borne_out("a.py::Box.add", "writes to a Box", *left) == "writes to a Box"
    assert borne_out("a.py::Page.add", "writes to a Page", *left) == ""


def test_what_is_kept_with_a_test_is_nothing_to_others() -> None:
    why = "decorated with given"
    assert borne_out("tests/test_a.py::x", why, "tests/test_a.py::x") == ""
    assert borne_out("tests/test_a.py::y", why, "tests/test_a.py::y") == why
