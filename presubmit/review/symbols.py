"""Exported symbols of built libraries: not compared, and that is said, since a lost export macro is a removed symbol."""

from __future__ import annotations

from typing import TYPE_CHECKING

from presubmit.convention import is_native
from presubmit.review.values import Unchecked
from presubmit.values import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from presubmit.review.facts import Facts


def remarks(facts: Facts) -> Iterator[Unchecked]:
    """Say of a change of native sources that nobody looked at what their libraries export."""
    native = [file.path for file in facts.change.files if any(map(is_native, file.paths))]
    if native:
        more = f" and {counted(len(native) - 1, 'more')}" if native[1:] else ""
        yield Unchecked(
            rule="symbols",
            what=f"the symbols that the libraries of {native[0]}{more} export",
            why="built libraries are not compared: `nm -D --defined-only` on both tells",
        )
