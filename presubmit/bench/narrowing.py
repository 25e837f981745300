"""Which of the listed benchmarks are measured: those asked for, and of these those that run what changed. Pure."""

from __future__ import annotations

import fnmatch
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from presubmit.bench.listing import Ran
    from presubmit.bench.values import Bench


def matching(benches: Iterable[Bench], patterns: Collection[str]) -> tuple[Bench, ...]:
    """Keep the benchmarks whose id has a pattern in it, or is matched by it as a whole; without one, all."""
    if not patterns:
        return tuple(benches)
    return tuple(
        it
        for it in benches
        if any(pattern in it.id or fnmatch.fnmatchcase(it.id, pattern) for pattern in patterns)
    )


def in_change(
    benches: Iterable[Bench],
    ran: Mapping[str, Ran],
    bodies: Mapping[str, Collection[str]],
    files: Collection[str],
) -> dict[str, str]:
    """Give the benchmarks to leave out, and why: they ran none of the changed functions.

    One whose file the change edits stays, and so does one of which it is not known what it runs.
    """
    out = {}
    for bench in benches:
        seen = ran.get(bench.id)
        if seen is None or bench.file in files:
            continue
        if not any(
            set(names) & set(seen.functions.get(path, ())) for path, names in bodies.items()
        ):
            out[bench.id] = "it runs none of the changed functions"
    return out
