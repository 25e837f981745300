"""Drafts of real runs: only a whole run, as it is written down in the history, ticks a box."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
import subprocess
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from tests.conftest import run_git

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.integration.run.conftest import Done, MakeProject, Project

pytestmark = pytest.mark.network

FILES = {
    "thing.py": '"""A thing."""\n\n\ndef f():\n    """Give one."""\n    return 1\n',
    "other.py": '"""Another."""\n\n\ndef g():\n    """Give two."""\n    return 2\n',
    "pytest.ini": "[pytest]\npythonpath = .\n",
    "CHANGES.md": "# Changes\n",
    "tests/test_thing.py": "import thing\n\n\ndef test_b():\n    assert thing.f() == 1\n",
    "tests/test_other.py": "import other\n\n\ndef test_g():\n    assert other.g() == 2\n",
}
GREEN = ("thing.py", "return 1", "return 2 - 1")
TICKED = re.compile(r"(?m)^\s*(?:- )?\[x\] .*")
TESTS = "- [x] No new failure in the affected tests"


class Drafter:
    """A checkout whose user tests on the host."""

    def __init__(self, project: Project, config: Path) -> None:
        self.project = project
        self.config = config
        self.configure("")

    def configure(self, text: str) -> None:
        """Write the user's configuration."""
        (self.config / "presubmit").mkdir(parents=True, exist_ok=True)
        (self.config / "presubmit/config.toml").write_text(f"host = true\n{text}")

    def configure_container(self) -> None:
        """Let this user test in a container, as most do."""
        (self.config / "presubmit/config.toml").unlink()

    def presubmit(self, *args: str) -> Done:
        """Run presubmit as this user."""
        return self.project.presubmit(*args, env={"XDG_CONFIG_HOME": str(self.config)})

    def draft(self) -> tuple[int, list[str], str]:
        """Draft the pull request: the exit code, the boxes that are ticked, and what was said."""
        done = self.presubmit("draft", "pr", "--new")
        path = self.project.path / ".presubmit/last/draft/PR.md"
        return done.exit_code, TICKED.findall(path.read_text()), done.output


@pytest.fixture(scope="module")
def checkout(make_project: MakeProject) -> Project:
    return make_project("drafted", files=FILES)


@pytest.fixture
def drafter(checkout: Project, tmp_path: Path) -> Drafter:
    checkout.back()
    shutil.rmtree(checkout.path / ".presubmit", ignore_errors=True)
    checkout.git("checkout", "-q", "-B", "topic", "start")
    checkout.edit(*GREEN)
    checkout.git("commit", "-q", "-a", "-m", "Count down\n\nOne is less than two.")
    return Drafter(checkout, tmp_path / "config")


def test_a_whole_run_ticks_what_it_has_shown(drafter: Drafter) -> None:
    assert drafter.presubmit("run").exit_code == 0
    code, ticked, said = drafter.draft()
    assert (code, TESTS in ticked) == (0, True), said
    assert drafter.presubmit("draft", "pr", "--check").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("--only", "tests"), "--only tests"),
        (("--skip", "lint"), "--skip lint"),
        (("--", "-k", "test_b"), "arguments after `--`"),
        (("--budget", "0.01"), "budget"),
        (("--tests", "nearest"), "--tests nearest"),
    ],
)
def test_a_run_of_less_than_the_tier_ticks_nothing(
    drafter: Drafter, arguments: tuple[str, ...], word: str
) -> None:
    drafter.presubmit("run", "--fresh", *arguments)
    code, ticked, said = drafter.draft()
    assert (code, ticked) == (0, []), said
    assert "no box is ticked: " in said
    assert word in said


def test_the_host_that_only_the_command_line_names_ticks_nothing(drafter: Drafter) -> None:
    assert drafter.project.presubmit("run", "--no-container").exit_code == 0
    path = drafter.project.path / ".presubmit/last/draft/PR.md"
    done = drafter.project.presubmit("draft", "pr", "--new")
    assert (done.exit_code, TICKED.findall(path.read_text())) == (0, []), done.output
    assert "host = true" in done.output


