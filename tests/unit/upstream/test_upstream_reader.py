"""From a workflow file to its model."""

from __future__ import annotations

import textwrap
import time
from typing import TYPE_CHECKING

import pytest

from presubmit.upstream.nodes import Mapping, Mark, plain
from presubmit.upstream.reader import read_workflow
from presubmit.upstream.scalars import text_of

if TYPE_CHECKING:
    from presubmit.upstream.model import Job, Workflow


def read(text: str) -> Workflow:
    workflow, problems = read_workflow(textwrap.dedent(text).encode(), ".github/workflows/ci.yml")
    assert workflow is not None, problems
    return workflow


def job_of(body: str) -> Job:
    return read(f"on: push\njobs:\n  a:\n{textwrap.indent(textwrap.dedent(body), '    ')}").jobs[0]


@pytest.mark.parametrize(
    ("on", "events"),
    [
        ("push", ["push"]),
        ("[push, pull_request]", ["push", "pull_request"]),
        ("{push: , pull_request: {branches: main}}", ["push", "pull_request"]),
    ],
)
def test_on_has_three_forms(on: str, events: list[str]) -> None:
    assert [t.event for t in read(f"on: {on}\njobs: {{a: {{runs-on: x}}}}").triggers] == events


def test_filters_are_sequences_even_where_one_value_stands_alone() -> None:
    (trigger,) = read(
        "on:\n  push: {branches: main, paths: [a, b], tags: }\njobs: {a: {runs-on: x}}"
    ).triggers
    assert {name: plain(values) for name, values in trigger.filters.items()} == {
        "branches": ["main"],
        "paths": ["a", "b"],
    }
    assert trigger.mark == Mark(2, 3)
    assert isinstance(trigger.node, Mapping)


def test_the_crons_of_a_schedule_stay_in_the_node() -> None:
    (trigger,) = read("on: {schedule: [{cron: '1 2 * * *'}]}\njobs: {a: {runs-on: x}}").triggers
    assert plain(trigger.node) == [{"cron": "1 2 * * *"}]


@pytest.mark.parametrize("on", ["{}", "[]"])
def test_a_workflow_needs_an_event(on: str) -> None:
    workflow, problems = read_workflow(f"on: {on}\njobs: {{a: {{runs-on: x}}}}".encode(), "ci.yml")
    assert workflow is None
    assert [str(problem) for problem in problems] == ["ci.yml:1:5: `on` names no event"]


def test_a_filter_and_its_opposite_exclude_each_other() -> None:
    text = "on:\n  push:\n    paths-ignore: a\n    paths: b\njobs: {a: {runs-on: x}}"
    assert [str(p) for p in read_workflow(text.encode(), "ci.yml")[1]] == [
        "ci.yml:4:5: `push` can have `paths` or `paths-ignore`, not both"
    ]


def test_a_reusable_workflow_says_what_it_wants_and_gives() -> None:
    workflow = read(
        """
        on:
          workflow_call:
            inputs:
              who: {type: string, required: true}
              often: {type: number, default: 3}
            secrets: {token: {required: true}, other: }
            outputs: {done: {value: "${{ jobs.a.outputs.x }}"}}
        jobs: {a: {runs-on: x}}
        """
    )
    assert [(i.name, i.kind, i.required, plain(i.default)) for i in workflow.call_inputs] == [
        ("who", "string", True, None),
        ("often", "number", False, 3),
    ]
    assert workflow.call_secrets == ("token", "other")
    assert workflow.required_secrets == ("token",)
    assert {k: v.value for k, v in workflow.call_outputs.items()} == {
        "done": "${{ jobs.a.outputs.x }}"
    }


def test_a_workflow_keeps_what_stands_at_its_top() -> None:
    workflow = read(
        """
        name: CI
        run-name: by ${{ github.actor }}
        on: push
        env: {A: 1}
        permissions: read-all
        concurrency: {group: g}
        defaults: {run: {shell: bash, working-directory: src}}
        jobs: {a: {runs-on: x}}
        """
    )
    kept = [
        workflow.name,
        workflow.run_name,
        workflow.env,
        workflow.permissions,
        workflow.concurrency,
        workflow.shell,
        workflow.working_directory,
    ]
    assert [plain(node) for node in kept] == [
        "CI",
        "by ${{ github.actor }}",
        {"A": 1},
        "read-all",
        {"group": "g"},
        "bash",
        "src",
    ]


