"""What a step's process finds in its environment, what it leaves to later ones, and what expressions see of it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from presubmit.replay.job.values import Conclusion

if TYPE_CHECKING:
    from tests.unit.replay.job.conftest import RunCell

LEVELS: dict[str, Any] = {
    "top": "env: {A: workflow, B: workflow, C: workflow}",
    "job": "env: {B: job, C: job}",
}


def test_env_of_a_step_beats_the_jobs_which_beats_the_workflows(cell: RunCell) -> None:
    ran = cell("- {name: a, env: {C: step}, run: 'echo $A $B $C'}", **LEVELS)
    assert ran.printed("a") == ["workflow job step"]


def test_an_env_may_use_that_of_the_level_above(cell: RunCell) -> None:
    ran = cell(
        "- {name: a, env: {C: '${{ env.B }}!'}, run: 'echo $C ${{ env.C }}'}",
        top="env: {A: '1'}",
        job="env: {B: '${{ github.sha }}'}",
    )
    assert ran.printed("a") == ["c0ffee! c0ffee!"]


def test_numbers_and_booleans_of_env_are_text(cell: RunCell) -> None:
    ran = cell("- {name: a, env: {N: 3.10, T: true, E: null}, run: 'echo $N $T [$E]'}")
    assert ran.printed("a") == ["3.1 true []"]


def test_a_variable_is_there_from_the_next_step_on_and_beats_the_jobs_env(cell: RunCell) -> None:
    ran = cell(
        """
      - {name: a, run: 'echo B=file >>"$GITHUB_ENV"; echo $B ${{ env.B }}'}
      - {name: b, run: 'echo $B ${{ env.B }}'}
      - {name: c, run: 'echo $B', env: {B: step}}
      - {name: d, run: 'echo $B'}
    """,
        **LEVELS,
    )
    assert [ran.printed(name) for name in "abcd"] == [
        ["job job"],
        ["file file"],
        ["step"],
        ["file"],
    ]


def test_values_with_equal_signs_and_of_several_lines_are_kept(cell: RunCell) -> None:
    ran = cell("""
      - run: |
          echo 'A=b=c' >>"$GITHUB_ENV"
          printf 'B<<END\\none\\n\\ntwo=2\\nEND\\n' >>"$GITHUB_ENV"
      - {name: b, run: 'echo "$A"; echo "$B"'}
    """)
    assert ran.printed("b") == ["b=c", "one", "", "two=2"]


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ("just words", "Invalid format 'just words'"),
        ("A<<END\\nx", "Invalid value. Matching delimiter not found 'END'"),
    ],
)
def test_a_malformed_file_fails_a_step_that_ended_well(
    cell: RunCell, written: str, reason: str
) -> None:
    ran = cell(f"""- {{name: a, run: "printf '{written}\\\\n' >>$GITHUB_ENV"}}""")
    assert (ran["a"].exit_code, ran["a"].outcome) == (0, Conclusion.FAILURE)
    assert reason in ran["a"].reason
    assert ("error", "Unable to process file command 'env' successfully.") in ran.annotations


def test_node_options_cannot_be_set(cell: RunCell) -> None:
    ran = cell("""
      - {name: a, run: 'echo NODE_OPTIONS=--x >>$GITHUB_ENV'}
      - {name: b, run: 'echo [$NODE_OPTIONS]'}
    """)
    assert ran.printed("b") == ["[]"]
    assert (
        "error",
        "Can't store NODE_OPTIONS output parameter using '$GITHUB_ENV' command.",
    ) in ran.annotations


def test_what_is_put_on_the_path_last_comes_first(cell: RunCell) -> None:
    ran = cell("""
      - run: |
          echo /one >>"$GITHUB_PATH"
          echo /two >>"$GITHUB_PATH"
      - run: echo /three >>"$GITHUB_PATH"
      - {name: a, run: 'echo $PATH | cut -d: -f1-3'}
      - run: echo /one >>"$GITHUB_PATH"
      - {name: b, run: 'echo $PATH | cut -d: -f1-3'}
      - {name: c, run: 'echo $PATH', env: {PATH: '/usr/bin:/bin'}}
    """)
    assert ran.printed("a") == ["/three:/two:/one"]
    assert ran.printed("b") == ["/one:/three:/two"]
    assert ran.printed("c") == ["/one:/three:/two:/usr/bin:/bin"]


def test_outputs_are_text_that_later_steps_read(cell: RunCell) -> None:
    ran = cell("""
      - id: one
        run: |
          echo "flag=false" >>"$GITHUB_OUTPUT"
          echo "::set-output name=old::way"
          echo "flag=no" >>"$GITHUB_OUTPUT"; echo "flag=false" >>"$GITHUB_OUTPUT"
      - {name: truthy, if: steps.one.outputs.flag, run: 'echo ${{ steps.ONE.outputs.FLAG }}'}
      - {name: text, if: "steps.one.outputs.flag == 'false'", run: 'echo ${{ steps.one.outputs.old }}'}
      - {name: none, run: 'echo [${{ steps.one.outputs.nothing }}${{ steps.nobody.outputs.x }}]'}
    """)
    assert ran.printed("truthy") == ["false"]
    assert ran.printed("text") == ["way"]
    assert ran.printed("none") == ["[]"]


def test_only_steps_with_an_id_are_in_the_steps_context(cell: RunCell) -> None:
    ran = cell(
        """
      - {id: one, run: 'echo k=v >>"$GITHUB_OUTPUT"'}
      - run: echo k=hidden >>"$GITHUB_OUTPUT"
      - {name: show, env: {JSON: '${{ toJSON(steps) }}'}, run: 'echo "$JSON"'}
    """
    )
    told = json.loads("\n".join(ran.printed("show")))
    assert told == {"one": {"outputs": {"k": "v"}, "outcome": "success", "conclusion": "success"}}


def test_state_is_nothing_to_later_steps(cell: RunCell) -> None:
    ran = cell("""
      - {name: a, run: 'echo key=value >>"$GITHUB_STATE"'}
      - {name: b, run: 'echo [$STATE_key]'}
    """)
    assert ran.ok
    assert ran.printed("b") == ["[]"]


def test_the_files_of_a_step_are_fresh_and_in_its_context(cell: RunCell) -> None:
    ran = cell("""
      - {id: one, run: 'echo a=1 >>"${{ github.output }}"; echo A=1 >>${{ github.env }}'}
      - name: show
        run: |
          cat $GITHUB_OUTPUT $GITHUB_ENV $GITHUB_PATH $GITHUB_STATE $GITHUB_STEP_SUMMARY
          echo ${{ steps.one.outputs.a }} $A
          [ "${{ github.step_summary }}" = "$GITHUB_STEP_SUMMARY" ]
    """)
    assert ran.ok
    assert ran.printed("show") == ["1 1"]


def test_the_summaries_of_the_steps_are_gathered(cell: RunCell) -> None:
    ran = cell("""
      - run: echo '# One' >>"$GITHUB_STEP_SUMMARY"; echo text >>"$GITHUB_STEP_SUMMARY"
      - run: echo '# Two' >>"$GITHUB_STEP_SUMMARY"; exit 1
      - run: echo '# Three' >>"$GITHUB_STEP_SUMMARY"
    """)
    assert ran.summary == "# One\ntext\n\n# Two\n\n"


def test_names_of_env_have_their_letter_case(cell: RunCell) -> None:
    ran = cell(
        "- {name: a, run: 'echo [${{ env.abc }}] ${{ env.ABC }} $abc'}", job="env: {ABC: up}"
    )
    assert ran.printed("a") == ["[] up"]


def test_default_variables_win_over_a_workflows_own_but_for_ci(cell: RunCell) -> None:
    ran = cell(
        "- {name: a, run: 'echo $CI $GITHUB_SHA $GITHUB_ACTIONS $RUNNER_OS'}\n"
        "- {name: b, run: 'echo [$CI]', env: {CI: ''}}",
        job="env: {CI: 'false', GITHUB_SHA: mine, GITHUB_ACTIONS: mine, RUNNER_OS: mine}",
    )
    assert ran.printed("a") == ["false c0ffee true Linux"]
    assert ran.printed("b") == ["[]"]
    assert cell("- {name: c, run: 'echo $CI'}").printed("c") == ["true"]


def test_a_step_knows_its_own_id(cell: RunCell) -> None:
    ran = cell("""
      - {id: mine, name: a, run: 'echo $GITHUB_ACTION ${{ github.action }}'}
      - {name: b, run: 'echo $GITHUB_ACTION'}
    """)
    assert ran.printed("a") == ["mine mine"]
    assert ran.printed("b") == ["__run"]


def test_the_event_can_be_read(cell: RunCell) -> None:
    ran = cell("- {name: a, run: 'cat $GITHUB_EVENT_PATH'}")
    assert json.loads("\n".join(ran.printed("a"))) == {"number": 7}


def test_secrets_are_empty(cell: RunCell) -> None:
    ran = cell(
        "- {name: a, env: {T: '${{ secrets.TOKEN }}'}, run: 'echo [$T] [${{ github.token }}]'}\n"
        "- {name: b, if: \"env.T == ''\", env: {T: '${{ secrets.TOKEN }}'}, run: 'echo ran'}"
    )
    assert ran.printed("a") == ["[] []"]
    assert ran.printed("b") == ["ran"]


def test_contexts_hold_what_the_assignment_says(cell: RunCell) -> None:
    ran = cell(
        "- name: a\n  run: |\n"
        "    echo ${{ matrix.os }} ${{ needs.x.outputs.y }} ${{ inputs.flag == false }} ${{ vars.V }}\n"
        "    echo ${{ strategy.job-total }} ${{ job.status }} ${{ job.services.db.id }} ${{ runner.arch }}",
        matrix={"os": "linux"},
        needs={"x": {"result": "success", "outputs": {"y": "out"}}},
        inputs={"flag": False},
        vars={"V": "var"},
        strategy={"job-total": 2.0},
        job_context={"services": {"db": {"id": "c1"}}},
    )
    assert ran.printed("a") == ["linux out true var", "2 success c1 X64"]


def test_the_outputs_of_a_job_are_evaluated_at_its_end(cell: RunCell) -> None:
    ran = cell(
        """
      - {id: one, run: 'echo k=v >>"$GITHUB_OUTPUT"'}
      - run: echo E=env >>"$GITHUB_ENV"
      - run: exit 1
    """,
        job="outputs: {a: 'is ${{ steps.one.outputs.k }}', b: '${{ env.E }}', c: '${{ steps.x.outputs.y }}'}",
    )
    assert ran.result.outputs == {"a": "is v", "b": "env", "c": ""}
    assert ran.result.conclusion is Conclusion.FAILURE


def test_an_output_that_cannot_be_evaluated_fails_the_job(cell: RunCell) -> None:
    ran = cell("- run: 'true'", job="outputs: {a: '${{ fromJSON(steps.x.outputs.y) }}'}")
    assert (ran.result.conclusion, ran.result.outputs) == (Conclusion.FAILURE, {})
    assert "fromJSON" in " ".join(ran.result.notes)


def test_an_env_that_cannot_be_evaluated_fails_the_job_before_its_first_step(
    cell: RunCell,
) -> None:
    ran = cell("- run: 'true'", job="env: {A: '${{ fromJSON(vars.none) }}'}")
    assert (ran.result.conclusion, ran.result.steps) == (Conclusion.FAILURE, ())
    assert ran.result.error == ""
