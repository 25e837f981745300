"""Says which paths of a repository GitHub Actions reads."""

from __future__ import annotations

import re
from typing import Final

_WORKFLOW: Final = re.compile(r"\.github/workflows/[^/]+\.ya?ml")
_ACTION: Final = re.compile(r"\.github/actions/(?:[^/]+/)+action\.ya?ml")


def is_workflow(path: str) -> bool:
    """Say whether a path is that of a workflow: directly in the folder, `.yml` or `.yaml`."""
    return _WORKFLOW.fullmatch(path) is not None


def is_action(path: str) -> bool:
    """Say whether a path is that of an action of the repository's own, in the usual folder."""
    return _ACTION.fullmatch(path) is not None
