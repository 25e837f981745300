"""actions/setup-node, setup-go, setup-java and the Rust ones: the image's own toolchain, where it is the one wanted.

https://github.com/actions/setup-node, https://github.com/actions/setup-go, https://github.com/actions/setup-java,
https://github.com/dtolnay/rust-toolchain: action.yml and README of each.
"""

from __future__ import annotations

import json
import posixpath
import re
from typing import TYPE_CHECKING, Any, Final

import msgspec

from presubmit.replay.actions import semver
from presubmit.replay.job.action import ActionFailedError, LackingError, Support

if TYPE_CHECKING:
    from presubmit.replay.job.action import ActionStep, Wanted
    from presubmit.upstream.here import Here

_SETUPS: Final = ("actions/setup-node", "actions/setup-go", "actions/setup-java")
_RUST: Final = (
    "dtolnay/rust-toolchain",
    "actions-rs/toolchain",
    "actions-rust-lang/setup-rust-toolchain",
    "moonrepo/setup-rust",
)
NAMES: Final = (*_SETUPS, *_RUST)

_ALIASES: Final = {
    "node": ("latest", "current", "node", "lts/*"),
    "go": ("stable", "oldstable"),
    "java": ("latest",),
}
"""Versions that move with time: what is here is taken, and said."""
_CODENAMES: Final = {
    "fermium": 14,
    "gallium": 16,
    "hydrogen": 18,
    "iron": 20,
    "jod": 22,
    "krypton": 24,
}
_TITLES: Final = {"node": "Node", "go": "Go", "java": "Java", "rust": "Rust"}
_GO_DIRECTIVES: Final = (
    re.compile(r"^toolchain go(1\.\d+(?:\.\d+|rc\d+)?)", re.MULTILINE),
    re.compile(r"^go (\d+(?:\.\d+)*)", re.MULTILINE),
)
_TOOL_VERSIONS: Final = {"node": "nodejs", "go": "golang", "java": "java"}


class _Fit(msgspec.Struct, frozen=True, kw_only=True):
    """Whether what is here will do."""

    lacks: str = ""
    note: str = ""


def support(wanted: Wanted, here: Here) -> Support:
    """Say whether the image's toolchain is the one that is wanted."""
    tool = _tool(wanted.uses)
    if tool == "rust":
        fit = _rust_fit(_rust_toolchain(wanted.uses, wanted.inputs.get("toolchain")), here)
        return Support(lacks=fit.lacks, note=fit.note)
    version = wanted.inputs.get(f"{tool}-version", "")
    if version is None or (not version and wanted.inputs.get(f"{tool}-version-file", "") != ""):
        lacks = "" if tool in here.tools else _TITLES[tool]
        return Support(
            lacks=lacks, note=f"which {_TITLES[tool]} is wanted is known only when the job runs"
        )
    fit = check(tool, version, here)
    return Support(lacks=fit.lacks, note=fit.note)


def run(step: ActionStep) -> None:
    """Set the outputs and variables of a toolchain that is here."""
    tool = _tool(step.wanted.uses)
    if tool == "rust":
        fit = _rust_fit(_rust_toolchain(step.wanted.uses, step.input("toolchain")), step.here)
    else:
        version = step.input(f"{tool}-version")
        if not version and (named := step.input(f"{tool}-version-file")):
            version = _from_file(step, tool, named)
        fit = check(tool, version, step.here)
    if fit.lacks:
        raise LackingError(fit.lacks)
    if fit.note:
        step.note(fit.note)
    here = step.here.versions
    match tool:
        case "node":
            step.set_output("node-version", f"v{here.get('node', '')}")
        case "go":
            step.set_output("go-version", here.get("go", ""))
            step.set_output("go-path", step.here.tools["go"])
        case "java":
            _set_java(step)
        case _:
            step.set_output("name", step.input("toolchain", "stable"))
    if step.input("cache"):
        step.set_output("cache-hit", "false")
    step.say(f"{_TITLES[tool]} {here.get(tool, '')} is the image's own")


