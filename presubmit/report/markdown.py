"""report.md: what was tested, what came of it, and what was not tested."""

from __future__ import annotations

from typing import TYPE_CHECKING

from presubmit.report.escape import for_code, for_code_in_table, for_markdown
from presubmit.report.selection import named
from presubmit.report.terminal import (
    closing_line,
    duration,
    finding_line,
    reproduces_in_words,
    what_came_of,
)
from presubmit.values import FailureClass, Role

if TYPE_CHECKING:
    from collections.abc import Sequence

    from presubmit.report.machine import RunFacts
    from presubmit.values import Failure, StepResult, Verdict


def render_report(
    facts: RunFacts,
    results: Sequence[StepResult],
    verdict: Verdict,
    seconds: float,
    *,
    taken: Sequence[str] = (),
) -> str:
    """Give the whole report as Markdown; `taken` says what of upstream's jobs was not taken over."""
    change = facts.change
    parts = [
        f"# presubmit: {for_markdown(closing_line(verdict, seconds))}",
        "",
        f"- tree {for_code(change.target.tree)} ({change.target.kind})",
        (
            f"- base {for_code(change.base.ref)} at {for_code(change.base.commit)}"
            f" ({for_markdown(change.base.how)})"
        ),
        f"- where: {_where(facts)}",
        f"- {len(change.files)} changed files",
    ]
    if change.target.untracked:
        names = ", ".join(for_code(p) for p in change.target.untracked[:20])
        parts.append(f"- depends on untracked files: {names}")
    parts += ["", "## Steps", "", "| step | result | seconds | command | from |"]
    parts += ["| --- | --- | --- | --- | --- |"]
    parts += [_row(result) for result in results]
    parts += _failures("Failures", verdict.failures)
    if verdict.reproduces:
        parts += ["", "## Does the test fail without the change?", ""]
        parts += [f"- {for_markdown(reproduces_in_words(r))}" for r in verdict.reproduces]
    parts += _list("Not run", verdict.not_run)
    parts += _list("Left out, and why", facts.plan.left_out)
    parts += _list("Cut by the budget", facts.plan.budget_cut)
    parts += _list("In other shards (--shard), not run here", facts.plan.elsewhere)
    parts += _list("Could not be decided, so more was run", facts.selection.unsure)
    parts += _list("Changed code that no test reaches", facts.selection.unreached)
    parts += _list("Notes", verdict.notes)
    parts += _list("Upstream's jobs", taken)
    advice = [
        finding_line(f)
        for result in results
        if result.role is not Role.REVIEW
        for f in result.advice
    ]
    parts += _list("Advice (the project does not ask for it)", advice)
    parts += ["", "## Tests chosen", "", f"{for_markdown(facts.selection.why)}", ""]
    parts += [
        f"- {for_code(named(test))}: {for_markdown(test.reasons[0].text if test.reasons else '')}"
        for test in facts.selection.tests[:200]
    ]
    return "\n".join(parts) + "\n"


def _where(facts: RunFacts) -> str:
    environment = facts.environment
    if environment.get("kind") == "host":
        return f"the host, Python {environment.get('python')}"
    name, identity = str(environment.get("image")), str(environment.get("image_id"))
    return f"image {for_code(name)} {for_code(identity)}, {for_markdown(str(environment.get('engine')))}"


def _row(result: StepResult) -> str:
    came = what_came_of(result)
    detail = f": {for_markdown(came)}" if came else ""
    command = for_code_in_table(" ".join(result.command)[:200]) if result.command else ""
    seconds = "cached" if result.cached else duration(result.seconds)
    return (
        f"| {result.id} | {result.outcome}{detail} | {seconds} | {command}"
        f" | {for_markdown(result.origin)} |"
    )


def _failures(title: str, failures: Sequence[Failure]) -> list[str]:
    if not failures:
        return []
    lines = ["", f"## {title}", ""]
    order = list(FailureClass)
    for failure in sorted(failures, key=lambda f: order.index(f.label)):
        label = str(failure.label).replace("_", " ")
        lines.append(f"- **{label}** {for_code(failure.subject)} ({failure.kind})")
        lines.append(f"  - {for_markdown(failure.message)}")
        detail = f"; {for_markdown(failure.detail)}" if failure.detail else ""
        lines.append(f"  - base: {failure.base}{detail}")
        if failure.repro:
            lines.append(f"  - {for_code(failure.repro)}")
    return lines


def _list(title: str, texts: Sequence[str]) -> list[str]:
    if not texts:
        return []
    return ["", f"## {title}", "", *(f"- {for_markdown(text)}" for text in texts)]
