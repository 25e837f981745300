"""A run takes commands, requirements and variables from the matching job of upstream's workflows, in a real container."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.integration.run.conftest import MakeProject, Project

pytestmark = [pytest.mark.engine, pytest.mark.network]

WORKFLOW = ".github/workflows/ci.yml"
CI = """\
on:
  pull_request:
env:
  FORCE_COLOR: 1
  PIP_NO_INDEX: 1
jobs:
  tests:
    runs-on: ${{ matrix.os }}
    strategy:
      matrix:
        os: [windows-latest, ubuntu-latest]
        python: ["3.9", "3.11", "3.15-dev"]
    steps:
      - uses: actions/checkout@v5
      - uses: actions/setup-python@v6
        with: {python-version: "${{ matrix.python }}"}
      - run: pip install -U pip ruff==0.12.0 "pluggy<2"
      - run: |
          pip install .[checks]
      - run: python -X dev -W error -m pytest -p no:cacheprovider -ra -n auto
        env: {KITCHEN: open}
      - run: python -m pytest --slow
  lint:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v5
      - run: pip install ruff==0.12.0 mypy
      - run: ruff check --select F,E kitchen
      - run: mypy kitchen
"""
ORIGIN = "ci.yml:20"
FILES = {
    WORKFLOW: CI,
    "pyproject.toml": (
        "[build-system]\nrequires = ['setuptools']\nbuild-backend = 'setuptools.build_meta'\n\n"
        "[project]\nname = 'kitchen'\nversion = '1'\noptional-dependencies.checks = ['iniconfig']\n\n"
        "[tool.setuptools]\npackages = ['kitchen']\n"
    ),
    "kitchen/__init__.py": '"""A kitchen."""\n',
    "kitchen/pan.py": '"""Pans."""\n\n\ndef fry(eggs):\n    """Fry eggs."""\n    return eggs + 1\n',
    "kitchen/generated.py": "import os\n",
    "tests/test_pan.py": (
        "import os, sys\n\nimport iniconfig\n\nfrom kitchen.pan import fry\n\n\n"
        "def test_fry():\n"
        "    assert iniconfig\n"
        "    assert os.environ['KITCHEN'] == 'open'\n"
        "    assert not {'FORCE_COLOR', 'PIP_NO_INDEX'} & set(os.environ)\n"
        "    assert sys.flags.dev_mode and 'error' in sys.warnoptions\n"
        "    assert fry(1) == 2\n"
    ),
}


@pytest.fixture(scope="module")
def checkout(make_project: MakeProject) -> Project:
    return make_project("kitchen", files=FILES)


@pytest.fixture
def kitchen(checkout: Project) -> Project:
    checkout.back()
    checkout.edit("kitchen/pan.py", "eggs + 1", "1 + eggs")
    return checkout


def test_the_command_the_extra_and_the_variables_are_those_of_upstreams_job(
    kitchen: Project, in_container: tuple[str, ...]
) -> None:
    done = kitchen.presubmit("run", *in_container)
    assert done.exit_code == 0, done.output
    tests, build = done.step("tests.1"), done.step("build.1")
    command = [
        "python",
        "-X",
        "dev",
        "-W",
        "error",
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        "-ra",
    ]
    assert (tests["command"], tests["origin"]) == (command, ORIGIN)
    assert build["origin"] == "pyproject.toml [build-system], ci.yml:17, ci.yml:19"
    assert tests["counts"]["passed"] == 1
    cell = "ci.yml/tests(os=ubuntu-latest,python=3.11)"
    assert done.run["upstream"]["cells"] == {"tests": cell, "lint": "ci.yml/lint"}
    assert f"upstream  tests as in {cell}: {' '.join(command)} ({ORIGIN})" in done.output


def test_what_nothing_installs_is_not_asked_of_pytest_and_other_calls_are_named(
    kitchen: Project, in_container: tuple[str, ...]
) -> None:
    done = kitchen.presubmit("run", *in_container)
    assert (
        f"left out of {ORIGIN}: -n auto (pytest-xdist is not installed)"
        in done.run["upstream"]["notes"]
    )
    assert (
        "upstream  not run here: python -m pytest --slow (ci.yml:22)   presubmit replay tests"
        in done.output
    )
    assert "not run here: mypy kitchen (ci.yml:29)   presubmit replay lint" in done.output


def test_the_lint_command_of_upstream_looks_at_the_changed_files_that_it_names_in_its_version(
    kitchen: Project, in_container: tuple[str, ...]
) -> None:
    for name in ("kitchen/pan.py", "tests/test_pan.py"):
        (kitchen.path / name).write_text("import json\n" + (kitchen.path / name).read_text())
    done = kitchen.presubmit("run", *in_container, "--only", "lint")
    assert done.exit_code == 1, done.output
    assert [f["file"] for f in done.run["failures"]] == ["kitchen/pan.py"]
    lint = done.step("lint.2")
    assert lint["origin"] == "ci.yml:28"
    assert lint["command"][2] == 'ruff check --select F,E --force-exclude "$@"'
    plan = json.loads((kitchen.path / ".presubmit/last/plan.json").read_text())
    work = next(step["work"] for step in plan["steps"] if step["id"] == "lint.2")
    assert (work["requirements"], work["files"]) == (["ruff==0.12.0"], ["kitchen/pan.py"])


def test_a_change_of_the_workflow_counts_for_head_and_the_bases_own_for_the_base(
    kitchen: Project, in_container: tuple[str, ...]
) -> None:
    kitchen.edit(WORKFLOW, "KITCHEN: open", "KITCHEN: shut")
    done = kitchen.presubmit("run", *in_container)
    assert done.exit_code == 1, done.output
    assert done.failures("new") == ["tests/test_pan.py::test_fry"]
    assert {f["base"] for f in done.run["failures"]} == {"passed"}


def test_an_option_that_pytest_does_not_know_here_costs_a_note_and_not_the_run(
    kitchen: Project, in_container: tuple[str, ...]
) -> None:
    kitchen.edit(WORKFLOW, "-ra -n auto", "-ra --of-some-plugin")
    kitchen.edit("tests/test_pan.py", "    assert sys.flags", "    # ")
    done = kitchen.presubmit("run", *in_container)
    assert done.exit_code == 0, done.output
    tests = done.step("tests.1")
    assert (tests["command"], tests["counts"]["passed"]) == (["pytest"], 1)
    assert tests["notes"][0].startswith("upstream's command runs no test here: python -X dev")
    assert "unrecognized arguments: --of-some-plugin" in tests["notes"][0]


def test_a_mark_of_upstreams_that_leaves_out_every_chosen_test_costs_a_note_and_not_the_run(
    kitchen: Project, in_container: tuple[str, ...]
) -> None:
    kitchen.edit(WORKFLOW, "-ra -n auto", "-m slow")
    kitchen.edit("tests/test_pan.py", "    assert sys.flags", "    # ")
    done = kitchen.presubmit("run", *in_container)
    assert done.exit_code == 0, done.output
    assert done.step("tests.1")["counts"]["passed"] == 1
    assert "no tests were collected" in done.step("tests.1")["notes"][0]


def test_a_requirement_that_cannot_be_installed_costs_a_note_and_not_the_run(
    kitchen: Project, in_container: tuple[str, ...]
) -> None:
    kitchen.edit(WORKFLOW, '"pluggy<2"', "iniconfig==999")
    kitchen.edit("tests/test_pan.py", "import iniconfig", "import pytest as iniconfig")
    done = kitchen.presubmit("run", *in_container)
    assert done.exit_code == 0, done.output
    told = done.step("build.1")["notes"][0]
    assert told.startswith("what upstream installs cannot be installed here: could not install")
    again = kitchen.presubmit("run", *in_container)
    assert again.step("build.1")["cached"]
    assert again.step("build.1")["notes"] == [told]


# --- plans ------------------------------------------------------------------------------------------------------------


def origins(project: Project) -> dict[str, str]:
    """Give the origin of each step that would run."""
    done = project.presubmit("plan", "--json")
    assert done.exit_code == 0, done.output
    plan = json.loads(done.output)["plan"]
    return {step["id"]: step["origin"] for step in plan["steps"]}


def test_the_configuration_wins_option_by_option(kitchen: Project) -> None:
    (kitchen.path / "presubmit.toml").write_text('tests.command = ["pytest", "-v"]\n')
    found = origins(kitchen)
    assert found["tests.1"] == "config presubmit.toml"
    assert found["build.1"] == "pyproject.toml [build-system], ci.yml:17, ci.yml:19"
    assert found["lint.2"] == "ci.yml:28"


def test_upstream_no_gives_convention(kitchen: Project) -> None:
    (kitchen.path / "presubmit.toml").write_text('upstream = "no"\n')
    found = origins(kitchen)
    assert found["tests.1"] == "convention: pytest"
    assert found["build.1"] == "pyproject.toml [build-system]"
    assert "lint.2" not in found


def test_no_workflows_give_convention(kitchen: Project) -> None:
    (kitchen.path / WORKFLOW).unlink()
    assert origins(kitchen)["tests.1"] == "convention: pytest"


def test_a_broken_workflow_gives_a_note_and_convention(kitchen: Project) -> None:
    kitchen.edit(WORKFLOW, "jobs:", "jobs: [")
    assert origins(kitchen)["tests.1"] == "convention: pytest"
    done = kitchen.presubmit("plan")
    assert f"upstream: {WORKFLOW}:" in done.output
    assert "nothing is taken over from this workflow" in done.output


def test_config_prints_what_upstream_gives_with_its_line(kitchen: Project) -> None:
    (kitchen.path / "presubmit.toml").write_text('[actions."me/act"]\nrun = "true"\n')
    done = kitchen.presubmit("config", "--json")
    assert done.exit_code == 0, done.output
    found = {row["option"]: (row["value"], row["from"]) for row in json.loads(done.output)}
    assert found["tests.env"] == (["KITCHEN=open"], f"upstream {ORIGIN}")
    assert found["actions"] == ({"me/act": {"run": "true"}}, "presubmit.toml")


# --- tox, and a whole matrix ------------------------------------------------------------------------------------------

TOX = {
    **FILES,
    WORKFLOW: """\
