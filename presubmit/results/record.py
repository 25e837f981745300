"""The pytest plugin's own record: one JSON object a line, read with suspicion."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, Final

import msgspec

from presubmit.results.files import cut, read_bounded
from presubmit.values import Case, CaseOutcome, Counts, Value, counts_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MOST_BYTES: Final = 256 * 1024 * 1024
_LONGEST_TEXT: Final = 20_100
_LONGEST_MESSAGE: Final = 2_100
_LONGEST_NAME: Final = 4_000
# What one session's exit says is outdone by that of another that comes earlier here.
_WORST_EXIT: Final = (3, 4, 2, 1, 5, 0)


class Record(Value, frozen=True):
    """What the plugin wrote: `readable` where it loaded at all, `ended` where every session came to its end."""

    readable: bool = False
    ended: bool = False
    narrowed: bool = False
    cases: tuple[Case, ...] = ()
    unfinished: tuple[str, ...] = ()
    """Tests that started and never finished, the last one last."""
    exit: int | None = None
    """The worst exit of the sessions that ended."""
    sessions: int = 0
    selected: int = 0
    deselected: int = 0
    pytest: str = ""
    python: str = ""
    rootdir: str = ""
    root: str = ""
    arguments: tuple[str, ...] = ()
    xmlpath: str = ""
    """Where pytest wrote its JUnit file, as it saw the path."""
    path_inside: str = ""
    """Where the plugin wrote this record, as it saw the path."""
    modules: dict[str, str | None] = msgspec.field(default_factory=dict)
    """Where each watched module was loaded from; None: it was not."""
    missing: tuple[str, ...] = ()
    """Chosen files or ids that pytest never met."""
    widened: tuple[str, ...] = ()
    """Files that were run whole, since an id that should have narrowed them was not there."""
    copies: tuple[str, ...] = ()
    """Files of the tree of which an installed copy ran that is another."""
    strays: tuple[str, ...] = ()
    """`NAME from FILE`: modules of packages with an overlay that were loaded from elsewhere."""
    faults: tuple[str, ...] = ()
    """Errors of the plugin itself: the run went on un-narrowed."""
    junk: int = 0
    """Lines that could not be read."""
    problems: tuple[str, ...] = ()

    @property
    def counts(self) -> Counts:
        """How many tests ended how."""
        return counts_of(self.cases)


def read_record(path: Path, *, max_bytes: int = MOST_BYTES) -> Record:
    """Read a record; whatever is wrong with it becomes a problem, never an exception."""
    data, fault = read_bounded(path, max_bytes)
    if fault:
        return Record(problems=(f"record: {fault}",))
    return parse_record(data)


def parse_record(data: bytes) -> Record:
    """Make sense of the lines of a record."""
    reading = _Reading()
    for line in data.split(b"\n"):
        if line.strip():
            reading.take(line)
    return reading.record()


class _Reading:
    """Collects the events of one record."""

    def __init__(self) -> None:
        self.attempts: dict[str, _Attempt] = {}
        self.collect_errors: dict[str, Case] = {}
        self.sessions: list[dict[str, Any]] = []
        self.ends: list[dict[str, Any]] = []
        self.faults: list[str] = []
        self.junk = 0

    def take(self, line: bytes) -> None:
        """Take one line; one that is no event of ours is counted."""
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            self.junk += 1
            return
        if not isinstance(event, dict) or not self._take(event):
            self.junk += 1

    def _take(self, event: dict[str, Any]) -> bool:
        match event:
            case {"event": "session"}:
                self.sessions.append(event)
            case {"event": "end"}:
                self.ends.append(event)
            case {"event": "start", "id": str(name)}:
                self.attempts.pop(name, None)
                self.attempts[name] = _Attempt()
            case {"event": "phase", "id": str(name)}:
                self.attempts.setdefault(name, _Attempt()).take(event)
            case {"event": "finish", "id": str(name)}:
                self.attempts.setdefault(name, _Attempt()).finished = True
            case {"event": "collect-error", "id": str(name)}:
                self.collect_errors[name] = _case(
                    name, event, outcome=CaseOutcome.ERROR, phase="collect"
                )
            case {"event": "plugin-error"}:
                self.faults.append(
                    f"{event.get('where')}: {event.get('error')}"[:_LONGEST_MESSAGE]
                )
            case _:
                return False
        return True

    def record(self) -> Record:
        """Give the value."""
        first = self.sessions[0] if self.sessions else {}
        cases = [*self.collect_errors.values()]
        for name, attempt in self.attempts.items():
            if (case := attempt.case(name)) is not None:
                cases.append(case)
        last = self.ends[-1] if self.ends else {}
        exits = [code for end in self.ends if (code := _number(end, "exit")) is not None]
        worst = [code for code in exits if code not in _WORST_EXIT]
        worst += [code for code in _WORST_EXIT if code in exits]
        return Record(
            readable=bool(self.sessions),
            ended=bool(self.sessions) and len(self.ends) >= len(self.sessions),
            narrowed=bool(self.sessions)
            and all(it.get("narrowed") is True for it in self.sessions),
            cases=tuple(cases),
            unfinished=tuple(name for name, it in self.attempts.items() if not it.finished),
            exit=worst[0] if worst else None,
            sessions=len(self.sessions),
            selected=sum(_number(end, "selected") or 0 for end in self.ends),
            deselected=sum(_number(end, "deselected") or 0 for end in self.ends),
            pytest=_text(first, "pytest", 40),
            python=_text(first, "python", 40),
            rootdir=_text(first, "rootdir"),
            root=_text(first, "root"),
            arguments=tuple(_strings(first, "args")),
            xmlpath=_text(last, "xmlpath"),
            path_inside=_text(first, "record"),
            modules=self._modules(),
            missing=tuple(
                dict.fromkeys(it for end in self.ends for it in _strings(end, "missing"))
            ),
            widened=self._widened(),
            copies=tuple(dict.fromkeys(it for end in self.ends for it in _strings(end, "copies"))),
            strays=tuple(dict.fromkeys(it for end in self.ends for it in _strings(end, "strays"))),
            faults=tuple(self.faults),
            junk=self.junk,
            problems=(f"record: {self.junk} lines could not be read",) if self.junk else (),
        )

    def _widened(self) -> tuple[str, ...]:
        told = [it for end in self.ends if isinstance(it := end.get("widened"), dict)]
        return tuple(sorted({name[:_LONGEST_NAME] for it in told for name in it}))

    def _modules(self) -> dict[str, str | None]:
        found: dict[str, str | None] = {}
        for end in self.ends:
            modules = end.get("modules")
            for name, place in modules.items() if isinstance(modules, dict) else ():
                if isinstance(place, str):
                    found[name] = place
                elif place is None:
                    found.setdefault(name, None)
        return found


class _Attempt:
    """The phases of one test; a rerun begins it anew."""

    def __init__(self) -> None:
        self.phases: list[dict[str, Any]] = []
        self.finished = False

    def take(self, event: dict[str, Any]) -> None:
        """Take one phase."""
        if event.get("outcome") == "rerun":
            self.phases.clear()
            return
        self.phases.append(event)
        if event.get("when") == "???":  # xdist's report of a test in which a worker died
            self.finished = True

    def case(self, name: str) -> Case | None:
        """Make one case of the phases, None where none was recorded."""
        for event in self._by_weight():
            outcome = _outcome(event)
            when = event.get("when")
            phase = when if when in {"setup", "call", "teardown"} else "call"
            if outcome is CaseOutcome.FAILED and phase != "call":
                outcome = CaseOutcome.ERROR
            seconds = sum(_seconds(it) for it in self.phases)
            bad = outcome in {CaseOutcome.FAILED, CaseOutcome.ERROR}
            return _case(name, event, outcome=outcome, phase=phase if bad else "", seconds=seconds)
        return None

    def _by_weight(self) -> Iterator[dict[str, Any]]:
        """Give what decides first: a failed call (or subtest), another failed phase, a skip, a pass."""
        plain = [it for it in self.phases if it.get("subtest") is not True]
        failed = [it for it in self.phases if it.get("outcome") == "failed"]
        yield from (it for it in failed if it.get("when") not in {"setup", "teardown"})
        yield from failed
        yield from (it for it in plain if it.get("outcome") == "skipped")
        yield from plain


def _outcome(event: dict[str, Any]) -> CaseOutcome:
    match event.get("outcome"):
        case "passed":
            return CaseOutcome.PASSED
        case "skipped":
            return CaseOutcome.XFAILED if "wasxfail" in event else CaseOutcome.SKIPPED
        case _:
            return CaseOutcome.FAILED


def _case(
    name: str, event: dict[str, Any], *, outcome: CaseOutcome, phase: str, seconds: float = 0.0
) -> Case:
    return Case(
        id=name,
        outcome=outcome,
        seconds=seconds,
        phase=phase,
        exception=_text(event, "exception", 500),
        frame=_text(event, "frame"),
        line=_number(event, "line"),
        file=_text(event, "file"),
        source=_text(event, "source", 300),
        message=cut(_text(event, "message", _LONGEST_MESSAGE), _LONGEST_MESSAGE),
        text=cut(_text(event, "text", _LONGEST_TEXT), _LONGEST_TEXT),
    )


def _text(event: dict[str, Any], key: str, most: int = _LONGEST_NAME) -> str:
    value = event.get(key)
    return value[:most] if isinstance(value, str) else ""


def _strings(event: dict[str, Any], key: str) -> list[str]:
    value = event.get(key)
    return [it for it in value if isinstance(it, str)] if isinstance(value, list) else []


def _number(event: dict[str, Any], key: str) -> int | None:
    value = event.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _seconds(event: dict[str, Any]) -> float:
    value = event.get("seconds")
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value) if math.isfinite(value) and value >= 0 else 0.0
    return 0.0
