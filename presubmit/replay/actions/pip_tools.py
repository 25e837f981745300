"""Installs Python tools for a substitute's own use, apart from what the job installs."""

from __future__ import annotations

import hashlib
import re
import tomllib
from typing import TYPE_CHECKING, Any, Final

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from presubmit.replay.actions import homes
from presubmit.replay.job.action import LackingError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from presubmit.replay.job.action import ActionStep
    from presubmit.upstream.here import Here, Interpreter

_VERSION: Final = re.compile(r"v?(\d[\w.!+]*)")


def lacks_python(here: Here, what: str) -> str:
    """Say what is missing for a tool that pip installs; empty where nothing is."""
    return "" if homes.best_interpreter(here) is not None else f"a Python with pip for {what}"


def install(
    step: ActionStep, *requirements: str, interpreter: Interpreter | None = None
) -> homes.Home:
    """Install tools from the package index; raises LackingError where that cannot be done.

    Each set gets a Python of its own; the downloads are kept, not the installation, since `latest` is to be the latest.
    """
    chosen = interpreter or homes.best_interpreter(step.here)
    what = " and ".join(requirements)
    if chosen is None:
        raise LackingError(f"a Python with pip for {what}")
    digest = hashlib.sha256("\n".join(requirements).encode()).hexdigest()[:12]
    home = homes.make_home(step, chosen, purpose=f"tools-{digest}")
    command = (
        *(home.python, "-I", "-m", "pip", "--no-input", "--disable-pip-version-check"),
        *("install", "--quiet", "--upgrade", "--no-warn-script-location", *requirements),
    )
    said = step.ask('exec "$@" 2>&1', *command, env=cache_env(step), cwd=step.cell.temp)
    if said.exit_code != 0:
        step.say(said.text)
        raise LackingError(f"{what} from the package index: {_reason(said.text)}")
    return home


def cache_env(step: ActionStep) -> dict[str, str]:
    """Give the variables that let pip keep its downloads between runs."""
    kept = step.cell.env.get("PRESUBMIT_CACHES", "")
    if not kept or step.env.get("PIP_CACHE_DIR"):
        return {}
    return {"PIP_CACHE_DIR": f"{kept}/pip"}


def requirement(project: str, version: str) -> str:
    """Give a requirement for a `version` input: `1.2.3`, `v1.2`, `>=1.2`, `latest` or nothing."""
    version = version.strip()
    if version in {"", "latest"}:
        return project
    exact = _VERSION.fullmatch(version)
    return f"{project}=={exact[1]}" if exact is not None else f"{project}{version}"


def pinned_in_pyproject(text: str, project: str) -> str | None:
    """Give the version specifier that a pyproject.toml asks of a tool, empty where it names none; None: not there."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None
    wanted = canonicalize_name(project)
    for line in _requirements(document):
        try:
            found = Requirement(line)
        except InvalidRequirement:
            continue
        if canonicalize_name(found.name) == wanted:
            return str(found.specifier)
    return None


def _requirements(document: dict[str, Any]) -> Iterator[str]:
    about = document.get("project", {})
    extras = about.get("optional-dependencies", {}) if isinstance(about, dict) else {}
    groups = document.get("dependency-groups", {})
    lists = [
        about.get("dependencies", []) if isinstance(about, dict) else [],
        *(extras.values() if isinstance(extras, dict) else ()),
        *(groups.values() if isinstance(groups, dict) else ()),
    ]
    for entries in lists:
        for entry in entries if isinstance(entries, list) else ():
            if isinstance(entry, str):
                yield entry


def _reason(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR")]
    return (errors or lines or ["it said nothing"])[-1][:200]
