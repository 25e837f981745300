"""astral-sh/setup-uv and hynek/setup-cached-uv: the image's uv, else one from the package index.

https://github.com/astral-sh/setup-uv: action.yml, src/setup-uv.ts, src/utils/inputs.ts;
https://github.com/hynek/setup-cached-uv: action.yml.
"""

from __future__ import annotations

import posixpath
import re
import tomllib
from typing import TYPE_CHECKING, Any, Final

from presubmit.replay.actions import pip_tools, semver, uv_pythons
from presubmit.replay.job.action import ActionFailedError, Support

if TYPE_CHECKING:
    from presubmit.replay.job.action import ActionStep, Wanted
    from presubmit.upstream.here import Here

NAMES: Final = ("astral-sh/setup-uv", "hynek/setup-cached-uv")

_PARTLY: Final = re.compile(r"(\d+(?:\.\d+)?)(?:\.[xX*])?")


def support(wanted: Wanted, here: Here) -> Support:
    """Say whether a uv can be had, and the Python that it is to use."""
    python = wanted.inputs.get("python-version", "")
    if python and (lacks := uv_pythons.lacking(python, here)):
        return Support(lacks=lacks)
    version = wanted.inputs.get("version", "")
    if version is not None and not _is_met(version, here):
        lacks = pip_tools.lacks_python(here, "uv")
        return Support(lacks=lacks, note="" if lacks else "uv comes from the package index")
    return Support(note=_latest_note(version or "", here))


def run(step: ActionStep) -> None:
    """Put uv on PATH and set its variables."""
    if step.wanted.uses.lower().startswith("hynek/"):
        _run_cached(step)
        return
    folder = _working_directory(step)
    uv = _uv(step, step.input("version") or _required_version(step, folder))
    step.set_output("uv-path", f"{uv}/uv")
    step.set_output("uvx-path", f"{uv}/uvx")
    modify = "UV_NO_MODIFY_PATH" not in step.env
    _set_tool_folders(step, folder, modify=modify)
    if modify:
        step.add_path(uv)
    pythons = step.env.get("UV_PYTHON_INSTALL_DIR") or f"{step.cell.temp}/uv-python-dir"
    step.export("UV_PYTHON_INSTALL_DIR", pythons)
    if modify:
        step.add_path(pythons)
    python = step.input("python-version")
    if python:
        step.export("UV_PYTHON", python)
    env = {"UV_PYTHON_INSTALL_DIR": pythons, **({"UV_PYTHON": python} if python else {})}
    uv_pythons.provide(step, f"{uv}/uv", python, folder=folder, env=env)
    if step.flag("activate-environment"):
        _activate(step, f"{uv}/uv", folder, env=env, modify=modify)
    _set_cache(step, folder)
    _set_versions(step, f"{uv}/uv", python, folder=folder, env=env)


def _run_cached(step: ActionStep) -> None:
    """hynek/setup-cached-uv: uv goes to where its installer puts it, and the cache is kept."""
    uv = _uv(step, "")
    home = step.env.get("HOME", "/")
    step.ask('mkdir -p "$2" && cp -P "$1/uv" "$1/uvx" "$2/"', uv, f"{home}/.local/bin")
    step.add_path(f"{home}/.local/bin")
    given = step.input("uv-cache-path", "NOT_SET")
    step.export("UV_CACHE_DIR", _kept_cache(step) if given == "NOT_SET" else given)
    pythons = step.env.get("UV_PYTHON_INSTALL_DIR") or f"{home}/.local/share/uv/python"
    env = {"UV_PYTHON_INSTALL_DIR": pythons}
    uv_pythons.provide(step, f"{uv}/uv", "", folder=step.cell.workspace, env=env)


def _uv(step: ActionStep, version: str) -> str:
    """Give a folder that holds `uv` and `uvx`, and nothing else that would come first on PATH."""
    if _is_met(version, step.here):
        source = step.here.tools["uv"]
        if note := _latest_note(version, step.here):
            step.note(note)
    else:
        home = pip_tools.install(step, _requirement(version))
        source = f"{home.folder}/bin/uv"
        step.note("uv comes from the package index")
    folder = f"{step.cell.temp}/_presubmit/uv"
    script = (
        'rm -rf "$2"; mkdir -p "$2" && ln -s "$1" "$2/uv" && '
        'if [ -e "${1%/*}/uvx" ]; then ln -s "${1%/*}/uvx" "$2/uvx"; else '
        'printf \'#!/bin/sh\\nexec "%s/uv" tool run "$@"\\n\' "$2" >"$2/uvx"; chmod 755 "$2/uvx"; fi'
    )
    step.ask(script, source, folder)
    return folder


def _is_met(version: str, here: Here) -> bool:
    """Whether the image's uv is one that is asked for."""
    present = semver.parse_version(here.versions.get("uv", ""))
    if present is None or "uv" not in here.tools:
        return False
    text = version.strip().removeprefix("==").replace(",", " ")
    if text in {"", "latest", "latest-known"}:
        return True
    wanted = semver.parse_range(text, loose=True)
    return wanted is not None and semver.satisfies(present, wanted)


