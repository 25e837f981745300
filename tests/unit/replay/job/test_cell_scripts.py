"""How a `run:` step is started: its shell, its folder, its script."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import msgspec
import pytest

from presubmit.replay.job.values import Conclusion
from tests.unit.replay.actions.fake import HERE

if TYPE_CHECKING:
    from pathlib import Path

    from tests.unit.replay.job.conftest import RunCell


def test_the_default_shell_stops_at_a_failing_command_but_not_inside_a_pipe(cell: RunCell) -> None:
    ran = cell("""
      - name: pipe
        run: |
          false | true
          echo "$BASH went on"
      - name: command
        run: |
          false
          echo never
    """)
    assert ran.printed("pipe")[0].endswith("bash went on")
    assert ran["command"].exit_code == 1
    assert "never" not in ran.printed("command")
    assert "shell: bash -e {0}" in ran.log


def test_bash_by_name_stops_inside_a_pipe_as_well(cell: RunCell) -> None:
    ran = cell("- {name: pipe, shell: bash, run: 'false | true'}")
    assert (ran["pipe"].outcome, ran["pipe"].exit_code) == (Conclusion.FAILURE, 1)
    assert "shell: bash --noprofile --norc -e -o pipefail {0}" in ran.log


def test_a_job_with_its_own_container_has_sh_by_default(cell: RunCell) -> None:
    ran = cell("- {name: a, run: 'echo here'}", in_container=True)
    assert "shell: sh -e {0}" in ran.log


def test_python_is_a_shell(cell: RunCell, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to(sys.executable)  # Debian has python3 alone
    ran = cell(f"""
      - {{name: path, run: 'echo {tmp_path}/bin >>$GITHUB_PATH'}}
      - name: snake
        shell: python
        run: |
          import sys
          print(6 * 7, sys.argv[0].endswith('.py'))
    """)
    assert ran.printed("snake") == ["42 True"]


def test_any_command_line_with_a_place_for_the_script_is_a_shell(cell: RunCell) -> None:
    ran = cell("- {name: a, shell: 'cat -n {0}', run: 'not a script'}")
    assert ran.printed("a")[0].split() == ["1", "not", "a", "script"]


@pytest.mark.parametrize(
    ("shell", "reason"),
    [
        ("cat", "Invalid shell option"),
        ("no-such-shell -x {0}", "no-such-shell: command not found"),
        ("pwsh", "pwsh: command not found"),
    ],
)
def test_a_shell_that_is_none_fails_the_step(cell: RunCell, shell: str, reason: str) -> None:
    ran = cell(f"- {{name: a, shell: '{shell}', run: 'true'}}")
    assert ran["a"].outcome is Conclusion.FAILURE
    assert reason in ran["a"].reason
    assert f"##[error]{ran['a'].reason}" in ran.log


def test_the_shell_of_a_step_beats_the_jobs_which_beats_the_workflows(cell: RunCell) -> None:
    top = "defaults: {run: {shell: 'echo workflow {0}'}}"
    job = "defaults: {run: {shell: 'echo job {0}'}}"
    step = "- {name: a, run: x}\n- {name: b, shell: 'echo step {0}', run: x}"
    assert cell("- {name: a, run: x}", top=top).printed("a")[0].startswith("workflow ")
    ran = cell(step, top=top, job=job)
    assert ran.printed("a")[-1].startswith("job ")
    assert ran.printed("b")[0].startswith("step ")


def test_the_folder_of_a_step_beats_the_jobs_which_beats_the_workflows(cell: RunCell) -> None:
    top = "defaults: {run: {working-directory: w}}"
    job = "defaults: {run: {working-directory: j/k}}"
    steps = """
      - {name: a, run: pwd}
      - {name: b, run: pwd, working-directory: ./s}
      - {name: c, run: pwd, working-directory: '${{ github.workspace }}/s'}
    """
    files = {"w/x": "", "j/k/x": "", "s/x": ""}
    place = str(cell.workspace)
    assert cell("- {name: z, run: pwd}", top=top, files=files).printed("z") == [f"{place}/w"]
    ran = cell(steps, top=top, job=job, files=files)
    assert [ran.printed(name) for name in "abc"] == [[f"{place}/{d}"] for d in ("j/k", "s", "s")]


def test_a_folder_of_the_defaults_is_not_for_actions(cell: RunCell) -> None:
    ran = cell(
        "- {name: use, uses: ./it}",
        job="defaults: {run: {working-directory: sub, shell: 'echo wrong {0}'}}",
        files={"sub/x": "", "it/action.yml": INNER},
    )
    assert ran.printed("inner") == [str(cell.workspace)]


INNER = """
name: it
runs:
  using: composite
  steps:
    - {name: inner, run: pwd, shell: bash}
