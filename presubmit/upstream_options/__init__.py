"""Takes options of a run from the matching jobs of upstream: below the configuration, which wins, above convention."""

from __future__ import annotations

from presubmit.upstream_options.choose import take
from presubmit.upstream_options.taken import (
    Options,
    Project,
    Taken,
    in_use,
    said_of,
    with_upstream,
)

__all__ = ["Options", "Project", "Taken", "in_use", "said_of", "take", "with_upstream"]
