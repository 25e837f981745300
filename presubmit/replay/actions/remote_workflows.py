"""Substitutes for reusable workflows of other repositories, as workflows that can be run like one's own."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec

from presubmit.replay.actions import linux_job
from presubmit.upstream.expressions import to_string
from presubmit.upstream.reader import read_workflow

if TYPE_CHECKING:
    from collections.abc import Mapping

    from presubmit.replay.actions.linux_job import LinuxStep
    from presubmit.upstream.here import Here
    from presubmit.upstream.model import Workflow

_TEMP = "${{ runner.temp }}"


def lacks(
    uses: str, inputs: Mapping[str, Any], here: Here | None, github: Mapping[str, Any]
) -> str:
    """Say why a call of another repository's workflow cannot be replayed; empty where it can."""
    name = uses.partition("@")[0]
    if name.lower() not in linux_job.NAMES:
        return f"workflow {name}"
    if here is None:
        return ""
    own = {str(github.get(key) or "") for key in ("sha", "head_ref", "ref", "ref_name")}
    event = github.get("event") or {}
    head = ((event.get("pull_request") or {}).get("head") or {}).get("sha")
    repository = to_string(github.get("repository"))
    missing = linux_job.lacking(
        inputs, here, repository=repository, own_refs={*own, str(head or "")} - {""}
    )
    return f"{missing} (for {name.rpartition('/')[2]})" if missing else ""


def make(uses: str, inputs: Mapping[str, Any], github: Mapping[str, Any]) -> Workflow | None:
    """Give the workflow that stands for a call: its one job has everything evaluated."""
    if uses.partition("@")[0].lower() not in linux_job.NAMES:
        return None
    repository = to_string(github.get("repository"))
    number = to_string(((github.get("event") or {}).get("number")) or "")
    job = linux_job.job_of(uses, inputs, repository=repository, pull_request=number, temp=_TEMP)
    text = json.dumps(
        {
            "on": "workflow_call",
            "jobs": {
                "job": {
                    "name": _literal(job.name),
                    "runs-on": "ubuntu-latest",
                    "timeout-minutes": job.timeout_minutes,
                    "env": {name: _literal(value) for name, value in job.env.items()},
                    "steps": [_step(step) for step in job.steps],
                }
            },
        },
        indent=1,
    )
    name = uses.partition("@")[0].rpartition("/")[2]
    found, _ = read_workflow(text.encode(), f".github/workflows/{name}")
    return None if found is None else msgspec.structs.replace(found, text=text, notes=job.notes)


def _step(step: LinuxStep) -> dict[str, Any]:
    made: dict[str, Any] = {"name": _literal(step.name)}
    if step.uses:
        made |= {"uses": step.uses, "with": {k: _literal(v) for k, v in step.inputs.items()}}
    else:
        made |= {"run": _literal(step.run), "shell": "bash -e {0}"}
    if step.env:
        made["env"] = {name: _literal(value) for name, value in step.env.items()}
    if step.working_directory:
        made["working-directory"] = _literal(step.working_directory)
    if step.always:
        made["if"] = "always()"
    if step.continue_on_error:
        made["continue-on-error"] = True
    return made


def _literal(text: str) -> str:
    """Keep what is evaluated already from being evaluated again; our own RUNNER_TEMP is to be."""
    marked = text.replace(_TEMP, "\0")
    return marked.replace("${{", "${{ '${{' }}").replace("\0", _TEMP)
