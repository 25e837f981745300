"""`presubmit record`: one run of all tests that says of each what it executes, so that later runs are narrowed."""

from __future__ import annotations

import shutil
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final

import msgspec

from presubmit.errors import ExitCode, PresubmitError, UsageError
from presubmit.history import History
from presubmit.reading import place_of, plan_run, read_all
from presubmit.recording import keep_recording
from presubmit.replay.lanes import Place
from presubmit.replay.perform import KEEP, Head, Lanes, TestBoxes, build_of, run_head
from presubmit.replay.reruns import outcomes
from presubmit.replay.runner import SessionRunner, Watcher
from presubmit.replay.tests import recording_name
from presubmit.report.folder import own_folder
from presubmit.results.seconds import rows_of
from presubmit.runners import runner_of
from presubmit.selector.recorded_index import COLLECT, SESSION, TEST
from presubmit.selector.recorded_sound import unsound
from presubmit.selector.recorded_store import of_place, read_stored, setting_of, without_parameters
from presubmit.upstream_taking import take_options
from presubmit.values import (
    Build,
    CaseOutcome,
    Mode,
    Outcome,
    Plan,
    PlanStep,
    Rerun,
    StepResult,
    Tests,
    counted,
)
from presubmit.where import at_place, find_where, history_path, open_lane_mirror, start_connecting

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    from presubmit.change.mirror import Mirror
    from presubmit.reading import Planned, Reading, RunOptions
    from presubmit.report.terminal import Terminal
    from presubmit.selector.recorded_index import Index, Seen
    from presubmit.selector.recorded_store import Stored
    from presubmit.where import Where

_MOST_NAMED: Final = 3
_MOST_REASONS: Final = 5


def cmd_record(options: RunOptions, terminal: Terminal, environ: Mapping[str, str]) -> ExitCode:
    """Run all tests of the tree once, recorded; what has a sound record of this tree already is not run again."""
    options = msgspec.structs.replace(
        options,
        tests="all",
        only=("tests",),
        retries=0,
        config={**options.config, "tests.record": "yes"},
    )
    began = time.monotonic()
    with ExitStack() as stack:
        connecting = start_connecting(options, environ)
        reading = read_all(options, environ)
        history = stack.enter_context(History(history_path(reading)))
        mirror = stack.enter_context(open_lane_mirror(reading, "head"))
        checkout = mirror.checkout(reading.change.target.snapshot, clean=options.fresh, keep=KEEP)
        where = find_where(reading, options, stack, connecting)
        reading = at_place(reading, where, options)
        reading, taken = take_options(reading, options, where, environ, history)
        runner = runner_of(reading.config.config.tests.command)
        if not runner.RECORDS:
            raise UsageError(
                f"the tests are run by {runner.NAME}, whose runs are not recorded",
                hint="files are chosen by what they import; `tests.command` can name pytest",
            )
        for note in (
            *reading.warnings,
            *where.notes,
            *taken.problems,
            *filter(None, [history.note]),
        ):
            terminal.line(f"note {note}", "yellow")
        clean = checkout.needs_clean_build or options.fresh
        planned = plan_run(reading, options, history, clean=clean)
        done = () if options.fresh else _sound_files(_of_tree(reading, history))
        plan = without_files(without_second_runs(planned.plan), done, planned.layout.tests)
        if done:
            terminal.line(f"{counted(len(done), 'test file')} recorded before on this tree")
        seconds = history.test_seconds()
        results = _perform(plan, planned, reading, where, mirror, terminal, history, environ)
        return _conclude(
            *(plan, results, _of_tree(reading, history), terminal),
            seconds=seconds,
            took=time.monotonic() - began,
        )


def without_second_runs(plan: Plan) -> Plan:
    """Leave out the steps in which tests do without an extension module: a record is of how they usually run."""
    steps = [it for it in plan.steps if not (isinstance(it.work, Tests) and it.work.pure)]
    return msgspec.structs.replace(plan, steps=tuple(steps))


