"""`presubmit` as a user starts it: the fixtures of the whole runs."""

from __future__ import annotations

from tests.integration.run.conftest import in_container, make_project, relay

__all__ = ["in_container", "make_project", "relay"]
