from __future__ import annotations

import pytest

from presubmit.upstream.recipes.installs import (
    Install,
    manager_install,
    pip_install,
    setup_py,
    uv_sync,
)
from presubmit.upstream.recipes.shell_words import Word, expand


def words(line: str) -> list[Word]:
    return [word for raw in line.split() for word in expand(raw, {})]


def pip(line: str, cwd: str = "") -> Install:
    return pip_install(words(line), cwd)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("-e .[test,dev]", Install(project=True, editable=True, extras=("test", "dev"))),
        ("-e.", Install(project=True, editable=True)),
        (".", Install(project=True)),
        ("./", Install(project=True)),
        ("'.[test]'", Install(project=True, extras=("test",))),
        ("-ve .", Install(project=True, editable=True)),
        ("pytest>=8 numpy==2.0.* -U", Install(requirements=("pytest>=8", "numpy==2.0.*"), upgrade=True)),
        ("-r requirements/test.txt", Install(requirement_files=("requirements/test.txt",))),
        ("-rtest.txt -c minver.txt", Install(requirement_files=("test.txt",), constraint_files=("minver.txt",))),
        ("--group test", Install(groups=("test",))),
        ("--group sub/pyproject.toml:test", Install(groups=("test",))),
        (". --no-build-isolation --no-deps", Install(project=True, no_build_isolation=True, no_deps=True)),
        ("--pre numpy", Install(requirements=("numpy",), prereleases=True)),
        ("dist/*.whl", Install(project=True, built=True)),
        ("dist/pkg-1.0.tar.gz[test]", Install(project=True, built=True, extras=("test",))),
        ("./plugins/x -e ../other", Install(requirements=("-e ../other", "./plugins/x"))),
        ("git+https://x/y.git@main#egg=z", Install(requirements=("git+https://x/y.git@main#egg=z",))),
        ("--index-url https://i/s numpy --no-index",
         Install(requirements=("numpy",), set_aside=("--index-url https://i/s", "--no-index"))),
        ("--only-binary :all: numpy", Install(requirements=("numpy",), set_aside=("--only-binary :all:",))),
    ],
)  # fmt: skip
def test_pip_install_is_read(line: str, expected: Install) -> None:
    assert pip(line) == expected


def test_config_settings_keep_their_order_and_may_come_more_than_once() -> None:
    line = ". -v -Csetup-args=-Da=1 -C setup-args=-Db=2 --config-settings=builddir=build"
    assert pip(line).config_settings == ("setup-args=-Da=1", "setup-args=-Db=2", "builddir=build")


def test_paths_count_from_the_folder_of_the_command() -> None:
    assert pip("-e .. -r req.txt", "sub") == Install(
        project=True, editable=True, requirement_files=("sub/req.txt",)
    )
    assert pip(".", "sub").requirements == ("./sub",)


def test_what_is_not_known_is_named_and_left_out() -> None:
    found = pip("pytest $EXTRA -r req-${V}.txt")
    assert found.requirements == ("pytest",)
    assert set(found.unknown) == {"req-${V}.txt", "$EXTRA"}
    assert not found.requirement_files


def test_uv_sync_installs_the_project_and_its_default_groups() -> None:
    assert uv_sync(words("--extra test --group lint --frozen"), "") == Install(
        project=True, editable=True, extras=("test",), groups=("lint",), default_groups=True
    )


def test_uv_sync_of_a_group_alone_leaves_the_project_out() -> None:
    found = uv_sync(words("--only-group docs"), "")
    assert (found.project, found.groups, found.default_groups) == (False, ("docs",), False)


def test_uv_sync_of_everything_names_a_star() -> None:
    found = uv_sync(words("--all-extras --all-groups"), "")
    assert (found.extras, found.groups) == (("*",), ("*",))


def test_poetry_and_maturin_install_in_place() -> None:
    assert manager_install("poetry", words("--with test,docs")).groups == ("test", "docs")
    assert manager_install("poetry", words("--no-root")).project is False
    assert manager_install("maturin", words("--extras test")) == Install(
        project=True, editable=True, extras=("test",)
    )


def test_setup_py_develop_is_an_editable_install_and_build_ext_is_none() -> None:
    assert setup_py(words("develop")) == Install(project=True, editable=True)
    assert setup_py(words("build_ext --inplace")) is None
