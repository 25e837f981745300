"""Calls of reusable workflows against what these declare."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from presubmit.upstream.calls import CallError, check_calls
from presubmit.upstream.reader import read_workflow

if TYPE_CHECKING:
    from presubmit.upstream.model import Workflow

CALLED = """
on:
  workflow_call:
    inputs:
      text: {type: string}
      flag: {type: boolean}
      many: {type: number}
      must: {type: string, required: true, default: x}
    secrets: {key: {required: true}, spare: }
jobs: {a: {runs-on: x}}
"""


def read(text: str, path: str = "ci.yml") -> Workflow:
    workflow, problems = read_workflow(text.encode(), path)
    assert workflow is not None, problems
    return workflow


def problems_of(call: str, called: str = CALLED) -> list[str]:
    caller = read(f"on: push\njobs:\n  a:\n    uses: ./.github/workflows/x.yml\n{call}")
    return [str(p) for p in check_calls(caller, lambda uses: read(called, uses[2:]))]


GIVEN = "    with: {must: y}\n    secrets: {key: k}\n"


def test_a_call_with_all_that_is_required_is_right() -> None:
    assert problems_of(GIVEN) == []


@pytest.mark.parametrize(
    "value", ["text: 1", "text: ", "flag: true", "many: 1.5", "FLAG: false", "flag: '${{ 1 }}'"]
)
def test_a_value_of_the_declared_type_is_right(value: str) -> None:
    assert problems_of(f"    with: {{must: y, {value}}}\n    secrets: inherit\n") == []


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("flag: maybe", "boolean"),
        ("flag: 1", "boolean"),
        ("many: x", "number"),
        ("many: true", "number"),
    ],
)
def test_a_value_of_another_type_is_an_error_at_its_place(value: str, kind: str) -> None:
    name, _, text = value.partition(": ")
    assert problems_of(f"    with: {{must: y, {value}}}\n    secrets: inherit\n") == [
        f"ci.yml:5:27: '{text}' is no {kind}, as '{name}' wants"
    ]


def test_a_required_input_and_secret_must_be_given() -> None:
    assert problems_of("") == [
        "ci.yml:4:11: the input 'must' is required",
        "ci.yml:4:11: the secret 'key' is required",
    ]


def test_what_the_called_workflow_does_not_declare_is_an_error() -> None:
    assert problems_of("    with: {must: y, more: 1}\n    secrets: {key: k, lock: l}\n") == [
        "ci.yml:5:27: .github/workflows/x.yml has no input 'more'",
        "ci.yml:6:29: .github/workflows/x.yml has no secret 'lock'",
    ]


def test_a_workflow_without_workflow_call_cannot_be_called() -> None:
    assert problems_of("", "on: push\njobs: {a: {runs-on: x}}") == [
        "ci.yml:4:11: .github/workflows/x.yml has no `workflow_call` in its `on`"
    ]


def test_a_workflow_that_is_not_known_here_is_not_checked() -> None:
    caller = read("on: push\njobs: {a: {uses: o/n/.github/workflows/x.yml@v1, with: {a: b}}}")
    assert check_calls(caller, lambda _uses: None) == ()


def test_a_workflow_that_is_not_there_is_an_error_at_its_call() -> None:
    def load(uses: str) -> Workflow | None:
        raise CallError(f"there is no {uses}")

    caller = read("on: push\njobs: {a: {uses: ./.github/workflows/x.yml}}")
    assert [str(p) for p in check_calls(caller, load)] == [
        "ci.yml:2:18: there is no ./.github/workflows/x.yml"
    ]


def chain(uses: str) -> Workflow:
    """Give workflow 3, which calls 4, and so on."""
    number = int(uses.removeprefix("./.github/workflows/").removesuffix(".yml"))
    text = f"on: workflow_call\njobs: {{a: {{uses: ./.github/workflows/{number + 1}.yml}}}}"
    return read(text, uses[2:])


@pytest.mark.parametrize("nested", [1, 2, 9])
def test_calls_are_nested_only_so_deep(nested: int) -> None:
    problems = check_calls(chain("./.github/workflows/0.yml"), chain, nested=nested)
    assert [str(p) for p in problems] == [
        f".github/workflows/{nested}.yml:2:18: calls of reusable workflows are nested more than {nested} deep"
    ]


def test_a_workflow_that_two_jobs_call_is_checked_for_each() -> None:
    jobs = "a: {uses: ./.github/workflows/x.yml}, b: {uses: ./.github/workflows/x.yml}"
    caller = read(f"on: push\njobs: {{{jobs}}}")
    assert len(check_calls(caller, lambda uses: read(CALLED, uses[2:]))) == 4


def test_a_workflow_that_is_called_again_from_deeper_is_told_of_once() -> None:
    texts = {
        "x": "on: workflow_call\njobs: {a: {uses: ./.github/workflows/z.yml}}",
        "z": "on: workflow_call\njobs: {a: {uses: ./.github/workflows/last.yml}}",
        "last": CALLED,
    }
    jobs = "a: {uses: ./.github/workflows/z.yml}, b: {uses: ./.github/workflows/x.yml}"
    caller = read(f"on: push\njobs: {{{jobs}}}")
    problems = check_calls(caller, lambda u: read(texts[u[20:-4]], u[2:]))
    assert [str(problem.path) for problem in problems] == [".github/workflows/z.yml"] * 2


def test_workflows_that_call_each_other_are_an_error_and_no_endless_walk() -> None:
    def load(uses: str) -> Workflow:
        other = {"./.github/workflows/x.yml": "y", "./.github/workflows/y.yml": "x"}[uses]
        jobs = ", ".join(f"j{n}: {{uses: ./.github/workflows/{other}.yml}}" for n in range(30))
        return read(f"on: workflow_call\njobs: {{{jobs}}}", uses[2:])

    problems = check_calls(load("./.github/workflows/x.yml"), load)
    assert len(problems) == 30
    assert {problem.message for problem in problems} == {
        "./.github/workflows/x.yml calls itself in the end"
    }
