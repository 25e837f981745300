"""Our modules inside real processes of unittest, of a script, and of Django."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import msgspec
import pytest

import presubmit.replay
from presubmit.results.junit import JUnitReport
from presubmit.results.pytest_exit import Judged, judge_pytest
from presubmit.results.record import Record, read_record
from presubmit.runners import Told, runner_of
from presubmit.values import CaseOutcome, Outcome

INSIDE = Path(presubmit.replay.__file__).with_name("inside")
PLUGIN = INSIDE.with_name("pytest_plugin.py")


def oldest_python() -> str:
    """Give a Python 3.8 that starts, where there is one."""
    found = [shutil.which("python3.8"), *Path.home().glob(".pyenv/versions/3.8.*/bin/python")]
    for path in map(str, filter(None, found)):
        asked = subprocess.run((path, "-c", ""), stderr=subprocess.DEVNULL, check=False)
        if asked.returncode == 0:
            return path
    return ""


OLDEST = oldest_python()
PYTHONS = [sys.executable, *filter(None, [OLDEST])]

TESTS = {
    "tests/__init__.py": "",
    "tests/test_a.py": """\
        import unittest

        class A(unittest.TestCase):
            def test_fine(self): pass
            def test_bad(self): self.assertEqual(1, 2)
            @unittest.skip("not today")
            def test_skipped(self): pass
            @unittest.expectedFailure
            def test_known(self): self.fail("known")
            @unittest.expectedFailure
            def test_mended(self): pass
            def test_parts(self):
                for n in range(3):
                    with self.subTest(n=n):
                        self.assertNotEqual(n, 1)
            def test_part_skipped(self):
                with self.subTest(n=0):
                    self.skipTest("a part")
        """,
    "tests/test_b.py": """\
        import unittest

        class B(unittest.TestCase):
            def test_b(self): pass
        """,
}
FIXTURES = {
    "tests/__init__.py": "",
    "tests/test_class.py": """\
        import unittest

        class Up(unittest.TestCase):
            @classmethod
            def setUpClass(cls): raise OSError("up")
            def test_1(self): pass
            def test_2(self): pass

        class Down(unittest.TestCase):
            @classmethod
            def tearDownClass(cls): raise OSError("down")
            def test_1(self): pass
            def test_2(self): pass

        class Left(unittest.TestCase):
            @classmethod
            def setUpClass(cls): raise unittest.SkipTest("left")
            def test_1(self): pass
        """,
    "tests/test_module.py": """\
        import unittest
        from tests.test_other import Other

        def setUpModule(): raise OSError("module")

        class Own(unittest.TestCase):
            def test_1(self): pass
        """,
    "tests/test_other.py": """\
        import unittest

        class Other(unittest.TestCase):
            def test_1(self): pass
        """,
}
BROKEN = {
    **TESTS,
    "tests/test_broken.py": "import no_such_module_at_all",
    "tests/test_skips.py": "import unittest\nraise unittest.SkipTest('not here')",
}
RUNTESTS = {
    **TESTS,
    "runtests.py": """\
        import sys, unittest
        from tests import test_a, test_b

        fine = True
        for module in (test_a, test_b):
            suite = unittest.defaultTestLoader.loadTestsFromModule(module)
            fine &= unittest.TextTestRunner().run(suite).wasSuccessful()
        sys.exit(not fine)
        """,
}


class Ran(msgspec.Struct, frozen=True):
    code: int
    output: str
    record: Record
    judged: Judged

    def ids(self, outcome: CaseOutcome) -> list[str]:
        return sorted(it.id for it in self.record.cases if it.outcome is outcome)


class Project:
    """A project on disk, and its test command run with our modules."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "project"
        self.out = folder / "out"
        self.mount = folder / "mount"
        self.out.mkdir()
        self.mount.mkdir()
        for module in INSIDE.glob("presubmit_*.py"):
            shutil.copy(module, self.mount)
        shutil.copy(PLUGIN, self.mount / "presubmit_pytest_plugin.py")

    def write(self, files: dict[str, str]) -> Project:
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text) + "\n")
        return self

    def run(self, command: str, *, python: str = sys.executable, **chosen: Any) -> Ran:
        record = self.out / "record.jsonl"
        record.unlink(missing_ok=True)
        words = tuple(command.split())
        runner = runner_of(words)
        collects = runner.collects(words)
        told = self.out / "selection.json"
        data = {"root": str(self.root), "mode": "scoped", "record": str(record), **chosen}
        told.write_text(json.dumps({**data, "collects": msgspec.to_builtins(collects)}))
        made = runner.invoke(words, Told(selection=str(told), junit=str(self.out / "junit.xml")))
        done = subprocess.run(
            [python if word == "python" else word for word in made.command],
            cwd=self.root,
            env={**os.environ, **made.env, "PYTHONPATH": str(self.mount)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
            check=False,
        )
        read = read_record(record)
        judged = judge_pytest(
            exit_code=done.returncode,
            junit=JUnitReport(missing=True, problems=("JUnit file: missing",)),
            record=read,
            tail=done.stdout,
            chosen="files" in chosen or "ids" in chosen,
            root=str(self.root),
            runner=runner.NAME,
        )
        return Ran(done.returncode, done.stdout, read, judged)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


DISCOVER = "python -m unittest discover -s tests -t ."


@pytest.mark.parametrize("python", PYTHONS, ids=["this", "oldest"][: len(PYTHONS)])
def test_every_outcome_is_recorded(project: Project, python: str) -> None:
    ran = project.write(TESTS).run(DISCOVER, python=python, mode="all")
    a = "tests/test_a.py::A::"
    assert ran.ids(CaseOutcome.PASSED) == [f"{a}test_fine", "tests/test_b.py::B::test_b"]
    assert ran.ids(CaseOutcome.FAILED) == [f"{a}test_bad", f"{a}test_mended", f"{a}test_parts"]
    assert ran.ids(CaseOutcome.SKIPPED) == [f"{a}test_part_skipped", f"{a}test_skipped"]
    assert ran.ids(CaseOutcome.XFAILED) == [f"{a}test_known"]
    assert (ran.judged.outcome, ran.judged.reason) == (Outcome.FAILED, "3 tests failed")
    assert ran.record.selected == len(ran.record.cases) == 8
    assert not ran.record.unfinished
    assert ran.code == 1
    assert ran.judged.notes == ()


def test_a_failure_is_told_by_its_exception_and_its_place(project: Project) -> None:
    ran = project.write(TESTS).run(DISCOVER, ids=["tests/test_a.py::A::test_bad"])
    (case,) = ran.record.cases
    assert (case.exception, case.message) == ("builtins.AssertionError", "1 != 2")
    assert (case.frame, case.line) == ("tests/test_a.py:test_bad", 5)
    assert case.source == "def test_bad(self): self.assertEqual(1, 2)"
    assert "AssertionError: 1 != 2" in case.text


def test_a_failing_part_is_a_failure_of_its_test_and_named_by_its_parameters(
    project: Project,
) -> None:
    ran = project.write(TESTS).run(DISCOVER, ids=["tests/test_a.py::A::test_parts"])
    (case,) = ran.record.cases
    assert case.message == "(n=1) 1 == 1"


def test_files_and_single_tests_are_chosen(project: Project) -> None:
    project.write(TESTS)
    ran = project.run(DISCOVER, files=["tests/test_b.py"])
    assert ran.ids(CaseOutcome.PASSED) == ["tests/test_b.py::B::test_b"]
    assert (ran.judged.outcome, ran.record.missing) == (Outcome.PASSED, ())
    ran = project.run(DISCOVER, ids=["tests/test_a.py::A::test_fine", "tests/test_a.py::A::gone"])
    assert ran.ids(CaseOutcome.PASSED) == ["tests/test_a.py::A::test_fine"]
    assert ran.record.missing == ("tests/test_a.py::A::gone",)
    ran = project.run(DISCOVER, files=["tests/test_a.py"], without=["tests/test_a.py::A"])
    assert not ran.record.cases


def test_a_file_is_run_whole_where_a_test_that_should_narrow_it_is_gone(project: Project) -> None:
    within = ["tests/test_a.py::A::test_fine", "tests/test_a.py::A::gone"]
    ran = project.write(TESTS).run(DISCOVER, files=["tests/test_a.py"], within=within)
    assert ran.record.selected == 7
    assert ran.record.widened == ("tests/test_a.py",)


def test_what_was_not_chosen_is_not_even_imported(project: Project) -> None:
    ran = project.write({**BROKEN, "tests/test_broken.py": "print('IMPORTED')"}).run(
        DISCOVER, files=["tests/test_b.py"]
    )
    assert ran.judged.outcome is Outcome.PASSED
    assert "IMPORTED" not in ran.output


@pytest.mark.parametrize("python", PYTHONS, ids=["this", "oldest"][: len(PYTHONS)])
@pytest.mark.parametrize(
    "chosen", [{"mode": "all"}, {"files": ["tests/test_broken.py"]}, {"ids": ["tests/test_broken.py"]}]
)  # fmt: skip
def test_a_file_that_cannot_be_imported_is_never_green(
    project: Project, python: str, chosen: dict[str, Any]
) -> None:
    project.write({**BROKEN, "tests/test_a.py": ""})
    ran = project.run(DISCOVER, python=python, **chosen)
    assert ran.judged.outcome is Outcome.FAILED
    (case,) = (it for it in ran.record.cases if it.outcome is CaseOutcome.ERROR)
    assert (case.id, case.phase) == ("tests/test_broken.py", "collect")
    assert case.exception == "ModuleNotFoundError"
    assert case.message == "No module named 'no_such_module_at_all'"
    assert case.frame == "tests/test_broken.py:<module>"


def test_a_name_that_is_not_there_is_never_green(project: Project) -> None:
    ran = project.write(TESTS).run("python -m unittest tests.test_b tests.test_gone", mode="all")
    assert ran.judged.outcome is Outcome.FAILED
    assert ran.ids(CaseOutcome.PASSED) == ["tests/test_b.py::B::test_b"]
    ran = project.run("python -m unittest tests.test_b.B.gone", mode="all")
    assert ran.judged.outcome is Outcome.FAILED


def test_a_file_that_skips_itself_is_a_skip(project: Project) -> None:
    ran = project.write(BROKEN).run(DISCOVER, files=["tests/test_skips.py"])
    assert ran.ids(CaseOutcome.SKIPPED) == ["tests/test_skips.py"]


@pytest.mark.parametrize("python", PYTHONS, ids=["this", "oldest"][: len(PYTHONS)])
def test_what_fails_around_tests_fails_them(project: Project, python: str) -> None:
    ran = project.write(FIXTURES).run(DISCOVER, python=python, mode="all")
    one = "tests/test_class.py::"
    cases = {it.id: (it.outcome, it.phase) for it in ran.record.cases}
    assert cases[f"{one}Up::test_1"] == (CaseOutcome.ERROR, "setup")
    assert cases[f"{one}Up::test_2"] == (CaseOutcome.ERROR, "setup")
    assert cases[f"{one}Down::test_1"] == (CaseOutcome.PASSED, "")
    assert cases[f"{one}Down::test_2"] == (CaseOutcome.ERROR, "teardown")
    assert cases[f"{one}Left::test_1"] == (CaseOutcome.SKIPPED, "")
    assert cases["tests/test_module.py::Own::test_1"] == (CaseOutcome.ERROR, "setup")
    assert ran.record.selected == len(cases)


def test_a_class_that_is_imported_is_a_test_of_the_importing_file_too(project: Project) -> None:
    ran = project.write(FIXTURES).run(DISCOVER, files=["tests/test_module.py"])
    assert {it.id for it in ran.record.cases} == {
        *("tests/test_module.py::Other::test_1", "tests/test_module.py::Own::test_1"),
    }


@pytest.mark.parametrize("python", PYTHONS, ids=["this", "oldest"][: len(PYTHONS)])
def test_an_empty_run_is_not_green(project: Project, python: str) -> None:
    ran = project.write(TESTS).run(DISCOVER, python=python, files=["tests/test_gone.py"])
    assert (ran.code, ran.judged.outcome) == (5, Outcome.ERROR)
    assert ran.judged.reason == "no tests were collected though tests were chosen"


def test_arguments_that_unittest_refuses_are_an_error_of_ours(project: Project) -> None:
    ran = project.write(TESTS).run("python -m unittest --nope", mode="all")
    assert ran.judged.outcome is Outcome.ERROR
    assert "unittest could not use its arguments: unrecognized arguments: --nope" in (
        ran.judged.reason
    )


def test_load_tests_of_a_package_may_bring_what_is_no_test_file(project: Project) -> None:
    files = {
        **TESTS,
        "more/cases.py": "import unittest\nclass C(unittest.TestCase):\n    def test_c(self): pass",
        "tests/__init__.py": """\
            import unittest
            from more.cases import C

            def load_tests(loader, tests, pattern):
                tests.addTests(loader.loadTestsFromTestCase(C))
                tests.addTests(loader.loadTestsFromName("tests.test_b"))
                return tests
            """,
    }
    ran = project.write(files).run("python -m unittest tests", files=["tests/test_gone.py"])
    # Nobody could have chosen it, so it runs always.
    assert ran.ids(CaseOutcome.PASSED) == ["tests/__init__.py::C::test_c"]


def test_a_process_that_dies_names_the_test_that_it_died_in(project: Project) -> None:
    text = "import os, unittest\nclass D(unittest.TestCase):\n    def test_d(self): os.abort()"
    ran = project.write({**TESTS, "tests/test_d.py": text}).run(DISCOVER, mode="all")
    assert ran.judged.outcome is Outcome.FAILED
    assert ran.judged.reason == "crashed: SIGABRT in tests/test_d.py::D::test_d"


def test_a_process_that_leaves_early_is_not_green(project: Project) -> None:
    text = "import os, unittest\nclass D(unittest.TestCase):\n    def test_d(self): os._exit(0)"
    ran = project.write({**TESTS, "tests/test_d.py": text}).run(
        DISCOVER, files=["tests/test_b.py", "tests/test_d.py"]
    )
    assert ran.judged.outcome is Outcome.ERROR
    assert "ended before its session did" in ran.judged.reason


def test_suites_that_tests_run_themselves_are_none_of_ours(project: Project) -> None:
    inner = """\
        import io, os, unittest

        class Inner(unittest.TestCase):
            def test_bad(self): self.fail("inner")

        class Outer(unittest.TestCase):
            def test_runs_a_suite(self):
                assert "PRESUBMIT_SELECTION" not in os.environ
                suite = unittest.TestSuite([Inner("test_bad")])
                result = unittest.TextTestRunner(stream=io.StringIO()).run(suite)
                self.assertEqual(len(result.failures), 1)
        """
    ran = project.write({**TESTS, "tests/test_i.py": inner}).run(
        DISCOVER, ids=["tests/test_i.py::Outer"]
    )
    assert ran.judged.outcome is Outcome.PASSED
    assert [it.id for it in ran.record.cases] == ["tests/test_i.py::Outer::test_runs_a_suite"]


def test_buffer_and_failfast_are_the_projects_own(project: Project) -> None:
    text = """\
        import unittest

        class F(unittest.TestCase):
            def test_1(self):
                print("LOUD")
            def test_2(self): self.fail("first")
            def test_3(self): pass
        """
    ran = project.write({"tests/__init__.py": "", "tests/test_f.py": text}).run(
        f"{DISCOVER} --buffer --failfast", mode="all"
    )
    assert "LOUD" not in ran.output
    assert [it.id[-6:] for it in ran.record.cases] == ["test_1", "test_2"]
    assert ran.record.selected == 3  # so it is said that one did not run


# --- scripts --------------------------------------------------------------------------------------------------------


def test_the_suites_of_a_script_are_narrowed_and_recorded(project: Project) -> None:
    project.write(RUNTESTS)
    ran = project.run("python runtests.py", files=["tests/test_b.py"])
    assert ran.ids(CaseOutcome.PASSED) == ["tests/test_b.py::B::test_b"]
    assert ran.judged.outcome is Outcome.PASSED
    ran = project.run("python runtests.py", mode="all")
    assert (ran.judged.outcome, ran.judged.reason) == (Outcome.FAILED, "3 tests failed")


def test_a_script_that_calls_pytest_is_narrowed_by_the_plugin(project: Project) -> None:
    script = "import sys, pytest\nsys.exit(pytest.main(['-q', '-p', 'no:cacheprovider', 'tests']))"
    ran = project.write({**TESTS, "runtests.py": script}).run(
        "python runtests.py", files=["tests/test_b.py"]
    )
    assert ran.record.pytest
    assert ran.ids(CaseOutcome.PASSED) == ["tests/test_b.py::B::test_b"]
    assert ran.code == 0


def test_a_script_that_runs_nothing_of_unittest_is_not_green(project: Project) -> None:
    ran = project.write({"runtests.py": "print('all is well')"}).run(
        "python runtests.py", mode="all"
    )
    assert ran.code == 0
    assert ran.judged.outcome is Outcome.ERROR


# --- Django ---------------------------------------------------------------------------------------------------------

SITE = {
    "manage.py": """\
        import os, sys
        from django.core.management import execute_from_command_line

        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "site0")
        execute_from_command_line(sys.argv)
        """,
    "site0.py": """\
        SECRET_KEY = "x"
        INSTALLED_APPS = ["shop"]
        DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}}
        DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
        """,
    "own.py": """\
        from django.test.runner import DiscoverRunner

        class Loud(DiscoverRunner):
            def run_checks(self, *args, **kwargs):
                print("OWN RUNNER")
        """,
    "shop/__init__.py": "",
    "shop/models.py": """\
        from django.db import models

        class Cart(models.Model):
            size = models.IntegerField(default=0)
        """,
    "shop/tests/__init__.py": "",
    "shop/tests/test_cart.py": """\
        from django.test import TestCase
        from shop.models import Cart

        class CartTests(TestCase):
            def test_empty(self):
                self.assertEqual(Cart.objects.create().size, 0)
            def test_wrong(self):
                self.assertEqual(Cart.objects.count(), 1)
        """,
    "shop/tests/test_plain.py": """\
        from django.test import SimpleTestCase

        class Plain(SimpleTestCase):
            def test_plain(self): pass
        """,
}
needs_django = pytest.mark.skipif(
    importlib.util.find_spec("django") is None, reason="Django is not installed"
)


@needs_django
def test_the_runner_of_django_is_narrowed_and_recorded(project: Project) -> None:
    project.write(SITE)
    ran = project.run("python manage.py test", mode="all")
    cart = "shop/tests/test_cart.py::CartTests::"
    assert ran.ids(CaseOutcome.FAILED) == [f"{cart}test_wrong"]
    assert ran.ids(CaseOutcome.PASSED) == [
        f"{cart}test_empty",
        "shop/tests/test_plain.py::Plain::test_plain",
    ]
    ran = project.run("python manage.py test", ids=[f"{cart}test_empty"])
    assert (ran.judged.outcome, ran.record.selected) == (Outcome.PASSED, 1)


@needs_django
def test_no_database_is_made_for_tests_that_were_not_chosen(project: Project) -> None:
    ran = project.write(SITE).run("python manage.py test -v 2", files=["shop/tests/test_plain.py"])
    assert ran.judged.outcome is Outcome.PASSED
    assert "Creating test database" not in ran.output


@needs_django
def test_the_projects_own_runner_of_django_stays(project: Project) -> None:
    ran = project.write(SITE).run(
        "python manage.py test --testrunner own.Loud", files=["shop/tests/test_plain.py"]
    )
    assert "OWN RUNNER" in ran.output
    assert ran.judged.outcome is Outcome.PASSED


@needs_django
def test_an_empty_run_of_django_is_not_green(project: Project) -> None:
    ran = project.write(SITE).run("python manage.py test", files=["shop/tests/test_gone.py"])
    assert ran.code != 0
    assert ran.judged.outcome is Outcome.ERROR


@needs_django
@pytest.mark.parametrize("parallel", ["--parallel", "--parallel=2"])
def test_failures_in_parallel_processes_are_told(project: Project, parallel: str) -> None:
    ran = project.write(SITE).run(f"python manage.py test {parallel}", mode="all")
    assert ran.ids(CaseOutcome.FAILED) == ["shop/tests/test_cart.py::CartTests::test_wrong"]
    alone = importlib.util.find_spec("tblib") is None
    assert ("one process, since Django can tell no failure" in ran.output) is alone
