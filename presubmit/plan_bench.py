"""The step that compares benchmarks, as part of a plan. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from presubmit.values import Adapter, Benchmarks, Build, PlanStep, Role, counted

if TYPE_CHECKING:
    from collections.abc import Sequence

ASV_RUNNER: Final = "asv_runner>=0.2,<0.4"
"""It reads asv's suites; of it the discovery and the benchmark classes are used."""
PY_SPY: Final = "py-spy>=0.4,<1"
"""It samples the stacks of a benchmark."""


def bench_steps(work: Benchmarks | None, left_out: list[str], *, on_path: bool) -> list[PlanStep]:
    """Give the step where the change can reach a benchmark; else say why there is none."""
    if work is None:
        return []
    left_out.extend(f"benchmarks: {problem}" for problem in work.problems)
    if not work.suites:
        left_out.append("benchmarks: the project has none that presubmit recognises")
        return []
    known = len(work.reached) + len(work.left_out)
    if not work.reached and not work.every:
        left_out.append(
            f"benchmarks: the change reaches none of {counted(known, 'benchmark file')}"
        )
        return []
    title, reached = "benchmarks", counted(known if work.every else len(work.reached), "file")
    why = f"the change can reach {reached} of {known}"
    if work.self_test:
        title, why = (
            "benchmarks (base against itself)",
            f"{reached}, for this machine's false alarms",
        )
    elif work.every:
        why = f"all {reached}, as asked"
    return [
        PlanStep(
            id="bench",
            role=Role.BENCH,
            title=title,
            work=msgspec.structs.replace(work, on_path=on_path),
            origin=", ".join(dict.fromkeys(suite.origin for suite in work.suites[:3])),
            why=why,
            needs=("build.1",),
        )
    ]


def for_benchmarks(step: PlanStep, bench: Sequence[PlanStep]) -> PlanStep:
    """Let a build install what reads the suites of benchmarks, beside its environment."""
    work = step.work
    asv = any(
        suite.adapter is Adapter.ASV
        for it in bench
        if isinstance(it.work, Benchmarks)
        for suite in it.work.suites
    )
    if not isinstance(work, Build):
        return step
    profile = any(isinstance(it.work, Benchmarks) and it.work.profile for it in bench)
    beside = (*((ASV_RUNNER,) if asv else ()), *((PY_SPY,) if profile else ()))
    return msgspec.structs.replace(step, work=msgspec.structs.replace(work, beside=beside))
