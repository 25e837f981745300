from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from presubmit.upstream.recipes.commands import Recognised, all_commands, recognise
from presubmit.upstream.recipes.installs import Install
from presubmit.upstream.recipes.kinds import Kind
from presubmit.upstream.recipes.shell_script import read_script

if TYPE_CHECKING:
    from collections.abc import Callable


def files(**texts: str) -> Callable[[str], str | None]:
    return {
        name.replace("__", "/").replace("_DOT_", "."): text for name, text in texts.items()
    }.get


def nothing(_path: str) -> str | None:
    return None


def see(line: str, read: Callable[[str], str | None] = nothing, **env: str) -> Recognised:
    (command,) = read_script(line, env).commands
    return recognise(command, env, read)


@pytest.mark.parametrize(
    ("line", "kind", "tool", "via"),
    [
        ("pytest", Kind.TEST, "pytest", ()),
        ("python -m pytest", Kind.TEST, "pytest", ("python -m",)),
        ("python3.12 -Im pytest", Kind.TEST, "pytest", ("python -m",)),
        ("python -X dev -W error -m pytest py", Kind.TEST, "pytest", ("python -m",)),
        ("$PYTHON -m pytest", Kind.TEST, "pytest", ("python -m",)),
        ("uv run --with x --extra e --group g -p 3.12 pytest -v", Kind.TEST, "pytest", ("uv run",)),
        ("uv run --no-sync -m pytest", Kind.TEST, "pytest", ("uv run", "python -m")),
        ("poetry run pytest", Kind.TEST, "pytest", ("poetry run",)),
        ("pdm run python -m pytest", Kind.TEST, "pytest", ("pdm run", "python -m")),
        ("pixi run -e test -- pytest", Kind.TEST, "pytest", ("pixi run",)),
        ("conda run -n x pytest", Kind.TEST, "pytest", ("conda run",)),
        ("coverage run --source src -m pytest", Kind.TEST, "pytest", ("coverage run", "python -m")),
        ("python -m coverage run -m pytest tests", Kind.TEST, "pytest", ("python -m", "coverage run", "python -m")),
        ("xvfb-run -a -s '-screen 0 1x1x8' pytest", Kind.TEST, "pytest", ("xvfb-run",)),
        ("sudo -E env A=b nice -n 5 timeout 30m pytest", Kind.TEST, "pytest", ("sudo", "env", "nice", "timeout")),
        ("time pytest", Kind.TEST, "pytest", ()),
        ("sde -spr -- python -m pytest", Kind.TEST, "pytest", ("sde", "python -m")),
        ("uvx --with tox-uv tox@4.30 run -e py312", Kind.TEST, "tox", ("uvx",)),
        ("pipx run nox==2025.5.1 -s tests", Kind.TEST, "nox", ("pipx run",)),
        ("python -m unittest discover", Kind.TEST, "unittest", ("python -m",)),
        ("ctest --test-dir build", Kind.TEST, "ctest", ()),
        ("cmake --build build --target pytest", Kind.TEST, "cmake", ()),
        ("python runtests.py -v", Kind.TEST, "python runtests.py", ()),
        ("spin test -- numpy/linalg", Kind.TEST, "spin", ()),
        ("hatch test -py 3.12", Kind.TEST, "hatch", ()),
        ("pytest --benchmark-only", Kind.BENCH, "pytest", ()),
        ("pytest tests/benchmarks --codspeed", Kind.BENCH, "pytest", ()),
        ("pytest --version", Kind.SILENT, "pytest", ()),
        ("asv run", Kind.BENCH, "asv", ()),
        ("spin bench --quick", Kind.BENCH, "spin", ()),
        ("tox -e lint", Kind.LINT, "tox", ()),
        ("tox -e docs", Kind.DOCS, "tox", ()),
        ("tox run -e py312-lint,py313", Kind.TEST, "tox", ()),
        ("python -m tox", Kind.TEST, "tox", ("python -m",)),
        ("nox -s lint docs", Kind.DOCS, "nox", ()),
        ("ruff check .", Kind.LINT, "ruff", ()),
        ("python -m mypy src", Kind.LINT, "mypy", ("python -m",)),
        ("python -m pre_commit run -a", Kind.LINT, "pre-commit", ("python -m",)),
        ("ruff --version", Kind.SILENT, "ruff", ()),
        ("lintrunner -a", Kind.LINT, "lintrunner", ()),
        ("hatch fmt --check", Kind.LINT, "hatch", ()),
        ("sphinx-build -W docs out", Kind.DOCS, "sphinx-build", ()),
        ("python -m sphinx docs out", Kind.DOCS, "sphinx", ("python -m",)),
        ("make -C docs html", Kind.DOCS, "make", ()),
        ("mkdocs build", Kind.DOCS, "mkdocs", ()),
        ("python -m build", Kind.BUILD, "build", ("python -m",)),
        ("python setup.py build_ext --inplace", Kind.BUILD, "setup.py", ()),
        ("cmake -B build -DTEST=ON", Kind.BUILD, "cmake", ()),
        ("meson setup build", Kind.BUILD, "meson", ()),
        ("meson test -C build", Kind.TEST, "meson", ()),
        ("cibuildwheel --only cp312", Kind.BUILD, "cibuildwheel", ()),
        ("make all", Kind.BUILD, "make", ()),
        ("make test", Kind.TEST, "make", ()),
        ("make install-test-deps", Kind.OTHER, "make", ()),
        ("pip install x", Kind.INSTALL, "pip", ()),
        ("python -m pip install x", Kind.INSTALL, "pip", ("python -m",)),
        ("python -mpip install x", Kind.INSTALL, "pip", ("python -m",)),
        ("pip3.12 list", Kind.SILENT, "pip", ()),
        ("uv pip install x", Kind.INSTALL, "pip", ()),
        ("uv tool install nox", Kind.INSTALL, "uv tool", ()),
        ("twine upload dist/*", Kind.RELEASE, "twine", ()),
        ("twine check dist/*", Kind.BUILD, "twine", ()),
        ("sudo DEBIAN_FRONTEND=x apt-get install y", Kind.SETUP, "apt-get", ("sudo",)),
        ("echo pytest", Kind.SILENT, "echo", ()),
        ("docker run image pytest", Kind.OTHER, "docker", ()),
        ("python -c 'import pytest'", Kind.OTHER, "python -c", ()),
        ("cargo clippy", Kind.LINT, "cargo", ()),
        ("./unknown-thing", Kind.OTHER, "unknown-thing", ()),
        ("pip wheel .", Kind.BUILD, "pip wheel", ()),
        ("pip uninstall -y x", Kind.SETUP, "pip", ()),
        ("uv build", Kind.BUILD, "uv build", ()),
        ("uv publish", Kind.RELEASE, "uv publish", ()),
        ("uv lock --check", Kind.LINT, "uv lock", ()),
        ("uv venv", Kind.SETUP, "uv", ()),
        ("uv format", Kind.LINT, "uv format", ()),
        ("pipx ensurepath", Kind.SETUP, "pipx", ()),
        ("python setup.py test", Kind.TEST, "setup.py", ()),
        ("python manage.py test", Kind.TEST, "manage.py", ()),
        ("python --version", Kind.SILENT, "python", ()),
        ("py -3.12 -m pytest", Kind.TEST, "pytest", ("python -m",)),
        ("maturin develop --extras test", Kind.INSTALL, "maturin", ()),
        ("poetry build", Kind.BUILD, "poetry", ()),
        ("poetry publish", Kind.RELEASE, "poetry", ()),
        ("poetry check", Kind.SETUP, "poetry", ()),
        ("pdm", Kind.INSTALL, "pdm", ()),
        ("hatch build", Kind.BUILD, "hatch", ()),
        ("hatch publish", Kind.RELEASE, "hatch", ()),
        ("hatch env create", Kind.SETUP, "hatch", ()),
        ("hatch env run -e lint -- ruff check", Kind.LINT, "hatch", ()),
        ("just lint", Kind.LINT, "just", ()),
        ("nox --list", Kind.SILENT, "nox", ()),
        ("nox", Kind.TEST, "nox", ()),
        ("spin lint", Kind.LINT, "spin", ()),
        ("spin docs html", Kind.DOCS, "spin", ()),
        ("spin test --doctest", Kind.DOCS, "spin", ()),
        ("spin run -- python x.py", Kind.OTHER, "spin", ()),
        ("setarch i386 pytest", Kind.TEST, "pytest", ("setarch",)),
        ("taskset -c 0 pytest", Kind.OTHER, "taskset", ()),
        ("uv tool run ruff check", Kind.LINT, "ruff", ("uvx",)),
        ("pdm run lint", Kind.LINT, "pdm", ("pdm run",)),
        ("python -m test.support", Kind.OTHER, "test.support", ("python -m",)),
    ],
)  # fmt: skip
def test_a_command_is_recognised(line: str, kind: Kind, tool: str, via: tuple[str, ...]) -> None:
    found = see(line)
    assert (found.kind, found.tool, found.via) == (kind, tool, via)


