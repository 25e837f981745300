"""Counts instructions a call, in one process of a side whose addresses and hash seed are fixed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from presubmit.bench.values import Counted, Kind, Word
from presubmit.bench.worker import Worker
from presubmit.values import Value, builtins_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from presubmit.bench.talk import Side
    from presubmit.bench.values import Result
    from presubmit.values import Suite

_COUNTS: Final = 6
"""The first is dropped: it is warm-up (facts/bench.md, trap 12); of the others the least counts."""
_FEWER: Final = 10
"""A turn's loops are this many times too many for a count: it hardly varies, and valgrind is slow."""
_SLOWER: Final = 60.0
"""Times that a call may take longer under valgrind."""
_MOST: Final = 20


class Count(Value, frozen=True, kw_only=True):
    """Instructions a call on one side; None with `why`."""

    instructions: float | None = None
    tool: str = ""
    why: str = ""


def worth_counting(results: Iterable[Result], *, asked: str) -> tuple[Result, ...]:
    """Give the results whose instructions are wanted: all where they were asked for, else what is not settled."""
    timed = [it for it in results if it.bench.kind is Kind.TIME]
    if asked == "yes":
        return tuple(timed)
    open_ones = [it for it in timed if it.word in {Word.UNSURE, Word.SLOWER}]
    return tuple(open_ones[:_MOST]) if asked == "auto" else ()


def count_suite(
    side: Side,
    suite: Suite,
    results: Sequence[Result],
    *,
    core: int | None,
    env: dict[str, str],
    check: Callable[[], None],
) -> dict[str, Count]:
    """Count the benchmarks of one suite on one side, by id; what gave nothing has its reason."""
    loops = {it.bench.id: max(1, it.loops // _FEWER) for it in results}
    job = {
        "mode": "run",
        "suite": builtins_of(suite),
        "ids": list(loops),
        "core": core,
        "timeout": suite.timeout * _SLOWER,
        "watch": [],
    }
    talk = side.start(job, env={"PYTHONHASHSEED": "0", **env})
    worker = Worker(side.name, talk, timeout=suite.timeout * _SLOWER, check=check)
    found: dict[str, Count] = {}
    try:
        worker.advance()
        while worker.at is not None:
            name = worker.at
            if name in loops:
                found[name] = _count(worker, loops[name])
            worker.advance()
    finally:
        worker.close()
    for name in loops:
        broken = worker.broken.get(name)
        why = broken.error.strip().splitlines()[-1:] if broken is not None else [worker.died]
        found.setdefault(name, Count(why=why[0] if why else "it gave no count"))
    return found


def _count(worker: Worker, loops: int) -> Count:
    counts: list[float] = []
    tool = ""
    for _ in range(_COUNTS):
        heard = worker.ask({"do": "count", "loops": loops}, answer="count")
        if heard is None:
            return Count(why="it failed while it was counted")
        number, tool = heard.get("instructions"), str(heard.get("tool") or "")
        if not isinstance(number, int | float):
            return Count(tool=tool, why=str(heard.get("why") or "it cannot be counted"))
        counts.append(float(number))
    return Count(instructions=min(counts[1:]), tool=tool)


def both(base: Count | None, head: Count | None) -> Counted:
    """Put both sides' counts together; where one is missing, its reason."""
    base, head = base or Count(why="not counted"), head or Count(why="not counted")
    return Counted(
        base=base.instructions,
        head=head.instructions,
        tool=head.tool or base.tool,
        why=base.why or head.why,
    )
