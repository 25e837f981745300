"""Decides about one job, when it is planned and again when it runs: does it run, in which cells, on what runner."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from presubmit.upstream import template
from presubmit.upstream.expressions import ExpressionError, is_truthy, to_string
from presubmit.upstream.matrix import Cell, MatrixError, expand

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from presubmit.upstream.model import Job, Workflow
    from presubmit.upstream.nodes import Mark, Node

Reference = tuple[str, ...]


class JobError(Exception):
    """A job cannot be made out of what its workflow says: an expression fails, or gives what it may not."""

    def __init__(self, message: str, mark: Mark | None) -> None:
        super().__init__(message)
        self.mark = mark


class Decided(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a job runs; None where that is only known while the jobs run."""

    runs: bool | None
    reason: str = ""
    mark: Mark | None = None


class Needed(msgspec.Struct, frozen=True, kw_only=True):
    """A job that ended, as the jobs that need it see it."""

    result: str
    """`success`, `failure`, `cancelled` or `skipped`."""
    outputs: dict[str, str] = {}
    known: bool = True
    """Whether the outputs are those of a run; at plan time they are not."""
    absent: str = ""
    """Why it, or some cell of it, is not replayed; where none is, its result is `skipped`."""


def ancestors(workflow: Workflow, job: Job) -> tuple[str, ...]:
    """Give the ids of all jobs that must have ended before this one, however far away."""
    found: dict[str, None] = {}
    waiting = [str(need.value) for need in job.needs]
    while waiting:
        name = waiting.pop(0)
        needed = workflow.job(name)
        if needed is None or needed.id in found:
            continue
        found[needed.id] = None
        waiting += [str(need.value) for need in needed.needs]
    return tuple(found)


def needs_context(job: Job, ended: Mapping[str, Needed]) -> dict[str, Any]:
    """Give `needs` as this job's expressions see it: its direct needs only."""
    context = {}
    for need in job.needs:
        known = next((n for n in ended if n.casefold() == str(need.value).casefold()), None)
        if known is not None:
            context[str(need.value)] = {
                "result": ended[known].result,
                "outputs": dict(ended[known].outputs),
            }
    return context


def job_status(results: Mapping[str, str]) -> dict[str, Callable[..., Any]]:
    """Give the status functions of a job-level `if`, which look at all ancestors.

    A skipped ancestor makes `success()` false even where the job between ran by `always()` (actions/runner#491).
    """
    values = set(results.values())
    return {
        "success": lambda: values <= {"success"},
        "failure": lambda: "failure" in values,
        "cancelled": lambda: "cancelled" in values,
        "always": lambda: True,
    }


def known_reference(ended: Mapping[str, Needed]) -> Callable[[Reference], bool]:
    """Say which references of a job's expressions have their value already."""
    unknown = {name.casefold() for name, need in ended.items() if not need.known}

    def known(path: Reference) -> bool:
        if not path or path[0].casefold() != "needs" or not unknown:
            return True
        if len(path) == 1 or path[1] == "*":
            return False
        if path[1].casefold() not in unknown:
            return True
        return len(path) > 2 and path[2].casefold() == "result"  # noqa: PLR2004 - needs.x.result

    return known


def without_matrix(known: Callable[[Reference], bool]) -> Callable[[Reference], bool]:
    """Say the same of a job whose matrix is not known yet."""
    return lambda path: path[:1] != ("matrix",) and known(path)


def decide_job(
    workflow: Workflow, job: Job, contexts: Mapping[str, Any], ended: Mapping[str, Needed]
) -> Decided:
    """Evaluate the job's `if`; raises JobError where it cannot be."""
    mark = job.condition.mark if job.condition is not None else job.mark
    above = {name: ended[name].result for name in ancestors(workflow, job) if name in ended}
    try:
        unknown = template.unknown_condition(job.condition, known_reference(ended))
        if unknown:
            return Decided(runs=None, reason=f"`if` needs {', '.join(unknown)}", mark=mark)
        condition = template.condition(job.condition)
        value = condition.evaluate(contexts, job_status(above))
    except ExpressionError as error:
        raise JobError(f"`if` of job {job.id}: {error}", mark) from error
    if is_truthy(value):
        return Decided(runs=True)
    if job.condition is None or not condition_matters(job, contexts):
        bad = [f"{name} ({result})" for name, result in above.items() if result != "success"]
        return Decided(
            runs=False,
            reason=f"needs {', '.join(bad)}",
            mark=job.needs[0].mark if job.needs else job.mark,
        )
    return Decided(runs=False, reason=f"if: {_shown(job.condition.text)} is false", mark=mark)


