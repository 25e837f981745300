from __future__ import annotations

import pytest

from presubmit.selector.layout import dotted, make_layout, make_settings, matches_glob


def test_the_first_configuration_that_speaks_of_pytest_wins() -> None:
    settings, problems = make_settings(
        {
            "pyproject.toml": "[tool.pytest.ini_options]\ntestpaths = ['a']\n",
            "tox.ini": "[pytest]\ntestpaths = b\n",
        }
    )
    assert (settings.source, settings.testpaths, problems) == ("pyproject.toml", ("a",), ())


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pytest.ini", "[pytest]\ntestpaths = t u\npython_files = check_*.py\n"),
        ("tox.ini", "[pytest]\ntestpaths = t u\npython_files = check_*.py\n"),
        ("setup.cfg", "[tool:pytest]\ntestpaths =\n    t\n    u\npython_files = check_*.py\n"),
        (
            "pyproject.toml",
            "[tool.pytest.ini_options]\ntestpaths = 't u'\npython_files = 'check_*.py'",
        ),
        ("pyproject.toml", "[tool.pytest]\ntestpaths = ['t', 'u']\npython_files = ['check_*.py']"),
        ("pytest.toml", "[pytest]\ntestpaths = ['t', 'u']\npython_files = ['check_*.py']"),
    ],
)
def test_every_form_of_the_settings_is_read(name: str, text: str) -> None:
    settings, problems = make_settings({name: text})
    assert settings.testpaths == ("t", "u")
    assert settings.python_files == ("check_*.py",)
    assert problems == ()


def test_options_say_what_else_is_collected() -> None:
    addopts = (
        "-p my.plugin -pother -p no:cacheprovider --doctest-modules --doctest-glob='*.rst' --nbval"
    )
    settings, _ = make_settings({"pytest.ini": f"[pytest]\naddopts = {addopts}\n"})
    assert settings.plugins == ("my.plugin", "other")
    assert settings.doctest_modules
    assert settings.doctest_globs == ("*.rst",)
    assert settings.foreign == ("--nbval",)


def test_a_broken_configuration_is_a_problem_and_no_error() -> None:
    layout = make_layout(["test_a.py"], {"pyproject.toml": "[tool", "setup.cfg": "oops"})
    assert len(layout.problems) == 2
    assert layout.tests == ("test_a.py",)


def test_tests_are_found_by_name_and_not_in_hidden_folders() -> None:
    paths = [
        "tests/test_a.py",
        "tests/b_test.py",
        "tests/helper.py",
        "tests/conftest.py",
        ".venv/test_x.py",
        "build/test_y.py",
        "src/pkg/tests/test_z.py",
        "tests/test_data.txt",
    ]
    layout = make_layout(paths, {})
    assert layout.tests == ("src/pkg/tests/test_z.py", "tests/b_test.py", "tests/test_a.py")
    assert layout.conftests == ("tests/conftest.py",)
    assert layout.support == ("tests/helper.py",)


def test_with_doctest_modules_every_module_in_the_testpaths_is_a_test() -> None:
    texts = {"pytest.ini": "[pytest]\ntestpaths = src\naddopts = --doctest-modules\n"}
    layout = make_layout(["src/a.py", "other/b.py", "src/__init__.py"], texts)
    assert layout.tests == ("src/a.py",)


@pytest.mark.parametrize(
    ("path", "pattern", "inside"),
    [
        ("tests/a/test_x.py", "tests", True),
        ("tests/a/test_x.py", "tests/a/test_x.py", True),
        ("tests/a/test_x.py", "tests/*", True),
        ("tests/a/test_x.py", "**/a", True),
        ("tests/a/test_x.py", ".", True),
        ("other/test_x.py", "tests", False),
        ("tests2/test_x.py", "tests", False),
    ],
)
def test_testpaths_are_folders_files_and_patterns(path: str, pattern: str, inside: bool) -> None:
    layout = make_layout([path], {"pytest.ini": f"[pytest]\ntestpaths = {pattern}\n"})
    assert layout.in_testpaths(path) is inside


