"""The step that reviews what base and head are built to, as part of a plan. Pure."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from presubmit.convention import is_build_file, is_native
from presubmit.values import Build, PlanStep, ReviewingBuilt, Role

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from presubmit.values import Change


class Looks(StrEnum):
    """Whether a run looks at what base and head are built to."""

    NO = "no"
    THERE = "there"
    """At libraries, where both builds are there: nothing is built for it."""
    MAKE = "make"
    """At wheels, too; what is lacking is built, where the plan has a build."""
    ASKED = "asked"
    """The same, and the plan has a build for it."""

    @property
    def builds(self) -> bool:
        """Whether something is built for it."""
        return self in {Looks.MAKE, Looks.ASKED}


def built_review(
    change: Change,
    build: Sequence[PlanStep],
    rules: Collection[str],
    *,
    looks: Looks,
    triggers: Sequence[str],
) -> list[PlanStep]:
    """Give the step where what is built can differ, or is asked for; it needs a build of head in the same plan."""
    work = next((step.work for step in build if isinstance(step.work, Build)), None)
    if work is None or looks is Looks.NO:
        return []
    paths = [path for file in change.files for path in file.paths]
    native = [p for p in paths if is_native(p) or is_build_file(p, triggers)]
    # Of any other build the key does not hang on the sources: what is there may be another's.
    compiles = bool(work.native) or work.mode not in {"editable", "none"}
    libraries = "symbols" in rules and compiles and bool(native)
    wheel = "packaging" in rules and looks.builds
    if not libraries and not wheel:
        return []
    named = (*(("symbols",) if libraries else ()), *(("packaging",) if wheel else ()))
    parts = (*(("symbols",) if libraries else ()), *(("wheel",) if wheel else ()))
    return [
        PlanStep(
            id="review.2",
            role=Role.REVIEW,
            title=f"review ({', '.join(parts)})",
            work=ReviewingBuilt(rules=named, make=looks.builds, libraries=libraries, wheel=wheel),
            origin="convention: every change",
            why=f"libraries are built from {native[0]}" if libraries else "a wheel is built",
            needs=("build.1",) if looks.builds else (),
        )
    ]


def left_to_it(built: Sequence[PlanStep]) -> frozenset[str]:
    """Give the rules of which nothing can be said before."""
    libraries = any(isinstance(s.work, ReviewingBuilt) and s.work.libraries for s in built)
    return frozenset(["symbols"] if libraries else [])
