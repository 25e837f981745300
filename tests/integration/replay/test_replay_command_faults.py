"""Jobs that misbehave in every way: each ends as what it is, and nothing of one reaches another."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.integration.run.conftest import Done, session_processes

if TYPE_CHECKING:
    from presubmit.container.engine import Engine
    from tests.integration.run.conftest import MakeProject, Project

pytestmark = pytest.mark.engine

PARTS = ("first-half-of-it", "second half, too", "and the third")
WORKFLOW = r"""
on: pull_request
jobs:
  killed:
    runs-on: ubuntu-latest
    steps:
      - {name: suicide, run: 'echo before; kill -9 $$'}
      - {name: after, if: always(), run: echo survived}
  hanging:
    runs-on: ubuntu-latest
    steps:
      - {name: hangs, run: 'trap "" TERM; echo waiting; sleep 600', timeout-minutes: 1}
      - {name: after, if: always(), run: echo survived}
  late:
    runs-on: ubuntu-latest
    timeout-minutes: 1
    steps:
      - {name: hangs, run: sleep 600}
      - {name: on failure, if: failure(), run: echo wrong}
      - {name: after, if: always(), run: 'echo status is ${{ job.status }}'}
  flood:
    runs-on: ubuntu-latest
    steps:
      - {name: flood, run: 'yes 0123456789012345678901234567890123456789 | head -c 100000000'}
      - {name: long line, run: "head -c 50000000 /dev/zero | tr '\\0' x"}
      - {name: after, run: echo survived}
  junk:
    runs-on: ubuntu-latest
    steps:
      - {name: junk, run: 'head -c 200000 /dev/urandom; printf "\\n\\377\\376\\0\\033[31mred\\n"'}
      - {name: after, run: echo survived}
  masks:
    runs-on: ubuntu-latest
    outputs: {leak: '${{ steps.leak.outputs.leak }}'}
    steps:
      - uses: actions/checkout@v4
      - {name: hide, run: 'echo "::add-mask::$(sh given.sh "%0A")"'}
      - id: leak
        name: leak
        run: |
          sh given.sh '\n'
          echo "# $(sh given.sh '\n')" >>"$GITHUB_STEP_SUMMARY"
          echo "::error file=given.sh,line=1,title=$(sh given.sh ' ')::$(sh given.sh ' ')"
          echo "leak=$(sh given.sh ' ')" >>"$GITHUB_OUTPUT"
          echo "S=$(sh given.sh ' ')" >>"$GITHUB_ENV"
      - {name: 'named ${{ env.S }}', run: 'echo "$S"; exit 1'}
  summary:
    runs-on: ubuntu-latest
    steps:
      - {name: summary, run: 'yes "a line of it" | head -c 10485760 >>"$GITHUB_STEP_SUMMARY"'}
"""
# The secret is in no file as it is printed.
GIVEN = 'printf \'first-%s-of-it%b%s half, too%band the %s\\n\' half "$1" second "$1" third\n'
MEMORY = """
on: pull_request
jobs:
  greedy:
    runs-on: ubuntu-latest
    steps:
      - {name: takes it all, run: "exec python3 -c \\"x = [bytearray(1 << 20) for _ in range(4000)]\\""}
      - {name: after, if: always(), run: echo never}
  everything:
    runs-on: ubuntu-latest
    steps:
      - {name: kills all, run: 'kill -9 -1; sleep 5; echo alive'}
      - {name: after, if: always(), run: echo never}
  group:
    runs-on: ubuntu-latest
    steps:
      - {name: kills all, run: 'echo before; kill -9 0'}
      - {name: after, if: always(), run: echo never}
"""


class Faults:
    """One run of all these jobs."""

    def __init__(self, project: Project, done: Done, peak: int) -> None:
        self.project, self.done, self.peak = project, done, peak
        self.folder = (project.path / ".presubmit/last").resolve()
        self.results = {one["cell"]: one for one in done.run["cell_results"]}

    def steps(self, job: str) -> list[tuple[str, str, str]]:
        found = self.results[f"faults.yml/{job}"]["steps"]
        return [(step["name"], step["outcome"], step["reason"]) for step in found]

    def outcome(self, job: str) -> tuple[str, str]:
        step = self.done.step(f"faults.yml/{job}")
        return step["outcome"], step["reason"]

    def log(self, job: str) -> str:
        name: str = self.done.step(f"faults.yml/{job}")["log"]
        return (self.folder / name).read_text(errors="replace")

    def annotations(self, job: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.results[f"faults.yml/{job}"]["annotations"]
        return found


@pytest.fixture(scope="module")
def project(make_project: MakeProject) -> Project:
    files = {
        ".github/workflows/faults.yml": WORKFLOW,
        ".github/workflows/memory.yml": MEMORY,
        "given.sh": GIVEN,
    }
    made = make_project("faulty", files=files)
    (made.path / "changed.txt").write_text("x\n")
    return made


@pytest.fixture(scope="module")
def faults(project: Project, in_container: tuple[str, ...]) -> Faults:
    peak = [0]
    over = threading.Event()
    watcher = threading.Thread(target=watch_memory, args=(project, peak, over))
    watcher.start()
    arguments = ("replay", "faults.yml", "--check-base", "never", "-j", "8", *in_container)
    done = project.presubmit(*arguments)
    over.set()
    watcher.join()
    return Faults(project, done, peak[0])


def watch_memory(project: Project, peak: list[int], over: threading.Event) -> None:
    """Take down the most memory (in kB) that a session's process had."""
    while not over.wait(0.3):
        for pid in session_processes(project):
            try:
                text = Path(f"/proc/{pid}/status").read_text()
            except OSError:
                continue
            found = [line for line in text.splitlines() if line.startswith("VmHWM:")]
            peak[0] = max(peak[0], *(int(line.split()[1]) for line in found), 0)


