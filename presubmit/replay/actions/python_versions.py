"""Which of the interpreters here a `python-version` of actions/setup-python means; never another one.

https://github.com/actions/setup-python: src/find-python.ts, find-pypy.ts, find-graalpy.ts, utils.ts.
"""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING, Any, Final

import msgspec

from presubmit.replay.actions import semver

if TYPE_CHECKING:
    from collections.abc import Iterable

    from presubmit.upstream.here import Here, Interpreter

_PRERELEASE: Final = re.compile(r"(\d+\.\d+\.\d+)((?:a|b|rc)\d*)")
_FREE_THREADED: Final = re.compile(r"(\d+\.\d+(?:\.\d+)?)t|(\d+\.\d+)t(-dev)")
_DEV: Final = re.compile(r"(\d+)\.(\d+)-dev")
_PLAIN: Final = re.compile(r"\d+\.\d+(\.\d+)?")
_PYPY_RELEASE: Final = re.compile(r"(\d+\.\d+\.\d+)((?:a|b|rc))\.?(\d*)")
_TOOL_VERSIONS: Final = re.compile(r"\s*python\s*v?\s*(\S+)\s*")
_KINDS: Final = {"cpython": "Python", "pypy": "PyPy", "graalpy": "GraalPy"}


class WantedPython(msgspec.Struct, frozen=True, kw_only=True):
    """One line of `python-version`, read."""

    text: str
    """As written."""
    kind: str = "cpython"
    versions: semver.Range | None = None
    """None: cannot be read, or a nightly."""
    releases: semver.Range | None = None
    """Of the implementation itself (PyPy 7.3.x)."""
    free_threaded: bool = False
    exact: bool = False
    """A version and no range, so that nothing need be said of what was taken."""

    @property
    def name(self) -> str:
        """`Python 3.12`, `PyPy 3.11`."""
        bare = re.sub(r"^(pypy|graalpy)-?", "", self.text)
        return f"{_KINDS[self.kind]} {bare}"


def read_wanted(
    text: str, *, prereleases: bool = False, free_threaded: bool = False
) -> WantedPython:
    """Read one line of `python-version`."""
    text = text.strip()
    if text.startswith("pypy"):
        return _pypy(text)
    if text.startswith("graalpy"):
        return _graalpy(text)
    spec = text
    if (threaded := _FREE_THREADED.fullmatch(spec)) is not None:
        spec = threaded[1] or f"{threaded[2]}{threaded[3]}"
        free_threaded = True
    exact = _PLAIN.fullmatch(spec) is not None
    spec = _DEV.sub(r"~\1.\2.0-0", spec) if _DEV.fullmatch(spec) else spec
    spec = _PRERELEASE.sub(r"\1-\2", spec)
    if prereleases and re.fullmatch(r"\d+\.\d+", spec):
        spec = f"~{spec}.0-0"
    return WantedPython(
        text=text,
        versions=semver.parse_range(spec),
        free_threaded=free_threaded,
        exact=exact,
    )


def choose(wanted: WantedPython, interpreters: Iterable[Interpreter]) -> Interpreter | None:
    """Give the newest interpreter that is meant; of two alike the one that stands first."""
    if wanted.versions is None:
        return None
    best: Interpreter | None = None
    best_rank: tuple[object, ...] = ()
    for one in interpreters:
        if one.kind != wanted.kind or one.free_threaded is not wanted.free_threaded:
            continue
        version = semver.parse_version(one.release if wanted.kind == "graalpy" else one.version)
        if version is None or not semver.satisfies(version, wanted.versions):
            continue
        release = semver.parse_version(one.release)
        if wanted.releases is not None and (
            release is None or not semver.satisfies(release, wanted.releases)
        ):
            continue
        rank = (*version.rank, *(release.rank if release is not None else ()))
        if best is None or rank > best_rank:
            best, best_rank = one, rank
    return best


def lacking(wanted: WantedPython, here: Here) -> str:
    """Say that it is not here: `Python 3.12 (the image has 3.11.2)`."""
    place = "this machine" if here.on_host else "the image"
    present = sorted(
        {
            one.release if one.kind == "graalpy" else one.version
            for one in here.interpreters
            if one.kind == wanted.kind and one.free_threaded is wanted.free_threaded
        },
        key=lambda text: version.rank if (version := semver.parse_version(text)) else (),
    )
    thread = "free-threaded " if wanted.free_threaded else ""
    held = ", ".join(present) if present else f"no {thread}{_KINDS[wanted.kind]}"
    hint = "; an unquoted 3.10 is the number 3.1 in YAML" if wanted.text == "3.1" else ""
    return f"{wanted.name} ({place} has {held}{hint})"


def versions_in_file(name: str, text: str) -> tuple[str, ...]:
    """Read the versions that a `python-version-file` names; raises ValueError for broken TOML."""
    if name.endswith(".toml"):
        return _from_pyproject(tomllib.loads(text.replace("\r\n", "\n")))
    if re.search(r".tool-versions", name):
        lines = (line for line in text.split("\n") if not line.strip().startswith("#"))
        found = (match[1] for line in lines if (match := _TOOL_VERSIONS.fullmatch(line)))
        return tuple(found)[:1]
    if "Pipfile" in name:
        requires = tomllib.loads(text.replace("\r\n", "\n")).get("requires", {})
        version = requires.get("python_full_version") or requires.get("python_version")
        return (version,) if isinstance(version, str) else ()
    return tuple(
        line.strip().split("/")[0]
        for line in text.strip().splitlines()
        if line.strip() and not line.startswith("#")
    )


def _from_pyproject(document: dict[str, Any]) -> tuple[str, ...]:
    """Read requires-python as the action does: as a range of npm's, and not at all where npm cannot."""
    keys = (
        ("project", "requires-python")
        if "project" in document
        else ("tool", "poetry", "dependencies", "python")
    )
    value: Any = document
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    if not isinstance(value, str):
        return ()
    spec = " ".join(value.split(","))
    return (spec,) if semver.parse_range(spec, loose=True) is not None else ()


def _pypy(text: str) -> WantedPython:
    """Read `pypy3.11`, `pypy-3.10-v7.3.x`, `pypy3.9-nightly`."""
    words = [word for word in text.removeprefix("pypy").split("-") if word]
    python = words[0] if words else ""
    release = words[1] if len(words) > 1 else "x"
    readable = re.fullmatch(r"\d+\.\d+", python) is not None and release != "nightly"
    return WantedPython(
        text=text,
        kind="pypy",
        versions=semver.parse_range(python) if readable else None,
        releases=semver.parse_range(_PYPY_RELEASE.sub(r"\1-\2.\3", release)),
        exact=True,
    )


def _graalpy(text: str) -> WantedPython:
    words = [word for word in text.removeprefix("graalpy").split("-") if word]
    return WantedPython(
        text=text,
        kind="graalpy",
        versions=semver.parse_range(words[0]) if words else None,
        exact=bool(words) and re.fullmatch(r"[\d.]+", words[0]) is not None,
    )
