"""What a run of tests means: exit code, JUnit file, record and log weighed against each other.

The codes are pytest's; the records of other runners speak its language.
"""

from __future__ import annotations

import posixpath
import re
import signal
from typing import TYPE_CHECKING, Final

from presubmit.values import Case, CaseOutcome, Counts, Outcome, Value, counted, counts_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from presubmit.results.junit import JUnitReport
    from presubmit.results.record import Record

_PLUGIN: Final = "presubmit_pytest_plugin"
_PASSED: Final = 0
_FAILED: Final = 1
_INTERRUPTED: Final = 2
_INTERNAL: Final = 3
_USAGE: Final = 4
_EMPTY: Final = 5
_FIRST_SIGNAL: Final = 128
_BAD: Final = frozenset({CaseOutcome.FAILED, CaseOutcome.ERROR})
# A process that a machine or a person ended says nothing about the project.
_FROM_OUTSIDE: Final = frozenset({"SIGKILL", "SIGTERM", "SIGINT", "SIGHUP", "SIGPIPE"})

_FRAME = re.compile(r'^\s*File "([^"\n]+)", line \d+ in (\S+)', re.MULTILINE)
_FATAL = re.compile(r"^Fatal Python error: |^Current thread 0x|^Thread 0x", re.MULTILINE)
_CONFTEST = re.compile(r"ImportError while loading conftest '([^'\n]+)'")
_LAST_ERROR = re.compile(r"^E\s+([A-Za-z_][\w.]*): ?(.*)$", re.MULTILINE)
_COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


class Judged(Value, frozen=True):
    """What a run of tests means."""

    outcome: Outcome
    reason: str = ""
    cases: tuple[Case, ...] = ()
    counts: Counts = Counts()
    notes: tuple[str, ...] = ()


def judge_pytest(
    *,
    exit_code: int | None,
    junit: JUnitReport,
    record: Record,
    trouble: str = "",
    tail: str = "",
    chosen: bool = False,
    root: str = "",
    runner: str = "pytest",
) -> Judged:
    """Judge a run; `trouble` says why it did not end by itself, `root` is the project's folder as it saw it.

    `runner` is named in reasons.
    """
    run = _Run(
        exit_code=exit_code,
        junit=junit,
        record=record,
        trouble=trouble,
        log=_COLOUR.sub("", tail),
        cases=record.cases if record.ended else record.cases or junit.cases,
        chosen=chosen,
        root=root or record.root or record.rootdir,
        runner=runner,
    )
    outcome, reason, more = _verdict(run)
    cases = (*run.cases, *more)
    return Judged(
        outcome=outcome, reason=reason, cases=cases, counts=counts_of(cases), notes=_notes(run)
    )


class _Run(Value, frozen=True):
    """Everything that is known of a run."""

    exit_code: int | None
    junit: JUnitReport
    record: Record
    trouble: str
    log: str
    cases: tuple[Case, ...]
    chosen: bool
    root: str
    runner: str

    @property
    def bad(self) -> list[Case]:
        """The cases that did not do what they should."""
        return [case for case in self.cases if case.outcome in _BAD]


_Verdict = tuple[Outcome, str, tuple[Case, ...]]


def _verdict(run: _Run) -> _Verdict:
    record = run.record
    if run.trouble:
        return Outcome.ERROR, run.trouble + _while_running(record), ()
    if record.strays:
        why = "not from the overlay: the tests say nothing about the change"
        return Outcome.ERROR, f"the tests loaded {record.strays[0]}, {why}", ()
    if run.exit_code is None:
        return Outcome.ERROR, "the command's exit code is not known", ()
    if (name := _signal(run.exit_code)) is not None:
        return _crashed(name, run)
    # make, tox or `|| true` may have changed the command's exit; the record has pytest's own.
    code = record.exit if record.ended and record.exit is not None else run.exit_code
    judge = _BY_EXIT.get(code)
    return judge(run) if judge is not None else _other(run, code)


