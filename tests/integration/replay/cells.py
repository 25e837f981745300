"""Cells for tests: a change with its origin and sources, and a checkout step that runs on the host or in a box."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

from presubmit.change import read_change, read_repository
from presubmit.replay.job.action import ActionFailedError, Said
from presubmit.replay.job.origin import Origin, make_origin
from presubmit.replay.job.values import CellAssignment
from presubmit.upstream.here import Here
from presubmit.upstream.uses import Wanted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from presubmit.container.model import Box, ExecResult
    from presubmit.replay.job.workspace import Workspace
    from tests.conftest import Repo

NAME = "owner/project"
LABELS: dict[str, Any] = {"run": f"test-{os.getpid()}", "repo": "repo"}


def origin_of(repo: Repo | Path, cache: Path, *, base: str = "upstream/main") -> Origin:
    """Make the origin for what is checked out."""
    repository = read_repository(repo if isinstance(repo, Path) else repo.path)
    change = read_change(repository, base=base, environ={})
    return make_origin(repository, change, cache=cache, name=NAME)


def files_of(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Everything below a folder, byte for byte, with modes."""
    found: dict[str, tuple[int, bytes]] = {}
    for path in sorted(folder.rglob("*")):
        mode = path.lstat().st_mode
        data = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
        found[str(path.relative_to(folder))] = (mode, data)
    return found


class HostStep:
    """A use of actions/checkout whose commands run on the host."""

    def __init__(self, workspace: Workspace, origin: Origin, **inputs: str) -> None:
        self.wanted = Wanted(
            uses="actions/checkout@v4",
            inputs={name.replace("_", "-"): value for name, value in inputs.items()},
            repository=NAME,
        )
        self.cell = assignment(workspace, origin)
        self.here = Here(tools={"git": "/usr/bin/git"})
        # The cell's own configuration is in force, as in a box; that of the tests is not.
        given = {"GIT_CONFIG_NOSYSTEM": "0", "GIT_CONFIG_GLOBAL": os.devnull}
        self.env = {**os.environ, **given, **workspace.env}
        self.state: dict[str, str] = {}
        self.outputs: dict[str, str] = {}
        self.notes: list[str] = []
        self.log: list[str] = []

    def input(self, name: str, default: str = "") -> str:
        return (self.wanted.inputs.get(name) or "").strip() or default

    def flag(self, name: str, *, default: bool = False) -> bool:
        return self.input(name, str(default)).lower() == "true"

    def lines(self, name: str) -> tuple[str, ...]:
        return tuple(line.strip() for line in self.input(name).splitlines() if line.strip())

    def sh(
        self,
        script: str,
        *arguments: str,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
    ) -> int:
        return self._call(("sh", "-e", "-c", script, "sh", *arguments), cwd, env).exit_code

    def run(
        self, argv: Sequence[str], *, cwd: str | None = None, env: Mapping[str, str] | None = None
    ) -> None:
        self.log.append(" ".join(argv))
        said = self._call(argv, cwd, env)
        if said.exit_code:
            raise ActionFailedError(f"{' '.join(argv)}: {said.text}")

    def ask(
        self,
        script: str,
        *arguments: str,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
    ) -> Said:
        return self._call(("sh", "-e", "-c", script, "sh", *arguments), cwd, env)

    def say(self, text: str) -> None:
        self.log.append(text)

    def annotate(self, level: str, message: str) -> None:
        self.log.append(f"{level}: {message}")

    def set_output(self, name: str, value: str) -> None:
        self.outputs[name] = value

    def export(self, name: str, value: str) -> None:
        raise NotImplementedError

    def add_path(self, folder: str) -> None:
        raise NotImplementedError

    def add_mask(self, secret: str) -> None:
        raise NotImplementedError

    def note(self, text: str) -> None:
        self.notes.append(text)

    def _call(self, argv: Sequence[str], cwd: str | None, env: Mapping[str, str] | None) -> Said:
        done = subprocess.run(
            argv,
            cwd=cwd or self.cell.workspace,
            env={**self.env, **(env or {})},
            capture_output=True,
            check=False,
        )
        return Said(exit_code=done.returncode, text=(done.stdout or done.stderr).decode())


class BoxStep(HostStep):
    """The same, in a box."""

    def __init__(
        self, box: Box, log: Path, workspace: Workspace, origin: Origin, **inputs: str
    ) -> None:
        super().__init__(workspace, origin, **inputs)
        self._box = box
        self._path = log

    def _call(self, argv: Sequence[str], cwd: str | None, env: Mapping[str, str] | None) -> Said:
        done = self._box.exec(
            argv, log=self._path, timeout=60, cwd=cwd or self.cell.workspace, env=env
        )
        return Said(exit_code=done.exit_code or 0, text=done.tail)


def assignment(workspace: Workspace, origin: Origin) -> CellAssignment:
    """What a session would be given."""
    event: dict[str, Any] = {"pull_request": {"head": {"repo": {"full_name": "me/project"}}}}
    return CellAssignment(
        cell="ci.yml/tests",
        box="",
        tree="",
        workflow=".github/workflows/ci.yml",
        job="tests",
        github={
            "repository": NAME,
            "ref": "refs/pull/0/merge",
            "sha": origin.merge,
            "event": event,
        },
        workspace=workspace.path,
        temp=workspace.temp,
        host_temp=str(workspace.host_temp),
        tools="",
        host_tools="",
        origin=workspace.origin,
        artifacts="",
        caches="",
        laid=workspace.laid,
        here=Here(),
        folder="",
        name="tests",
        events="",
    )


def lines(result: ExecResult) -> list[str]:
    """What a command printed; it must have succeeded."""
    assert result.ok, result
    return [line for line in result.tail.splitlines() if line]
