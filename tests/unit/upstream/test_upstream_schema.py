"""What may stand where in a workflow: errors where GitHub refuses, warnings where it may only be newer than we are."""

from __future__ import annotations

import textwrap

import pytest

from presubmit.upstream.reader import read_workflow

HEAD = "on: push\njobs:\n  a:\n    runs-on: x\n"


def problems_of(text: str) -> list[str]:
    return [str(problem) for problem in read_workflow(textwrap.dedent(text).encode(), "ci.yml")[1]]


def errors_of(text: str) -> list[str]:
    return [problem for problem in problems_of(text) if ": warning: " not in problem]


# --- real workflows, trimmed, that a stricter reader would refuse -----------------------------------------------------

ACCEPTED = {
    "lz4 filters a push by no branches": """
        on:
          push:
            branches:
        jobs: {a: {runs-on: x}}
        """,
    "astropy filters a dispatch by paths": """
        on:
          workflow_dispatch:
            paths: [CITATION.cff]
        jobs: {a: {runs-on: x}}
        """,
    "setup-java says what a job may do to the cache": HEAD + "    cache-mode: write-only\n",
    "ruff calls a workflow of its own commit": """
        on: push
        jobs:
          a:
            uses: $/.github/workflows/build.yml
            with: {plan: "${{ needs.x.outputs.y }}"}
        """,
    "uv asks for an environment without a deployment": HEAD
    + "    environment: {name: ci, deployment: false}\n",
    "cython chooses with case()": HEAD
    + "    env:\n      F: ${{ case(contains(github.ref, 'x'), 1, 0) }}\n",
    "executorch has its matrix from another job": """
        on: push
        jobs:
          first: {runs-on: x}
          a:
            needs: first
            strategy: {matrix: "${{ fromJson(needs.first.outputs.m) }}"}
            runs-on: ${{ matrix.runner || 'x' }}
        """,
    "psutil repeats a condition by an alias": """
        on: push
        jobs:
          a: {runs-on: x, if: &own github.repository == 'o/n'}
          b: {runs-on: x, if: *own}
        """,
    "pillow repeats paths by an alias": """
        on:
          push: {paths: &paths [a, b]}
          pull_request: {paths: *paths}
        jobs: {a: {runs-on: x}}
        """,
    "a job of test-infra gives a whole script": """
        on: pull_request
        jobs:
          a:
            uses: pytorch/test-infra/.github/workflows/linux_job_v2.yml@main
            permissions: {id-token: write, contents: read}
            with:
              timeout: 90
              submodules: true
              script: |
                pip install ${{ github.sha }}
            secrets: inherit
        """,
    "a step waits for one in the background": HEAD
    + "    steps: [{id: s, run: serve, background: true}, {wait: s}, {wait-all: }, {cancel: s}]\n",
    "an image comes from the job": HEAD + "    snapshot: {image-name: i, version: 1.*}\n",
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_what_github_accepts_is_accepted(name: str) -> None:
    assert errors_of(ACCEPTED[name]) == []


# --- keys -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            HEAD + "    step: []\n",
            "5:5: warning: the key 'step' is not known; did you mean 'steps'?",
        ),
        (HEAD + "    brand-new: 1\n", "5:5: warning: the key 'brand-new' is not known"),
        (
            "on: {pull_requst: }\njobs: {a: {runs-on: x}}",
            "1:6: warning: the key 'pull_requst' is not known; did you mean 'pull_request'?",
        ),
        (
            "on: pussh\njobs: {a: {runs-on: x}}",
            "1:5: warning: 'pussh' is not known; did you mean 'push'?",
        ),
        (
            "on: {pull_request: {types: opend}}\njobs: {a: {runs-on: x}}",
            "1:28: warning: 'opend' is not known; did you mean 'opened'?",
        ),
        (
            "on: {workflow_dispatch: {paths: x}}\njobs: {a: {runs-on: x}}",
            "1:26: warning: 'paths' does nothing here",
        ),
    ],
)
def test_what_may_be_newer_than_we_are_is_a_warning(text: str, problem: str) -> None:
    assert problems_of(text) == [f"ci.yml:{problem}"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("name: x\n", "1:1: the key 'on' is missing"),
        ("on: push\n", "1:1: the key 'jobs' is missing"),
        ("- on\n", "1:1: a sequence cannot stand here, only a mapping"),
        (HEAD + "    '': x\n", "5:5: a key cannot be empty"),
        (
            HEAD + "    uses: ./.github/workflows/x.yml\n",
            "5:5: 'uses' cannot stand beside 'runs-on'",
        ),
        (HEAD + "    steps: [{with: {a: b}}]\n", "5:13: the key 'uses' is missing"),
        (
            HEAD + "    steps: [{name: x}]\n",
            "5:13: one of these keys is missing: 'run', 'uses', 'wait', 'wait-all', 'cancel'",
        ),
        (HEAD + "    steps: [{run: x, uses: a/b@c}]\n", "5:22: 'uses' cannot stand beside 'run'"),
        (
            HEAD + "    concurrency: {cancel-in-progress: true}\n",
            "5:18: the key 'group' is missing",
        ),
        (
            HEAD + "    container: {image: x, credentials: {usernme: y}}\n",
            "5:41: the key 'usernme' is not known; did you mean 'username'?",
        ),
        ("on: push\njobs: {a: }\n", "2:11: nothing cannot stand here, only a mapping"),
    ],
)
def test_a_key_that_is_wrong_for_certain_is_an_error(text: str, problem: str) -> None:
    assert f"ci.yml:{problem}" in errors_of(text)


