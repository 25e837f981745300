"""Where the time of one benchmark goes: keeps a worker busy while it is sampled, and compares sampled stacks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from presubmit.bench.values import Moved
from presubmit.bench.worker import Worker
from presubmit.values import builtins_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from presubmit.bench.talk import Side
    from presubmit.bench.values import Result
    from presubmit.values import Suite

SECONDS: Final = 3.0
"""How long a side is sampled."""
_LEAVE: Final = 20.0
"""Seconds that a profiler may take to write down what it saw."""
_OWN: Final = "presubmit_bench/"
_TURN: Final = "turn (presubmit_bench/serve.py"
"""The frame of the worker below which the benchmark runs: what is imported and set up before is no part of it."""
_LEAST: Final = 0.01
_MOST: Final = 12
_FRAME: Final = re.compile(r"(.*) \((.*?)(?::\d+)?\)")


def keep_busy(
    side: Side,
    suite: Suite,
    result: Result,
    *,
    env: Mapping[str, str],
    now: Callable[[], float],
    trace: str = "",
) -> str:
    """Run one benchmark on one side for a while; `trace` names a file for a trace of torch. Give why it did not run."""
    job = {
        "mode": "run",
        "suite": builtins_of(suite),
        "ids": [result.bench.id],
        "core": None,
        "timeout": suite.timeout,
        "watch": [],
    }
    talk = side.start(job, env={"PYTHONHASHSEED": "0", **env})
    worker = Worker(side.name, talk, timeout=suite.timeout, check=lambda: None)
    why = ""
    try:
        worker.advance()
        until = now() + SECONDS
        if trace:
            heard = worker.ask(
                {"do": "kineto", "loops": result.loops, "path": trace}, answer="kineto"
            )
            why = str(heard.get("why") or "") if heard else "it failed while it was traced"
        while not trace and worker.at is not None and now() < until:
            worker.ask({"do": "turn", "loops": max(1, result.loops)}, answer="turn")
        while worker.at is not None:
            worker.advance()
        broken = worker.broken.get(result.bench.id)
        if worker.died or broken is not None:
            said = (broken.error if broken is not None else worker.died).strip().splitlines()
            return said[-1] if said else "the worker ended"
        limit = now() + _LEAVE
        while now() < limit:
            try:
                if talk.receive(0.5) is None:
                    break
            except TimeoutError:
                continue
    finally:
        worker.close()
    return why


def shares(folded: str) -> dict[str, float]:
    """Give of each function its share of the samples, what it calls included; the worker's own frames are no part.

    `folded` has a stack a line, outermost first, as `frame;frame count` with frames as `name (file:line)`.
    """
    counts: dict[str, int] = {}
    total = 0
    for line in folded.splitlines():
        stack, _, number = line.rpartition(" ")
        if not number.isdigit():
            continue
        frames = stack.split(";")
        own = [at for at, frame in enumerate(frames) if _OWN in frame]
        turns = any(frame.startswith(_TURN) for frame in frames)
        inner = frames[own[-1] + 1 :] if turns else []
        if not inner:
            continue
        total += int(number)
        for name in {_named(frame) for frame in inner}:
            counts[name] = counts.get(name, 0) + int(number)
    return {name: count / total for name, count in counts.items()}


def _named(frame: str) -> str:
    found = _FRAME.fullmatch(frame)
    return frame if found is None else f"{found.group(1)} ({found.group(2)})"


def moved(base: Mapping[str, float], head: Mapping[str, float]) -> tuple[Moved, ...]:
    """Give the functions whose share moved by a hundredth at least, the most moved first."""
    found = [
        Moved(function=name, base=base.get(name, 0.0), head=head.get(name, 0.0))
        for name in {*base, *head}
    ]
    found = [it for it in found if abs(it.head - it.base) >= _LEAST]
    return tuple(sorted(found, key=lambda it: (-abs(it.head - it.base), it.function))[:_MOST])