def test_a_flaky_failure_ticks_no_box_of_tests(drafter: Drafter, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    text = (
        "import pathlib\n\nimport thing\n\n\ndef test_b():\n"
        f"    seen = pathlib.Path({str(seen)!r})\n"
        "    first = not seen.exists()\n    seen.touch()\n"
        "    assert thing.f() == 1 + first\n"
    )
    (drafter.project.path / "tests/test_thing.py").write_text(text)
    drafter.project.git("commit", "-q", "-a", "-m", "Test once more")
    done = drafter.presubmit("run")
    assert done.failures("flaky"), done.output
    code, ticked, said = drafter.draft()
    assert code == 0, said
    assert [it for it in ticked if "test" in it] == []


def test_a_new_failure_leaves_what_passed_ticked(drafter: Drafter) -> None:
    drafter.project.edit("thing.py", "return 2 - 1", "return 3")
    drafter.project.edit("CHANGES.md", "# Changes\n", "# Changes\n\nCount to three.\n")
    drafter.project.git("commit", "-q", "-a", "-m", "Count to three")
    assert drafter.presubmit("run").exit_code == 1
    code, ticked, said = drafter.draft()
    assert code == 0, said
    assert ticked == [
        "- [x] Builds from source",
        "- [x] Changelog entry — `CHANGES.md`",
    ]


def test_another_configuration_or_presubmit_clears_every_box(drafter: Drafter) -> None:
    assert drafter.presubmit("run").exit_code == 0
    assert drafter.draft()[1]
    drafter.configure("[tests]\nretries = 2\n")
    done = drafter.presubmit("draft", "pr", "--check")
    assert (done.exit_code, "your own settings were others" in done.output) == (5, True)
    code, ticked, said = drafter.draft()
    assert (code, ticked) == (5, []), said
    drafter.configure("")
    assert drafter.draft()[0] == 0
    history = drafter.project.path / ".git/presubmit/history.db"
    with closing(sqlite3.connect(history, isolation_level=None)) as connection:
        connection.execute("update run_evidence set tool = '0.0.1'")
    done = drafter.presubmit("draft", "pr", "--check")
    assert (done.exit_code, "presubmit 0.0.1's" in done.output) == (5, True), done.output
    assert drafter.draft()[:2] == (5, [])


def test_the_images_own_python_is_what_was_tested_on(
    drafter: Drafter, in_container: tuple[str, ...]
) -> None:
    drafter.configure_container()
    project = drafter.project
    workflow = (
        "on: pull_request\njobs:\n  tests:\n    runs-on: ubuntu-latest\n    strategy:\n      matrix:\n"
        "        python: ['3.9', '{own}']\n    steps:\n    - run: pytest\n"
    )
    done = drafter.presubmit("run", *in_container)
    assert done.exit_code == 0, done.output
    python = done.run["environment"]["python"]
    log = (project.path / ".presubmit/last" / done.step("tests.1")["log"]).read_text()
    assert f"Python {python}," in log
    own = ".".join(python.split(".")[:2])
    (project.path / ".github/workflows").mkdir(parents=True)
    (project.path / ".github/workflows/ci.yml").write_text(workflow.format(own=own))
    project.git("add", "-A")
    project.git("commit", "-q", "-m", "Test by a workflow")
    done = drafter.presubmit("run", *in_container)
    assert done.exit_code == 0, done.output
    assert drafter.draft()[0] == 0
    text = (project.path / ".presubmit/last/draft/PR.md").read_text()
    assert f"- Tests on Python {python}: " in text
    assert "- Not verified here: Python 3.9.\n" in text


def test_why_a_push_was_let_through_untested_is_said_without_secrets(
    drafter: Drafter, tmp_path: Path
) -> None:
    project = drafter.project
    token = "ghp_" + "Ab1" * 12
    run_git(tmp_path, "init", "-q", "--bare", str(tmp_path / "remote.git"))
    assert drafter.presubmit("hook", "install").exit_code == 0
    try:
        done = subprocess.run(
            ["git", "push", str(tmp_path / "remote.git"), "topic"],
            cwd=project.path,
            env={
                **project.env,
                "PRESUBMIT_SKIP": f"the fork <b>is</b> a scratch, see {token} and A_TOKEN=hunter22",
            },
            capture_output=True,
            check=False,
        )
    finally:
        drafter.presubmit("hook", "uninstall")
    assert done.returncode == 0, done.stderr
    assert drafter.presubmit("run").exit_code == 0
    assert drafter.draft()[0] == 0
    text = (project.path / ".presubmit/last/draft/PR.md").read_text()
    said = "the fork &lt;b&gt;is&lt;/b&gt; a scratch, see \\*\\*\\* and A\\_TOKEN="
    assert f"- Pushed without being tested: {said}" in text
    assert token not in text
    assert "hunter22" not in text
    project.edit("other.py", "return 2", "return 1 + 1")
    project.git("commit", "-q", "-a", "-m", "Add up")
    assert drafter.presubmit("run").exit_code == 0
    assert drafter.draft()[0] == 0
    assert "Pushed without" not in (project.path / ".presubmit/last/draft/PR.md").read_text()


def green(run: dict[str, object]) -> dict[str, object]:
    """Turn a run with a new failure into a green one."""
    steps = run["steps"]
    assert isinstance(steps, list)
    told = [{**it, "outcome": "passed", "counts": {"passed": 1}} for it in steps]
    return {**run, "state": "passed", "exit": 0, "failures": [], "steps": told}


def copied(run: dict[str, object]) -> dict[str, object]:
    """Give other numbers to a green run."""
    return {**run, "selection": {"mode": "all", "chosen": 900, "known": 900}}


@pytest.mark.parametrize(("edit", "exit_code"), [(green, 1), (copied, 0)])
def test_an_edited_run_ticks_nothing(
    drafter: Drafter,
    edit: Callable[[dict[str, object]], dict[str, object]],
    exit_code: int,
) -> None:
    if exit_code:
        drafter.project.edit("thing.py", "return 2 - 1", "return 3")
        drafter.project.git("commit", "-q", "-a", "-m", "Count to three")
    assert drafter.presubmit("run").exit_code == exit_code
    path = drafter.project.path / ".presubmit/last/run.json"
    path.write_text(json.dumps(edit(json.loads(path.read_text()))))
    code, ticked, said = drafter.draft()
    assert (code, ticked) == (5, []), said
    assert "not as a presubmit run here wrote them" in said
