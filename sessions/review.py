"""The session `review`."""

from __future__ import annotations

import nox

from presubmit.replay.session import run_session
from presubmit.values import Role


@nox.session(python=False)
def review(session: nox.Session) -> None:
    """Look at what base and head were built to."""
    run_session(session, Role.REVIEW)
