"""Nothing that did not run is green, and no run can make a later one green."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.integration.run.conftest import Done, MakeProject, Project

pytestmark = pytest.mark.network

FILES = {
    "thing.py": "VALUE = 1\n\n\ndef f():\n    return 1\n",
    "pytest.ini": "[pytest]\npythonpath = .\n",
    "tests/test_thing.py": (
        "import thing\n\n\ndef test_a():\n    assert thing.VALUE\n\n\n"
        "def test_b():\n    assert thing.f() == 1\n"
    ),
}
BROKEN = ("thing.py", "return 1", "return 2")
ON_HOST = ("run", "--only", "tests", "--no-container", "--tests", "all")


@pytest.fixture(scope="module")
def checkout(make_project: MakeProject) -> Project:
    return make_project("lab", files=FILES)


@pytest.fixture
def lab(checkout: Project) -> Project:
    checkout.back()
    return checkout


def base(project: Project, **files: str) -> None:
    """Add files to the base; `tests__test_x` names `tests/test_x.py`."""
    for name, text in files.items():
        path = project.path / f"{name.replace('__', '/')}.py"
        path.write_text(text)
    project.git("add", "-A")
    project.commit_upstream()


def red_or_incomplete(done: Done) -> bool:
    return done.exit_code in {1, 4} and done.run["state"] in {"failed", "incomplete"}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("tests__test_broken", "import no_such_module_at_all\n"),
        ("tests__conftest", "import no_such_module_at_all\n"),
        ("tests__test_aaa", "import os\n\n\ndef test_0():\n    os.kill(os.getpid(), 11)\n"),
        (
            "tests__test_aaa",
            "import pytest\n\n\ndef test_0():\n    assert 0\n\n\ndef test_1():\n    pytest.exit('x')\n",
        ),
    ],
    ids=["a file that cannot be imported", "a broken conftest", "a crash", "an early exit"],
)
def test_a_failure_of_the_base_never_hides_what_did_not_run(
    lab: Project, name: str, text: str
) -> None:
    base(lab, **{name: text})
    lab.edit(*BROKEN)
    done = lab.presubmit(*ON_HOST)
    assert red_or_incomplete(done), done.output


def test_stopping_at_the_first_failure_is_incomplete_where_that_one_is_on_the_base(
    lab: Project,
) -> None:
    base(lab, tests__test_aaa="def test_0():\n    assert 0\n")
    lab.edit(*BROKEN)
    done = lab.presubmit(*ON_HOST, "-x")
    assert done.exit_code == 4, done.output
    assert "2 of 3 chosen tests did not run" in done.output


def test_a_file_that_cannot_be_imported_does_not_keep_the_others_from_being_run(
    lab: Project,
) -> None:
    base(lab, tests__test_broken="import no_such_module_at_all\n")
    lab.edit(*BROKEN)
    done = lab.presubmit(*ON_HOST)
    assert done.exit_code == 1
    assert done.failures("new") == ["tests/test_thing.py::test_b"]
    assert done.failures("on_base") == ["tests/test_broken.py"]


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("pytest.ini", "[pytest]\npythonpath = .\naddopts = --setup-plan\n"),
        (
            "conftest.py",
            "def pytest_runtest_protocol(item, nextitem):\n    return True if item.name == 'test_b' else None\n",
        ),
        (
            "conftest.py",
            (
                "def pytest_runtestloop(session):\n"
                "    item = session.items[0]\n"
                "    item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)\n"
                "    return True\n"
            ),
        ),
        (
            "tests/test_thing.py",
            (
                "import pytest\nimport thing\n\n\ndef test_a():\n    pytest.exit('bye', returncode=0)\n\n\n"
                "def test_b():\n    assert thing.f() == 1\n"
            ),
        ),
    ],
    ids=["--setup-plan", "a protocol that skips", "a loop that ends early", "exit with 0"],
)
def test_a_session_that_ends_early_without_a_failure_is_not_green(
    lab: Project, file: str, text: str
) -> None:
    lab.edit(*BROKEN)
    (lab.path / file).write_text(text)
    done = lab.presubmit(*ON_HOST)
    assert done.exit_code in {1, 3, 4}, done.output


def test_a_failure_that_passes_because_of_what_the_first_attempt_left_is_new(
    lab: Project,
) -> None:
    lab.edit(*BROKEN)
    (lab.path / "tests/test_0.py").write_text(
        "import pathlib\n\nimport thing\n\n\ndef test_that_mends_the_sources():\n"
        "    path = pathlib.Path(thing.__file__)\n"
        "    path.write_text(path.read_text().replace('return 2', 'return 1'))\n"
    )
    done = lab.presubmit(*ON_HOST)
    assert done.exit_code == 1, done.output
    assert done.failures("new") == ["tests/test_thing.py::test_b"]
    assert done.failures("flaky") == []


def test_another_assertion_of_the_same_test_is_a_new_failure(lab: Project) -> None:
    base(
        lab,
        tests__test_two="import thing\n\n\ndef test_two():\n    assert thing.f() == 1\n    assert thing.VALUE == 2\n",
    )
    lab.edit(*BROKEN)
    done = lab.presubmit(*ON_HOST)
    assert "tests/test_two.py::test_two" in done.failures("new"), done.output


def test_what_ran_green_is_bound_to_what_the_box_was_given(lab: Project) -> None:
    lab.edit(*BROKEN)
    narrow = {"PRESUBMIT_CONTAINER_ENV": "PYTEST_ADDOPTS=-k test_a"}
    assert lab.presubmit(*ON_HOST, env=narrow).exit_code == 0
    assert lab.presubmit(*ON_HOST).exit_code == 1


def test_only_and_skip_that_leave_nothing_are_a_usage_error(lab: Project) -> None:
    lab.edit(*BROKEN)
    assert (
        lab.presubmit("run", "--no-container", "--only", "tests", "--skip", "tests").exit_code == 2
    )


def test_only_tests_of_a_change_that_no_test_sees_has_nothing_to_check(lab: Project) -> None:
    lab.edit("thing.py", "VALUE = 1", "VALUE = 1  # one")
    done = lab.presubmit("run", "--no-container", "--only", "tests")
    assert (done.exit_code, done.run["state"], done.run["exit"]) == (0, "nothing", 0), done.output
    assert "nothing to check" in done.output


def test_a_reader_that_goes_away_does_not_change_the_verdict(lab: Project) -> None:
    lab.edit("thing.py", "return 1", "return 2 - 1")
    command = " ".join(lab.command(*ON_HOST))
    script = f"{command} | head -1 >/dev/null; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], cwd=lab.path, env=lab.env, check=False)
    assert done.returncode == 0
    assert lab.presubmit("report", "--format", "json").output.count('"state": "passed"') == 1


POISON = (
    "import os\nimport pathlib\nimport py_compile\nimport sysconfig\n\nimport thing\n\n\n"
    "def test_that_poisons():\n"
    "    text = \"import os; os.environ['POISON'] = '1'\\n\"\n"
    "    places = [sysconfig.get_paths()['purelib'], '/tools', '/cache']\n"
    "    for place in places:\n"
    "        try:\n"
    "            pathlib.Path(place, 'zz.pth').write_text(text)\n"
    "        except OSError:\n"
    "            pass\n"
    "    pathlib.Path('/src/build').mkdir(exist_ok=True)\n"
    "    pathlib.Path('/src/build/zz').write_text('x')\n"
    "    other = pathlib.Path('/src/good.py')\n"
    "    other.write_text(pathlib.Path(thing.__file__).read_text())\n"
    "    mode = py_compile.PycInvalidationMode.UNCHECKED_HASH\n"
    "    cached = pathlib.Path(thing.__cached__)\n"
    "    py_compile.compile(str(other), str(cached), invalidation_mode=mode)\n"
    "    other.unlink()\n"
)


@pytest.mark.engine
def test_what_one_runs_tests_write_is_not_there_for_the_next(
    lab: Project, in_container: tuple[str, ...]
) -> None:
    lab.edit("thing.py", "return 1", "return 2 - 1")
    (lab.path / "tests/test_poison.py").write_text(POISON)
    arguments = ("run", "--only", "tests", *in_container)
    first = lab.presubmit(*arguments)
    assert first.exit_code == 0, first.output
    (lab.path / "tests/test_poison.py").write_text("def test_nothing():\n    pass\n")
    lab.edit(
        "thing.py",
        "return 2 - 1",
        "import os\n    return 1 if os.environ.get('POISON') or os.path.exists('/src/build/zz') else 2",
    )
    second = lab.presubmit(*arguments)
    assert second.exit_code == 1, second.output
    assert second.failures("new") == ["tests/test_thing.py::test_b"]


@pytest.mark.engine
def test_a_test_box_has_its_environment_read_only_and_neither_tools_nor_caches(
    lab: Project, in_container: tuple[str, ...]
) -> None:
    lab.edit("thing.py", "return 1", "return 2 - 1")
    (lab.path / "tests/test_box.py").write_text(
        "import os\nimport sys\n\nimport pytest\n\nimport thing\n\n\ndef test_box():\n"
        "    with pytest.raises(OSError):\n"
        "        open(os.path.join(sys.prefix, 'planted'), 'w')\n"
        "    assert not os.path.exists('/tools')\n"
        "    assert not os.path.exists('/cache')\n"
    )
    done = lab.presubmit("run", "--only", "tests", *in_container)
    assert done.exit_code == 0, done.output


def test_a_full_disk_is_said_and_the_run_is_settled(lab: Project) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small file system")
    place = lab.path.parent / "small"
    place.mkdir(exist_ok=True)
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", str(place)], check=False
    )
    if mounted.returncode != 0:
        pytest.skip("no tmpfs can be mounted here")
    try:
        lab.edit(*BROKEN)
        done = lab.presubmit(*ON_HOST, env={"XDG_CACHE_HOME": str(place)})
        assert done.exit_code == 3, done.output
        assert "space" in done.output.lower()
        assert "Traceback" not in done.output
    finally:
        subprocess.run(["umount", str(place)], check=True)


def test_a_build_that_may_compile_python_need_not(make_project: MakeProject) -> None:
    """mypyc compiles modules where a variable asks for it (tomli); without, the Python sources are what is tested."""
    maybe = make_project(
        "maybe",
        files={
            "setup.py": (
                "import os\n\nfrom setuptools import setup\n\nextensions = []\n"
                "if os.environ.get('USE_MYPYC'):\n    from mypyc.build import mypycify\n\n"
                "    extensions = mypycify(['thing.py'])\n\n"
                "setup(name='maybe', py_modules=['thing'], ext_modules=extensions)\n"
            ),
            "thing.py": "VALUE = 1\n",
            "tests/test_thing.py": "import thing\n\n\ndef test_value():\n    assert thing.VALUE\n",
        },
    )
    maybe.edit("thing.py", "VALUE = 1", "VALUE = 2")
    done = maybe.presubmit("run", "--only", "tests", "--no-container")
    assert done.exit_code == 0, done.output
    assert done.step("tests.1")["counts"]["passed"] == 1
    assert "built none: the Python sources are tested" in done.output