def test_the_options_of_the_interpreter_are_kept_apart() -> None:
    found = see("python -X dev -W error -b -m pytest py -W error")
    assert found.pytest is not None
    assert found.pytest.python_options == ("-X", "dev", "-W", "error", "-b")
    assert (found.pytest.paths, found.pytest.options) == (("py",), ("-W", "error"))


def test_pytest_alone_is_told_from_python_m_pytest() -> None:
    assert [see(line).pytest.module for line in ("pytest", "python -m pytest")] == [False, True]  # type: ignore[union-attr]


def test_uv_run_installs_what_it_names() -> None:
    found = see(
        "uv run --with numpy<2 --extra e --group g --python 3.12 pytest".replace("<", "==")
    )
    assert found.install == Install(
        project=True,
        editable=True,
        requirements=("numpy==2",),
        extras=("e",),
        groups=("g",),
        default_groups=True,
    )
    assert found.python == "3.12"


def test_uv_run_without_the_project_installs_what_is_with_it_alone() -> None:
    assert see("uv run --no-project --with pytest pytest").install == Install(
        requirements=("pytest",)
    )
    assert see("uv run --no-sync pytest").install is None


def test_a_pinned_tool_of_uvx_is_a_requirement() -> None:
    assert see("uvx --with tox-uv tox@4.30").install == Install(
        requirements=("tox==4.30", "tox-uv")
    )
    assert see("uvx ruff@latest check").install == Install(requirements=("ruff",))
    assert see("pipx run ruff==0.6.2 check").install == Install(requirements=("ruff==0.6.2",))