def _latest_note(version: str, here: Here) -> str:
    present = here.versions.get("uv", "")
    asked = version.strip() in {"", "latest", "latest-known"}
    return f"uv is {present} here, the latest one upstream" if asked and present else ""


def _requirement(version: str) -> str:
    """Give the requirement for a uv: `0.5.x` and `0.5` are `==0.5.*`."""
    text = version.strip()
    if text in {"", "latest", "latest-known"}:
        return "uv"
    partly = _PARTLY.fullmatch(text)
    return f"uv=={partly[1]}.*" if partly is not None else pip_tools.requirement("uv", text)


def _required_version(step: ActionStep, folder: str) -> str:
    """Read `version-file`, else what uv.toml or pyproject.toml asks for."""
    named = step.input("version-file")
    for name in (named,) if named else ("uv.toml", "pyproject.toml"):
        said = step.ask('cat -- "$1" 2>/dev/null', posixpath.join(folder, name))
        if said.exit_code != 0 and named:
            raise ActionFailedError(f"Could not determine uv version from file: {named}")
        if said.exit_code != 0:
            continue
        found = _version_in(name, said.text)
        if found or named:
            return found
    return ""


def _version_in(name: str, text: str) -> str:
    base = posixpath.basename(name)
    if base == ".tool-versions":
        match = re.search(r"^\s*uv\s+(\S+)", text, re.MULTILINE)
        return match[1] if match else ""
    if not name.endswith((".toml", ".lock")):
        match = re.search(r"^\s*uv\s*((?:==|~=|>=|<=|<|>)[^;#\s]+)", text, re.MULTILINE)
        return match[1] if match else ""
    try:
        document: Any = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return ""
    if base == "uv.lock":
        packages = document.get("package", [])
        return next((str(one["version"]) for one in packages if one.get("name") == "uv"), "")
    table = document.get("tool", {}).get("uv", {}) if base == "pyproject.toml" else document
    found = str(table.get("required-version", "")) if isinstance(table, dict) else ""
    if not found and base == "pyproject.toml":
        found = pip_tools.pinned_in_pyproject(text, "uv") or ""
    return found


def _set_tool_folders(step: ActionStep, folder: str, *, modify: bool) -> None:
    env = step.env
    if given := step.input("tool-bin-dir"):
        place = _expanded(step, folder, given)
        step.export("UV_TOOL_BIN_DIR", place)
    elif "XDG_BIN_HOME" in env:
        place = env["XDG_BIN_HOME"]
    elif "XDG_DATA_HOME" in env:
        place = f"{env['XDG_DATA_HOME']}/../bin"
    else:
        place = f"{env.get('HOME', '')}/.local/bin"
    if modify:
        step.add_path(place)
    if given := step.input("tool-dir"):
        step.export("UV_TOOL_DIR", _expanded(step, folder, given))


def _activate(
    step: ActionStep, uv: str, folder: str, *, env: dict[str, str], modify: bool
) -> None:
    if not modify:
        raise ActionFailedError(
            "UV_NO_MODIFY_PATH and activate-environment cannot be used together."
        )
    place = posixpath.normpath(_expanded(step, folder, step.input("venv-path", ".venv")))
    more = ("--no-project",) if step.flag("no-project") else ()
    step.run((uv, "venv", place, "--directory", folder, "--clear", *more), env=env)
    step.add_path(f"{place}/bin")
    step.export("VIRTUAL_ENV", place)
    step.set_output("venv", place)


def _set_cache(step: ActionStep, folder: str) -> None:
    """Keep uv's cache between runs: what the real action carries over by GitHub's cache."""
    enabled = step.input("enable-cache", "auto") in {"auto", "true"}
    if given := step.input("cache-local-path"):
        step.export("UV_CACHE_DIR", _expanded(step, folder, given))
    elif enabled and "UV_CACHE_DIR" not in step.env:
        step.export("UV_CACHE_DIR", _kept_cache(step))
    if enabled:
        step.set_output("cache-hit", "false")


def _set_versions(
    step: ActionStep, uv: str, python: str, *, folder: str, env: dict[str, str]
) -> None:
    said = step.ask('"$1" --version 2>/dev/null', uv).text.split()
    version = said[1] if len(said) > 1 else ""
    step.set_output("uv-version", version)
    if not python:
        found = step.ask(
            '"$("$1" python find --no-python-downloads --directory "$2" 2>/dev/null)" --version 2>/dev/null',
            *(uv, folder),
            env=env,
        ).text.split()
        python = found[1] if len(found) > 1 else "unknown"
    step.set_output("python-version", python)
    step.say(f"Successfully installed uv version {version}")


def _kept_cache(step: ActionStep) -> str:
    kept = step.cell.env.get("PRESUBMIT_CACHES", "")
    return f"{kept}/uv" if kept else f"{step.cell.temp}/setup-uv-cache"


def _working_directory(step: ActionStep) -> str:
    return posixpath.normpath(posixpath.join(step.cell.workspace, step.input("working-directory")))


def _expanded(step: ActionStep, folder: str, path: str) -> str:
    if path.startswith("~"):
        path = step.env.get("HOME", "") + path[1:]
    return posixpath.join(folder, path)
