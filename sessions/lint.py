"""The session `lint`."""

from __future__ import annotations

import nox

from presubmit.replay.session import run_session
from presubmit.values import Role


@nox.session(python=False)
def lint(session: nox.Session) -> None:
    """Run the syntax check and the project's own lint tools on the changed files."""
    run_session(session, Role.LINT)
