"""The session `bench`."""

from __future__ import annotations

import nox

from presubmit.replay.session import run_session
from presubmit.values import Role


@nox.session(python=False)
def bench(session: nox.Session) -> None:
    """Compare the microbenchmarks that the change can reach with the base."""
    run_session(session, Role.BENCH)
