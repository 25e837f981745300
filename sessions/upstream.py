"""The session `upstream`."""

from __future__ import annotations

import nox

from presubmit.replay.job.session import run_cell_session


@nox.session(python=False)
def upstream(session: nox.Session) -> None:
    """Replay one cell of upstream's workflows."""
    run_cell_session(session)
