"""The plugin inside real pytest processes, in small projects."""

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
from presubmit.results.junit import read_junit
from presubmit.results.pytest_exit import Judged, judge_pytest
from presubmit.results.record import Record, read_record
from presubmit.values import CaseOutcome, Counts, Outcome

PLUGIN = Path(presubmit.replay.__file__).with_name("pytest_plugin.py")
NAME = "presubmit_pytest_plugin"
AUTOLOAD = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": ""}

needs_xdist = pytest.mark.skipif(
    importlib.util.find_spec("xdist") is None, reason="pytest-xdist is not installed"
)
needs_cov = pytest.mark.skipif(
    importlib.util.find_spec("pytest_cov") is None, reason="pytest-cov is not installed"
)

PROJECT = {
    "tests/test_a.py": """\
        import pytest

        @pytest.mark.parametrize("value", ["one", "a::b[c]"])
        def test_each(value):
            assert value

        class TestGroup:
            def test_first(self): pass
            def test_second(self): pass
        """,
    "tests/test_b.py": "def test_b(): pass",
    "tests/sub/test_c.py": "def test_c(): pass",
    "tests/conftest.py": "",
}


class Ran(msgspec.Struct, frozen=True):
    code: int
    output: str
    record: Record
    judged: Judged
    xml: Path

    @property
    def passed(self) -> list[str]:
        return [it.id for it in self.record.cases if it.outcome is CaseOutcome.PASSED]