"""


def test_a_folder_that_is_not_there_fails_the_step(cell: RunCell) -> None:
    ran = cell("- {name: a, run: pwd, working-directory: no/such}\n- {name: b, run: pwd}")
    assert ran["a"].reason == f"the working directory {cell.workspace}/no/such does not exist"
    assert ran.outcomes == ["failure", "skipped"]


def test_an_expression_is_put_into_the_script_before_the_shell_reads_it(cell: RunCell) -> None:
    ran = cell(
        """
      - name: a
        run: |
          echo "${{ github.event.title }}"
          echo '${{ github.event.title }}' ${{ matrix.n }}$((1+1))
    """,
        github={"event": {"title": '$(echo it runs) "; echo here #'}},
        matrix={"n": 3.1},
    )
    assert ran.printed("a") == ["it runs ", "here", '$(echo it runs) "; echo here # 3.12']


def test_a_script_may_be_larger_than_an_argument_can_be(cell: RunCell) -> None:
    ran = cell(f"- name: a\n  run: |\n    x='{'y' * 200_000}'\n    echo ${{#x}}")
    assert ran.printed("a") == ["200000"]


def test_junk_bytes_and_a_missing_line_end_are_shown(cell: RunCell) -> None:
    ran = cell("""- {name: a, run: "printf 'caf\\\\351\\\\0 end'"}""")
    assert ran.ok
    assert ran.printed("a") == ["caf\ufffd\0 end"]


def test_a_step_that_reads_its_input_gets_none(cell: RunCell) -> None:
    assert cell("- {name: a, run: 'cat; echo end'}").printed("a") == ["end"]


def test_the_exit_code_of_a_signal_is_that_of_the_shell(cell: RunCell) -> None:
    ran = cell("- {name: a, run: 'kill -9 $$'}")
    assert (ran["a"].exit_code, ran["a"].reason) == (137, "exit code 137")


def test_a_root_that_has_no_sudo_gets_one(cell: RunCell) -> None:
    ran = cell(
        "- {name: a, run: 'sudo -E -u root A=1 sh -c \"echo $0 \\$A\"; command -v sudo'}",
        here=msgspec.structs.replace(HERE, root=True),
    )
    first, second = ran.printed("a")
    assert first.split()[-1] == "1"
    assert second == f"{cell.temp}/_presubmit_bin/sudo"


def test_an_interpreter_that_a_step_put_on_the_path_is_the_shell(cell: RunCell) -> None:
    ran = cell(
        """
      - run: echo "$PWD/bin" >>"$GITHUB_PATH"
      - {name: a, shell: own, run: x}
      - {name: b, shell: 'own {0} more', run: x}
    """,
        files={"bin/own": f"#!{sys.executable}\nimport sys\nprint(sys.argv[2:])\n"},
    )
    assert ran["a"].outcome is Conclusion.FAILURE  # no program, and no format
    (cell.workspace / "bin/own").chmod(0o755)
    ran = cell(
        '- run: echo "$PWD/bin" >>"$GITHUB_PATH"\n- {name: c, shell: "own {0} more", run: x}'
    )
    assert ran.printed("c") == ["['more']"]