def test_a_job_keeps_everything_that_may_hold_an_expression_as_a_node() -> None:
    job = job_of(
        """
        name: n
        if: always()
        runs-on: {group: g, labels: [l]}
        strategy: {matrix: {py: [3.10]}, fail-fast: false, max-parallel: 2}
        container: {image: i}
        services: {db: {image: d}}
        env: {A: b}
        defaults: {run: {shell: sh, working-directory: w}}
        outputs: {o: v}
        continue-on-error: true
        timeout-minutes: 5
        concurrency: c
        permissions: {}
        environment: e
        """
    )
    assert job.mark == Mark(3, 3)
    assert job.strategy is not None
    assert [plain(getattr(job, name)) for name in job.__struct_fields__[2:] if name not in {"needs", "strategy", "steps"}] == [
        "n", "always()", {"group": "g", "labels": ["l"]}, {"image": "i"}, {"db": {"image": "d"}}, {"A": "b"}, "sh", "w",
        {"o": "v"}, True, 5, "c", {}, "e", None, None, None,
    ]  # fmt: skip
    assert plain(job.strategy.matrix) == {"py": [3.1]}
    assert (plain(job.strategy.fail_fast), plain(job.strategy.max_parallel)) == (False, 2)


def test_the_matrix_of_a_strategy_that_is_an_expression_is_that_of_its_value() -> None:
    job = job_of("runs-on: x\nstrategy: ${{ fromJSON(vars.s) }}\n")
    assert job.strategy is not None
    assert plain(job.strategy.matrix) == "${{ (fromJSON(vars.s)).matrix }}"


def test_a_call_keeps_its_inputs_and_secrets() -> None:
    job = job_of("uses: o/n/.github/workflows/x.yml@v1\nwith: {a: true}\nsecrets: {s: t}\n")
    assert [plain(node) for node in (job.uses, job.inputs, job.secrets)] == [
        "o/n/.github/workflows/x.yml@v1",
        {"a": True},
        {"s": "t"},
    ]


@pytest.mark.parametrize(("needs", "names"), [("b", ["b"]), ("[b, c]", ["b", "c"])])
def test_needs_is_one_job_or_several(needs: str, names: list[str]) -> None:
    workflow = read(
        f"on: push\njobs:\n  a: {{runs-on: x, needs: {needs}}}\n  b: {{runs-on: x}}\n  c: {{runs-on: x}}\n"
    )
    assert [text_of(need) for need in workflow.jobs[0].needs] == names


def test_steps_without_an_id_get_that_of_github() -> None:
    steps = job_of(
        """
        runs-on: x
        steps:
          - run: a
          - {id: __RUN_2x, run: b}
          - run: c
        """.replace("__RUN_2x", "own")
    ).steps
    assert [(step.id, step.named) for step in steps] == [
        ("__run", False),
        ("own", True),
        ("__run_2", False),
    ]


@pytest.mark.parametrize(
    ("uses", "step_id"),
    [
        ("actions/checkout@v4", "__actions_checkout"),
        ("o/n/deep/path@v1", "__o_n"),
        ("docker://alpine:3", "__alpine_3"),
        ("./local", "__self"),
        ("$/local", "__selfRepository"),
    ],
)
def test_the_id_of_an_action_is_made_of_its_name(uses: str, step_id: str) -> None:
    assert job_of(f"runs-on: x\nsteps: [{{uses: '{uses}'}}]\n").steps[0].id == step_id


def test_a_long_generated_id_is_cut_and_stays_unique() -> None:
    uses = f"docker://{'a' * 200}"
    first, second = job_of(f"runs-on: x\nsteps: [{{uses: '{uses}'}}, {{uses: '{uses}'}}]\n").steps
    assert (len(first.id), len(second.id), second.id[-3:]) == (100, 100, "a_2")


@pytest.mark.parametrize("control", ["wait: s", "wait-all: ", "cancel: s", "parallel: [{run: y}]"])
def test_a_step_that_only_steers_others_says_so(control: str) -> None:
    steps = job_of(
        f"runs-on: x\nsteps: [{{id: s, run: x, background: true}}, {{{control}}}]\n"
    ).steps
    assert plain(steps[0].background) is True
    name = control.partition(":")[0]
    assert (steps[1].control, steps[1].id, steps[1].run) == (name, f"__{name}", None)


def test_problems_come_in_the_order_of_the_file() -> None:
    text = "on: pussh\njobs:\n  a: {runs-on: x, steps: [{uses: x}]}\n  b.c: {runs-on: x}\n"
    marks = [problem.mark for problem in read_workflow(text.encode(), "ci.yml")[1]]
    assert marks == [Mark(1, 5), Mark(3, 34), Mark(4, 3)]


def test_a_large_workflow_is_read_in_a_moment() -> None:
    job = (
        "    runs-on: ${{ matrix.os }}\n    steps:\n"
        + "      - run: echo ${{ github.sha }}\n" * 20
    )
    text = "on: push\njobs:\n" + "".join(f"  job{number}:\n{job}" for number in range(100))
    start = time.process_time()
    assert len(read(text).jobs) == 100
    assert time.process_time() - start < 5
