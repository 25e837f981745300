"""The sessions that `presubmit run` starts, one process each; `nox -l` lists them, `nox -s tests` runs one alone."""

from __future__ import annotations

import ctypes
import logging
import signal
import sys
from pathlib import Path

# Before any import of ours: nox does not put this folder on the path.
sys.path.insert(0, str(Path(__file__).resolve().parent))

from sessions import bench, build, docs, lint, review, tests, upstream

__all__ = ["bench", "build", "docs", "lint", "review", "tests", "upstream"]


def _stop(*_: object) -> None:
    raise KeyboardInterrupt


# nox dies of SIGTERM at once and leaves its children; as an interrupt, clean-ups run. The kernel sends it to us when
# the tool dies, even by kill -9 (prctl PR_SET_PDEATHSIG, Linux only).
signal.signal(signal.SIGTERM, _stop)
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)
for _name in ("docker", "urllib3"):
    logging.getLogger(_name).setLevel(logging.WARNING)  # nox sets the root logger to DEBUG
