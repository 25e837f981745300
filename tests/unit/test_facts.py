from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pytest

from presubmit.config import BuildConfig, Config
from presubmit.errors import ConfigError
from presubmit.facts import (
    read_changed_definitions,
    read_facts,
    read_touched_tests,
    renamed_paths,
)
from presubmit.selector.layout import is_test, make_layout
from presubmit.values import (
    Base,
    Change,
    ChangedFile,
    FileStatus,
    Target,
    TargetKind,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from presubmit.plan import Facts
    from presubmit.trees import TreeReader

Files = dict[str, str]


class Texts:
    """A tree of texts, read as a TreeReader reads a commit; what was not wanted first cannot be read."""

    def __init__(self, files: Files) -> None:
        self.files = files
        self.blobs = {path: f"blob of {path}" for path in files}
        self.wanted: set[str] = set()

    def want(self, paths: Iterable[str]) -> None:
        self.wanted |= set(paths)

    def data(self, path: str) -> bytes | None:
        found = self.files.get(path)
        return None if found is None else found.encode()

    def text(self, path: str) -> str | None:
        return self.files.get(path)


def reader(files: Files) -> TreeReader:
    return cast("TreeReader", Texts(files))


def facts(files: Files, config: Config | None = None) -> Facts:
    layout = make_layout(tuple(files), files)
    return read_facts(reader(files), config or Config(), layout)


def changed(*files: ChangedFile) -> Change:
    return Change(
        top="/t",
        common_dir="/t/.git",
        branch=None,
        target=Target(kind=TargetKind.WORKTREE, commit=None, tree="t", snapshot="s"),
        base=Base(ref="main", commit="b", tree="u", how="test"),
        files=files,
    )


def modified(path: str) -> ChangedFile:
    return ChangedFile(path=path, status=FileStatus.MODIFIED)


# --- what a tree says of itself -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("files", "tool"),
    [
        ({".lintrunner.toml": "", ".pre-commit-config.yaml": "", "ruff.toml": ""}, "lintrunner"),
        ({".pre-commit-config.yaml": "", "ruff.toml": ""}, "pre-commit"),
        ({"ruff.toml": ""}, "ruff"),
        ({"pyproject.toml": "[tool.ruff]\nline-length = 99\n"}, "ruff"),
        ({"setup.cfg": "[flake8]"}, ""),
    ],
)
def test_the_lint_tool_is_the_projects_own_runner_else_ruff(files: Files, tool: str) -> None:
    assert facts(files).lint_tool == tool


def test_facts_are_gathered_from_the_projects_files() -> None:
    found = facts(
        {
            "pyproject.toml": "[project]\nname='x'\nrequires-python='>=3.9'\n"
            "[build-system]\nbuild-backend='b'\n[tool.pytest.ini_options]\n"
            "addopts='--doctest-modules'\n",
            "x.py": "",
        }
    )
    assert found.backend is not None
    assert (found.backend.name, found.floor, found.native, found.doctests) == (
        "b",
        "3.9",
        (),
        True,
    )
    assert found.blobs == {p: f"blob of {p}" for p in ("pyproject.toml", "x.py")}


def test_what_the_config_names_must_be_there() -> None:
    with pytest.raises(ConfigError, match="the extra `gpu`"):
        facts(
            {"pyproject.toml": "[project]\nname='x'\n"},
            Config(build=BuildConfig(extras=("gpu",))),
        )


# --- what a change defines ------------------------------------------------------------------------------------------

OLD = "def f(a):\n    return a\n\n\ndef _hidden():\n    pass\n"
NEW = "def f(a):\n    return a + 1\n\n\ndef _hidden():\n    return 1\n\n\ndef g():\n    pass\n"


def defined(change: Change, base: Files, head: Files) -> list[tuple[str, str]]:
    settings = make_layout(tuple(head), head).settings
    found = read_changed_definitions(change, reader(base), reader(head), settings)
    return [(one.path, one.qualname) for one in found if one.kind != "module"]


def test_public_definitions_that_changed_are_found() -> None:
    assert defined(changed(modified("x.py")), {"x.py": OLD}, {"x.py": NEW}) == [
        ("x.py", "f"),
        ("x.py", "g"),
    ]


def test_a_renamed_file_is_compared_with_its_old_name() -> None:
    file = ChangedFile(path="y.py", status=FileStatus.RENAMED, old_path="x.py")
    assert ("y.py", "g") in defined(changed(file), {"x.py": OLD}, {"y.py": NEW})
    assert renamed_paths(changed(file, modified("z.py"))) == {"x.py": "y.py"}


@pytest.mark.parametrize(
    "path",
    ["tests/test_x.py", "tests/helper.py", "docs/conf.py", "setup.py", "conftest.py", "x.txt"],
)
def test_what_users_do_not_import_is_not_checked(path: str) -> None:
    assert defined(changed(modified(path)), {path: OLD}, {path: NEW}) == []


def test_a_deleted_file_defines_nothing() -> None:
    file = ChangedFile(path="x.py", status=FileStatus.DELETED)
    assert defined(changed(file), {"x.py": OLD}, {}) == []


def touched(change: Change, base: Files, head: Files) -> frozenset[str]:
    settings = make_layout(tuple(head), head).settings
    return read_touched_tests(
        *(change, reader(base), reader(head)),
        lambda path: is_test(path, settings),
        functions=settings.python_functions,
    )


TEST_OLD = "class TestX:\n    def test_a(self): pass\n\n\ndef test_b(): pass\n"
TEST_NEW = "class TestX:\n    def test_a(self): f()\n\n\ndef test_b(): pass\n"


def test_tests_are_known_by_the_configured_names() -> None:
    path = "checks/check_x.py"
    ini = {"pytest.ini": "[pytest]\npython_files = check_*.py\npython_functions = check_*\n"}
    base = {path: "def check_a(): pass\n", **ini}
    head = {path: "def check_a(): f()\n", **ini}
    assert touched(changed(modified(path)), base, head) == {"checks/check_x.py::check_a"}


def test_a_test_whose_body_changed_is_touched() -> None:
    path = "tests/test_x.py"
    assert touched(changed(modified(path)), {path: TEST_OLD}, {path: TEST_NEW}) == {
        "tests/test_x.py::TestX::test_a"
    }


def test_every_test_of_a_new_file_is_touched() -> None:
    file = ChangedFile(path="test_x.py", status=FileStatus.ADDED)
    assert touched(changed(file), {}, {"test_x.py": TEST_OLD}) == {
        "test_x.py::TestX::test_a",
        "test_x.py::test_b",
    }


def test_sources_and_deleted_tests_touch_no_test() -> None:
    files = (modified("x.py"), ChangedFile(path="test_x.py", status=FileStatus.DELETED))
    assert touched(changed(*files), {"x.py": OLD, "test_x.py": TEST_OLD}, {"x.py": NEW}) == set()
