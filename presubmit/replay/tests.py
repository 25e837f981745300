"""The tests step: one shard in one process of the project's runner, and what it wrote."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from presubmit.container.model import ExecOutcome
from presubmit.replay.assignment import RECORDER, TRACER
from presubmit.replay.build import has_tracer, read_stamp
from presubmit.replay.harvest import OutputFolder
from presubmit.replay.inside import script
from presubmit.replay.overlaying import FOLDER
from presubmit.replay.salvage import record_name
from presubmit.replay.steps import trouble
from presubmit.results import junit, pytest_exit, record
from presubmit.runners import Told, apart, pytest, runner_of
from presubmit.values import (
    CaseOutcome,
    Mode,
    Outcome,
    StepResult,
    Tests,
    assigned,
    counted,
    counts_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from presubmit.replay.steps import Bench
    from presubmit.values import Case

# pytest-cov; on success it prints "Required test coverage of 90% reached".
_COVERAGE_FAILED: Final = re.compile(
    r"FAIL Required test coverage of .* not reached|ERROR: Coverage failure:|Coverage failure: total of"
)
_FAILING: Final = frozenset({CaseOutcome.FAILED, CaseOutcome.ERROR})
_NONE_RAN: Final = 5
"""The exit code where no test was collected, in the words of pytest."""


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """One process of tests: how it is judged, its cases, and what it loaded."""

    outcome: Outcome
    reason: str
    cases: tuple[Case, ...]
    junit: str
    modules: dict[str, str | None]
    missing: tuple[str, ...]
    """Chosen ids or files that were not there to be run."""
    narrowed: bool
    """The plugin's own record proves that only the chosen tests ran."""
    notes: tuple[str, ...]
    cut: str = ""
    """Why not every chosen test ran; empty where all did."""
    recording: str = ""
    """What was recorded, relative to the run folder."""
    python: str = ""
    """The version of the Python that it ran on."""
    unusable: bool = False
    """The runner ended by itself before it ran any test: it may not have understood its arguments."""


def run_tests(bench: Bench, work: Tests) -> StepResult:
    """Run a shard once; the tool runs its failures again, in a box without leftovers."""
    if work.off_path:
        problem = _lay_tests_tree(bench, work)
        if problem:
            return _result(bench, work, None, reason=problem)
    attempt = run_command(bench, work, name=bench.name)
    if work.otherwise and attempt.unusable:
        note = (
            f"upstream's command runs no test here: {shlex.join(work.command)} ({attempt.reason})"
        )
        work = msgspec.structs.replace(work, command=work.otherwise, otherwise=())
        bench.say("once more, by convention")
        attempt = run_command(bench, work, name=bench.name)
        attempt = msgspec.structs.replace(attempt, notes=(note, *attempt.notes))
    return _result(bench, work, attempt)


