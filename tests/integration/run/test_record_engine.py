"""`presubmit record` in a container: coverage comes over the network, the tests have none, and the next run is narrow."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.integration.run.conftest import MakeProject, Project

pytestmark = [pytest.mark.engine, pytest.mark.network]

FILES = {
    "pyproject.toml": (
        '[project]\nname = "shapes"\nversion = "1"\n\n[build-system]\nrequires = ["setuptools"]\n'
        'build-backend = "setuptools.build_meta"\n\n[tool.setuptools]\npackages = ["shapes"]\n'
    ),
    "shapes/__init__.py": "",
    "shapes/area.py": (
        "def square(a):\n    return a * a\n\n\ndef circle(r):\n    return 3 * r * r\n"
    ),
    "shapes/unit.txt": "cm\n",
    "tests/test_area.py": (
        "import socket\nimport subprocess\nimport sys\nfrom pathlib import Path\n\n"
        "import pytest\nfrom shapes import area\n\n\n"
        "def test_square():\n    assert area.square(2) == 4\n\n\n"
        "def test_circle():\n    assert area.circle(1) == 3\n\n\n"
        "def test_unit():\n"
        "    assert Path(area.__file__).with_name('unit.txt').read_text() == 'cm\\n'\n\n\n"
        "def test_in_a_child():\n"
        "    code = 'from shapes import area; assert area.circle(2) == 12'\n"
        "    subprocess.run([sys.executable, '-c', code], check=True)\n\n\n"
        "def test_there_is_no_network():\n"
        "    with pytest.raises(OSError):\n"
        "        socket.create_connection(('192.0.2.1', 80), timeout=5)\n\n\n"
        "def test_the_environment_cannot_be_written():\n"
        "    with pytest.raises(OSError):\n"
        "        Path(sys.prefix, 'x').write_text('')\n\n\n"
        "def test_coverage_is_not_seen():\n"
        "    with pytest.raises(ImportError):\n"
        "        import coverage\n"
    ),
}
CIRCLE = ["tests/test_area.py::test_circle", "tests/test_area.py::test_in_a_child"]


@pytest.fixture(scope="module")
def project(make_project: MakeProject, in_container: tuple[str, ...]) -> Project:
    made = make_project("shapes", files=FILES)
    done = made.presubmit("record", *in_container)
    assert done.exit_code == 0, done.output
    assert "recorded 7 tests" in done.output
    assert "0 without a sound record" in done.output
    return made


def test_a_fault_is_found_with_the_tests_that_ran_the_function(
    project: Project, in_container: tuple[str, ...]
) -> None:
    project.back()
    project.edit("shapes/area.py", "3 * r", "4 * r")
    assert project.presubmit("select").output.split() == CIRCLE
    done = project.presubmit("run", *in_container)
    assert done.exit_code == 1, done.output
    assert sorted(done.failures("new")) == CIRCLE
    counts = done.step("tests.1")["counts"]
    assert (counts["passed"], counts["failed"]) == (0, 2)
    build = done.step("build.1")
    assert build["cached"], build


def test_the_tracer_lies_beside_the_environment_and_belongs_to_the_caller(
    project: Project, isolated_home: Path
) -> None:
    assert project.path.exists()
    made = list(isolated_home.glob("cache/presubmit/shapes-*/own/envs/head-*/recorder"))
    assert made
    for folder in made:
        assert (folder / "presubmit-ready").stat().st_uid == folder.stat().st_uid
        assert list(folder.glob("coverage/tracer.*.so"))
        assert not list(folder.parent.glob("venv/lib/*/site-packages/coverage"))


def test_a_run_that_is_not_to_be_recorded_installs_no_tracer(
    make_project: MakeProject, in_container: tuple[str, ...], isolated_home: Path
) -> None:
    made = make_project("plain", files={**FILES, "tests/test_area.py": "def test(): pass\n"})
    made.edit("shapes/area.py", "3 * r", "4 * r")
    done = made.presubmit("run", *in_container, "--no-record", "--tests", "all")
    assert done.exit_code == 0, done.output
    assert list(isolated_home.glob("cache/presubmit/plain-*/own/envs/head-*/venv"))
    assert not list(isolated_home.glob("cache/presubmit/plain-*/own/envs/head-*/recorder"))
    log = (made.path / ".presubmit/last/logs/build.1.log").read_text()
    assert "coverage" not in log
    run = json.loads((made.path / ".presubmit/last/run.json").read_text())
    assert "recorded" not in json.dumps(run["steps"])


def test_a_data_file_that_one_test_read_selects_it(project: Project) -> None:
    project.back()
    project.edit("shapes/unit.txt", "cm", "mm")
    chosen = project.presubmit("select").output.split()
    # Tests that failed when they were recorded last stay in until they were seen to pass.
    assert [it for it in chosen if it not in CIRCLE] == ["tests/test_area.py::test_unit"]


def test_what_another_image_recorded_is_not_used_and_that_is_said(
    project: Project, in_container: tuple[str, ...]
) -> None:
    project.back()
    project.edit("shapes/area.py", "3 * r", "4 * r")
    # It differs from the recorded image in nothing but its id.
    other = f"{in_container[1]}-another"
    run = subprocess.run(
        ("docker", "build", "-q", "-t", other, "-"),
        input=f"FROM {in_container[1]}\nLABEL another=1\n",
        capture_output=True,
        text=True,
        check=False,
    )
    if run.returncode:
        pytest.skip(f"no second image can be built: {run.stderr[-200:]}")
    try:
        done = project.presubmit("run", "--image", other, "--no-record")
    finally:
        subprocess.run(("docker", "rmi", "-f", other), capture_output=True, check=False)
    assert "was made with another image" in done.output
    counts = done.step("tests.1")["counts"]
    assert (counts["passed"], counts["failed"]) == (5, 2)


def test_workers_of_xdist_record_and_their_parts_are_joined(
    make_project: MakeProject, in_container: tuple[str, ...]
) -> None:
    settings = (
        '\n[tool.presubmit.build]\npackages = ["pytest", "pytest-xdist"]\n'
        '\n[tool.pytest.ini_options]\naddopts = "-n 2"\n'
    )
    files = {**FILES, "pyproject.toml": FILES["pyproject.toml"] + settings}
    made = make_project("spread", files=files)
    done = made.presubmit("record", *in_container)
    assert done.exit_code == 0, done.output
    assert "recorded 7 tests" in done.output
    assert "0 without a sound record" in done.output
    made.edit("shapes/area.py", "3 * r", "4 * r")
    assert made.presubmit("select").output.split() == CIRCLE


def test_a_real_project_records_soundly(
    make_project: MakeProject, in_container: tuple[str, ...]
) -> None:
    made = make_project("pluggy", sdist="pluggy==1.7.0")
    done = made.presubmit("record", *in_container)
    assert done.exit_code == 0, done.output
    assert "0 without a sound record" in done.output