def test_an_unknown_variable_makes_a_call_not_literal() -> None:
    found = see("pytest $PYTEST_ARGS -v")
    assert found.literal is False
    assert found.pytest is not None
    assert (found.pytest.unknown, found.pytest.options) == (("$PYTEST_ARGS",), ("-v",))


def test_a_known_variable_is_split_into_the_words_it_holds() -> None:
    found = see("${PYTEST} tests/test_codebase.py", PYTEST="python -m pytest -v -n auto")
    assert found.pytest is not None
    assert found.pytest.options == ("-v", "-n", "auto")


def test_env_sets_variables() -> None:
    assert {n: w.text for n, w in see("A=1 env B=2 pytest").env} == {"A": "1", "B": "2"}


@pytest.mark.parametrize(
    ("line", "env", "targets"),
    [
        ("tox -e py312,lint", {}, ("py312", "lint")),
        ("tox -qe py312 -- -v", {}, ("py312",)),
        ("tox run --installpkg dist/x.whl -e py3", {}, ("py3",)),
        ("tox run --skip-missing-interpreters false -e py3", {}, ("py3",)),
        ("tox run --skip-missing-interpreters -e py3", {}, ("py3",)),
        ("tox", {"TOXENV": "py311"}, ("py311",)),
        ("tox", {"TOX_ENV": "py310-x"}, ("py310-x",)),
        ("tox -f typing", {}, ("typing",)),
        ("nox -s tests-3.12 lint -- -x", {}, ("tests-3.12", "lint")),
        ("nox --session=docs", {}, ("docs",)),
        ("nox", {"NOXSESSION": "tests"}, ("tests",)),
        ("make -j test", {}, ("test",)),
        ("make -j 2 PYTHON=x test lint", {}, ("test", "lint")),
        ("cmake --build . --target check -j 2", {}, ("check",)),
    ],
)
def test_targets_are_found(line: str, env: dict[str, str], targets: tuple[str, ...]) -> None:
    assert see(line, nothing, **env).targets == targets


def test_tox_without_running_is_no_test() -> None:
    assert see("tox run --notest -e py312").kind is Kind.SETUP
    assert see("tox list").kind is Kind.SILENT


