"""The wheel and the sdist hold what they should, no more and no less, and what is installed from them works."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def tracked(*folders: str) -> set[str]:
    """Give the files that git tracks, or would: untracked ones that are not ignored count."""
    done = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", *folders],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    names = {os.fsdecode(name) for name in done.stdout.split(b"\0") if name}
    return {name for name in names if (ROOT / name).exists()}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Give the wheel and the sdist, built without a network."""
    out = tmp_path_factory.mktemp("dist")
    done = subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "-o", str(out), str(ROOT)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return next(out.glob("*.whl")), next(out.glob("*.tar.gz"))


def test_the_wheel_holds_the_package_its_sessions_and_its_examples(
    built: tuple[Path, Path],
) -> None:
    with zipfile.ZipFile(built[0]) as wheel:
        names = {name for name in wheel.namelist() if ".dist-info/" not in name}
    expected = tracked("presubmit")
    expected |= {f"presubmit/_nox/{name}" for name in tracked("sessions", "noxfile.py")}
    expected |= {
        f"presubmit/_examples/{name.removeprefix('examples/')}" for name in tracked("examples")
    }
    assert expected == names


def test_nothing_of_ours_is_at_the_top_level_but_the_package(built: tuple[Path, Path]) -> None:
    with zipfile.ZipFile(built[0]) as wheel:
        tops = {name.split("/")[0] for name in wheel.namelist()}
    assert {"presubmit"} == {top for top in tops if not top.endswith(".dist-info")}


def test_the_sdist_holds_all_that_is_needed_to_test_and_build(built: tuple[Path, Path]) -> None:
    with tarfile.open(built[1]) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    wanted = tracked("presubmit", "sessions", "tests", "examples", "docs", "scripts")
    assert wanted - names == set()
    assert {"pyproject.toml", "LICENSE", "README.md", "CHANGELOG.md", "noxfile.py"} <= names


def test_an_installed_presubmit_lists_its_sessions_and_its_commands(
    built: tuple[Path, Path], tmp_path: Path
) -> None:
    # The dependencies are this environment's: only the package itself is what is installed.
    venv.create(tmp_path / "venv", system_site_packages=False, with_pip=True)
    python = tmp_path / "venv/bin/python"
    subprocess.run(
        [python, "-m", "pip", "install", "-q", "--no-deps", "--no-index", str(built[0])],
        check=True,
        capture_output=True,
    )
    site = subprocess.run(
        [sys.executable, "-c", "import msgspec; print(msgspec.__path__[0])"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    inside = next((tmp_path / "venv/lib").glob("python*")) / "site-packages"
    (inside / "borrowed.pth").write_text(str(Path(site).parent) + "\n")
    where = subprocess.run(
        [python, "-P", "-c", "import presubmit.replay.sessions as r; print(r.noxfile())"],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    ).stdout.strip()
    assert Path(where) == inside / "presubmit/_nox/noxfile.py"
    listed = subprocess.run(
        [python, "-P", "-m", "nox", "-f", where, "-l"],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    ).stdout
    for name in ("build", "docs", "lint", "tests", "upstream"):
        assert f" {name} ->" in listed
    shown = subprocess.run(
        [tmp_path / "venv/bin/presubmit", "--help"],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    ).stdout
    assert "doctor" in shown
    assert "replay" in shown
