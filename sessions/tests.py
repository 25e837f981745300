"""The session `tests`."""

from __future__ import annotations

import nox

from presubmit.replay.session import run_session
from presubmit.values import Role


@nox.session(python=False)
def tests(session: nox.Session) -> None:
    """Run the tests that the change can affect."""
    run_session(session, Role.TESTS)