class Project:
    """A project on disk, and pytest run in it with the plugin."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "project"
        self.out = folder / "out"
        self.mount = folder / "mount"
        self.out.mkdir()
        self.mount.mkdir()
        shutil.copy(PLUGIN, self.mount / f"{NAME}.py")

    def write(self, files: dict[str, str]) -> None:
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text) + "\n")

    def run(
        self,
        *arguments: str,
        python: str = sys.executable,
        cwd: str = ".",
        env: dict[str, str] | None = None,
        selection: str | None = None,
        **chosen: Any,
    ) -> Ran:
        record, xml = self.out / "record.jsonl", self.out / "junit.xml"
        for path in (record, xml):
            path.unlink(missing_ok=True)
        data: dict[str, Any] = {"root": str(self.root), "mode": "scoped", "record": str(record)}
        told = self.out / "selection.json"
        told.write_text(json.dumps(data | chosen) if selection is None else selection)
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "COV_"))}
        variables = {
            "PYTHONPATH": str(self.mount),
            "PYTEST_ADDOPTS": f"-p {NAME} --junitxml={xml}",
            "PYTEST_PLUGINS": NAME,
            "PRESUBMIT_SELECTION": str(told),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # what happens to be installed here is no matter
        }
        done = subprocess.run(
            (python, "-m", "pytest", *arguments),
            cwd=self.root / cwd,
            env=clean | variables | (env or {}),
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
            junit=read_junit(xml),
            record=read,
            tail=done.stdout,
            chosen="files" in chosen or "ids" in chosen,
            root=str(self.root),
        )
        return Ran(done.returncode, done.stdout, read, judged, xml)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path)
    made.write(PROJECT)
    return made


# --- narrowing ------------------------------------------------------------------------------------------------------


def test_chosen_files_alone_are_run(project: Project) -> None:
    ran = project.run(files=["tests/test_b.py", "tests/sub/test_c.py"])
    assert ran.passed == ["tests/sub/test_c.py::test_c", "tests/test_b.py::test_b"]
    assert ran.record.ended
    assert ran.record.narrowed
    assert ran.record.missing == ()
    assert ran.judged == Judged(
        outcome=Outcome.PASSED, cases=ran.record.cases, counts=Counts(passed=2)
    )


def test_mode_all_narrows_nothing_and_records(project: Project) -> None:
    ran = project.run(mode="all", files=["tests/test_b.py"])
    assert len(ran.passed) == 6
    assert not ran.record.narrowed


def test_without_the_variable_nothing_happens(project: Project) -> None:
    ran = project.run(env={"PRESUBMIT_SELECTION": ""})
    assert "6 passed" in ran.output
    assert not ran.record.readable


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("tests",),
        ("tests/test_a.py", "tests/test_b.py", "tests/test_broken.py"),
        ("--import-mode=importlib",),
        ("-p", "no:cacheprovider"),
        ("-W", "error"),
    ],
)
def test_a_file_that_was_not_chosen_is_not_imported(
    project: Project, arguments: tuple[str, ...]
) -> None:
    project.write({"tests/test_broken.py": "raise RuntimeError('imported')"})
    ran = project.run(*arguments, files=["tests/test_b.py"])
    assert ran.passed == ["tests/test_b.py::test_b"], ran.output
    assert ran.code == 0
    assert ran.judged.outcome is Outcome.PASSED


def test_an_error_of_collection_in_a_chosen_file_is_recorded(project: Project) -> None:
    project.write({"tests/test_broken.py": "import nowhere_to_be_found"})
    ran = project.run(files=["tests/test_broken.py", "tests/test_b.py"])
    assert ran.code == 2
    assert ran.judged.outcome is Outcome.FAILED
    (case,) = ran.judged.cases
    assert (case.id, case.phase) == ("tests/test_broken.py", "collect")
    assert case.exception == "builtins.ModuleNotFoundError"
    assert case.frame == "tests/test_broken.py:<module>"


def test_a_syntax_error_names_its_file_and_line(project: Project) -> None:
    project.write({"tests/test_broken.py": "x = 1\ndef broken(:\n"})
    (case,) = project.run(files=["tests/test_broken.py"]).judged.cases
    assert (case.exception, case.file, case.line) == (
        "builtins.SyntaxError",
        "tests/test_broken.py",
        2,
    )


@pytest.mark.parametrize(
    ("ids", "names"),
    [
        (["tests/test_a.py::test_each"], ["test_each[one]", "test_each[a::b[c]]"]),
        (["tests/test_a.py::test_each[a::b[c]]"], ["test_each[a::b[c]]"]),
        (["tests/test_a.py::TestGroup"], ["TestGroup::test_first", "TestGroup::test_second"]),
        (["tests/test_a.py::TestGroup::test_second"], ["TestGroup::test_second"]),
        (["tests/test_a.py::test_ea"], []),
    ],
)
def test_ids_choose_single_tests(project: Project, ids: list[str], names: list[str]) -> None:
    ran = project.run(ids=ids)
    assert ran.passed == [f"tests/test_a.py::{name}" for name in names]
    assert ran.record.missing == (() if names else tuple(ids))
    assert ran.judged.outcome is (Outcome.PASSED if names else Outcome.ERROR)


def test_chosen_files_that_are_not_there_are_told(project: Project) -> None:
    ran = project.run(files=["tests/test_b.py", "tests/test_gone.py"])
    assert ran.record.missing == ("tests/test_gone.py",)
    ran = project.run(files=["tests/test_gone.py"])
    assert ran.code == 5
    assert ran.judged.reason == "no tests were collected though tests were chosen"


def test_the_order_of_the_items_is_kept(project: Project) -> None:
    project.write({"conftest.py": "def pytest_collection_modifyitems(items): items.reverse()"})
    ran = project.run(files=["tests/test_a.py", "tests/test_b.py"])
    assert ran.passed[0] == "tests/test_b.py::test_b"
    assert ran.passed[-1] == "tests/test_a.py::test_each[one]"


def test_what_presubmit_does_not_know_stays_in_the_run(project: Project) -> None:
    project.write({"tests/test_doc.txt": ">>> 1 + 1\n2\n", "pkg/mod.py": '""">>> 1\n1\n"""'})
    ran = project.run("--doctest-modules", files=["tests/test_b.py"])
    names = {it.id.partition("::")[0] for it in ran.record.cases}
    assert names == {"tests/test_doc.txt", "pkg/mod.py", "tests/test_b.py"}
    ran = project.run(files=["tests/test_b.py"], known=["tests/test_a.py", "tests/test_b.py"])
    assert "tests/sub/test_c.py::test_c" in ran.passed


@pytest.mark.parametrize("cwd", ["tests", "tests/sub"])
def test_another_rootdir_gives_the_same_ids(project: Project, cwd: str) -> None:
    project.write({f"{cwd}/pytest.ini": "[pytest]\n"})
    ran = project.run(cwd=cwd, files=["tests/sub/test_c.py"])
    assert ran.record.rootdir.endswith(cwd)
    assert ran.passed == ["tests/sub/test_c.py::test_c"]
    ran = project.run(cwd=cwd, ids=["tests/sub/test_c.py::test_c"])
    assert ran.passed == ["tests/sub/test_c.py::test_c"]


def test_a_root_behind_a_link_gives_the_same_ids(project: Project, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(project.root)
    ran = project.run(root=str(tmp_path / "link"), files=["tests/test_b.py"])
    assert ran.passed == ["tests/test_b.py::test_b"]


# --- other plugins and settings -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "env",
    [
        {"PYTEST_PLUGINS": ""},
        {"PYTEST_ADDOPTS": ""},
        AUTOLOAD,
    ],
)
def test_each_way_to_load_the_plugin_is_enough(project: Project, env: dict[str, str]) -> None:
    ran = project.run(env=env, files=["tests/test_b.py"])
    assert ran.passed == ["tests/test_b.py::test_b"]


def test_strict_settings_and_warnings_as_errors_are_fine(project: Project) -> None:
    project.write(
        {
            "pytest.ini": (
                "[pytest]\nfilterwarnings = error\nxfail_strict = true\n"
                "addopts = --strict-config --strict-markers -ra\n"
            ),
            "tests/test_gc.py": "import gc\ndef test_gc(): gc.collect()",
        }
    )
    ran = project.run(files=["tests/test_b.py", "tests/test_gc.py"])
    assert ran.code == 0, ran.output
    assert len(ran.passed) == 2
    assert "warning" not in ran.output


@needs_cov
def test_addopts_with_coverage_is_fine(project: Project) -> None:
    project.write({"pytest.ini": "[pytest]\naddopts = --cov=tests --cov-report=term\n"})
    ran = project.run(env=AUTOLOAD, files=["tests/test_b.py"])
    assert ran.passed == ["tests/test_b.py::test_b"]
    assert ran.judged.outcome is Outcome.PASSED


@needs_xdist
def test_with_xdist_the_controller_alone_writes(project: Project) -> None:
    project.write(
        {
            "pytest.ini": "[pytest]\naddopts = -n 2\n",
            "tests/test_bad.py": "import json\ndef test_bad(): raise KeyError('k')",
        }
    )
    files = ["tests/test_a.py", "tests/test_bad.py", "gone.py"]
    ran = project.run(env=AUTOLOAD, files=files, watch=["json"])
    assert ran.record.counts == Counts(passed=4, failed=1)
    assert (ran.record.sessions, ran.record.ended, ran.record.selected) == (1, True, 5)
    assert ran.record.missing == ("gone.py",)
    assert str(ran.record.modules["json"]).endswith("__init__.py")
    (bad,) = (it for it in ran.record.cases if it.outcome is CaseOutcome.FAILED)
    assert (bad.exception, bad.frame) == ("builtins.KeyError", "tests/test_bad.py:test_bad")
    assert ran.judged.outcome is Outcome.FAILED


@needs_xdist
def test_a_crashed_xdist_worker_fails_its_test(project: Project) -> None:
    project.write({"tests/test_die.py": "import os\ndef test_die(): os.kill(os.getpid(), 11)"})
    ran = project.run("-n", "1", env=AUTOLOAD, files=["tests/test_die.py"])
    assert ran.judged.outcome is Outcome.FAILED
    assert [it.id for it in ran.judged.cases] == ["tests/test_die.py::test_die"]


def test_sessions_that_tests_start_are_left_alone(project: Project) -> None:
    project.write(
        {
            "conftest.py": "pytest_plugins = ['pytester']",
            "tests/test_inner.py": """\
                import pytest

                @pytest.mark.parametrize("how", ["inprocess", "subprocess"])
                def test_inner(pytester, how):
                    pytester.makepyfile(test_within="def test_one(): pass\\ndef test_two(): assert 0")
                    result = getattr(pytester, "runpytest_" + how)("-p", "no:cacheprovider")
                    result.assert_outcomes(passed=1, failed=1)
                """,
        }
    )
    ran = project.run(files=["tests/test_inner.py"])
    assert ran.code == 0, ran.output
    assert [it.id for it in ran.record.cases] == [
        "tests/test_inner.py::test_inner[inprocess]",
        "tests/test_inner.py::test_inner[subprocess]",
    ]
    assert ran.record.sessions == 1


# --- what is recorded -----------------------------------------------------------------------------------------------


def test_failures_are_told_by_exception_and_innermost_project_frame(project: Project) -> None:
    project.write(
        {
            "pkg/deep.py": "import json\ndef load(text):\n    return json.loads(text)",
            "tests/test_deep.py": """\
                import sys; sys.path.insert(0, "pkg")
                import pytest, deep

                def test_deep(): deep.load("{")

                @pytest.fixture
                def broken(): raise OSError("no")

                def test_setup(broken): pass

                @pytest.fixture
                def late():
                    yield
                    raise OSError("late")

                def test_teardown(late): pass

                @pytest.mark.xfail
                def test_xfail(): assert 0

                def test_skip(): pytest.skip("because")

                @pytest.mark.xfail(strict=True)
                def test_strict(): pass

                class Odd(Exception):
                    def __str__(self): raise ValueError

                def test_odd(): raise Odd

                def test_exit(): raise SystemExit(3)
                """,
        }
    )
    ran = project.run(files=["tests/test_deep.py"])
    told = {it.id.partition("::")[2]: it for it in ran.record.cases}
    deep = told["test_deep"]
    assert (deep.exception, deep.frame) == ("json.decoder.JSONDecodeError", "pkg/deep.py:load")
    assert (deep.file, deep.line, deep.phase) == ("pkg/deep.py", 3, "call")
    assert "JSONDecodeError" in deep.text
    assert (told["test_setup"].outcome, told["test_setup"].phase) == (CaseOutcome.ERROR, "setup")
    assert told["test_setup"].frame == "tests/test_deep.py:broken"
    assert (told["test_teardown"].outcome, told["test_teardown"].phase) == (
        CaseOutcome.ERROR,
        "teardown",
    )
    assert told["test_xfail"].outcome is CaseOutcome.XFAILED
    assert told["test_skip"].outcome is CaseOutcome.SKIPPED
    assert told["test_strict"].outcome is CaseOutcome.FAILED
    assert told["test_odd"].exception == "test_deep.Odd"
    assert told["test_exit"].exception == "builtins.SystemExit"
    assert ran.judged.notes == ()
    assert ran.record.counts == read_junit(ran.xml).counts


def test_long_texts_and_odd_characters_are_bounded_and_survive(project: Project) -> None:
    project.write(
        {
            "tests/test_long.py": """\
                import pytest

                @pytest.mark.parametrize("x", ["\\x1b[31m", "\\ud800", "ä\\n"])
                def test_long(x):
                    print(x)
                    assert x * 50000 == ""
                """
        }
    )
    ran = project.run("-vv", files=["tests/test_long.py"])
    assert ran.record.counts == Counts(failed=3)
    assert ran.record.junk == 0
    assert all(len(it.text) < 21_000 for it in ran.record.cases)
    assert ran.judged.outcome is Outcome.FAILED


def test_watched_modules_are_told(project: Project) -> None:
    project.write({"tests/test_w.py": "import json, sys\ndef test_w(): pass"})
    ran = project.run(files=["tests/test_w.py"], watch=["json", "sys", "never_loaded"])
    assert str(ran.record.modules["json"]).endswith("__init__.py")
    assert ran.record.modules["sys"] == "built-in"
    assert ran.record.modules["never_loaded"] is None


def test_the_steps_own_junit_file_is_told(project: Project) -> None:
    ran = project.run("--junitxml=their.xml", files=["tests/test_b.py"])
    assert ran.record.xmlpath.endswith("their.xml")
    assert ran.judged.outcome is Outcome.PASSED


@pytest.mark.parametrize(
    ("body", "name"),
    [("os.kill(os.getpid(), signal.SIGSEGV)", "SIGSEGV"), ("os.abort()", "SIGABRT")],
)
def test_a_crash_names_the_test(project: Project, body: str, name: str) -> None:
    project.write({"tests/test_die.py": f"import os, signal\ndef test_die():\n    {body}"})
    ran = project.run(files=["tests/test_b.py", "tests/test_die.py"])
    assert ran.code < 0
    assert ran.judged.outcome is Outcome.FAILED
    assert ran.judged.reason == f"crashed: {name} in tests/test_die.py::test_die"
    assert ran.judged.counts == Counts(passed=1, failed=1)


def test_a_test_that_ends_the_process_with_0_does_not_pass(project: Project) -> None:
    project.write({"tests/test_end.py": "import os\ndef test_end(): os._exit(0)"})
    ran = project.run(files=["tests/test_end.py"])
    assert ran.code == 0
    assert ran.judged.outcome is Outcome.ERROR
    assert "tests/test_end.py::test_end" in ran.judged.reason


def test_a_conftest_that_cannot_be_imported_is_news(project: Project) -> None:
    project.write({"tests/conftest.py": "import nowhere_to_be_found"})
    ran = project.run("tests", files=["tests/test_b.py"])
    assert ran.code == 4
    assert ran.judged.outcome is Outcome.FAILED
    assert [it.id for it in ran.judged.cases] == ["tests/conftest.py"]


# --- a plugin that cannot do its work changes nothing ---------------------------------------------------------------


@pytest.mark.parametrize("selection", ["", "[" * 100_000, '{"record": 7}'])
def test_a_selection_that_cannot_be_read_narrows_nothing(project: Project, selection: str) -> None:
    ran = project.run("tests/test_b.py", selection=selection)
    assert ran.code == 0
    assert "1 passed" in ran.output
    assert not ran.record.readable


@pytest.mark.parametrize("wrong", [{"mode": "some"}, {"ids": [1]}])
def test_a_selection_of_another_form_narrows_nothing_and_says_so(
    project: Project, wrong: dict[str, Any]
) -> None:
    ran = project.run(**wrong)
    assert ran.code == 0
    assert len(ran.passed) == 6
    assert ran.record.faults
    assert not ran.record.narrowed


@pytest.mark.parametrize("place", ["/dev/zero", "fifo"])
def test_a_variable_that_names_anything_narrows_nothing(
    project: Project, tmp_path: Path, place: str
) -> None:
    os.mkfifo(tmp_path / "fifo")
    place = str(tmp_path / "fifo") if place == "fifo" else place
    ran = project.run("tests/test_b.py", env={"PRESUBMIT_SELECTION": place})
    assert "1 passed" in ran.output


def test_a_record_that_cannot_be_written_changes_nothing(project: Project, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    ran = project.run(record=str(tmp_path / "link"), files=["tests/test_b.py"])
    assert "1 passed" in ran.output
    assert not ran.record.readable
    assert not (tmp_path / "elsewhere").exists()


def test_a_fault_of_the_plugin_narrows_nothing(project: Project) -> None:
    text = (project.mount / f"{NAME}.py").read_text()
    broken = text.replace("def keeps(self, item: Any) -> bool:", "def keeps(self) -> bool:")
    assert broken != text
    (project.mount / f"{NAME}.py").write_text(broken)
    ran = project.run(ids=["tests/test_b.py::test_b"])
    assert ran.code == 0
    assert "pytest_collection_modifyitems" in ran.record.faults[0]


# --- other Pythons and pytests --------------------------------------------------------------------------------------


def interpreters() -> list[str]:
    """Interpreters that have pytest: those that PRESUBMIT_PYTHONS lists, and python3.x on PATH."""
    listed = os.environ.get("PRESUBMIT_PYTHONS", "").split(os.pathsep)
    return [it for it in listed if it] or [f"python3.{minor}" for minor in range(8, 16)]


@pytest.mark.parametrize("python", interpreters())
def test_it_works_on_other_pythons(project: Project, python: str) -> None:
    found = shutil.which(python)
    if found is None:
        pytest.skip(f"{python} is not installed")
    probe = (found, "-W", "ignore", "-c", "import pytest; print(pytest.__version__)")
    version = subprocess.run(probe, capture_output=True, text=True, check=False)
    if version.returncode or int(version.stdout.split(".")[0]) < 6:
        pytest.skip(f"{python} has no pytest from 6 on")
    project.write(
        {
            "pytest.ini": "[pytest]\nfilterwarnings = error\naddopts = --strict-config\n",
            "tests/test_broken.py": "raise RuntimeError",
            "tests/test_bad.py": "def test_bad(): raise KeyError",
        }
    )
    for arguments in ((), ("tests/test_broken.py", "tests/test_a.py", "tests/test_bad.py")):
        ran = project.run(*arguments, python=found, files=["tests/test_a.py", "tests/test_bad.py"])
        assert ran.code == 1, ran.output
        assert ran.record.counts == Counts(passed=4, failed=1), ran.output
        assert ran.record.faults == ()
        assert ran.judged.outcome is Outcome.FAILED
    ran = project.run(python=found, ids=["tests/test_a.py::TestGroup"])
    assert len(ran.passed) == 2


# --- single tests of a file -----------------------------------------------------------------------------------------


def test_ids_narrow_some_of_the_chosen_files(project: Project) -> None:
    ran = project.run(
        files=["tests/test_a.py", "tests/test_b.py"], within=["tests/test_a.py::test_each"]
    )
    assert sorted(ran.passed) == [
        "tests/test_a.py::test_each[a::b[c]]",
        "tests/test_a.py::test_each[one]",
        "tests/test_b.py::test_b",
    ]
    assert (ran.record.selected, ran.record.missing, ran.record.widened) == (3, (), ())


def test_a_file_is_run_whole_where_an_id_of_it_is_gone(project: Project) -> None:
    ids = ["tests/test_a.py::test_each", "tests/test_a.py::TestGroup::test_gone"]
    ran = project.run(files=["tests/test_a.py"], within=ids)
    assert len(ran.passed) == 4
    assert ran.record.widened == ("tests/test_a.py",)
    assert any("run whole" in note and "tests/test_a.py" in note for note in ran.judged.notes)


def test_the_tests_of_another_shard_are_left_out(project: Project) -> None:
    ran = project.run(files=["tests/test_a.py"], without=["tests/test_a.py::TestGroup"])
    assert sorted(ran.passed) == [
        "tests/test_a.py::test_each[a::b[c]]",
        "tests/test_a.py::test_each[one]",
    ]


@needs_xdist
def test_a_file_that_was_run_whole_is_told_by_workers_too(project: Project) -> None:
    ran = project.run(
        *("-p", "xdist", "-n", "2"),
        files=["tests/test_a.py"],
        within=["tests/test_a.py::test_gone"],
    )
    assert (len(ran.passed), ran.record.widened) == (4, ("tests/test_a.py",))


# --- another copy of the project ------------------------------------------------------------------------------------


@pytest.mark.parametrize("installed", ["VALUE = 2\n", "VALUE = 1\n"])
@pytest.mark.parametrize("top", ["lib/", "src/"])
def test_an_installed_copy_that_is_not_the_trees_is_said(
    project: Project, tmp_path: Path, installed: str, top: str
) -> None:
    """As with networkx, which one of its test dependencies brings along: the graph is of code that does not run."""
    site = tmp_path / "lib/site-packages"
    site.mkdir(parents=True)
    (site / "thing.py").write_text(installed)
    project.write({f"{top}thing.py": "VALUE = 1"})
    test = "import thing\n\ndef test_thing(): assert thing.VALUE"
    project.write({"tests/test_thing.py": test})
    path = f"{site}{os.pathsep}{project.mount}"
    ran = project.run(
        "--import-mode=importlib", files=["tests/test_thing.py"], env={"PYTHONPATH": path}
    )
    assert len(ran.passed) == 1, ran.output
    other = installed != "VALUE = 1\n"
    assert ran.record.copies == ((f"{top}thing.py",) if other else ())
    assert any("differs from the tree" in note for note in ran.judged.notes) == other


# --- ids ------------------------------------------------------------------------------------------------------------

ODD = [
    "with space",
    "a::b",
    "a[b]c",
    "line\nbreak",
    "tab\there",
    "back\\slash",
    "é",
    "'quote\"",
    "",
    "@x",
    "-k",
    "100%",
]


def test_every_id_survives_whatever_stands_in_its_parameters(project: Project) -> None:
    source = f"import pytest\n\n@pytest.mark.parametrize('it', {ODD!r})\ndef test_odd(it): pass"
    project.write({"tests/test_odd.py": source})
    every = project.run(files=["tests/test_odd.py"]).passed
    assert len(every) == len(set(every)) == len(ODD)
    for one in every:
        ran = project.run(ids=[one])
        assert (ran.passed, ran.record.missing) == ([one], ()), ran.output


def test_five_thousand_ids_are_chosen_one_by_one(project: Project) -> None:
    source = (
        "import pytest\n\n@pytest.mark.parametrize('it', range(6000))\ndef test_many(it): pass"
    )
    project.write({"tests/test_many.py": source})
    ids = [f"tests/test_many.py::test_many[{number}]" for number in range(5000)]
    ran = project.run("-q", ids=ids)
    assert (ran.record.selected, ran.record.deselected) == (5000, 1000)
    assert set(ran.passed) == set(ids)
    assert ran.judged.outcome is Outcome.PASSED
