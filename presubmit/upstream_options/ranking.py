"""Which cells of upstream tell best how things are done here, and which interpreter of the image they are told for."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

import msgspec

from presubmit.upstream.cells import CellState
from presubmit.upstream_options.pythons import (
    Python,
    allows_early,
    python_of_cell,
    read_python,
    unusual_words,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from presubmit.upstream.cells import JobCell
    from presubmit.upstream.here import Here, Interpreter
    from presubmit.upstream.recipes.job_commands import StepScript


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A cell that could tell how things are done, and the Python that it is for."""

    cell: JobCell
    steps: tuple[StepScript, ...]
    python: Python | None
    """None where that is not known."""
    python_origin: str
    may_be_early: bool
    """Its Python may be a pre-release without saying so."""


def candidates(
    cells: Iterable[JobCell], steps: Mapping[str, tuple[StepScript, ...]]
) -> list[Candidate]:
    """Give the cells whose steps are known, and that run on a system like ours; in the order of the files."""
    found: list[Candidate] = []
    for cell in cells:
        own = steps.get(cell.id, ())
        if not own or not cell.starts or cell.reason.startswith("runs-on"):
            continue
        python, origin = python_of_cell(cell, own)
        found.append(
            Candidate(
                cell=cell,
                steps=own,
                python=python,
                python_origin=origin,
                may_be_early=allows_early(own),
            )
        )
    newest = max((c.python.version for c in found if c.python and c.python.usual), default=None)
    # Rows of a pre-release are why a job allows them; only the newest of its rows can be one.
    return [
        c
        if c.python is not None and c.python.version == newest
        else msgspec.structs.replace(c, may_be_early=False)
        for c in found
    ]


def ranked(found: Sequence[Candidate], python: tuple[int, int] | None) -> list[Candidate]:
    """Order cells, the one to follow first: of the largest job, which is the main one, the plainest cell.

    Of equally plain ones, that with our very Python, or the nearest to it; where ours is not known, the newest release.
    Jobs that are variations by their name come after the others; PyPy, pre-releases and free-threaded builds last.
    """
    sizes: Counter[tuple[str, str]] = Counter()
    for c in found:
        if c.python is None or c.python.usual:
            sizes[job_of(c)] += _DYNAMIC if _EXPANDS_LATER in c.cell.reason else 1

    def key(c: Candidate) -> tuple[bool, bool, int, int, int, bool]:
        return (
            c.python is not None and not c.python.usual,
            bool(_VARIATION.search(c.cell.job)),
            -sizes[job_of(c)],
            unusual_words(c.cell),
            _distance(c, python),
            c.cell.state is not CellState.REPLAYED,
        )

    return sorted(found, key=key)


_VARIATION = re.compile(
    r"free[-_]?thread|nogil|pypy|graalpy|musl|alpine|minim|oldest|lowest|nightly|pre[-_]?release|debug|sanitiz|asan"
    r"|valgrind|32[-_]?bit|cross|wasm|pyodide|emscripten|downstream|fuzz|endian|qemu|no[-_]",
    re.IGNORECASE,
)


def job_of(c: Candidate) -> tuple[str, str]:
    """Name a cell's job."""
    return c.cell.workflow, c.cell.job


_EXPANDS_LATER = "its matrix expands at run time"
_DYNAMIC = 10
"""How many cells a job counts as whose matrix is only known when it runs."""
_UNKNOWN = 1
"""How far a Python that is not known counts as being from ours."""
_FAR = 100


def _distance(c: Candidate, python: tuple[int, int] | None) -> int:
    if c.python is None:
        return _UNKNOWN if python is not None else _FAR
    major, minor = c.python.version
    if python is None:
        return _FAR - minor + (_FAR if c.may_be_early else 0)
    return abs(minor - python[1]) + _FAR * abs(major - python[0])


def choose_interpreter(found: Sequence[Candidate], here: Here | None) -> Interpreter | None:
    """Give the image's interpreter that upstream tests on: the default, if it is among them; None where it is not known.

    Only where upstream's list is known as a whole, and leaves the default out, is another one better.
    """
    if here is None or not here.interpreters:
        return None
    default = here.interpreters[0]
    versions = {c.python.version for c in found if c.python is not None and c.python.usual}
    if any(c.python is None for c in found) or version_of(default) in versions:
        return default
    others = [
        one
        for one in here.interpreters[1:]
        if one.kind == "cpython"
        and not one.free_threaded
        and one.pip
        and not re.search(r"[a-z]", one.version)
        and version_of(one) in versions
    ]
    return max(others, key=version_of, default=default)


def version_of(interpreter: Interpreter) -> tuple[int, int]:
    """Give `(3, 11)`."""
    found = read_python(interpreter.version)
    return found.version if found is not None else (0, 0)
