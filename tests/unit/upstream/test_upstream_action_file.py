"""From an action.yml to its model."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import pytest

from presubmit.upstream.action_file import read_action
from presubmit.upstream.nodes import plain

if TYPE_CHECKING:
    from presubmit.upstream.model import ActionFile


def read(text: str) -> ActionFile:
    action, problems = read_action(textwrap.dedent(text).encode(), "action.yml")
    assert action is not None, problems
    return action


def errors_of(text: str) -> list[str]:
    problems = read_action(textwrap.dedent(text).encode(), "action.yml")[1]
    return [str(problem) for problem in problems if not problem.warning]


def test_a_composite_action_has_steps_inputs_and_outputs() -> None:
    action = read(
        """
        name: Build
        description: builds
        inputs:
          who: {description: d, required: true}
          how: {default: "${{ github.ref }}"}
          old: {required: "true", deprecationMessage: m}
        outputs: {path: {description: p, value: "${{ steps.a.outputs.p }}"}}
        runs:
          using: composite
          steps:
            - {id: a, run: make, shell: bash}
            - {uses: ./other, with: {x: "${{ inputs.who }}"}, if: "hashFiles('x') != ''"}
        """
    )
    assert (action.name, action.using) == ("Build", "composite")
    assert [(i.name, i.required, plain(i.default)) for i in action.inputs] == [
        ("who", True, None),
        ("how", False, "${{ github.ref }}"),
        ("old", True, None),
    ]
    assert {name: plain(value) for name, value in action.outputs.items()} == {
        "path": "${{ steps.a.outputs.p }}"
    }
    assert [step.id for step in action.steps] == ["a", "__self"]


@pytest.mark.parametrize(
    ("runs", "using"),
    [
        ("{using: node20, main: a.js, post: b.js, post-if: success()}", "node20"),
        ("{using: docker, image: Dockerfile, args: ['${{ inputs.a }}']}", "docker"),
    ],
)
def test_other_actions_say_only_what_they_use(runs: str, using: str) -> None:
    action = read(f"name: x\nruns: {runs}\n")
    assert (action.using, action.steps) == (using, ())


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("name: x\n", "1:1: the key 'runs' is missing"),
        (
            "runs: {using: composite}\n",
            "1:7: one of these keys is missing: 'steps', 'main', 'image'",
        ),
        ("runs: {using: composite, steps: [{run: x}]}\n", "1:34: the key 'shell' is missing"),
        (
            "runs: {using: node20, main: x, steps: []}\n",
            "1:32: 'steps' cannot stand beside 'main'",
        ),
        (
            "runs: {using: composite, steps: [{uses: x}]}\n",
            "1:41: 'x' is not of the form owner/name[/path]@ref",
        ),
        (
            "description: '${{ github.ref }}'\nruns: {using: composite, steps: []}\n",
            "1:14: unrecognized named-value 'github' (position 1)",
        ),
        (
            "inputs: {a: {default: '${{ inputs.b }}'}}\nruns: {using: composite, steps: []}\n",
            "1:23: unrecognized named-value 'inputs' (position 1)",
        ),
        (
            "runs: {using: composite, steps: [{run: '${{ secrets.a }}', shell: sh}]}\n",
            "1:40: unrecognized named-value 'secrets' (position 1)",
        ),
    ],
)
def test_what_the_runner_refuses_is_an_error_with_its_place(text: str, problem: str) -> None:
    assert read_action(text.encode(), "action.yml")[0] is None
    assert errors_of(text) == [f"action.yml:{problem}"]


def test_a_broken_action_is_one_problem() -> None:
    assert errors_of("runs: [\n") != []
    assert errors_of("") == ["action.yml:1:1: the file is empty"]
