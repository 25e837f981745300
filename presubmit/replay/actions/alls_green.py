"""re-actors/alls-green: whether the needed jobs ended as they may.

https://github.com/re-actors/alls-green: action.yml, src/normalize_needed_jobs_status.py.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from presubmit.replay.job.action import ActionFailedError, Support

if TYPE_CHECKING:
    from presubmit.replay.job.action import ActionStep, Wanted
    from presubmit.upstream.here import Here

NAMES: Final = ("re-actors/alls-green",)


def support(wanted: Wanted, here: Here) -> Support:  # noqa: ARG001 - the protocol's
    """Nothing is needed."""
    return Support()


def run(step: ActionStep) -> None:
    """Set the outputs; fail where a job did not end as it may."""
    jobs = _jobs(step.input("jobs"))
    failures = names_in(step.input("allowed-failures"))
    skips = names_in(step.input("allowed-skips"))
    bad = [name for name, result in jobs.items() if not may_end(name, result, failures, skips)]
    for name, result in jobs.items():
        step.say(f"{name} → {result}")
    step.set_output("failure", "true" if bad else "false")
    step.set_output("result", "failure" if bad else "success")
    step.set_output("success", "false" if bad else "true")
    if bad:
        shown = ", ".join(f"{name} ({jobs[name]})" for name in bad)
        raise ActionFailedError(f"Some of the required to succeed jobs failed: {shown}")


def may_end(name: str, result: str, failures: frozenset[str], skips: frozenset[str]) -> bool:
    """Whether a job may end so; one that may be skipped may not fail, even where it is named in both."""
    if name in skips:
        return result in {"skipped", "success"}
    return name in failures or result == "success"


def names_in(text: str) -> frozenset[str]:
    """Read a list of job names: JSON, else parted by commas."""
    try:
        names = json.loads(text or "[]")
    except ValueError:
        names = [word.strip() for word in text.split(",")]
    return (
        frozenset(str(name) for name in names if name) if isinstance(names, list) else frozenset()
    )


def _jobs(text: str) -> dict[str, str]:
    try:
        jobs: Any = json.loads(text)
        results = {str(name): str(job["result"]) for name, job in jobs.items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ActionFailedError("the input `jobs` is not `toJSON(needs)`") from error
    if not results:
        raise ActionFailedError(
            "Invalid input jobs matrix, please provide a non-empty `needs` context"
        )
    return results
