"""Actions that install one linter by pip and run it: ruff, black, zizmor.

https://github.com/astral-sh/ruff-action, https://github.com/chartboost/ruff-action, https://github.com/psf/black,
https://github.com/zizmorcore/zizmor-action: action.yml of each.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from typing import TYPE_CHECKING, Final

from presubmit.replay.actions import pip_tools
from presubmit.replay.actions.globber import globber
from presubmit.replay.job.action import ActionFailedError, Support

if TYPE_CHECKING:
    from presubmit.replay.job.action import ActionStep, Wanted
    from presubmit.upstream.here import Here

NAMES: Final = (
    "astral-sh/ruff-action",
    "chartboost/ruff-action",
    "psf/black",
    "zizmorcore/zizmor-action",
)

_COMMITTED: Final = "a version of psf/black is its own release upstream, the newest here"


def support(wanted: Wanted, here: Here) -> Support:
    """Ask for some Python."""
    what = "zizmor" if "zizmor" in wanted.uses else "black" if "black" in wanted.uses else "ruff"
    return Support(lacks=pip_tools.lacks_python(here, what))


def run(step: ActionStep) -> None:
    """Install the linter and run it in the workspace."""
    match step.wanted.uses.partition("@")[0].lower():
        case "psf/black":
            _black(step)
        case "zizmorcore/zizmor-action":
            _zizmor(step)
        case "chartboost/ruff-action":
            home = pip_tools.install(step, pip_tools.requirement("ruff", step.input("version")))
            words = (*_words(step.input("args", "check")), *_words(step.input("src", ".")))
            step.run((f"{home.folder}/bin/ruff", *words), cwd=step.cell.workspace)
        case _:
            _ruff(step)


def _ruff(step: ActionStep) -> None:
    home = pip_tools.install(step, pip_tools.requirement("ruff", _ruff_version(step)))
    bin_folder = f"{step.cell.temp}/_presubmit/ruff"
    step.ask('mkdir -p "$2" && ln -sf "$1" "$2/ruff"', f"{home.folder}/bin/ruff", bin_folder)
    step.add_path(bin_folder)
    step.export("RUFF_OUTPUT_FORMAT", "github")
    said = step.ask('"$1" --version 2>/dev/null', f"{bin_folder}/ruff").text.split()
    step.set_output("ruff-version", said[1] if len(said) > 1 else "")
    words = (*_words(step.input("args", "check")), *_sources(step))
    step.run(
        (f"{bin_folder}/ruff", *words),
        cwd=step.cell.workspace,
        env={"RUFF_OUTPUT_FORMAT": "github"},
    )


def _ruff_version(step: ActionStep) -> str:
    """Give the version: the input, `version-file`, else the pyproject.toml of the source or above it."""
    if version := step.input("version"):
        return version
    named = step.input("version-file")
    src = (_words(step.input("src")) or (".",))[0]
    place = posixpath.normpath(posixpath.join(step.cell.workspace, src))
    places = [posixpath.join(step.cell.workspace, named)] if named else []
    while not named:
        places.append(f"{place}/pyproject.toml")
        if place in {step.cell.workspace, "/"}:
            break
        place = posixpath.dirname(place)
    for path in places:
        said = step.ask('cat -- "$1" 2>/dev/null', path)
        if said.exit_code == 0 and (found := ruff_in(path, said.text)) is not None:
            return found
    return ""


def ruff_in(name: str, text: str) -> str | None:
    """Read what a file asks of ruff; None where it does not name it."""
    if name.endswith(".toml"):
        return pip_tools.pinned_in_pyproject(text, "ruff")
    if name.endswith("uv.lock"):
        found = re.search(r'^name = "ruff"\nversion = "([^"]+)"', text, re.MULTILINE)
        return found[1] if found is not None else None
    found = re.search(r"^\s*ruff\s*((?:[=~<>!]=?=?[^;#\s]+)?)", text, re.MULTILINE)
    return found[1] if found is not None else None


def _sources(step: ActionStep) -> tuple[str, ...]:
    """Give what `src` names; patterns are those of @actions/glob."""
    found: list[str] = []
    for word in _words(step.input("src")) or (step.cell.workspace,):
        if re.search(r"[*?\[]", word) is None:
            found.append(word)
        else:
            found += [one.path for one in globber(step, [word]).find(step, descendants=False)]
    return tuple(found)


def _black(step: ActionStep) -> None:
    version = step.input("version")
    if step.flag("use_pyproject"):
        if version:
            raise ActionFailedError(
                "'with.version' and 'with.use_pyproject' inputs are mutually exclusive."
            )
        said = step.ask('cat -- "$1/pyproject.toml" 2>/dev/null', step.cell.workspace)
        if said.exit_code != 0:
            raise ActionFailedError("'with.use_pyproject' input requires a pyproject.toml file.")
        version = black_in(said.text)
    elif not version:
        step.note(_COMMITTED)
    project = "black[colorama,jupyter]" if step.flag("jupyter") else "black[colorama]"
    home = pip_tools.install(step, pip_tools.requirement(project, version))
    words = _words(step.input("black_args")) or (
        *_words(step.input("options", "--check --diff")),
        *_words(step.input("src", ".")),
    )
    step.run((f"{home.folder}/bin/black", *words), cwd=step.cell.workspace)


def black_in(text: str) -> str:
    """Read the version of black that a pyproject.toml asks for; raises ActionFailedError where it asks for none."""
    found = re.search(r"^\s*required-version\s*=\s*[\"']([^\"']+)[\"']", text, re.MULTILINE)
    if found is not None:
        return f"=={found[1]}" if "." in found[1] else f"~={found[1]}.0"
    pinned = pip_tools.pinned_in_pyproject(text, "black")
    if pinned is None:
        raise ActionFailedError("'black' dependency missing from pyproject.toml.")
    if not pinned:
        raise ActionFailedError(
            "Version specifier missing for 'black' dependency in pyproject.toml."
        )
    return pinned


def _zizmor(step: ActionStep) -> None:
    version = step.input("version", "latest")
    if version != "latest" and re.fullmatch(r"\d+\.\d+\.\d+", version) is None:
        raise ActionFailedError("'version' must be 'latest' or an exact X.Y.Z version")
    home = pip_tools.install(step, pip_tools.requirement("zizmor", version))
    words = [f"--persona={step.input('persona', 'regular')}", "--offline"]
    words += [
        f"--{name}={value}"
        for name in ("min-severity", "min-confidence")
        if (value := step.input(name))
    ]
    command = (f"{home.folder}/bin/zizmor", *words, "--", *_words(step.input("inputs", ".")))
    if step.flag("online-audits", default=True):
        step.note("audits that ask GitHub are left out")
    if not step.flag("advanced-security", default=True):
        step.run(command, cwd=step.cell.workspace)
        return
    # With SARIF zizmor ends well whatever it finds: the findings go to code scanning.
    code = step.sh('exec "$@"', *command, cwd=step.cell.workspace)
    if code not in {0, *range(10, 15)}:
        raise ActionFailedError(f"zizmor ended with exit code {code}")
    if code:
        step.note("findings go to GitHub's code scanning, they do not fail the job")


def _words(text: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise ActionFailedError(f"{text!r} cannot be split into words: {error}") from error