def _green(run: _Run) -> _Verdict:
    """Look twice at a run that says that all is well."""
    if run.bad:
        return _failed(run)
    fault = _doubt(run)
    return (Outcome.ERROR, fault, ()) if fault else (Outcome.PASSED, "", ())


def _doubt(run: _Run) -> str:
    """Say what is wrong with a run in which nothing failed; empty where nothing is."""
    if run.exit_code != _PASSED:
        return f"the tests passed, but the command ended with {run.exit_code}"
    if run.record.readable and not run.record.ended:
        return f"{run.runner} ended before its session did{_while_running(run.record)}"
    if not run.junit.readable and not _junit_elsewhere(run):
        return next(iter(run.junit.problems), "no JUnit file")
    if run.junit.readable and run.junit.counts.failed + run.junit.counts.errors:
        return (
            f"the record says that all passed, the JUnit file does not ({_said(run.junit.counts)})"
        )
    if not run.cases:
        return "no tests were run" + (" though tests were chosen" if run.chosen else "")
    return ""


def _junit_elsewhere(run: _Run) -> bool:
    """Tell whether the step itself wrote its JUnit file to another place, or none; the record then speaks alone."""
    record = run.record
    if not (run.junit.missing and record.ended):
        return False
    folder = posixpath.dirname(record.path_inside)
    return not record.xmlpath or posixpath.dirname(record.xmlpath) != folder


def _red(run: _Run) -> str:
    if not run.bad:
        return f"{run.runner} failed, though no test did{_last(run.log)}"
    if run.exit_code == _PASSED:
        return f"{counted(len(run.bad), 'test')} failed, though the command ended with 0"
    return f"{counted(len(run.bad), 'test')} failed"


def _failed(run: _Run) -> _Verdict:
    return Outcome.FAILED, _red(run), ()


def _interrupted(run: _Run) -> _Verdict:
    """Tell errors of collection, which are news, from an interruption, which is not."""
    collect = [case for case in run.bad if case.phase == "collect"]
    if collect:
        return Outcome.FAILED, f"{len(collect)} files could not be collected", ()
    if run.bad:
        return Outcome.FAILED, f"{_red(run)}; the run was then interrupted", ()
    return Outcome.ERROR, f"{run.runner} was interrupted{_last(run.log)}", ()


def _misused(run: _Run) -> _Verdict:
    """Tell whose usage error it is: ours, the step's, or a conftest that cannot be imported."""
    if f'Error importing plugin "{_PLUGIN}"' in run.log:
        return Outcome.ERROR, "presubmit's own pytest plugin could not be imported", ()
    if (match := _CONFTEST.search(run.log)) is not None:
        place = _relative(match[1], run.root)
        error = _LAST_ERROR.search(run.log, match.end())
        case = Case(
            id=place,
            outcome=CaseOutcome.ERROR,
            phase="collect",
            exception=error[1] if error else "",
            frame=f"{place}:<module>",
            file=place,
            message=error[2].strip() if error else "",
        )
        return Outcome.FAILED, f"{place} could not be imported", (case,)
    # `pytest: error: unrecognized arguments: -x` stands before the last line, which names the configuration file.
    told = re.search(r"^[^\n]*: error: ([^\n]+)$", run.log, re.MULTILINE)
    why = f": {told[1].strip()[:200]}" if told else _last(run.log)
    return Outcome.ERROR, f"{run.runner} could not use its arguments{why}", ()


def _other(run: _Run, code: int) -> _Verdict:
    if code == _INTERNAL:
        return Outcome.ERROR, f"{run.runner} had an internal error{_last(run.log)}", ()
    if code == _EMPTY:
        though = " though tests were chosen" if run.chosen else ""
        return Outcome.ERROR, f"no tests were collected{though}", ()
    if run.bad and run.record.ended:
        return Outcome.FAILED, f"{_red(run)}; the command ended with {code}", ()
    return Outcome.ERROR, f"the test command ended with {code}{_last(run.log)}", ()


