"""Asks the base what head's news is worth: the same tests, tools and builds on the base's own files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from presubmit.errors import PresubmitError
from presubmit.replay.lanes import environment_folder, open_lane
from presubmit.replay.leftovers import remember_built, settle_leftovers
from presubmit.replay.perform import WITHOUT_BUILD, Builds, cached_build, loads_twin
from presubmit.values import (
    BaseResults,
    Build,
    Case,
    CaseOutcome,
    Docstrings,
    LintCommand,
    Mode,
    Outcome,
    PlanStep,
    Reproduces,
    Role,
    StepResult,
    Syntax,
    Tests,
    counted,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from presubmit.change.mirror import Mirror
    from presubmit.replay.lanes import OpenLane, Place
    from presubmit.replay.perform import Lanes
    from presubmit.replay.runner import SessionRunner
    from presubmit.values import Change, Definition, Plan

PREFIX = "base."
_FAILING = frozenset({CaseOutcome.FAILED, CaseOutcome.ERROR})
_MOST_IDS = 400


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What head's results leave open."""

    failing: tuple[str, ...]
    """Failing tests (and files that could not be collected) whose class the base decides."""
    touched: tuple[str, ...]
    """New and changed tests: do they fail without the change?"""
    findings: tuple[PlanStep, ...]
    """Lint and docs steps with findings."""
    build: bool
    """The build itself failed."""
    twins: tuple[Failing, ...] = ()
    """Failing tests of steps with a variable of their own."""

    @property
    def empty(self) -> bool:
        """Whether the base need not be asked at all."""
        return not (self.failing or self.twins or self.touched or self.findings or self.build)


class Failing(msgspec.Struct, frozen=True, kw_only=True):
    """What failed in one step, and the variable that its tests ran with."""

    step: str
    tests: tuple[str, ...]
    variable: str


class Base(msgspec.Struct, frozen=True, kw_only=True):
    """What asking the base needs."""

    place: Place
    runner: SessionRunner
    change: Change
    open_mirror: Callable[[], tuple[Mirror, bool]]
    """Opens the base lane's mirror at the base commit; and whether the build must start clean."""
    work: Build
    blobs: Mapping[str, str]
    command: Tests
    """How the base runs its tests; ids are put in."""
    definitions: Callable[[Sequence[str]], tuple[Definition, ...]]
    """Gives the base's definitions in files."""
    say: Callable[[str], None]
    builds: Builds = Builds.MAKE


def make_question(
    plan: Plan, results: Iterable[StepResult], touched: frozenset[str], *, code_changed: bool
) -> Question:
    """Say what is to be asked. Pure.

    New and changed tests are asked about only where something else changed, too: on the base's code they would
    otherwise meet the very code they met on head.
    """
    results = tuple(results)
    steps = {step.id: step for step in plan.steps}
    usual = [r for r in results if r.id not in steps or not loads_twin(steps[r.id])]
    with_findings = [
        steps[r.id]
        for r in results
        if r.outcome is Outcome.FAILED and r.findings and r.role in {Role.LINT, Role.DOCS}
    ]
    ran = {c.id.partition("[")[0] for r in usual for c in r.cases}
    return Question(
        failing=_failing(usual),
        twins=tuple(
            Failing(step=r.id, tests=tests, variable=work.env[-1])
            for r in results
            if r not in usual
            and (tests := _failing([r]))
            and isinstance(work := steps[r.id].work, Tests)
        ),
        touched=tuple(sorted(t for t in touched if t in ran)) if code_changed else (),
        findings=tuple(with_findings),
        build=any(r.role is Role.BUILD and r.outcome is Outcome.FAILED for r in results),
    )


def _failing(results: Sequence[StepResult]) -> tuple[str, ...]:
    failing = [c.id for r in results for c in r.cases if c.outcome in _FAILING]
    flaky = {r.id for result in results for r in result.reruns if r.company == "passed" == r.alone}
    return tuple(dict.fromkeys(test for test in failing if test not in flaky))[:_MOST_IDS]


