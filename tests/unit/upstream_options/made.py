"""What is taken over from workflows out of text, as for a tree in git."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

from presubmit.config import Config, Sourced
from presubmit.upstream.event import EventFacts
from presubmit.upstream.here import Here, Interpreter
from presubmit.upstream_options import Taken, take
from presubmit.upstream_reading import read_upstream_of
from presubmit.upstream_taking import make_project
from presubmit.values import ChangedFile, FileStatus

if TYPE_CHECKING:
    from collections.abc import Mapping

PYPROJECT = """\
[project]
name = "proj"
version = "1"
[dependency-groups]
tests = ["pytest"]
dev = ["pytest", "pytest-xdist"]
[project.optional-dependencies]
test = ["pytest", "hypothesis"]
"""


class Texts:
    """A tree of texts."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self.files = {name: textwrap.dedent(text) for name, text in files.items()}
        self.blobs = {path: f"blob of {path}" for path in files}

    def data(self, path: str) -> bytes | None:
        """Give a file's content."""
        text = self.files.get(path)
        return None if text is None else text.encode()

    def text(self, path: str) -> str | None:
        """Give a file's text."""
        return self.files.get(path)


def image(*versions: str) -> Here:
    """Give an image with these interpreters, the default first."""
    return Here(
        interpreters=tuple(
            Interpreter(version=version, path=f"/opt/{version}/python") for version in versions
        )
    )


FACTS = EventFacts(
    repository="octo/proj",
    base_ref="main",
    base_sha="b" * 40,
    head_ref="topic",
    head_sha="c" * 40,
    merge_sha="d" * 40,
    title="",
    time=0,
    actor="octocat",
    files=(ChangedFile(path="src/a.py", status=FileStatus.MODIFIED),),
)


def taken(
    workflow: str | Mapping[str, str],
    files: Mapping[str, str] | None = None,
    *,
    here: Here | None = None,
    **config: Any,
) -> Taken:
    """Take over what the workflow (`ci.yml`, or several by name) says; `files` are what the tree has besides."""
    named = {"ci.yml": workflow} if isinstance(workflow, str) else workflow
    tree = Texts(
        {
            "pyproject.toml": PYPROJECT,
            **(files or {}),
            **{f".github/workflows/{name}": text for name, text in named.items()},
        }
    )
    sourced = Sourced(config=Config(**config), origins={})
    upstream = read_upstream_of(tree, sourced.config, event="pull_request", facts=FACTS, here=None)
    assert [str(p) for p in upstream.problems if not p.warning] == []
    project = make_project(tree, sourced, repository="octo/proj")
    return take(upstream.cells, upstream.steps, project, here=here)


def job(*steps: str, name: str = "tests", extra: str = "") -> str:
    """Give a workflow of one job with these `run` steps, whose first line is the eighth; `extra` comes before the steps."""
    lines = ["on: pull_request", "jobs:", f"  {name}:", "    runs-on: ubuntu-latest"]
    lines += [f"    {line}" for line in textwrap.dedent(extra).splitlines()]
    lines += ["    steps:", "      - uses: actions/checkout@v5"]
    for step in steps:
        lines += ["      - run: |", *(f"          {line}" for line in step.splitlines())]
    return "\n".join(lines) + "\n"
