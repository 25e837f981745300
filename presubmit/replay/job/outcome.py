"""What a cell's end means for the change: a step result with findings that the base's can be compared with."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Final

import msgspec

from presubmit.replay.job.values import STEP_BEFORE, Conclusion
from presubmit.upstream.cells import CellState
from presubmit.values import Finding, Outcome, Role, StepResult, counted

if TYPE_CHECKING:
    from pathlib import Path

    from presubmit.replay.job.graph import Ended
    from presubmit.replay.job.values import CellResult, StepRecord
    from presubmit.upstream.cells import JobCell

# pytest's short summary: what failed, whatever else was printed.
_SUMMARY_HEAD: Final = "short test summary info"
_SUMMARY: Final = re.compile(
    r"^(?:FAILED|ERROR) (?P<test>\S.*?)(?: - (?P<message>.*))?$", re.MULTILINE
)
_SESSION: Final = re.compile(r"={3,} test session starts =|^[.FEsxX]+ +\[ *\d+%\]", re.MULTILINE)
"""How a pytest call begins, or goes on with `-q`."""
_CLOSING: Final = re.compile(r"^=*[^\n=]* in \d+(?:\.\d+)?s(?: \([\d:]+\))?[ =]*$", re.MULTILINE)
_EXCEPTION: Final = re.compile(r"[A-Za-z_][\w.]*(?=:|$)")
_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*m")
_VARYING: Final = re.compile(r"script-[0-9a-f]+|0x[0-9a-f]+|\d+(?:\.\d+)?|/tmp/\S+")
_ERROR: Final = re.compile(r"error|fail|exception|fatal|denied|not found|cannot", re.IGNORECASE)
_LAST_LINES: Final = 5


def step_result(ended: Ended, folder: Path, *, required: bool, prefix: str = "") -> StepResult:
    """Give a cell's end as the result of a step; `required` asks for cells that are not replayed as well.

    One that upstream would not run either is never asked for.
    """
    cell, result = ended.cell, ended.result
    name = f"{prefix}{file_name(cell.id)}"
    outcome, reason = _outcome(ended)
    log = folder / "logs" / f"{name}.log"
    return StepResult(
        id=cell.id,
        role=Role.UPSTREAM,
        outcome=outcome,
        reason=reason,
        # One that ran and came to no verdict is missing, not passed over.
        required=cell.state is CellState.REPLAYED
        or result is not None
        or (required and cell.starts),
        origin=cell.origin,
        seconds=result.seconds if result else 0.0,
        log=f"logs/{name}.log" if log.is_file() else "",
        findings=_findings(cell, result) if outcome is Outcome.FAILED and result else (),
        cut=_not_reached(result) if outcome is Outcome.FAILED and result else "",
        advice=_warnings(result) if result else (),
        notes=(*cell.notes, *_notes(ended)),
    )


def _outcome(ended: Ended) -> tuple[Outcome, str]:
    cell, result = ended.cell, ended.result
    if result is None or cell.state is not CellState.REPLAYED:
        return Outcome.SKIPPED, cell.reason
    if result.error:
        return Outcome.ERROR, result.error
    match result.conclusion:
        case Conclusion.SUCCESS:
            return Outcome.PASSED, _ran(result)
        case Conclusion.FAILURE:
            return (Outcome.PASSED if ended.tolerated else Outcome.FAILED), _why(result)
        case Conclusion.CANCELLED if result.steps:
            return Outcome.FAILED, _why(result)
        case _:
            return Outcome.SKIPPED, "; ".join(result.notes)


def _not_reached(result: CellResult) -> str:
    """Say which steps a failure kept from running: where the failure is the base's, they say nothing of the change."""
    skipped = [step.name for step in result.steps if step.reason == STEP_BEFORE]
    if not skipped:
        return ""
    more = f" and {len(skipped) - 1} more" if len(skipped) > 1 else ""
    return f"not reached after the failure: {skipped[0]}{more}"


def _ran(result: CellResult) -> str:
    ran = [step for step in result.steps if step.outcome is not Conclusion.SKIPPED]
    stubbed = sum(step.kind == "stubbed" for step in result.steps)
    text = counted(len(ran), "step")
    return f"{text}, {stubbed} stubbed" if stubbed else text


def _why(result: CellResult) -> str:
    bad = [s for s in result.steps if s.conclusion in {Conclusion.FAILURE, Conclusion.CANCELLED}]
    if not bad:
        return "; ".join(result.notes) or str(result.conclusion)
    more = f" (and {len(bad) - 1} more)" if len(bad) > 1 else ""
    return f"{bad[0].name}: {bad[0].reason}{more}"


