"""What cells are judged with: the event, what there is here, and how the rest of `.github` is read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from presubmit.upstream import event
from presubmit.upstream.triggers import decide

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from presubmit.upstream.event import EventFacts
    from presubmit.upstream.here import Here
    from presubmit.upstream.model import ActionFile, Workflow
    from presubmit.upstream.uses import Support, Wanted


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a forecast depends on besides the workflows."""

    event: str
    facts: EventFacts
    here: Here | None
    """None where it is not known (no engine): then nothing is said of interpreters and tools."""
    runners: Mapping[str, str] = {}
    """Labels of `runs-on` that the user maps to images."""
    vars: Mapping[str, Any] = {}
    substitutes: Collection[str] = ()
    """Actions that the user substitutes: `owner/name`."""
    support: Callable[[Wanted, Here], Support]
    remote: Callable[[str, Mapping[str, Any], Here | None, Mapping[str, Any]], str]
    """Why a call (with these inputs, in this `github` context) of another repository's workflow cannot be replayed."""
    remote_workflow: Callable[[str, Mapping[str, Any], Mapping[str, Any]], Workflow | None]
    """The workflow that stands for it; everything in it is evaluated."""
    load: Callable[[str], Workflow | None]
    """Reads a local reusable workflow: `./.github/workflows/x.yml`."""
    read_action: Callable[[str], ActionFile | None]
    """Reads a local action: `./.github/actions/x`."""
    read: Callable[[str], str | None]
    """Reads a file of the tree as text."""
    has_image: Callable[[str], bool] | None = None


def github_context(setting: Setting, workflow: Workflow, job: str) -> dict[str, Any]:
    """Give `github` for one job of a workflow."""
    return event.github_context(
        setting.facts,
        workflow_path=workflow.path,
        workflow_name=str(workflow.name.value) if workflow.name is not None else workflow.path,
        job=job,
        event=setting.event,
        action=decide(workflow, setting.event, setting.facts).action,
    )
