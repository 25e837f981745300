"""Says whether a change should have an RFC, and why; never more than advice."""

from __future__ import annotations

import posixpath
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from presubmit.drafts.text import listed
from presubmit.report.escape import for_code
from presubmit.values import FileStatus

if TYPE_CHECKING:
    from collections.abc import Iterator

    from presubmit.drafts.values import DraftFacts

_MANY_NAMES: Final = 5
_MANY_AREAS: Final = 3
SIGNALS: Final = (
    "api-break",
    "new-module",
    "new-names",
    "new-dependency",
    "build",
    "areas",
    "operators",
)
"""Names for `draft.rfc_needed`."""
_BUILD: Final = frozenset(
    {"setup.py", "CMakeLists.txt", "meson.build", "WORKSPACE", "MODULE.bazel"}
)
_OPERATORS: Final = frozenset({"native_functions.yaml", "derivatives.yaml"})


class Level(StrEnum):
    """How much an RFC is due."""

    NOT_NEEDED = "not needed"
    SUGGESTED = "suggested"
    NEEDED = "needed"


def judge_rfc(facts: DraftFacts) -> tuple[Level, tuple[str, ...]]:
    """Weigh the signals: one suggests, a break with another beside it needs, and so does what `draft.rfc_needed` names."""
    found = dict(_signals(facts))
    reasons = tuple(found.values())
    if not found:
        return Level.NOT_NEEDED, (
            "no public name, dependency or build file changes in a way that others must agree to",
        )
    if set(found) & set(facts.asked.rfc_needed) or ("api-break" in found and len(found) > 1):
        return Level.NEEDED, reasons
    return Level.SUGGESTED, reasons


def _signals(facts: DraftFacts) -> Iterator[tuple[str, str]]:
    api = facts.api
    if api.breaks:
        yield "api-break", f"public API: {listed(api.breaks, most=3)}"
    if api.modules:
        yield (
            "new-module",
            f"new public modules: {listed([for_code(it) for it in api.modules], most=3)}",
        )
    if len(api.added) >= _MANY_NAMES:
        yield "new-names", f"{len(api.added)} new public names"
    if facts.requirements:
        yield (
            "new-dependency",
            f"new dependencies: {listed([for_code(it) for it in facts.requirements], most=3)}",
        )
    names = {posixpath.basename(file.path): file for file in facts.files}
    added = [
        name
        for name, file in names.items()
        if name in _BUILD and file.status in {FileStatus.ADDED, FileStatus.DELETED}
    ]
    if added:
        yield "build", f"another build system: {listed([for_code(it) for it in added], most=3)}"
    if names.keys() & _OPERATORS:
        yield "operators", "an operator's schema changes"
    areas = set(facts.owners.values())
    if len(areas) >= _MANY_AREAS:
        yield "areas", f"{len(areas)} groups of owners must agree"