# --- values -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (HEAD + "    timeout-minutes: '30'\n", "5:22: '30' cannot stand here, only a number"),
        (
            HEAD + "    continue-on-error: 'true'\n",
            "5:24: 'true' cannot stand here, only true or false",
        ),
        (
            HEAD + "    permissions: {contents: wrte}\n",
            "5:29: 'wrte' cannot stand here, only 'read' or 'write' or 'none'",
        ),
        (HEAD + "    env: \n", "5:9: nothing cannot stand here, only a mapping"),
        (
            HEAD + "    needs: {b: c}\n",
            "5:12: a mapping cannot stand here, only text, or a sequence",
        ),
        (HEAD + "    steps: [{run: [x]}]\n", "5:19: a sequence cannot stand here, only text"),
        (HEAD + "    steps: [{run: x, id: ''}]\n", "5:26: nothing cannot stand here, only text"),
        (
            "on: {workflow_call: {inputs: {a: {type: date}}}}\njobs: {a: {runs-on: x}}",
            "1:41: 'date' cannot stand here, only 'string' or 'boolean' or 'number'",
        ),
        (
            "on: {schedule: [{crn: '* * * * *'}]}\njobs: {a: {runs-on: x}}",
            "1:17: the key 'cron' is missing",
        ),
    ],
)
def test_a_value_of_the_wrong_kind_is_an_error(text: str, problem: str) -> None:
    assert errors_of(text) == [f"ci.yml:{problem}"]


@pytest.mark.parametrize(
    "line", ["name: 3.10", "runs-on: 1", "name:", "env: {A: , B: 1, C: true}"]
)
def test_whatever_is_no_text_becomes_one_where_text_is_wanted(line: str) -> None:
    text = "on: push\njobs:\n  a:\n    " + line + "\n"
    assert errors_of(text if "runs-on" in line else text + "    runs-on: x\n") == []


# --- expressions ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("name: ${{ github.ref }}\n" + HEAD, "1:7: unrecognized named-value 'github'"),
        ("name: ${{ 1 }}\n" + HEAD, "1:7: an expression cannot stand here"),
        (HEAD + "    if: env.X == '1'\n", "5:9: unrecognized named-value 'env'"),
        (HEAD + "    if: ${{ hashFiles('x') }}\n", "5:9: unrecognized function 'hashFiles'"),
        (HEAD + "    name: ${{ always() }}\n", "5:11: unrecognized function 'always'"),
        (
            HEAD + "    steps: [{run: x, if: secrets.A}]\n",
            "5:26: unrecognized named-value 'secrets'",
        ),
        (HEAD + "    steps: [{run: x, if: failure('a')}]\n", "5:26: too many arguments"),
        (HEAD + "    env: {A: '${{ steps.x }}'}\n", "5:14: unrecognized named-value 'steps'"),
        (HEAD + "    concurrency: ${{ }}\n", "5:18: an expression was expected"),
        (HEAD + "    concurrency: ${{ github.ref\n", "5:18: ${{ is not closed"),
        (HEAD + "    ${{ github.ref }}: x\n", "5:5: unrecognized named-value 'github'"),
        (
            HEAD + "    strategy: {matrix: {'${{ steps.a }}': [1]}}\n",
            "5:25: unrecognized named-value 'steps'",
        ),
        ("${{ 'a' }}: x\n" + HEAD, "1:1: an expression cannot stand here"),
        (HEAD + "    steps: '${{ matrix.x }}'\n", "5:12: unrecognized named-value 'matrix'"),
    ],
)
def test_an_expression_uses_only_what_its_place_has(text: str, problem: str) -> None:
    (found,) = errors_of(text)
    assert found.startswith(f"ci.yml:{problem}")


@pytest.mark.parametrize(
    "line",
    [
        "if: success('a', 'b') && needs.x.result == 'y'",
        "steps: [{run: '${{ hashFiles(1) }}', if: \"hashFiles('x') != ''\"}]",
        "steps: [{uses: a/b@c, with: {x: '${{ secrets.A }}${{ env.B }}'}}]",
        "environment: {name: x, url: '${{ steps.a.outputs.b }}'}",
        "container: {image: x, env: {A: '${{ secrets.B }}'}, credentials: {password: '${{ secrets.C }}'}}",
        "timeout-minutes: ${{ matrix.minutes }}",
        "services: ${{ fromJSON(vars.services) }}",
        "env: {'${{ vars.name }}': x}",
        "defaults: {run: {shell: '${{ matrix.shell }}'}}",
        "name: a ${{ '${{ literally }}' }}",
        "strategy: {matrix: {include: [{a: {b: [c, {d: '${{ github.ref }}'}]}}]}}",
        "if: 123",
        "if: ''",
    ],
)
def test_what_the_documentation_allows_is_allowed(line: str) -> None:
    assert problems_of(f"{HEAD}    {line}\n") == []


def test_a_string_in_quotes_is_a_text_even_where_no_expression_may_stand() -> None:
    assert problems_of("name: ${{ 'a' }}\n" + HEAD) == []
    assert problems_of(HEAD + "    cancel-timeout-minutes: ${{ 'a' }}\n") == [
        "ci.yml:5:29: '${{ 'a' }}' cannot stand here, only a number"
    ]


def test_a_condition_with_text_around_its_expression_is_always_true() -> None:
    assert problems_of(HEAD + "    if: ${{ github.ref == 'x' }} && true\n") == [
        "ci.yml:5:9: warning: always true: text stands outside of ${{ }}, and a text is true"
    ]


def test_a_text_with_an_expression_has_its_own_limit_of_length() -> None:
    run = "x" * 20_990
    assert problems_of(f"{HEAD}    steps: [{{run: '{run}'}}]\n") == []
    (problem,) = problems_of(f"{HEAD}    steps: [{{run: '{run}${{{{ github.ref }}}}'}}]\n")
    assert problem == "ci.yml:5:19: the expression has more than 21000 characters"
