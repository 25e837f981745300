"""Finds the public conformance data, which lies beside the repository and not in it."""

from __future__ import annotations

import os
from pathlib import Path

VARIABLE = "PRESUBMIT_CONFORMANCE"
REASON = f"no conformance data: neither ${VARIABLE} nor a folder shared/conformance beside the repository"


def folder(name: str) -> Path | None:
    """Give the folder `name` (`expressions`, `workflows`) of the data; None where there is none."""
    given = os.environ.get(VARIABLE)
    root = Path(__file__).resolve().parents[3]
    places = (
        [Path(given)] if given else [above / "shared" / "conformance" for above in root.parents]
    )
    return next((place / name for place in places if (place / name).is_dir()), None)
