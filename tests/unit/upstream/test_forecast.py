"""What is said of the cells before anything runs."""

from __future__ import annotations

import pytest

from presubmit.upstream.cells import CellState, JobCell, summary
from presubmit.upstream.here import Here
from tests.unit.upstream.made import HERE, cells, facts, setting, states, workflow

ON = "on: pull_request\n"


def job(name: str, *lines: str, runs_on: str = "ubuntu-latest") -> str:
    """Give a job of `run: true` with further lines."""
    more = "".join(f"    {line}\n" for line in lines)
    return f"  {name}:\n    runs-on: {runs_on}\n{more}    steps:\n      - run: 'true'\n"


def test_a_job_without_filters_is_replayed_and_says_what_started_it() -> None:
    found = cells(f"{ON}jobs:\n{job('tests')}")["ci.yml/tests"]
    assert (found.state, found.origin) == (CellState.REPLAYED, "ci.yml:1")


def test_a_workflow_whose_paths_match_nothing_is_filtered_with_its_line() -> None:
    text = f"on:\n  pull_request:\n    paths: ['docs/**']\njobs:\n{job('tests')}"
    found = cells(text)["ci.yml"]
    assert (found.state, found.origin) == (CellState.FILTERED, "ci.yml:3")
    assert found.reason == "paths: docs/** matches none of 1 changed file"


def test_paths_that_match_are_the_reason() -> None:
    text = f"on:\n  pull_request:\n    paths: ['src/**']\njobs:\n{job('tests')}"
    found = cells(text, facts=facts("src/a.c", "b.md"))["ci.yml/tests"]
    assert found.reason == "paths: src/** matches src/a.c"


def test_another_event_does_not_start_a_workflow() -> None:
    found = cells(f"on: push\njobs:\n{job('tests')}")["ci.yml"]
    assert (found.state, found.reason) == (CellState.NOT_STARTED, "on: push only")


def test_each_cell_of_a_matrix_has_its_own_verdict() -> None:
    text = ON + (
        "jobs:\n  tests:\n    runs-on: ${{ matrix.os }}\n    strategy:\n      matrix:\n"
        "        os: [ubuntu-latest, windows-latest]\n        python: ['3.11', '3.12']\n"
        "    steps:\n      - uses: actions/setup-python@v5\n"
        "        with:\n          python-version: ${{ matrix.python }}\n"
    )
    found = cells(text)
    assert {name: (str(c.state), c.reason, c.line) for name, c in found.items()} == {
        "ci.yml/tests(os=ubuntu-latest,python=3.11)": ("replayed", "on: pull_request", 1),
        "ci.yml/tests(os=ubuntu-latest,python=3.12)": ("not replayed", "Python 3.12", 10),
        "ci.yml/tests(os=windows-latest,python=3.11)": (
            "not replayed",
            "runs-on windows-latest",
            4,
        ),
        "ci.yml/tests(os=windows-latest,python=3.12)": (
            "not replayed",
            "runs-on windows-latest",
            4,
        ),
    }


def test_cells_of_the_same_text_have_ids_of_their_own() -> None:
    text = ON + (
        "jobs:\n  tests:\n    runs-on: ubuntu-latest\n    strategy:\n      matrix:\n"
        "        a: [1, '1']\n    steps:\n      - run: 'true'\n"
    )
    assert list(cells(text)) == ["ci.yml/tests(a=1)", "ci.yml/tests(a=1)#2"]


def test_a_job_whose_if_is_false_is_filtered_with_the_condition() -> None:
    text = f"{ON}jobs:\n{job('deploy', 'if: github.event_name == ' + chr(39) + 'push' + chr(39))}"
    found = cells(text)["ci.yml/deploy"]
    assert found.state is CellState.FILTERED
    assert found.reason == "if: github.event_name == 'push' is false"
    assert found.line == 5


def test_what_needs_a_filtered_job_is_filtered_too() -> None:
    text = f"{ON}jobs:\n{job('first', 'if: false')}{job('second', 'needs: first')}"
    assert states(text) == {"ci.yml/first": "filtered out", "ci.yml/second": "filtered out"}


def test_always_runs_after_a_filtered_job() -> None:
    text = f"{ON}jobs:\n{job('first', 'if: false')}{job('second', 'needs: first', 'if: always()')}"
    assert states(text)["ci.yml/second"] == "replayed"


