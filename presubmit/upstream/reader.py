"""Reads a workflow file: its document, held against the schema, then into the model.

Problems come in GitHub's order of work (actions/runner: WorkflowTemplateConverter.cs): what the model alone shows
(ids, needs, matrices) is only looked at once the schema has nothing to refuse.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from presubmit.upstream import graph
from presubmit.upstream.document import read_document
from presubmit.upstream.model import Job, Strategy, Workflow
from presubmit.upstream.nodes import Mapping, Node, Problem, Scalar, Sequence
from presubmit.upstream.on import read_call, read_triggers
from presubmit.upstream.scalars import text_of
from presubmit.upstream.schema import WORKFLOW, check
from presubmit.upstream.steps import read_steps, scalar

if TYPE_CHECKING:
    from collections.abc import Iterable


def read_workflow(data: bytes, path: str) -> tuple[Workflow | None, tuple[Problem, ...]]:
    """Read a workflow; None where GitHub would refuse the file. Warnings alone do not keep it from being read."""
    node, found = read_document(data, path)
    problems = list(found)
    if node is not None:
        problems += check(node, WORKFLOW, path)
    if not isinstance(node, Mapping) or refused(problems):
        return None, in_order(problems)
    workflow, more = _workflow(node, path)
    problems += more
    return (None if refused(problems) else workflow), in_order(problems)


def refused(problems: Iterable[Problem]) -> bool:
    """Say whether GitHub would refuse the file: any problem that is more than a warning."""
    return any(not problem.warning for problem in problems)


def in_order(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Give problems in the order of their places."""
    return tuple(sorted(problems, key=lambda problem: problem.mark or (0, 0)))


def _workflow(node: Mapping, path: str) -> tuple[Workflow, list[Problem]]:
    triggers, found = read_triggers(node.get("on"), path)
    problems = list(found)
    call = read_call(triggers)
    shell, working_directory = _run_defaults(node)
    jobs_node = node.get("jobs")
    assert isinstance(jobs_node, Mapping)  # noqa: S101 - the schema has passed
    jobs = []
    for key, value in jobs_node.entries:
        assert isinstance(value, Mapping)  # noqa: S101 - as above
        job, faults = _job(key, value, path)
        jobs.append(job)
        problems += faults
    if not refused(problems):
        problems += graph.check_needs(jobs, jobs_node.mark, path)
    workflow = Workflow(
        path=path,
        name=scalar(node, "name"),
        run_name=scalar(node, "run-name"),
        triggers=triggers,
        env=node.get("env"),
        shell=shell,
        working_directory=working_directory,
        concurrency=node.get("concurrency"),
        permissions=node.get("permissions"),
        jobs=tuple(jobs),
        call_inputs=call.inputs,
        call_secrets=call.secrets,
        required_secrets=call.required_secrets,
        call_outputs=call.outputs,
    )
    return workflow, problems


def _job(key: Scalar, node: Mapping, path: str) -> tuple[Job, list[Problem]]:
    steps, found = read_steps(node.get("steps"), path)
    problems = [*graph.check_job(key, node, path), *found]
    strategy, found = _strategy(node.get("strategy"), path)
    problems += found
    shell, working_directory = _run_defaults(node)
    inputs, outputs = node.get("with"), node.get("outputs")
    job = Job(
        mark=key.mark,
        id=text_of(key),
        name=scalar(node, "name"),
        needs=_needs(node.get("needs")),
        condition=scalar(node, "if"),
        runs_on=node.get("runs-on"),
        strategy=strategy,
        container=node.get("container"),
        services=node.get("services"),
        env=node.get("env"),
        shell=shell,
        working_directory=working_directory,
        steps=steps,
        outputs=outputs if isinstance(outputs, Mapping) else None,
        continue_on_error=scalar(node, "continue-on-error"),
        timeout_minutes=scalar(node, "timeout-minutes"),
        concurrency=node.get("concurrency"),
        permissions=node.get("permissions"),
        environment=node.get("environment"),
        uses=scalar(node, "uses"),
        inputs=inputs if isinstance(inputs, Mapping) else None,
        secrets=node.get("secrets"),
    )
    return job, problems


def _run_defaults(node: Mapping) -> tuple[Scalar | None, Scalar | None]:
    defaults = node.get("defaults")
    run = defaults.get("run") if isinstance(defaults, Mapping) else None
    if not isinstance(run, Mapping):
        return None, None
    return scalar(run, "shell"), scalar(run, "working-directory")


def _needs(node: Node | None) -> tuple[Scalar, ...]:
    match node:
        case Scalar():
            return (node,)
        case Sequence(items):
            return tuple(item for item in items if isinstance(item, Scalar))
        case _:
            return ()


def _strategy(node: Node | None, path: str) -> tuple[Strategy | None, tuple[Problem, ...]]:
    match node:
        case Mapping():
            strategy = Strategy(
                mark=node.mark,
                matrix=node.get("matrix"),
                fail_fast=scalar(node, "fail-fast"),
                max_parallel=scalar(node, "max-parallel"),
            )
            return strategy, ()
        case Scalar():
            # `strategy: ${{ fromJSON(…) }}`: its matrix is that of the value.
            inner = text_of(node).strip().removeprefix("${{").removesuffix("}}").strip()
            text = f"${{{{ ({inner}).matrix }}}}"
            problem = Problem(
                path,
                node.mark,
                "of a strategy that is an expression, only the matrix is replayed",
                warning=True,
            )
            return Strategy(mark=node.mark, matrix=Scalar(text, node.mark, text)), (problem,)
        case _:
            return None, ()