def test_the_commands_of_tox_are_read_from_its_file() -> None:
    read = files(
        tox_DOT_ini="[testenv:odd]\nchange_dir = sub\ncommands = python -m pytest {posargs:-v} x\n"
    )
    found = see("tox -e odd -- -k a", read)
    (inner,) = found.inner
    assert (found.kind, found.origin, inner.cwd) == (Kind.TEST, "tox.ini [testenv:odd]", "sub")
    assert inner.pytest is not None
    assert inner.pytest.options == ("-k", "a")


def test_a_makefile_tells_what_a_target_runs() -> None:
    read = files(
        Makefile="PY = python3\nthing: dep  ## does it\n\t@$(PY) -m pytest $(ARGS)\ndep:\n\truff check .\n"
    )
    found = see("make thing ARGS=-v", read)
    assert found.kind is Kind.TEST
    assert [(c.tool, c.arguments) for c in found.inner] == [
        ("ruff", ("check", ".")),
        ("pytest", ("-v",)),
    ]


def test_a_shell_script_of_the_tree_is_read() -> None:
    read = files(ci__go_DOT_sh="#!/bin/sh\ncd sub\npytest\n")
    found = see("./ci/go.sh", read)
    assert (found.kind, found.tool, found.origin) == (Kind.TEST, "go.sh", "ci/go.sh")
    assert [c.cwd for c in found.inner] == ["sub"]


def test_a_script_that_calls_itself_ends() -> None:
    found = see("bash go.sh", files(go_DOT_sh="./go.sh\n"))
    assert len(list(all_commands(found))) < 10


def test_a_script_that_is_not_there_is_known_by_its_name() -> None:
    assert see("./ci/run_tests.sh").kind is Kind.TEST


def test_the_text_after_bash_c_is_read() -> None:
    found = see("bash -c 'cd x && pytest -v'")
    assert (found.kind, found.inner[0].cwd) == (Kind.TEST, "x")


@pytest.mark.parametrize(
    ("line", "pyproject"),
    [
        ("hatch run test -v", '[tool.hatch.envs.default.scripts]\ntest = "pytest {args}"'),
        ("hatch run ci:go -v", '[tool.hatch.envs.ci.scripts]\ngo = ["pytest"]'),
        ("hatch -e ci run go -v", '[tool.hatch.envs.ci.scripts]\ngo = "pytest {args:tests}"'),
        ("hatch run pytest -v", ""),
        ("pdm run check -v", '[tool.pdm.scripts]\ncheck = {cmd = "pytest"}'),
        ("pdm check -v", '[tool.pdm.scripts]\ncheck = "pytest"'),
        ("pixi run t -v", '[tool.pixi.tasks]\nt = "pytest"'),
        ("pixi run -e e t -v", '[tool.pixi.feature.f.tasks]\nt = {cmd = ["pytest"]}'),
        ("poe t -v", '[tool.poe.tasks]\nt = "pytest"'),
    ],
)
def test_the_scripts_of_managers_are_read(line: str, pyproject: str) -> None:
    found = see(line, files(pyproject_DOT_toml=pyproject))
    calls = [c for c in all_commands(found) if c.pytest is not None]
    assert [c.pytest.options for c in calls if c.pytest is not None] == [("-v",)]


def test_a_task_of_a_manager_without_a_file_is_known_by_its_name() -> None:
    assert [see(f"pixi run {name}").kind for name in ("test-slow", "lint", "build")] == [
        *(Kind.TEST, Kind.LINT, Kind.BUILD)
    ]


def test_spin_install_is_an_editable_install() -> None:
    assert see("spin install").install == Install(project=True, editable=True)


def test_uv_tool_install_pins_with_an_at_sign() -> None:
    assert see("uv tool install --with tox-uv tox@4.30").install == Install(
        requirements=("tox==4.30", "tox-uv")
    )
    assert see("pipx install nox==2025.5.1").install == Install(requirements=("nox==2025.5.1",))


def test_pip_sync_installs_from_files() -> None:
    assert see("uv pip sync a.txt").install == Install(requirement_files=("a.txt",))


def test_a_tox_whose_environment_is_not_known_has_one_target() -> None:
    found = see("tox -e ${{ matrix.a || 'b c' }}")
    assert (found.targets, found.literal) == (("${{ matrix.a || 'b c' }}",), False)


def test_an_overlong_chain_of_wrappers_ends() -> None:
    assert see("env " * 40 + "pytest").tool == "env"
