"""Counts instructions of benchmarks on both sides: perf events where the machine has them, else valgrind."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from presubmit.bench.counting import both, count_suite
from presubmit.bench.deadline import Deadline, StoppedError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from presubmit.bench.talk import Side
    from presubmit.bench.values import Counted, Result
    from presubmit.replay.steps import Bench as Place
    from presubmit.values import Suite

_VALGRIND: Final = (
    *("setarch", "-R", "valgrind", "--quiet", "--tool=callgrind"),
    *("--instr-atstart=no", "--collect-atstart=no"),
)
"""With fixed addresses, since a count may depend on them (facts/bench.md, section 2)."""
_LEAST: Final = 30.0
"""Seconds for counting where measuring took all of the budget: valgrind starts slowly."""
OUT: Final = "PRESUBMIT_BENCH_CALLGRIND"
"""Tells the worker that it runs under callgrind, and where that writes."""


def count_instructions(
    suites: Sequence[Suite],
    wanted: Sequence[Result],
    open_side: Callable[[str, tuple[str, ...]], Side],
    place: Place,
    *,
    core: int,
    seconds: float,
) -> tuple[dict[str, Counted], tuple[str, ...]]:
    """Count in so many seconds (30 at least); give the counts by id, and what went wrong."""
    seconds = max(_LEAST, seconds)
    deadline = Deadline(now=time.monotonic, stop=lambda: False, seconds=seconds)
    found: dict[str, Counted] = {}
    has_valgrind: bool | None = None
    try:
        for suite in suites:
            mine = [it for it in wanted if suite_of(it, suites) is suite]
            if not mine:
                continue
            counts = _count(suite, mine, open_side, place, core, deadline)
            if not any(it.head is not None for it in counts.values()):
                if has_valgrind is None:
                    has_valgrind = _has_valgrind(place)
                if has_valgrind:
                    counts = _count(suite, mine, open_side, place, core, deadline, valgrind=True)
            found.update(counts)
    except StoppedError:
        return found, (f"instructions not counted within {seconds:.0f} s",)
    return found, ()


def suite_of(result: Result, suites: Sequence[Suite]) -> Suite:
    """Give the suite that a benchmark is of: among those of its root the one with its file; a command has none."""
    bench = result.bench
    own = [it for it in suites if (it.root, it.adapter) == (bench.root, bench.adapter)]
    return next((it for it in own if bench.file in it.files), own[0])


def _count(
    suite: Suite,
    results: Sequence[Result],
    open_side: Callable[[str, tuple[str, ...]], Side],
    place: Place,
    core: int,
    deadline: Deadline,
    *,
    valgrind: bool = False,
) -> dict[str, Counted]:
    """Count on both sides, one after the other."""
    output = place.lane.output
    under: tuple[str, ...] = ()
    env: dict[str, str] = {}
    if valgrind:
        under = (*_VALGRIND, f"--callgrind-out-file={output}/callgrind.%p")
        env = {OUT: f"{output}/callgrind"}
    sides = {
        name: count_suite(
            open_side(name, under), suite, results, core=core, env=env, check=deadline.check
        )
        for name in ("base", "head")
    }
    names = [it.bench.id for it in results]
    return {it: both(sides["base"].get(it), sides["head"].get(it)) for it in names}


def _has_valgrind(place: Place) -> bool:
    done = place.box.exec(
        ("sh", "-c", "command -v valgrind && command -v setarch"), log=place.log, timeout=30.0
    )
    return done.ok
