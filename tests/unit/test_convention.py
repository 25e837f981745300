from __future__ import annotations

import pytest

from presubmit import convention
from presubmit.convention import Backend, DocsConvention, Project
from presubmit.errors import ConfigError
from presubmit.values import Requirements

Files = dict[str, str]


def project(files: Files) -> Project:
    return convention.read_project(files, files.get)


def pyproject(text: str, **files: str) -> tuple[Project, Files]:
    tree = {"pyproject.toml": text, **files}
    return project(tree), tree


def wanted(
    files: Files,
    *,
    extras: tuple[str, ...] = (),
    groups: tuple[str, ...] = (),
    requirements: tuple[str, ...] = (),
    packages: tuple[str, ...] = (),
) -> convention.TestRequirements:
    return convention.test_requirements(
        project(files),
        files.get,
        extras=extras,
        groups=groups,
        files=requirements,
        packages=packages,
        constraints=convention.lock_constraints(project(files), files.get),
    )


def lines(files: Files, **asked: tuple[str, ...]) -> tuple[str, ...]:
    """Give the requirement lines that are installed together, the last set."""
    return wanted(files, **asked).together[-1].lines


# --- reading --------------------------------------------------------------------------------------------------------


def test_a_pyproject_that_is_not_toml_is_a_config_error() -> None:
    with pytest.raises(ConfigError, match=r"pyproject\.toml is not TOML"):
        project({"pyproject.toml": "["})


def test_a_project_without_pyproject_has_no_tables() -> None:
    assert project({"setup.py": ""}).table("project") == {}


def test_a_value_where_a_table_was_expected_is_no_table() -> None:
    assert project({"pyproject.toml": "project = 3"}).table("project", "urls") == {}


# --- backend --------------------------------------------------------------------------------------------------------

LEGACY = Backend(
    name="setuptools.build_meta:__legacy__",
    path=(),
    requires=("setuptools", "wheel"),
    origin="convention: setuptools (PEP 517's default)",
)


@pytest.mark.parametrize(
    "files",
    [{}, {"a.py": ""}, {"pyproject.toml": "[tool.ruff]"}, {"setup.cfg": "[tool:pytest]"}],
)
def test_a_project_with_nothing_to_install_has_no_backend(files: Files) -> None:
    assert None is convention.build_backend(project(files))


@pytest.mark.parametrize(
    "files",
    [
        {"setup.py": ""},
        {"setup.py": "", "pyproject.toml": "[tool.ruff]"},
        {"pyproject.toml": "[project]\nname = 'x'"},
    ],
)
def test_a_project_that_names_no_backend_is_built_by_setuptools(files: Files) -> None:
    assert convention.build_backend(project(files)) == LEGACY


def test_build_requirements_without_a_backend_are_kept() -> None:
    found = convention.build_backend(
        project({"pyproject.toml": "[build-system]\nrequires = ['setuptools', 'cython']"})
    )
    assert found is not None
    assert (
        found.name,
        found.requires,
    ) == ("setuptools.build_meta:__legacy__", ("setuptools", "cython"))


def test_a_build_system_is_taken_as_it_is_written() -> None:
    text = "[build-system]\nrequires = ['flit_core']\nbuild-backend = 'b'\nbackend-path = ['.']"
    assert Backend(
        name="b", path=(".",), requires=("flit_core",), origin="pyproject.toml [build-system]"
    ) == convention.build_backend(project({"pyproject.toml": text}))


# --- native code ----------------------------------------------------------------------------------------------------


def native(files: Files) -> tuple[str, ...]:
    return convention.native_sources(project(files), files.get)


@pytest.mark.parametrize(
    ("build_file", "text", "source"),
    [
        ("setup.py", "setup(ext_modules=[Extension('a', ['a.c'])])", "a.c"),
        ("setup.py", "from Cython.Build import cythonize\ncythonize('a.pyx')", "a.pyx"),
        ("setup.py", "setup(rust_extensions=[RustExtension('a')])", "src/lib.rs"),
        ("setup.py", "setup(cffi_modules=['b.py:ffi'])", "a.h"),
        ("pyproject.toml", "[tool.setuptools]\next-modules = []", "a.c"),
        ("meson.build", "py.extension_module('a', 'a.c')", "a.c"),
        ("pkg/meson.build", "py.extension_module('a', 'a.f90')", "a.f90"),
        ("CMakeLists.txt", "pybind11_add_module(a a.cpp)", "a.cpp"),
        ("CMakeLists.txt", "Python_add_library(a MODULE a.c)", "a.c"),
        ("CMakeLists.txt", "nanobind_add_module(a a.cu)", "a.cu"),
        ("Cargo.toml", "[dependencies]\npyo3 = '1'", "src/lib.rs"),
    ],
)
def test_a_build_file_that_declares_a_module_makes_sources_native(
    build_file: str, text: str, source: str
) -> None:
    assert (build_file, source) == native({source: "", build_file: text, "a.py": ""})


