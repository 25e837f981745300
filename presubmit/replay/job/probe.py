"""Looks at what a box has to replay jobs with: interpreters, tools, architecture. One command, kept by image."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Any, Final

import msgspec

from presubmit.errors import ImageError
from presubmit.upstream.here import Here, Interpreter
from presubmit.values import decode, encode

if TYPE_CHECKING:
    from pathlib import Path

    from presubmit.container.model import Box

_TOOLS: Final = (
    *("bash", "git", "sudo", "apt-get", "tar", "zstd", "xz", "unzip", "zip", "jq", "curl", "wget"),
    *(
        "gcc",
        "g++",
        "cc",
        "c++",
        "clang",
        "clang++",
        "gfortran",
        "make",
        "cmake",
        "ninja",
        "meson",
    ),
    *("ccache", "sccache", "pkg-config", "swig", "patchelf", "gdb", "valgrind", "lcov"),
    *(
        "node",
        "npm",
        "npx",
        "yarn",
        "pnpm",
        "java",
        "mvn",
        "gradle",
        "go",
        "cargo",
        "rustc",
        "rustup",
    ),
    *("uv", "uvx", "pip", "pipx", "poetry", "pdm", "hatch", "tox", "nox", "pre-commit", "ruff"),
    *("conda", "mamba", "micromamba", "pixi", "pyenv", "docker", "podman", "gh", "pwsh", "ruby"),
    *("perl", "php", "R", "Rscript", "julia", "dotnet", "nvcc", "nvidia-smi", "xvfb-run"),
)
_PYTHON: Final = r"""
import json, os, sys, sysconfig
try:
    import importlib.util as finder
    def has(name):
        try:
            return finder.find_spec(name) is not None
        except Exception:
            return False
except Exception:
    def has(name):
        return False
def text(info):
    level = {"alpha": "a", "beta": "b", "candidate": "rc"}.get(info[3])
    return "%d.%d.%d" % tuple(info[:3]) + ("%s%d" % (level, info[4]) if level else "")
kind = sys.implementation.name
own = getattr(sys, "pypy_version_info", None) or (sys.implementation.version if kind != "cpython" else None)
wheels = [sysconfig.get_config_var("WHEEL_PKG_DIR") or "/usr/share/python-wheels"]
offered = any(os.path.isdir(w) and any(n.startswith("pip-") for n in os.listdir(w)) for w in wheels)
print("here python " + json.dumps({
    "version": text(sys.version_info), "kind": kind, "release": text(own) if own else "",
    "free": bool(sysconfig.get_config_var("Py_GIL_DISABLED")), "pip": has("ensurepip") or has("pip") or offered,
    "path": sys.executable, "base": getattr(sys, "_base_executable", None) or sys.executable,
}))
"""
# $1 what each Python is asked, then the tools that are looked for. Every line of ours begins with `here `.
_SCRIPT: Final = r"""
ask=$1; shift
say() { printf 'here %s\n' "$*"; }
say arch "$(uname -m 2>/dev/null)"
say system "$(uname -s 2>/dev/null)"
say uid "$(id -u 2>/dev/null)"
while read -r key value; do [ "$key" = CapEff: ] && say caps "$value"; done 2>/dev/null </proc/self/status
for tool in "$@"; do
  place=$(command -v "$tool" 2>/dev/null) || continue
  case $place in /*) say tool "$tool" "$place" ;; esac
done
first() { "$@" 2>&1 | head -n 3 | tr '\n' ' '; }
for tool in node git uv rustc; do
  command -v $tool >/dev/null 2>&1 && say version $tool "$(first $tool --version)"
done
command -v go >/dev/null 2>&1 && say version go "$(first go version)"
command -v java >/dev/null 2>&1 && say version java "$(first java -version)"
seen=:
look() {
  [ -f "$1" ] && [ -x "$1" ] || return 0
  case ${1##*/} in *-config|*-gdb|*-*) return 0 ;; esac
  case $seen in *":$1:"*) return 0 ;; esac
  seen=$seen$1:
  "$1" -I -c "$ask" 2>/dev/null </dev/null
}
for name in python3 python; do
  place=$(command -v $name 2>/dev/null) && look "$place"
done
old=$IFS; IFS=:
for folder in $PATH; do
  IFS=$old
  case $folder in */shims) continue ;; esac
  for place in "$folder"/python3.* "$folder"/pypy3* "$folder"/graalpy*; do look "$place"; done
done
IFS=$old
for folder in /usr/bin /usr/local/bin /opt/python/*/bin /opt/hostedtoolcache/Python/*/*/bin \
  /opt/hostedtoolcache/PyPy/*/*/bin "${PYENV_ROOT:-$HOME/.pyenv}"/versions/*/bin /opt/pyenv/versions/*/bin \
  "${UV_PYTHON_INSTALL_DIR:-${XDG_DATA_HOME:-$HOME/.local/share}/uv/python}"/*/bin /opt/conda/bin /opt/conda/envs/*/bin; do
  for place in "$folder"/python3 "$folder"/python3.* "$folder"/pypy3* "$folder"/graalpy*; do look "$place"; done
