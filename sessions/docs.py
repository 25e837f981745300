"""The session `docs`."""

from __future__ import annotations

import nox

from presubmit.replay.session import run_session
from presubmit.values import Role


@nox.session(python=False)
def docs(session: nox.Session) -> None:
    """Check docstrings and doctests of what changed."""
    run_session(session, Role.DOCS)