@pytest.mark.parametrize(
    "files",
    [
        {"setup.py": "setup(name='x')", "tests/data/broken.c": ""},
        {"setup.py": "setup(name='x')", "src/data/template.c": ""},
        {"pyproject.toml": "[project]\nname = 'x'", "tests/ext/setup.py": "Extension('a')"},
        {"pyproject.toml": "[project]\nname = 'x'", "examples/CMakeLists.txt": "pyo3"},
    ],
)
def test_a_project_whose_own_build_declares_no_module_is_pure(files: Files) -> None:
    assert native(files) == ()


def test_native_sources_among_the_tests_are_not_what_modules_are_built_from() -> None:
    files = {"setup.py": "ext_modules=[]", "a.c": "", "tests/b.c": "", "docs/c.h": ""}
    assert native(files) == ("setup.py", "a.c")


@pytest.mark.parametrize("path", ["a.c", "a.CPP", "x/a.cuh", "a.pyx", "a.rs", "a.S", "a.hpp"])
def test_a_compiled_file_is_native(path: str) -> None:
    assert convention.is_native(path)


@pytest.mark.parametrize("path", ["a.py", "a.pyi", "c", "a.css", "a.o", ".c"])
def test_another_file_is_not_native(path: str) -> None:
    assert not convention.is_native(path)


@pytest.mark.parametrize(
    "path", ["setup.py", "sub/CMakeLists.txt", "cmake/x.cmake", "MANIFEST.in", "config.h.in"]
)
def test_a_build_file_is_one_wherever_it_stands(path: str) -> None:
    assert convention.is_build_file(path)


def test_a_trigger_makes_a_build_file_of_a_path() -> None:
    assert [convention.is_build_file("gen/a.yaml", triggers) for triggers in (("gen/*",), ())] == [
        True,
        False,
    ]


# --- requirements ---------------------------------------------------------------------------------------------------


def test_a_project_that_names_nothing_needs_pytest() -> None:
    assert (Requirements(origin="pytest", lines=("pytest",)),) == wanted({}).together


def test_pytest_is_not_added_where_it_is_named() -> None:
    files = {"pyproject.toml": "[dependency-groups]\ntest = ['PyTest>=8 ; python_version>\"3\"']"}
    assert lines(files) == ('PyTest>=8 ; python_version>"3"',)


def test_a_plugin_of_pytest_is_not_pytest() -> None:
    files = {"pyproject.toml": "[dependency-groups]\ntest = ['pytest-cov']"}
    assert lines(files) == ("pytest-cov", "pytest")


def test_dependencies_come_with_what_testing_needs_and_say_where_from() -> None:
    files = {
        "pyproject.toml": "[project]\nname='x'\ndependencies=['a']\n"
        "[project.optional-dependencies]\ntests=['b', 'a']\n"
    }
    assert (
        Requirements(
            origin="pyproject.toml [project], extra tests, pytest", lines=("a", "b", "pytest")
        ),
    ) == wanted(files).together


def test_packages_of_the_config_come_along() -> None:
    assert lines({}, packages=("numpy>=2",)) == ("numpy>=2", "pytest")


GROUPS = """
[dependency-groups]
Test = ["pytest", {include-group = "more_deps"}]
more-deps = ["b", {include-group = "most"}]
most = ["c"]
dev = ["d"]
"""


def test_a_group_is_found_by_its_usual_name_and_brings_the_groups_it_includes() -> None:
    assert lines({"pyproject.toml": GROUPS}) == ("pytest", "b", "c")


def test_named_groups_take_the_place_of_the_usual_one() -> None:
    assert lines({"pyproject.toml": GROUPS}, groups=("dev", "MOST")) == ("d", "c", "pytest")


