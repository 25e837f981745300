from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from presubmit.upstream.recipes.gather import recipe_of
from presubmit.upstream.recipes.installs import Install
from presubmit.upstream.recipes.job_commands import StepScript
from presubmit.upstream.recipes.narrowing import Needs
from presubmit.upstream.recipes.recipe import NotTaken, Recipe, Runner, TestRun, merged

if TYPE_CHECKING:
    from collections.abc import Callable


def run(script: str, line: int = 10, **more: object) -> StepScript:
    return StepScript(script=script, line=line, **more)  # type: ignore[arg-type]


def use(uses: str, line: int = 5, **inputs: str) -> StepScript:
    return StepScript(uses=uses, line=line, inputs=inputs)


def recipe(
    *steps: StepScript,
    read: Callable[[str], str | None] = lambda _: None,
    repository: str = "me/proj",
) -> Recipe:
    return recipe_of(steps, file="ci.yml", read=read, project="proj", repository=repository)


def only(found: Recipe) -> TestRun:
    (test,) = found.tests
    return test


def refused(found: Recipe) -> list[tuple[str, str]]:
    return [(each.what, each.why) for each in found.not_taken]


# kiwisolver 1.5.1, ci.yml
KIWI = (
    use("actions/checkout@v6", 116),
    StepScript(uses="actions/setup-python@v6", line=119, inputs={"python-version": "3.12"}),
    run("pip install --upgrade pip\npip install -e . --no-build-isolation -Csetup-args=-Da=1\n", 124),
    run("pip install pytest\npython -X dev -m pytest py -W error\n", 130, env={"CI_X": "1", "GITHUB_REF": "r"}),
)  # fmt: skip


def test_a_plain_job_is_taken_over_whole() -> None:
    found = recipe(*KIWI)
    test = only(found)
    assert test.pytest is not None
    assert (test.origin, test.runner, test.needs) == ("ci.yml:132", Runner.DIRECT, Needs.NOTHING)
    assert test.pytest.python_options == ("-X", "dev")
    assert (test.pytest.paths, test.pytest.options) == (("py",), ("-W", "error"))
    assert test.env == {"CI_X": "1"}
    assert (found.python, found.python_origin) == ("3.12", "ci.yml:119")
    assert [step.origin for step in found.installs] == ["ci.yml:126", "ci.yml:131"]
    assert found.install == Install(
        project=True,
        editable=True,
        requirements=("pytest",),
        config_settings=("setup-args=-Da=1",),
        no_build_isolation=True,
    )
    assert found.not_taken == ()


def test_each_of_several_calls_is_a_run_of_its_own_with_its_own_environment() -> None:
    found = recipe(run("pytest -v test"), run("MSGPACK_PUREPYTHON=1 pytest -v test", 20))
    assert [(t.origin, t.env) for t in found.tests] == [
        ("ci.yml:10", {}),
        ("ci.yml:20", {"MSGPACK_PUREPYTHON": "1"}),
    ]


def test_what_prepares_the_machine_is_named_and_not_taken() -> None:
    found = recipe(run("sudo apt-get install -y ninja-build\npytest\n", 11))
    assert found.not_taken == (
        NotTaken(origin="ci.yml:12", what="sudo apt-get install -y ninja-build", why="prepares the machine"),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("for v in a b; do pytest $v; done", "only under `for loop`"),
        ('if [ -n "$X" ]; then pytest; fi', "only under `if`"),
        ("make || pytest", "only under `||`"),
        ("cd $X && pytest", "in which folder it runs is not known"),
        ("cd .. && pytest proj", "it runs outside of the checkout"),
    ],
)
def test_a_test_run_that_is_in_doubt_is_refused(script: str, why: str) -> None:
    found = recipe(run(script))
    assert found.tests == ()
    assert why in [reason for _, reason in refused(found)]


def test_a_step_whose_condition_is_not_known_is_refused() -> None:
    found = recipe(run("pytest", certain=False))
    assert refused(found) == [("pytest", "its step's condition is not known")]


def test_words_that_are_not_known_are_left_out_and_named() -> None:
    test = only(recipe(run("pytest $PYTEST_ARGS -v")))
    assert test.pytest is not None
    assert (test.pytest.options, test.unknown) == (("-v",), ("$PYTEST_ARGS",))


