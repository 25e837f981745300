"""The session `build`."""

from __future__ import annotations

import nox

from presubmit.replay.session import run_session
from presubmit.values import Role


@nox.session(python=False)
def build(session: nox.Session) -> None:
    """Build and install the project in the lane's environment."""
    run_session(session, Role.BUILD)