def test_a_group_that_is_not_there_is_a_config_error() -> None:
    with pytest.raises(ConfigError, match="`nightly` is not in pyproject"):
        wanted({"pyproject.toml": GROUPS}, groups=("nightly",))


def test_a_group_that_includes_itself_is_a_config_error() -> None:
    text = "[dependency-groups]\ntest=[{include-group='b'}]\nb=['x', {include-group='test'}]\n"
    with pytest.raises(ConfigError, match="`test` includes itself"):
        wanted({"pyproject.toml": text})


def test_a_group_that_two_others_include_is_no_cycle() -> None:
    text = (
        "[dependency-groups]\ntest=[{include-group='a'}, {include-group='b'}]\n"
        "a=[{include-group='c'}]\nb=[{include-group='c'}]\nc=['x']\n"
    )
    assert lines({"pyproject.toml": text}) == ("x", "pytest")


def test_a_group_that_is_a_text_is_a_config_error() -> None:
    with pytest.raises(ConfigError, match="group `test`"):
        wanted({"pyproject.toml": "[dependency-groups]\ntest = 'pytest'\n"})


EXTRAS = """
[project]
name = "My.Project"
dependencies = ["a"]
[project.optional-dependencies]
test = ["pytest", "my_project[fast,io]"]
fast = ["numba"]
io = ["h5py", "my-project[test]"]
"""


def test_an_extra_that_names_the_projects_own_extras_brings_what_they_hold() -> None:
    assert lines({"pyproject.toml": EXTRAS}) == ("a", "pytest", "numba", "h5py")


def test_a_group_that_names_the_projects_own_extra_brings_what_it_holds() -> None:
    text = EXTRAS + "[dependency-groups]\ntest = ['my-project[fast]', 'pytest']\n"
    assert lines({"pyproject.toml": text}) == ("a", "numba", "pytest")


def test_a_group_goes_before_an_extra() -> None:
    text = EXTRAS + "[dependency-groups]\ntest = ['pytest']\n"
    assert lines({"pyproject.toml": text}) == ("a", "pytest")


def test_a_named_extra_comes_beside_a_group() -> None:
    text = EXTRAS + "[dependency-groups]\ntest = ['pytest']\n"
    assert lines({"pyproject.toml": text}, extras=("FAST",)) == ("a", "pytest", "numba")


def test_an_extra_that_is_not_there_is_a_config_error() -> None:
    with pytest.raises(ConfigError, match="the extra `gpu` is not in pyproject"):
        wanted({"pyproject.toml": EXTRAS}, extras=("gpu",))


def test_extras_that_pyproject_leaves_dynamic_are_read_from_the_metadata_later() -> None:
    text = "[project]\nname='x'\ndynamic=['optional-dependencies']\n"
    assert wanted({"pyproject.toml": text}).dynamic_extras == ("tests", "test", "testing")


def test_a_named_extra_that_is_dynamic_is_the_only_one() -> None:
    assert wanted({"setup.py": ""}, extras=("gpu",)).dynamic_extras == ("gpu",)


def test_a_line_that_is_no_requirement_is_left_to_pip() -> None:
    text = "[project]\nname='x'\n[dependency-groups]\ntest = ['what is this']\n"
    assert lines({"pyproject.toml": text}) == ("what is this", "pytest")


# --- requirement files ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", ["requirements-test.txt", "requirements/test.txt", "tests/requirements.txt"]
)
def test_a_requirement_file_is_found_by_its_usual_name(path: str) -> None:
    assert lines({path: "a\n"}) == ("a", "pytest")


def test_a_requirement_file_for_tests_goes_before_a_general_one() -> None:
    assert lines({"requirements.txt": "r", "test-requirements.txt": "t"}) == ("t", "pytest")


def test_a_group_or_an_extra_goes_before_a_requirement_file() -> None:
    files = {"pyproject.toml": GROUPS, "requirements-test.txt": "z"}
    assert "z" not in lines(files)


def test_named_requirement_files_are_read_beside_a_group() -> None:
    files = {"pyproject.toml": GROUPS, "ci.txt": "z"}
    assert lines(files, requirements=("ci.txt",)) == ("pytest", "b", "c", "z")


