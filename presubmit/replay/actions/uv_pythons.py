"""Gives uv the Python that it would download upstream, out of those that the image has.

uv takes what stands in its own folder of Pythons before what is on PATH, so nothing is put there that upstream's uv
would not have fetched: only the one version that is asked for, and only where PATH does not have it.
"""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING, Final

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from presubmit.replay.actions import python_versions
from presubmit.replay.inside import script
from presubmit.replay.job.action import LackingError

if TYPE_CHECKING:
    from presubmit.replay.job.action import ActionStep
    from presubmit.upstream.here import Here, Interpreter

_REQUEST: Final = re.compile(
    r"(?:(?P<kind>cpython|python|pypy|graalpy)[@-]?)?(?P<version>\d+(?:\.\d+){0,2}(?:(?:a|b|rc)\d+)?)"
    r"(?P<threaded>t|\+freethreaded)?"
)
_MACHINES: Final = {"X64": "x86_64", "ARM64": "aarch64", "X86": "i686", "ARM": "armv7"}


def lacking(request: str, here: Here) -> str:
    """Say what is missing for a `python-version` of uv's; empty where it is here, or where that cannot be told."""
    if _is_unreadable(request) or _find(request, here) is not None:
        return ""
    match = _REQUEST.fullmatch(request.strip())
    if match is None:
        present = ", ".join(one.version for one in here.interpreters) or "no Python"
        return (
            f"Python {request} ({'this machine' if here.on_host else 'the image'} has {present})"
        )
    return python_versions.lacking(_wanted(match), here)


def provide(step: ActionStep, uv: str, request: str, *, folder: str, env: dict[str, str]) -> None:
    """Let uv find a Python for the request, else for the project in `folder`; raises LackingError."""
    find = '"$1" python find --no-python-downloads --directory "$2" >/dev/null 2>&1'
    if step.ask(find, uv, folder, env=env).exit_code == 0:
        return
    wanted = request or step.env.get("UV_PYTHON", "") or _of_project(step, folder)
    if not wanted or _is_unreadable(wanted):
        return
    interpreter = _find(wanted, step.here)
    if interpreter is None:
        raise LackingError(lacking(wanted, step.here))
    place = env.get("UV_PYTHON_INSTALL_DIR", "")
    if interpreter.kind != "cpython" or not place:
        return
    thread = "+freethreaded" if interpreter.free_threaded else ""
    machine = _MACHINES.get(step.here.arch, "x86_64")
    name = f"cpython-{interpreter.version}{thread}-linux-{machine}-gnu"
    made = step.ask(
        'exec 2>&1; mkdir -p "$2" && rm -rf "$2/$4" && exec "$1" -I -c "$3" "$2/$4"',
        *(interpreter.path, place, script("python_home"), name),
    )
    if made.exit_code != 0:
        raise LackingError(f"Python {interpreter.version} for uv: {made.text.strip()[-200:]}")


def _of_project(step: ActionStep, folder: str) -> str:
    """Read what a project asks of uv: `.python-version`, else `requires-python`."""
    said = step.ask('cat -- "$1/.python-version" 2>/dev/null', folder)
    pinned = python_versions.versions_in_file(".python-version", said.text)
    if said.exit_code == 0 and pinned:
        return pinned[0]
    said = step.ask('cat -- "$1/pyproject.toml" 2>/dev/null', folder)
    try:
        about = tomllib.loads(said.text).get("project", {})
    except tomllib.TOMLDecodeError:
        return ""
    return str(about.get("requires-python", "")) if isinstance(about, dict) else ""


def _find(request: str, here: Here) -> Interpreter | None:
    match = _REQUEST.fullmatch(request.strip())
    if match is not None:
        return python_versions.choose(_wanted(match), here.interpreters)
    try:
        wanted = SpecifierSet(request)
    except InvalidSpecifier:
        return None
    found = [
        (version, one)
        for one in here.interpreters
        if one.kind == "cpython" and not one.free_threaded
        if (version := _version(one)) is not None and wanted.contains(version)
    ]
    return max(found, key=lambda pair: pair[0], default=(None, None))[1]


def _wanted(match: re.Match[str]) -> python_versions.WantedPython:
    kind = match["kind"] if match["kind"] in {"pypy", "graalpy"} else ""
    return python_versions.read_wanted(
        f"{kind}{match['version']}",
        prereleases=True,
        free_threaded=match["threaded"] is not None,
    )


def _is_unreadable(request: str) -> bool:
    """Whether it is a path, a name like `cp312` or anything else that only uv itself can read."""
    if _REQUEST.fullmatch(request.strip()) is not None:
        return False
    try:
        SpecifierSet(request)
    except InvalidSpecifier:
        return True
    return False


def _version(interpreter: Interpreter) -> Version | None:
    try:
        return Version(interpreter.version)
    except InvalidVersion:
        return None
