"""Which part of a change recorded runs answer for."""

from __future__ import annotations

import pytest

from presubmit.selector import make_scene
from presubmit.selector.recorded_index import Index, pack
from presubmit.selector.recorded_scene import divide
from presubmit.selector.recording import Ran
from tests.unit.selector.test_selector_select import make_tree, modified

DATA = "tests/data/x.txt"
FILES = {
    "src/pkg/__init__.py": "",
    DATA: "",
    "tests/test_a.py": "def test_one(): open('data/x.txt')\ndef test_two(): open('data/x.txt')",
    "tests/test_b.py": "def test_other(): pass",
}


def index(*opened: bool) -> Index:
    """Give a recorded run: for each test whether it opened the file."""
    rows = pack(
        Ran(context=f"test:tests/test_a.py::t{number}", opened=(DATA,) if it else ())
        for number, it in enumerate(opened)
    )
    return Index(lambda keys: {key: rows[key] for key in keys if key in rows})


@pytest.mark.parametrize(
    ("indexes", "answered"),
    [
        ([index(True, True, False)], True),
        (
            [index(True, True), index(False)],
            True,
        ),  # a run of some tests says nothing of the others
        ([index(True, True), index(False), index(True, True)], True),
        ([index(False, False)], False),  # nobody was seen to read it: it goes by its name
        ([], False),
    ],
)
def test_a_data_file_is_answered_for_by_the_runs_in_which_it_was_read(
    indexes: list[Index], answered: bool
) -> None:
    change = modified(DATA)
    changed = divide(change.files, make_scene(change, make_tree(FILES), {}), indexes)
    assert [it.path for it in changed.rest] == ([] if answered else [DATA])
    assert changed.paths == {DATA}
