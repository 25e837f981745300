"""Which Python a cell of upstream sets up, as far as its steps and its matrix tell."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from presubmit.upstream.recipes.gather_actions import python_of_job
from presubmit.upstream.recipes.job_commands import action_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from presubmit.upstream.cells import JobCell
    from presubmit.upstream.recipes.job_commands import StepScript

# `3.12`, `3.13t`, `3.15-dev`, `3.15t-dev`, `3.14.0-rc.2`, `pypy-3.11-v7.3`, `graalpy-25`, `python3.12`.
_VERSION: Final = re.compile(
    r"(?:(?P<kind>cpython|python|py|cp|pypy|graalpy)[-@ ]?)?v?(?P<major>\d+)(?:\.(?P<minor>\d+))?(?:\.\d+)*"
    r"(?P<free>t?)(?P<early>(?:-dev|[-.]?(?:alpha|beta|a|b|rc)[.\d]*)?)(?:-v[\w.]+)?$"
)
# Inside a name: `ubuntu-py311`, `cp313t-manylinux`, `pypy3`.
_IN_A_NAME: Final = re.compile(
    r"(?<![a-z0-9])(?P<kind>cpython|python|py|cp|pypy|graalpy)[-_]?(?P<major>[23])\.?(?P<minor>\d{1,2})?(?P<free>t?)(?![a-z0-9])"
)
_OF_PYTHON: Final = re.compile(r"(?<![a-z])c?py")
"""The name of an axis with versions of Python: `python-version`, `tox-py`, but not `numpy`."""
_SQUEEZED: Final = re.compile(r"([23])(\d{1,2})(t?)")
_PLAIN_WORDS: Final = frozenset(
    {
        *("py", "python", "cpython", "cp", "pypy", "graalpy", "ubuntu", "linux", "windows", "macos"),
        *("latest", "x", "amd", "arch", "bit", "slim", "true", "false", "default", "stable", "none"),
        *("manylinux", "on", "off", "release", "test", "tests", "unit"),
    }
)  # fmt: skip


class Python(NamedTuple):
    """A version that a job asks for."""

    kind: str
    """`cpython`, `pypy`, `graalpy`."""
    version: tuple[int, int]
    """`(3, 12)`."""
    free_threaded: bool = False
    early: bool = False
    """A pre-release."""

    @property
    def usual(self) -> bool:
        """Whether it is a released CPython with its lock."""
        return self.kind == "cpython" and not self.free_threaded and not self.early


def read_python(text: str) -> Python | None:
    """Read what is asked of a setup action; None where it names no single version (`3.x`, `>=3.10`)."""
    found = _VERSION.match(text.strip().lower().removeprefix("=="))
    if found is None or (found["minor"] is None and found["kind"] != "graalpy"):
        return None
    return _python(
        found["kind"], found["major"], found["minor"] or "0", found["free"], found["early"]
    )


def python_of_cell(cell: JobCell, steps: Sequence[StepScript]) -> tuple[Python | None, str]:
    """Give the Python of a cell, and where that stands: by its steps, else by the values of its matrix."""
    text, origin = python_of_job(steps, cell.workflow.rpartition("/")[2])
    if text:
        return read_python(text), origin
    named = (_in_axis(name, value) for name, value in _values("", cell.axes))
    return next((python for python in named if python is not None), None), cell.origin


def allows_early(steps: Sequence[StepScript]) -> bool:
    """Whether a job would also take a pre-release of the Python that it asks for."""
    return any(
        action_of(step.uses) == "actions/setup-python"
        and step.inputs.get("allow-prereleases", "").lower() == "true"
        for step in steps
    )


def unusual_words(cell: JobCell) -> int:
    """Count the words of a cell's matrix values that make it a variation: `ubuntu-py310-pytestmain` has one."""
    words = [
        word
        for _, value in _values("", cell.axes)
        for word in re.findall(r"[a-z]+", str(value).lower())
    ]
    return sum(word not in _PLAIN_WORDS and len(word) > 1 for word in words)


def _values(name: str, value: Any) -> Iterator[tuple[str, Any]]:  # noqa: ANN401 - a matrix holds any JSON
    """Give the single values in an axis, each with the names that lead to it: `python/version`."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _values(f"{name}/{key}", inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _values(name, inner)
    elif value is not None:
        yield name, value


def _in_axis(name: str, value: Any) -> Python | None:  # noqa: ANN401 - as above
    text = str(value).lower()
    if _OF_PYTHON.search(name.lower()) and not isinstance(value, bool):
        squeezed = _SQUEEZED.fullmatch(text)
        found = read_python(text)
        if found is not None or squeezed is None:
            return found or _in_a_name(text)
        return _python("", *squeezed.groups())
    # `3.2` of another axis may be of anything: Django, NumPy.
    return _in_a_name(text)


def _in_a_name(text: str) -> Python | None:
    found = _IN_A_NAME.search(text)
    if found is None or (found["minor"] is None and found["kind"] != "pypy"):
        return None
    return _python(found["kind"], found["major"], found["minor"] or "0", found["free"])


def _python(kind: str | None, major: str, minor: str, free: str, early: str = "") -> Python:
    return Python(
        kind if kind in {"pypy", "graalpy"} else "cpython",
        (int(major), int(minor)),
        bool(free),
        bool(early),
    )