def check(tool: str, version: str, here: Here) -> _Fit:
    """Compare a version that is asked for with the one that is here."""
    title = _TITLES[tool]
    if tool not in here.tools:
        return _Fit(lacks=title)
    present = here.versions.get(tool, "")
    wanted = version.strip().strip("'\"").lower()
    if not wanted:
        return _Fit(note=f"{title} is {present} here, the runner's own upstream")
    if wanted in _ALIASES[tool]:
        return _Fit(note=f"{wanted} is {present} here")
    wanted = str(_CODENAMES.get(wanted.removeprefix("lts/"), wanted))
    found, spec = semver.parse_version(present), semver.parse_range(wanted.removeprefix("go"))
    if found is None or spec is None or not semver.satisfies(found, spec):
        place = "this machine" if here.on_host else "the image"
        return _Fit(lacks=f"{title} {version.strip()} ({place} has {present or 'another'})")
    plain = re.fullmatch(r"v?\d+(\.\d+)*(\.x)?", wanted) is not None
    return _Fit(note="" if plain else f"{version.strip()} is {present} here")


def _tool(uses: str) -> str:
    name = uses.partition("@")[0].lower()
    return name.removeprefix("actions/setup-") if name in _SETUPS else "rust"


def _set_java(step: ActionStep) -> None:
    """JAVA_HOME and its kin, from where `java` really lies."""
    said = step.ask('readlink -f "$1"', step.here.tools["java"])
    place = posixpath.dirname(posixpath.dirname(said.text.strip()))
    version = step.here.versions.get("java", "")
    if step.flag("set-default", default=True):
        step.export("JAVA_HOME", place)
        step.add_path(f"{place}/bin")
    major = version.split(".")[0]
    step.export(f"JAVA_HOME_{major}_{step.here.arch.upper()}", place)
    distribution = step.input("distribution")
    step.set_output("distribution", distribution)
    step.set_output("version", version)
    step.set_output("path", place)
    if distribution:
        step.note(f"Java {version} is the image's own, not {distribution}'s")


def _from_file(step: ActionStep, tool: str, named: str) -> str:
    said = step.ask('cat -- "$1" 2>/dev/null', posixpath.join(step.cell.workspace, named))
    if said.exit_code != 0:
        raise ActionFailedError(f"The specified {tool} version file at: {named} does not exist")
    return version_in(tool, named, said.text)


def version_in(tool: str, name: str, text: str) -> str:
    """Read the version that a file asks for; empty where it asks for none."""
    base = posixpath.basename(name)
    if base in {"go.mod", "go.work"}:
        matches = (pattern.search(text) for pattern in _GO_DIRECTIVES)
        return next((match[1] for match in matches if match is not None), "")
    if base == ".tool-versions":
        found = re.search(rf"^{_TOOL_VERSIONS[tool]}\s+(\S+)", text, re.MULTILINE)
        return found[1] if found is not None else ""
    if base == "package.json":
        return _from_package(text)
    found = re.search(r"^(?:node(?:js)?\s+)?v?(\S+)$", text.strip(), re.MULTILINE)
    return found[1] if found is not None else text.strip()


def _from_package(text: str) -> str:
    """Read package.json: `volta`, then `devEngines`, then `engines`."""
    try:
        document: Any = json.loads(text)
    except ValueError:
        return ""
    if not isinstance(document, dict):
        return ""
    volta = document.get("volta")
    if isinstance(volta, dict) and volta.get("node"):
        return str(volta["node"])
    engines = document.get("devEngines")
    runtimes = engines.get("runtime", []) if isinstance(engines, dict) else []
    for one in runtimes if isinstance(runtimes, list) else [runtimes]:
        if isinstance(one, dict) and str(one.get("name")).lower() == "node" and one.get("version"):
            return str(one["version"])
    plain = document.get("engines")
    return str(plain.get("node", "")) if isinstance(plain, dict) else ""


def _rust_toolchain(uses: str, named: str | None) -> str:
    """Give the toolchain: an input, else (dtolnay/rust-toolchain) what stands behind the `@`."""
    if named or not uses.lower().startswith("dtolnay/"):
        return named or "stable"
    ref = uses.rpartition("@")[2]
    return "stable" if ref in {"master", "v1"} or re.fullmatch(r"[0-9a-f]{40}", ref) else ref


def _rust_fit(toolchain: str, here: Here) -> _Fit:
    if "cargo" not in here.tools:
        return _Fit(lacks="Rust")
    present = here.versions.get("rust", "")
    if toolchain == "stable":
        return _Fit(note=f"stable is Rust {present} here")
    spec, found = semver.parse_range(toolchain), semver.parse_version(present)
    if spec is None or found is None or not semver.satisfies(found, spec):
        place = "this machine" if here.on_host else "the image"
        return _Fit(lacks=f"Rust {toolchain} ({place} has {present or 'another'})")
    return _Fit()
