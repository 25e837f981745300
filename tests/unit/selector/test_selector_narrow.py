"""Edits of which both sides are known: quiet ones, bodies that names lead to, docstrings that something reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from presubmit.selector import select
from presubmit.values import Mode, Selection
from tests.unit.selector import changes
from tests.unit.selector.changes import chosen, tree_after

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from presubmit.selector.narrow import Reached

HUB = {
    "pkg/__init__.py": "from pkg.a import f, g",
    "pkg/a.py": 'LIMIT = 1\n\n\ndef f():\n    """Old."""\n    return LIMIT\n\n\ndef g():\n    return 2\n',
    "tests/test_f.py": "from pkg import f\n\ndef test(): f()",
    "tests/test_g.py": "from pkg import g\n\ndef test(): g()",
    "tests/test_other.py": "import json",
}


def select_after(
    edits: dict[str, str], files: dict[str, str] = HUB, *, unsure: str = ""
) -> Selection:
    change, tree = tree_after(edits, files)
    if unsure:
        return select(change, tree, make_names=lambda *_: _Unsure(unsure))
    return select(change, tree)


class _Unsure:
    """Names that cannot be trusted."""

    def __init__(self, why: str) -> None:
        self.files: dict[str, tuple[str, ...]] = {"tests/test_f.py": ("pkg/a.py::f",)}
        self.at_import: dict[str, tuple[str, ...]] = {}
        self.importing: dict[str, tuple[str, ...]] = {}
        self.unsure = (why,)

    def reach(self, changed: Mapping[str, Collection[str]]) -> Reached:
        del changed
        return self


def edited(
    old: str, new: str, path: str = "pkg/a.py", files: dict[str, str] = HUB
) -> dict[str, str]:
    return changes.edited(old, new, path, files)


# --- bodies -----------------------------------------------------------------------------------------------------------


def test_a_hub_does_not_make_every_body_reach_every_test() -> None:
    assert chosen(select_after(edited("return 2", "return 3"))) == ["g.py"]
    assert chosen(select_after(edited("return LIMIT", "return 0"))) == ["f.py"]


def test_a_constant_reaches_the_tests_of_what_uses_it() -> None:
    selection = select_after(edited("LIMIT = 1", "LIMIT = 2"))
    assert chosen(selection) == ["f.py"]
    assert selection.tests[0].reasons[0].chain == (
        "pkg/a.py::LIMIT",
        "pkg/a.py::f",
        "pkg/__init__.py::f",
        "tests/test_f.py",
    )


def test_two_bodies_reach_the_tests_of_both() -> None:
    edits = edited("return 2", "return 3")
    edits["pkg/a.py"] = edits["pkg/a.py"].replace("return LIMIT", "return 0")
    assert chosen(select_after(edits)) == ["f.py", "g.py"]


def test_an_import_time_edit_reaches_every_importer() -> None:
    assert chosen(select_after(edited("LIMIT = 1", "LIMIT = int()"))) == ["f.py", "g.py"]


def test_names_that_cannot_be_trusted_leave_every_importer() -> None:
    selection = select_after(edited("return 2", "return 3"), unsure="odd code")
    assert chosen(selection) == ["f.py", "g.py"]
    assert selection.tests[0].reasons[0].text.endswith("(odd code)")


def test_an_object_that_is_handed_on_reaches_who_calls_it() -> None:
    files = HUB | {
        "pkg/a.py": "class A:\n    def go(self): return 1\n",
        "pkg/__init__.py": "",
        "pkg/driver.py": "def drive(it): return it.go()",
        "tests/test_f.py": "from pkg.a import A\nfrom pkg.driver import drive\ndef test(): drive(A())",
        "tests/test_g.py": "from pkg.a import A\ndef test(): A",
    }
    edits = edited("return 1", "return 2", files=files)
    assert "f.py" in chosen(select_after(edits, files))


def test_a_change_of_both_kinds_keeps_the_wider_answer() -> None:
    edits = edited("return 2", "return 3") | {"pkg/__init__.py": "from pkg.a import f, g\nX = [f]"}
    assert chosen(select_after(edits)) == ["f.py", "g.py"]


# --- comments --------------------------------------------------------------------------------------------------------


def test_a_comment_chooses_the_tests_that_read_sources_as_text() -> None:
    walker = "import pathlib, pkg\ndef test():\n    for it in pathlib.Path('pkg').rglob('*.py'): it.open()"
    files = HUB | {"tests/test_style.py": walker}
    assert chosen(select_after(edited("return 2", "return 2  # two"), files)) == ["style.py"]


def test_a_test_that_builds_code_says_so() -> None:
    files = HUB | {"tests/test_exec.py": "from pkg import f\ndef test(): exec(''.join(f()))"}
    selection = select_after(edited("return 2", "return 3"), files)
    texts = {test.path: test.reasons[0].text for test in selection.tests}
    assert texts["tests/test_exec.py"] == "runs code that it builds"


# --- fixtures ---------------------------------------------------------------------------------------------------------

FIXTURES = {
    "conftest.py": (
        "import pytest\n\n@pytest.fixture\ndef one(): return 1\n\n"
        "@pytest.fixture(autouse=True)\ndef each(): return 2\n\n"
        "@pytest.fixture\ndef two(one): return one\n"
    ),
    "tests/test_f.py": "def test(two): ...",
    "tests/test_g.py": "def test(): ...",
}


def test_a_fixture_of_the_root_reaches_those_that_ask_for_it() -> None:
    edits = edited("return 1", "return 3", "conftest.py", FIXTURES)
    assert chosen(select_after(edits, FIXTURES)) == ["f.py"]


def test_an_autouse_fixture_reaches_every_test_below() -> None:
    edits = edited("return 2", "return 3", "conftest.py", FIXTURES)
    assert chosen(select_after(edits, FIXTURES)) == ["f.py", "g.py"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("import pytest\n", "import pytest, os\n"),
        ("def two(one)", "def three(one)"),
        ("(autouse=True)", "(autouse=True, scope='session')"),
    ],
)
def test_what_else_changes_in_the_root_conftest_chooses_all(old: str, new: str) -> None:
    selection = select_after(edited(old, new, "conftest.py", FIXTURES), FIXTURES)
    assert selection.mode is Mode.ALL


def test_a_hook_of_the_root_conftest_chooses_all() -> None:
    files = FIXTURES | {"conftest.py": "def pytest_runtest_setup(item): return 1"}
    selection = select_after({"conftest.py": "def pytest_runtest_setup(item): return 2"}, files)
    assert selection.mode is Mode.ALL


def test_a_helper_beside_a_hook_of_the_session_chooses_all() -> None:
    files = FIXTURES | {
        "conftest.py": "def pytest_configure(config): helper()\ndef helper(): return 1"
    }
    selection = select_after(edited("return 1", "return 2", "conftest.py", files), files)
    assert selection.mode is Mode.ALL


# --- data -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "reader",
    [
        "open('page.html')",
        "open(f'{name}.html')",
        "open(os.path.join(here, 'views', name))",
        "import glob\nglob.glob('*.html')",
        "import os\nos.listdir(here)",
        "from importlib.resources import files\nfiles(__package__)",
        "import pkgutil\npkgutil.get_data(__name__, name)",
    ],
)
def test_a_data_file_reaches_the_tests_of_what_may_read_it(reader: str) -> None:
    files = HUB | {
        "pkg/__init__.py": "",
        "pkg/views/page.html": "",
        "pkg/b.py": reader,
        "tests/test_b.py": "import pkg.b",
    }
    assert chosen(select_after({"pkg/views/page.html": "<p>"}, files)) == ["b.py"]


def test_a_template_that_another_one_includes_reaches_the_readers_of_both() -> None:
    files = HUB | {
        "pkg/__init__.py": "",
        "pkg/views/page.html": "{% extends 'base.html' %}",
        "pkg/views/base.html": "",
        "pkg/b.py": "render('page.html')",
        "pkg/c.py": "render('base.html')",
        "tests/test_b.py": "import pkg.b",
        "tests/test_c.py": "import pkg.c",
    }
    selection = select_after({"pkg/views/base.html": "<p>"}, files)
    assert chosen(selection) == ["b.py", "c.py"]
    chains = {test.path: test.reasons[0].chain for test in selection.tests}
    assert chains["tests/test_b.py"] == (
        "pkg/views/base.html",
        "pkg/views/page.html",
        "pkg/b.py",
        "tests/test_b.py",
    )


def test_a_data_file_that_nothing_names_reaches_the_importers_of_its_package() -> None:
    files = HUB | {"pkg/__init__.py": "", "pkg/odd.csv": ""}
    selection = select_after({"pkg/odd.csv": "1"}, files)
    assert chosen(selection) == ["f.py", "g.py"]
    assert {test.reasons[0].rule for test in selection.tests} == {"package"}


def test_test_data_that_nothing_names_reaches_the_tests_around_it() -> None:
    files = HUB | {"tests/sub/data/x.csv": "", "tests/sub/test_sub.py": ""}
    selection = select_after({"tests/sub/data/x.csv": "1"}, files)
    assert [test.path for test in selection.tests] == ["tests/sub/test_sub.py"]
    above = select_after({"tests/y.csv": "1"}, files | {"tests/y.csv": ""})
    assert len(above.tests) == above.known == 4


@pytest.mark.parametrize(
    "builder",
    [
        {"CMakeLists.txt": "generate(ops.yaml)"},
        {"sub/meson.build": "custom_target(input: 'ops.yaml')"},
        {"tools/gen.py": "open('ops.yaml')"},
    ],
)
def test_data_of_which_code_may_be_made_chooses_all(builder: dict[str, str]) -> None:
    files = HUB | {"pkg/ops.yaml": "", "tests/test_b.py": "open('ops.yaml')"} | builder
    assert select_after({"pkg/ops.yaml": "x"}, files).mode is Mode.ALL


def test_names_do_not_narrow_where_the_configuration_gives_all_tests_a_fixture() -> None:
    files = HUB | {"pytest.ini": "[pytest]\nusefixtures = thing\n"}
    found = select_after({"pkg/a.py": HUB["pkg/a.py"].replace("return LIMIT", "return 3")}, files)
    assert {test.path for test in found.tests} == {"tests/test_f.py", "tests/test_g.py"}
