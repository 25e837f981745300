from __future__ import annotations

import pytest

from presubmit.upstream.recipes.roles import Role, StepScript, role_of


def run(script: str, line: int = 10, **more: str) -> StepScript:
    return StepScript(script=script, line=line, **more)  # type: ignore[arg-type]


def use(uses: str, line: int = 5, **inputs: str) -> StepScript:
    return StepScript(uses=uses, line=line, inputs=inputs)


def role(*steps: StepScript, job: str = "", name: str = "", workflow: str = "ci.yml") -> Role:
    return role_of(steps, job=job, name=name, workflow=workflow)[0]


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("pip install -e .[test]\npytest -v", Role.TESTS),
        ("ruff check .\nmypy src\npytest", Role.TESTS),
        ("pip install ruff\nruff check .", Role.LINT),
        ("python -m build\ntwine check dist/*", Role.BUILD),
        ("pip install .\nsphinx-build docs out", Role.DOCS),
        ("pip install .\nasv run", Role.BENCH),
        ("spin build\nspin bench --quick", Role.BENCH),
        ("pytest --benchmark-only", Role.BENCH),
        ("pytest docs/ --doctest-glob='*.rst'", Role.DOCS),
        ("cmake -B build\ncmake --build build\nctest", Role.TESTS),
        ("tox -e py312", Role.TESTS),
        ("tox run -e lint", Role.LINT),
        ("tox -e docs-doctests", Role.DOCS),
        ("nox -s tests-3.12", Role.TESTS),
        ("make lint", Role.LINT),
        ("echo done", Role.OTHER),
        ("pip install x\npython -c 'import x'", Role.OTHER),
        ("gh pr merge", Role.OTHER),
    ],
)
def test_a_job_is_what_its_commands_are(script: str, expected: Role) -> None:
    assert role(run(script)) is expected


@pytest.mark.parametrize(
    ("uses", "expected"),
    [
        ("pre-commit/action@v3", Role.LINT),
        ("zizmorcore/zizmor-action@v1", Role.LINT),
        ("pypa/cibuildwheel@v3", Role.BUILD),
        ("hynek/build-and-inspect-python-package@v2", Role.BUILD),
        ("CodSpeedHQ/action@v3", Role.BENCH),
        ("re-actors/alls-green@release/v1", Role.OTHER),
        ("pypa/gh-action-pypi-publish@release/v1", Role.OTHER),
        ("actions/checkout@v5", Role.OTHER),
    ],
)
def test_an_action_may_tell(uses: str, expected: Role) -> None:
    assert role(use(uses)) is expected


def test_a_job_that_builds_in_order_to_publish_is_a_release() -> None:
    steps = (run("python -m build"), use("pypa/gh-action-pypi-publish@release/v1"))
    assert role(*steps) is Role.OTHER
    assert role(run("python -m build\nuv publish")) is Role.OTHER


def test_the_reason_names_the_command_and_its_line() -> None:
    steps = (run("pip install x", 12), run("set -e\npython -m pytest", 30))
    assert role_of(steps, workflow="ci.yml") == (Role.TESTS, "pytest at ci.yml:32")


def test_a_script_of_one_line_stands_on_the_line_of_its_key() -> None:
    assert role_of((run("pytest", 31),), workflow="ci.yml")[1] == "pytest at ci.yml:31"


def test_the_reason_names_what_tox_runs() -> None:
    read = {"tox.ini": "[testenv:odd]\ncommands = mypy src\n"}.get
    found = role_of((run("tox -e odd", 7),), workflow="ci.yml", read=read)
    assert found == (Role.LINT, "mypy of tox -e odd at ci.yml:7")


def test_the_name_decides_between_lint_and_docs_but_not_against_a_test_run() -> None:
    both = run("pre-commit run -a\nmake -C docs html")
    assert (role(both, job="lint"), role(both, job="docs")) == (Role.LINT, Role.DOCS)
    assert role(run("ruff check .\npytest"), job="check") is Role.TESTS
    assert role(run("ruff check .\npytest"), job="lint-and-test") is Role.TESTS


def test_a_job_named_for_lint_that_also_tests_a_script_of_its_own_is_lint() -> None:
    assert role(run("pre-commit run -a\npytest scripts"), job="linters") is Role.LINT


def test_a_job_named_build_that_tests_is_tests() -> None:
    assert role(run("cmake -B b\ncmake --build b --target check"), job="build") is Role.TESTS


def test_what_is_not_known_goes_by_the_names() -> None:
    odd = run("./do-it --all")
    assert role(odd, job="unit-tests") is Role.TESTS
    assert role(odd, job="build", workflow="test-docker.yml") is Role.TESTS
    assert role(odd, job="build") is Role.BUILD
    assert role(odd, job="main") is Role.OTHER


def test_a_name_alone_makes_no_role_of_a_job_that_does_nothing() -> None:
    steps = (use("re-actors/alls-green@release/v1"), run("echo ok"))
    assert role(*steps, job="test-summary", workflow="tests.yml") is Role.OTHER


def test_a_local_action_that_was_not_read_goes_by_its_name() -> None:
    assert role(use("./.github/actions/run-tests")) is Role.TESTS


def test_a_shell_within_another_command_is_read_and_powershell_is_not() -> None:
    script = 'script -q -e -c "bash --noprofile --norc -eo pipefail {0}"'
    assert role(StepScript(script="spin test", line=1, shell=script)) is Role.TESTS
    odd = StepScript(script="pytest", line=1, shell="pwsh")  # noqa: S604 - a value, not a call
    assert role(odd, job="x") is Role.OTHER


def test_the_script_that_an_action_is_given_is_read() -> None:
    assert role(use("nick-fields/retry@v3", command="pytest -v")) is Role.TESTS


def test_a_command_in_a_doubtful_branch_counts_less_than_a_sure_one() -> None:
    assert (
        role(run('if [ -n "$X" ]; then python tools/test_it.py; fi\nruff check .'), job="lint")
        is Role.LINT
    )


def test_a_target_whose_recipe_says_nothing_goes_by_its_name() -> None:
    read = {"Makefile": "lint-all:\n\t./dprint check\n\tclang-format --version\n"}.get
    assert role_of((run("make lint-all", 7),), workflow="ci.yml", read=read) == (
        *(Role.LINT, "make lint-all at ci.yml:7"),
    )
