"""Reads what the built libraries of head and of the base export, each in a box of its own."""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

from presubmit.container import attach
from presubmit.replay.harvest import OutputFolder
from presubmit.replay.inside import script
from presubmit.replay.steps import Bench, trouble
from presubmit.review.built import Demangled, Libraries, Library
from presubmit.review.exports import one_sided
from presubmit.values import Outcome, StepResult, encode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from presubmit.values import ReadLibraries

T = TypeVar("T")
FILE: Final = "built/libraries.json"
"""In the run's folder."""
_MOST_NAMES: Final = 5000


class _UnreadError(Exception):
    """A script gave no answer."""


def run_libraries(bench: Bench, work: ReadLibraries) -> StepResult:
    """Read both sides; what they export stands in `built/libraries.json`."""
    other = msgspec.structs.replace(bench.assignment, lane=bench.assignment.others[0], others=())
    try:
        with closing(attach(other.lane.box)) as box:
            theirs = Bench(other, bench.step, box)
            head = _read(bench, work.projects[0], work.timeout)
            base = _read(theirs, work.projects[1], work.timeout)
        names = one_sided(base, head)[:_MOST_NAMES]
        libraries = Libraries(base=base, head=head, names=_demangle(bench, names, work.timeout))
    except _UnreadError as error:
        return _result(bench, Outcome.ERROR, str(error))
    path = bench.folder / FILE
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(encode(libraries))
    return _result(bench, Outcome.PASSED, f"{len(base)} on the base, {len(head)} on head")


def _result(bench: Bench, outcome: Outcome, reason: str) -> StepResult:
    step = bench.step
    return StepResult(
        id=step.id,
        role=step.role,
        outcome=outcome,
        reason=reason,
        origin=step.origin,
        seconds=bench.seconds,
        log=bench.log_name,
    )


def _read(bench: Bench, project: str, timeout: float) -> tuple[Library, ...]:
    lane = bench.lane
    with OutputFolder(lane) as out:
        words = (lane.source, f"{lane.environment}/build", project)
        shown = "# list the shared libraries and what they export"
        found = _ask(bench, out, "libraries", words, list[Library], timeout, shown)
    return tuple(sorted(found, key=lambda one: one.path))


def _demangle(bench: Bench, names: Sequence[str], timeout: float) -> dict[str, Demangled]:
    """Give the readable names; where no tool tells them, there are none."""
    if not names:
        return {}
    with OutputFolder(bench.lane) as out:
        given = out.write("names.txt", "".join(f"{name}\n" for name in names).encode())
        shown = "# demangle what only one side exports"
        return _ask(bench, out, "demangle", (given,), dict[str, Demangled], timeout, shown)


def _ask(
    bench: Bench,
    out: OutputFolder,
    name: str,
    words: tuple[str, ...],
    kind: type[T],
    timeout: float,
    shown: str,
) -> T:
    """Run a script in the box and read its answer; raises _UnreadError."""
    python = f"{bench.lane.environment}/venv/bin/python"
    command = (python, "-I", "-c", script(name), *words, f"{out.inside}/answer.json")
    done = bench.run(command, timeout=timeout, cwd=out.inside, env={}, shown=shown)
    copy = bench.folder / "results" / f"{bench.name}.{bench.lane.name}.answer.json"
    problem = out.take("answer.json", copy)
    if problem or not done.ok:
        raise _UnreadError(trouble(done) or problem or f"exit {done.exit_code}")
    try:
        return msgspec.convert(json.loads(copy.read_bytes()), kind)
    except (ValueError, msgspec.ValidationError) as error:
        raise _UnreadError(f"the answer of the box cannot be read: {error}") from error
    finally:
        copy.unlink(missing_ok=True)