def _notes(ended: Ended) -> tuple[str, ...]:
    result = ended.result
    if result is None:
        return ()
    tolerated = (
        ("it failed; upstream tolerates that (continue-on-error)",)
        if (ended.tolerated and result.conclusion is Conclusion.FAILURE)
        else ()
    )
    steps = tuple(
        f"{step.name} ({step.origin}): {step.reason}"
        for step in result.steps
        if step.reason
        and step.kind in {"substituted", "stubbed"}
        and step.outcome is Conclusion.SUCCESS
    )
    soft = tuple(
        f"{step.name} ({step.origin}) failed, tolerated: {step.reason}"
        for step in result.steps
        if step.outcome is Conclusion.FAILURE and step.conclusion is Conclusion.SUCCESS
    )
    return (
        *tolerated,
        *steps,
        *soft,
        *(note for note in result.notes if note not in ended.cell.notes),
    )


def _findings(cell: JobCell, result: CellResult) -> tuple[Finding, ...]:
    bad = [s for s in result.steps if s.conclusion in {Conclusion.FAILURE, Conclusion.CANCELLED}]
    found = [
        finding for step in bad for finding in (_tests(cell, step) or (_finding(cell, step),))
    ]
    if not found:
        found = [
            Finding(
                kind="job",
                subject=f"{cell.id}: {result.conclusion}",
                tool="upstream",
                message=_why(result),
                file=cell.workflow,
                line=cell.line,
            )
        ]
    return tuple(found)


def _tests(cell: JobCell, step: StepRecord) -> tuple[Finding, ...]:
    """Give one finding for each test that pytest's own summaries name as failed, however many pytest calls there were.

    What the step says after the last of them is a finding of its own, and so is the step where one may be missing.
    """
    text = _COLOUR.sub("", step.tail)
    _, *summaries = text.split(_SUMMARY_HEAD)
    if not summaries:
        return ()
    file, line = _place(cell, step)
    found: dict[str, Finding] = {}
    for summary in summaries:
        for match in _SUMMARY.finditer(summary):
            test, message = match["test"], match["message"] or step.reason
            exception = _EXCEPTION.match(message)
            # Another exception is another failure; the rest of a message may hold numbers that vary.
            kind = exception.group() if exception else ""
            subject = f"{cell.id}: {test} {kind}".rstrip()
            found[subject] = Finding(
                kind="job",
                subject=subject,
                tool="upstream",
                message=f"{cell.id}: {test}: {message}",
                file=file,
                line=line,
            )
    rest = _CLOSING.split(summaries[-1], maxsplit=1)[-1]
    whole = len(_SESSION.findall(text)) >= len(summaries)
    if found and (not whole or any(_ERROR.search(said) for said in rest.splitlines())):
        more = _finding(cell, msgspec.structs.replace(step, tail=rest if whole else text))
        found[more.subject] = more
    return tuple(found.values())


def _place(cell: JobCell, step: StepRecord) -> tuple[str, int | None]:
    file, _, line = step.origin.partition(":")
    folder = cell.workflow.rpartition("/")[0]
    return file if "/" in file else f"{folder}/{file}", int(line) if line.isdigit() else None


def _finding(cell: JobCell, step: StepRecord) -> Finding:
    file, line = _place(cell, step)
    return Finding(
        kind="job",
        subject=f"{cell.id}: {step.name} [{signature(step.tail or step.reason)}]",
        tool="upstream",
        message=f"{cell.id}: {step.name}: {step.reason}",
        file=file,
        line=line,
    )


def signature(tail: str) -> str:
    """Name what a failing step printed, by the last lines that tell of an error: another name is another failure.

    Numbers and temporary paths are left out, and so is all else that a step prints on its way (downloads, progress).
    """
    lines = [line.strip() for line in _COLOUR.sub("", tail).splitlines() if line.strip()]
    told = [line for line in lines if _ERROR.search(line)] or lines
    plain = "\n".join(_VARYING.sub("0", line) for line in told[-_LAST_LINES:])
    return hashlib.sha256(plain.encode("utf-8", "replace")).hexdigest()[:8]


def _warnings(result: CellResult) -> tuple[Finding, ...]:
    """Give the annotations that steps made: they point to lines of the project's own files."""
    return tuple(
        Finding(
            kind="job",
            subject=f"{note.file}: {note.message}",
            tool="annotation",
            message=f"{note.level}: {f'{note.title}: ' if note.title else ''}{note.message}",
            file=note.file,
            line=note.line,
        )
        for note in result.annotations
    )


def file_name(cell: str) -> str:
    """Give a name for a cell's files: readable, of harmless characters, and another for every cell."""
    readable = "".join(c if c.isalnum() or c in "-_.=" else "-" for c in cell)[:80].strip("-.")
    return f"{readable}-{hashlib.sha256(cell.encode()).hexdigest()[:6]}"