def test_a_named_requirement_file_that_is_not_there_is_a_config_error() -> None:
    with pytest.raises(ConfigError, match=r"ci\.txt is not in the tree"):
        wanted({}, requirements=("ci.txt",))


@pytest.mark.parametrize(
    ("text", "given"),
    [
        ("a # why\n# b\n\n  c  \n", ["a", "c"]),
        ("a \\\n  >= 1\n", ["a    >= 1"]),
        ("a \\\r\n>= 1\r\n", ["a  >= 1"]),
        ("a#b\n", ["a#b"]),
        ("# a comment does not go on \\\nb\n", ["b"]),
        ("--pre\n-i https://example.org/simple\n", ["--pre", "-i https://example.org/simple"]),
    ],
)
def test_a_requirement_files_lines_are_read_as_pip_reads_them(text: str, given: list[str]) -> None:
    files = {"r.txt": text}
    assert given == list(convention.requirement_file_lines("r.txt", files.get))


@pytest.mark.parametrize(
    "line",
    [
        "-r base.txt",
        "-rbase.txt",
        "--requirement base.txt",
        "--requirement=base.txt",
        "-r ../requirements/base.txt",
    ],
)
def test_a_requirement_file_may_name_another_one_beside_it(line: str) -> None:
    files = {"requirements/test.txt": f"{line}\nb", "requirements/base.txt": "a"}
    assert list(convention.requirement_file_lines("requirements/test.txt", files.get)) == [
        "a",
        "b",
    ]


def test_requirement_files_that_name_each_other_come_to_an_end() -> None:
    files = {"a.txt": "-r b.txt\na", "b.txt": "-r a.txt\nb"}
    assert list(convention.requirement_file_lines("a.txt", files.get)) == ["b", "a"]


def test_an_included_requirement_file_that_is_not_there_is_named() -> None:
    files = {"a.txt": "-r b.txt"}
    with pytest.raises(ConfigError, match=r"b\.txt is not in the tree"):
        list(convention.requirement_file_lines("a.txt", files.get))


@pytest.mark.parametrize("line", ["-c pins.txt", "-cpins.txt", "--constraint=pins.txt"])
def test_a_constraint_file_is_named_relative_to_the_project(line: str) -> None:
    files = {"requirements/test.txt": f"a\n{line}\n"}
    found = wanted(files)
    assert (
        found.together[-1].lines,
        found.constraint_files,
    ) == (("a", "pytest"), ("requirements/pins.txt",))


def test_a_file_with_hashes_is_installed_by_itself() -> None:
    files = {
        "pyproject.toml": "[project]\nname='x'\ndependencies=['c']\n",
        "requirements-test.txt": "pytest==8.0 \\\n    --hash=sha256:aa\nb==1 --hash=sha256:bb\n",
    }
    hashed = ("pytest==8.0      --hash=sha256:aa", "b==1 --hash=sha256:bb")
    assert (
        Requirements(origin="requirements-test.txt", lines=hashed),
        Requirements(origin="pyproject.toml [project]", lines=("c",)),
    ) == wanted(files).together


# --- what runs code that is not from the index ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        "-e .",
        "-e.",
        "--editable=../x",
        ".",
        ".[test]",
        "./x",
        "../x",
        "/opt/x",
        "~/x",
        "vendored/x",
        "file:x.whl",
        "file:///x.whl",
        "https://example.org/x.whl",
        "git+https://example.org/x",
        "git+ssh://git@example.org/x.git",
        "git+git@example.org:x/y",
        "x @ https://example.org/x.whl",
        "x@https://example.org/x.whl",
        "x[a]@ git+https://example.org/x",
        "x @file:///x",
        "wheels/x.whl",
        "x-1.0-py3-none-any.whl",
        "x-1.0.tar.gz",
    ],
)
def test_a_path_a_url_or_a_repository_is_local(line: str) -> None:
    assert convention.is_local_requirement(line)


@pytest.mark.parametrize(
    "line",
    [
        "x",
        "x>=1,<2",
        "x[a,b]~=1.0",
        "x==1.0 ; platform_system != 'a/b'",
        "x!=1 # see a/b",
        "zope.interface",
        "--pre",
        "-i https://example.org/simple",
        "--extra-index-url https://example.org/simple",
        "--find-links ./wheels",
        "x==1 --hash=sha256:ab/cd",
        'x; extra == "a @ b"',
    ],
)
def test_a_requirement_from_the_index_is_not_local(line: str) -> None:
    assert not convention.is_local_requirement(line)


