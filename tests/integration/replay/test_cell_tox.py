"""A tox of a replayed job, narrowed: tox passes variables on only where it is told to."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from presubmit.replay.lanes import plugin_folder
from presubmit.upstream.recipes.narrowing import tox_override
from tests.unit.replay.job.conftest import RunCell

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.network

FILES = {
    "test_a.py": "def test_a(): pass\n",
    "test_b.py": "def test_b(): raise ValueError\n",
}
CONFIGURED = {
    "tox.ini": "[tox]\nskipsdist = true\n[testenv]\nskip_install = true\ndeps = pytest\ncommands = pytest -q\n",
    "tox.toml": (
        'skipsdist = true\n[env_run_base]\nskip_install = true\ndeps = ["pytest"]\n'
        'pass_env = ["OWN"]\ncommands = [["pytest", "-q"]]\n'
    ),
}


@pytest.fixture(scope="module")
def tox(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tox."""
    folder = tmp_path_factory.mktemp("tox") / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    pip = [str(folder / "bin/python"), "-m", "pip", "install", "-q", "tox>=4.24"]
    done = subprocess.run(pip, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        if os.environ.get("PRESUBMIT_REQUIRE_NETWORK") == "1":
            pytest.fail(done.stderr, pytrace=False)
        pytest.skip("no package index")
    return folder / "bin"


@pytest.mark.parametrize("name", CONFIGURED)
def test_a_pytest_of_tox_is_narrowed(tmp_path: Path, tox: Path, name: str) -> None:
    files = {**FILES, name: CONFIGURED[name]}
    ran = RunCell(tmp_path)(
        "- {name: tests, run: tox -e py}",
        job=f"env: {{PATH: '{tox}:/usr/bin:/bin'}}",
        files=files,
        plugin=str(plugin_folder(tmp_path / "cache")),
        selection={"mode": "scoped", "files": ["test_a.py"], "known": [*FILES]},
        narrowing_env={"TOX_OVERRIDE": tox_override("py", {}, files.get)},
    )
    assert ran.ok, ran.log
    assert ran.result.notes == ("tests: narrowed to 1 test",)
