"""hynek/build-and-inspect-python-package: builds sdist and wheel, keeps them as artifacts, checks them.

https://github.com/hynek/build-and-inspect-python-package: action.yml.
"""

from __future__ import annotations

import json
import posixpath
import re
from email.parser import Parser
from typing import TYPE_CHECKING, Final

from presubmit.replay.actions import artifacts, homes, pip_tools
from presubmit.replay.job.action import ActionFailedError, LackingError, Support

if TYPE_CHECKING:
    from email.message import Message

    from presubmit.replay.job.action import ActionStep, Wanted
    from presubmit.upstream.here import Here, Interpreter

NAMES: Final = ("hynek/build-and-inspect-python-package",)

DIST: Final = "/tmp/baipp/dist"  # noqa: S108 - the path that the action's output `dist` names
_TOOLS: Final = ("build", "twine", "check-wheel-contents", "wheel")
_CLASSIFIER: Final = re.compile(r"Programming Language :: Python :: (\d+)\.(\d+)")
_BUILD: Final = """
cd "$1" && python=$2 && dist=$3 && shift 3
SOURCE_DATE_EPOCH=$(git log -1 --pretty=%ct) && export SOURCE_DATE_EPOCH
rm -rf "$dist" && mkdir -p "$dist" && exec "$python" -m build --outdir "$dist" "$@"
"""
_UNPACK: Final = """
cd "$1" && python=$2 && mkdir -p out
for file in *.tar.gz; do
  [ -e "$file" ] && mkdir -p out/sdist && { tar xf "$file" -C out/sdist || exit 1; }
done
for file in *.whl; do
  [ -e "$file" ] && { "$python" -m wheel unpack --dest out/wheels "$file" || exit 1; }
done
for file in out/sdist/*/PKG-INFO out/wheels/*/*.dist-info/METADATA; do
  [ -e "$file" ] && { printf '%s\\n' "$file" >out/.metadata; break; }
done
exit 0
"""


def support(wanted: Wanted, here: Here) -> Support:
    """Say whether there is a Python to build with."""
    named = wanted.inputs.get("python-version", "")
    if named:
        try:
            homes.wanted_interpreter(here, named)
        except LackingError as error:
            return Support(lacks=str(error))
        return Support()
    lacks = pip_tools.lacks_python(here, "building the package")
    best = homes.best_interpreter(here)
    return Support(lacks=lacks, note=_default_note(best) if best is not None else "")


def run(step: ActionStep) -> None:
    """Build, upload, check, and tell what the metadata says."""
    skips = {part: step.flag(f"skip-{part}") for part in ("sdist", "wheel")}
    if all(skips.values()):
        raise ActionFailedError("skip-wheel and skip-sdist cannot both be 'true'.")
    home = _home(step)
    folder = posixpath.join(step.cell.workspace, step.input("path", "."))
    # Cells side by side share the host's own folder for temporary files, and no container's.
    dist = f"{step.cell.temp}/baipp/dist" if step.here.on_host else DIST
    kinds = ("--sdist",) if skips["wheel"] else ("--wheel",) if skips["sdist"] else ()
    _sh(step, _BUILD, folder, home.python, dist, *kinds, what="building the package")
    suffix = step.input("upload-name-suffix")
    step.set_output("dist", dist)
    step.set_output("artifact-name", f"Packages{suffix}")
    _upload(step, f"Packages{suffix}", f"{dist}/*")
    if not skips["wheel"]:
        check = 'exec "$1" "$2"/*.whl'
        command = f"{home.folder}/bin/check-wheel-contents"
        _sh(step, check, command, dist, what="check-wheel-contents", cwd=folder)
    check = 'exec "$1" -m twine check --strict "$2"/*'
    _sh(step, check, home.python, dist, what="twine check", cwd=folder)
    _sh(step, _UNPACK, dist, home.python, what="unpacking the package")
    place = step.ask('cat "$1/out/.metadata" 2>/dev/null', dist).text.strip()
    text = step.ask('cat "$1" 2>/dev/null', f"{dist}/{place}").text if place else ""
    metadata = Parser().parsestr(text)
    if metadata["Name"] is None:
        raise ActionFailedError("Package name is not set")
    _set_metadata(step, metadata)
    _upload(step, f"Package Metadata{suffix}", f"{dist}/{place}")
    step.note("the README of the package is not uploaded")


def supported_pythons(metadata: Message, *, free_threaded: bool) -> tuple[str, ...]:
    """List the Pythons that the classifiers name."""
    found: list[str] = []
    for classifier in metadata.get_all("Classifier", []):
        match = _CLASSIFIER.fullmatch(str(classifier))
        if match is not None:
            found.append(f"{match[1]}.{match[2]}")
            if free_threaded and (int(match[1]), int(match[2])) >= (3, 14):
                found.append(f"{match[1]}.{match[2]}t")
    return tuple(found)


def _set_metadata(step: ActionStep, metadata: Message) -> None:
    pythons = list(supported_pythons(metadata, free_threaded=step.flag("include-free-threaded")))
    step.set_output("package_name", str(metadata["Name"]))
    step.set_output("package_version", str(metadata.get("Version", "0.0.0")))
    step.set_output("supported_python_classifiers_json_array", json.dumps(pythons))
    step.set_output(
        "supported_python_classifiers_json_job_matrix_value",
        json.dumps({"python-version": pythons}),
    )


def _home(step: ActionStep) -> homes.Home:
    named = step.input("python-version")
    interpreter = (
        homes.wanted_interpreter(step.here, named) if named else homes.best_interpreter(step.here)
    )
    if interpreter is not None and not named:
        step.note(_default_note(interpreter))
    return pip_tools.install(step, *_TOOLS, interpreter=interpreter)


def _default_note(interpreter: Interpreter) -> str:
    return f"built with Python {interpreter.version}, the action's own default is another one"


def _upload(step: ActionStep, name: str, pattern: str) -> None:
    files = artifacts.search(step, (pattern,), hidden=False)
    if files.names:
        artifacts.save(step, name, files)


def _sh(step: ActionStep, script: str, *arguments: str, what: str, cwd: str | None = None) -> None:
    code = step.sh(script, *arguments, cwd=cwd, env=pip_tools.cache_env(step))
    if code != 0:
        raise ActionFailedError(f"{what} ended with exit code {code}")
