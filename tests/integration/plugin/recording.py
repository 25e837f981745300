"""A small project, and pytest run in it with the plugin and the recorder."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
import pytest

from presubmit.replay.assignment import RECORDER
from presubmit.replay.lanes import plugin_folder
from presubmit.results.record import Record, read_record
from presubmit.results.recording import read_recording
from presubmit.runners.pytest import PLUGIN
from presubmit.values import encode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from presubmit.selector.recording import Ran, Recording


PYTHON: Final = os.environ.get("PRESUBMIT_RECORDED_PYTHON") or sys.executable
"""What the recorded project runs in: from Python 3.12 another core records."""


@cache
def coverage_of(python: str) -> Path:
    """Give the folder that holds a Python's coverage: the recorder only wants its C tracer."""
    probe = "import importlib.util as u; print(u.find_spec('coverage').origin)"
    done = subprocess.run((python, "-c", probe), capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"coverage is not installed for {python}")
    return Path(done.stdout.strip()).parents[1]


class Run(msgspec.Struct, frozen=True):
    """What became of one run."""

    code: int
    output: str
    record: Record
    recording: Recording | None

    @property
    def whole(self) -> Recording:
        """The recording, which is there."""
        assert self.recording is not None, self.output
        return self.recording

    def ran(self, context: str) -> Ran:
        """Give one context."""
        found = {it.context: it for it in self.whole.contexts}
        assert context in found, (sorted(found), self.whole.note, self.output)
        return found[context]

    @property
    def contexts(self) -> set[str]:
        """The names of all contexts."""
        return {it.context for it in self.whole.contexts}


class Project:
    """A project on disk; `coverage` is the folder that coverage was installed into."""

    def __init__(self, folder: Path, coverage: Path) -> None:
        self.root = folder / "project"
        self.out = folder / "out"
        self.root.mkdir()
        self.out.mkdir()
        self.mount = plugin_folder(folder / "cache")
        self.coverage = coverage
        self.recording = self.out / "recording.jsonl"

    def write(self, files: Mapping[str, str]) -> None:
        """Write files, with the folders they need."""
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text))

    def environment(self, env: Mapping[str, str], **told: Any) -> dict[str, str]:
        """Give the variables of a recorded run."""
        for path in self.out.iterdir():
            path.unlink()
        selection = {
            "root": str(self.root),
            "mode": "all",
            "record": str(self.out / "record.jsonl"),
            "recording": {
                "file": str(self.recording),
                "root": str(self.root),
                "source": str(self.root),
                "coverage": str(self.coverage),
                "seconds": 600.0,
                "project": "sample",
            },
        }
        recording = told.pop("recording", {})
        selection |= told
        if recording is None:
            del selection["recording"]
        else:
            selection["recording"] |= recording
        (self.out / "selection.json").write_bytes(encode(selection))
        clean = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("PYTEST_", "COV_", "COVERAGE_", "PYTHON"))
        }
        return clean | {
            "PYTHONPATH": f"{self.mount}/{RECORDER}:{self.mount}",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTEST_ADDOPTS": f"-p {PLUGIN}",
            "PYTEST_PLUGINS": PLUGIN,
            "PRESUBMIT_SELECTION": str(self.out / "selection.json"),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            **env,
        }

    def run(
        self,
        *arguments: str,
        python: str = "",
        env: Mapping[str, str] | None = None,
        **told: Any,
    ) -> Run:
        """Run pytest to its end."""
        done = subprocess.run(
            (python or PYTHON, "-m", "pytest", "-p", "no:cacheprovider", *arguments),
            cwd=self.root,
            env=self.environment(env or {}, **told),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
            check=False,
        )
        return self.read(done.returncode, done.stdout)

    def read(self, code: int, output: str) -> Run:
        """Read what a run wrote."""
        return Run(
            code, output, read_record(self.out / "record.jsonl"), read_recording(self.recording)
        )
