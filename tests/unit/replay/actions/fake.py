"""A hand-written ActionStep: its commands are real processes in folders of the test's own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from presubmit.replay.job.action import ActionFailedError, Said, Wanted
from presubmit.replay.job.values import CellAssignment
from presubmit.upstream.here import Here, Interpreter

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

BASE = sys.base_prefix
PYTHON = "{}.{}.{}".format(*sys.version_info[:3])
INTERPRETER = Interpreter(version=PYTHON, path=os.path.realpath(sys.executable), kind="cpython")
HERE = Here(
    interpreters=(INTERPRETER,),
    tools={"bash": "/bin/bash", "git": "/usr/bin/git", "tar": "/bin/tar"},
    versions={"git": "2.39.5"},
)


class FakeStep:
    """One use of an action; what it sets is kept in plain attributes."""

    def __init__(
        self,
        folder: Path,
        uses: str = "owner/name@v1",
        inputs: Mapping[str, str] | None = None,
        *,
        here: Here = HERE,
        env: Mapping[str, str] | None = None,
        github: Mapping[str, Any] | None = None,
    ) -> None:
        self.folder = folder
        for name in ("workspace", "temp", "tools", "artifacts", "caches", "home", "out"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        self.wanted = Wanted(uses=uses, inputs=dict(inputs or {}), repository="owner/project")
        self.here = here
        self.cell = CellAssignment(
            cell="ci.yml/tests",
            box="host:{}",
            tree=str(folder / "workspace"),
            workflow=".github/workflows/ci.yml",
            job="tests",
            github=dict(github or {"repository": "owner/project", "run_id": "7"}),
            workspace=str(folder / "workspace"),
            temp=str(folder / "temp"),
            host_temp=str(folder / "temp"),
            tools=str(folder / "tools"),
            host_tools=str(folder / "tools"),
            origin=str(folder / "origin.git"),
            artifacts=str(folder / "artifacts"),
            caches=str(folder / "caches"),
            env={
                "PRESUBMIT_ARTIFACTS": str(folder / "artifacts"),
                "PRESUBMIT_CACHES": str(folder / "caches"),
            },
            here=here,
            folder=str(folder / "out"),
            name="tests",
            events=str(folder / "out/events.jsonl"),
        )
        network = {name: value for name, value in os.environ.items() if _is_network(name)}
        self.env: dict[str, str] = {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "HOME": str(folder / "home"),
            "LC_ALL": "C.UTF-8",
            **network,
            **(env or {}),
        }
        self.state: dict[str, str] = {}
        self.outputs: dict[str, str] = {}
        self.exported: dict[str, str] = {}
        self.paths: list[str] = []
        self.notes: list[str] = []
        self.annotations: list[tuple[str, str]] = []
        self.masked: list[str] = []
        self.log: list[str] = []

    def input(self, name: str, default: str = "") -> str:
        return (self.wanted.inputs.get(name) or "").strip() or default

    def flag(self, name: str, *, default: bool = False) -> bool:
        text = self.input(name)
        if not text:
            return default
        if text not in {"true", "True", "TRUE", "false", "False", "FALSE"}:
            raise ActionFailedError(f"{name} is not a boolean: {text}")
        return text.lower() == "true"

    def lines(self, name: str) -> tuple[str, ...]:
        return tuple(line.strip() for line in self.input(name).splitlines() if line.strip())

    def sh(
        self,
        script: str,
        *arguments: str,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
    ) -> int:
        said = self.ask(script, *arguments, cwd=cwd, env=env)
        self.log.append(said.text)
        return said.exit_code

    def run(
        self, argv: Sequence[str], *, cwd: str | None = None, env: Mapping[str, str] | None = None
    ) -> None:
        if (code := self.sh('exec "$@"', *argv, cwd=cwd, env=env)) != 0:
            raise ActionFailedError(f"{argv[0]} ended with exit code {code}: {self.log[-1]}")

    def ask(
        self,
        script: str,
        *arguments: str,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
    ) -> Said:
        # A box gives both streams as one.
        done = subprocess.run(
            ["sh", "-e", "-c", script, "sh", *arguments],
            cwd=cwd or self.cell.workspace,
            env={**self.env, **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        return Said(exit_code=done.returncode, text=os.fsdecode(done.stdout))

    def say(self, text: str) -> None:
        self.log.append(text)

    def annotate(self, level: str, message: str) -> None:
        self.annotations.append((level, message))

    def set_output(self, name: str, value: str) -> None:
        self.outputs[name] = value

    def export(self, name: str, value: str) -> None:
        self.exported[name] = value

    def add_path(self, folder: str) -> None:
        self.paths.insert(0, folder)

    def add_mask(self, secret: str) -> None:
        self.masked.append(secret)

    def note(self, text: str) -> None:
        self.notes.append(text)

    # --- for tests only ---

    @property
    def workspace(self) -> Path:
        return Path(self.cell.workspace)

    def write(self, files: Mapping[str, str | bytes]) -> None:
        for name, content in files.items():
            path = self.workspace / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)

    def after(self) -> dict[str, str]:
        """Give the environment of a later step."""
        path = ":".join([*self.paths, self.env["PATH"]])
        return {**self.env, **self.exported, "PATH": path}


def tree(folder: Path) -> dict[str, str]:
    """Give the files below a folder with their texts."""
    return {
        str(path.relative_to(folder)): path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def _is_network(name: str) -> bool:
    words = ("PIP_", "SSL_", "REQUESTS_", "CURL_", "HTTP_", "HTTPS_", "NO_PROXY", "UV_")
    return name.upper().startswith(words)
