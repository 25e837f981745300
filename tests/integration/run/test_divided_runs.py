"""Runs that leave some of the affected tests out: machines that share them, a budget; and workers of pytest-xdist."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.integration.run.conftest import Done, MakeProject, Project

pytestmark = [pytest.mark.engine, pytest.mark.network]

TEST = (
    "import time\n\nimport common\n\n\n"
    "def test_{0}():\n    time.sleep(0.05)\n    assert common.VALUE\n"
)
FILES = {
    "common.py": "VALUE = 1\n",
    "requirements-test.txt": "pytest\npytest-xdist\n",
    **{f"tests/test_{letter}.py": TEST.format(letter) for letter in "abcde"},
    "tests/test_a.py": TEST.format("a") + TEST.format("more").partition("\n\n\n")[2],
}
ONLY = ("--only", "tests", "--no-record")


@pytest.fixture(scope="module")
def project(make_project: MakeProject, in_container: tuple[str, ...]) -> Project:
    made = make_project("divided", files=FILES)
    (made.path / "common.py").write_text("VALUE = 2\nprint()\n")
    done = made.presubmit("run", *ONLY, *in_container)
    assert done.exit_code == 0, done.output
    return made


def ran(done: Done) -> set[str]:
    """Give the test files that ran, from the record of each process."""
    records = (done._folder / ".presubmit/last/records").glob("tests.*.jsonl")
    events = [json.loads(line) for one in records for line in one.read_text().splitlines()]
    return {event["id"].partition("::")[0] for event in events if event["event"] == "start"}


def test_every_affected_test_runs_on_one_machine_and_each_says_that_it_is_not_all(
    project: Project, in_container: tuple[str, ...]
) -> None:
    parts = []
    for shard in ("1/2", "2/2"):
        done = project.presubmit("run", *ONLY, "--shard", shard, *in_container)
        assert done.exit_code == 4, done.output
        assert "affected test files not run: they are other shards'" in done.run["not_run"][0]
        parts.append(ran(done))
        assert {*done.run["other_shards"]} == {f"tests/test_{x}.py" for x in "abcde"} - parts[-1]
    assert sorted([*parts[0], *parts[1]]) == [f"tests/test_{letter}.py" for letter in "abcde"]


def test_a_shard_is_enough_for_who_says_so(
    project: Project, in_container: tuple[str, ...]
) -> None:
    allowed = ("--shard", "2/2", "--allow-partial")
    done = project.presubmit("run", *ONLY, *allowed, *in_container)
    assert (done.exit_code, done.run["state"]) == (0, "incomplete")


def test_a_budget_runs_what_fits_and_names_the_rest(
    project: Project, in_container: tuple[str, ...]
) -> None:
    done = project.presubmit("plan", "--json", *ONLY[:2], "--budget", "0.12", *in_container)
    plan: dict[str, Any] = json.loads(done.output)["plan"]
    (tests,) = [step["work"] for step in plan["steps"] if step["role"] == "tests"]
    assert len(tests["files"]) + len(plan["budget_cut"]) == 5
    assert plan["budget_cut"]


def test_workers_run_the_tests_that_are_no_serial_ones(
    project: Project, in_container: tuple[str, ...]
) -> None:
    env = {"PRESUBMIT_TESTS_XDIST": "yes", "PRESUBMIT_TESTS_SERIAL": "tests/test_a.py"}
    done = project.presubmit("run", *ONLY, *in_container, env=env)
    assert done.exit_code == 0, done.output
    with_workers, serial = done.step("tests.1"), done.step("tests.2")
    assert with_workers["command"][-4:] == ["-n", "auto", "--dist", "loadfile"]
    assert "-n" not in serial["command"]
    assert (with_workers["counts"]["passed"], serial["counts"]["passed"]) == (4, 2)
