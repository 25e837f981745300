"""Which steps run, and what their ends mean for those after them and for the job."""

from __future__ import annotations

import pytest

from presubmit.replay.job.values import Conclusion
from tests.unit.replay.job.conftest import RunCell  # noqa: TC001 - pytest shows it

OUTCOMES = """
  - {id: bad, run: exit 3, continue-on-error: %s}
  - {name: after, run: 'echo ${{ steps.bad.outcome }} ${{ steps.bad.conclusion }} ${{ job.status }}'}
  - {name: by outcome, if: "steps.bad.outcome == 'failure'", run: 'echo ran'}
  - {name: by failure, if: failure(), run: 'echo ran'}
"""


@pytest.mark.parametrize("flag", ["true", "'${{ github.event.number == 7 }}'"])
def test_a_tolerated_failure_has_two_results(cell: RunCell, flag: str) -> None:
    ran = cell(OUTCOMES % flag)
    assert ran.ok
    assert (ran["bad"].outcome, ran["bad"].conclusion) == ("failure", "success")
    assert ran.printed("after") == ["failure success success"]
    assert ran.outcomes == ["failure", "success", "success", "skipped"]


def test_continue_on_error_may_depend_on_the_steps_own_outputs(cell: RunCell) -> None:
    ran = cell("""
      - id: a
        continue-on-error: ${{ steps.a.outputs.known == 'yes' }}
        run: echo known=yes >>"$GITHUB_OUTPUT"; exit 1
      - id: b
        continue-on-error: ${{ steps.b.outputs.known == 'yes' }}
        run: exit 1
    """)
    assert [ran["a"].conclusion, ran["b"].conclusion] == ["success", "failure"]


def test_a_continue_on_error_that_cannot_be_evaluated_matters_to_a_failing_step_only(
    cell: RunCell,
) -> None:
    broken = "continue-on-error: '${{ fromJSON(steps.x.outputs.y) }}'"
    assert cell(f"- {{id: a, run: 'true', {broken}}}").ok
    ran = cell(f"- {{id: a, run: exit 4, {broken}}}")
    assert ran["a"].conclusion is Conclusion.FAILURE
    assert ran["a"].reason.startswith("exit code 4; continue-on-error: ")


def test_after_a_failure_only_those_run_that_ask_for_it(cell: RunCell) -> None:
    ran = cell("""
      - {id: bad, run: exit 1}
      - {name: plain, run: x}
      - {name: expression, if: "github.sha == 'c0ffee'", run: x}
      - {name: success, if: success(), run: x}
      - {name: failure, if: failure(), run: 'echo ran'}
      - {name: failure and, if: "failure() && steps.bad.conclusion == 'failure'", run: 'echo ran'}
      - {name: always, if: "${{ always() }}", run: 'echo ${{ job.status }}'}
      - {name: not cancelled, if: '!cancelled()', run: 'echo ran'}
      - {name: cancelled, if: cancelled(), run: x}
    """)
    names = {step.name: str(step.outcome) for step in ran.result.steps if step.id != "bad"}
    run = {"failure", "failure and", "always", "not cancelled"}
    assert {name for name, outcome in names.items() if outcome == "success"} == run
    assert ran["plain"].reason == "a step before it failed"
    assert ran["success"].reason == "if: success()"
    assert ran.printed("always") == ["failure"]
    assert ran.result.conclusion is Conclusion.FAILURE


def test_a_skipped_step_is_known_and_has_no_outputs(cell: RunCell) -> None:
    ran = cell("""
      - {id: never, if: false, run: 'echo a=b >>"$GITHUB_OUTPUT"'}
      - {name: a, run: 'echo ${{ steps.never.outcome }} [${{ steps.never.outputs.a }}]'}
    """)
    assert ran.printed("a") == ["skipped []"]
    assert ran.ok
    assert "=== Run echo a=b" not in ran.log


@pytest.mark.parametrize(
    ("condition", "runs"),
    [
        ("''", True),
        ("\"github.ref == 'refs/heads/main'\"", False),
        ("'${{ github.event.number }} == 8'", True),  # text around an expression: a string
        ("\"${{ '' }}\"", True),  # nothing is written, so success() is
        ("matrix.extra", False),
        ("steps.nobody.outputs.x", False),
        ("\"contains('ABC', 'b')\"", True),
        ("env.OWN", True),
        ("hashFiles('nothing')", False),
    ],
)
def test_conditions(cell: RunCell, condition: str, runs: bool) -> None:
    ran = cell(f"- {{name: a, if: {condition}, env: {{OWN: own}}, run: 'true'}}", matrix={"x": 1})
    assert ran["a"].outcome == ("success" if runs else "skipped")


