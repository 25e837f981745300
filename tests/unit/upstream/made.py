"""Workflows out of text, and the setting that they are judged in."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

from presubmit.upstream.action_file import read_action
from presubmit.upstream.event import EventFacts
from presubmit.upstream.forecast import forecast
from presubmit.upstream.here import Here, Interpreter
from presubmit.upstream.reader import read_workflow
from presubmit.upstream.setting import Setting
from presubmit.upstream.uses import Support, Wanted
from presubmit.values import ChangedFile, FileStatus

if TYPE_CHECKING:
    from collections.abc import Mapping

    from presubmit.upstream.cells import JobCell
    from presubmit.upstream.model import Workflow

HERE = Here(
    interpreters=(Interpreter(version="3.11.2", path="/usr/bin/python3"),),
    tools={"bash": "/bin/bash", "git": "/usr/bin/git"},
)


def facts(*paths: str, base: str = "main") -> EventFacts:
    """Give the facts of a pull request that changes these files."""
    files = tuple(
        ChangedFile(path=path, status=FileStatus.MODIFIED) for path in paths or ("a.py",)
    )
    return EventFacts(
        repository="octo/project",
        base_ref=base,
        base_sha="b" * 40,
        head_ref="topic",
        head_sha="c" * 40,
        merge_sha="d" * 40,
        title="Change a thing",
        time=0,
        actor="octocat",
        files=files,
    )


def support(wanted: Wanted, here: Here | None) -> Support:
    """Know checkout and an upload, and nothing else."""
    name = wanted.uses.partition("@")[0]
    if name == "actions/checkout":
        return Support()
    if name == "codecov/codecov-action":
        return Support(stub=True)
    if name == "actions/setup-python" and here is not None:
        version = wanted.inputs.get("python-version")
        known = version is None or any(i.version.startswith(version) for i in here.interpreters)
        return Support() if known else Support(lacks=f"Python {version}")
    return Support(lacks=f"action {name}")


def workflow(text: str, path: str = ".github/workflows/ci.yml") -> Workflow:
    """Read a workflow that must be right."""
    found, problems = read_workflow(textwrap.dedent(text).encode(), path)
    assert found is not None, [str(problem) for problem in problems]
    return found


def setting(files: Mapping[str, str] | None = None, **changes: Any) -> Setting:
    """Give a setting; `files` are what the tree has besides."""
    texts = {name: textwrap.dedent(text) for name, text in (files or {}).items()}

    def load(uses: str) -> Workflow | None:
        name = uses.removeprefix("./")
        return workflow(texts[name], name) if name in texts else None

    given: dict[str, Any] = {
        "event": "pull_request",
        "facts": facts(),
        "here": HERE,
        "support": support,
        "remote": lambda uses, *_: f"workflow {uses}",
        "remote_workflow": lambda *_: None,
        "load": load,
        "read_action": lambda uses: (
            read_action(texts[f"{uses.removeprefix('./')}/action.yml"].encode(), "action.yml")[0]
            if f"{uses.removeprefix('./')}/action.yml" in texts
            else None
        ),
        "read": texts.get,
    }
    return Setting(**{**given, **changes})


def cells(text: str, files: Mapping[str, str] | None = None, **changes: Any) -> dict[str, JobCell]:
    """Forecast one workflow; give the cells by id."""
    found = forecast([workflow(text)], setting(files, **changes))
    assert len({cell.id for cell in found}) == len(found)
    return {cell.id: cell for cell in found}


def states(text: str, files: Mapping[str, str] | None = None, **changes: Any) -> dict[str, str]:
    """Give what becomes of each cell."""
    return {name: str(cell.state) for name, cell in cells(text, files, **changes).items()}
