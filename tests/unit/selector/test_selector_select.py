"""The traps of selection: each a small tree, a change, and the test files that must be chosen."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import pytest

from presubmit.selector import RULES, Tree, imports_of, make_scene, select
from presubmit.values import Change, ChangedFile, FileStatus, Mode, Selection
from tests.unit.selector.changes import make_change

if TYPE_CHECKING:
    from presubmit.selector import Tests

MODIFIED, ADDED, DELETED = FileStatus.MODIFIED, FileStatus.ADDED, FileStatus.DELETED


def modified(*paths: str) -> Change:
    return make_change(*(ChangedFile(path=path, status=MODIFIED) for path in paths))


def added(path: str) -> Change:
    return make_change(ChangedFile(path=path, status=ADDED))


def deleted(path: str) -> Change:
    return make_change(ChangedFile(path=path, status=DELETED))


def renamed(old: str, new: str) -> Change:
    return make_change(ChangedFile(path=new, status=FileStatus.RENAMED, old_path=old))


def make_tree(
    files: dict[str, str],
    *,
    base: dict[str, str] | None = None,
    links: dict[str, str] | None = None,
) -> Tree:
    return Tree(
        paths=tuple(sorted(files)),
        imports={p: imports_of(p, s.encode()) for p, s in files.items() if p.endswith(".py")},
        base_imports={p: imports_of(p, s.encode()) for p, s in (base or {}).items()},
        configs={p: s for p, s in files.items() if p.endswith((".toml", ".cfg", ".ini"))},
        links=links or {},
    )


PROJECT = {
    "src/pkg/__init__.py": "",
    "src/pkg/a.py": "def f(): return 1",
    "src/pkg/b.py": "from pkg.a import f",
    "src/pkg/lonely.py": "x = 1",
    "tests/test_a.py": "from pkg.a import f",
    "tests/test_b.py": "import pkg.b",
    "tests/test_other.py": "import json",
    "README.md": "",
}


def chosen(selection: Selection) -> list[str]:
    return sorted(test.path for test in selection.tests)


def pick(change: Change, files: dict[str, str], *, tests: Tests = "affected") -> list[str]:
    selection = select(change, make_tree(files), tests=tests)
    assert selection.mode is Mode.SCOPED, selection.why
    return chosen(selection)


def choose_all(change: Change, files: dict[str, str]) -> Selection:
    selection = select(change, make_tree(files))
    assert selection.mode is Mode.ALL, selection.why
    assert len(selection.tests) == selection.known
    return selection


# --- the import closure ---------------------------------------------------------------------------------------------


def test_a_changed_module_chooses_its_importers_at_any_depth() -> None:
    selection = select(modified("src/pkg/a.py"), make_tree(PROJECT))
    assert chosen(selection) == ["tests/test_a.py", "tests/test_b.py"]
    assert selection.known == 3
    chains = {test.path: test.reasons[0].chain for test in selection.tests}
    assert chains["tests/test_b.py"] == ("src/pkg/a.py", "src/pkg/b.py", "tests/test_b.py")
    assert [test.rank for test in selection.tests] == [0, 1]
    assert selection.why == "2 of 3 test files depend on the change"


def test_every_test_of_a_package_runs_its_init() -> None:
    files = PROJECT | {"src/pkg/__init__.py": "from pkg.lonely import x"}
    assert pick(modified("src/pkg/lonely.py"), files) == ["tests/test_a.py", "tests/test_b.py"]


def test_an_inner_init_runs_for_a_deep_import() -> None:
    files = {
        "pkg/__init__.py": "",
        "pkg/sub/__init__.py": "import pkg.side",
        "pkg/sub/mod.py": "",
        "pkg/side.py": "",
        "tests/test_x.py": "import pkg.sub.mod",
        "tests/test_y.py": "import pkg",
    }
    assert pick(modified("pkg/side.py"), files) == ["tests/test_x.py"]


def test_relative_imports_and_the_tests_own_package_are_followed() -> None:
    files = {
        "tests/__init__.py": "",
        "tests/helpers/__init__.py": "",
        "tests/helpers/data.py": "CASES = [1]",
        "tests/test_x.py": "from .helpers.data import CASES",
        "tests/test_y.py": "",
    }
    assert pick(modified("tests/helpers/data.py"), files) == ["tests/test_x.py"]


@pytest.mark.parametrize(
    "source",
    [
        "def test(): import pkg.lonely",
        "try:\n    import pkg.lonely\nexcept ImportError: pass",
        "from importlib import import_module\nimport_module('pkg.lonely')",
        "import_module(f'pkg.{name}')",
        "import_module(f'pkg.lo{name}')",
        "def test(monkeypatch): monkeypatch.setattr('pkg.lonely.x', 2)",
        "import subprocess, sys\nsubprocess.run([sys.executable, '-m', 'pkg.lonely'])",
        "import subprocess\nsubprocess.run(['python', 'src/pkg/lonely.py'])",
        "import pkg\npkg.lonely.x",
        "from pkg import *",
        "import pkgutil, pkg\npkgutil.walk_packages(pkg.__path__)",
        "import os, pkg\nos.listdir(os.path.dirname(pkg.__file__))",
        "import importlib, pkg\nimportlib.import_module(name)",
        "NAMES = ['pkg.lonely']",
        "pytest_plugins = ['pkg.lonely']",
        "pytester.makepyfile('''\n    from pkg import lonely\n''')",
        "broken(:\nfrom pkg import lonely",
    ],
)
def test_every_way_to_reach_a_module_chooses_the_test(source: str) -> None:
    files = PROJECT | {"tests/test_reach.py": source}
    assert "tests/test_reach.py" in pick(modified("src/pkg/lonely.py"), files)


def test_a_namespace_package_is_reached() -> None:
    files = {
        "src/ns/part/mod.py": "",
        "tests/test_x.py": "from ns.part import mod",
        "tests/test_y.py": "",
    }
    assert pick(modified("src/ns/part/mod.py"), files) == ["tests/test_x.py"]


def test_a_module_on_a_path_that_a_hack_adds_is_found_anywhere() -> None:
    files = {
        "tools/__init__.py": "",
        "tools/deep/__init__.py": "",
        "tools/deep/helper.py": "",
        "tests/test_x.py": "import sys; sys.path.insert(0, '../tools/deep')\nimport helper",
        "tests/test_y.py": "",
    }
    assert pick(modified("tools/deep/helper.py"), files) == ["tests/test_x.py"]


def test_a_console_script_leads_to_its_module() -> None:
    files = PROJECT | {
        "pyproject.toml": "[project.scripts]\nlonely-tool = 'pkg.lonely:main'\n",
        "tests/test_cli.py": "import subprocess\nsubprocess.run(['lonely-tool', '--help'])",
    }
    assert pick(modified("src/pkg/lonely.py"), files) == ["tests/test_cli.py"]


def test_lazy_tables_of_names_are_followed() -> None:
    files = PROJECT | {
        "src/pkg/__init__.py": (
            "_LAZY = {'x': 'lonely'}\n"
            "def __getattr__(name):\n    return import_module('.' + _LAZY[name], __name__)"
        ),
        "tests/test_lazy.py": "import pkg\npkg.x",
    }
    assert "tests/test_lazy.py" in pick(modified("src/pkg/lonely.py"), files)


# --- new, deleted, renamed ------------------------------------------------------------------------------------------


def test_a_new_module_chooses_who_already_tries_to_import_it() -> None:
    files = PROJECT | {
        "src/pkg/speedups.py": "",
        "tests/test_try.py": "try:\n    from pkg import speedups\nexcept ImportError: pass",
    }
    assert pick(added("src/pkg/speedups.py"), files) == ["tests/test_try.py"]


def test_a_new_module_chooses_who_walks_its_package() -> None:
    files = PROJECT | {
        "src/pkg/plugins/__init__.py": "import pkgutil\npkgutil.iter_modules(__path__)",
        "src/pkg/plugins/new.py": "",
        "tests/test_plugins.py": "import pkg.plugins",
    }
    assert pick(added("src/pkg/plugins/new.py"), files) == ["tests/test_plugins.py"]


def test_a_deleted_module_chooses_its_lazy_importers() -> None:
    files = PROJECT | {"tests/test_lazy.py": "def test(): import pkg.gone"}
    assert pick(deleted("src/pkg/gone.py"), files) == ["tests/test_lazy.py"]


def test_a_renamed_module_chooses_importers_of_both_names() -> None:
    files = PROJECT | {
        "src/pkg/new.py": "",
        "tests/test_old_name.py": "import pkg.old",
        "tests/test_new_name.py": "import pkg.new",
    }
    assert pick(renamed("src/pkg/old.py", "src/pkg/new.py"), files) == [
        "tests/test_new_name.py",
        "tests/test_old_name.py",
    ]


def test_a_deleted_test_is_never_chosen() -> None:
    selection = select(deleted("tests/test_gone.py"), make_tree(PROJECT))
    assert (selection.mode, selection.tests) == (Mode.NONE, ())


def test_a_test_that_imports_a_deleted_test_is_chosen() -> None:
    files = PROJECT | {"tests/test_heir.py": "from test_gone import TestBase"}
    assert pick(deleted("tests/test_gone.py"), files) == ["tests/test_heir.py"]


def test_a_module_deleted_with_its_only_test_leaves_nothing_to_run() -> None:
    base = {"src/pkg/gone.py": "", "tests/test_gone.py": "import pkg.gone"}
    change = make_change(*(ChangedFile(path=path, status=DELETED) for path in base))
    assert select(change, make_tree(PROJECT, base=base)).mode is Mode.NONE


def test_a_deleted_module_that_nothing_names_runs_all() -> None:
    selection = choose_all(deleted("src/pkg/gone.py"), PROJECT)
    assert selection.unreached == ("src/pkg/gone.py",)


def test_a_new_test_is_chosen_first() -> None:
    change = make_change(
        ChangedFile(path="tests/test_new.py", status=ADDED),
        ChangedFile(path="src/pkg/a.py", status=MODIFIED),
    )
    selection = select(change, make_tree(PROJECT | {"tests/test_new.py": ""}))
    assert [(test.path, test.rank) for test in selection.tests] == [
        ("tests/test_new.py", 0),
        ("tests/test_a.py", 1),
        ("tests/test_b.py", 2),
    ]
    assert selection.tests[0].reasons[0].rule == "edited"


def test_a_test_collected_again_elsewhere_chooses_that_file_too() -> None:
    files = PROJECT | {"tests/test_timed.py": "from test_a import TestA"}
    assert pick(modified("tests/test_a.py"), files) == ["tests/test_a.py", "tests/test_timed.py"]


# --- conftest, plugins ----------------------------------------------------------------------------------------------


CONFTESTS = {
    "src/pkg/__init__.py": "",
    "src/pkg/fixture.py": "",
    "tests/one/conftest.py": "import pkg.fixture",
    "tests/one/deep/test_x.py": "",
    "tests/two/test_y.py": "",
}


def test_a_conftest_chooses_all_tests_below_it() -> None:
    selection = select(modified("tests/one/conftest.py"), make_tree(CONFTESTS))
    assert chosen(selection) == ["tests/one/deep/test_x.py"]
    assert selection.tests[0].reasons[0].rule == "conftest"


def test_a_deleted_conftest_chooses_the_tests_below_it() -> None:
    files = {path: text for path, text in CONFTESTS.items() if "conftest" not in path}
    assert pick(deleted("tests/one/conftest.py"), files) == ["tests/one/deep/test_x.py"]


def test_what_a_conftest_imports_chooses_the_tests_below_it() -> None:
    assert pick(modified("src/pkg/fixture.py"), CONFTESTS) == ["tests/one/deep/test_x.py"]


def test_a_conftest_with_hooks_for_the_session_chooses_all() -> None:
    files = CONFTESTS | {"tests/one/conftest.py": "def pytest_configure(config): ..."}
    choose_all(modified("tests/one/conftest.py"), files)


def test_the_root_conftest_chooses_all() -> None:
    choose_all(modified("conftest.py"), CONFTESTS | {"conftest.py": ""})


@pytest.mark.parametrize(
    "text",
    [
        "[project.entry-points.pytest11]\np = 'pkg.fixture'\n",
        "[tool.pytest.ini_options]\naddopts = ['-p', 'pkg.fixture']\n",
    ],
)
def test_a_plugin_for_every_test_chooses_every_test(text: str) -> None:
    files = CONFTESTS | {"pyproject.toml": text}
    assert len(pick(modified("src/pkg/fixture.py"), files)) == 2


# --- files that are no Python ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [
        "README.md",
        "docs/index.rst",
        "docs/conf.py",
        "docs/requirements.txt",
        "LICENSE.txt",
        "LICENSE-MIT",
        "CHANGELOG",
        "CITATION.cff",
        ".gitignore",
        ".pre-commit-config.yaml",
        ".vscode/settings.json",
        "presubmit.toml",
        ".github/ISSUE_TEMPLATE/bug.yml",
        "newsfragments/12.feature",
        "src/pkg/a.pyi",
        "src/pkg/py.typed",
    ],
)
def test_what_no_test_sees_chooses_nothing_and_says_why(path: str) -> None:
    selection = select(modified(path), make_tree(PROJECT | {path: ""}))
    assert (selection.mode, selection.tests, selection.unsure) == (Mode.NONE, (), ())
    assert path in selection.why


@pytest.mark.parametrize(
    "source",
    [
        "open('README.md')",
        "open(f'{root}/README.md')",
        "import glob\nglob.glob('*.md')",
        "p.rglob('*.md')",
    ],
)
def test_prose_that_a_test_reads_chooses_the_test(source: str) -> None:
    files = PROJECT | {"tests/test_readme.py": source}
    selection = select(modified("README.md"), make_tree(files))
    assert chosen(selection) == ["tests/test_readme.py"]
    assert selection.tests[0].reasons[0].rule == "mentions"


@pytest.mark.parametrize(
    "path",
    [
        "pyproject.toml",
        "setup.py",
        "meson.build",
        "CMakeLists.txt",
        "MANIFEST.in",
        "requirements-dev.txt",
        "requirements/base.txt",
        "uv.lock",
        "tox.ini",
        "noxfile.py",
        "Makefile",
        "Dockerfile",
        ".devcontainer/devcontainer.json",
        ".github/workflows/ci.yml",
        ".gitattributes",
    ],
)
def test_build_files_choose_all_and_are_certain(path: str) -> None:
    assert choose_all(modified(path), PROJECT | {path: ""}).unsure == ()


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("src/pkg/_speedups.c", "native file: src/pkg/_speedups.c"),
        ("src/pkg/fast.pyx", "native file: src/pkg/fast.pyx"),
        ("aten/native/x.cu", "native file: aten/native/x.cu"),
        ("version.h.in", "native file: version.h.in"),
        ("spec/data.json", "no test reads spec/data.json"),
        ("one.csv", "no test reads one.csv"),
        ("src/pkg/odd.kind", "src/pkg/odd.kind: unknown kind of file"),
        ("what", "what: unknown kind of file"),
    ],
)
def test_what_cannot_be_followed_chooses_all_and_says_so(path: str, text: str) -> None:
    (said,) = choose_all(modified(path), PROJECT | {path: ""}).unsure
    assert said.startswith(text)


def test_submodules_and_links_choose_all() -> None:
    change = make_change(ChangedFile(path="third/lib", status=MODIFIED), submodules=("third/lib",))
    assert select(change, make_tree(PROJECT)).mode is Mode.ALL
    tree = make_tree(PROJECT | {"link.py": ""}, links={"link.py": "src/pkg/a.py"})
    assert select(modified("link.py"), tree).mode is Mode.ALL


def test_a_linked_module_is_reached_through_its_target() -> None:
    files = PROJECT | {"src/pkg/link.py": "", "tests/test_link.py": "import pkg.link"}
    tree = make_tree(files, links={"src/pkg/link.py": "src/pkg/lonely.py"})
    assert chosen(select(modified("src/pkg/lonely.py"), tree)) == ["tests/test_link.py"]


def test_documents_that_may_hold_tests_choose_all() -> None:
    files = PROJECT | {"conftest.py": "from sybil import Sybil\npytest_collect_file = Sybil()"}
    assert choose_all(modified("README.md"), files).unsure


def test_a_document_that_pytest_collects_is_a_test() -> None:
    files = PROJECT | {"pytest.ini": "[pytest]\naddopts = --doctest-glob=*.md\n"}
    assert pick(modified("README.md"), files) == ["README.md"]


def test_a_document_with_doctests_sees_every_change_of_code() -> None:
    files = PROJECT | {
        "pytest.ini": "[pytest]\naddopts = --doctest-glob=*.rst\n",
        "docs/use.rst": ">>> from pkg.a import f\n>>> f()\n1\n",
    }
    assert "docs/use.rst" in pick(modified("src/pkg/a.py"), files)


def test_stubs_choose_all_where_a_test_checks_types() -> None:
    files = PROJECT | {"tests/test_types.py": "subprocess.run(['mypy', 'x'])", "src/pkg/a.pyi": ""}
    choose_all(modified("src/pkg/a.pyi"), files)


# --- what is not sure -----------------------------------------------------------------------------------------------


def test_code_that_no_test_reaches_chooses_all() -> None:
    selection = choose_all(modified("src/pkg/lonely.py"), PROJECT)
    assert selection.unreached == ("src/pkg/lonely.py",)
    assert selection.unsure == ("no test imports src/pkg/lonely.py",)


def test_a_changed_file_that_cannot_be_parsed_chooses_all() -> None:
    files = PROJECT | {"src/pkg/a.py": "def ("}
    assert "cannot be parsed" in choose_all(modified("src/pkg/a.py"), files).unsure[0]


def test_a_changed_file_that_was_not_read_chooses_all() -> None:
    tree = Tree(paths=tuple(PROJECT), unread={"src/pkg/a.py": "too large"})
    assert select(modified("src/pkg/a.py"), tree).mode is Mode.ALL


def test_a_test_that_cannot_be_parsed_is_always_chosen() -> None:
    files = PROJECT | {"tests/test_new_syntax.py": "def ("}
    assert "tests/test_new_syntax.py" in pick(modified("src/pkg/a.py"), files)
    assert select(modified("README.md"), make_tree(files)).mode is Mode.NONE


def test_a_broken_configuration_chooses_all() -> None:
    choose_all(modified("src/pkg/a.py"), PROJECT | {"pyproject.toml": "[tool"})


def test_tests_outside_the_testpaths_alone_choose_all() -> None:
    files = PROJECT | {
        "pytest.ini": "[pytest]\ntestpaths = tests\n",
        "examples/test_example.py": "",
    }
    choose_all(modified("examples/test_example.py"), files)


# --- what the user asks for -----------------------------------------------------------------------------------------


def test_an_empty_change_chooses_nothing() -> None:
    selection = select(make_change(), make_tree(PROJECT), tests="all")
    assert (selection.mode, selection.why) == (Mode.NONE, "the change is empty")


def test_all_tests_can_be_asked_for() -> None:
    selection = select(modified("README.md"), make_tree(PROJECT), tests="all")
    assert selection.mode is Mode.ALL
    assert selection.why == "all tests: all tests were asked for"


def test_full_if_chooses_all() -> None:
    selection = select(modified("src/pkg/a.py"), make_tree(PROJECT), full_if=("src/pkg/a*",))
    assert selection.mode is Mode.ALL


def test_always_joins_a_choice_and_makes_none() -> None:
    tree = make_tree(PROJECT)
    selection = select(modified("src/pkg/a.py"), tree, always=("tests/test_other.py",))
    assert chosen(selection) == ["tests/test_a.py", "tests/test_b.py", "tests/test_other.py"]
    assert select(modified("README.md"), tree, always=("*",)).mode is Mode.NONE


def test_nearest_keeps_the_closest_the_edited_and_the_named_alike() -> None:
    files = PROJECT | {
        "src/pkg/__init__.py": "from pkg.b import f",
        "tests/test_far.py": "import pkg",
        "tests/test_pkg.py": "import pkg",
    }
    assert len(pick(modified("src/pkg/a.py"), files)) == 4
    assert pick(modified("src/pkg/a.py"), files, tests="nearest") == ["tests/test_a.py"]
    both = modified("src/pkg/a.py", "tests/test_other.py")
    assert pick(both, files, tests="nearest") == ["tests/test_a.py", "tests/test_other.py"]


def test_a_name_alone_chooses_a_test_but_is_no_proof() -> None:
    files = PROJECT | {"tests/test_lonely.py": ""}
    selection = choose_all(modified("src/pkg/lonely.py"), files)
    assert selection.tests[0].path == "tests/test_lonely.py"
    assert selection.tests[0].reasons[0].rule == "same-name"


def test_every_chosen_test_has_a_reason_with_a_chain() -> None:
    for path in PROJECT:
        selection = select(modified(path), make_tree(PROJECT))
        for test in selection.tests:
            assert test.reasons
            if selection.mode is Mode.SCOPED:
                assert test.reasons[0].chain[-1] == test.path


def test_the_last_rule_matches_everything() -> None:
    assert list(RULES)[-1] == "unknown"


def test_a_choice_is_never_smaller_for_a_larger_change() -> None:
    tree = make_tree(PROJECT)
    for path in PROJECT:
        alone = set(chosen(select(modified(path), tree)))
        more = set(chosen(select(modified(path, "src/pkg/b.py"), tree)))
        assert alone <= more


@pytest.mark.parametrize(
    "source",
    ["import os\nnames = os.listdir('.')\nall = '*', '/', '.'\n", "op = '**'\n"],
)
def test_a_star_or_a_slash_alone_names_no_document(source: str) -> None:
    """jinja2's loaders list folders and split at `/`: that is no mention of README.md."""
    files = PROJECT | {"src/pkg/a.py": source + "def f(): return 1\n"}
    assert select(modified("README.md"), make_tree(files)).mode is Mode.NONE


def test_scenes_of_one_tree_share_the_graph_unless_their_bases_differ() -> None:
    tree = make_tree(PROJECT)
    other = make_tree(PROJECT, base={"src/pkg/old.py": "import pkg.a"})
    change = modified("src/pkg/a.py")

    graph = make_scene(change, tree).graph

    assert make_scene(change, dataclasses.replace(tree, modes=frozenset())).graph is graph
    assert (
        make_scene(change, dataclasses.replace(tree, base_imports=other.base_imports)).graph
        is not graph
    )
    assert make_scene(deleted("src/pkg/b.py"), tree).graph is not graph
