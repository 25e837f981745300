"""`presubmit replay` from end to end: what is chosen, what runs, what is said of the base, and how it exits."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.integration.conftest import TEST_IMAGE
from tests.integration.replay.test_box_driver import busybox_image

if TYPE_CHECKING:
    from presubmit.container.model import ImageRef
    from tests.integration.run.conftest import Done, MakeProject, Project

pytestmark = pytest.mark.engine

__all__ = ["busybox_image"]

CI = r"""
name: CI
on: pull_request
jobs:
  value:
    name: value of ${{ matrix.n }}
    runs-on: ubuntu-latest
    strategy: {fail-fast: false, matrix: {n: [1, 2]}}
    steps:
      - uses: actions/checkout@v4
      - {name: check, run: 'grep -qx "VALUE = [0-9]*" value.py'}
      - {name: other, run: 'test ! -e bad-${{ matrix.n }} || { echo "bad ${{ matrix.n }} is there"; exit 1; }'}
  make:
    runs-on: ubuntu-latest
    outputs: {word: '${{ steps.w.outputs.word }}'}
    steps:
      - {id: w, run: 'echo word=made >>"$GITHUB_OUTPUT"; mkdir out; echo content >out/file.txt'}
      - uses: actions/upload-artifact@v4
        with: {name: built, path: out/}
      - run: echo '## Made it' >>"$GITHUB_STEP_SUMMARY"
  take:
    runs-on: ubuntu-latest
    needs: make
    steps:
      - uses: actions/download-artifact@v5
        with: {name: built, path: got}
      - {name: take, run: 'cat got/file.txt; echo "word is ${{ needs.make.outputs.word }}"'}
  cache:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - id: cache
        uses: actions/cache@v4
        with: {path: stored, key: "k-${{ hashFiles('value.py') }}"}
      - name: use
        run: |
          echo "hit: [${{ steps.cache.outputs.cache-hit }}]"
          mkdir -p stored; cat stored/file 2>/dev/null || echo kept >stored/file
  service:
    runs-on: ubuntu-latest
    services:
      web: {image: IMAGE, entrypoint: python3, command: -u -m http.server 8000, ports: ['8000:8000']}
    steps:
      - name: ask
        run: |
          python3 - <<'END'
          import time, urllib.request
          for _ in range(100):
              try:
                  print(urllib.request.urlopen("http://localhost:8000/etc/hostname").status)
                  break
              except OSError:
                  time.sleep(0.1)
          END
  container:
    runs-on: ubuntu-latest
    container: {image: IMAGE, env: {FROM_CONTAINER: 'yes'}}
    steps:
      - uses: actions/checkout@v4
      - {name: where, run: 'echo "$FROM_CONTAINER $PWD $0"; cat value.py; git describe --always'}
  windows:
    runs-on: windows-latest
    steps: [{run: 'true'}]
  after-windows:
    runs-on: ubuntu-latest
    needs: windows
    steps: [{run: 'true'}]
  unknown:
    runs-on: ubuntu-latest
    steps: [{uses: somebody/unknown@v1}]
  never:
    if: github.event_name == 'push'
    runs-on: ubuntu-latest
    steps: [{run: 'true'}]
  only-when:
    runs-on: ubuntu-latest
    needs: make
    if: needs.make.outputs.word == 'other'
    steps: [{run: 'true'}]