def test_a_skipped_ancestor_counts_beyond_a_job_that_always_runs() -> None:
    text = (
        f"{ON}jobs:\n{job('first', 'if: false')}"
        f"{job('second', 'needs: first', 'if: always()')}{job('third', 'needs: second')}"
    )
    assert states(text)["ci.yml/third"] == "filtered out"


def test_what_needs_a_job_that_is_not_here_is_blocked() -> None:
    text = f"{ON}jobs:\n{job('wheels', runs_on='macos-latest')}{job('tests', 'needs: wheels')}"
    found = cells(text)["ci.yml/tests"]
    assert (found.state, found.reason) == (
        CellState.BLOCKED,
        "needs wheels, which is not replayed",
    )


def test_blocked_goes_on_down_the_line() -> None:
    text = f"{ON}jobs:\n{job('a', runs_on='macos-latest')}{job('b', 'needs: a')}{job('c', 'needs: b')}"
    assert states(text)["ci.yml/c"] == "blocked"


def test_always_after_a_job_that_is_not_here_runs_and_says_so() -> None:
    text = f"{ON}jobs:\n{job('a', runs_on='macos-latest')}{job('b', 'needs: a', 'if: always()')}"
    found = cells(text)["ci.yml/b"]
    assert (found.state, found.notes) == (
        CellState.REPLAYED,
        ("needs a, which is not replayed",),
    )


def test_a_job_replayed_in_part_leaves_a_note_where_it_is_needed() -> None:
    text = ON + (
        "jobs:\n  tests:\n    runs-on: ${{ matrix.os }}\n    strategy:\n      matrix:\n"
        "        os: [ubuntu-latest, windows-latest, macos-latest]\n    steps:\n      - run: 'true'\n"
        + job("done", "needs: tests")
    )
    assert cells(text)["ci.yml/done"].notes == ("needs tests, which is replayed in 1 of 3 cells",)


def test_a_condition_on_an_output_is_decided_at_run_time() -> None:
    text = f"{ON}jobs:\n{job('a')}{job('b', 'needs: a', 'if: needs.a.outputs.go')}"
    found = cells(text)["ci.yml/b"]
    assert (found.state, found.later) == (CellState.REPLAYED, True)
    assert "needs.a.outputs.go" in found.reason


def test_a_condition_on_a_result_is_decided_now() -> None:
    text = f"{ON}jobs:\n{job('a')}" + job("b", "needs: a", "if: needs.a.result == 'failure'")
    assert states(text)["ci.yml/b"] == "filtered out"


def test_a_matrix_out_of_an_output_expands_at_run_time() -> None:
    text = ON + (
        f"jobs:\n{job('a')}  b:\n    needs: a\n    runs-on: ${{{{ matrix.os }}}}\n    strategy:\n"
        "      matrix:\n        os: ${{ fromJSON(needs.a.outputs.list) }}\n"
        "    steps:\n      - run: 'true'\n"
    )
    found = cells(text)["ci.yml/b"]
    assert (found.state, found.later) == (CellState.REPLAYED, True)
    assert "expands at run time" in found.reason


def test_a_matrix_that_cannot_be_made_hurts_its_own_job_only() -> None:
    text = ON + (
        "jobs:\n  a:\n    runs-on: ubuntu-latest\n    strategy:\n"
        "      matrix: ${{ fromJSON('[broken') }}\n    steps:\n      - run: 'true'\n" + job("b")
    )
    assert states(text) == {"ci.yml/a": "not replayed", "ci.yml/b": "replayed"}


def test_a_step_whose_condition_is_false_lacks_nothing() -> None:
    text = ON + (
        "jobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n"
        "      - uses: odd/action@v1\n        if: runner.os == 'Windows'\n      - run: 'true'\n"
    )
    assert states(text) == {"ci.yml/a": "replayed"}


def test_an_unknown_action_is_named_with_its_line() -> None:
    text = ON + (
        "jobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n      - run: 'true'\n"
        "      - uses: odd/action@v1\n"
    )
    found = cells(text)["ci.yml/a"]
    assert (found.reason, found.line) == ("action odd/action", 7)


def test_an_unknown_action_that_upstream_tolerates_is_a_note() -> None:
    text = ON + (
        "jobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n"
        "      - uses: odd/action@v1\n        continue-on-error: true\n"
    )
    found = cells(text)["ci.yml/a"]
    assert found.state is CellState.REPLAYED
    assert found.notes == ("action odd/action: that step fails here, and is tolerated (ci.yml:6)",)