def test_a_condition_that_cannot_be_evaluated_fails_the_step_whatever_it_tolerates(
    cell: RunCell,
) -> None:
    ran = cell("""
      - {name: a, if: fromJSON(steps.x.outputs.y), run: echo ran, continue-on-error: true}
      - {name: b, if: always(), run: echo end}
    """)
    assert ran["a"].conclusion is Conclusion.FAILURE
    assert "fromJSON" in ran["a"].reason
    assert f"##[error]{ran['a'].reason}" in ran.log
    assert ran.printed("b") == ["end"]


def test_an_env_that_cannot_be_evaluated_fails_even_a_step_that_would_be_skipped(
    cell: RunCell,
) -> None:
    ran = cell("- {name: a, if: false, env: {A: '${{ fromJSON(steps.x.outputs.y) }}'}, run: x}")
    assert ran["a"].conclusion is Conclusion.FAILURE


@pytest.mark.parametrize(
    "step",
    [
        "{id: a, run: 'echo ${{ fromJSON(env.BAD).x }}'}",
        "{id: a, uses: ./it, with: {x: '${{ fromJSON(env.BAD) }}'}}",
        "{id: a, run: 'true', working-directory: '${{ fromJSON(env.BAD) }}'}",
    ],
)
def test_an_expression_that_fails_elsewhere_fails_the_step_and_can_be_tolerated(
    cell: RunCell, step: str
) -> None:
    ran = cell(f"- {step}\n- run: 'true'", job="env: {BAD: '{'}")
    assert ran.outcomes == ["failure", "skipped"]
    assert "fromJSON" in ran["a"].reason
    tolerated = cell(
        f"- {step[:-1]}, continue-on-error: true}}\n- run: 'true'", job="env: {BAD: '{'}"
    )
    assert tolerated.outcomes == ["failure", "success"]


def test_names_are_evaluated_with_what_the_step_sees(cell: RunCell) -> None:
    ran = cell(
        """
      - run: echo LATER=now >>"$GITHUB_ENV"
      - {name: 'of ${{ matrix.os }} ${{ env.LATER }} ${{ env.OWN }}', env: {OWN: own}, run: 'true'}
      - {name: 'skipped ${{ matrix.os }}', if: false, run: 'true'}
      - {name: 'broken ${{ fromJSON(env.LATER) }}', run: 'true'}
      - run: |

          echo first line
          echo second
      - name: |
          one
          two
        run: 'true'
    """,
        matrix={"os": "linux"},
    )
    assert ran.ok
    assert [step.name for step in ran.result.steps[1:]] == [
        "of linux now own",
        "skipped linux",
        "broken ${{ fromJSON(env.LATER) }}",
        "Run echo first line",
        "one",
    ]
    assert {
        "event": "progress",
        "id": "job",
        "cell": "ci.yml/job",
        "text": "of linux now own",
    } in [{k: v for k, v in event.items() if k != "time"} for event in cell.events()]


def test_a_job_without_steps_succeeds(cell: RunCell) -> None:
    ran = cell("")
    assert ran.ok
    assert ran.result.steps == ()


def test_three_hundred_steps_run_in_order(cell: RunCell) -> None:
    steps = "\n".join(f"- {{id: s{n}, run: 'echo n={n} >>$GITHUB_OUTPUT'}}" for n in range(300))
    ran = cell(
        f"{steps}\n- {{name: last, run: 'echo ${{{{ steps.s0.outputs.n }}}} ${{{{ steps.s299.outputs.n }}}}'}}"
    )
    assert ran.ok
    assert len(ran.result.steps) == 301
    assert ran.printed("last") == ["0 299"]
    assert [event["step"] for event in cell.events() if event["event"] == "step"][-1] == "last"


def test_where_a_step_stands_is_said(cell: RunCell) -> None:
    ran = cell("- {name: a, run: 'true'}\n- {name: b, run: 'true'}")
    assert [step.origin for step in ran.result.steps] == ["ci.yml:8", "ci.yml:9"]