def run_command(bench: Bench, work: Tests, *, name: str) -> Attempt:
    """Run the test command once, narrowed by its runner, and read what that wrote."""
    lane = bench.lane
    runner = runner_of(work.command)
    collects = runner.collects(work.command)
    root = f"{lane.output}/tree" if work.off_path else lane.source
    with OutputFolder(lane) as out:
        recording, unrecorded = _recording(bench, work, out.inside, root)
        selection = {
            "root": root,
            "mode": "all" if work.mode is Mode.ALL and not work.ids else "scoped",
            "files": list(work.files),
            "ids": list(work.ids),
            "within": list(work.within),
            "without": list(work.without),
            "record": f"{out.inside}/record.jsonl",
            "watch": [*_watched(bench.assignment.modules), *work.pure],
            "overlay": f"{lane.environment}/{FOLDER}" if work.overlaid else "",
            "laid_over": list(work.overlaid),
            **({"recording": recording} if recording else {}),
            **({"collects": msgspec.to_builtins(collects)} if collects else {}),
        }
        given = assigned(work.env)
        told = Told(
            selection=out.write("selection.json", json.dumps(selection).encode("ascii")),
            junit=f"{out.inside}/junit.xml",
            arguments=work.arguments,
            exit_first=work.exit_first,
            given={**bench.lane.env, **{name: value for name, value in given.items() if value}},
        )
        invocation = (apart if work.apart else runner).invoke(work.command, told)
        copies = Path(bench.folder)
        xml_copy = copies / "junit" / f"{name}.xml"
        record_copy = copies / record_name(name)
        recording_copy = copies / recording_name(name)
        try:
            done = bench.run(
                invocation.command,
                timeout=max(1.0, work.timeout),
                cwd=root,
                env={
                    **given,
                    **invocation.env,
                    "PYTHONPATH": _import_path(bench, work, root, recording=bool(recording)),
                },
                shown=shlex.join((*work.command, *_arguments(work))),
            )
        except BaseException:
            # Ctrl-C or the end of a budget: what was done and recorded until then is worth keeping.
            out.take("record.jsonl", record_copy)
            if recording:
                out.take("recording.jsonl", recording_copy)
            raise
        problems = [out.take("record.jsonl", record_copy)]
        unwritten = out.take("junit.xml", xml_copy)
        if runner is pytest:  # the others may, and mostly do not
            problems.insert(0, unwritten)
        if recording:
            problem = out.take("recording.jsonl", recording_copy)
            unrecorded = f"nothing was recorded: {problem}" if problem else ""
    report = junit.read_junit(xml_copy)
    recorded = record.read_record(record_copy)
    judged = pytest_exit.judge_pytest(
        exit_code=done.exit_code if done.outcome is ExecOutcome.EXITED else None,
        trouble=trouble(done),
        junit=report,
        record=recorded,
        tail=done.tail,
        chosen=bool(work.files or work.ids),
        root=root,
        runner=runner.NAME,
    )
    narrowed = recorded.readable
    if narrowed and only_coverage_failed(judged, done.tail) and (work.files or work.ids):
        judged = msgspec.structs.replace(judged, outcome=Outcome.PASSED, reason="")
        problems.append("the project's coverage floor is for the whole suite: not counted here")
    unable = _without_tests(work, judged.cases)
    notes = [*(p for p in problems if p and judged.outcome is not Outcome.ERROR), *judged.notes]
    if not narrowed:
        notes.append("no record of the plugin: nothing proves which tests ran")
    if judged.cases and all(case.outcome is CaseOutcome.SKIPPED for case in judged.cases):
        notes.append("every test was skipped: nothing was tested")
    if unrecorded:
        notes.append(unrecorded)
    if done.leaked:
        notes.append(f"processes outlived the tests and were ended: {', '.join(done.leaked)}")
    return Attempt(
        outcome=judged.outcome,
        reason=judged.reason,
        cases=judged.cases,
        junit=f"junit/{name}.xml" if xml_copy.exists() else "",
        modules=dict(recorded.modules),
        missing=tuple(recorded.missing),
        narrowed=narrowed,
        notes=tuple(notes),
        cut=why_cut(recorded, judged.cases) or unable,
        recording=recording_name(name) if recording_copy.exists() else "",
        python=recorded.python,
        unusable=done.outcome is ExecOutcome.EXITED
        and not trouble(done)
        and not judged.cases
        and judged.outcome is not Outcome.PASSED
        and (not recorded.sessions or recorded.exit == _NONE_RAN),
    )


def recording_name(step: str) -> str:
    """Name the copy of what a step recorded, relative to the run folder."""
    return f"recordings/{step}.jsonl"


def why_cut(recorded: record.Record, cases: Sequence[Case]) -> str:
    """Say why not every chosen test ran: the session stopped early, or something took tests away. Pure.

    Without a record, only that nothing but the collection failed can be known.
    """
    if not recorded.readable:
        only_collected = cases and all(case.phase == "collect" for case in cases)
        return "the test session could not start: no test ran" if only_collected else ""
    if not recorded.ended:
        return "the test session did not come to its end"
    ran = sum(1 for case in cases if case.phase != "collect")
    if recorded.selected > ran:
        return (
            f"{recorded.selected - ran} of {counted(recorded.selected, 'chosen test')} did not run"
        )
    return ""