def names(paths: list[str], texts: dict[str, str] | None = None) -> dict[str, tuple[str, ...]]:
    return make_layout(paths, texts or {}).names


def test_a_src_layout_gives_the_installed_name() -> None:
    found = names(["src/pkg/__init__.py", "src/pkg/mod.py"])
    assert found["src/pkg/mod.py"] == ("src.pkg.mod", "pkg.mod")
    assert found["src/pkg/__init__.py"] == ("src.pkg", "pkg")


def test_a_namespace_package_in_src_keeps_all_its_names() -> None:
    assert set(names(["src/ns/part/mod.py"])["src/ns/part/mod.py"]) == {
        "src.ns.part.mod",
        "ns.part.mod",
        "mod",
    }


def test_a_test_folder_without_init_is_a_root() -> None:
    assert "helper" in names(["tests/helper.py", "tests/test_a.py"])["tests/helper.py"]


def test_package_dir_gives_another_name_to_a_folder() -> None:
    text = "[tool.setuptools.package-dir]\n'' = 'code'\nother = 'python/impl'\n"
    found = names(["code/a.py", "python/impl/b.py"], {"pyproject.toml": text})
    assert "a" in found["code/a.py"]
    assert "other.b" in found["python/impl/b.py"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("setup.cfg", "[options]\npackage_dir =\n    = lib3\n"),
        ("setup.cfg", "[options.packages.find]\nwhere = lib3\n"),
        ("pyproject.toml", "[tool.setuptools.packages.find]\nwhere = ['lib3']\n"),
        ("pyproject.toml", "[tool.hatch.build.targets.wheel]\npackages = ['lib3/pkg']\n"),
        ("pyproject.toml", "[[tool.poetry.packages]]\ninclude = 'pkg'\nfrom = 'lib3'\n"),
        ("pyproject.toml", "[tool.maturin]\npython-source = 'lib3'\n"),
        ("pytest.ini", "[pytest]\npythonpath = lib3\n"),
    ],
)
def test_import_roots_come_from_every_backend(name: str, text: str) -> None:
    assert "pkg.sub.mod" in names(["lib3/pkg/sub/mod.py"], {name: text})["lib3/pkg/sub/mod.py"]


def test_scripts_and_entry_points_are_kept() -> None:
    text = (
        "[project.scripts]\ntool = 'pkg.cli:main'\n"
        "[project.entry-points.pytest11]\nplug = 'pkg.plug'\n"
        "[project.entry-points.'other.group']\nx = 'pkg.x:Y'\n"
    )
    layout = make_layout([], {"pyproject.toml": text})
    assert layout.scripts == {"tool": "pkg.cli"}
    assert layout.plugins == ("pkg.plug",)
    assert layout.entry_points == ("pkg.plug", "pkg.x")
    cfg = "[options.entry_points]\nconsole_scripts =\n  tool = pkg.cli:main\npytest11 =\n  p = pkg.p\n"
    layout = make_layout([], {"setup.cfg": cfg})
    assert (layout.scripts, layout.plugins) == ({"tool": "pkg.cli"}, ("pkg.p",))


def test_odd_names_survive() -> None:
    assert dotted("a.b/c\udcff/x.py") == "a·b.c\\xff.x"


@pytest.mark.parametrize(
    ("path", "pattern", "matches"),
    [
        ("docs/a/b.md", "docs/**", True),
        ("docs/a/b.md", "docs", True),
        ("docs/a/b.md", "*.md", True),
        ("docs/a/b.md", "docs/*.md", False),
        ("a.md", "./a.md", True),
        ("a.md", "", False),
        ("src/x.py", "**/x.py", True),
        ("x.py", "**/x.py", True),
        ("src/xy.py", "src/x?.py", True),
    ],
)
def test_user_patterns_match_paths(path: str, pattern: str, matches: bool) -> None:
    assert matches_glob(path, pattern) is matches
