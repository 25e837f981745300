"""Reads what a test step that was ended from outside had done until then, from the record of the plugin."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from presubmit.results.record import read_record
from presubmit.values import CaseOutcome, Tests, counts_of

if TYPE_CHECKING:
    from pathlib import Path

    from presubmit.results.record import Record
    from presubmit.values import Case, StepResult, Work

_FAILING = frozenset({CaseOutcome.FAILED, CaseOutcome.ERROR})


def record_name(step: str) -> str:
    """Name the copy of the plugin's record of a step, relative to the run folder."""
    return f"records/{step}.jsonl"


def salvage(
    result: StepResult, work: Work, folder: Path, name: str, *, seconds: float
) -> StepResult:
    """Give a step that left no result the tests that came to their end; `name` is the step's, with its prefix."""
    if not isinstance(work, Tests):
        return msgspec.structs.replace(result, seconds=seconds)
    cases = finished(read_record(folder / record_name(name)))
    log = f"logs/{name}.log"
    return msgspec.structs.replace(
        result,
        cases=cases,
        counts=counts_of(cases),
        seconds=seconds,
        command=(*work.command, *work.arguments),
        log=log if (folder / log).is_file() else result.log,
    )


def finished(record: Record) -> tuple[Case, ...]:
    """Give the tests that came to their end, and those that failed before it: a set-up alone is no pass. Pure."""
    open_ = set(record.unfinished)
    return tuple(case for case in record.cases if case.id not in open_ or case.outcome in _FAILING)