def test_an_action_that_only_failures_reach_is_no_lack() -> None:
    text = ON + (
        "jobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n      - run: 'true'\n"
        "      - uses: odd/action@v1\n        if: failure()\n"
    )
    assert states(text) == {"ci.yml/a": "replayed"}


def test_an_action_behind_another_steps_output_may_be_missed() -> None:
    text = ON + (
        "jobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n      - run: 'true'\n        id: x\n"
        "      - uses: odd/action@v1\n        if: steps.x.outputs.go == 'yes'\n"
    )
    found = cells(text)["ci.yml/a"]
    assert found.state is CellState.REPLAYED
    assert found.notes == ("action odd/action, if that step is reached (ci.yml:8)",)


def test_the_users_own_substitute_is_no_lack() -> None:
    text = ON + (
        "jobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n      - uses: Odd/Action@v1\n"
    )
    assert states(text, substitutes={"odd/action"}) == {"ci.yml/a": "replayed"}


def test_a_stub_is_named() -> None:
    text = ON + (
        "jobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n"
        "      - uses: codecov/codecov-action@v5\n      - run: 'true'\n"
    )
    assert cells(text)["ci.yml/a"].notes == ("stubbed: codecov/codecov-action (ci.yml:6)",)


def test_a_job_of_nothing_but_stubs_is_not_green_for_doing_nothing() -> None:
    text = ON + (
        "jobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n"
        "      - uses: actions/checkout@v5\n      - uses: codecov/codecov-action@v5\n"
    )
    assert cells(text)["ci.yml/a"].reason == (
        "action codecov/codecov-action: all that it does is done elsewhere"
    )


@pytest.mark.parametrize(
    "script",
    [
        "sudo apt-get update",
        "true && sudo make",
        "A=1 sudo x",
        "if true; then sudo x; fi",
        "$(sudo x)",
    ],
)
def test_sudo_needs_root(script: str) -> None:
    text = f"{ON}jobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n      - run: {script!r}\n"
    assert cells(text)["ci.yml/a"].reason.startswith("sudo")
    root = Here(**{**{f: getattr(HERE, f) for f in HERE.__struct_fields__}, "root": True})
    assert states(text, here=root) == {"ci.yml/a": "replayed"}


@pytest.mark.parametrize("script", ["echo sudo make", "pseudo x", "./sudo-test", "# sudo x"])
def test_a_word_that_only_looks_like_sudo_needs_nothing(script: str) -> None:
    text = f"{ON}jobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n      - run: {script!r}\n"
    assert states(text) == {"ci.yml/a": "replayed"}


def test_docker_inside_a_job_is_not_here() -> None:
    text = f"{ON}jobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n      - run: docker run x\n"
    assert cells(text)["ci.yml/a"].reason == "docker inside the job"


def test_a_windows_shell_is_not_here() -> None:
    text = (
        f"{ON}jobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n"
        "      - run: Get-Item x\n        shell: pwsh\n"
    )
    assert cells(text)["ci.yml/a"].reason == "shell pwsh"


def test_the_image_of_a_container_must_be_here() -> None:
    text = f"{ON}jobs:\n{job('a', 'container: quay.io/x:1')}"
    assert cells(text, has_image=lambda _: False)["ci.yml/a"].reason == (
        "image quay.io/x:1 of its container"
    )
    assert states(text, has_image=lambda _: True) == {"ci.yml/a": "replayed"}


def test_without_an_engine_nothing_is_said_of_interpreters() -> None:
    text = ON + ("jobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n      - run: sudo x\n")
    assert states(text, here=None) == {"ci.yml/a": "replayed"}


def test_a_local_action_lacks_what_its_steps_lack() -> None:
    action = {
        ".github/actions/prepare/action.yml": """
            name: prepare
            runs:
              using: composite
              steps:
                - uses: odd/action@v1
        """
    }
    text = ON + (
        "jobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n"
        "      - uses: ./.github/actions/prepare\n"
    )
    found = cells(text, action)["ci.yml/a"]
    assert (found.reason, found.line) == ("action odd/action", 6)


