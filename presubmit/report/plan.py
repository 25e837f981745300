"""A plan for the eye, and for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from presubmit.report.escape import for_terminal
from presubmit.report.selection import named
from presubmit.report.terminal import (
    LEAST,
    duration,
    elsewhere_in_words,
    expected_in_words,
    selection_in_words,
)
from presubmit.values import builtins_of

if TYPE_CHECKING:
    from presubmit.values import Change, Plan, Selection

_MOST_TESTS = 20


def plan_json(change: Change, plan: Plan, selection: Selection) -> dict[str, Any]:
    """Give change, selection and plan as one JSON object."""
    return {
        "change": builtins_of(change),
        "selection": builtins_of(selection),
        "plan": builtins_of(plan),
    }


def render_plan(change: Change, plan: Plan, selection: Selection) -> str:
    """Give the plan as text: the change, each step with its reason, the tests, and what is left out."""
    base = change.base
    lines = [
        (
            f"tree {change.target.tree[:7]} ({change.target.kind})   "
            f"base {base.ref} @ {base.commit[:7]} ({base.how})   {len(change.files)} changed files"
        ),
    ]
    if base.warning:
        lines.append(f"note {base.warning}")
    lines.append("")
    for step in plan.steps:
        expected = expected_in_words(step.expected_seconds)
        lines.append(f"  {step.id:<9}{step.title:<28} {expected:>7}   {step.why}")
        lines.append(f"  {'':<9}from {step.origin}")
    if not plan.steps:
        lines.append("  nothing to run")
    if any(step.role == "tests" for step in plan.steps):
        lines += ["", f"tests: {selection_in_words(selection, plan)}: {selection.why}"]
        lines += [
            f"  {named(test)}   {test.reasons[0].text if test.reasons else ''}"
            for test in selection.tests[:_MOST_TESTS]
        ]
        if len(selection.tests) > _MOST_TESTS:
            lines.append(
                f"  and {len(selection.tests) - _MOST_TESTS} more: presubmit select --explain"
            )
    lines += [f"unsure: {text}" for text in selection.unsure]
    lines += [f"no test reaches: {path}" for path in selection.unreached]
    lines += [f"cut by the budget: {path}" for path in plan.budget_cut]
    lines += [elsewhere_in_words(plan)] if plan.elsewhere else []
    lines += [f"not in it: {text}" for text in (*plan.left_out, *plan.unavailable)]
    seconds = [s.expected_seconds for s in plan.steps if s.expected_seconds]
    more = "" if len(seconds) == len(plan.steps) else ", and what is not known"
    known = (
        f", about {duration(sum(seconds))} (from last runs{more})" if sum(seconds) > LEAST else ""
    )
    lines += ["", f"would run {len(plan.steps)} steps{known}"]
    return "".join(f"{for_terminal(line).replace(chr(10), ' ')}\n" for line in lines)
