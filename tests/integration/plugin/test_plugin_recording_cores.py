"""The two cores of the recorder, coverage's C tracer and `sys.monitoring`, on one project: what they give is the same."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING, Final

import pytest

from tests.integration.plugin.recording import PYTHON, Project, coverage_of

if TYPE_CHECKING:
    from pathlib import Path

    from presubmit.selector.recording import Recording

TREE: Final = {
    "pkg/__init__.py": "",
    "pkg/lib.py": """\
        import contextlib
        import functools

        LIMIT = [number for number in range(3)]
        double = lambda value: value * 2

        def decorate(function):
            @functools.wraps(function)
            def wrapper(*args):
                return function(*args)
            return wrapper

        class Box:
            kinds = {kind: len(kind) for kind in ("a", "bb")}

            def __enter__(self):
                return self

            def __exit__(self, *_):
                return None

            @property
            def half(self):
                return 1

            @decorate
            def shown(self):
                return [part for part in self.parts()]

            def parts(self):
                yield from (each for each in (1, 2))

            class Inner:
                def deep(self):
                    return sum(x for x in (1, 2))

                def documented(self):
                    '''Do nothing.'''

        def outer():
            class Local:
                def method(self):
                    return (lambda: 3)()
            return Local().method()

        def made():
            space = {}
            exec("def inside():\\n    return 4\\n", space)
            return space["inside"]()

        @contextlib.contextmanager
        def managed():
            try:
                yield 1
            finally:
                cleaned()

        def cleaned():
            return None

        async def waited():
            return await later()

        async def later():
            return 5

        def numbers():
            yield 1
            yield 2

        def fails():
            raise ValueError
        """,
    # On the same lines and with the same text as in the file above: equal code objects.
    "pkg/one.py": "def same():\n    return 1\n",
    "pkg/two.py": "def same():\n    return 1\n",
    "tests/test_lib.py": """\
        import asyncio
        import pytest
        from pkg import lib, one, two

        @pytest.fixture(scope="module")
        def box():
            with lib.Box() as found:
                yield found
            lib.outer()

        @pytest.fixture
        def counted():
            counting = lib.numbers()
            yield next(counting)
            next(counting)

        KEPT = lib.numbers()

        def test_one(): assert one.same() == 1
        def test_two(): assert two.same() == 1
        def test_box(box): assert box.shown() == [1, 2] and box.half
        def test_box_again(box): assert lib.Box.Inner().deep() == 3 and not lib.Box.Inner().documented()
        def test_lambda(): assert lib.double(2) == 4
        def test_outer(): assert lib.outer() == 3
        def test_made(): assert lib.made() == 4
        def test_counted(counted): assert counted == 1
        def test_started(): assert next(KEPT) == 1
        def test_resumed(): assert next(KEPT) == 2
        def test_waited(): assert asyncio.run(lib.waited()) == 5
        def test_thrown():
            with pytest.raises(ValueError):
                with lib.managed():
                    lib.fails()
        @pytest.mark.parametrize("value", [lib.double(1), lib.double(2)])
        def test_each(value): assert value
        """,
}


def pythons() -> list[str]:
    """Interpreters from 3.12 on: those that PRESUBMIT_PYTHONS lists, python3.x on PATH, and the one that records here."""
    listed = [it for it in os.environ.get("PRESUBMIT_PYTHONS", "").split(os.pathsep) if it]
    return [PYTHON, *(listed or [f"python3.{minor}" for minor in range(12, 16)])]


@pytest.fixture(scope="session", params=pythons())
def python(request: pytest.FixtureRequest) -> str:
    found = shutil.which(str(request.param))
    if found is None:
        pytest.skip(f"{request.param} is not installed")
    probe = "import pytest, sys; sys.monitoring"
    if subprocess.run((found, "-c", probe), capture_output=True, check=False).returncode:
        pytest.skip(f"{request.param} has no sys.monitoring, or no pytest")
    return found


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path, tmp_path / "no coverage here")
    made.write(TREE)
    return made


def facts(recording: Recording) -> dict[str, tuple[object, ...]]:
    # A line that defines a function on one line shows nothing of whether it was called: only `monitoring` can tell.
    return {
        it.context: (it.functions, it.outcome, it.uses, it.open)
        for it in recording.contexts
        if not it.context.startswith(("session:", "collect:"))
    }


def test_both_cores_give_the_same_functions(project: Project, python: str) -> None:
    heard = project.run(python=python)
    assert (heard.code, heard.whole.core, heard.whole.complete) == (0, "monitoring", True)
    assert not any(it.open for it in heard.whole.contexts)
    told = {"core": "ctrace", "coverage": str(coverage_of(PYTHON))}
    traced = project.run(python=PYTHON, recording=told)
    assert (traced.code, traced.whole.core) == (0, "ctrace"), traced.output
    assert facts(heard.whole) == facts(traced.whole)
    at_import = heard.ran("collect:tests/test_lib.py").functions
    assert at_import == {"pkg/lib.py": ("decorate",)}
    assert "decorate" in traced.ran("collect:tests/test_lib.py").functions["pkg/lib.py"]


def test_each_test_has_what_went_on_in_it(project: Project, python: str) -> None:
    run = project.run(python=python)
    ran = {
        name: run.ran(f"test:tests/test_lib.py::test_{name}").functions
        for name in ("one", "two", "started", "resumed", "thrown", "counted", "lambda")
    }
    assert "pkg/two.py" not in ran["one"]
    assert ran["two"]["pkg/two.py"] == ("same",)
    assert ran["started"]["pkg/lib.py"] == ran["resumed"]["pkg/lib.py"] == ("numbers",)
    assert ran["thrown"]["pkg/lib.py"] == ("cleaned", "fails", "managed")
    assert ran["counted"]["pkg/lib.py"] == ("numbers",)
    assert ran["lambda"] == {"tests/test_lib.py": ("test_lambda",)}
    assert run.ran("fixture:tests/test_lib.py::box").functions["pkg/lib.py"] == (
        "Box.__enter__",
        "Box.__exit__",
        "outer",
    )


def test_what_a_thread_is_in_the_middle_of_belongs_to_each_test(
    project: Project, python: str
) -> None:
    project.write(
        {
            "pkg/busy.py": """\
                import threading
                stop = threading.Event()

                def work():
                    while not stop.wait(0.01):
                        pass
                """,
            "tests/test_lib.py": """\
                import threading
                from pkg import busy

                def test_starts(): threading.Thread(target=busy.work).start()
                def test_between(): pass
                def test_stops(): busy.stop.set()
                """,
        }
    )
    run = project.run(python=python)
    for name in ("starts", "between", "stops"):
        assert run.ran(f"test:tests/test_lib.py::test_{name}").functions["pkg/busy.py"] == (
            "work",
        )


def test_a_switch_of_greenlets_resumes_what_runs_on(project: Project, python: str) -> None:
    probe = (python, "-c", "import greenlet")
    if subprocess.run(probe, capture_output=True, check=False).returncode:
        pytest.skip("greenlet is not installed")
    project.write(
        {
            "pkg/green.py": """\
                import greenlet

                def work():
                    greenlet.getcurrent().parent.switch(1)
                    return 2

                lane = greenlet.greenlet(work)
                """,
            "tests/test_lib.py": """\
                from pkg import green

                def test_begins(): assert green.lane.switch() == 1
                def test_goes_on(): assert green.lane.switch() == 2
                """,
        }
    )
    run = project.run(python=python)
    assert run.ran("test:tests/test_lib.py::test_goes_on").functions["pkg/green.py"] == ("work",)


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("sys.settrace(lib.double); sys.settrace(None)", "another tracer"),
        ("sys.setprofile(lambda *_: None); sys.setprofile(None)", "another tracer"),
        ("sys.monitoring.use_tool_id(1, 'mine')", "another tool of sys.monitoring"),
        ("sys.monitoring.free_tool_id(3)", "another tracer"),
        ("sys.monitoring.set_events(3, 0)", "another tracer"),
    ],
)
def test_a_test_that_hides_code_is_open(
    project: Project, python: str, statement: str, why: str
) -> None:
    lines = (
        "import sys\nfrom pkg import lib",
        f"def test_it():\n    {statement}",
        "def test_after(): lib.cleaned()",
    )
    project.write({"tests/test_lib.py": "\n".join(lines) + "\n"})
    run = project.run(python=python)
    assert run.ran("test:tests/test_lib.py::test_it").open == why
    after = run.ran("test:tests/test_lib.py::test_after")
    assert after.open or after.functions["pkg/lib.py"] == ("cleaned",)


@pytest.mark.parametrize("core", ["ctrace", "sysmon"])
def test_a_project_may_measure_coverage_at_the_same_time(
    project: Project, python: str, core: str
) -> None:
    probe = (python, "-c", "import pytest_cov")
    if subprocess.run(probe, capture_output=True, check=False).returncode:
        pytest.skip("pytest-cov is not installed")
    plain = facts(project.run(python=python).whole)
    env = {"COVERAGE_CORE": core, "COVERAGE_FILE": str(project.out / "measured")}
    run = project.run("-p", "pytest_cov", "--cov=pkg", python=python, env=env)
    assert run.code == 0, run.output
    assert facts(run.whole) == plain
    assert "pkg/lib.py" in run.output


def test_where_two_tools_have_no_place_nothing_is_recorded(project: Project, python: str) -> None:
    tools = "\n".join(f"sys.monitoring.use_tool_id({n}, 'mine')" for n in range(5))
    project.write({"site/sitecustomize.py": f"import sys\n{tools}\n"})
    path = project.environment({})["PYTHONPATH"]
    run = project.run(python=python, env={"PYTHONPATH": f"{path}:{project.root}/site"})
    assert run.code == 0, run.output
    assert run.whole.contexts == ()
    assert run.whole.note