def without_files(plan: Plan, done: Collection[str], known: Collection[str]) -> Plan:
    """Leave test files out of a plan, and the steps that have none left. Pure."""
    if not done:
        return plan
    steps = []
    for step in plan.steps:
        work = step.work
        if isinstance(work, Tests):
            files = tuple(path for path in work.files or sorted(known) if path not in set(done))
            if not files:
                continue
            work = msgspec.structs.replace(work, files=files, mode=Mode.SCOPED)
        steps.append(msgspec.structs.replace(step, work=work))
    if not any(isinstance(step.work, Tests) for step in steps):
        steps = []
    return msgspec.structs.replace(plan, steps=tuple(steps))


def _of_tree(reading: Reading, history: History) -> Stored | None:
    """Give what is recorded of this very tree."""
    tests = reading.config.config.tests
    stored, _ = of_place(
        read_stored(history, setting_of(tests.command, tests.env)), place_of(reading)
    )
    tree = reading.change.target.tree
    return next((it for it in stored if it.run.tree == tree and not it.run.origin), None)


def _sound_files(stored: Stored | None) -> tuple[str, ...]:
    """Give the test files of which every test has a sound record."""
    if stored is None:
        return ()
    lost = {stored.index.contexts[number].file for number in unsound(stored.index)}
    return tuple(path for path in stored.run.whole if path not in lost)


def _perform(
    plan: Plan,
    planned: Planned,
    reading: Reading,
    where: Where,
    mirror: Mirror,
    terminal: Terminal,
    history: History,
    environ: Mapping[str, str],
) -> dict[str, tuple[StepResult, str]]:
    """Build and test; for each step its result, and why it was not recorded (empty where it was)."""
    results: dict[str, tuple[StepResult, str]] = {}
    if not plan.steps:
        return results
    folder = _folder(reading)
    works = {step.id: step.work for step in plan.steps}

    def remember(result: StepResult) -> None:
        work = works[result.id]
        why = ""
        if isinstance(work, Tests):
            why = _kept(history, folder, work, result, reading, planned.layout.tests)
            history.write_tests(rows_of(work, result.cases, history.test_seconds()))
        results[result.id] = (result, why)

    for step in plan.steps:
        terminal.know(step)
    watcher = Watcher(
        started=terminal.started, progressed=terminal.progressed, ended=terminal.ended
    )
    runner = SessionRunner(folder, watcher)
    lanes = Lanes()
    head = Head(
        place=Place(
            cache=reading.cache,
            run=f"record-{reading.change.target.tree[:7]}",
            repository=reading.cache.parent.name,
            engine=where.engine,
            image=where.image,
            container=reading.config.config.container,
            environ=environ,
            fresh=False,
        ),
        runner=runner,
        change=reading.change,
        blobs=reading.head_reader.blobs,
        mirror=mirror,
        open_lint_mirror=lambda: mirror,
        remember=remember,
    )
    try:
        run_head(plan, head, lanes, {})
        _run_without_recorder(plan, head, lanes, results)
    finally:
        runner.close()
        lanes.close()
        for step in plan.steps:
            kept = step.id in results and results[step.id][0].recording
            if isinstance(step.work, Tests) and not kept:
                _keep_cut(history, folder, step, reading, planned.layout.tests)
    return results


def _run_without_recorder(
    plan: Plan, head: Head, lanes: Lanes, results: dict[str, tuple[StepResult, str]]
) -> None:
    """Run the tests that failed once more, alone and not recorded: some fail only of being traced."""
    boxes = None
    for step in plan.steps:
        found = results.get(step.id)
        if found is None or not isinstance(step.work, Tests) or head.runner.stopped:
            continue
        result, why = found
        failing = failing_tests(result)[: step.work.max_retried]
        if not failing or not result.recording:
            continue
        boxes = boxes or TestBoxes(head, lanes, build_of(plan), ())
        boxes.renew()
        work = alone(step.work, failing)
        again = boxes.run(msgspec.structs.replace(step, work=work), prefix="unrecorded.")
        given = outcomes(again, failing)
        reruns = tuple(Rerun(id=one, alone=given[one], recorded=True) for one in failing)
        results[step.id] = (msgspec.structs.replace(result, reruns=reruns), why)


