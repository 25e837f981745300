"""What the actions of a job say for a recipe: its Python, its lint tools, and what is not taken over."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from presubmit.upstream.recipes.job_commands import action_of
from presubmit.upstream.recipes.recipe import CommandStep, NotTaken

if TYPE_CHECKING:
    from collections.abc import Sequence

    from presubmit.upstream.recipes.job_commands import StepScript

# Steps that presubmit stands in for itself, or that change nothing of the tests.
_USUAL_ACTIONS: Final = re.compile(
    r"actions/(?:checkout|setup-python|cache(?:/\w+)?|upload-artifact|github-script)|astral-sh/setup-uv"
    r"|hynek/setup-cached-uv|codecov/.*|step-security/harden-runner|egor-tensin/.*|coverallsapp/.*|codspeedhq/action"
    r"|pre-commit/action|re-actors/alls-green|pypa/hatch|mozilla-actions/sccache-action|hendrikmuhs/ccache-action"
)
_LINT_ACTIONS: Final = {
    "pre-commit/action": "pre-commit",
    "tox-dev/action-pre-commit-uv": "pre-commit",
    "j178/prek-action": "prek",
    "astral-sh/ruff-action": "ruff",
    "chartboost/ruff-action": "ruff",
    "psf/black": "black",
    "codespell-project/actions-codespell": "codespell",
    "crate-ci/typos": "typos",
    "jakebailey/pyright-action": "pyright",
    "zizmorcore/zizmor-action": "zizmor",
}


def lint_actions(steps: Sequence[StepScript], file: str) -> list[CommandStep]:
    """Give the lint tools that are called as actions."""
    found = []
    for step in steps:
        tool = _LINT_ACTIONS.get(action_of(step.uses), "")
        if step.uses and tool:
            arguments = step.inputs.get(
                "extra_args", step.inputs.get("extra-args", step.inputs.get("args", ""))
            )
            version = step.inputs.get("version", "")
            found.append(
                CommandStep(
                    origin=f"{file}:{step.line}",
                    tool=tool,
                    script="",
                    words=(tool, *arguments.split()),
                    arguments=tuple(arguments.split()),
                    requirement=f"{tool}=={version}" if re.fullmatch(r"\d[\w.]*", version) else "",
                )
            )
    return found


def unusual_actions(steps: Sequence[StepScript], file: str) -> list[NotTaken]:
    """Name the actions that do something which presubmit does not take over."""
    found: list[NotTaken] = []
    for step in steps:
        action = action_of(step.uses)
        if not action or _USUAL_ACTIONS.fullmatch(action) or action in _LINT_ACTIONS:
            continue
        why = "what another job made" if action == "actions/download-artifact" else "an action"
        found.append(NotTaken(origin=f"{file}:{step.line}", what=step.uses, why=why))
    return found


def python_of_job(steps: Sequence[StepScript], file: str) -> tuple[str, str]:
    """Give the Python that is set up last before the tests."""
    found = ("", "")
    for step in steps:
        action = action_of(step.uses)
        if action in {
            "actions/setup-python",
            "astral-sh/setup-uv",
            "conda-incubator/setup-miniconda",
            "deadsnakes/action",
        }:
            lines = step.inputs.get("python-version", "").split()
            if lines:
                # Of several, the last one is `python` (actions/setup-python, docs/advanced-usage.md).
                found = lines[-1], f"{file}:{step.line}"
    if not found[0]:
        versions = [s.env["UV_PYTHON"] for s in steps if s.env.get("UV_PYTHON")]
        found = (version_of(versions[0]), file) if versions else found
    return found


def version_of(text: str) -> str:
    """Give the version of `python3.12`, `3.12` or `pypy3.11`; empty where it names none."""
    found = re.fullmatch(r"(?:python|cpython)?-?@?(\d+(?:\.\d+)*t?(?:-dev)?)", text)
    return found.group(1) if found else (text if text.startswith(("pypy", "graalpy")) else "")
