"""actions/setup-python: which interpreter, and what the job sees of it."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import pytest

from presubmit.replay.actions import python_versions, setup_python
from presubmit.replay.job.action import ActionFailedError, LackingError, Support, Wanted
from presubmit.upstream.here import Here, Interpreter
from tests.unit.replay.actions.fake import PYTHON, FakeStep

if TYPE_CHECKING:
    from pathlib import Path

USES = "actions/setup-python@v6"
MANY = Here(
    interpreters=(
        Interpreter(version="3.11.2", path="/usr/bin/python3"),
        Interpreter(version="3.9.18", path="/opt/39/bin/python3"),
        Interpreter(version="3.13.0", path="/opt/313/bin/python3"),
        Interpreter(version="3.13.0", path="/opt/313t/bin/python3", free_threaded=True),
        Interpreter(version="3.15.0rc1", path="/opt/315/bin/python3"),
        Interpreter(version="3.11.13", path="/opt/pypy", kind="pypy", release="7.3.20"),
        Interpreter(version="3.12.8", path="/opt/graal", kind="graalpy", release="25.0.1"),
    )
)


def support(here: Here = MANY, **inputs: str | None) -> Support:
    named = {name.replace("_", "-"): value for name, value in inputs.items()}
    return setup_python.support(Wanted(uses=USES, inputs=named), here)


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("3.9", "3.9.18"),
        ("3.11.2", "3.11.2"),
        ("3.x", "3.13.0"),
        (">=3.9 <3.12", "3.11.2"),
        ("3.15-dev", "3.15.0rc1"),
        ("3.13t", "3.13.0"),
        ("pypy3.11", "3.11.13"),
        ("pypy-3.11", "3.11.13"),
        ("pypy-3.11-v7.3.x", "3.11.13"),
        ("graalpy-25", "3.12.8"),
        ("graalpy25.0", "3.12.8"),
        ("~3.15.0-0", "3.15.0rc1"),
        ("3.9 || 3.11", "3.11.2"),
    ],
)
def test_the_newest_interpreter_that_is_meant_is_chosen(text: str, version: str) -> None:
    wanted = python_versions.read_wanted(text)
    found = python_versions.choose(wanted, MANY.interpreters)
    assert found is not None
    assert (found.version, found.free_threaded) == (version, text.endswith("t"))


@pytest.mark.parametrize(
    ("text", "lacks"),
    [
        ("3.12", "Python 3.12 (the image has 3.9.18, 3.11.2, 3.13.0, 3.15.0rc1)"),
        ("3.15", "Python 3.15 (the image has 3.9.18, 3.11.2, 3.13.0, 3.15.0rc1)"),
        ("3.14t", "Python 3.14t (the image has 3.13.0)"),
        ("pypy-3.10", "PyPy 3.10 (the image has 3.11.13)"),
        ("pypy-3.11-nightly", "PyPy 3.11-nightly (the image has 3.11.13)"),
        ("pypy-3.11-v7.4.x", "PyPy 3.11-v7.4.x (the image has 3.11.13)"),
        ("graalpy-24", "GraalPy 24 (the image has 25.0.1)"),
    ],
)
def test_another_version_is_never_taken_silently(text: str, lacks: str) -> None:
    assert support(python_version=text) == Support(lacks=lacks)


def test_an_unquoted_3_10_arrives_as_3_1_and_is_told_apart() -> None:
    lacks = support(python_version="3.1").lacks
    assert lacks.startswith("Python 3.1 (")
    assert "an unquoted 3.10 is the number 3.1 in YAML" in lacks


def test_a_range_says_what_was_taken() -> None:
    assert support(python_version="3.x") == Support(note="3.x is 3.13.0 here")
    assert support(python_version="3.9") == Support()


def test_every_line_must_be_here() -> None:
    found = support(python_version="3.9\n3.12\n\npypy3.10")
    assert [part.split(" (")[0] for part in found.lacks.split("; ")] == [
        "Python 3.12",
        "PyPy 3.10",
    ]


def test_a_prerelease_is_taken_where_it_is_allowed() -> None:
    assert support(python_version="3.15", allow_prereleases="true") == Support()


def test_a_free_threaded_python_is_taken_only_where_it_is_asked_for() -> None:
    assert support(python_version=">=3.13", freethreaded="true").lacks == ""
    only = Here(interpreters=(MANY.interpreters[3],))
    assert support(only, python_version="3.13").lacks == "Python 3.13 (the image has no Python)"


def test_what_is_known_only_when_it_runs_is_noted() -> None:
    assert "only when the job runs" in support(python_version=None).note
    assert "only when the job runs" in support(python_version_file="pyproject.toml").note


def test_without_a_version_the_images_own_is_taken_and_said() -> None:
    assert "python-version is not set: Python 3.11.2 here" in support().note


def test_another_architecture_is_lacking() -> None:
    assert support(python_version="3.9", architecture="x86").lacks.startswith("a Python for x86")
    assert support(python_version="3.9", architecture="x64").lacks == ""


def test_a_python_without_any_pip_is_lacking() -> None:
    bare = Here(interpreters=(Interpreter(version="3.11.2", path="/usr/bin/python3", pip=False),))
    assert support(bare, python_version="3.11").lacks == "pip for Python 3.11.2"


def test_the_host_is_called_this_machine() -> None:
    here = Here(interpreters=MANY.interpreters[:1], on_host=True)
    assert support(here, python_version="3.12").lacks == "Python 3.12 (this machine has 3.11.2)"


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        (".python-version", "# all\n3.12\n3.9/envs/x\n\n", ("3.12", "3.9")),
        ("pyproject.toml", '[project]\nrequires-python = ">=3.9,<3.14"', (">=3.9 <3.14",)),
        ("pyproject.toml", '[project]\nname = "x"', ()),
        ("pyproject.toml", '[project]\nrequires-python = ">=3.9,!=3.10.1"', ()),
        ("pyproject.toml", '[tool.poetry.dependencies]\npython = "^3.9"', ("^3.9",)),
        (".tool-versions", "nodejs 20\npython 3.12.1\n", ("3.12.1",)),
        ("Pipfile", '[requires]\npython_version = "3.11"', ("3.11",)),
        (
            "Pipfile",
            '[requires]\npython_full_version = "3.11.4"\npython_version = "3.11"',
            ("3.11.4",),
        ),
    ],
)
def test_version_files_are_read_as_the_action_reads_them(
    name: str, text: str, expected: tuple[str, ...]
) -> None:
    assert python_versions.versions_in_file(name, text) == expected


def run(tmp_path: Path, inputs: dict[str, str]) -> FakeStep:
    step = FakeStep(tmp_path, USES, inputs)
    setup_python.run(step)
    return step


def ask(step: FakeStep, code: str) -> str:
    done = subprocess.run(
        ["python", "-c", code],
        env=step.after(),
        cwd=step.cell.workspace,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_job_gets_a_writable_python_that_is_no_virtual_environment(tmp_path: Path) -> None:
    step = run(tmp_path, {"python-version": PYTHON})
    told = json.loads(
        ask(
            step,
            "import json, sys, os; print(json.dumps([sys.prefix, sys.base_prefix, "
            "os.access(sys.prefix, os.W_OK), '.'.join(map(str, sys.version_info[:3]))]))",
        )
    )
    location = step.exported["pythonLocation"]
    assert told == [location, location, True, PYTHON]
    assert step.outputs == {"python-version": PYTHON, "python-path": f"{location}/bin/python"}
    assert {step.exported[name] for name in ("Python_ROOT_DIR", "Python3_ROOT_DIR")} == {location}
    assert step.exported["PKG_CONFIG_PATH"] == f"{location}/lib/pkgconfig"
    assert step.exported["LD_LIBRARY_PATH"] == f"{location}/lib"
    assert "VIRTUAL_ENV" not in step.exported
    assert step.paths == [f"{location}/bin", location]


def test_the_job_gets_pip_and_nothing_that_was_installed_in_the_image(tmp_path: Path) -> None:
    step = run(tmp_path, {"python-version": PYTHON})
    names = ask(
        step,
        "from importlib.metadata import distributions; "
        "print(*sorted(one.metadata['Name'].lower() for one in distributions()))",
    ).split()
    assert set(names) - {"setuptools"} == {"pip"}
    code = "import subprocess; print(subprocess.check_output(['pip', '--version'], text=True))"
    assert step.exported["pythonLocation"] in ask(step, code)


def test_the_mark_of_an_externally_managed_python_is_left_out(tmp_path: Path) -> None:
    step = run(tmp_path, {"python-version": PYTHON})
    code = (
        "import os, sysconfig; "
        "print(os.path.exists(os.path.join(sysconfig.get_path('stdlib'), 'EXTERNALLY-MANAGED')))"
    )
    assert ask(step, code) == "False"


def test_a_second_use_finds_the_same_python(tmp_path: Path) -> None:
    first = run(tmp_path, {"python-version": PYTHON})
    place = ask(first, "import sysconfig; print(sysconfig.get_path('purelib'))")
    with open(f"{place}/kept.py", "w") as stream:  # noqa: PTH123 - what the job would do
        stream.write("")
    second = run(tmp_path, {"python-version": PYTHON})
    assert ask(second, "import kept; print('kept')") == "kept"


def test_a_half_made_python_is_made_again(tmp_path: Path) -> None:
    first = run(tmp_path, {"python-version": PYTHON})
    mark = f"{first.exported['pythonLocation']}/.complete"
    first.ask('rm "$1"', mark)
    assert ask(run(tmp_path, {"python-version": PYTHON}), "print(1)") == "1"


def test_the_environment_stays_as_it_is_where_that_is_asked(tmp_path: Path) -> None:
    step = run(tmp_path, {"python-version": PYTHON, "update-environment": "false"})
    assert (step.exported, step.paths) == ({}, [])
    assert step.outputs["python-version"] == PYTHON


def test_a_version_file_is_read_when_the_job_runs(tmp_path: Path) -> None:
    minor = ".".join(PYTHON.split(".")[:2])
    step = FakeStep(tmp_path, USES)
    step.write({".python-version": f"{minor}\n"})
    setup_python.run(step)
    assert step.outputs["python-version"] == PYTHON
    assert step.notes == []


def test_a_version_file_that_is_not_there_fails_the_step(tmp_path: Path) -> None:
    step = FakeStep(tmp_path, USES, {"python-version-file": "nowhere.toml"})
    with pytest.raises(ActionFailedError, match=r"nowhere\.toml doesn't exist"):
        setup_python.run(step)


def test_a_broken_version_file_fails_the_step(tmp_path: Path) -> None:
    step = FakeStep(tmp_path, USES, {"python-version-file": "pyproject.toml"})
    step.write({"pyproject.toml": "[project"})
    with pytest.raises(ActionFailedError, match=r"pyproject\.toml cannot be read"):
        setup_python.run(step)


def test_a_version_that_only_a_file_names_and_that_is_not_here_is_lacking(tmp_path: Path) -> None:
    step = FakeStep(tmp_path, USES)
    step.write({".python-version": "3.5\n"})
    with pytest.raises(LackingError, match=r"Python 3\.5 \(the image has"):
        setup_python.run(step)


def test_an_action_input_that_is_no_boolean_fails_the_step(tmp_path: Path) -> None:
    step = FakeStep(tmp_path, USES, {"python-version": PYTHON, "check-latest": "yes"})
    with pytest.raises(ActionFailedError, match="not a boolean"):
        setup_python.run(step)


def test_a_cache_without_a_lock_file_fails_as_upstream(tmp_path: Path) -> None:
    step = FakeStep(tmp_path, USES, {"python-version": PYTHON, "cache": "pip"})
    with pytest.raises(ActionFailedError, match="make sure you have checked out"):
        setup_python.run(step)


def test_a_cache_of_pip_is_kept_by_us_and_never_a_hit(tmp_path: Path) -> None:
    step = FakeStep(tmp_path, USES, {"python-version": PYTHON, "cache": "pip"})
    step.env.pop("PIP_CACHE_DIR", None)
    step.write({"sub/requirements.txt": ""})
    setup_python.run(step)
    assert step.outputs["cache-hit"] == "false"
    assert step.exported["PIP_CACHE_DIR"] == f"{step.cell.caches}/pip"


def test_a_pip_version_must_look_like_one(tmp_path: Path) -> None:
    step = FakeStep(tmp_path, USES, {"python-version": PYTHON, "pip-version": "new"})
    with pytest.raises(ActionFailedError, match='Invalid pip-version "new"'):
        setup_python.run(step)


def test_an_interpreter_that_cannot_be_copied_is_lacking_with_its_words(tmp_path: Path) -> None:
    here = Here(interpreters=(Interpreter(version="3.12.1", path="/nowhere/python"),))
    step = FakeStep(tmp_path, USES, {"python-version": "3.12"}, here=here)
    with pytest.raises(LackingError, match=r"a writable Python 3\.12\.1: .*not found"):
        setup_python.run(step)


def test_a_folder_with_spaces_in_its_name_will_do(tmp_path: Path) -> None:
    step = run(tmp_path / "a b", {"python-version": PYTHON})
    code = "import subprocess; print(subprocess.check_output(['pip', '--version'], text=True))"
    assert step.exported["pythonLocation"] in ask(step, code)
