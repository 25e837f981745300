"""What base and head were built to: the libraries with their symbols, and the files of the wheels."""

from __future__ import annotations

from presubmit.values import Value

BUILD_BOTH = "`presubmit review --build` builds both sides and compares them"


class Library(Value, frozen=True, kw_only=True):
    """One shared library; `symbols` are what it exports, `name` or `name@VERSION`, with nm's letter of each."""

    path: str
    """Relative to the tree, to site-packages or to the folder of the build."""
    symbols: dict[str, str] = {}
    problem: str = ""
    """Why its symbols could not be read."""


class Demangled(Value, frozen=True, kw_only=True):
    """A C++ name as people write it."""

    full: str
    """With its parameters."""
    bare: str
    """Without; empty where the tool at hand cannot say it."""


class Libraries(Value, frozen=True, kw_only=True):
    """The libraries of both sides, and the readable names of the symbols that only one of them has."""

    base: tuple[Library, ...]
    head: tuple[Library, ...]
    names: dict[str, Demangled] = {}


class Wheels(Value, frozen=True, kw_only=True):
    """The files of head's wheel, by the names that they are installed under, and of the base's."""

    head: tuple[str, ...]
    base: tuple[str, ...] | None = None
    """None where it was not asked for, or could not be built: `why_no_base`."""
    why_no_base: str = ""


class Built(Value, frozen=True, kw_only=True):
    """What was built, or why not; both empty: it was not asked for."""

    libraries: Libraries | None = None
    why_no_libraries: str = ""
    wheels: Wheels | None = None
    why_no_wheels: str = ""


def not_built(why: str) -> Built:
    """Give what there is where nothing can be looked at."""
    return Built(why_no_libraries=why, why_no_wheels=why)
