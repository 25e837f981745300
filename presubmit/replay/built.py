"""Looks at what head and base are built to: the libraries where they were built for tests, a wheel of each side."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import msgspec

from presubmit.errors import PresubmitError
from presubmit.replay import libraries
from presubmit.replay.base import PREFIX, build_base
from presubmit.replay.build import read_stamp
from presubmit.replay.lanes import environment_folder, open_lane
from presubmit.replay.leftovers import settle_leftovers
from presubmit.replay.perform import KEEP, Builds, build_of
from presubmit.replay.wheels import files_of_wheel
from presubmit.review.built import BUILD_BOTH, Built, Libraries, Wheels
from presubmit.review.wheel import asks_base, may_differ
from presubmit.values import (
    Build,
    BuildWheel,
    Outcome,
    PlanStep,
    ReadLibraries,
    Role,
    StepResult,
    decode,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from presubmit.change.mirror import Mirror
    from presubmit.replay.assignment import Lane
    from presubmit.replay.base import Base
    from presubmit.replay.lanes import Place
    from presubmit.replay.perform import Head, Lanes
    from presubmit.review.facts import Facts
    from presubmit.values import Plan, ReviewingBuilt

HEAD_PREFIX = "built."
LIBRARIES, WHEEL = "libraries", "wheel"


class _NotBuiltError(Exception):
    """A side is not built, and why."""


class Both(msgspec.Struct, frozen=True, kw_only=True):
    """What looking at both sides needs."""

    head: Head
    base: Callable[[], Base]
    """Called only where the base is looked at."""
    lanes: Lanes
    open_wheel_mirror: Callable[[], Mirror]
    """Opens the mirror that wheels are built in: no build for tests is in it."""
    facts: Facts


def read_built(plan: Plan, work: ReviewingBuilt, both: Both) -> Built:
    """Look at what the step asks for; what cannot be looked at is said, never raised."""
    head_work = build_of(plan)
    assert head_work is not None  # noqa: S101 - the plan has the step only beside a build
    found = Built()
    if work.libraries:
        try:
            read = _read_libraries(head_work, both, make=work.make)
            found = msgspec.structs.replace(found, libraries=read)
        except (PresubmitError, _NotBuiltError) as error:
            found = msgspec.structs.replace(found, why_no_libraries=str(error))
    if work.wheel and may_differ(both.facts):
        try:
            wheels = _read_wheels(head_work, both)
            found = msgspec.structs.replace(found, wheels=wheels)
        except (PresubmitError, _NotBuiltError) as error:
            found = msgspec.structs.replace(found, why_no_wheels=str(error))
    return found


def _build_base(both: Both, *, make: bool) -> Mirror:
    """Have the base built, or take what is there; raises _NotBuiltError."""
    base = both.base()
    if not make:
        environment = environment_folder(base.place, "base", base.work, base.blobs)
        # Asked before the checkout, which costs.
        if read_stamp(environment).get("key") != base.work.key:
            raise _NotBuiltError(f"the base is not built: {BUILD_BOTH}")
        base = msgspec.structs.replace(base, builds=Builds.REUSE)
    if make:
        base.say("building the base, for the review")
    mirror, clean = base.open_mirror()
    try:
        built = build_base(base, both.lanes, mirror, clean=clean)
    except PresubmitError:
        if make:
            raise
        raise _NotBuiltError(f"the base is not built: {BUILD_BOTH}") from None
    if built.outcome is not Outcome.PASSED:
        raise _NotBuiltError(f"the base does not build: {built.reason}")
    return mirror


# --- libraries ------------------------------------------------------------------------------------------------------


def _read_libraries(head_work: Build, both: Both, *, make: bool) -> Libraries:
    """Read both builds as they were proved: nothing that tests left in the trees."""
    head, base = both.head, both.base()
    theirs = _build_base(both, make=make)
    head.mirror.checkout(head.change.target.snapshot, keep=KEEP)
    theirs.checkout(head.change.base.commit, keep=KEEP)
    sides = (
        ("head", head.place, head.mirror, head_work, head.blobs),
        ("base", base.place, theirs, base.work, base.blobs),
    )
    boxes, projects = [], []
    for name, place, mirror, work, blobs in sides:
        environment = environment_folder(place, name, work, blobs)
        settle_leftovers(environment, mirror.tree, blobs)
        projects.append(str(read_stamp(environment).get("project") or work.project))
        boxes.append(_open(both, place, name, mirror, work, blobs, purpose="test"))
    step = _step(LIBRARIES, ReadLibraries(projects=(projects[0], projects[1])))
    done = both.head.runner.run(
        Role.REVIEW, boxes[0], [step], prefix=HEAD_PREFIX, others=(boxes[1],)
    )[0]
    if done.outcome is not Outcome.PASSED:
        raise _NotBuiltError(f"the libraries could not be read: {done.reason}")
    return decode((head.runner.folder / libraries.FILE).read_bytes(), Libraries)


# --- wheels ---------------------------------------------------------------------------------------------------------


def _read_wheels(head_work: Build, both: Both) -> Wheels:
    """Build head's wheel; the base's only where it has to say whether something was lacking before."""
    head = both.head
    mirror = both.open_wheel_mirror()
    mirror.checkout(head.change.target.snapshot, clean=True, keep=())
    lane = _open(both, head.place, "head", mirror, head_work, head.blobs, purpose="build")
    files = _build_wheel(both, lane, head_work, HEAD_PREFIX)
    if not asks_base(both.facts, files):
        return Wheels(head=files)
    try:
        base = both.base()
        _build_base(both, make=True)
        mirror.checkout(head.change.base.commit, clean=True, keep=())
        lane = _open(both, base.place, "base", mirror, base.work, base.blobs, purpose="build")
        return Wheels(head=files, base=_build_wheel(both, lane, base.work, PREFIX))
    except (PresubmitError, _NotBuiltError) as error:
        return Wheels(head=files, why_no_base=str(error))


def _build_wheel(both: Both, lane: Lane, work: Build, prefix: str) -> tuple[str, ...]:
    runner = both.head.runner
    step = _step(WHEEL, BuildWheel(build=work))
    done: StepResult = runner.run(Role.REVIEW, lane, [step], prefix=prefix)[0]
    if done.outcome is not Outcome.PASSED:
        side = "the base's" if prefix == PREFIX else "head's"
        raise _NotBuiltError(f"{side} wheel could not be built: {done.reason}")
    path = files_of_wheel(runner.folder, f"{prefix}{WHEEL}")
    return tuple(json.loads(path.read_bytes()))


# --- both -----------------------------------------------------------------------------------------------------------


def _open(
    both: Both,
    place: Place,
    name: str,
    mirror: Mirror,
    work: Build,
    blobs: Mapping[str, str],
    *,
    purpose: str,
) -> Lane:
    """Start a box of its own: those of the tests may still be open."""
    # A fresh environment was made by this run's build; it is not made anew here.
    place = msgspec.structs.replace(place, fresh=False)
    opened = open_lane(place, name, mirror, work, blobs, purpose=purpose)
    lane = msgspec.structs.replace(opened.lane, name=f"{purpose}.{name}")
    both.lanes.add(msgspec.structs.replace(opened, lane=lane))
    return lane


def _step(name: str, work: ReadLibraries | BuildWheel) -> PlanStep:
    return PlanStep(
        id=name,
        role=Role.REVIEW,
        title=name,
        work=work,
        origin="convention: every change",
        why="what was built is compared",
    )
