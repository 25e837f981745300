"""actions/setup-python: an interpreter that is here, as a writable Python first on PATH.

https://github.com/actions/setup-python: action.yml, docs/advanced-usage.md, src/setup-python.ts.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from typing import TYPE_CHECKING, Final

from presubmit.replay.actions import homes, python_versions
from presubmit.replay.actions.globber import globber
from presubmit.replay.job.action import ActionFailedError, LackingError, Support

if TYPE_CHECKING:
    from collections.abc import Iterable

    from presubmit.replay.job.action import ActionStep, Wanted
    from presubmit.upstream.here import Here, Interpreter

NAMES: Final = ("actions/setup-python",)

_ARCHITECTURES: Final = {"x64": "X64", "x86": "X86", "arm64": "ARM64"}
_CACHE_FILES: Final = {
    "pip": ("**/requirements.txt", "**/pyproject.toml"),
    "pipenv": ("**/Pipfile.lock",),
    "poetry": ("**/poetry.lock",),
}
_PIP_VERSION: Final = re.compile(r"\d+(\.\d+)?(\.\d+)?")


def support(wanted: Wanted, here: Here) -> Support:
    """Say whether every interpreter that is asked for is here."""
    if lacks := _other_architecture(wanted.inputs.get("architecture") or "", here):
        return Support(lacks=lacks)
    named = wanted.inputs.get("python-version", "")
    if named is None:
        return Support(note="which Python is wanted is known only when the job runs")
    lines = [line.strip() for line in named.splitlines() if line.strip()]
    if not lines:
        if wanted.inputs.get("python-version-file", "") != "":
            return Support(note="which Python is wanted is known only when the job runs")
        default = _default(here)
        if default is None:
            return Support(lacks="a Python")
        return Support(note=_unset(default))
    missing: list[str] = []
    notes: list[str] = []
    for line in lines:
        try:
            interpreter = homes.wanted_interpreter(
                here,
                line,
                prereleases=_is_true(wanted.inputs.get("allow-prereleases")),
                free_threaded=_is_true(wanted.inputs.get("freethreaded")),
            )
        except LackingError as error:
            missing.append(str(error))
            continue
        if not python_versions.read_wanted(line).exact:
            notes.append(f"{line} is {interpreter.version} here")
    return Support(lacks="; ".join(missing), note="; ".join(notes))


def run(step: ActionStep) -> None:
    """Put the interpreters first on PATH, the last one named first of all."""
    if lacks := _other_architecture(step.input("architecture"), step.here):
        raise LackingError(lacks)
    update = step.flag("update-environment", default=True)
    step.flag("check-latest")
    for text, interpreter in _interpreters(step):
        if text and not python_versions.read_wanted(text).exact:
            step.note(f"{text} is {interpreter.version} here")
        home = homes.make_home(step, interpreter)
        if update:
            _update_environment(step, home)
        _set_outputs(step, home)
        step.say(f"Successfully set up {interpreter.kind} ({interpreter.version})")
        _install(step, home)
    _cache(step)


def _interpreters(step: ActionStep) -> Iterable[tuple[str, Interpreter]]:
    lines = step.lines("python-version")
    if not lines:
        lines = _from_file(step)
    found = [
        (
            line,
            homes.wanted_interpreter(
                step.here,
                line,
                prereleases=step.flag("allow-prereleases"),
                free_threaded=step.flag("freethreaded"),
            ),
        )
        for line in lines
    ]
    if found:
        return found
    default = _default(step.here)
    if default is None:
        raise LackingError("a Python")
    step.annotate(
        "warning",
        "The `python-version` input is not set. The version of Python currently in `PATH` will be used.",
    )
    step.note(_unset(default))
    return [("", default)]


def _from_file(step: ActionStep) -> tuple[str, ...]:
    named = step.input("python-version-file")
    said = step.ask('cat -- "$1"', named or ".python-version", cwd=step.cell.workspace)
    if said.exit_code != 0:
        if not named:
            return ()
        raise ActionFailedError(f"The specified python version file at: {named} doesn't exist.")
    try:
        return python_versions.versions_in_file(named or ".python-version", said.text)
    except ValueError as error:
        raise ActionFailedError(f"{named} cannot be read: {error}") from error


def _update_environment(step: ActionStep, home: homes.Home) -> None:
    folder = home.folder
    libraries = f"{folder}/lib"
    step.export("pythonLocation", folder)
    for name in ("Python_ROOT_DIR", "Python2_ROOT_DIR", "Python3_ROOT_DIR"):
        step.export(name, folder)
    if home.interpreter.kind != "cpython":
        step.export("PKG_CONFIG_PATH", f"{folder}/bin/lib/pkgconfig")
        step.add_path(folder)
        step.add_path(f"{folder}/bin")
        return
    step.export("PKG_CONFIG_PATH", f"{libraries}/pkgconfig")
    searched = step.env.get("LD_LIBRARY_PATH", "")
    if libraries not in searched.split(":"):
        step.export("LD_LIBRARY_PATH", f"{libraries}:{searched}" if searched else libraries)
    step.add_path(folder)
    step.add_path(f"{folder}/bin")


def _set_outputs(step: ActionStep, home: homes.Home) -> None:
    one = home.interpreter
    match one.kind:
        case "pypy":
            version = f"pypy{one.version}-{one.release}"
        case "graalpy":
            version = f"graalpy{one.release}"
        case _:
            version = one.version + ("t" if one.free_threaded else "")
    step.set_output("python-version", version)
    step.set_output("python-path", home.python)


def _install(step: ActionStep, home: homes.Home) -> None:
    """`pip-version`, and `pip-install` of 6.1 to 6.3."""
    pip = (home.python, "-m", "pip", "install")
    if version := step.input("pip-version"):
        if _PIP_VERSION.fullmatch(version) is None:
            raise ActionFailedError(
                f'Invalid pip-version "{version}". '
                "Please specify a version in the format major[.minor][.patch]."
            )
        quiet = ("--disable-pip-version-check", "--no-warn-script-location")
        step.run((*pip, "--upgrade", f"pip=={version}", *quiet))
    if packages := step.input("pip-install"):
        try:
            words = shlex.split(packages)
        except ValueError as error:
            raise ActionFailedError(f"pip-install cannot be read: {error}") from error
        step.run((*pip, *words))


def _cache(step: ActionStep) -> None:
    """`cache`: nothing is restored, since downloads are kept anyway; a missing lock file fails as upstream."""
    manager = step.input("cache")
    if not manager:
        return
    if manager not in _CACHE_FILES:
        raise ActionFailedError(f"Caching for '{manager}' is not supported")
    given = step.lines("cache-dependency-path")
    patterns = (
        (given, _CACHE_FILES["pip"][1:])
        if manager == "pip" and given
        else ((given,) if given else tuple((pattern,) for pattern in _CACHE_FILES[manager]))
    )
    if not any(not one.is_folder for lines in patterns for one in globber(step, lines).find(step)):
        shown = " or ".join(",".join(lines) for lines in patterns)
        raise ActionFailedError(
            f"No file in {step.cell.workspace} matched to [{shown}], "
            "make sure you have checked out the target repository"
        )
    kept = step.cell.env.get("PRESUBMIT_CACHES", "")
    if manager == "pip" and kept and not step.env.get("PIP_CACHE_DIR"):
        step.export("PIP_CACHE_DIR", posixpath.join(kept, "pip"))
    step.set_output("cache-hit", "false")


def _default(here: Here) -> Interpreter | None:
    return next((one for one in here.interpreters if one.pip), None)


def _unset(interpreter: Interpreter) -> str:
    return (
        f"python-version is not set: Python {interpreter.version} here, the runner's own upstream"
    )


def _other_architecture(wanted: str, here: Here) -> str:
    known = _ARCHITECTURES.get(wanted.strip().lower())
    if not wanted.strip() or known == here.arch:
        return ""
    return f"a Python for {wanted.strip()} (this is {here.arch.lower()})"


def _is_true(text: str | None) -> bool:
    return (text or "").strip() in {"true", "True", "TRUE"}
