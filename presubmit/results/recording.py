"""Reads what the recorder wrote in a box, one JSON object a line, with suspicion; joins the recordings of shards."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

import msgspec

from presubmit.results.files import read_bounded
from presubmit.selector.recorded_index import FIXTURE, TEST
from presubmit.selector.recorded_sound import ASKING, READING, say_read
from presubmit.selector.recorded_store import CORES
from presubmit.selector.recording import Ran, Recording, left_by_both

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

MOST_BYTES: Final = 64 * 1024 * 1024
_MOST_NAMED: Final = 3
_WEIGHT: Final = {"": 0, "skipped": 1, "passed": 2, "failed": 3}
_NOT_FINISHED: Final = "its tear-down was not recorded"
_NONE_ENDED: Final = "a process that was recorded did not come to its end"

# --- what a line may hold -------------------------------------------------------------------------------------------


class _Start(msgspec.Struct, tag_field="kind", tag="start"):
    p: str
    core: str
    python: str
    environment: str


class _Names(msgspec.Struct, tag_field="kind", tag="names"):
    p: str
    n: int
    file: str
    names: list[str]


class _Ran(msgspec.Struct, tag_field="kind", tag="ran"):
    p: str
    context: str
    functions: dict[str, list[int]]
    modules: list[str]
    opened: list[str]
    listed: list[str]
    uses: list[str]
    started: list[str]
    open: list[str]
    outcome: str
    seconds: float
    of: str = ""
    """The child process whose lines these are."""


class _Chosen(msgspec.Struct, tag_field="kind", tag="chosen"):
    p: str
    tests: dict[str, int]


class _Left(msgspec.Struct, tag_field="kind", tag="left"):
    """What some tests left, together: one is named as often as it ran since the last look."""

    p: str
    tests: list[str]
    left: list[str]


class _Begun(msgspec.Struct, tag_field="kind", tag="begun"):
    p: str
    context: str
    pid: int
    parent: int
    announced: bool


class _Raw(msgspec.Struct, tag_field="kind", tag="raw"):
    p: str
    context: str
    opened: list[str]
    listed: list[str]
    started: list[str]
    open: list[str]


class _End(msgspec.Struct, tag_field="kind", tag="end"):
    p: str
    complete: bool
    note: str


class _Note(msgspec.Struct, tag_field="kind", tag="note"):
    p: str
    text: str


class _Fault(msgspec.Struct, tag_field="kind", tag="fault"):
    p: str
    error: str


_Line = _Start | _Names | _Chosen | _Ran | _Left | _Begun | _Raw | _End | _Note | _Fault


def read_recording(path: Path, *, max_bytes: int = MOST_BYTES) -> Recording | None:
    """Read a recording; None where nothing was written. One that is damaged holds no context, and says why."""
    data, fault = read_bounded(path, max_bytes)
    if fault == "missing":
        return None
    return _unusable(f"the recording is {fault}") if fault else parse_recording(data)


def parse_recording(data: bytes) -> Recording | None:
    """Make sense of the lines of a recording: all of them or none, since a lost one would be a lost reason to run."""
    try:
        lines = [_line(text) for text in data.split(b"\n") if text.strip()]
        joining = _Joining(lines)
        contexts = joining.contexts()
    except (msgspec.ValidationError, LookupError, ValueError, RecursionError):
        return _unusable("the recording is damaged")
    if not lines:
        return None
    fault = _fault(lines)
    if fault:
        return _unusable(fault)
    starts = [line for line in lines if isinstance(line, _Start)]
    ends = {line.p: line for line in lines if isinstance(line, _End)}
    left_alone = [line.text for line in lines if isinstance(line, _Note)]
    whole = not left_alone and all(line.p in ends and ends[line.p].complete for line in starts)
    notes = [*left_alone, *(line.note for line in ends.values() if line.note)]
    if not whole and not notes:
        notes = ["the recorded session did not come to its end"]
    return Recording(
        python=starts[0].python[:40],
        core=starts[0].core,
        environment=starts[0].environment[:100],
        contexts=contexts,
        complete=whole,
        chosen=tuple(joining.chosen),
        note=notes[0][:500] if notes else "",
    )


def _line(text: bytes) -> _Line:
    # msgspec's own decoder refuses the escapes of names that are not UTF-8.
    found: _Line = msgspec.convert(json.loads(text), _Line)
    return found


def _fault(lines: Iterable[_Line]) -> str:
    """Say why nothing of the recording may be used; empty where it may."""
    starts, why = [], "the recording has no beginning"
    for line in lines:
        match line:
            case _Fault():
                return f"the recording cannot be used: {line.error[:400]}"
            case _Start():
                starts.append(line)
            case _Note():
                why = line.text[:500]
            case _:
                pass
    if not starts:
        return why
    if not {line.core for line in starts} <= CORES:
        return (
            f"not recorded by one of {', '.join(sorted(CORES))}, but by a core that loses contexts"
        )
    if len({(line.core, line.python, line.environment) for line in starts}) > 1:
        return "the recorded processes had different environments"
    return ""


def _unusable(note: str) -> Recording:
    return Recording(python="", core="", environment="", contexts=(), complete=False, note=note)


class _Joining:
    """Joins the lines of each context, and settles which started processes were recorded."""

    def __init__(self, lines: Iterable[_Line]) -> None:
        self.names: dict[tuple[str, int], tuple[str, tuple[str, ...]]] = {}
        self.found: dict[str, _Parts] = {}
        self.chosen: dict[str, int] = {}
        self.begun: list[_Begun] = []
        self.raw: set[str] = set()
        self.resolved: set[str] = set()
        self.ended: set[str] = set()
        self.pids: set[int] = set()
        self.sessions: set[str] = set()
        for line in lines:
            self._take(line)

    def _take(self, line: _Line) -> None:  # noqa: C901 - one kind of line after the other
        match line:
            case _Start():
                self.sessions.add(line.p)
                self.pids.add(int(line.p.partition("-")[0]))
            case _Names():
                self.names[line.p, line.n] = (line.file, tuple(line.names))
            case _Chosen():
                # Each worker of pytest-xdist is to run a part of the same tests.
                for test, times in line.tests.items():
                    self.chosen[test] = max(times, self.chosen.get(test, 0))
            case _Ran():
                self._of(line.context).take(line)
                self._functions(line)
                if line.of:
                    self.resolved.add(line.of)
            case _Left():
                for name in line.tests:
                    parts = self._of(name)
                    parts.looks += 1
                    parts.left.update(line.left)
            case _Raw():
                self._of(line.context).take(line)
                self.raw.add(line.p)
            case _Begun():
                self._of(line.context)
                self.begun.append(line)
                self.pids.add(line.pid)
            case _End():
                self.ended.add(line.p)
            case _:
                pass

    def _of(self, context: str) -> _Parts:
        return self.found.setdefault(context, _Parts())

    def _functions(self, line: _Ran) -> None:
        parts = self._of(line.context)
        for number, indexes in line.functions.items():
            file, names = self.names[line.p, int(number)]
            if min(indexes, default=0) < 0:
                raise ValueError("no index is negative")
            parts.functions.setdefault(file, set()).update(names[index] for index in indexes)

    def contexts(self) -> tuple[Ran, ...]:
        """Give the contexts, in the order in which they were first met."""
        for child in self.begun:
            parts = self._of(child.context)
            # A worker of pytest-xdist writes an end of its own.
            if child.p not in self.ended and not {child.p} <= self.raw & self.resolved:
                parts.open.setdefault(_NONE_ENDED)
            if child.announced and child.parent in self.pids:
                parts.acknowledged += 1
        for test, times in self.chosen.items():
            ran = self.found.get(f"{TEST}{test}")
            if ran is not None and ran.times < times:
                ran.open.setdefault(f"{ran.times} of its {times} parameters ran")
        if not self.sessions <= self.ended:
            for name, parts in self.found.items():
                # A line for its set-up, one for its tear-down.
                if name.startswith(FIXTURE) and parts.times % 2:
                    parts.open.setdefault(_NOT_FINISHED)
        return tuple(parts.ran(name) for name, parts in self.found.items())


class _Parts:
    """What is known of one context."""

    def __init__(self) -> None:
        self.functions: dict[str, set[str]] = {}
        self.modules: set[str] = set()
        self.opened: set[str] = set()
        self.listed: set[str] = set()
        self.uses: set[str] = set()
        self.started: list[str] = []
        self.open: dict[str, None] = {}
        self.acknowledged = 0
        self.times = 0
        """How often it ran: once for each of its parameters."""
        self.looks = 0
        """How often it was seen what it left."""
        self.left: set[str] = set()
        self.outcome = ""
        self.seconds = 0.0

    def take(self, line: _Ran | _Raw) -> None:
        """Take one line."""
        self.opened.update(line.opened)
        self.listed.update(line.listed)
        self.started += line.started
        self.open.update(dict.fromkeys(line.open))
        if isinstance(line, _Ran):
            self.times += not line.of
            self.modules.update(line.modules)
            self.uses.update(line.uses)
            self.seconds += max(0.0, line.seconds)
            self.outcome = worse(self.outcome, line.outcome)

    def ran(self, context: str) -> Ran:
        """Give the value."""
        # None of the others can have said that it began: what did was a Python.
        others = [name for name in self.started if name not in ASKING | READING]
        if len(others) > self.acknowledged:
            names = [*dict.fromkeys(name.removeprefix("./") for name in others if name)]
            named = ", ".join(names[:_MOST_NAMED])[:200]
            self.open.setdefault(f"started a process that was not recorded ({named})")
        if read := READING.intersection(self.started):
            self.open.setdefault(say_read(read))
        return Ran(
            context=context,
            functions={file: _sorted(names) for file, names in sorted(self.functions.items())},
            modules=_sorted(self.modules),
            opened=_sorted(self.opened),
            listed=_sorted(self.listed),
            uses=_sorted(self.uses),
            open="; ".join(self.open)[:500],
            outcome=self.outcome or "passed",
            seconds=round(self.seconds, 6),
            left=_sorted(self.left) if self.times and self.looks == self.times else None,
        )


def worse(one: str, two: str) -> str:
    """Give the outcome of both together: failed where any did, skipped only where all were."""
    return max(one, two, key=lambda outcome: _WEIGHT.get(outcome, _WEIGHT["failed"]))


def join(recordings: Iterable[Recording]) -> Recording:
    """Join the recordings of shards, made in one environment; one that is unusable makes the whole incomplete.

    Raises ValueError where there is none to join.
    """
    every = tuple(recordings)
    if not every:
        raise ValueError("no recording to join")
    usable = [it for it in every if it.contexts] or [every[0]]
    first = usable[0]
    same = [it for it in usable if _setting(it) == _setting(first)]
    found: dict[str, Ran] = {}
    for recording in same:
        for ran in recording.contexts:
            known = found.get(ran.context)
            found[ran.context] = ran if known is None else _both(known, ran)
    notes = [it.note for it in every if it.note]
    if len(same) < len(usable):
        notes.append("some shards ran in another environment: their recordings are left out")
    return msgspec.structs.replace(
        first,
        contexts=tuple(found.values()),
        complete=len(same) == len(every) and all(it.complete for it in every),
        chosen=tuple(dict.fromkeys(test for it in same for test in it.chosen)),
        note=notes[0] if notes else "",
    )


def _setting(recording: Recording) -> tuple[str, str, str]:
    return recording.python, recording.core, recording.environment


def _both(one: Ran, two: Ran) -> Ran:
    files = {*one.functions, *two.functions}
    return Ran(
        context=one.context,
        functions={
            file: _sorted({*one.functions.get(file, ()), *two.functions.get(file, ())})
            for file in sorted(files)
        },
        modules=_sorted({*one.modules, *two.modules}),
        opened=_sorted({*one.opened, *two.opened}),
        listed=_sorted({*one.listed, *two.listed}),
        uses=_sorted({*one.uses, *two.uses}),
        open="; ".join(dict.fromkeys(filter(None, (one.open, two.open)))),
        outcome=worse(one.outcome, two.outcome),
        seconds=round(one.seconds + two.seconds, 6),
        left=left_by_both(one.left, two.left),
    )


def _sorted(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(names))