_BY_EXIT: Final[Mapping[int, Callable[[_Run], _Verdict]]] = {
    _PASSED: _green,
    _FAILED: _failed,
    _INTERRUPTED: _interrupted,
    _USAGE: _misused,
}


# --- crashes --------------------------------------------------------------------------------------------------------


def _signal(exit_code: int) -> str | None:
    """Name the signal that ended a process, from -n or 128+n."""
    number = -exit_code if exit_code < 0 else exit_code - _FIRST_SIGNAL
    try:
        return signal.Signals(number).name
    except ValueError:
        return None


def _crashed(name: str, run: _Run) -> _Verdict:
    running = run.record.unfinished[-1:] or _faulting(run.log, run.root)
    if name in _FROM_OUTSIDE or not running:
        where = f" while {running[0]} was running" if running else ""
        return Outcome.ERROR, f"ended by {name}{where}", ()
    test = running[0]
    reason = f"crashed: {name} in {test}"
    case = Case(
        id=test,
        outcome=CaseOutcome.FAILED,
        phase="call",
        exception=name,
        file=test.partition("::")[0],
        message=reason,
        text=run.log[-4000:],
    )
    known = next((it for it in run.cases if it.id == test and it.outcome in _BAD), None)
    return Outcome.FAILED, reason, () if known else (case,)


def _faulting(log: str, root: str) -> tuple[str, ...]:
    """Find the test in faulthandler's output: the innermost frame that looks like one."""
    fatal = _FATAL.search(log)
    if fatal is None:
        return ()
    for file, function in _FRAME.findall(log, fatal.start()):
        name = posixpath.basename(file)
        if function.startswith("test") and (name.startswith("test") or name.endswith("_test.py")):
            return (f"{_relative(file, root)}::{function}",)
    return ()


def _while_running(record: Record) -> str:
    return f" while {record.unfinished[-1]} was running" if record.unfinished else ""


def _relative(path: str, root: str) -> str:
    return path.removeprefix(root.rstrip("/") + "/") if root else path


def _last(log: str) -> str:
    """Give the last telling line of a log, as the end of a sentence."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    told = next((it for it in reversed(lines) if it.startswith(("ERROR", "!", "E "))), "")
    line = told or (lines[-1] if lines else "")
    return f": {line[:200]}" if line else ""


# --- notes ----------------------------------------------------------------------------------------------------------


def _notes(run: _Run) -> tuple[str, ...]:
    record, junit = run.record, run.junit
    # Only pytest is asked for a JUnit file.
    unasked = junit.missing and run.runner != "pytest"
    notes = [*(() if unasked else junit.problems), *record.problems]
    notes += [f"presubmit's {run.runner} plugin had an error: {fault}" for fault in record.faults]
    if record.missing:
        some = ", ".join(record.missing[:3]) + (", …" if len(record.missing) > 3 else "")  # noqa: PLR2004 - three
        notes.append(f"{len(record.missing)} chosen were not there to be run: {some}")
    if record.widened:
        some = ", ".join(record.widened[:3]) + (", …" if len(record.widened) > 3 else "")  # noqa: PLR2004 - three
        notes.append(f"run whole, since tests that were chosen there are no more: {some}")
    if record.copies:
        notes.append(
            f"an installed copy of {record.copies[0]} ran, which differs from the tree: "
            "the tests were chosen for other code than they ran"
        )
    if record.ended and junit.readable and _told(record.counts) != _told(junit.counts):
        notes.append(
            f"record and JUnit file disagree: {_said(record.counts)}; {_said(junit.counts)}"
        )
    return tuple(notes)


def _told(counts: Counts) -> tuple[int, int, int]:
    # A file that skips itself as a whole is a skip to JUnit, and no test at all to the record.
    return counts.passed, counts.failed, counts.errors


def _said(counts: Counts) -> str:
    return (
        f"{counts.passed} passed, {counts.failed} failed,"
        f" {counts.errors} errors, {counts.skipped} skipped"
    )