def ask_base(question: Question, base: Base, lanes: Lanes) -> BaseResults:
    """Run on the base what the question asks; what fails there is said, never raised."""
    lint = _ask_tools(question, base, lanes)
    if not (question.failing or question.twins or question.touched or question.build):
        return BaseResults(lint=lint)
    try:
        base.say("building the base")
        mirror, clean = base.open_mirror()
        built = build_base(base, lanes, mirror, clean=clean)
        lane = _test_lane(base, lanes, mirror)
    except PresubmitError as error:
        reason = f"the base could not be built: {error}"
        return BaseResults(reason=reason, tests_error=reason, lint=lint)
    if built.outcome is not Outcome.PASSED:
        reason = f"the base does not build: {built.reason}"
        return BaseResults(reason=reason, tests_error=reason, build=built, lint=lint)
    usual = _ask_tests(question.failing, base, lane, built)
    return msgspec.structs.replace(
        usual,
        build=built,
        lint=lint,
        by_step={
            one.step: _ask_tests(one.tests, with_variable(base, one), lane, built, name=one.step)
            for one in question.twins
        },
        reproduces=_ask_reproduces(question, base, lane, built, mirror),
    )


def _test_lane(base: Base, lanes: Lanes, mirror: Mirror) -> OpenLane:
    """Give a box for tests on what was built; head's tests may run in it, so it writes nothing that lasts."""
    return lanes.add(open_lane(base.place, "base", mirror, base.work, base.blobs, purpose="test"))


def build_base(base: Base, lanes: Lanes, mirror: Mirror, *, clean: bool) -> StepResult:
    """Build the base from its own files, unless its environment holds just this build."""
    step = PlanStep(
        id="build.1",
        role=Role.BUILD,
        title="build",
        work=msgspec.structs.replace(base.work, clean=clean),
        origin="the base's own files",
        why="head's failures are classed by the base",
    )
    environment = environment_folder(base.place, "base", base.work, base.blobs)
    whole = settle_leftovers(environment, mirror.tree, base.blobs)
    built = cached_build(step, environment, whole=whole)
    if built is None and base.builds is not Builds.MAKE:
        raise PresubmitError(WITHOUT_BUILD[base.builds])
    if built is None:
        lane = lanes.add(
            open_lane(base.place, "base", mirror, base.work, base.blobs, purpose="build")
        )
        built = base.runner.run(Role.BUILD, lane.lane, [step], prefix=PREFIX)[0]
        if built.outcome is Outcome.PASSED:
            mirror.mark_clean()
            remember_built(environment, mirror.tree, base.blobs)
    return built


# --- tests ----------------------------------------------------------------------------------------------------------


def with_variable(base: Base, one: Failing) -> Base:
    """Give the base as one step of head asks it: with that step's variable, after the base's own."""
    env = (*base.command.env, one.variable)
    return msgspec.structs.replace(base, command=msgspec.structs.replace(base.command, env=env))


def _run_ids(
    base: Base, lane: OpenLane, built: StepResult, ids: Sequence[str], name: str, why: str
) -> StepResult:
    work = msgspec.structs.replace(
        base.command,
        mode=Mode.SCOPED,
        ids=tuple(ids),
        files=(),
        within=(),
        without=(),
        record=None,
        arguments=(),
        retries=0,
        exit_first=False,
        extensions_changed=False,
        pure=(),
        shard=1,
        shards=1,
    )
    step = PlanStep(
        id=name, role=Role.TESTS, title=name, work=work, origin="the base's own files", why=why
    )
    return base.runner.run(Role.TESTS, lane.lane, [step], prefix=PREFIX, modules=built.modules)[0]


