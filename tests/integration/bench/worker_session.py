"""A small driver: starts the worker in a tree and speaks its protocol."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import presubmit.bench.inside

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

INSIDE: Final = Path(presubmit.bench.inside.__file__).parent
TURNS: Final = (
    {"do": "warm", "calls": 2},
    {"do": "calibrate", "seconds": 0.001},
    {"do": "turn", "loops": 3},
)
VALUE: Final = ({"do": "value"},)


class Heard:
    """All that one worker said."""

    def __init__(self, said: Sequence[Mapping[str, Any]], errors: str, code: int) -> None:
        self.said = said
        self.errors = errors
        self.code = code

    def of(self, what: str) -> list[Mapping[str, Any]]:
        """Give the messages of one kind."""
        return [it for it in self.said if it["say"] == what]

    def ids(self, what: str) -> list[str]:
        """Give the benchmarks of the messages of one kind."""
        return [it["id"] for it in self.of(what)]

    def one(self, what: str, name: str = "") -> Mapping[str, Any]:
        """Give the one message of a kind, of a benchmark."""
        found = [it for it in self.of(what) if not name or it["id"] == name]
        assert len(found) == 1, (self.said, self.errors)
        return found[0]


class Tree:
    """A project's tree with one suite."""

    def __init__(self, root: Path, suite: Mapping[str, object], path: Sequence[Path] = ()) -> None:
        self.root = root
        self.suite = {"files": [], "origin": "x", "command": [], "json": "", **suite}
        self.path = [INSIDE, root / "src", *path]
        self.python = [sys.executable, "-P"]

    def write(self, files: Mapping[str, str]) -> None:
        """Write files, with the folders they need."""
        for name, text in files.items():
            file = self.root / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(textwrap.dedent(text))

    def start(self, job: Mapping[str, object]) -> subprocess.Popen[str]:
        """Start a worker with a job."""
        path = os.pathsep.join(map(str, self.path))
        process = subprocess.Popen(
            [*self.python, "-m", "presubmit_bench"],
            cwd=self.root,
            env={**os.environ, "PYTHONPATH": path, "PYTEST_ADDOPTS": ""},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        tell(process, {"suite": self.suite, "timeout": 60.0, "core": None, **job})
        return process

    def list(self) -> Heard:
        """List the benchmarks."""
        return follow(self.start({"mode": "list"}), ())

    def run(self, ids: Sequence[str], orders: Sequence[Mapping[str, object]], **job: Any) -> Heard:
        """Run some benchmarks, giving each the same commands."""
        return follow(self.start({"mode": "run", "ids": ids, **job}), orders)

    def trace(self, ids: Sequence[str], *watch: str) -> Heard:
        """Trace some benchmarks."""
        return follow(self.start({"mode": "trace", "ids": ids, "watch": watch}), ())


def tell(process: subprocess.Popen[str], message: Mapping[str, object]) -> None:
    """Send one object."""
    assert process.stdin is not None
    process.stdin.write(json.dumps(message) + "\n")
    process.stdin.flush()


def hear(process: subprocess.Popen[str]) -> Mapping[str, Any] | None:
    """Receive one object, None at the end."""
    assert process.stdout is not None
    line = process.stdout.readline()
    return dict(json.loads(line)) if line else None


def follow(process: subprocess.Popen[str], orders: Sequence[Mapping[str, object]]) -> Heard:
    """Give every benchmark the orders, until the worker ends."""
    said = []
    waiting: list[Mapping[str, object]] = []
    while (message := hear(process)) is not None:
        said.append(message)
        if message["say"] == "at":
            waiting = [*orders, {"do": "next"}]
        elif message["say"] in {"failed", "skipped", "end"}:
            waiting = []
        if waiting:
            tell(process, waiting.pop(0))
    _, errors = process.communicate(timeout=30)
    return Heard(said, errors, process.returncode)
