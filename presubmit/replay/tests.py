"""The tests step: one shard in one pytest process, its failures run again in processes of their own."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from presubmit.container.model import ExecOutcome
from presubmit.replay.assignment import PLUGIN
from presubmit.replay.harvest import OutputFolder
from presubmit.replay.inside import script
from presubmit.replay.steps import trouble
from presubmit.results import junit, pytest_exit, record
from presubmit.values import CaseOutcome, Mode, Outcome, Rerun, StepResult, Tests, counts_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from presubmit.replay.steps import Bench
    from presubmit.values import Case

# A whole shard is run a second time, to tell a flake from a test that fails in company only, if it took less.
_MOST_COMPANY_SECONDS: Final = 300.0
# pytest-cov; on success it prints "Required test coverage of 90% reached".
_COVERAGE_FAILED: Final = re.compile(
    r"FAIL Required test coverage of .* not reached|ERROR: Coverage failure:|Coverage failure: total of"
)
_FAILING: Final = frozenset({CaseOutcome.FAILED, CaseOutcome.ERROR})


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """One pytest process: how it is judged, its cases, and what it loaded."""

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


def run_tests(bench: Bench, work: Tests) -> StepResult:
    """Run a shard, and its failures again as often as `retries` says."""
    if work.off_path:
        problem = _lay_tests_tree(bench, work)
        if problem:
            return _result(bench, work, None, reason=problem)
    attempt = run_pytest(bench, work, name=bench.name)
    reruns = _rerun(bench, work, attempt)
    return _result(bench, work, attempt, reruns=reruns)


def run_pytest(bench: Bench, work: Tests, *, name: str) -> Attempt:
    """Run the test command once, narrowed by the plugin, and read what it wrote."""
    lane = bench.lane
    root = f"{lane.environment}/tree" if work.off_path else lane.source
    with OutputFolder(lane) as out:
        selection = {
            "root": root,
            "mode": "all" if work.mode is Mode.ALL and not work.ids else "scoped",
            "files": list(work.files),
            "ids": list(work.ids),
            "record": f"{out.inside}/record.jsonl",
            "watch": list(_watched(bench.assignment.modules)),
        }
        told = out.write("selection.json", json.dumps(selection).encode("ascii"))
        xml = f"{out.inside}/junit.xml"
        command = (*work.command, *_arguments(work))
        done = bench.run(
            command,
            timeout=max(1.0, work.timeout),
            cwd=root,
            env=_environment(bench, work, told, xml, root),
        )
        copies = Path(bench.folder)
        xml_copy = copies / "junit" / f"{name}.xml"
        record_copy = copies / "records" / f"{name}.jsonl"
        problems = [out.take("junit.xml", xml_copy), out.take("record.jsonl", record_copy)]
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
    )
    narrowed = recorded.readable
    if narrowed and only_coverage_failed(judged, done.tail) and (work.files or work.ids):
        judged = msgspec.structs.replace(judged, outcome=Outcome.PASSED, reason="")
        problems.append("the project's coverage floor is for the whole suite: not counted here")
    notes = [*(p for p in problems if p and judged.outcome is not Outcome.ERROR), *judged.notes]
    if not narrowed and (work.files or work.ids):
        notes.append("no record of the plugin: nothing proves that the tests were narrowed")
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
    )


def only_coverage_failed(judged: pytest_exit.Judged, tail: str) -> bool:
    """Whether every test passed and pytest-cov alone made the run fail, its floor not being met."""
    failing = any(case.outcome in _FAILING for case in judged.cases)
    return (
        judged.outcome is Outcome.FAILED
        and bool(judged.cases)
        and not failing
        and bool(_COVERAGE_FAILED.search(tail))
    )


def _environment(bench: Bench, work: Tests, told: str, xml: str, root: str) -> dict[str, str]:
    """Tell pytest of the plugin, whoever starts it: make, tox and nox pass these on (facts: injection)."""
    own = bench.lane.env.get("PYTEST_ADDOPTS", "")
    path = [bench.lane.plugin]
    if work.on_path:
        path.append(root)
    if bench.lane.env.get("PYTHONPATH"):
        path.append(bench.lane.env["PYTHONPATH"])
    return {
        "PYTEST_ADDOPTS": f"{own} -p {PLUGIN} --junitxml={shlex.quote(xml)}".strip(),
        "PYTEST_PLUGINS": PLUGIN,
        "PYTHONPATH": ":".join(path),
        "PRESUBMIT_SELECTION": told,
    }


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
            *(python, "-I", "-c", script("tests_tree"), lane.source, f"{lane.environment}/tree"),
            work.project,
        ),
        timeout=300.0,
        shown="# copy the tests to a folder without the sources",
    )
    return "" if done.ok else f"could not lay the tests apart from the sources: {done.tail[-200:]}"


# --- reruns -----------------------------------------------------------------------------------------------------------


def _rerun(bench: Bench, work: Tests, first: Attempt) -> tuple[Rerun, ...]:
    """Run failing tests again: alone first; those that pass alone once more in the whole shard.

    A pass counts as `flaky` only in the same setting; failing in company and passing alone is another thing
    (DESIGN, section 3).
    """
    failing = [c.id for c in first.cases if c.outcome in _FAILING and c.phase != "collect"]
    failing = failing[: work.max_retried]
    if not failing or not work.retries or first.outcome is not Outcome.FAILED:
        return ()
    company_seconds = bench.seconds
    alone: dict[str, str] = {}
    for number in range(1, work.retries + 1):
        left = [test for test in failing if alone.get(test) != "passed"]
        if not left:
            break
        bench.say(f"running {len(left)} failing again")
        again = msgspec.structs.replace(
            work, mode=Mode.SCOPED, files=(), ids=tuple(left), exit_first=False, arguments=()
        )
        attempt = run_pytest(bench, again, name=f"{bench.name}.again{number}")
        alone |= outcomes(attempt, left)
    company: dict[str, str] = {}
    passed = [test for test in failing if alone.get(test) == "passed"]
    if passed and len(first.cases) == 1:
        company = dict.fromkeys(passed, "passed")  # it was alone in its shard: the same setting
    elif passed and company_seconds <= _MOST_COMPANY_SECONDS:
        bench.say("running the shard again: a failure did not repeat alone")
        attempt = run_pytest(bench, work, name=f"{bench.name}.company")
        company = outcomes(attempt, passed)
    return tuple(
        Rerun(id=test, alone=alone.get(test, "error"), company=company.get(test, ""))
        for test in failing
    )


def outcomes(attempt: Attempt, ids: Sequence[str]) -> dict[str, str]:
    """Give `passed`, `failed`, `error`, `skipped` or `absent` for each id of an attempt."""
    known = {case.id: case for case in attempt.cases}
    given = {}
    for test in ids:
        case = known.get(test)
        if case is None:
            given[test] = "absent" if test in attempt.missing else "error"
        elif case.outcome in _FAILING:
            given[test] = "failed"
        else:
            given[test] = "skipped" if case.outcome is CaseOutcome.SKIPPED else "passed"
    return given


def _result(
    bench: Bench,
    work: Tests,
    attempt: Attempt | None,
    *,
    reruns: tuple[Rerun, ...] = (),
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
        reruns=reruns,
        notes=attempt.notes if attempt else (),
        junit=attempt.junit if attempt else "",
        loaded=attempt.modules if attempt else {},
    )