on: pull_request
env: {KITCHEN: open, LOCK: shut}
jobs:
  tests:
    runs-on: ubuntu-latest
    strategy:
      matrix:
        py: ["3.10", "3.11"]
    steps:
      - uses: actions/checkout@v5
      - uses: actions/setup-python@v6
        with: {python-version: "${{ matrix.py }}"}
      - run: pip install tox
      - run: tox -e py311
""",
    "tox.ini": (
        "[testenv]\nextras = checks\npass_env = KITCH*\nset_env =\n    PAN = hot\n"
        "commands = python -m pytest -p no:cacheprovider {posargs:tests}\n"
    ),
    "tests/test_pan.py": (
        "import os\n\nimport iniconfig\n\nfrom kitchen.pan import fry\n\n\n"
        "def test_fry():\n"
        "    assert iniconfig and fry(1) == 2\n"
        "    assert os.environ['PAN'] + os.environ['KITCHEN'] == 'hotopen'\n"
        "    assert 'LOCK' not in os.environ\n"
    ),
}


def test_behind_tox_the_command_and_the_variables_are_those_of_its_files(
    make_project: MakeProject, in_container: tuple[str, ...]
) -> None:
    project = make_project("toxed", files=TOX)
    project.edit("kitchen/pan.py", "eggs + 1", "1 + eggs")
    done = project.presubmit("run", *in_container)
    assert done.exit_code == 0, done.output
    tests = done.step("tests.1")
    assert tests["command"] == ["python", "-m", "pytest", "-p", "no:cacheprovider"]
    assert tests["origin"] == "ci.yml:14, tox.ini [testenv]"
    assert tests["counts"]["passed"] == 1


MATRIX = """\
on: pull_request
jobs:
  tests:
    runs-on: ubuntu-latest
    strategy:
      matrix:
        mode: [plain, strict]
    steps:
      - uses: actions/checkout@v5
      - run: python3 -m venv $RUNNER_TEMP/v && $RUNNER_TEMP/v/bin/pip install -q pytest
      - run: $RUNNER_TEMP/v/bin/python -m pytest
        env: {MODE: "${{ matrix.mode }}"}