done
say end
"""
_MACHINES: Final = {"x86_64": "X64", "amd64": "X64", "aarch64": "ARM64", "arm64": "ARM64"}
_SYSTEMS: Final = {"Linux": "Linux", "Darwin": "macOS"}
# CHOWN, DAC_OVERRIDE, SETGID, SETUID (capabilities(7)): what apt-get and sudo cannot do without.
_ROOT_RIGHTS: Final = 1 << 0 | 1 << 1 | 1 << 6 | 1 << 7
_VERSION: Final = re.compile(r"\d+(?:\.\d+)+(?:[-_.+]?(?:a|b|rc|alpha|beta)\.?\d+)?|\d+")


def probe(box: Box, *, log: Path, timeout: float = 120.0) -> Here:
    """Look into a box; raises ImageError where not even that is possible."""
    said: list[str] = []
    result = box.exec(
        ("sh", "-c", _SCRIPT, "sh", _PYTHON, *_TOOLS),
        log=log,
        timeout=timeout,
        on_output=said.append,
    )
    here = parse("".join(said), on_host=box.id.startswith("host:"))
    if here is None:
        why = result.reason or result.tail.strip()[-300:] or f"exit code {result.exit_code}"
        raise ImageError(
            f"the image cannot be looked at: {why}",
            hint="Take a devel image: `presubmit image build`.",
        )
    return here


def parse(text: str, *, on_host: bool) -> Here | None:
    """Read what the script printed; None where it did not reach its end."""
    facts: dict[str, str] = {}
    tools: dict[str, str] = {}
    versions: dict[str, str] = {}
    interpreters: list[Interpreter] = []
    for line in text.splitlines():
        words = line.split(" ", 2)
        match words:
            case ["here", "tool", rest]:
                name, _, place = rest.partition(" ")
                tools[name] = place
            case ["here", "version", rest]:
                name, _, said = rest.partition(" ")
                if (version := _version_in(name, said)) != "":
                    versions["rust" if name == "rustc" else name] = version
            case ["here", "python", rest]:
                interpreters += _interpreter(rest)
            case ["here", name, *rest]:
                facts[name] = " ".join(rest)
            case _:
                continue
    if "end" not in facts:
        return None
    return Here(
        interpreters=_distinct(interpreters),
        tools=tools,
        versions=versions,
        arch=_machine(facts.get("arch", "")),
        system=_SYSTEMS.get(facts.get("system", ""), "Windows"),
        root=facts.get("uid") == "0" and _has_rights(facts.get("caps", "")),
        on_host=on_host,
    )


def read_here(cache: Path, image_id: str) -> Here | None:
    """Give what a box of this image had when it was last looked at; None where nobody looked, or it is damaged."""
    try:
        return decode(_place(cache, image_id).read_bytes(), Here)
    except (OSError, ValueError, msgspec.MsgspecError):
        return None


def write_here(cache: Path, image_id: str, here: Here) -> None:
    """Keep what a box of an image has, in one step."""
    path = _place(cache, image_id)
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    scratch.write_bytes(encode(here))
    scratch.replace(path)


def _place(cache: Path, image_id: str) -> Path:
    return cache / "here" / (re.sub(r"[^A-Za-z0-9._-]", "-", image_id) + ".json")


def _interpreter(text: str) -> list[Interpreter]:
    """Read one Python's answer; nothing where it is not one."""
    try:
        told: Any = json.loads(text)
        one = Interpreter(
            version=str(told["version"]),
            path=str(told["path"]),
            kind=str(told["kind"]),
            free_threaded=bool(told["free"]),
            release=str(told["release"]),
            pip=bool(told["pip"]),
        )
    except (ValueError, KeyError, TypeError):
        return []
    return [one] if one.path.startswith("/") else []


def _distinct(found: list[Interpreter]) -> tuple[Interpreter, ...]:
    """Drop those that are the same by their version and kind: `python3` is `python3.11` again."""
    kept: dict[tuple[str, str, bool], Interpreter] = {}
    for one in found:
        key = (one.kind, one.version, one.free_threaded)
        if key not in kept or (one.pip and not kept[key].pip):
            kept[key] = one
    return tuple(kept.values())


def _version_in(name: str, said: str) -> str:
    """Find the version in what a tool says: `go version go1.22.1 linux/amd64`, `openjdk version "17.0.11" …`."""
    text = said.partition("version")[2] if name == "java" else said
    match = _VERSION.search(text)
    return match[0].replace("_", "+") if match is not None else ""


def _machine(text: str) -> str:
    if text in _MACHINES:
        return _MACHINES[text]
    return "ARM" if text.startswith("arm") else "X86" if re.fullmatch(r"i\d86", text) else "X64"


def _has_rights(caps: str) -> bool:
    """Whether root has a root's rights; a system without capabilities has no other root."""
    try:
        return not caps or int(caps, 16) & _ROOT_RIGHTS == _ROOT_RIGHTS
    except ValueError:
        return False