def test_a_variable_written_into_github_env_holds_in_later_steps() -> None:
    steps = (
        run('echo "PYTEST_ADDOPTS=-m slow" >> $GITHUB_ENV\necho "D=$(date)" >> $GITHUB_ENV\n'),
        run("pytest", 20),
    )
    found = recipe(*steps)
    assert only(found).env == {"PYTEST_ADDOPTS": "-m slow"}
    assert refused(found) == [("the variable D", "its value is not known")]


def test_a_variable_of_an_earlier_step_s_shell_does_not_last() -> None:
    assert only(recipe(run("export A=1"), run("pytest", 20))).env == {}


def test_names_of_secrets_and_of_github_are_no_part_of_the_environment() -> None:
    env = {
        "CODECOV_TOKEN": "",
        "RUNNER_OS": "Linux",
        "FORCE_COLOR": "1",
        "PATH": "/x",
        "OMP_NUM_THREADS": "1",
    }
    assert only(recipe(run("pytest", env=env))).env == {"OMP_NUM_THREADS": "1"}


def test_the_working_directory_and_cd_give_the_folder() -> None:
    test = only(recipe(run("cd tests && pytest", working_directory="./python")))
    assert test.cwd == "python/tests"


def test_paths_below_the_workspace_are_made_relative() -> None:
    env = {"GITHUB_WORKSPACE": "/w/proj"}
    script = (
        "cd $GITHUB_WORKSPACE/tools\npytest -c $GITHUB_WORKSPACE/x.ini ${GITHUB_WORKSPACE}/tests\n"
    )
    test = only(recipe(run(script, env=env)))
    assert test.pytest is not None
    assert (test.cwd, test.pytest.options, test.pytest.paths) == (
        *("tools", ("-c", "../x.ini"), ("../tests",)),
    )


def test_the_workspace_may_go_unnamed() -> None:
    assert only(recipe(run("cd ${GITHUB_WORKSPACE}/tools && pytest"))).cwd == "tools"


def test_an_isolated_interpreter_needs_the_plugin_in_its_environment() -> None:
    assert only(recipe(run("python -Im pytest"))).needs is Needs.SITE_PACKAGES


# numpy, linux.yml: ml_dtypes_compat
def test_tests_of_another_repository_are_refused() -> None:
    steps = (
        use("actions/checkout@v5"),
        use("actions/checkout@v5", 8, repository="jax-ml/ml_dtypes", path="ml_dtypes"),
        run("pip install .\ncd ml_dtypes\npip install -e .[dev]\npytest ml_dtypes/tests\n", 10),
    )
    found = recipe(*steps)
    assert found.tests == ()
    assert found.install == Install(project=True)
    assert [why for _, why in refused(found)] == ["it works on another repository"] * 2


# pydantic, third-party.yml
def test_a_project_that_is_checked_out_elsewhere_is_found_there() -> None:
    steps = (
        use("actions/checkout@v5", repository="fastapi/fastapi"),
        use("actions/checkout@v5", 8, path="latest"),
        run("uv pip install -e ./latest\npytest tests\ncd latest && pytest\n", 10),
    )
    found = recipe(*steps)
    assert only(found).cwd == ""
    assert found.install == Install(project=True, editable=True)
    assert refused(found) == [("pytest tests", "it works on another repository")]


def test_a_checkout_that_names_the_project_itself_is_the_project() -> None:
    assert only(recipe(use("actions/checkout@v5", repository="Me/Proj"), run("pytest"))).cwd == ""


def test_a_wheel_built_before_is_the_project() -> None:
    found = recipe(run("python -m build\npip install dist/*.whl\npytest --pyargs proj\n"))
    test = only(found)
    assert [step.tool for step in found.builds] == ["build"]
    assert (found.install.project, found.install.built, found.install.editable) == (
        True,
        True,
        False,
    )
    assert test.pytest is not None
    assert test.pytest.packages == ("proj",)


def test_the_project_by_name_from_a_folder_of_wheels_is_the_project() -> None:
    found = recipe(run("pip install --find-links dist --no-index proj[test]\npytest"))
    assert (found.install.project, found.install.built, found.install.extras) == (
        True,
        True,
        ("test",),
    )
    assert found.install.set_aside == ("--find-links dist", "--no-index")


