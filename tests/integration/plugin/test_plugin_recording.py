"""The recorder inside real pytest processes: what each test, module and fixture ran, opened and started."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Final

import pytest

from tests.integration.plugin.recording import PYTHON, Project, coverage_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

needs_xdist = pytest.mark.skipif(
    importlib.util.find_spec("xdist") is None, reason="pytest-xdist is not installed"
)

CORE: Final = """\
    import functools
    LIMIT = 3

    def first():
        return 1

    def second():
        def inner():
            return 2
        return inner()

    class Box:
        size = LIMIT

        def __enter__(self):
            return self

        def __exit__(self, *_):
            return None

        @property
        def half(self):
            return self.size / 2

    def command():
        print(second())

    if __name__ == "__main__":
        command()
    """


@pytest.fixture
def coverage() -> Path:
    return coverage_of(PYTHON)


@pytest.fixture
def project(tmp_path: Path, coverage: Path) -> Project:
    made = Project(tmp_path, coverage)
    made.write({"pkg/__init__.py": "", "pkg/core.py": CORE})
    return made


# --- what ran -------------------------------------------------------------------------------------------------------


def test_each_test_has_the_functions_of_which_a_body_ran(project: Project) -> None:
    project.write(
        {
            "test_a.py": """\
            import pytest
            from pkg.core import Box, first, second

            def test_one():
                assert first() == 1

            @pytest.mark.parametrize("value", ["a::b[c]", "d"])
            def test_each(value):
                assert second() == 2

            class TestBox:
                def test_with(self):
                    with Box() as box:
                        assert box.half == 1.5
            """
        }
    )
    run = project.run()
    assert run.code == 0, run.output
    assert run.whole.complete
    assert run.ran("test:test_a.py::test_one").functions == {
        "pkg/core.py": ("first",),
        "test_a.py": ("test_one",),
    }
    assert run.ran("test:test_a.py::test_each").functions["pkg/core.py"] == ("second",)
    assert run.ran("test:test_a.py::TestBox::test_with").functions == {
        "pkg/core.py": ("Box.__enter__", "Box.__exit__", "Box.half"),
        "test_a.py": ("TestBox.test_with",),
    }
    assert not any(it.modules or it.open for it in run.whole.contexts if "test:" in it.context)


def test_generators_and_coroutines_run_no_module_code(project: Project) -> None:
    project.write(
        {
            "pkg/lazy.py": """\
            def numbers():
                yield 1

            async def wait():
                return 2
            """,
            "test_a.py": """\
            import asyncio
            from pkg.lazy import numbers, wait

            def test_it():
                assert list(numbers()) == [1]
                assert asyncio.run(wait()) == 2
            """,
        }
    )
    ran = project.run().ran("test:test_a.py::test_it")
    assert ran.functions["pkg/lazy.py"] == ("numbers", "wait")
    assert ran.modules == ()


def test_what_runs_in_another_thread_belongs_to_the_test(project: Project) -> None:
    project.write(
        {
            "test_a.py": """\
            import threading
            from pkg.core import first

            def test_it():
                thread = threading.Thread(target=first)
                thread.start()
                thread.join()
            """
        }
    )
    assert project.run().ran("test:test_a.py::test_it").functions["pkg/core.py"] == ("first",)


def test_the_import_of_a_module_belongs_to_the_file_that_came_first(project: Project) -> None:
    project.write(
        {
            "conftest.py": "import pkg",
            "test_a.py": "from pkg.core import first\nVALUE = first()\ndef test_a(): pass\n",
            "test_b.py": "def test_b():\n    import pkg.late\n",
            "pkg/late.py": "x = 1",
        }
    )
    run = project.run()
    assert run.ran("session:").modules[0] == "conftest.py"
    collected = run.ran("collect:test_a.py")
    assert (collected.modules, collected.functions["pkg/core.py"]) == (
        ("pkg/core.py", "test_a.py"),
        ("first",),
    )
    assert run.ran("test:test_b.py::test_b").modules == ("pkg/late.py",)


def test_a_shared_fixture_is_a_context_that_each_of_its_tests_uses(project: Project) -> None:
    project.write(
        {
            "conftest.py": """\
            import pytest
            from pkg.core import first, second

            @pytest.fixture(scope="session")
            def base():
                return first()

            @pytest.fixture(scope="module")
            def wide(base):
                yield base
                second()

            @pytest.fixture
            def narrow(wide):
                return wide
            """,
            "test_a.py": """\
            def test_one(narrow): pass
            def test_two(narrow): pass
            def test_dynamic(request): request.getfixturevalue("base")
            def test_none(): pass
            """,
        }
    )
    run = project.run()
    both = ("fixture:conftest.py::base", "fixture:conftest.py::wide")
    assert run.ran("test:test_a.py::test_one").uses == both
    assert run.ran("test:test_a.py::test_two").uses == both
    assert run.ran("test:test_a.py::test_dynamic").uses == both[:1]
    assert run.ran("test:test_a.py::test_none").uses == ()
    assert run.ran(both[0]).functions["pkg/core.py"] == ("first",)
    assert run.ran(both[1]).functions["pkg/core.py"] == ("second",)  # its tear-down
    assert run.ran(both[1]).uses == both[:1]
    assert run.ran("test:test_a.py::test_one").functions["conftest.py"] == ("narrow",)


def test_set_up_of_classes_and_modules_is_shared_too(project: Project) -> None:
    project.write(
        {
            "test_a.py": """\
            import unittest
            from pkg.core import first, second

            def setup_module():
                first()

            class TestCase(unittest.TestCase):
                @classmethod
                def setUpClass(cls):
                    second()

                def test_one(self): pass
                def test_two(self): pass
            """
        }
    )
    run = project.run()
    uses = run.ran("test:test_a.py::TestCase::test_two").uses
    ran = {name for use in uses for name in run.ran(use).functions.get("pkg/core.py", ())}
    assert ran == {"first", "second"}
    assert "pkg/core.py" not in run.ran("test:test_a.py::TestCase::test_one").functions


def test_outcomes_are_those_of_the_whole_test(project: Project) -> None:
    project.write(
        {
            "test_a.py": """\
            import pytest

            def test_passes(): pass
            def test_fails(): assert 0
            def test_skips(): pytest.skip("why")
            @pytest.mark.xfail
            def test_expected(): assert 0
            @pytest.fixture
            def broken(): raise RuntimeError
            def test_errs(broken): pass
            """
        }
    )
    run = project.run()
    found = {
        it.context.rpartition("::")[2]: it.outcome
        for it in run.whole.contexts
        if "test:" in it.context
    }
    assert found == {
        "test_passes": "passed",
        "test_fails": "failed",
        "test_skips": "skipped",
        "test_expected": "passed",
        "test_errs": "failed",
    }
    assert run.whole.complete


# --- files ----------------------------------------------------------------------------------------------------------


def test_files_that_were_read_and_folders_that_were_listed_are_told(project: Project) -> None:
    project.write(
        {
            "data/x.json": "{}",
            "data/sub/y.txt": "y",
            "test_a.py": """\
            import glob, os, sqlite3
            from pathlib import Path

            def test_reads(tmp_path):
                open("data/x.json").close()
                (tmp_path / "outside").write_text("")
                open("written.txt", "w").close()
                Path("absent.ini").exists() or _try("absent.ini")

            def _try(name):
                try:
                    open(name)
                except OSError:
                    pass

            def test_lists():
                assert glob.glob("data/*.json")
                assert [*Path("data/sub").iterdir()]

            def test_neither():
                import pkg.core
            """,
        }
    )
    run = project.run()
    reads = run.ran("test:test_a.py::test_reads")
    assert (reads.opened, reads.listed) == (("absent.ini", "data/x.json"), ())
    assert run.ran("test:test_a.py::test_lists").listed == ("data", "data/sub")
    neither = run.ran("test:test_a.py::test_neither")
    assert (neither.opened, neither.listed) == ((), ())
    assert run.ran("session:").listed == ()


def test_a_source_that_is_read_as_data_is_told(project: Project) -> None:
    project.write({"test_a.py": "import pkg.core\ndef test_it(): open('pkg/core.py').read()\n"})
    run = project.run()
    assert run.ran("test:test_a.py::test_it").opened == ("pkg/core.py",)
    assert "pkg/core.py" not in run.ran("collect:test_a.py").opened


def test_code_with_an_odd_file_name_breaks_nothing(project: Project) -> None:
    project.write(
        {
            "templates/page": "{% if %}",
            "test_a.py": """\
            import os

            def test_it():
                for name in ("<template>", "page", "", "a\\x00b"[:1], os.path.abspath("templates/page")):
                    exec(compile("def f():\\n    return 1\\nf()", name, "exec"), {})
            """,
        }
    )
    run = project.run()
    assert run.code == 0, run.output
    assert run.whole.complete
    assert run.ran("test:test_a.py::test_it").opened == ("templates/page",)


# --- processes ------------------------------------------------------------------------------------------------------


def test_a_python_that_a_test_starts_is_recorded_in_its_context(project: Project) -> None:
    project.write(
        {
            "test_a.py": """\
            import subprocess, sys

            def test_child():
                subprocess.run([sys.executable, "-m", "pkg.core"], check=True)

            def test_deep():
                code = "import subprocess, sys; subprocess.run([sys.executable, '-m', 'pkg.core'])"
                subprocess.run([sys.executable, "-c", code], check=True)
            """
        }
    )
    run = project.run()
    for name in ("test_child", "test_deep"):
        ran = run.ran(f"test:test_a.py::{name}")
        assert (ran.functions["pkg/core.py"], ran.open) == (("command", "second"), "")
        assert "pkg/core.py" in ran.modules


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("subprocess.run(['cat', '/dev/null'])", "(cat)"),
        ("subprocess.run([sys.executable, '-I', '-c', ''])", "not recorded"),
        ("subprocess.run([sys.executable, '-c', ''], env={})", "not recorded"),
        ("os.system('true')", "(sh)"),
        ("os._exit(0) if os.fork() == 0 else os.wait()", "forked"),
        ("subprocess.run([sys.executable, '-c', 'import os; os._exit(0)'])", "its end"),
        ("sys.settrace(None)", "another tracer"),
        ("threading.settrace(None)", "another tracer"),
        ("sys.settrace(lambda *_: None)", "another tracer"),
    ],
)
def test_what_is_not_recorded_leaves_the_test_open(
    project: Project, statement: str, reason: str
) -> None:
    lines = (
        "import os, subprocess, sys, threading",
        "from pkg.core import first",
        "def test_it():",
    )
    text = "\n".join(
        (*lines, f"    {statement}", "def test_after():", "    sys.settrace and first()")
    )
    project.write({"test_a.py": f"{text}\n"})
    run = project.run(recording={"core": "ctrace"})
    assert reason in run.ran("test:test_a.py::test_it").open
    if "lambda" not in statement:
        after = run.ran("test:test_a.py::test_after")
        assert (after.functions["pkg/core.py"], after.open) == (("first",), "")
        assert not any(it.open for it in run.whole.contexts if it.context == "session:")


def test_a_test_that_touches_the_tracer_opens_itself_and_the_fixtures_around_it(
    project: Project,
) -> None:
    project.write(
        {
            "test_a.py": """\
            import sys
            import pytest
            from pkg.core import first, second

            @pytest.fixture(scope="module")
            def wide():
                sys.settrace(None)
                return second()

            def test_before():
                first()

            def test_wide(wide):
                first()

            def test_after():
                second()
            """
        }
    )
    run = project.run()
    assert run.whole.complete
    opened = {it.context for it in run.whole.contexts if it.open}
    assert opened == {"fixture:test_a.py::wide", "test:test_a.py::test_wide"}
    assert run.ran("test:test_a.py::test_after").functions["pkg/core.py"] == ("second",)


def test_a_thread_that_was_started_untraced_opens_the_session(project: Project) -> None:
    project.write(
        {
            "test_a.py": """\
            import threading
            stop = threading.Event()

            def test_it():
                threading.settrace(None)
                threading.Thread(target=stop.wait, daemon=True).start()

            def test_after():
                stop.set()
            """
        }
    )
    run = project.run(recording={"core": "ctrace"})
    assert run.ran("session:").open == "another tracer"


def test_after_a_tracer_that_stays_nothing_more_is_recorded(project: Project) -> None:
    project.write(
        {
            "test_a.py": """\
            import sys
            from pkg.core import first
            def test_before(): first()
            def test_tr(): sys.settrace(lambda *_: None)
            def test_after(): first()
            """
        }
    )
    run = project.run(recording={"core": "ctrace"})
    assert run.code == 0, run.output
    assert run.ran("test:test_a.py::test_before").open == ""
    assert "test:test_a.py::test_after" not in run.contexts
    assert not any(it.open for it in run.whole.contexts if it.context == "session:")
    assert run.whole.note == "another tracer took over in test_a.py::test_tr"


def test_the_next_sitecustomize_on_the_path_is_run_too(project: Project, tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site/sitecustomize.py").write_text("import os\nos.environ['FOUND'] = 'yes'\n")
    project.write({"test_a.py": "import os\ndef test_it(): assert os.environ['FOUND'] == 'yes'\n"})
    path = project.environment({})["PYTHONPATH"]
    run = project.run(env={"PYTHONPATH": f"{path}:{tmp_path}/site"})
    assert run.code == 0, run.output


@needs_xdist
def test_workers_record_and_are_joined(project: Project) -> None:
    body = "from pkg.core import first\ndef test_it(): first()\n"
    project.write({f"test_{name}.py": body for name in "abcd"})
    run = project.run("-p", "xdist", "-n", "2")
    assert run.code == 0, run.output
    assert run.whole.complete, run.whole.note
    for name in "abcd":
        assert run.ran(f"test:test_{name}.py::test_it").functions["pkg/core.py"] == ("first",)
    assert run.ran("session:").open == ""


# --- ends -----------------------------------------------------------------------------------------------------------


def test_collecting_alone_writes_nothing(project: Project) -> None:
    project.write({"test_a.py": "def test_it(): pass\n"})
    assert project.run("--collect-only").recording is None


def test_a_run_of_some_tests_is_complete_for_them(project: Project) -> None:
    project.write({"test_a.py": "def test_one(): pass\ndef test_two(): pass\n"})
    run = project.run("-k", "one")
    assert {it for it in run.contexts if "test:" in it} == {"test:test_a.py::test_one"}
    assert run.whole.complete


def test_a_run_that_stopped_at_a_failure_is_incomplete(project: Project) -> None:
    project.write({"test_a.py": "def test_one(): assert 0\ndef test_two(): pass\n"})
    run = project.run("-x")
    assert run.ran("test:test_a.py::test_one").outcome == "failed"
    assert not run.whole.complete


WAITS: Final = """\
    import time
    from pathlib import Path

    def test_one(): pass

    def test_two():
        Path("here").touch()
        time.sleep(60)
    """


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL], ids=["interrupted", "killed"])
def test_what_ran_to_its_end_survives(project: Project, how: signal.Signals) -> None:
    project.write({"test_a.py": WAITS})
    command = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider")
    process = subprocess.Popen(
        command, cwd=project.root, env=project.environment({}), stdout=subprocess.DEVNULL
    )
    try:
        wait_until((project.root / "here").exists)
        process.send_signal(how)
        process.wait(60)
    finally:
        process.kill()
        process.wait()
    run = project.read(process.returncode, "")
    assert {it for it in run.contexts if "test:" in it} == {"test:test_a.py::test_one"}
    assert not run.whole.complete


def wait_until(true: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not true():
        assert time.monotonic() < until
        time.sleep(0.02)


def test_recording_ends_when_its_time_is_up(project: Project) -> None:
    project.write(
        {
            "test_a.py": """\
            import os

            def test_one():
                assert "PRESUBMIT_RECORDER" in os.environ

            def test_two():
                assert "PRESUBMIT_RECORDER" not in os.environ
            """
        }
    )
    run = project.run(recording={"seconds": 0.0})
    assert run.code == 0, run.output
    assert {it for it in run.contexts if "test:" in it} == {"test:test_a.py::test_one"}
    assert not run.whole.complete
    assert "0 s only" in run.whole.note


# --- other people's projects ----------------------------------------------------------------------------------------


def test_the_project_does_not_see_the_recorders_coverage(project: Project, coverage: Path) -> None:
    folder = project.out.parent / "apart/coverage"
    folder.mkdir(parents=True)
    for path in (coverage / "coverage").glob("tracer*.so"):
        (folder / path.name).symlink_to(path)
    project.write(
        {
            "test_a.py": f"""\
            import sys

            def test_it():
                assert not [name for name in sys.modules if name.partition(".")[0] == "coverage"]
                assert {str(folder.parent)!r} not in sys.path
            """
        }
    )
    run = project.run(recording={"coverage": str(folder.parent)})
    assert run.code == 0, run.output
    assert run.whole.complete


def test_a_project_that_measures_itself_is_left_alone(project: Project) -> None:
    pytest.importorskip("pytest_cov")
    project.write({"test_a.py": "from pkg.core import first\ndef test_it(): first()\n"})
    run = project.run(
        *("-p", "pytest_cov", "--cov=pkg"),
        env={"COVERAGE_FILE": os.devnull + "x"},
        recording={"core": "ctrace"},
    )
    assert run.whole.contexts == ()
    assert run.whole.note == "left alone: the project measures coverage itself (--cov)"


def test_another_tracer_at_the_start_is_left_alone(project: Project) -> None:
    project.write({"test_a.py": "def test_it(): pass\n"})
    project.write({"site/sitecustomize.py": "import sys\nsys.settrace(lambda *_: None)\n"})
    path = project.environment({})["PYTHONPATH"]
    run = project.run(
        env={"PYTHONPATH": f"{path}:{project.root}/site"}, recording={"core": "ctrace"}
    )
    assert run.code == 0, run.output
    assert run.whole.contexts == ()
    assert "traces already" in run.whole.note


def test_without_coverage_the_tests_run_and_a_note_says_why(project: Project) -> None:
    project.write({"test_a.py": "def test_it(): pass\n"})
    run = project.run(recording={"coverage": "/nowhere", "core": "ctrace"})
    assert (run.code, run.record.ended) == (0, True)
    assert "cannot be loaded" in run.whole.note


@pytest.mark.parametrize("wrong", [{"file": "/nowhere/x"}, {"root": 3}, {"seconds": "long"}])
def test_a_fault_of_the_recorder_changes_no_outcome(
    project: Project, wrong: dict[str, object]
) -> None:
    project.write({"test_a.py": "def test_it(): pass\ndef test_bad(): assert 0\n"})
    run = project.run(recording=wrong)
    assert (run.code, len(run.record.cases), run.record.faults) == (1, 2, ())
    assert run.recording is None or run.recording.contexts == ()


def test_a_pytest_inside_a_test_records_nothing_of_its_own(project: Project) -> None:
    project.write(
        {
            "conftest.py": "pytest_plugins = ['pytester']\n",
            "test_a.py": """\
            def test_it(pytester):
                pytester.makepyfile("def test_inner(): pass")
                assert pytester.runpytest_inprocess().ret == 0
            """,
        }
    )
    run = project.run()
    assert run.code == 0, run.output
    assert {it for it in run.contexts if "test:" in it} == {"test:test_a.py::test_it"}
    assert run.whole.complete


def test_nothing_is_on_the_path_or_in_the_environment_where_nothing_is_recorded(
    project: Project,
) -> None:
    project.write(
        {
            "test_a.py": """\
            import os, sys

            def test_it():
                assert "presubmit_recorder" not in sys.modules
                assert not [name for name in os.environ if name.startswith("PRESUBMIT_RECORDER")]
            """
        }
    )
    run = project.run(env={"PYTHONPATH": str(project.mount)}, recording=None)
    assert (run.code, run.recording) == (0, None), run.output
