"""Which variables of an upstream step the tests are given here.

The rule: a variable is for the tests unless something else reads it upstream. Those of installers and of whatever runs
the tests there would change what presubmit's own do; those that name a place or a service of the runner name nothing
here; and one that the step's own script uses is in the command already.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

_OF_TOOLS: Final = re.compile(
    r"(?:PIP|UV|POETRY|PDM|HATCH|PIPX|PIPENV|CONDA|MAMBA|MICROMAMBA|PIXI|RATTLER|VIRTUALENV|CIBW|NOX|TOX|ASV)_.+"
    r"|(?:.*_)?TOX(?:ENV|PYTHON|_.*)?|NOXSESSION|NOXPYTHON|VIRTUAL_ENV"
    r"|(?:PRE_COMMIT|PREK|SKIP_PRE_COMMIT|CCACHE|SCCACHE|ACTIONS|GITHUB|GH|RUNNER|DOCKER|COMPOSE|AZURE|AWS|GCP|NPM|NODE|DEBIAN|APT)_.+"
    r"|SKIP"  # of pre-commit
)
_OF_REPORTS: Final = re.compile(
    r"(?:COVERAGE|COV_CORE|CODECOV|COVERALLS|CODSPEED|CODACY|SONAR|ALLURE|DD)_.+|.*_COVERAGE_FILE"
)
_OF_LOADER: Final = re.compile(
    r"LD_.+|DYLD_.+|PYTHONHOME|PYTHONSTARTUP|PYTHONUSERBASE|PYTHON|PYTEST_PLUGINS"
)
_OF_COMPILER: Final = re.compile(
    r"C(?:PP|XX)?FLAGS|LDFLAGS|FFLAGS|CC|CXX|FC|AR|LD|RUSTFLAGS|ARCHFLAGS|MAKEFLAGS"
)
_COLOURS: Final = re.compile(r"\w*COLOR\w*|TERM")
# A path from the root or from the home, also inside a list: `/opt/x`, `a:/opt/x`, `-L/usr/lib`.
_PLACE: Final = re.compile(r"(?:^|[:;,=\s\"']|-[IL])[~/](?!$)")
_RUNNER: Final = re.compile(r"(?:ubuntu|windows|macos)(?:-[\w.-]+)?|linux|darwin", re.IGNORECASE)
_SERVICE: Final = re.compile(r"://|\blocalhost\b|\b127\.0\.0\.1\b|\b0\.0\.0\.0\b")
_NOT_KNOWN: Final = re.compile(r"\$[{\w]")

Left = dict[str, str]
"""What is left out, each with the reason."""


def for_tests(env: Mapping[str, str], scripts: Iterable[str]) -> tuple[dict[str, str], Left]:
    """Give the variables that the tests are run with, and those that are left out."""
    return _sorted_out(env, scripts, lambda _: "")


def for_build(env: Mapping[str, str], scripts: Iterable[str]) -> tuple[dict[str, str], Left]:
    """Give the variables that the project is built with.

    What compilers read is for the compiler of the runner (and for coverage); what the interpreter reads would reach
    presubmit's own installer, which runs in it.
    """

    def why(name: str) -> str:
        if _OF_COMPILER.fullmatch(name):
            return "read by the runner's compiler"
        return "read by the installer, too" if name.startswith("PYTHON") else ""

    others = {name: value for name, value in env.items() if not name.startswith("PYTEST")}
    return _sorted_out(others, scripts, why)


def _sorted_out(
    env: Mapping[str, str], scripts: Iterable[str], further: Callable[[str], str]
) -> tuple[dict[str, str], Left]:
    used = {name for text in scripts for name in re.findall(r"\$\{?(\w+)", text)}
    kept: dict[str, str] = {}
    left: Left = {}
    for name, value in env.items():
        if not value:
            continue  # nearly always another cell's
        why = _why_not(name, value) or further(name)
        if not why and name in used:
            why = "an argument of the job's own script"
        if why:
            left[name] = why
        else:
            kept[name] = value
    return kept, left


def _why_not(name: str, value: str) -> str:
    for pattern, why in _REASONS:
        if pattern.fullmatch(name):
            return why
    if _SERVICE.search(value):
        return "the tests reach no service"
    if _NOT_KNOWN.search(value):
        return "its value is not known"
    at_home = _PLACE.search(value) or _RUNNER.fullmatch(value)
    return "names upstream's runner, or a place on it" if at_home else ""


_REASONS: Final = (
    (_COLOURS, "colours"),
    (_OF_TOOLS, "read by what runs the tests upstream"),
    (_OF_REPORTS, "for a report of the whole suite"),
    (_OF_LOADER, "of upstream's interpreter"),
)