def _ask_tests(
    failing: Sequence[str], base: Base, lane: OpenLane, built: StepResult, *, name: str = "tests"
) -> BaseResults:
    """Run head's failing tests as the base has them; what of them is absent, or why there is no result."""
    if not failing:
        return BaseResults()
    base.say(f"running {counted(len(failing), 'failing test')}")
    here = [test for test in failing if test.partition("::")[0] in base.blobs]
    absent = [test for test in failing if test not in here]
    if not here:
        return BaseResults(absent=tuple(absent))
    result = _run_ids(base, lane, built, here, name, "do they fail on the base too?")
    known = {case.id for case in result.cases}
    ran = result.outcome in {Outcome.PASSED, Outcome.FAILED}
    # Nothing that was asked for is there: pytest collects no test, which is an answer as well.
    empty = not result.cases and "no tests" in result.reason
    if ran or empty:
        # A file that could not be collected on head, and was here: it is not absent, it can be collected.
        files = {test.partition("::")[0] for test in known}
        collected = [t for t in here if "::" not in t and t not in known]
        collected = [t for t in collected if t in files or t.endswith("conftest.py")]
        absent += [test for test in here if test not in known and test not in collected]
        fine = tuple(
            Case(id=test, outcome=CaseOutcome.PASSED, phase="collect") for test in collected
        )
        return BaseResults(tests=(*result.cases, *fine), absent=tuple(absent))
    problem = f"the base's tests could not be run: {result.reason}"
    return BaseResults(tests=result.cases, absent=tuple(absent), tests_error=problem)


def _ask_reproduces(
    question: Question, base: Base, lane: OpenLane, built: StepResult, mirror: Mirror
) -> tuple[Reproduces, ...]:
    """Run head's new and changed tests on the base's code."""
    if not question.touched:
        return ()
    base.say(f"running {counted(len(question.touched), 'new or changed test')} on the base's code")
    paths = tuple(dict.fromkeys(test.partition("::")[0] for test in question.touched))
    mirror.overlay(base.change.target.snapshot, paths)
    try:
        result = _run_ids(
            base, lane, built, question.touched, "reproduces", "do they fail without the change?"
        )
    finally:
        mirror.restore()
    return tuple(_reproduces(test, result) for test in question.touched)


def _reproduces(test: str, result: StepResult) -> Reproduces:
    cases = [c for c in result.cases if c.id.partition("[")[0] == test]
    uncollected = [
        c for c in result.cases if c.phase == "collect" and c.id == test.partition("::")[0]
    ]
    if cases and result.outcome in {Outcome.PASSED, Outcome.FAILED}:
        return Reproduces(
            test=test, fails_without_change=any(c.outcome in _FAILING for c in cases)
        )
    if uncollected:
        reason = f"its file cannot be imported without the change: {uncollected[0].message}"
        return Reproduces(test=test, fails_without_change=True, reason=reason)
    reason = result.reason or "it gave no result there"
    return Reproduces(test=test, fails_without_change=None, reason=reason)


# --- lint and docs ----------------------------------------------------------------------------------------------------


def _ask_tools(question: Question, base: Base, lanes: Lanes) -> dict[str, StepResult]:
    """Run the same tools on the base's version of the files, in the lint lane."""
    lane = lanes.get("lint")
    if not question.findings or lane is None:
        return {}
    base.say("running the lint tools on the base's files")
    lane.mirror.checkout(base.change.base.commit)
    results: dict[str, StepResult] = {}
    for step in question.findings:
        asked = on_base_files(step, base.change, base.definitions)
        if asked is None:
            # Every file with a finding is new: the base has nothing to say against it.
            results[step.id] = StepResult(id=step.id, role=step.role, outcome=Outcome.PASSED)
            continue
        results[step.id] = base.runner.run(step.role, lane.lane, [asked], prefix=PREFIX)[0]
    return results


def on_base_files(
    step: PlanStep,
    change: Change,
    definitions: Callable[[Sequence[str]], tuple[Definition, ...]],
) -> PlanStep | None:
    """Give the step for the base's version of its files, under their old names; None where the base has none."""
    old = {f.path: f.old_path for f in change.files if f.old_path is not None}
    added = {f.path for f in change.files if f.status == "added"}

    def theirs(paths: Iterable[str]) -> tuple[str, ...]:
        return tuple(old.get(path) or path for path in paths if path not in added)

    work = step.work
    match work:
        case Syntax() | LintCommand():
            files = theirs(work.files)
            changed: Syntax | LintCommand | Docstrings = msgspec.structs.replace(work, files=files)
        case Docstrings():
            files = theirs(sorted({d.path for d in work.definitions}))
            changed = msgspec.structs.replace(work, definitions=definitions(files))
        case _:
            return None
    return msgspec.structs.replace(step, work=changed) if files else None