CALLED = {
    ".github/workflows/inner.yml": """
        on:
          workflow_call:
            inputs:
              python: {type: string, required: true}
              deep: {type: boolean}
        jobs:
          inner:
            runs-on: ubuntu-latest
            steps:
              - uses: actions/setup-python@v5
                with:
                  python-version: ${{ inputs.python }}
    """
}
CALLER = ON + (
    "jobs:\n  call:\n    strategy:\n      matrix:\n        python: ['3.11', '3.12']\n"
    "    uses: ./.github/workflows/inner.yml\n    with:\n      python: ${{ matrix.python }}\n"
)


def test_jobs_of_a_called_workflow_are_cells_below_the_call() -> None:
    assert states(CALLER, CALLED) == {
        "ci.yml/call(python=3.11)/inner": "replayed",
        "ci.yml/call(python=3.12)/inner": "not replayed",
    }


def test_a_called_workflow_gives_its_own_file_as_the_place() -> None:
    found = cells(CALLER, CALLED)["ci.yml/call(python=3.12)/inner"]
    assert found.origin == "inner.yml:11"


def test_a_call_with_an_input_of_the_wrong_type_is_said() -> None:
    text = CALLER + "      deep: 'yes'\n"
    reasons = {cell.reason for cell in cells(text, CALLED).values()}
    assert reasons == {"input deep wants a boolean, not 'yes'"}


def test_a_call_without_a_required_input_is_said() -> None:
    text = f"{ON}jobs:\n  call:\n    uses: ./.github/workflows/inner.yml\n"
    assert cells(text, CALLED)["ci.yml/call"].reason == "input python of inner.yml is required"


def test_a_workflow_of_another_repository_is_not_here() -> None:
    text = f"{ON}jobs:\n  call:\n    uses: other/repo/.github/workflows/x.yml@v1\n"
    found = cells(text)["ci.yml/call"]
    assert found.reason == "workflow other/repo/.github/workflows/x.yml@v1"


def test_a_workflow_that_calls_itself_ends() -> None:
    files = {
        ".github/workflows/loop.yml": """
            on: workflow_call
            jobs:
              again:
                uses: ./.github/workflows/loop.yml
        """
    }
    text = f"{ON}jobs:\n  call:\n    uses: ./.github/workflows/loop.yml\n"
    found = list(cells(text, files).values())
    assert [cell.state for cell in found] == [CellState.NOT_REPLAYED]
    assert found[0].reason == "workflow ./.github/workflows/loop.yml calls itself in the end"


def test_cells_know_what_they_are_for() -> None:
    text = f"{ON}jobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n      - run: pytest -q\n"
    found = cells(text)["ci.yml/a"]
    assert (found.role, found.role_reason) == ("tests", "pytest at ci.yml:6")


def test_the_last_line_counts_everything() -> None:
    def cell(state: CellState, reason: str = "") -> JobCell:
        return JobCell(id=reason, workflow="w", job="j", state=state, reason=reason)

    found = [
        cell(CellState.REPLAYED),
        cell(CellState.NOT_REPLAYED, "runs-on windows-latest"),
        cell(CellState.NOT_REPLAYED, "runs-on macos-14"),
        cell(CellState.NOT_REPLAYED, "Python 3.12 (the image has 3.11.2)"),
        cell(CellState.BLOCKED),
        cell(CellState.FILTERED),
        cell(CellState.NOT_STARTED),
    ]
    assert summary(found) == (
        "1 of 5 jobs that this pull request starts are replayed here; "
        "1 windows, 1 macos, 1 interpreter, 1 blocked (1 filtered out)"
    )


def test_a_forecast_of_no_workflow_is_empty() -> None:
    from presubmit.upstream.forecast import forecast  # noqa: PLC0415

    assert forecast([], setting()) == ()
    assert workflow(f"{ON}jobs:\n{job('a')}").file == "ci.yml"


def test_a_condition_that_is_false_whatever_the_needs_gave_filters_first() -> None:
    condition = "if: github.event_name == 'push'"
    text = f"{ON}jobs:\n{job('a', runs_on='macos-latest')}{job('b', 'needs: a', condition)}"
    assert states(text)["ci.yml/b"] == "filtered out"


def test_a_condition_on_the_result_of_a_job_that_is_not_here_blocks() -> None:
    condition = "if: always() && needs.a.result == 'success'"
    text = f"{ON}jobs:\n{job('a', runs_on='macos-latest')}{job('b', 'needs: a', condition)}"
    assert states(text)["ci.yml/b"] == "blocked"