def _without_tests(work: Tests, cases: Sequence[Case]) -> str:
    """Say which of the chosen files, each run apart, had no test that can run here. Pure."""
    if not work.apart or work.arguments:
        return ""
    met = {case.id.partition("::")[0] for case in cases}
    chosen = dict.fromkeys(one.partition("::")[0] for one in (work.ids or work.files))
    lost = [path for path in chosen if path not in met]
    more = f" and {len(lost) - 3} more" if len(lost) > 3 else ""  # noqa: PLR2004 - three are shown
    return f"no test can run here of {', '.join(lost[:3])}{more}" if lost else ""


def only_coverage_failed(judged: pytest_exit.Judged, tail: str) -> bool:
    """Whether every test passed and pytest-cov alone made the run fail, its floor not being met."""
    failing = any(case.outcome in _FAILING for case in judged.cases)
    return (
        judged.outcome is Outcome.FAILED
        and bool(judged.cases)
        and not failing
        and bool(_COVERAGE_FAILED.search(tail))
    )


def _recording(bench: Bench, work: Tests, out: str, root: str) -> tuple[dict[str, object], str]:
    """Say what the recorder is told, nothing where none is to run; and why none runs though it should."""
    lane = bench.lane
    if work.record is None:
        return {}, ""
    if not has_tracer(lane.host_environment):
        why = read_stamp(lane.host_environment).get("recorder") or "the next build installs it"
        return (
            {},
            f"nothing was recorded: coverage is not installed beside the environment ({why})",
        )
    told: dict[str, object] = {
        "file": f"{out}/recording.jsonl",
        "root": root,
        "source": lane.source,
        "coverage": f"{lane.environment}/{TRACER}",
        "seconds": work.record,
        "project": work.project,
    }
    return told, ""


def _import_path(bench: Bench, work: Tests, root: str, *, recording: bool) -> str:
    """Put what goes into the tests on their import path, and what they have on it anyway after that."""
    path = [bench.lane.plugin]
    if recording:
        path.insert(0, f"{bench.lane.plugin}/{RECORDER}")
    if work.on_path:
        path.append(root)
    path += [f"{root}/{folder}" for folder in work.path]
    inherited = assigned(work.env).get("PYTHONPATH") or bench.lane.env.get("PYTHONPATH")
    if inherited:
        path.append(inherited)
    return ":".join(path)


def _arguments(work: Tests) -> tuple[str, ...]:
    return (*work.arguments, *(("-x",) if work.exit_first else ()))


def _watched(modules: Sequence[str]) -> tuple[str, ...]:
    """Watch the extension modules, and the packages that would fall back without them."""
    parents = (module.rpartition(".")[0] for module in modules)
    return tuple(dict.fromkeys([*modules, *(p for p in parents if p)]))


def _lay_tests_tree(bench: Bench, work: Tests) -> str:
    """Copy the tests to where the sources are not; gives what went wrong."""
    lane = bench.lane
    python = f"{lane.environment}/venv/bin/python"
    done = bench.run(
        (
            *(python, "-I", "-c", script("tests_tree"), lane.source, f"{lane.output}/tree"),
            work.project,
        ),
        timeout=300.0,
        shown="# copy the tests to a folder without the sources",
    )
    return "" if done.ok else f"could not lay the tests apart from the sources: {done.tail[-200:]}"


def _result(
    bench: Bench,
    work: Tests,
    attempt: Attempt | None,
    *,
    reason: str = "",
) -> StepResult:
    step = bench.step
    cases = attempt.cases if attempt else ()
    return StepResult(
        id=step.id,
        role=step.role,
        outcome=attempt.outcome if attempt else Outcome.ERROR,
        reason=attempt.reason if attempt else reason,
        required=step.required,
        command=(*work.command, *_arguments(work)),
        origin=step.origin,
        seconds=bench.seconds,
        log=bench.log_name,
        counts=counts_of(cases),
        cases=cases,
        notes=attempt.notes if attempt else (),
        junit=attempt.junit if attempt else "",
        recording=attempt.recording if attempt else "",
        loaded=attempt.modules if attempt else {},
        cut=attempt.cut if attempt else "",
        python=attempt.python if attempt else "",
    )
