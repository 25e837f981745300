"""A contributor who pushes: a checkout, a bare repository to push to, and the user's own configuration."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from tests.conftest import run_git

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tests.integration.run.conftest import Project

FILES = {
    "thing.py": '"""A thing."""\n\nVALUE = 1\n\n\ndef f():\n    """Give one."""\n    return 1\n',
    "pytest.ini": "[pytest]\npythonpath = .\n",
    "tests/test_thing.py": "import thing\n\n\ndef test_b():\n    assert thing.f() == 1\n",
}
GREEN = ("thing.py", "return 1", "return 2 - 1")
RED = ("thing.py", "return 1", "return 3")
TESTED = "passed tier standard"


class Pusher:
    """A checkout with the hook, and a bare repository to push to."""

    def __init__(self, project: Project, remote: Path, config: Path) -> None:
        self.project = project
        self.path = project.path
        self.remote = remote
        self.config = config
        self.env = {**project.env, "XDG_CONFIG_HOME": str(config), "PYTHONPATH": ""}

    def git(self, *args: str) -> str:
        """Run git as the contributor."""
        return run_git(self.path, *args)

    def push(
        self, *args: str, cwd: Path | None = None, env: Mapping[str, str] | None = None
    ) -> tuple[int, str]:
        """Push to the bare repository by its path, so that no remote-tracking ref moves."""
        command = ["git", "push", str(self.remote), *args]
        done = subprocess.run(
            command,
            cwd=cwd or self.path,
            env={**self.env, **(env or {})},
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
            start_new_session=True,  # without a terminal, which a hook of pre-commit's would write to
        )
        return done.returncode, done.stdout + done.stderr

    def presubmit(self, *args: str) -> tuple[int, str]:
        """Run presubmit with the user's configuration that the hook has."""
        done = self.project.presubmit(*args, env={"XDG_CONFIG_HOME": str(self.config)})
        return done.exit_code, done.output

    def has(self, ref: str) -> str:
        """Give what the remote has there; empty where nothing."""
        asked = ["git", "-C", str(self.remote), "rev-parse", "-q", "--verify", ref]
        done = subprocess.run(asked, capture_output=True, text=True, check=False)
        return done.stdout.strip()

    def configure(self, text: str) -> None:
        """Write the user's configuration."""
        (self.config / "presubmit").mkdir(parents=True, exist_ok=True)
        (self.config / "presubmit/config.toml").write_text(f"host = true\n{text}")

    def commit(self, edit: tuple[str, str, str], message: str = "Change") -> str:
        """Commit an edit on the branch; give the commit."""
        self.project.edit(*edit)
        self.git("commit", "-q", "-a", "-m", message)
        return self.git("rev-parse", "HEAD").strip()
