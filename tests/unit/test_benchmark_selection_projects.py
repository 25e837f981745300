"""The projects and tools of the selection trials."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from benchmarks.selection import report, run
from benchmarks.selection.adapters import closure, gerenuk
from benchmarks.selection.projects import read_projects

if TYPE_CHECKING:
    from pathlib import Path


def test_every_project_is_pinned_and_names_what_is_mutated() -> None:
    projects = read_projects()

    assert set(projects) == {
        *("attrs", "tomlkit", "marshmallow", "jinja2"),
        *("itsdangerous", "networkx", "markupsafe", "msgpack"),
    }
    for project in projects.values():
        assert re.fullmatch(r"\d+(\.\d+)+", project.version)
        assert project.sources
        assert project.tests
        assert bool(project.native) == bool(project.build)


@pytest.mark.parametrize("tool", run.TOOLS)
def test_every_tool_has_an_adapter_that_pins_it(tool: str) -> None:
    adapter = run.adapter_of(tool)

    assert all("==" in text or text == "ty" for text in adapter.REQUIREMENTS)
    assert callable(adapter.prepare)
    assert callable(adapter.select)


def test_the_bars_judge_tools_that_exist() -> None:
    assert {report.STATIC, report.RECORDED, "closure", "testmon"} <= set(run.TOOLS)


def test_a_small_trial_has_a_native_project() -> None:
    projects = read_projects()
    few = str(run.FEW["projects"]).split(",")

    assert any(projects[name].native for name in few)


def test_closure_knows_a_file_by_every_name_it_may_be_imported_by() -> None:
    assert set(closure._names("src/pkg/a.py")) == {"src.pkg.a", "pkg.a", "a"}
    assert set(closure._names("pkg/__init__.py")) == {"pkg"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import pkg.sub.b", {"pkg/__init__.py", "pkg/sub/b.py"}),
        ("from .sub import b", {"pkg/__init__.py", "pkg/sub/b.py"}),
        ("from . import c", {"pkg/__init__.py", "pkg/c.py"}),
        ("def f():\n    from pkg import c", {"pkg/__init__.py", "pkg/c.py"}),
        ("import other", set()),
        ("def (", set()),
    ],
)
def test_closure_follows_imports_wherever_they_stand(
    tmp_path: Path, text: str, expected: set[str]
) -> None:
    files = ("pkg/__init__.py", "pkg/a.py", "pkg/c.py", "pkg/sub/b.py")
    modules = {name: path for path in files for name in closure._names(path)}
    (tmp_path / "a.py").write_text(text)

    assert set(closure._imported(tmp_path / "a.py", "pkg/a.py", modules)) == expected


def test_a_test_file_depends_on_the_conftests_above_it(tmp_path: Path) -> None:
    modules = {"conftest": "conftest.py", "tests.conftest": "tests/conftest.py"}
    (tmp_path / "test_a.py").write_text("")

    found = set(closure._imported(tmp_path / "test_a.py", "tests/test_a.py", modules))

    assert found == {"conftest.py", "tests/conftest.py"}


def test_gerenuks_symbols_become_ids_of_pytest() -> None:
    test = {"file": "tests/test_a.py", "symbol": "tests.test_a:TestB.test_c"}

    assert gerenuk._id(test) == "tests/test_a.py::TestB::test_c"
