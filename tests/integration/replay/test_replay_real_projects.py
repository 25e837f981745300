"""Upstream CI of real projects, read whole out of their pinned sdists, and one tests cell of some replayed to green."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from tests.integration.run.conftest import read_sdist

if TYPE_CHECKING:
    from tests.integration.run.conftest import MakeProject, Project

PROJECTS = {
    "attrs": ("attrs==26.1.0", 14),
    "kiwisolver": ("kiwisolver==1.5.1", 43),
    "ujson": ("ujson==6.1.0", 32),
    "structlog": ("structlog==26.1.0", 13),
    "pywavelets": ("pywavelets==1.9.0", 16),
    "pluggy": ("pluggy==1.7.0", 15),
    "lz4": ("lz4==4.4.5", 37),
}
# What a reason for a cell that is not replayed must name.
NAMES_WHAT_IT_LACKS = (
    "runs-on ",
    "Python ",
    "PyPy ",
    "GraalPy ",
    "action ",
    "sudo",
    "container engine",
    "docker inside",
    "image ",
    "workflow ",
    "CodSpeed",
)


@pytest.fixture(scope="module")
def projects(make_project: MakeProject) -> dict[str, Project]:
    """Give the checkouts that were asked for so far."""
    return {}


def project(make_project: MakeProject, made: dict[str, Project], name: str) -> Project:
    """Give a project's checkout with a tag for setuptools-scm and a small change in a source."""
    if name not in made:
        requirement, _ = PROJECTS[name]
        read_sdist(requirement)
        made[name] = make_project(name, sdist=requirement)
        made[name].git("tag", f"v{requirement.partition('==')[2]}")
        made[name].git("tag", requirement.partition("==")[2])
    return made[name]


def change(of: Project, path: str) -> None:
    """Append a comment to a source file."""
    with (of.path / path).open("a") as source:
        source.write("\n# A change.\n")


@pytest.mark.parametrize("name", PROJECTS)
def test_every_cell_has_a_verdict_and_a_line(
    name: str,
    make_project: MakeProject,
    projects: dict[str, Project],
    in_container: tuple[str, ...],
) -> None:
    found = project(make_project, projects, name)
    change(found, "pyproject.toml")
    done = found.presubmit("plan", "--upstream", "--json", *in_container)
    found.git("checkout", "-q", "--", "pyproject.toml")
    assert done.exit_code == 0, done.output
    listed: dict[str, Any] = json.loads(done.output)
    cells = listed["cells"]
    assert len(cells) == PROJECTS[name][1]
    assert [cell["id"] for cell in cells if not cell["reason"] or not cell["line"]] == []
    lacking = [cell for cell in cells if cell["state"] == "not replayed"]
    unnamed = [
        (cell["id"], cell["reason"])
        for cell in lacking
        if not any(word in cell["reason"] for word in NAMES_WHAT_IT_LACKS)
    ]
    assert unnamed == []


@pytest.mark.parametrize(
    ("name", "path", "cell", "proof"),
    [
        ("pluggy", "src/pluggy/_hooks.py", "test.yml/test(name=ubuntu-py311)", " passed in "),
        (
            "kiwisolver",
            "py/kiwisolver/__init__.py",
            "ci.yml/tests(os=ubuntu-latest,python-version=3.11)",
            " passed in ",
        ),
        pytest.param(
            "ujson",
            "setup.py",
            "test.yml/test(python-version=3.11,os=ubuntu-latest)",
            " passed in ",
            marks=pytest.mark.skipif(
                os.environ.get("PRESUBMIT_LONG") != "1",
                reason="its leak check takes four minutes: PRESUBMIT_LONG=1 runs it",
            ),
        ),
    ],
)
def test_a_tests_cell_is_replayed_to_green(
    name: str,
    path: str,
    cell: str,
    proof: str,
    make_project: MakeProject,
    projects: dict[str, Project],
    in_container: tuple[str, ...],
) -> None:
    found = project(make_project, projects, name)
    change(found, path)
    done = found.presubmit("replay", cell, *in_container, "--output", "plain")
    found.git("checkout", "-q", "--", path)
    assert done.exit_code == 0, done.output
    step = next(s for s in done.run["steps"] if s["id"] == cell)
    assert (step["outcome"], step["role"]) == ("passed", "upstream")
    assert proof in (found.path / ".presubmit/last" / step["log"]).read_text()
