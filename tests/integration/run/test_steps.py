"""Lint, docstrings, wheels, shards, flakes and the commands around a run, on a small project."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.integration.run.conftest import MakeProject, Project

pytestmark = [pytest.mark.engine, pytest.mark.network]

PYPROJECT = """\
[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "kitchen"
version = "1"
requires-python = ">=3.8"

[tool.setuptools.packages.find]
where = ["."]
include = ["kitchen*"]

[tool.ruff.lint]
select = ["D", "F"]
ignore = ["D104", "D100"]
pydocstyle.convention = "numpy"
"""
HOOKS = """\
repos:
  - repo: local
    hooks:
      - id: ruff-format
        name: ruff format
        entry: ruff format
        language: python
        types: [python]
        additional_dependencies: [ruff==0.17.6]
      - id: no-todo
        name: no todo
        entry: "TODO"
        language: pygrep
        types: [python]
"""
FILES = {
    "pyproject.toml": PYPROJECT,
    ".pre-commit-config.yaml": HOOKS,
    "kitchen/__init__.py": "",
    "kitchen/pan.py": '"""Pans."""\n\n\ndef fry(eggs):\n    """Fry eggs."""\n    return eggs + 1\n',
    "kitchen/pot.py": '"""Pots."""\n\n\ndef boil(eggs):\n    """Boil eggs."""\n    return eggs\n',
    "tests/test_pan.py": "from kitchen.pan import fry\n\n\ndef test_fry():\n    assert fry(1) == 2\n",
    "tests/test_pot.py": "from kitchen.pot import boil\n\n\ndef test_boil():\n    assert boil(1) == 1\n",
}


@pytest.fixture(scope="module")
def checkout(make_project: MakeProject) -> Project:
    return make_project("kitchen", files=FILES)


@pytest.fixture
def kitchen(checkout: Project) -> Project:
    checkout.back()
    return checkout


def write(project: Project, name: str, text: str) -> None:
    (project.path / name).write_text(text)


def test_only_the_tests_that_import_a_changed_module_are_run(
    kitchen: Project, in_container: tuple[str, ...]
) -> None:
    kitchen.edit("kitchen/pan.py", "eggs + 1", "1 + eggs")
    done = kitchen.presubmit("run", *in_container)
    assert done.exit_code == 0, done.output
    assert done.run["selection"]["mode"] == "scoped"
    assert done.step("tests.1")["counts"]["passed"] == 1
    ids = {s["id"]: s["outcome"] for s in done.run["steps"]}
    assert ids == dict.fromkeys(
        ("review.1", "lint.1", "lint.2", "build.1", "tests.1", "docs.1"), "passed"
    )


def test_lint_and_docstring_findings_are_new_or_on_base_and_fixes_can_be_applied(
    kitchen: Project, in_container: tuple[str, ...]
) -> None:
    kitchen.edit("kitchen/pan.py", '"""Pans."""\n', '"""Pans."""\n\n# TODO old\n')
    kitchen.commit_upstream()
    kitchen.edit("kitchen/pan.py", "return eggs + 1", "return eggs+1")
    with (kitchen.path / "kitchen/pan.py").open("a") as stream:
        stream.write("\n\ndef grill(eggs):\n    return eggs\n")
    done = kitchen.presubmit("run", *in_container)
    assert done.exit_code == 1, done.output
    classes = {(f["kind"], f["class"]) for f in done.run["failures"]}
    messages = " | ".join(f["message"] for f in done.run["failures"] if f["class"] == "new")
    assert ("lint", "new") in classes
    assert ("docs", "new") in classes
    assert "D103" in messages
    on_base = [f for f in done.run["failures"] if f["class"] == "on_base"]
    assert [f["kind"] for f in on_base] == ["lint"], done.run["failures"]
    # The checkout is as it was: what the tool changed waits in a patch.
    assert "return eggs+1" in (kitchen.path / "kitchen/pan.py").read_text()
    fixed = kitchen.presubmit("fix")
    assert fixed.exit_code == 0, fixed.output
    assert "return eggs + 1" in (kitchen.path / "kitchen/pan.py").read_text()
    again = kitchen.presubmit("fix")
    assert again.exit_code == 2
    assert "kitchen/pan.py" in again.output


def test_syntax_beyond_the_lowest_python_is_new(
    kitchen: Project, in_container: tuple[str, ...]
) -> None:
    kitchen.edit(
        "kitchen/pan.py",
        "    return eggs + 1",
        "    match eggs:\n        case _:\n            return eggs + 1",
    )
    done = kitchen.presubmit("run", "--only", "lint.1", *in_container)
    assert done.exit_code == 1, done.output
    assert "does not parse at Python 3.8" in done.output


def test_a_hook_that_cannot_be_installed_is_named_and_the_others_count(
    kitchen: Project, in_container: tuple[str, ...]
) -> None:
    hooks = HOOKS + (
        "      - id: nowhere\n        name: nowhere\n        entry: nowhere\n        language: python\n"
        "        additional_dependencies: [presubmit-no-such-package-anywhere==1]\n"
    )
    write(kitchen, ".pre-commit-config.yaml", hooks)
    kitchen.git("commit", "-q", "-a", "-m", "Add a hook")
    kitchen.git("update-ref", "refs/remotes/upstream/main", "HEAD")
    kitchen.edit("kitchen/pan.py", "eggs + 1", "1 + eggs")
    done = kitchen.presubmit("run", "--only", "lint", *in_container)
    assert done.exit_code == 4, done.output
    assert "nowhere" in done.output
    assert done.step("lint.2")["outcome"] == "skipped"


def test_a_module_that_the_wheel_lacks_fails_in_mode_wheel_only(
    kitchen: Project, in_container: tuple[str, ...]
) -> None:
    # A module beside the packages, which the project's list does not name.
    write(kitchen, "spoon.py", '"""Spoons."""\n\n\ndef stir():\n    """Stir."""\n    return 1\n')
    write(kitchen, "conftest.py", "import sys\n")
    write(
        kitchen,
        "tests/test_spoon.py",
        "import spoon\n\n\ndef test_stir():\n    assert spoon.stir() == 1\n",
    )
    arguments = ("run", "--only", "tests", *in_container)
    editable = kitchen.presubmit(*arguments, env={"PRESUBMIT_BUILD_MODE": "editable"})
    assert editable.exit_code == 0, editable.output
    wheel = kitchen.presubmit(*arguments, env={"PRESUBMIT_BUILD_MODE": "wheel"})
    assert wheel.exit_code == 1, wheel.output
    assert any("test_spoon.py" in f["subject"] for f in wheel.run["failures"])


def test_shards_share_the_files_and_a_flake_is_told_from_a_new_failure(
    kitchen: Project, in_container: tuple[str, ...]
) -> None:
    kitchen.edit("kitchen/pan.py", "eggs + 1", "1 + eggs")
    kitchen.edit("kitchen/pot.py", "return eggs", "return +eggs")
    write(
        kitchen,
        "tests/test_pan.py",
        "import pathlib\n\n" + FILES["tests/test_pan.py"] + "\n\ndef test_flaky():\n"
        # The one place that outlives a box: it stands for whatever makes a test flaky.
        "    mark = pathlib.Path('/out/mark')\n"
        "    known = mark.exists()\n"
        "    mark.touch()\n"
        "    assert known\n",
    )
    env = {"PRESUBMIT_TESTS_SHARDS": "2"}
    done = kitchen.presubmit("run", "--skip", "lint,docs", *in_container, env=env)
    ids = ["review.1", "build.1", "tests.1", "tests.2"]
    assert [s["id"] for s in done.run["steps"]] == ids
    counts = [done.step(f"tests.{n}")["counts"] for n in (1, 2)]
    assert sum(c["passed"] + c["failed"] for c in counts) == 3, done.output
    assert done.failures("flaky") == ["tests/test_pan.py::test_flaky"], done.output
    assert "first seen with this change" in done.output
    assert done.exit_code == 0


def test_failing_in_company_and_passing_alone_is_new_and_order_dependent(
    kitchen: Project, in_container: tuple[str, ...]
) -> None:
    kitchen.edit("kitchen/pan.py", "eggs + 1", "1 + eggs")
    write(
        kitchen,
        "tests/test_pan.py",
        "import kitchen.pan\n\n\ndef test_spoils():\n    kitchen.pan.spoiled = True\n\n\n"
        "def test_suffers():\n    assert not hasattr(kitchen.pan, 'spoiled')\n",
    )
    done = kitchen.presubmit("run", "--skip", "lint,docs", *in_container)
    assert done.exit_code == 1, done.output
    assert done.failures("new") == ["tests/test_pan.py::test_suffers"]
    assert "order-dependent" in done.output


def test_last_failed_runs_the_failures_alone_and_arguments_go_to_pytest(
    kitchen: Project, in_container: tuple[str, ...]
) -> None:
    kitchen.edit("kitchen/pan.py", "eggs + 1", "eggs + 2")
    kitchen.edit("kitchen/pot.py", "return eggs", "return +eggs")
    first = kitchen.presubmit("run", "--skip", "lint,docs", *in_container)
    assert first.failures("new") == ["tests/test_pan.py::test_fry"], first.output
    again = kitchen.presubmit("run", "--last-failed", *in_container)
    assert again.exit_code == 1
    assert again.step("tests.1")["counts"] == {"passed": 0, "failed": 1, "errors": 0, "skipped": 0}
    asked = kitchen.presubmit(
        "run", "--only", "tests", *in_container, "--", "-k", "boil", "tests/test_pot.py"
    )
    assert asked.exit_code == 0, asked.output
    assert asked.step("tests.1")["counts"]["passed"] == 1
    nothing = kitchen.presubmit("run", "--only", "tests", *in_container, "--", "-k", "nothing")
    assert nothing.exit_code == 3
    assert "no tests" in nothing.output


def test_a_second_run_of_the_same_tree_does_not_build_again(
    kitchen: Project, in_container: tuple[str, ...]
) -> None:
    kitchen.edit("kitchen/pot.py", "return eggs", "return eggs or eggs")
    arguments = ("run", "--only", "tests", *in_container)
    assert kitchen.presubmit(*arguments).exit_code == 0
    again = kitchen.presubmit(*arguments)
    assert again.step("build.1")["cached"] is True, again.output


def test_green_steps_of_this_very_tree_are_reused(
    kitchen: Project, in_container: tuple[str, ...]
) -> None:
    kitchen.edit("kitchen/pot.py", "return eggs", "return eggs or eggs")
    assert kitchen.presubmit("run", "--skip", "lint", *in_container).exit_code == 0
    done = kitchen.presubmit("run", "--skip", "lint", *in_container)
    assert done.exit_code == 0, done.output
    # The review is done anew: what it says belongs to the run's own folder.
    assert {s["role"] for s in done.run["steps"] if not s["cached"]} == {"review"}
    fresh = kitchen.presubmit("run", "--skip", "lint", "--fresh", *in_container)
    assert not any(s["cached"] for s in fresh.run["steps"]), fresh.output
    kitchen.edit("kitchen/pot.py", "return eggs or eggs", "return eggs + 1")
    changed = kitchen.presubmit("run", "--skip", "lint", *in_container)
    assert changed.exit_code == 1


def test_plan_select_report_and_shell_tell_the_same_story(
    kitchen: Project, in_container: tuple[str, ...]
) -> None:
    kitchen.edit("kitchen/pot.py", "return eggs", "return +eggs")
    plan = kitchen.presubmit("plan")
    assert plan.exit_code == 0, plan.output
    assert "tests/test_pot.py" in plan.output
    assert json.loads(kitchen.presubmit("plan", "--json").output)["selection"]["mode"] == "scoped"
    assert kitchen.presubmit("select").output == "tests/test_pot.py\n"
    echoed = kitchen.presubmit("select", "--exec", "--", "echo", "got")
    assert echoed.output == "got tests/test_pot.py\n"
    done = kitchen.presubmit("run", "--output", "json", "--skip", "lint", *in_container)
    assert json.loads(done.output)["state"] == "passed"
    assert "# presubmit: PASSED" in kitchen.presubmit("report").output
    shell = kitchen.presubmit(
        "shell", "tests", *in_container, "--", "pytest", "-q", "tests/test_pot.py"
    )
    assert "1 passed" in shell.output, shell.output
    assert shell.exit_code == 0
    kitchen.back()
    none = kitchen.presubmit("select", "--exec", "--", "false")
    assert none.exit_code == 0
    assert "no test is affected" in none.output