def test_local_requirements_are_kept_apart_each_once() -> None:
    files = {"requirements-test.txt": "-e .\na\nb @ https://example.org/b.whl\n-e .\n"}
    found = wanted(files)
    assert (
        found.local,
        found.together[-1].lines,
    ) == (("-e .", "b @ https://example.org/b.whl"), ("a", "pytest"))


# --- lock files -----------------------------------------------------------------------------------------------------


def locked(name: str, text: str) -> Requirements | None:
    files = {name: text}
    return convention.lock_constraints(project(files), files.get)


@pytest.mark.parametrize(
    ("name", "table"),
    [
        ("uv.lock", "package"),
        ("pylock.toml", "packages"),
        ("poetry.lock", "package"),
        ("pdm.lock", "package"),
    ],
)
def test_a_lock_files_versions_are_constraints(name: str, table: str) -> None:
    text = f"[[{table}]]\nname='b'\nversion='2'\n[[{table}]]\nname='a'\nversion='1'\n"
    assert Requirements(origin=name, lines=("a==1", "b==2")) == locked(name, text)


def test_a_package_that_is_locked_at_several_versions_is_left_out() -> None:
    text = (
        "[[package]]\nname='a'\nversion='1'\n[[package]]\nname='a'\nversion='2'\n"
        "[[package]]\nname='b'\nversion='1'\n"
    )
    assert Requirements(origin="uv.lock", lines=("b==1",)) == locked("uv.lock", text)


@pytest.mark.parametrize("kind", ["editable", "virtual", "directory"])
def test_the_project_itself_is_no_constraint(kind: str) -> None:
    text = f"[[package]]\nname='me'\nversion='1'\nsource={{{kind}='.'}}\n"
    assert None is locked("uv.lock", text)


@pytest.mark.parametrize(
    "text", ["", "[", "package = 3", "package = [3]", "[[package]]\nname='a'\n"]
)
def test_a_lock_file_that_pins_nothing_gives_no_constraints(text: str) -> None:
    assert None is locked("uv.lock", text)


def test_a_damaged_lock_file_leaves_the_next_one() -> None:
    files = {"uv.lock": "[", "poetry.lock": "[[package]]\nname='a'\nversion='1'\n"}
    assert Requirements(origin="poetry.lock", lines=("a==1",)) == convention.lock_constraints(
        project(files), files.get
    )


# --- the lowest Python ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wanted_versions", "floor"),
    [
        (">=3.9", "3.9"),
        (">= 3.10, <4", "3.10"),
        ("<4,>=3.8", "3.8"),
        ("!=3.9.0,>=3.9", "3.9"),
        ("~=3.11", "3.11"),
        ("==3.12.*", "3.12"),
        ("<4", ""),
        (">=2.7", ""),
    ],
)
def test_the_lowest_python_is_read_from_requires_python(wanted_versions: str, floor: str) -> None:
    found, tree = pyproject(f"[project]\nname='x'\nrequires-python='{wanted_versions}'\n")
    assert floor == convention.python_floor(found, tree.get)


@pytest.mark.parametrize(
    ("files", "floor"),
    [
        ({"setup.py": "setup(python_requires='>=3.7')"}, "3.7"),
        ({"setup.py": 'setup(python_requires="<4, >=3.8", x=1)'}, "3.8"),
        ({"setup.cfg": "[options]\npython_requires = >=3.6, <4\nx = 1\n"}, "3.6"),
        ({"setup.cfg": "[options]\npython_requires = !=3.7.0, >=3.6\n"}, "3.6"),
        ({"setup.py": "setup(python_requires=FLOOR, install_requires=['a>=3.9'])"}, ""),
        ({}, ""),
    ],
)
def test_the_lowest_python_is_read_from_setup_files(files: Files, floor: str) -> None:
    assert floor == convention.python_floor(project(files), files.get)


# --- lint and docs --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "files", [{"pyproject.toml": "[tool.ruff]\nx=1"}, {"ruff.toml": ""}, {".ruff.toml": ""}]
)
def test_ruff_is_configured_where_its_settings_are(files: Files) -> None:
    assert convention.has_ruff(project(files))