def condition_matters(job: Job, contexts: Mapping[str, Any]) -> bool:
    """Whether the author's own condition is false, and not only the `success()` that GitHub puts before it."""
    everything = job_status({})
    try:
        return not is_truthy(template.condition(job.condition).evaluate(contexts, everything))
    except ExpressionError:
        return True


def reads_needs(job: Job) -> bool:
    """Whether the job's `if` looks at the jobs before it."""
    return bool(template.unknown_condition(job.condition, lambda path: path[:1] != ("needs",)))


def _shown(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= _SHOWN else f"{words[: _SHOWN - 1]}…"


_SHOWN: Final = 100


def cells_of(
    job: Job, contexts: Mapping[str, Any], ended: Mapping[str, Needed]
) -> tuple[Cell, ...] | tuple[str, ...]:
    """Give the job's cells, or (as text) the references that its matrix waits for. Raises JobError."""
    matrix = job.strategy.matrix if job.strategy is not None else None
    unknown = template.unknown(matrix, known_reference(ended))
    if unknown:
        return unknown
    if matrix is None:
        return (Cell(values={}, axes={}, job_index=0, job_total=1),)
    value = evaluate(matrix, contexts)
    try:
        return expand(value, mark=matrix.mark).cells
    except MatrixError as error:
        raise JobError(f"matrix of job {job.id}: {error}", matrix.mark) from error


def evaluate(
    node: Node | None,
    contexts: Mapping[str, Any],
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> Any:  # noqa: ANN401 - JSON's types
    """Evaluate a node; raises JobError with its place."""
    try:
        return template.evaluate_node(node, contexts, functions)
    except template.TemplateError as error:
        raise JobError(str(error), error.mark) from error


def text_of(node: Node | None, contexts: Mapping[str, Any], otherwise: str = "") -> str:
    """Evaluate a node that gives text; raises JobError."""
    return otherwise if node is None else to_string(evaluate(node, contexts))


def flag_of(node: Node | None, contexts: Mapping[str, Any], *, otherwise: bool) -> bool:
    """Evaluate a node that gives a boolean; raises JobError for anything else."""
    if node is None:
        return otherwise
    value = evaluate(node, contexts)
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.casefold() in {"true", "false"}:
        return value.casefold() == "true"
    raise JobError(f"{to_string(value)!r} is not a boolean", node.mark)


def number_of(node: Node | None, contexts: Mapping[str, Any], *, otherwise: float) -> float:
    """Evaluate a node that gives a number; raises JobError for anything else."""
    if node is None:
        return otherwise
    value = evaluate(node, contexts)
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise JobError(f"{to_string(value)!r} is not a number", node.mark) from None
    if isinstance(value, bool) or number != number:  # noqa: PLR0124 - NaN
        raise JobError(f"{to_string(value)!r} is not a number", node.mark)
    return number


def labels_of(job: Job, contexts: Mapping[str, Any]) -> tuple[str, ...]:
    """Give the labels of `runs-on`: one, a list, or `group` and `labels`. Raises JobError."""
    value = evaluate(job.runs_on, contexts)
    if isinstance(value, dict):
        group = [f"group:{to_string(value['group'])}"] if value.get("group") else []
        labels = value.get("labels") or []
        value = [*(labels if isinstance(labels, list) else [labels]), *group]
    if not isinstance(value, list):
        value = [value]
    return tuple(to_string(label) for label in value if label is not None and label != "")


def strategy_context(job: Job, cell: Cell, contexts: Mapping[str, Any]) -> dict[str, Any]:
    """Give `strategy` as a cell's expressions see it. Raises JobError."""
    strategy = job.strategy
    fail_fast = strategy.fail_fast if strategy is not None else None
    most = strategy.max_parallel if strategy is not None else None
    return {
        "fail-fast": flag_of(fail_fast, contexts, otherwise=True),
        "job-index": float(cell.job_index),
        "job-total": float(cell.job_total),
        "max-parallel": number_of(most, contexts, otherwise=float(cell.job_total)),
    }
