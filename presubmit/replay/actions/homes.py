"""Gives a cell Pythons of its own to install into, as GitHub's tool cache has them: writable, and empty but for pip.

A distribution's Python belongs to its package manager (PEP 668) and a virtual environment is no substitute:
`uv pip install --system` passes it over, and `pip install --user` refuses to work in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from presubmit.replay.actions import python_versions, semver
from presubmit.replay.inside import script
from presubmit.replay.job.action import LackingError

if TYPE_CHECKING:
    from presubmit.replay.job.action import ActionStep
    from presubmit.upstream.here import Here, Interpreter

_FOLDERS = {"cpython": "Python", "pypy": "PyPy", "graalpy": "GraalPy"}


class Home(msgspec.Struct, frozen=True, kw_only=True):
    """A Python of the cell's own."""

    folder: str
    interpreter: Interpreter

    @property
    def python(self) -> str:
        """The interpreter's path."""
        return f"{self.folder}/bin/python"


def make_home(step: ActionStep, interpreter: Interpreter, *, purpose: str = "") -> Home:
    """Make a home of an interpreter, or find the one that this cell has already; raises LackingError.

    `purpose` keeps what a substitute installs for itself apart from what the job installs.
    """
    version = interpreter.version + ("t" if interpreter.free_threaded else "")
    parts = (purpose or "tool-cache", _FOLDERS[interpreter.kind], version, step.here.arch.lower())
    folder = "/".join((step.cell.temp, "_presubmit", *parts))
    home = Home(folder=folder, interpreter=interpreter)
    # The mark is written last, so that a half-made one is not taken for whole.
    if step.ask('[ -e "$1/.complete" ]', folder).exit_code == 0:
        return home
    if interpreter.kind == "cpython":
        made = step.ask(
            'exec 2>&1; rm -rf "$2" && mkdir -p "${2%/*}" && "$1" -I -c "$3" "$2" && : >"$2/.complete"',
            *(interpreter.path, folder, script("python_home")),
        )
        if made.exit_code == 0:
            return home
        why = made.text.strip().splitlines()[-1:] or [f"exit code {made.exit_code}"]
        step.say(f"no prefix of its own for {interpreter.path}: {why[0]}")
    made = step.ask(
        'exec 2>&1; rm -rf "$2" && mkdir -p "${2%/*}" && "$1" -I -m venv "$2" && : >"$2/.complete"',
        *(interpreter.path, folder),
    )
    if made.exit_code != 0:
        last = (made.text.strip().splitlines() or ["it said nothing"])[-1]
        raise LackingError(f"a writable Python {interpreter.version}: {last[:200]}")
    step.note(
        f"Python {interpreter.version} is a virtual environment here, which `uv pip --system` passes over"
    )
    return home


def best_interpreter(here: Here, *, at_least: tuple[int, int] = (3, 9)) -> Interpreter | None:
    """Give the newest released CPython with a pip: what a substitute runs Python tools with."""
    found = [
        (version.rank, one)
        for one in here.interpreters
        if one.kind == "cpython"
        and not one.free_threaded
        and one.pip
        and (version := semver.parse_version(one.version)) is not None
        and not version.prerelease
        and version[:2] >= at_least
    ]
    return max(found, key=lambda pair: pair[0], default=(None, None))[1]


def wanted_interpreter(
    here: Here, text: str, *, prereleases: bool = False, free_threaded: bool = False
) -> Interpreter:
    """Give the interpreter that a `python-version` names; raises LackingError where it is not here."""
    wanted = python_versions.read_wanted(
        text, prereleases=prereleases, free_threaded=free_threaded
    )
    interpreter = python_versions.choose(wanted, here.interpreters)
    if interpreter is None:
        raise LackingError(python_versions.lacking(wanted, here))
    if not interpreter.pip:
        raise LackingError(f"pip for Python {interpreter.version}")
    return interpreter
