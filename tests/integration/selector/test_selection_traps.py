"""Kinds of change that selectors get wrong, in a real repository: what must be chosen, and no more."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from presubmit.reading import RunOptions, read_all, read_selection
from presubmit.selector import why_not
from presubmit.values import Mode, Selection
from tests.integration.selector.traps import FILES, TESTS

if TYPE_CHECKING:
    from tests.conftest import MakeRepo, Repo


@pytest.fixture
def project(make_repo: MakeRepo) -> Repo:
    return make_repo(FILES)


def selection_of(project: Repo, *, config: dict[str, object] | None = None) -> Selection:
    options = RunOptions(start=project.path, base="HEAD", config=config or {})
    selection, _ = read_selection(read_all(options, os.environ), "affected")
    return selection


def chosen(selection: Selection) -> list[str]:
    return sorted(test.path.removeprefix("tests/test_") for test in selection.tests)


def edit(project: Repo, path: str, old: str, new: str) -> None:
    text = FILES[path]
    assert old in text
    project.write({path: text.replace(old, new)})


@pytest.mark.parametrize(
    ("path", "old", "new", "wanted"),
    [
        ("src/pkg/text.py", "text.upper()", "text.title()", "text"),
        ("src/pkg/limits.py", "LIMIT = 3", "LIMIT = 1", "limits"),
        ("src/pkg/limits.py", "number < LIMIT", "number > LIMIT", "limits"),
        ("src/pkg/limits.py", "within(number)", "within(number, more=None)", "limits"),
        ("tests/cases.py", "(2, 2)", "(2, 3)", "cases"),
        ("tests/conftest.py", "{'a': 1}", "{}", "fixture"),
        ("support/fixtures.py", "12", "13", "plugin"),
        ("src/pkg/units.json", "1", "0", "data"),
        ("src/pkg/templates/page.html", "<p>", "<b>", "template"),
        ("src/pkg/templates/foot.html", "end", "fin", "template"),
        ("src/pkg/plugins/alpha.py", "'alpha'", "'beta'", "registry"),
        ("src/pkg/dispatch.py", "return 0", "return 1", "dispatch"),
        ("src/pkg/cli.py", "hello", "bye", "cli"),
        ("src/pkg/tool.py", "'tool'", "'tools'", "tool"),
        ("src/ns/part.py", "1", "0", "namespace"),
        ("src/pkg/service.py", "return 1", "return 3", "patch"),
        ("src/pkg/base.py", "+ 1", "+ 2", "base"),
        ("src/pkg/child.py", "5", "6", "base"),
        ("src/pkg/hub/left.py", "'l'", "'m'", "left"),
    ],
    ids=[
        "function body",
        "module constant",
        "function of a constant",
        "signature",
        "parametrize data module",
        "conftest fixture body",
        "fixture in a plugin module",
        "data file",
        "template read at import",
        "template that a template includes",
        "import of a computed name",
        "getattr dispatch",
        "only run in a subprocess",
        "only run as a console script",
        "namespace package",
        "name patched by string",
        "base class method",
        "overriding method",
        "through a hub",
    ],
)
def test_an_edit_chooses_the_test_that_it_can_break(
    project: Repo, path: str, old: str, new: str, wanted: str
) -> None:
    edit(project, path, old, new)
    selection = selection_of(project)
    assert chosen(selection) == [f"{wanted}.py"]
    assert all(test.reasons[0].chain for test in selection.tests)


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("README.md", "# pkg", "# The package"),
        ("LICENSE", "free", "freer"),
        ("src/pkg/text.py", "def shout", "# Loud.\ndef shout"),
        ("src/pkg/text.py", "return text.upper()", "return (\n        text.upper()\n    )"),
        ("src/pkg/text.py", "Make it loud.", "Make it very loud."),
        ("src/pkg/__init__.py", "A package.", "The package."),
        ("tests/test_text.py", "def test", "# Why not?\ndef test"),
        ("tests/conftest.py", "import pytest\n", "# Fixtures.\nimport pytest\n"),
        ("conftest.py", "pytest_plugins", "# Plugins.\npytest_plugins"),
    ],
)
def test_a_quiet_edit_chooses_nothing(project: Repo, path: str, old: str, new: str) -> None:
    edit(project, path, old, new)
    selection = selection_of(project)
    assert (selection.mode, selection.tests) == (Mode.NONE, ())
    assert {it.path for it in selection.left_out} == set(TESTS)


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("requirements.txt", "pytest", "pytest>=8"),
        ("src/pkg/_speed.c", "return 1", "return 2"),
        ("pyproject.toml", "testpaths", "filterwarnings = ['error']\ntestpaths"),
        ("conftest.py", "]", ", 'support']"),
    ],
    ids=["requirements.txt", "C source", "pytest config", "root conftest"],
)
def test_what_acts_on_every_test_chooses_all(project: Repo, path: str, old: str, new: str) -> None:
    edit(project, path, old, new)
    selection = selection_of(project)
    assert selection.mode is Mode.ALL
    assert len(selection.tests) == len(TESTS)


@pytest.mark.parametrize(
    ("path", "text", "wanted"),
    [
        ("tests/test_new.py", "def test(): ...\n", "new"),
        ("src/pkg/_fast.py", "def f():\n    return 0\n", "speedups"),
        ("src/pkg/commands/second.py", "NAME = 'second'\n", "walk"),
    ],
    ids=["new test file", "new module caught by try", "new module found by a walk"],
)
def test_a_new_file_chooses_what_finds_it(
    project: Repo, path: str, text: str, wanted: str
) -> None:
    project.write({path: text})
    assert chosen(selection_of(project)) == [f"{wanted}.py"]


def test_a_deleted_module_chooses_its_lazy_importer(project: Repo) -> None:
    (project.path / "src/pkg/legacy.py").unlink()
    assert chosen(selection_of(project)) == ["legacy.py"]


def test_a_renamed_module_chooses_importers_of_the_old_name(project: Repo) -> None:
    (project.path / "src/pkg/shapes.py").rename(project.path / "src/pkg/forms.py")
    assert chosen(selection_of(project)) == ["shapes.py"]


def test_a_deleted_test_chooses_nothing(project: Repo) -> None:
    (project.path / "tests/test_text.py").unlink()
    selection = selection_of(project)
    assert (selection.mode, selection.tests) == (Mode.NONE, ())


def test_a_changed_mode_or_a_new_link_chooses_all(project: Repo) -> None:
    (project.path / "src/pkg/text.py").chmod(0o755)
    assert selection_of(project).mode is Mode.ALL
    (project.path / "src/pkg/text.py").unlink()
    (project.path / "src/pkg/text.py").symlink_to("limits.py")
    assert selection_of(project).mode is Mode.ALL


def test_a_file_that_cannot_be_parsed_chooses_all(project: Repo) -> None:
    edit(project, "src/pkg/text.py", "def shout", "def shout(")
    selection = selection_of(project)
    assert selection.mode is Mode.ALL
    assert "src/pkg/text.py cannot be parsed" in selection.unsure[0]


def test_an_import_time_edit_chooses_every_importer(project: Repo) -> None:
    edit(project, "src/pkg/hub/left.py", "def left", "import json\n\n\ndef left")
    assert chosen(selection_of(project)) == ["left.py", "right.py"]


def test_a_removed_function_chooses_every_importer(project: Repo) -> None:
    edit(project, "src/pkg/hub/left.py", "def left", "def gone")
    assert chosen(selection_of(project)) == ["left.py", "right.py"]


def test_a_function_that_no_test_leads_to_chooses_every_importer(project: Repo) -> None:
    edit(project, "src/pkg/text.py", "text.lower()", "text")
    selection = selection_of(project)
    assert chosen(selection) == ["text.py"]
    assert "no name in a test leads to" in selection.tests[0].reasons[0].text


def test_what_is_left_out_says_why(project: Repo) -> None:
    edit(project, "src/pkg/hub/left.py", "'l'", "'m'")
    selection = selection_of(project)
    (reason,) = why_not(selection, "tests/test_right.py")
    assert reason.rule == "names"
    assert reason.text == (
        "imports src/pkg/hub/left.py, but no name in it leads to left, which changed there"
    )
    (reason,) = why_not(selection, "tests/test_text.py")
    assert reason.text == "neither imports nor names a changed file"
    assert why_not(selection, "tests/test_left.py") == ()


def test_the_reason_names_the_functions_between(project: Repo) -> None:
    edit(project, "src/pkg/service.py", "return 1", "return 3")
    (test,) = selection_of(project).tests
    assert test.reasons[0].rule == "names"
    assert test.reasons[0].chain[0] == "src/pkg/service.py::helper"
    assert test.reasons[0].chain[-1] == "tests/test_patch.py"


@pytest.mark.parametrize(
    ("said", "wanted"),
    [("none", None), ("all", [test.removeprefix("tests/test_") for test in TESTS]),
     ("tests/test_t*.py", ["template.py", "text.py", "tool.py"])],
)  # fmt: skip
def test_a_rule_of_the_users_own_wins(project: Repo, said: str, wanted: list[str] | None) -> None:
    edit(project, "src/pkg/units.json", "1", "2")
    selection = selection_of(project, config={"tests.rules": {"*.json": said}})
    assert chosen(selection) == (wanted or [])
    assert (selection.mode is Mode.NONE) == (wanted is None)


def test_warm_and_cold_choices_are_the_same(project: Repo) -> None:
    edit(project, "src/pkg/hub/left.py", "'l'", "'m'")
    assert selection_of(project) == selection_of(project)
