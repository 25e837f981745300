"""run.json, the contract with other programs (DESIGN, section 5): schema 1, which grows by new keys only."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import msgspec

from presubmit import __version__
from presubmit.values import State, builtins_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from presubmit.values import Change, Plan, Selection, StepResult, Verdict

SCHEMA: Final = 1
_VERSION: Final = re.compile(r"\d+\.\d+[\w.+-]*")


def now() -> str:
    """Give the time as `2026-11-30T12:00:00Z`."""
    return f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"


class RunFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a run before its first step."""

    started: str
    pid: int
    process: str
    boot: str
    change: Change
    selection: Selection
    plan: Plan
    environment: dict[str, Any]
    """`kind`, `image`, `image_id`, `engine`, `python`."""


def run_json(
    facts: RunFacts, results: Sequence[StepResult], verdict: Verdict | None, *, running: bool
) -> dict[str, Any]:
    """Put a run together, whole or half done; steps without a result yet are left out while it runs."""
    change, selection = facts.change, facts.selection
    return {
        "schema": SCHEMA,
        "tool": __version__,
        "started": facts.started,
        "ended": None if running else now(),
        "pid": facts.pid,
        "process": facts.process,
        "boot": facts.boot,
        "state": str(State.RUNNING if running or verdict is None else verdict.state),
        "exit": None if running or verdict is None else int(verdict.exit_code),
        "tier": str(facts.plan.tier),
        "branch": change.branch,
        "target": {
            "kind": str(change.target.kind),
            "commit": change.target.commit,
            "tree": change.target.tree,
            "dirty": list(change.target.dirty),
            "untracked": list(change.target.untracked),
        },
        "base": {"ref": change.base.ref, "commit": change.base.commit, "how": change.base.how},
        "environment": _environment(facts, results),
        "selection": {
            "mode": str(selection.mode),
            "chosen": len(selection.tests),
            "narrowed": sum(1 for test in selection.tests if test.ids),
            "known": selection.known,
            "unsure": list(selection.unsure),
        },
        "steps": [_step(result) for result in results],
        "failures": [builtins_of(f) for f in verdict.failures] if verdict else [],
        "reproduces": [builtins_of(r) for r in verdict.reproduces] if verdict else [],
        "not_run": list(verdict.not_run) if verdict else [],
        "left_out": list(facts.plan.left_out),
        "incomplete": list(facts.plan.incomplete),
        "budget_cut": list(facts.plan.budget_cut),
        "other_shards": list(facts.plan.elsewhere),
    }


def _environment(facts: RunFacts, results: Sequence[StepResult]) -> dict[str, Any]:
    """Add which Python ran the tests: they say it themselves, so that no box has to be asked for it."""
    told = next((it.python for it in results if _VERSION.fullmatch(it.python)), None)
    return {**facts.environment, **({"python": told} if told else {})}


def _step(result: StepResult) -> Mapping[str, Any]:
    return {
        "id": result.id,
        "role": str(result.role),
        "required": result.required,
        "outcome": str(result.outcome),
        "reason": result.reason,
        "command": list(result.command),
        "origin": result.origin,
        "seconds": result.seconds,
        "log": result.log,
        "cached": result.cached,
        "counts": builtins_of(result.counts),
        "notes": list(result.notes),
        "advice": len(result.advice),
        "patch": result.patch,
        "cut": result.cut,
    }


def interrupted(run: Mapping[str, Any], *, exit_code: int) -> dict[str, Any]:
    """Give an interrupted run's last word; what was measured stays."""
    return {**run, "state": str(State.INTERRUPTED), "exit": exit_code, "ended": now()}


def failed_to_run(run: Mapping[str, Any], message: str, *, exit_code: int) -> dict[str, Any]:
    """Give the last word of a run that presubmit could not go on with."""
    return {
        **run,
        "state": str(State.ERROR),
        "exit": exit_code,
        "ended": now(),
        "not_run": [*run.get("not_run", []), message],
    }