def test_builds_before_the_tests_are_taken_and_those_after_are_not() -> None:
    found = recipe(run("make cython\npython setup.py build_ext -i\npytest\npython -m build\n"))
    assert [(s.origin, s.script) for s in found.builds] == [
        ("ci.yml:11", "make cython"),
        ("ci.yml:12", "python setup.py build_ext -i"),
    ]


# pluggy 1.7.0, test.yml
TOX_INI = """
[testenv]
deps = coverage
    -r req.txt
dependency_groups = testing
set_env =
    A = 1
commands = {env:CMD:pytest} {posargs}
[testenv:own]
pass_env = X
"""


def test_tox_is_taken_with_what_its_file_says() -> None:
    read = {"tox.ini": TOX_INI}.get
    steps = (run("pip install tox"), run("tox run", 20, env={"TOX_ENV": "py310"}))
    found = recipe(*steps, read=read)
    test = only(found)
    assert (test.runner, test.targets, test.python) == (Runner.TOX, ("py310",), "3.10")
    assert (test.needs, test.found_in) == (Needs.TOX_OVERRIDE, "tox.ini [testenv]")
    assert test.pytest is not None
    assert test.env["A"] == "1"
    assert found.installs[-1].install == Install(
        requirements=("coverage",),
        requirement_files=("req.txt",),
        groups=("testing",),
        project=True,
    )


def test_each_environment_of_tox_is_a_run() -> None:
    text = "[testenv:a]\ncommands = pytest a\n[testenv:b]\ncommands = pytest b\n"
    found = recipe(run("tox -e a,b"), read={"tox.ini": text}.get)
    assert [t.pytest.paths for t in found.tests if t.pytest] == [("a",), ("b",)]


def test_nox_is_taken_as_it_is_since_its_file_is_code() -> None:
    test = only(recipe(run("nox -s tests-3.12")))
    assert (test.runner, test.targets, test.pytest) == (Runner.NOX, ("tests-3.12",), None)


def test_a_make_target_is_followed_into_the_makefile() -> None:
    read = {"Makefile": "test:\n\tpip install -e .\n\tpytest -v test\n"}.get
    found = recipe(run("make test"), read=read)
    test = only(found)
    assert test.pytest is not None
    assert (test.runner, test.found_in, test.pytest.paths) == (Runner.MAKE, "Makefile", ("test",))
    assert found.install == Install(project=True, editable=True)


def test_uv_run_brings_its_own_installs() -> None:
    read = {"pyproject.toml": "[dependency-groups]\ndev = []\n"}.get
    found = recipe(run("uv run --group test pytest"), read=read)
    assert only(found).runner is Runner.UV_RUN
    assert (found.installs[0].tool, found.install.groups) == ("uv run", ("test", "dev"))


def test_tests_that_are_no_pytest_are_taken_as_they_are() -> None:
    test = only(recipe(run("cmake -B b\nctest --test-dir b\n")))
    assert (test.runner, test.pytest, test.command) == (
        Runner.OTHER,
        None,
        ("ctest", "--test-dir", "b"),
    )
    assert test.needs is Needs.UNKNOWN


def test_lint_commands_come_with_the_versions_that_the_job_installs() -> None:
    read = {"lint.txt": "mypy==1.15  # pinned\nruff\n"}.get
    steps = (
        use("pre-commit/action@v3", 7, extra_args="--all-files"),
        run(
            "pip install ruff==0.6.2 -r lint.txt\nruff check py\nmypy py\nuvx black@24.1 --check .\n"
        ),
    )
    found = recipe(*steps, read=read)
    assert [(s.origin, s.tool, s.arguments, s.requirement) for s in found.lints] == [
        ("ci.yml:7", "pre-commit", ("--all-files",), ""),
        ("ci.yml:12", "ruff", ("check", "py"), "ruff==0.6.2"),
        ("ci.yml:13", "mypy", ("py",), "mypy==1.15"),
        ("ci.yml:14", "black", ("--check", "."), "black==24.1"),
    ]


def test_what_lints_behind_tox_is_named() -> None:
    read = {"tox.ini": "[testenv:lint]\ncommands = ruff check {posargs}\n"}.get
    (step,) = recipe(run("tox -e lint -- src"), read=read).lints
    assert (step.tool, step.arguments, step.found_in) == (
        *("ruff", ("check", "src"), "tox.ini [testenv:lint]"),
    )


