"""wntrblm/nox: the Pythons that sessions ask for, and nox in an environment of its own.

https://github.com/wntrblm/nox: action.yml, .github/action_helper.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from presubmit.replay.actions import homes, pip_tools, python_versions
from presubmit.replay.job.action import LackingError, Support

if TYPE_CHECKING:
    from presubmit.replay.job.action import ActionStep, Wanted
    from presubmit.upstream.here import Here, Interpreter

NAMES: Final = ("wntrblm/nox", "excitedleigh/setup-nox")


def support(wanted: Wanted, here: Here) -> Support:
    """Say whether the Pythons are here that are named; without names, those that are here are taken."""
    named = wanted.inputs.get("python-versions", "")
    if not named:
        lacks = pip_tools.lacks_python(here, "nox")
        return Support(lacks=lacks, note="" if lacks else _note(_released(here)))
    lacks_each = []
    for version in _split(named):
        try:
            homes.wanted_interpreter(here, version, prereleases=True)
        except LackingError as error:
            lacks_each.append(str(error))
    return Support(lacks="; ".join(lacks_each))


def run(step: ActionStep) -> None:
    """Put the Pythons and nox on PATH."""
    named = step.input("python-versions")
    if named:
        chosen = tuple(
            homes.wanted_interpreter(step.here, version, prereleases=True)
            for version in _split(named)
        )
    else:
        chosen = _released(step.here)
        step.note(_note(chosen))
    for interpreter in chosen:
        home = homes.make_home(step, interpreter)
        step.add_path(home.folder)
        step.add_path(f"{home.folder}/bin")
    tools = pip_tools.install(step, "nox")
    folder = f"{step.cell.temp}/nox"
    script = 'rm -rf "$2" && mkdir -p "$2" && ln -s "$1" "$2/nox"'
    step.ask(script, f"{tools.folder}/bin/nox", folder)
    step.add_path(folder)


def _released(here: Here) -> tuple[Interpreter, ...]:
    """Give one released CPython of each minor version, the newest last."""
    found: dict[str, Interpreter] = {}
    for one in here.interpreters:
        minor = ".".join(one.version.split(".")[:2])
        if python_versions.choose(python_versions.read_wanted(minor), [one]) and one.pip:
            found.setdefault(minor, one)
    return tuple(found[minor] for minor in sorted(found, key=_numbers))


def _numbers(minor: str) -> tuple[int, ...]:
    return tuple(int(part) for part in minor.split("."))


def _note(chosen: tuple[Interpreter, ...]) -> str:
    return f"the Pythons are {', '.join(one.version for one in chosen)} here"


def _split(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())