"""
FILES = {
    "value.py": "VALUE = 1\n",
    ".github/workflows/ci.yml": CI.replace("IMAGE", TEST_IMAGE).lstrip(),
    ".github/workflows/broken.yml": "on: pull_request\njobs:\n  x:\n    steps: [\n",
    ".github/workflows/release.yml": (
        "on: {push: {tags: ['v*']}}\njobs: {publish: {runs-on: ubuntu-latest, steps: [{run: 'true'}]}}\n"
    ),
}


class Replay:
    """Replays jobs of one project."""

    def __init__(self, project: Project, arguments: tuple[str, ...]) -> None:
        self.project = project
        self._arguments = arguments

    def __call__(self, *arguments: str, code: int = 0, **env: str) -> Done:
        """Replay; the exit code must be `code`."""
        done = self.project.presubmit("replay", *arguments, *self._arguments, env=env)
        assert done.exit_code == code, done.output
        return done

    def log(self, done: Done, cell: str) -> str:
        name: str = done.step(cell)["log"]
        return (self.project.path / ".presubmit/last" / name).read_text()

    @property
    def report(self) -> str:
        return (self.project.path / ".presubmit/last/report.md").read_text()


@pytest.fixture(scope="module")
def project(make_project: MakeProject) -> Project:
    made = make_project("replayed", files=FILES)
    (made.path / "value.py").write_text("VALUE = 2\n")
    return made


@pytest.fixture
def replay(project: Project, in_container: tuple[str, ...]) -> Replay:
    project.back()
    (project.path / "value.py").write_text("VALUE = 2\n")
    return Replay(project, in_container)


def outcomes(done: Done) -> dict[str, str]:
    return {step["id"].partition("/")[2]: step["outcome"] for step in done.run["steps"]}


def states(done: Done) -> dict[str, str]:
    return {cell["id"].partition("/")[2]: cell["state"] for cell in done.run["cells"]}


def test_every_job_of_a_workflow_ends_as_what_it_is(replay: Replay) -> None:
    done = replay("--all", "-j", "3")
    ran = {"value(n=1)", "value(n=2)", "make", "take", "cache", "service", "container"}
    assert {name for name, outcome in outcomes(done).items() if outcome == "passed"} == ran
    assert {name: state for name, state in states(done).items() if name not in ran} == {
        "windows": "not replayed",
        "after-windows": "blocked",
        "unknown": "not replayed",
        "never": "filtered out",
        "only-when": "filtered out",
    }
    log = {name: replay.log(done, f"ci.yml/{name}") for name in ran}
    assert "content\nword is made" in log["take"]
    assert "hit: []" in log["cache"]
    assert "\n200\n" in log["service"]
    assert "yes /__w/replayed/replayed /__w/_temp/_presubmit/script-" in log["container"]
    assert "shell: sh -e {0}" in log["container"]
    assert "VALUE = 2" in log["container"]
    folder = replay.project.path / ".presubmit/last"
    assert (folder / "artifacts/built/file.txt").read_text() == "content\n"
    assert "## Made it" in replay.report
    assert "broken.yml:5:1: not valid YAML" in done.output  # the one beside it does not suffer
    said = "7 of 10 jobs that this pull request starts are replayed here; 1 windows, 1 action, 1 blocked (2 filtered out)"
    assert said in done.output
    assert done.run["summary"] == said
    assert done.run["state"] == "passed"


def test_a_cache_is_hit_by_the_second_run_with_the_same_key(replay: Replay) -> None:
    (replay.project.path / "value.py").write_text("VALUE = 33\n")
    assert "hit: []" in replay.log(replay("cache"), "ci.yml/cache")
    assert "hit: [true]\nkept" in replay.log(replay("cache"), "ci.yml/cache")


def test_what_a_job_needs_is_replayed_first(replay: Replay) -> None:
    assert [*outcomes(replay("take"))] == ["make", "take"]


def test_a_query_that_names_nothing_is_a_usage_error_with_near_names(replay: Replay) -> None:
    for query, near in (
        ("vlaue", "value"),
        ("ci.yml/value(n=3)", "value(n=1)"),
        ("ic.yml", "ci.yml"),
    ):
        assert near in replay(query, code=2).output
    assert "presubmit plan --upstream" in replay(code=2).output


def test_only_cells_that_are_not_replayed_are_incomplete(replay: Replay) -> None:
    done = replay("windows", "after-windows", code=4)
    assert done.run["state"] == "incomplete"
    assert "ci.yml/windows: not here, runs-on windows-latest" in done.output
    assert "ci.yml/after-windows: blocked, needs windows" in done.output
    assert "PASSED" not in done.output


def test_cells_that_upstream_would_not_run_either_are_nothing(replay: Replay) -> None:
    done = replay("never", "--require-complete")
    assert done.run["state"] == "nothing"
    assert "github.event_name == 'push'" in done.output


def test_a_workflow_that_this_event_does_not_start_is_nothing(replay: Replay) -> None:
    done = replay("release.yml")
    assert done.run["state"] == "nothing"
    assert "release.yml | not started | on: push only" in replay.report


def test_require_complete_makes_what_is_missing_count(replay: Replay) -> None:
    done = replay("make", "unknown", "--require-complete", code=4)
    assert outcomes(done)["make"] == "passed"
    assert "ci.yml/unknown: action somebody/unknown" in done.output
    assert replay("make", "only-when", "--require-complete").run["state"] == "passed"


def test_json_is_the_run_and_nothing_else(replay: Replay) -> None:
    done = replay("make", "--output", "json")
    run: dict[str, Any] = json.loads(done.output)
    assert (run["state"], run["exit"], run["tier"]) == ("passed", 0, "replay")
    assert run == done.run
    assert [one["cell"] for one in run["cell_results"]] == ["ci.yml/make"]


# --- the base ---------------------------------------------------------------------------------------------------------


def test_a_failure_that_the_base_has_as_well_is_no_news(replay: Replay) -> None:
    (replay.project.path / "bad-1").write_text("x")
    replay.project.git("add", "-A")
    replay.project.commit_upstream()
    (replay.project.path / "value.py").write_text("VALUE = 5\n")
    done = replay("value", code=4)
    assert outcomes(done) == {"value(n=1)": "failed", "value(n=2)": "passed"}
    (failure,) = done.run["failures"]
    assert (failure["class"], failure["base"]) == ("on_base", "failed")
    assert "ON BASE" in done.output
    # What the step would have said of the change cannot be known, so it is not green either.
    assert done.run["state"] == "incomplete"
    assert "nothing can be told of the change" in done.output


def test_a_failure_that_the_base_has_otherwise_is_new(replay: Replay) -> None:
    (replay.project.path / "bad-1").write_text("x")
    replay.project.git("add", "-A")
    replay.project.commit_upstream()
    (replay.project.path / "value.py").write_text("VALUE = broken\n")
    done = replay("value(n=1)", code=1)
    (failure,) = done.run["failures"]
    assert (failure["class"], failure["line"]) == ("new", 10)
    assert failure["message"] == "ci.yml/value(n=1): check: exit code 1"
    assert failure["repro"] == "presubmit replay 'ci.yml/value(n=1)'"


def test_a_failing_cell_that_the_base_does_not_have_counts_and_that_is_said(
    replay: Replay,
) -> None:
    path = replay.project.path / ".github/workflows/extra.yml"
    path.write_text(
        "on: pull_request\njobs: {extra: {runs-on: ubuntu-latest, steps: [{run: 'exit 3'}]}}\n"
    )
    done = replay("extra", code=1)
    (failure,) = done.run["failures"]
    assert (failure["class"], failure["base"]) == ("unknown", "not run")
    assert "the base has no such cell" in done.output


def test_without_the_base_a_failure_is_unknown_and_counts(replay: Replay) -> None:
    (replay.project.path / "value.py").write_text("VALUE = broken\n")
    done = replay("value(n=1)", "--check-base", "never", code=1)
    (failure,) = done.run["failures"]
    assert (failure["class"], failure["base"]) == ("unknown", "not run")


def test_a_matrix_that_fails_fast_stops_the_others(replay: Replay) -> None:
    path = replay.project.path / ".github/workflows/fast.yml"
    path.write_text(
        "on: pull_request\njobs:\n  fast:\n    runs-on: ubuntu-latest\n"
        "    strategy: {matrix: {n: [0, 60, 61]}}\n"
        "    steps: [{name: wait, run: 'sleep ${{ matrix.n }}; exit 1'}]\n"
    )
    done = replay("fast", "--check-base", "never", "-j", "2", code=1)
    assert sorted(outcomes(done).values()) == ["failed", "skipped", "skipped"]
    reasons = {step["reason"] for step in done.run["steps"] if step["outcome"] == "skipped"}
    assert reasons == {"fail-fast: ci.yml/fast(n=0) failed".replace("ci.yml", "fast.yml")}


# --- other trees and images -------------------------------------------------------------------------------------------


def test_a_linked_worktree_is_replayed_as_it_stands(replay: Replay, project: Project) -> None:
    linked = project.path.with_name("linked")
    project.git("worktree", "add", "-q", "--detach", str(linked), "start")
    try:
        (linked / "value.py").write_text("VALUE = 77\n")
        other = type(project)(linked, project._git, project.env)
        done = Replay(other, replay._arguments)("container", "cache")
        assert "VALUE = 77" in Replay(other, ()).log(done, "ci.yml/container")
        assert not (linked / "stored").exists()
        assert other.git("status", "--porcelain") == " M value.py"
    finally:
        project.git("worktree", "remove", "--force", str(linked))


def test_a_repository_without_workflows_has_nothing_to_replay(
    make_project: MakeProject, in_container: tuple[str, ...]
) -> None:
    project = make_project("plain", files={"a.py": "x = 1\n"})
    (project.path / "a.py").write_text("x = 2\n")
    replay = Replay(project, in_container)
    assert replay("--all").run["state"] == "nothing"
    assert "no job of upstream has the role tests" in replay("tests", code=2).output


def test_an_image_with_nothing_but_a_shell_runs_what_it_can(
    make_project: MakeProject, busybox_image: ImageRef
) -> None:
    workflow = """
