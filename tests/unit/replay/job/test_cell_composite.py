"""Composite actions of the repository itself."""

from __future__ import annotations

import textwrap

import pytest

from presubmit.replay.job.values import Conclusion
from tests.unit.replay.job.conftest import RunCell  # noqa: TC001 - pytest shows it


def action(steps: str, *, inputs: str = "", outputs: str = "") -> str:
    """Give an action.yml."""
    parts = [f"inputs: {inputs}" if inputs else "", f"outputs: {outputs}" if outputs else ""]
    listed = textwrap.indent(textwrap.dedent(steps).strip("\n"), "    ")
    return "name: it\n" + "\n".join(parts) + f"\nruns:\n  using: composite\n  steps:\n{listed}\n"


def test_inputs_are_text_with_defaults_and_any_letter_case(cell: RunCell) -> None:
    steps = """
      - name: show
        shell: bash
        run: |
          echo "${{ inputs.given }}|${{ inputs.DEFAULT }}|${{ inputs.none }}|${{ inputs.flag == 'false' }}"
          echo "[$INPUT_GIVEN]"
    """
    inputs = (
        "{given: {}, default: {default: 'of ${{ github.sha }}'}, none: {required: true}, flag: {}}"
    )
    ran = cell(
        "- {uses: ./it, with: {Given: 3.10, flag: false}}",
        files={"it/action.yml": action(steps, inputs=inputs)},
    )
    assert ran.printed("show") == ["3.1|of c0ffee||true", "[]"]
    assert ran.annotations == []


def test_an_input_that_is_not_declared_is_warned_of_and_seen(cell: RunCell) -> None:
    ran = cell(
        "- {uses: ./it, with: {extra: x}}",
        files={
            "it/action.yml": action(
                "- {name: show, shell: bash, run: 'echo ${{ inputs.extra }}'}", inputs="{a: {}}"
            )
        },
    )
    assert ran.printed("show") == ["x"]
    assert ran.annotations == [("warning", "Unexpected input(s) 'extra', valid inputs are ['a']")]


def test_outputs_are_mapped_and_inner_ids_stay_inside(cell: RunCell) -> None:
    inner = action(
        """
          - {id: same, shell: bash, run: 'echo k=inner >>$GITHUB_OUTPUT'}
          - {name: inside, shell: bash, run: 'echo [${{ steps.outer.outputs.k }}]'}
        """,
        outputs="{out: {value: 'is ${{ steps.same.outputs.k }}'}, other: {value: '${{ inputs.none }}'}}",
    )
    ran = cell(
        """
      - {id: outer, run: 'echo k=outer >>$GITHUB_OUTPUT'}
      - {id: same, uses: ./it}
      - {name: show, run: 'echo ${{ steps.same.outputs.out }} [${{ steps.same.outputs.k }}] ${{ steps.same.outcome }}'}
    """,
        files={"it/action.yaml": inner},
    )
    assert ran.printed("inside") == ["[]"]
    assert ran.printed("show") == ["is inner [] success"]
    assert ran.result.steps[2].kind == "run"
    assert next(s for s in ran.result.steps if s.kind == "composite").id == "same"


def test_actions_nest_and_hand_on(cell: RunCell) -> None:
    outer = action(
        "- {id: in, uses: ./inner, with: {x: '${{ inputs.x }}+'}}",
        inputs="{x: {}}",
        outputs="{y: {value: '${{ steps.in.outputs.y }}'}}",
    )
    inner = action(
        "- {id: z, shell: bash, run: 'echo y=${{ inputs.x }}! >>$GITHUB_OUTPUT'}",
        inputs="{x: {}}",
        outputs="{y: {value: '${{ steps.z.outputs.y }}'}}",
    )
    ran = cell(
        "- {id: a, uses: ./outer, with: {x: v}}\n- {name: show, run: 'echo ${{ steps.a.outputs.y }}'}",
        files={"outer/action.yml": outer, "inner/action.yml": inner},
    )
    assert ran.printed("show") == ["v+!"]


def test_its_folder_is_known_to_expressions_and_to_the_process(cell: RunCell) -> None:
    show = """
      - name: show
        shell: bash
        run: |
          echo "${{ github.action_path }}" "$GITHUB_ACTION_PATH"
          pwd
          $GITHUB_ACTION_PATH/run.sh
    """
    ran = cell(
        "- {uses: ./a/it/}\n- {name: after, run: 'echo [$GITHUB_ACTION_PATH] [${{ github.action_path }}]'}",
        files={"a/it/action.yml": action(show), "a/it/run.sh": "#!/bin/sh\necho from run.sh\n"},
    )
    assert ran["show"].exit_code == 126  # not executable, as it is on GitHub
    (cell.workspace / "a/it/run.sh").chmod(0o755)
    ran = cell(
        "- {uses: ./a/it/}\n- {name: after, run: 'echo [$GITHUB_ACTION_PATH] [${{ github.action_path }}]'}"
    )
    place = f"{cell.workspace}/a/it"
    assert ran.printed("show") == [f"{place} {place}", str(cell.workspace), "from run.sh"]
    assert ran.printed("after") == ["[] []"]


def test_the_env_of_the_using_step_reaches_the_inner_ones_and_beats_what_they_set(
    cell: RunCell,
) -> None:
    inner = action("""
      - {shell: bash, run: 'echo A=file >>$GITHUB_ENV; echo B=file >>$GITHUB_ENV'}
      - {name: show, shell: bash, run: 'echo $A $B ${{ env.A }}', env: {C: inner}}
    """)
    ran = cell(
        "- {uses: ./it, env: {A: using}}\n- {name: after, run: 'echo $A $B [$C]'}",
        job="env: {A: job, B: job}",
        files={"it/action.yml": inner},
    )
    assert ran.printed("show") == ["using file using"]
    assert ran.printed("after") == ["file file []"]


