"""Where a step stands: the job itself, or a composite action inside it, each with steps and inputs of its own."""

from __future__ import annotations

from typing import Any

import msgspec


class Scope(msgspec.Struct, kw_only=True):
    """What the steps of one list share, and what later ones see of earlier ones."""

    inputs: dict[str, Any] | None = None
    file: str
    """Where the steps are written, `ci.yml`."""
    directory: str
    """The workspace, or the folder of the composite action."""
    env: dict[str, str] = {}
    """What the composite action's own `env` adds."""
    outer: Scope | None = None
    depth: int = 0
    failed: bool = False
    lacks: str = ""
    """What a step wanted that is not here; none runs after it."""
    steps: dict[str, Any] = {}
    """`steps` as expressions see it."""

    def github(self) -> dict[str, str]:
        """Give what `github` has besides, inside a composite action."""
        return {} if self.outer is None else {"action_path": self.directory}