on: pull_request
jobs:
  plain:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - {name: show, run: 'cat a.txt; echo "${{ hashFiles(''a.txt'') }}" | head -c 4'}
  snake:
    runs-on: ubuntu-latest
    steps: [{uses: actions/setup-python@v5, with: {python-version: '3.12'}}]
  bash:
    runs-on: ubuntu-latest
    steps: [{shell: bash, run: 'true'}]
"""
    project = make_project("bare", files={"a.txt": "one\n", ".github/workflows/ci.yml": workflow})
    (project.path / "a.txt").write_text("two\n")
    replay = Replay(project, ("--image", busybox_image.name))
    done = replay("--all", "--check-base", "never", code=1)
    log = replay.log(done, "ci.yml/plain")
    assert "shell: sh -e {0}\ntwo\nda63" in log
    assert states(done)["snake"] == "not replayed"
    assert "Python 3.12" in done.output
    assert done.step("ci.yml/bash")["reason"].endswith("bash: command not found")


# --- known faults: each of these turns red when it is mended, and then loses its mark ---------------------------------

MAYBE = """
on: pull_request
jobs:
  first: {runs-on: ubuntu-latest, steps: [{run: 'true'}]}
  second: {needs: first, runs-on: ubuntu-latest, steps: [{name: second, run: echo ran}]}