def test_the_run_is_a_failure_of_the_change(faults: Faults) -> None:
    assert faults.done.exit_code == 1, faults.done.output
    assert faults.done.run["state"] == "failed"
    assert len(faults.results) == 7


def test_a_step_that_is_killed_is_a_failing_step(faults: Faults) -> None:
    first, after = faults.steps("killed")
    assert first[1:] == ("failure", "exit code 137")
    assert after[1] == "success"
    assert faults.outcome("killed") == ("failed", "suicide: exit code 137")
    assert "before" in faults.log("killed")


def test_a_step_past_its_time_fails_with_that_reason(faults: Faults) -> None:
    hangs, after = faults.steps("hanging")
    assert hangs[1] == "failure"
    assert hangs[2].startswith("timeout-minutes is over after 6")
    assert after[1] == "success"
    outcome, reason = faults.outcome("hanging")
    assert (outcome, reason.partition(" after")[0]) == ("failed", "hangs: timeout-minutes is over")
    assert "waiting" in faults.log("hanging")


def test_a_job_past_its_time_is_cancelled_and_cleans_up(faults: Faults) -> None:
    assert [step[:2] for step in faults.steps("late")] == [
        ("hangs", "cancelled"),
        ("on failure", "skipped"),
        ("after", "success"),
    ]
    assert faults.results["faults.yml/late"]["conclusion"] == "cancelled"
    outcome, reason = faults.outcome("late")
    assert (outcome, reason) == ("failed", "hangs: timeout-minutes of the job (1) is over")
    assert "status is cancelled" in faults.log("late")


def test_a_hundred_megabytes_are_bounded_in_the_log_and_in_memory(faults: Faults) -> None:
    assert faults.outcome("flood") == ("passed", "3 steps")
    assert len(faults.log("flood")) < 65 << 20
    assert "the log is cut here" in faults.log("flood")[-300:]
    assert 0 < faults.peak < 300_000


def test_junk_bytes_harm_nothing(faults: Faults) -> None:
    assert faults.outcome("junk") == ("passed", "2 steps")
    assert "\ufffd\ufffd\0\033[31mred" in faults.log("junk")
    assert "\033[31mred" not in faults.done.output


def test_a_mask_of_several_lines_is_nowhere(faults: Faults) -> None:
    assert faults.outcome("masks")[0] == "failed"
    assert "# ***" in (faults.folder / "report.md").read_text()
    assert [one["message"] for one in faults.annotations("masks")] == ["*** *** ***"]
    assert faults.results["faults.yml/masks"]["outputs"] == {"leak": ""}
    written = [path for path in faults.folder.rglob("*") if path.is_file()]
    assert len(written) > 20
    for path in written:
        text = path.read_text(errors="replace")
        assert not [part for part in PARTS if part in text], path
    assert not [part for part in PARTS if part in faults.done.output]


def test_a_summary_of_ten_megabytes_is_cut_as_on_github_and_that_is_said(faults: Faults) -> None:
    assert faults.outcome("summary") == ("passed", "1 step")
    (message,) = [one["message"] for one in faults.annotations("summary")]
    assert message.startswith(
        "$GITHUB_STEP_SUMMARY upload aborted, supports content up to a size of 1024k"
    )
    report = (faults.folder / "report.md").read_text()
    assert "bytes are left out" in report
    assert len(report) < 1_200_000


def test_out_of_memory_is_an_error_of_ours(
    project: Project, in_container: tuple[str, ...], engine: Engine
) -> None:
    done = project.presubmit(
        *("replay", "greedy", *in_container), env={"PRESUBMIT_CONTAINER_MEMORY": "200m"}
    )
    assert done.exit_code == 3, done.output
    assert done.run["state"] == "error"
    step = done.step("memory.yml/greedy")
    assert step["outcome"] == "error"
    assert "memory" in step["reason"]
    assert done.run["failures"] == []
    assert [one["name"] for one in done.run["cell_results"][0]["steps"]] == ["takes it all"]


def test_a_step_that_kills_what_runs_the_steps_is_an_error_and_never_green(
    project: Project, in_container: tuple[str, ...]
) -> None:
    """GitHub loses its runner then, and fails the job."""
    done = project.presubmit("replay", "everything", "group", "-j", "2", *in_container)
    assert done.exit_code == 3, done.output
    for job in ("everything", "group"):
        step = done.step(f"memory.yml/{job}")
        assert step["outcome"] == "error"
        assert "kill -9 -1" in step["reason"]
    steps = [[step["name"] for step in one["steps"]] for one in done.run["cell_results"]]
    assert steps == [["kills all"], ["kills all"]]
