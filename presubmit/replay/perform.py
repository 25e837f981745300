"""Runs a plan on head: lint and docstrings beside the build, then the tests without a network."""

from __future__ import annotations

import hashlib
import threading
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from enum import StrEnum
from typing import TYPE_CHECKING, Final

import msgspec

from presubmit import __version__
from presubmit.replay.build import lacks_beside, lacks_tracer, read_stamp
from presubmit.replay.lanes import environment_folder, open_lane, passed_environment
from presubmit.replay.leftovers import remember_built, settle_leftovers
from presubmit.replay.reruns import rerun
from presubmit.replay.traces import read_traces
from presubmit.values import (
    Benchmarks,
    Build,
    Docstrings,
    LintCommand,
    Outcome,
    PlanStep,
    Reviewing,
    ReviewingBuilt,
    Role,
    StepResult,
    Syntax,
    Tests,
    decode,
    encode,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from presubmit.change.mirror import Mirror
    from presubmit.history import History
    from presubmit.replay.lanes import OpenLane, Place
    from presubmit.replay.runner import SessionRunner
    from presubmit.selector.native.exact import Built
    from presubmit.values import Change, Plan


class Builds(StrEnum):
    """What may become of the build."""

    MAKE = "make"
    """It runs, where what is there is not just it."""
    REUSE = "reuse"
    """What is there already is used, or nothing."""
    LEAVE = "leave"
    """What is there is another run's."""


WITHOUT_BUILD: Final[Mapping[Builds, str]] = {
    Builds.REUSE: "a push waits for no build; `presubmit run` builds and tests this commit",
    Builds.LEAVE: "another run of presubmit has the environment",
}
KEEP = ("*",)
"""Mirrors keep every leftover at a checkout: `settle_leftovers` decides what of it may stay."""


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """What running the plan on head needs."""

    place: Place
    runner: SessionRunner
    change: Change
    blobs: Mapping[str, str]
    """Blob ids of head's files: a constraint file's content is part of an environment."""
    mirror: Mirror
    open_lint_mirror: Callable[[], Mirror]
    """Opens the lint lane's mirror at the snapshot; called only where a step needs it."""
    remember: Callable[[StepResult], None]
    """Called with every result, from any thread."""
    builds: Builds = Builds.MAKE
    learn: Callable[[Built], None] = lambda _: None
    """Called with what a build of extension modules was seen to compile."""


class Lanes:
    """The open lanes of a run, so that later phases (the base) can use them; made by several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[str, OpenLane] = {}

    def add(self, lane: OpenLane) -> OpenLane:
        """Keep a lane; one of the same name that was open before is ended."""
        with self._lock:
            before = self._open.get(lane.lane.name)
            self._open[lane.lane.name] = lane
        if before is not None:
            before.box.close()
        return lane

    def get(self, name: str) -> OpenLane | None:
        """Give a lane that was opened, or None."""
        with self._lock:
            return self._open.get(name)

    def close(self) -> None:
        """End every box."""
        with self._lock:
            lanes, self._open = list(self._open.values()), {}
        for lane in lanes:
            lane.box.close()


def run_head(plan: Plan, head: Head, lanes: Lanes, done: Mapping[str, StepResult]) -> None:
    """Run every step that is not among `done` already; results go to `head.remember`.

    Raises what stopped a lane (EngineError and the like), after the other lane ended too.
    """
    left = [step for step in plan.steps if step.id not in done]
    beside = [s for s in left if isinstance(s.work, Syntax | LintCommand | Docstrings)]
    inside = [s for s in left if s not in beside]
    with ThreadPoolExecutor(max_workers=2) as pool:
        futures: list[Future[None]] = []
        if beside:
            futures.append(pool.submit(_run_beside, beside, head, lanes))
        if inside:
            futures.append(pool.submit(_run_inside, plan, inside, head, lanes, done))
        try:
            finished, _ = wait(futures, return_when=FIRST_EXCEPTION)
        except BaseException:
            # Ctrl-C reaches this thread alone; the others wait for sessions that must be told.
            head.runner.stop("interrupted")
            raise
        if any(future.exception() is not None for future in finished):
            head.runner.stop("the other lane could not go on")
    for future in futures:
        future.result()


def _run_beside(steps: Sequence[PlanStep], head: Head, lanes: Lanes) -> None:
    """Lint and docstrings, in a mirror of their own: tools may change files there."""
    mirror = head.open_lint_mirror()
    lane = lanes.add(open_lane(head.place, "lint", mirror, None, {}, purpose="tools"))
    for role in (Role.LINT, Role.DOCS):
        mine = [step for step in steps if step.role is role]
        for result in head.runner.run(role, lane.lane, mine):
            head.remember(result)


def _run_inside(  # noqa: C901, PLR0912 - build, then test: one line of steps
    plan: Plan,
    steps: Sequence[PlanStep],
    head: Head,
    lanes: Lanes,
    done: Mapping[str, StepResult],
) -> None:
    """Build, cut the network, test."""
    work = build_of(plan)
    environment = environment_folder(head.place, "head", work, head.blobs)
    built: StepResult | None = done.get("build.1")
    whole = settle_leftovers(environment, head.mirror.tree, head.blobs)
    for step in steps:
        if isinstance(step.work, Build) and head.builds is not Builds.LEAVE:
            built = cached_build(step, environment, whole=whole)
    for step in steps:
        if isinstance(step.work, Build):
            if built is None and head.builds is not Builds.MAKE:
                built = skipped(step, WITHOUT_BUILD[head.builds])
            if built is None:
                lane = open_lane(
                    *(head.place, "head", head.mirror, work, head.blobs), purpose="build"
                )
                built = head.runner.run(Role.BUILD, lanes.add(lane).lane, [step])[0]
                if built.outcome is Outcome.PASSED:
                    remember_built(environment, head.mirror.tree, head.blobs)
                    _learn(built, head, lanes)
            if built.outcome is Outcome.PASSED:
                head.mirror.mark_clean()
            head.remember(built)
    # These need the base as well: they come last (`replay/compare.py`, `replay/built.py`).
    rest = [
        step for step in steps if not isinstance(step.work, Build | Benchmarks | ReviewingBuilt)
    ]
    if built is not None and built.outcome is not Outcome.PASSED:
        for step in rest:
            head.remember(skipped(step, f"the build {built.outcome}: {step.title} needs it"))
        return
    if not rest:
        return
    tests = TestBoxes(head, lanes, work, tuple(read_stamp(environment).get("modules", ())))
    shards = [step for step in rest if step.role is Role.TESTS]
    _run_shards([step for step in shards if not loads_twin(step)], tests)
    for step in (step for step in shards if loads_twin(step)):
        if step is not shards[0] and not head.runner.stopped:
            tests.renew()
        _run_shards([step], tests)
    docs = [step for step in rest if step.role is Role.DOCS]
    for result in head.runner.run(Role.DOCS, tests.lane.lane, docs, modules=tests.modules):
        head.remember(result)


def _learn(built: StepResult, head: Head, lanes: Lanes) -> None:
    """Hand on what the build was seen to compile."""
    lane = lanes.get("head")
    if lane is None:
        return
    traces = read_traces(lane.lane, head.runner.folder / built.log, head.blobs, built.modules)
    if traces is not None:
        head.learn(traces)


def loads_twin(step: PlanStep) -> bool:
    """Tell a second run of tests, which loads Python in place of an extension module."""
    return isinstance(step.work, Tests) and bool(step.work.pure)


class TestBoxes:
    """The box that tests run in; `renew` gives another one, on the sources as they were."""

    __test__ = False  # pytest would take it for a class of tests

    def __init__(
        self, head: Head, lanes: Lanes, work: Build | None, modules: tuple[str, ...]
    ) -> None:
        self.head = head
        self.modules = modules
        self._lanes = lanes
        self._work = work
        self._environment = environment_folder(head.place, "head", work, head.blobs)
        self.lane = self._open()

    def _open(self) -> OpenLane:
        head = self.head
        lane = open_lane(
            *(head.place, "head", head.mirror, self._work, head.blobs), purpose="test"
        )
        return self._lanes.add(lane)

    def renew(self) -> None:
        """Leave nothing of what the tests wrote: not in the sources, not in /tmp, not in memory."""
        head = self.head
        head.mirror.checkout(head.change.target.snapshot, keep=KEEP)
        settle_leftovers(self._environment, head.mirror.tree, head.blobs)
        self.lane = self._open()

    def run(self, step: PlanStep, *, prefix: str = "") -> StepResult:
        """Run one shard here."""
        runner = self.head.runner
        found = runner.run(Role.TESTS, self.lane.lane, [step], prefix=prefix, modules=self.modules)
        return found[0]


def _run_shards(steps: Sequence[PlanStep], tests: TestBoxes) -> None:
    """Run every shard in a session of its own, side by side in one box; then the failures of each again."""
    if not steps:
        return
    with ThreadPoolExecutor(max_workers=len(steps)) as pool:
        runs = [pool.submit(tests.run, step) for step in steps]
    results = settle_shards(steps, [run.result() for run in runs], tests.modules)
    for step, result in zip(steps, results, strict=True):
        assert isinstance(step.work, Tests)  # noqa: S101 - steps of the role tests

        def again(work: Tests, name: str, step: PlanStep = step) -> StepResult:
            tests.renew()
            return tests.run(msgspec.structs.replace(step, work=work), prefix=f"{name}.")

        reruns = rerun(step.work, result, again) if not tests.head.runner.stopped else ()
        tests.head.remember(msgspec.structs.replace(result, reruns=reruns))


def settle_shards(
    steps: Sequence[PlanStep], results: Sequence[StepResult], modules: tuple[str, ...]
) -> list[StepResult]:
    """Turn green shards into errors where none of them loaded the module that the change is about. Pure."""
    work = steps[0].work
    lost = ""
    if isinstance(work, Tests):
        loaded = [result.loaded for result in results]
        lost = fallback(work, modules, loaded) or no_twin(work, loaded)
    return [
        msgspec.structs.replace(result, outcome=Outcome.ERROR, reason=lost)
        if lost and result.outcome is Outcome.PASSED
        else result
        for result in results
    ]


def fallback(work: Tests, modules: Sequence[str], loaded: Sequence[dict[str, str | None]]) -> str:
    """Say which built extension module no test process loaded, though the change touches native code.

    `loaded` holds, for each shard, the file of each watched module, None where it was not loaded. Empty: all well.
    """
    if not work.extensions_changed or not modules:
        return ""
    lost = [
        module
        for module in modules
        if not any(shard.get(module) for shard in loaded)
        # The package is there without it; a module without a package must be there by itself.
        and ("." not in module or any(shard.get(module.rpartition(".")[0]) for shard in loaded))
    ]
    if not lost:
        return ""
    return (
        f"the tests never loaded {', '.join(lost)}: they ran on a pure Python fallback, "
        "so they say nothing about the native change"
    )


def no_twin(work: Tests, loaded: Sequence[dict[str, str | None]]) -> str:
    """Say that no test process loaded the Python module that a second run is for. Empty: all well."""
    if not work.pure or any(shard.get(name) for shard in loaded for name in work.pure):
        return ""
    return (
        f"{work.env[-1]} did not load {work.pure[0]}: its change is not tested "
        "(name the right variable in tests.env, or leave this step out with --skip)"
    )


def build_of(plan: Plan) -> Build | None:
    """Give the plan's build, if it has one."""
    return next((step.work for step in plan.steps if isinstance(step.work, Build)), None)


def cached_build(step: PlanStep, environment: Path, *, whole: bool) -> StepResult | None:
    """Give the build's result without building, where the environment holds just this build.

    `whole`: all that the build left in the tree is there.
    """
    work = step.work
    if not isinstance(work, Build) or work.clean:
        return None
    stamp = read_stamp(environment)
    lacking = lacks_tracer(environment, work) or lacks_beside(environment, work)
    if stamp.get("key") != work.key or not whole or lacking:
        return None
    return StepResult(
        id=step.id,
        role=step.role,
        outcome=Outcome.PASSED,
        required=step.required,
        origin=step.origin,
        modules=tuple(stamp.get("modules", ())),
        notes=tuple(stamp.get("notes", ())),
        cached=True,
    )


def skipped(step: PlanStep, reason: str) -> StepResult:
    """Give the result of a step that was not run, and why."""
    return StepResult(
        id=step.id,
        role=step.role,
        outcome=Outcome.SKIPPED,
        reason=reason,
        required=step.required,
        origin=step.origin,
    )


# --- evidence of single steps -----------------------------------------------------------------------------------------


def evidence_key(step: PlanStep, change: Change, place: Place) -> str:
    """Name all that a step's result depends on: the tree, the base, the step, where it runs, and this presubmit."""
    plain = msgspec.structs.replace(step, expected_seconds=None, why="")
    if isinstance(plain.work, Tests):
        # Recording looks on: it decides nothing.
        plain = msgspec.structs.replace(
            plain, work=msgspec.structs.replace(plain.work, record=None)
        )
    parts = (change.target.tree, change.base.commit, place.environment_kind, __version__)
    # What the box is given decides as well: variables, options, limits, the user, the network.
    box = encode(place.container) + encode(passed_environment(place.container, place.environ))
    return hashlib.sha256(encode(plain) + box + "\n".join(parts).encode()).hexdigest()


def resumed(plan: Plan, change: Change, place: Place, history: History) -> dict[str, StepResult]:
    """Give the steps that ran green before, on this very tree in this very environment.

    A build is among them only where no step is left that needs what it made.
    """
    # What benchmarks measured and what a review said lies in the folder of their own run.
    apart = Benchmarks | Reviewing | ReviewingBuilt
    steps = [step for step in plan.steps if not isinstance(step.work, apart)]
    told = {step.id: _told(history.evidence(evidence_key(step, change, place))) for step in steps}
    found = {name: result for name, result in told.items() if result is not None}
    builds = {step.id for step in plan.steps if isinstance(step.work, Build)}
    wanted = {need for step in plan.steps if step.id not in found for need in step.needs}
    return {name: it for name, it in found.items() if name not in builds or name not in wanted}


def _told(text: str | None) -> StepResult | None:
    """Read a stored result; of another form it is none."""
    try:
        result = decode((text or "").encode(), StepResult)
    except (ValueError, msgspec.ValidationError):
        return None
    return msgspec.structs.replace(result, cached=True, log="", junit="", patch="", recording="")