def failing_tests(result: StepResult) -> list[str]:
    """Give the ids of the tests that failed, errors of collection apart. Pure."""
    failing = {CaseOutcome.FAILED, CaseOutcome.ERROR}
    return [it.id for it in result.cases if it.outcome in failing and it.phase != "collect"]


def alone(work: Tests, ids: Collection[str]) -> Tests:
    """Give the work of these tests and no others, not recorded. Pure."""
    return msgspec.structs.replace(
        work, record=None, mode=Mode.SCOPED, files=(), ids=tuple(ids), within=(), without=()
    )


def _folder(reading: Reading) -> Path:
    """Make the folder of the logs, `.presubmit/record`: those of the last recording."""
    from pathlib import Path  # noqa: PLC0415

    folder = own_folder(Path(reading.change.top)) / "record"
    if folder.is_symlink():
        raise PresubmitError(f"{folder} is a link", hint="remove it: presubmit writes there")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def _keep_cut(
    history: History, folder: Path, step: PlanStep, reading: Reading, known: Collection[str]
) -> None:
    """Keep what a step recorded that was interrupted: the next `presubmit record` goes on after it."""
    assert isinstance(step.work, Tests)  # noqa: S101 - the caller's choice
    cut = StepResult(id=step.id, role=step.role, outcome=Outcome.ERROR, cut="it was interrupted")
    path = folder / recording_name(step.id)
    keep_recording(history, path, step.work, cut, reading=reading, known=known)


def _kept(
    history: History,
    folder: Path,
    work: Tests,
    result: StepResult,
    reading: Reading,
    known: Collection[str],
) -> str:
    """Keep what a step recorded; say why it, or a part of it, was not."""
    if not result.recording:
        unrecorded = [note for note in result.notes if "recorded" in note]
        return (unrecorded or [result.reason or "it wrote no recording"])[0]
    recording = keep_recording(
        history, folder / result.recording, work, result, reading=reading, known=known
    )
    if recording is None:
        return "its recording cannot be used"
    if result.cut:
        return result.cut
    names = {one.context for one in recording.contexts}
    lost = [
        case.id
        for case in result.cases
        if case.phase != "collect" and f"{TEST}{without_parameters(case.id)}" not in names
    ]
    return f"{counted(len(lost), 'test')} without a record, such as {lost[0]}" if lost else ""


def _conclude(
    plan: Plan,
    results: Mapping[str, tuple[StepResult, str]],
    stored: Stored | None,
    terminal: Terminal,
    *,
    seconds: Mapping[str, float],
    took: float,
) -> ExitCode:
    """Say what was recorded; give the exit code."""
    found = [result for result, _ in results.values()]
    built = next((r for r in found if isinstance(_work(plan, r.id), Build)), None)
    if built is not None and built.outcome is not Outcome.PASSED:
        terminal.line(f"NOT RECORDED   the build {built.outcome}: {built.reason}", "bold red")
        return ExitCode.ENVIRONMENT
    tests = [result for result in found if result.id in _test_ids(plan)]
    for line in said_of_tests(tests):
        terminal.line(line, "yellow")
    problems = [f"{name}: {why}" for name, (_, why) in results.items() if why]
    problems += [f"{name}: it did not run" for name in _test_ids(plan) if name not in results]
    for problem in problems:
        terminal.line(f"not recorded   {problem}", "yellow")
    terminal.line(summary(stored, tests, seconds, took), "bold")
    if stored is None:
        for text in plan.left_out if not tests else ():
            terminal.line(f"not run   {text}", "yellow")
        return ExitCode.ENVIRONMENT
    return ExitCode.INCOMPLETE if problems else ExitCode.OK


def _work(plan: Plan, name: str) -> object:
    return next((step.work for step in plan.steps if step.id == name), None)


def _test_ids(plan: Plan) -> tuple[str, ...]:
    return tuple(step.id for step in plan.steps if isinstance(step.work, Tests))