def test_the_commands_of_the_documentation_are_taken() -> None:
    (step,) = recipe(
        run("pip install sphinx==8.1\nsphinx-build -W . out", working_directory="docs")
    ).docs
    assert (step.words, step.cwd, step.requirement) == (
        ("sphinx-build", "-W", ".", "out"),
        "docs",
        "sphinx==8.1",
    )


def test_the_last_of_several_pythons_is_the_job_s() -> None:
    steps = (
        StepScript(
            uses="actions/setup-python@v5", line=3, inputs={"python-version": "3.11\n3.12"}
        ),
    )
    assert recipe(*steps).python == "3.12"


def test_a_shell_that_is_not_read_is_named() -> None:
    step = StepScript(script="pytest", line=10, shell="pwsh", name="Run")  # noqa: S604 - a value, not a call
    found = recipe(step)
    assert refused(found) == [("step `Run`", "its shell is `pwsh`")]


def test_a_script_that_cannot_be_read_is_named_with_its_line() -> None:
    found = recipe(run("pytest\necho 'x\n", 10))
    assert found.not_taken == (
        NotTaken(origin="ci.yml:12", what="a step", why="not read: `'` is not closed"),
    )
    assert len(found.tests) == 1


def test_lines_of_a_local_action_are_those_of_its_use() -> None:
    assert only(recipe(run("set -e\npytest\n", 10, within=False))).origin == "ci.yml:10"


def test_installs_are_merged_in_order() -> None:
    one = Install(requirements=("a",), extras=("x",), project=True, editable=True, no_deps=True)
    two = Install(requirements=("b", "a"), config_settings=("k=v",))
    assert merged((one, two)) == Install(
        requirements=("a", "b"), extras=("x",), project=True, editable=True, no_deps=True
    )


def test_the_last_way_to_install_the_project_counts() -> None:
    found = merged((Install(project=True, editable=True), Install(project=True, built=True)))
    assert (found.editable, found.built) == (False, True)


def test_an_install_whose_packages_are_not_known_is_named() -> None:
    found = recipe(run("pip install $EXTRA pytest\npytest"))
    assert found.install == Install(requirements=("pytest",), unknown=("$EXTRA",))
    assert refused(found) == [("pip install $EXTRA pytest", "not known: $EXTRA")]


def test_a_url_and_a_path_are_kept_as_they_are() -> None:
    script = "pip install git+https://x/y -e ./plugins/a $GITHUB_WORKSPACE/b\npytest\n"
    assert recipe(run(script)).install.requirements == ("-e ./plugins/a", "git+https://x/y", "./b")


def test_a_condition_within_a_script_of_the_tree_is_said() -> None:
    read = {"t.sh": 'if [ -n "$X" ]; then pytest; fi\n'}.get
    assert only(recipe(run("./t.sh"), read=read)).unknown == ("only under `if` in t.sh",)


def test_python_may_be_named_by_uv_alone() -> None:
    assert recipe(run("uv run pytest", env={"UV_PYTHON": "python3.13"})).python == "3.13"


def test_an_action_that_is_not_known_is_named() -> None:
    found = recipe(use("dtolnay/rust-toolchain@stable", 3), use("actions/download-artifact@v5", 4))
    assert refused(found) == [
        ("dtolnay/rust-toolchain@stable", "an action"),
        ("actions/download-artifact@v5", "what another job made"),
    ]


def test_a_folder_of_wheels_that_is_elsewhere_refuses_nothing_of_the_index() -> None:
    steps = (use("actions/checkout@v5", path="src"), run("pip install pytest\ncd src && pytest\n"))
    found = recipe(*steps)
    assert (only(found).cwd, found.install.requirements, found.not_taken) == ("", ("pytest",), ())


def test_everything_of_uv_is_expanded_to_names() -> None:
    text = "[dependency-groups]\na = []\nb = []\n[project.optional-dependencies]\nx = []\n"
    found = recipe(
        run("uv sync --all-extras --all-groups\npytest"), read={"pyproject.toml": text}.get
    )
    assert (found.install.groups, found.install.extras) == (("a", "b"), ("x",))
