"""Lets benchmarks be compared: both builds, and two pairs of boxes on them, one to measure and one to confirm in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from presubmit.errors import PresubmitError
from presubmit.replay.base import build_base
from presubmit.replay.lanes import environment_folder, open_lane
from presubmit.replay.leftovers import settle_leftovers
from presubmit.replay.perform import KEEP, build_of, skipped
from presubmit.values import Benchmarks, Outcome, PlanStep, Role, StepResult

if TYPE_CHECKING:
    from collections.abc import Mapping

    from presubmit.change.mirror import Mirror
    from presubmit.replay.assignment import Lane
    from presubmit.replay.base import Base
    from presubmit.replay.lanes import Place
    from presubmit.replay.perform import Head, Lanes
    from presubmit.values import Build, Plan

_AGAIN = "again."


def run_comparison(
    plan: Plan, head: Head, base: Base, lanes: Lanes, done: Mapping[str, StepResult]
) -> None:
    """Run the plan's benchmarks, where it has some; the result goes to `head.remember`."""
    for step in plan.steps:
        if isinstance(step.work, Benchmarks) and step.id not in done:
            head.remember(_compare(step, step.work, plan, head, base, lanes, done))


def _compare(
    step: PlanStep,
    work: Benchmarks,
    plan: Plan,
    head: Head,
    base: Base,
    lanes: Lanes,
    done: Mapping[str, StepResult],
) -> StepResult:
    built = done.get("build.1")
    if built is not None and built.outcome is not Outcome.PASSED:
        return skipped(step, f"the build {built.outcome}: benchmarks need it")
    head_work = build_of(plan)
    beside = head_work.beside if head_work is not None else ()
    base = msgspec.structs.replace(base, work=msgspec.structs.replace(base.work, beside=beside))
    try:
        base.say("building the base, for benchmarks")
        mirror, clean = base.open_mirror()
        theirs = build_base(base, lanes, mirror, clean=clean)
    except PresubmitError as error:
        return _without_base(step, f"the base could not be built: {error}")
    if theirs.outcome is not Outcome.PASSED:
        return _without_base(step, f"the base does not build: {theirs.reason}")
    # Tests may have left files in either tree; benchmarks start from what was built.
    head.mirror.checkout(head.change.target.snapshot, keep=KEEP)
    mirror.checkout(head.change.base.commit, keep=KEEP)
    if not work.self_test:
        mirror.overlay(head.change.target.snapshot, work.files)
    sides = {
        "base": _Build(place=base.place, mirror=mirror, work=base.work, blobs=base.blobs),
        "head": _Build(place=head.place, mirror=head.mirror, work=head_work, blobs=head.blobs),
    }
    for name, side in sides.items():
        environment = environment_folder(side.place, name, side.work, side.blobs)
        settle_leftovers(environment, side.mirror.tree, {*side.blobs, *work.files})
    if work.self_test:
        sides["head"] = sides["base"]
    try:
        boxes = [
            _open(sides, name, "base" if work.self_test else name, lanes, again=again)
            for again in ("", _AGAIN)
            for name in ("head", "base")
        ]
        return head.runner.run(Role.BENCH, boxes[0], [step], others=tuple(boxes[1:]))[0]
    finally:
        mirror.restore()


class _Build(msgspec.Struct, frozen=True, kw_only=True):
    """One side's build, and where it lies."""

    place: Place
    mirror: Mirror
    work: Build | None
    blobs: Mapping[str, str]


def _open(sides: Mapping[str, _Build], name: str, build: str, lanes: Lanes, *, again: str) -> Lane:
    """Start a box of one side, on the build of that side or, for a self-test, of the base."""
    side = sides[name]
    opened = open_lane(side.place, build, side.mirror, side.work, side.blobs, purpose="bench")
    lane = msgspec.structs.replace(opened.lane, name=f"{again}bench.{name}")
    lanes.add(msgspec.structs.replace(opened, lane=lane))
    return lane


def _without_base(step: PlanStep, reason: str) -> StepResult:
    return StepResult(
        id=step.id,
        role=step.role,
        outcome=Outcome.ERROR,
        reason=f"nothing to compare with: {reason}",
        required=step.required,
        origin=step.origin,
    )
