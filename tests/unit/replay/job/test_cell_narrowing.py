"""Every pytest that a step starts is narrowed, however it is started; where it is not, that is said."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from presubmit.replay.job.narrowing import Narrowing
from presubmit.replay.job.values import Conclusion
from presubmit.replay.lanes import plugin_folder
from presubmit.runners.pytest import PLUGIN

if TYPE_CHECKING:
    from tests.unit.replay.job.conftest import Ran, RunCell

BIN = str(Path(sys.executable).parent)
FILES = {
    "one/test_a.py": "def test_a1(): pass\ndef test_a2(): pass\n",
    "one/test_b.py": "def test_b(): raise ValueError\n",
    "two/test_c.py": "def test_c(): raise ValueError\n",
    "conftest.py": "",
    "Makefile": "check:\n\t@python -m pytest -q one\n",
    "noxfile.py": (
        "import nox\n\n@nox.session(venv_backend='none')\ndef tests(session):\n"
        "    session.run('pytest', '-q', 'one', external=True)\n"
    ),
    "mine.py": "import os\nprint('mine is loaded')\n",
    "lib/inner.py": "WORD = 'inner'\n",
}
KNOWN = [name for name in FILES if name.startswith(("one/", "two/"))]
NARROWED = "narrowed to 2 tests"


def give(
    cell: RunCell,
    script: str,
    tmp_path: Path,
    *,
    env: dict[str, str] | None = None,
    chosen: tuple[str, ...] | None = ("one/test_a.py",),
    more: str = "",
) -> Ran:
    """Run one step named `tests` on the toy project; `chosen` None is all of it."""
    selection: dict[str, Any] | None = None
    if chosen is not None:
        selection = {"mode": "scoped", "files": list(chosen), "known": KNOWN}
    lines = "\n".join(f"    {line}" for line in script.splitlines())
    given = "".join(f"    {name}: '{value}'\n" for name, value in (env or {}).items())
    step = f"- name: tests\n  run: |\n{lines}\n" + (f"  env:\n{given}" if given else "") + more
    return cell(
        step,
        job=f"env: {{PATH: '{BIN}:/usr/bin:/bin'}}",
        files=FILES,
        plugin=str(plugin_folder(tmp_path / "cache")),
        selection=selection,
    )


@pytest.mark.parametrize(
    "script",
    [
        "pytest -q one",
        "python -m pytest",
        "make check",
        "python -m nox -s tests",
        "cd one && pytest",
        "python -c 'import pytest, sys; sys.exit(pytest.main([\"one\"]))'",
        "sh -c 'exec pytest -p no:cacheprovider one/test_a.py one/test_b.py'",
    ],
)
def test_a_pytest_is_narrowed_however_it_is_started(
    cell: RunCell, tmp_path: Path, script: str
) -> None:
    ran = give(cell, script, tmp_path)
    assert ran.ok, ran.log
    assert f"tests: {NARROWED}" in ran.result.notes


@pytest.mark.skipif(shutil.which("uv", path=BIN) is None, reason="there is no uv")
def test_a_pytest_of_uv_is_narrowed(cell: RunCell, tmp_path: Path) -> None:
    env = {"VIRTUAL_ENV": str(Path(BIN).parent), "UV_OFFLINE": "1"}
    ran = give(cell, "uv run --no-project --active pytest -q one", tmp_path, env=env)
    assert ran.ok, ran.log
    assert f"tests: {NARROWED}" in ran.result.notes


def test_without_a_selection_nothing_is_told_and_everything_runs(
    cell: RunCell, tmp_path: Path
) -> None:
    ran = give(
        cell, "env | grep -i -e pytest -e PRESUBMIT_S || true; pytest -q", tmp_path, chosen=None
    )
    assert ran["tests"].exit_code == 1
    assert "2 failed, 2 passed" in ran.log
    assert not [line for line in ran.printed("tests") if PLUGIN in line]
    assert ran.result.notes == ()


def test_a_steps_own_options_are_kept(cell: RunCell, tmp_path: Path) -> None:
    env = {"PYTEST_ADDOPTS": "-q -p no:cacheprovider -k a2", "PYTHONPATH": "lib"}
    ran = give(cell, "pytest one; python -c 'import inner; print(inner.WORD)'", tmp_path, env=env)
    assert ran.ok, ran.log
    assert ran.printed("tests")[-1] == "inner"
    assert ran.result.notes == ("tests: narrowed to 1 test",)
    assert "1 passed, 1 deselected" in ran.log
    assert not (cell.workspace / ".pytest_cache").exists()


def test_a_steps_own_plugins_are_kept(cell: RunCell, tmp_path: Path) -> None:
    env = {"PYTEST_PLUGINS": "mine", "PYTHONPATH": "${{ github.workspace }}"}
    ran = give(cell, "pytest -q -s one", tmp_path, env=env)
    assert "mine is loaded" in ran.printed("tests")
    assert f"tests: {NARROWED}" in ran.result.notes


def test_a_value_that_an_earlier_step_set_is_kept(cell: RunCell, tmp_path: Path) -> None:
    more = "- {name: again, run: pytest one}\n"
    script = "echo PYTEST_ADDOPTS=-k a1 >>$GITHUB_ENV; pytest -q one"
    ran = give(cell, script, tmp_path, more=more)
    assert ran.ok, ran.log
    assert ran.result.notes == (f"tests: {NARROWED}", "again: narrowed to 1 test")
    assert "1 passed, 1 deselected" in "\n".join(ran.printed("again"))


def test_a_value_of_the_image_is_kept(cell: RunCell, tmp_path: Path) -> None:
    assignment = cell.assignment(
        selection={"mode": "scoped", "files": [], "known": []}, plugin="/plugin"
    )
    narrowing = Narrowing(assignment, tmp_path)
    given = {"PYTHONPATH": "/image", "PYTEST_ADDOPTS": "-x", "PYTEST_PLUGINS": "", "A": "a"}
    number = narrowing.lay()
    told = narrowing.around(number, given)
    assert told == {
        "A": "a",
        "PYTHONPATH": "/plugin:/image",
        "PYTEST_ADDOPTS": f"-p {PLUGIN} -x",
        "PYTEST_PLUGINS": PLUGIN,
        "PRESUBMIT_SELECTION": f"{cell.temp}/{tmp_path.name}/selection-1.json",
    }
    assert narrowing.around(0, given) == given


def test_a_pytest_that_cannot_be_reached_ran_whole_and_that_is_said(
    cell: RunCell, tmp_path: Path
) -> None:
    ran = give(cell, f"env -i PATH={BIN}:/usr/bin:/bin pytest -q", tmp_path)
    assert ran["tests"].exit_code == 1
    assert "tests: its pytest ran whole: the selection did not reach it" in ran.result.notes


def test_of_two_calls_one_that_cannot_be_reached_is_said(cell: RunCell, tmp_path: Path) -> None:
    ran = give(cell, f"pytest -q one\nenv -i PATH={BIN}:/bin pytest -q one/test_a.py", tmp_path)
    assert ran.ok
    found = [note for note in ran.result.notes if note.startswith("tests: ")]
    assert found == [f"tests: {NARROWED}; another pytest of it ran whole"]


def test_of_two_calls_one_may_have_no_chosen_test(cell: RunCell, tmp_path: Path) -> None:
    ran = give(cell, "pytest -q one\npytest -q two", tmp_path)
    assert ran.ok, ran.log
    assert "no tests ran" in ran.log
    assert f"tests: {NARROWED}" in ran.result.notes


def test_a_whole_run_without_a_test_fails_as_it_does_upstream(
    cell: RunCell, tmp_path: Path
) -> None:
    ran = give(cell, "pytest -q lib", tmp_path, chosen=None)
    assert (ran["tests"].outcome, ran["tests"].exit_code) == (Conclusion.FAILURE, 5)


def test_a_failing_chosen_test_fails_the_step(cell: RunCell, tmp_path: Path) -> None:
    ran = give(cell, "pytest -q", tmp_path, chosen=("one/test_b.py",))
    assert ran["tests"].exit_code == 1
    assert "FAILED one/test_b.py::test_b" in ran["tests"].tail
    assert "tests: narrowed to 1 test" in ran.result.notes


def test_a_job_without_a_pytest_ran_whole_and_says_so(cell: RunCell, tmp_path: Path) -> None:
    ran = give(cell, "python -m unittest -h", tmp_path)
    assert ran.result.notes == (
        "nothing was narrowed: no pytest was seen, so what tests it has ran whole",
    )


def test_each_step_of_an_action_has_a_record_of_its_own(cell: RunCell, tmp_path: Path) -> None:
    action = (
        "name: x\nruns:\n  using: composite\n  steps:\n"
        "    - {name: inner, shell: bash, run: pytest -q one}\n"
        "    - {name: other, shell: bash, run: 'true'}\n"
    )
    path = cell.workspace / "it/action.yml"
    path.parent.mkdir(parents=True)
    path.write_text(action)
    ran = give(cell, "pytest -q one/test_a.py", tmp_path, more="- {name: use, uses: ./it}\n")
    assert ran.result.notes == (f"tests: {NARROWED}", f"inner: {NARROWED}")


def test_a_selection_that_a_step_takes_away_did_not_reach_it(
    cell: RunCell, tmp_path: Path
) -> None:
    ran = give(cell, "find $RUNNER_TEMP -name 'selection-*' -delete; pytest -q one", tmp_path)
    assert ran["tests"].exit_code == 1
    assert "tests: its pytest ran whole: the selection did not reach it" in ran.result.notes
