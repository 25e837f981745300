"""Where it was tested and by which commands: the part of a draft that is folded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from presubmit.drafts.text import folded, in_text
from presubmit.report.escape import for_code, for_code_in_table, one_line
from presubmit.report.terminal import duration

if TYPE_CHECKING:
    from presubmit.drafts.values import DraftFacts

_MOST_NOTES = 10


def environment_lines(facts: DraftFacts) -> list[str]:
    """Give tree, base, image, interpreter and the commands that were run, folded."""
    run = facts.run
    lines = [
        f"- tree {for_code(run.target.tree)}, base {for_code(run.base.ref)} at {for_code(run.base.commit)}",
        f"- {_where(run.environment)}; presubmit {in_text(run.tool)}, tier {in_text(run.tier)}, {in_text(run.started)}",
    ]
    if run.target.untracked:
        names = ", ".join(for_code(it) for it in run.target.untracked[:10])
        lines.append(f"- untracked files were there: {names}")
    lines += [
        "",
        "| step | result | seconds | command | from |",
        "| --- | --- | --- | --- | --- |",
    ]
    lines += [
        f"| {step.id} | {step.outcome} | {'cached' if step.cached else duration(step.seconds)}"
        f" | {for_code_in_table(one_line(' '.join(step.command), 160)) if step.command else ''}"
        f" | {in_text(step.origin)} |"
        for step in run.steps
        if step.command or step.role != "lint"
    ]
    if run.incomplete:
        lines += ["", *(f"- {in_text(one_line(it, 200))}" for it in run.incomplete[:_MOST_NOTES])]
    return folded("Environment and commands", lines)


def _where(environment: dict[str, object]) -> str:
    python = in_text(str(environment.get("python") or ""))
    version = f", Python {python}" if python else ""
    if environment.get("kind") == "host":
        return f"on the host{version}"
    image, digest = str(environment.get("image")), str(environment.get("image_id") or "")
    return f"in image {for_code(image)} {for_code(digest[:19])}{version}"
