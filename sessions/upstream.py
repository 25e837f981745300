"""The session `upstream`."""

from __future__ import annotations

import nox


@nox.session(python=False)
def upstream(session: nox.Session) -> None:
    """Replay one cell of upstream's workflows."""
    from presubmit.replay.job.session import run_cell_session  # noqa: PLC0415 - the other sessions need none of it

    run_cell_session(session)