def said_of_tests(tests: Iterable[StepResult]) -> tuple[str, ...]:
    """Say of tests that failed or were skipped what that means for their records. Pure."""
    tests = tuple(tests)
    said = []
    failing = sum(result.counts.failed + result.counts.errors for result in tests)
    if failing:
        said.append(
            f"{counted(failing, 'test')} failed: they have no sound record and stay selected"
        )
    passed = [it.id for result in tests for it in result.reruns if it.alone == "passed"]
    if passed:
        said.append(
            f"{counted(len(passed), 'test')} of them passed alone without the recorder: {_named(passed)}"
        )
    skipped = sum(result.counts.skipped for result in tests)
    if skipped:
        said.append(f"{skipped} skipped: they have no record of what they would run")
    return tuple(said)


def _named(names: Sequence[str]) -> str:
    more = ", …" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more


_SHORT: Final = {"another tracer": "replaced the tracer", "forked": "forked"}


def lost_reasons(index: Index) -> dict[str, tuple[str, ...]]:
    """Group the tests that have no sound record by the reason, the most frequent first. Pure."""
    weak = unsound(index)
    culprits = {n: _own_reason(one) for n, one in enumerate(index.contexts) if _own_reason(one)}
    whole = {
        n: why for n, why in culprits.items() if index.contexts[n].context.startswith(SESSION)
    }
    groups: dict[str, list[str]] = {}
    for number, one in enumerate(index.contexts):
        if one.id and number in weak:
            why = culprits.get(number) or _inherited(number, index, culprits, whole)
            groups.setdefault(why, []).append(one.id)
    ordered = sorted(groups.items(), key=lambda group: (-len(group[1]), group[0]))
    return {why: tuple(sorted(names)) for why, names in ordered}


def _own_reason(one: Seen) -> str:
    if one.open:
        return "; ".join(_SHORT.get(part, part) for part in one.open.split("; "))
    if one.lost:
        return "rest on what was not recorded"
    return "failed" if one.outcome == "failed" else ""


def _inherited(
    number: int, index: Index, culprits: Mapping[int, str], whole: Mapping[int, str]
) -> str:
    """Say which fixture, module or session spoils the record of a test that is sound by itself."""
    contexts = index.contexts
    for other in _under(number, index):
        if other in culprits:
            return f"rest on {contexts[other].context}: {culprits[other]}"
    if whole:
        return f"rest on the session: {next(iter(whole.values()))}"
    return "rest on what was not recorded"


def _under(number: int, index: Index) -> list[int]:
    """Give the contexts that one rests on, the nearest first, those of the import of its file included."""
    contexts = index.contexts
    file = contexts[number].file
    imports = [
        n for n, one in enumerate(contexts) if one.context.startswith(COLLECT) and one.file == file
    ]
    found = list(dict.fromkeys([*contexts[number].uses, *imports]))
    for one in found:  # it grows while it is walked
        found += [other for other in contexts[one].uses if other not in found]
    return found


def summary(
    stored: Stored | None,
    tests: Collection[StepResult],
    seconds: Mapping[str, float],
    took: float,
) -> str:
    """Give the last line: `recorded 488 tests (920 cases) in 61 s (plain 33 s), 0 without a sound record`.

    Of those without one, each reason has the first test that has it.
    """
    if stored is None:
        return f"nothing is recorded of this tree, after {took:.0f} s"
    ids = {one.id for one in stored.index.contexts if one.id}
    reasons = lost_reasons(stored.index)
    lost = sum(map(len, reasons.values()))
    run = [case.id for result in tests for case in result.cases if case.phase != "collect"]
    # Of tests that were recorded before, nobody knows how many cases they had.
    same = {without_parameters(one) for one in run} == ids and len(run) > len(ids)
    cases = f" ({len(run):,} cases)" if same else ""
    ran = {case.id.partition("::")[0] for result in tests for case in result.cases}
    plain = ""
    if ran and ran <= set(seconds):
        plain = f" (plain {sum(seconds[path] for path in ran):.0f} s)"
    spent = max((result.seconds for result in tests), default=0.0)
    said = [f"{len(names)} {why} ({names[0]})" for why, names in reasons.items()]
    more = [f"{len(said) - _MOST_REASONS} more reasons"] if len(said) > _MOST_REASONS else []
    tail = f": {', '.join([*said[:_MOST_REASONS], *more])}" if said else ""
    return (
        f"recorded {len(ids):,} tests{cases} in {spent:.0f} s{plain},"
        f" {lost:,} without a sound record{tail}"
    )