"""
MODES = {
    WORKFLOW: MATRIX,
    "pot.py": "def boil(eggs):\n    return eggs\n",
    "pan.py": "def fry(eggs):\n    return eggs\n",
    "test_pot.py": (
        "import os\n\nfrom pot import boil\n\n\n"
        "def test_boil():\n    assert boil(1) == 1 or os.environ['MODE'] == 'plain'\n"
    ),
    "test_pan.py": "from pan import fry\n\n\ndef test_fry():\n    assert fry(1) == 1\n",
}


@pytest.fixture(scope="module")
def modes_checkout(make_project: MakeProject) -> Project:
    return make_project("modes", files=MODES)


@pytest.fixture
def modes(modes_checkout: Project) -> Project:
    modes_checkout.back()
    return modes_checkout


def test_the_other_cells_run_the_affected_tests_and_the_worst_exit_counts(
    modes: Project, in_container: tuple[str, ...]
) -> None:
    modes.edit("pot.py", "return eggs", "return eggs + 1")
    alone = modes.presubmit("run", *in_container)
    assert alone.exit_code == 0, alone.output
    done = modes.presubmit("run", *in_container, "--matrix", "all")
    assert done.exit_code == 1, done.output
    run = done.run
    assert (run["exit"], run["state"], run["tier"]) == (1, "failed", "standard")
    assert run["matrix"]["cells"] == ["ci.yml/tests(mode=strict)"]
    other = json.loads(
        (modes.path / f".presubmit/runs/{run['matrix']['run']}/run.json").read_text()
    )
    assert (other["exit"], other["tier"]) == (1, "replay")
    assert "narrowed to 1 test" in done.output
    drafted = modes.presubmit("draft", "checklist")
    assert drafted.exit_code == 0, drafted.output  # the run is evidence as it is now
    checklist = (modes.path / ".presubmit/last/draft/CHECKLIST.md").read_text()
    assert "— another cell of upstream's tests did not pass" in checklist
    assert "- [x] Merges with the base" in checklist


def test_a_change_that_no_test_sees_replays_no_other_cell(
    modes: Project, in_container: tuple[str, ...]
) -> None:
    (modes.path / "README.md").write_text("Modes\n")
    done = modes.presubmit("run", *in_container, "--matrix", "all")
    assert done.exit_code == 0, done.output
    assert "the run has no tests: no other cell is replayed" in done.output
    assert "matrix" not in done.run


def test_cells_cannot_be_narrowed_by_arguments_of_the_tests(modes: Project) -> None:
    done = modes.presubmit("run", "--matrix", "all", "--", "-k", "x")
    assert done.exit_code == 2
    assert "--matrix all and arguments after `--` contradict each other" in done.output