def test_a_project_without_settings_has_no_ruff() -> None:
    assert not convention.has_ruff(project({"pyproject.toml": "[tool.black]"}))


def test_ruffs_lint_settings_lie_above_the_old_top_level_ones() -> None:
    files = {"ruff.toml": "select=['E']\nignore=['W']\n[lint]\nselect=['F']\n"}
    found = convention.ruff_settings(project(files), files.get)
    assert (found["select"], found["ignore"]) == (["F"], ["W"])


def test_ruff_settings_that_are_not_toml_are_none() -> None:
    files = {"ruff.toml": "["}
    assert convention.ruff_settings(project(files), files.get) == {}


def docs(text: str, *sources: str, **files: str) -> DocsConvention:
    found, tree = pyproject(text, **files)
    return convention.docs_convention(found, tree.get, sources)


@pytest.mark.parametrize("name", ["numpy", "google"])
def test_the_docstring_convention_is_what_ruff_is_told(name: str) -> None:
    text = f"[tool.ruff.lint]\nselect=['D']\n[tool.ruff.lint.pydocstyle]\nconvention='{name}'\n"
    assert DocsConvention(name=name, enforced=True, origin="ruff's pydocstyle.convention") == docs(
        text
    )


@pytest.mark.parametrize(
    ("settings", "enforced"),
    [
        ("select=['E', 'F']", False),
        ("select=['D']", True),
        ("select=['D417']", True),
        ("select=['ALL']", True),
        ("extend-select=['D1']", True),
        ("select=['DTZ']", False),
        ("select=['DOC']", True),
        ("select=['ALL']\nignore=['D']", False),
        ("select=['ALL']\nignore=['D100']", True),
    ],
)
def test_docstrings_are_enforced_where_ruff_selects_their_rules(
    settings: str, enforced: bool
) -> None:
    assert enforced == docs(f"[tool.ruff.lint]\n{settings}\n").enforced


def test_numpydocs_own_validation_enforces_its_convention() -> None:
    found = docs("[tool.numpydoc_validation]\nchecks=['all']\n")
    assert (found.name, found.enforced) == ("numpy", True)


def test_pydocstyles_old_table_enforces_its_convention() -> None:
    found = docs("[tool.pydocstyle]\nconvention='google'\n")
    assert (found.name, found.enforced) == ("google", True)


NUMPY = '''
def f(a):
    """Do.

    Parameters
    ----------
    a : int
    """
'''
GOOGLE = '''
def f(a):
    """Do.

    Args:
        a: it
    """
'''
REST = '''
def f(a):
    """Do.

    :param a: it
    """
'''


@pytest.mark.parametrize(
    ("sources", "name"),
    [
        ((NUMPY,), "numpy"),
        ((GOOGLE,), "google"),
        ((REST,), "rst"),
        ((GOOGLE, NUMPY, NUMPY), "numpy"),
        (('"""Args: none."""',), ""),
        ((), ""),
    ],
)
def test_an_unconfigured_convention_is_the_prevailing_one(
    sources: tuple[str, ...], name: str
) -> None:
    assert DocsConvention(
        name=name, enforced=False, origin="the project's own docstrings"
    ) == docs("", *sources)


# --- tests ----------------------------------------------------------------------------------------------------------

MANAGE = 'os.environ.setdefault("DJANGO_SETTINGS_MODULE", "site0.settings")\n'


def command_of(files: dict[str, str]) -> object:
    return convention.test_command(files.keys(), files.get)


def test_a_site_of_django_runs_its_own_tests_by_convention() -> None:
    assert command_of({"manage.py": MANAGE, "shop/tests.py": ""}) == (
        ("python", "manage.py", "test"),
        "convention: manage.py",
    )


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"manage.py": "print('a script of that name')\n"},
        {"manage.py": MANAGE, "conftest.py": ""},
        {"manage.py": MANAGE, "pytest.ini": "[pytest]\nDJANGO_SETTINGS_MODULE = s\n"},
        {"manage.py": MANAGE, "pyproject.toml": "[tool.pytest.ini_options]\n"},
    ],
)
def test_where_pytest_is_set_up_it_is_pytest(files: dict[str, str]) -> None:
    assert command_of(files) is None