def test_a_failing_inner_step_fails_the_action_after_those_that_always_run(cell: RunCell) -> None:
    inner = action("""
      - {name: bad, shell: bash, run: exit 2}
      - {name: skipped, shell: bash, run: x}
      - {name: cleanup, shell: bash, if: always(), run: 'echo cleaning'}
      - {name: on failure, shell: bash, if: failure(), run: 'echo seen'}
    """)
    ran = cell("- {id: use, uses: ./it}\n- {name: next, run: x}", files={"it/action.yml": inner})
    names = [(step.name, str(step.outcome)) for step in ran.result.steps]
    assert names == [
        ("bad", "failure"),
        ("skipped", "skipped"),
        ("cleanup", "success"),
        ("on failure", "success"),
        ("Run ./it", "failure"),
        ("next", "skipped"),
    ]
    assert ran["use"].reason == "a step of ./it failed"
    assert ran["bad"].origin == "it/action.yml:7"


def test_the_status_inside_is_the_actions_own(cell: RunCell) -> None:
    inner = action("- {name: inside, shell: bash, run: 'echo ran'}")
    ran = cell("- run: exit 1\n- {uses: ./it, if: always()}", files={"it/action.yml": inner})
    assert ran.printed("inside") == ["ran"]
    assert ran.result.conclusion is Conclusion.FAILURE


def test_a_tolerated_action_fails_and_the_job_goes_on(cell: RunCell) -> None:
    inner = action("- {name: bad, shell: bash, run: exit 2}")
    ran = cell(
        "- {id: use, uses: ./it, continue-on-error: true}\n- {name: next, run: 'true'}",
        files={"it/action.yml": inner},
    )
    assert ran.ok
    assert (ran["use"].outcome, ran["use"].conclusion) == ("failure", "success")


def test_a_tolerated_inner_step_does_not_fail_the_action(cell: RunCell) -> None:
    inner = action("- {name: bad, shell: bash, run: exit 2, continue-on-error: true}")
    assert cell("- {uses: ./it}", files={"it/action.yml": inner}).ok


@pytest.mark.parametrize(
    ("uses", "files", "reason"),
    [
        ("./no/such", {}, "Can't find 'action.yml' or 'action.yaml' under '"),
        ("./it", {"it/action.yml": "name: x\n"}, "runs"),
        ("./it", {"it/action.yml": "name: [\n"}, "it/action.yml"),
        (
            "./it",
            {"it/action.yml": action("- {run: 'true'}")},
            "shell",  # it must be named there
        ),
    ],
)
def test_an_action_that_is_none_fails_the_step_with_its_reason(
    cell: RunCell, uses: str, files: dict[str, str], reason: str
) -> None:
    ran = cell(f"- {{id: a, uses: {uses}}}", files=files)
    assert ran["a"].outcome is Conclusion.FAILURE
    assert reason in ran["a"].reason
    assert not ran.result.lacks


@pytest.mark.parametrize("using", ["node20", "docker"])
def test_an_action_of_another_kind_is_not_here(cell: RunCell, using: str) -> None:
    more = "main: x.js" if using == "node20" else "image: Dockerfile"
    ran = cell(
        "- {id: a, uses: ./it}\n- {name: b, if: always(), run: x}",
        files={"it/action.yml": f"name: it\nruns: {{using: {using}, {more}}}\n"},
    )
    assert ran.result.lacks == f"action ./it ({using})"
    assert [step.name for step in ran.result.steps] == ["Run ./it"]


def test_an_action_that_uses_itself_ends(cell: RunCell) -> None:
    ran = cell("- {id: a, uses: ./it}", files={"it/action.yml": action("- {uses: ./it}")})
    assert ran.result.conclusion is Conclusion.FAILURE
    assert any("nest" in step.reason for step in ran.result.steps)


def test_an_action_that_an_earlier_step_wrote_is_found(cell: RunCell) -> None:
    write = "mkdir made; printf 'name: x\\nruns: {using: composite, steps: [{run: echo made, shell: sh, name: m}]}' >made/action.yml"
    ran = cell(f"- run: |\n    {write}\n- {{uses: ./made}}")
    assert ran.printed("m") == ["made"]


def test_the_repository_itself_may_be_an_action(cell: RunCell) -> None:
    ran = cell(
        "- {uses: ./}", files={"action.yml": action("- {name: m, run: echo top, shell: sh}")}
    )
    assert ran.printed("m") == ["top"]
    assert ran["m"].origin.startswith("action.yml:")


@pytest.mark.parametrize("tolerated", [False, True])
def test_what_an_inner_step_lacks_can_be_tolerated_by_the_outer_one(
    cell: RunCell, *, tolerated: bool
) -> None:
    inner = action("""
      - {name: lacking, uses: somebody/unknown@v1}
      - {name: never, if: always(), shell: sh, run: x}
    """)
    flag = str(tolerated).lower()
    ran = cell(
        f"- {{id: use, uses: ./it, continue-on-error: {flag}}}\n- {{name: next, run: 'true'}}",
        files={"it/action.yml": inner},
    )
    names = [step.name for step in ran.result.steps]
    if tolerated:
        assert ran.ok
        assert names == ["lacking", "Run ./it", "next"]
        assert ran["use"].reason == "not here: action somebody/unknown"
    else:
        assert ran.result.lacks == "action somebody/unknown"
        assert names == ["lacking", "Run ./it"]