"""


def test_a_job_whose_needs_are_left_out_runs_all_the_same(replay: Replay) -> None:
    (replay.project.path / ".github/workflows/maybe.yml").write_text(MAYBE)
    assert outcomes(replay("maybe.yml/second", "--no-needs")) == {"second": "passed"}


def test_a_run_of_which_nothing_ran_is_not_passed(replay: Replay) -> None:
    text = MAYBE.replace("needs: first", "needs: first, if: needs.first.outputs.x")
    (replay.project.path / ".github/workflows/maybe.yml").write_text(text)
    assert replay("maybe.yml/second", "--no-needs").run["state"] == "nothing"


def test_why_a_workflow_does_not_start_is_said(replay: Replay) -> None:
    assert "on: push only" in replay("release.yml").output


def test_that_there_are_no_workflows_is_said(
    make_project: MakeProject, in_container: tuple[str, ...]
) -> None:
    project = make_project("empty", files={"a.py": "x = 1\n"})
    assert "no workflows" in Replay(project, in_container)("--all").output


def test_a_workflow_file_that_the_change_breaks_is_a_failure(replay: Replay) -> None:
    path = replay.project.path / ".github/workflows/new.yml"
    path.write_text("on: pull_request\njobs: [}\n")
    done = replay("make", code=1)
    (failure,) = done.run["failures"]
    assert (failure["class"], failure["file"]) == ("new", ".github/workflows/new.yml")
