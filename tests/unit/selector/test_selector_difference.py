from __future__ import annotations

import pytest

from presubmit.selector.difference import Difference, compare
from presubmit.selector.shape import MODULE, read_shape

SOURCE = '''\
"""A module."""
import os

LIMIT = 3


def f(x: int = 1) -> int:
    """Docs of f."""
    return x + LIMIT


class C(object):
    """Docs of C."""

    size = 2

    @property
    def m(self):
        return self.size
'''


def difference(old: str, new: str) -> Difference:
    assert old in SOURCE
    edited = SOURCE.replace(old, new)
    return compare(read_shape(SOURCE.encode()), read_shape(edited.encode()))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("import os\n", "# why\nimport os  # that\n"),
        ("return x + LIMIT", "return (\n        x + LIMIT\n    )"),
        ("LIMIT = 3", "LIMIT = (3)\n"),
    ],
)
def test_comments_and_layout_are_no_difference(old: str, new: str) -> None:
    found = difference(old, new)
    assert found == Difference()
    assert found.quiet


@pytest.mark.parametrize(
    ("old", "name"), [("A module.", MODULE), ("Docs of f.", "f"), ("Docs of C.", "C")]
)
def test_docstrings_are_a_quiet_difference(old: str, name: str) -> None:
    found = difference(old, "Other words.")
    assert found == Difference(docstrings=(name,))
    assert found.quiet


@pytest.mark.parametrize(
    ("old", "new", "name"),
    [
        ("return x + LIMIT", "return x", "f"),
        ("LIMIT = 3", "LIMIT = 4", "LIMIT"),
        ("x: int = 1", "x: int = 1, y=None", "f"),
        ("size = 2", "size = 3", "C.size"),
        ("return self.size", "return 0", "C.m"),
    ],
)
def test_what_runs_later_is_a_body(old: str, new: str, name: str) -> None:
    found = difference(old, new)
    assert found == Difference(bodies=(name,))
    assert not found.quiet


@pytest.mark.parametrize(
    ("old", "new", "names"),
    [
        ("import os", "import sys", {MODULE}),
        ("C(object)", "C(dict)", {"C"}),
        ("    @property\n", "", {"C.m"}),
        ("= 1) -> int", "= g()) -> int", {"f"}),
        ("LIMIT = 3", "LIMIT = g()", {"LIMIT", MODULE}),
        ("def f", "def g", {"f", "g"}),
    ],
)
def test_what_runs_at_import_is_told_apart(old: str, new: str, names: set[str]) -> None:
    found = difference(old, new)
    assert set(found.at_import) == names
    assert not found.quiet


def test_a_file_of_one_side_is_all_import_time() -> None:
    shape = read_shape(SOURCE.encode())
    names = [element.qualname for element in shape.elements]
    assert compare(None, shape).at_import == tuple(names)
    assert compare(shape, None).at_import == tuple(names)
    assert compare(None, None) == Difference()


def test_a_side_that_cannot_be_parsed_is_never_quiet() -> None:
    good, broken = read_shape(b"x = 1"), read_shape(b"def (")
    for pair in ((good, broken), (broken, good), (broken, broken)):
        found = compare(*pair)
        assert found.problem
        assert not found.quiet


@pytest.mark.parametrize(
    "old",
    [
        "def test_a(): S['v'] = 1\ndef test_b(): assert S['v']\n",
        "class E:\n    b = 1\n    c = 2\n",
        "class C:\n    def s_b(self): ...\n    def s_a(self): ...\n",
    ],
)
def test_another_order_shows_at_import(old: str) -> None:
    """In the order of tests, of an enum's members, of `vars()`."""
    lines = old.splitlines(keepends=True)
    new = "".join([*lines[:-2], lines[-1], lines[-2]])
    found = compare(read_shape(old.encode()), read_shape(new.encode()))
    assert found == Difference(at_import=(MODULE,))
    assert not found.quiet


def test_an_added_definition_does_not_count_as_another_order() -> None:
    old, new = b"def f(): ...\ndef g(): ...\n", b"def f(): ...\ndef new(): ...\ndef g(): ...\n"
    assert compare(read_shape(old), read_shape(new)) == Difference(at_import=("new",))
