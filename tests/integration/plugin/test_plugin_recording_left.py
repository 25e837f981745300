"""What a test leaves changed is seen by the names that lead to it; what it puts back, or drops, is not."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import Final

import pytest

from tests.integration.plugin.recording import PYTHON, Project, Run, coverage_of

LIB: Final = """\
    import contextvars
    import decimal
    import functools
    import threading

    NUMBER = 1
    ITEMS = []
    EACH = []
    TABLE = {"deep": [{}]}
    NAMES = {"one"}
    LOCAL = threading.local()
    LOCAL.value = 1
    VARIABLE = contextvars.ContextVar("variable")
    VARIABLE.set([])

    class Box:
        kinds = []
        limit = 1

        def __init__(self):
            self.items = []
            self.size = 1

    class Slim:
        __slots__ = ("size",)

        def __init__(self):
            self.size = 1

    BOX = Box()
    SLIM = Slim()

    def kept(value, known=[]):
        known.append(value)

    def counting():
        count = 0
        def count_on():
            nonlocal count
            count += 1
        return count_on

    COUNTING = counting()

    def tagged():
        return 1

    PART = functools.partial(dict, stored=[])

    @functools.lru_cache(maxsize=None)
    def cached(value):
        return [value]

    cached(0)

    def numbers():
        count = 0
        while True:
            count += 1
            yield count

    STARTED = numbers()
    next(STARTED)
    """

SEEN: Final = {
    "rebound": ("lib.NUMBER = 2", "NUMBER"),
    "new": ("lib.MORE = 2", "MORE"),
    "list": ("lib.ITEMS.append(1)", "ITEMS"),
    "deep": ("lib.TABLE['deep'][0]['x'] = 1", "TABLE"),
    "key": ("lib.TABLE['new'] = lib.TABLE.pop('deep')", "TABLE"),
    "set": ("lib.NAMES.add('two')", "NAMES"),
    "attribute": ("lib.BOX.size = 2", "BOX"),
    "held": ("lib.BOX.items.append(1)", "BOX"),
    "slot": ("lib.SLIM.size = 2", "SLIM"),
    "class": ("lib.Box.limit = 2", "Box"),
    "of_class": ("lib.Box.kinds.append(1)", "Box.kinds"),
    "of_function": ("lib.tagged.seen = 1", "tagged"),
    "closure": ("lib.COUNTING()", "COUNTING"),
    "default": ("lib.kept(1)", "kept"),
    "partial": ("lib.PART.keywords['stored'].append(1)", "PART"),
    "thread_local": ("lib.LOCAL.value = 2", "LOCAL"),
    "cache": ("lib.cached(1)", "cached"),
    "cached": ("lib.cached(0).append(1)", "cached"),
    "generator": ("next(lib.STARTED)", "STARTED"),
}
"""A statement, and the name that it leaves changed."""

AROUND: Final = {
    "environment": ("os.environ['MORE'] = '1'", "os.environ"),
    "folder": ("os.chdir('tests')", "os.getcwd()"),
    "path": ("sys.path.append('more')", "sys.path"),
    "logger": ("logging.getLogger('more').setLevel(1)", "logging"),
    "handler": ("logging.getLogger('other').addHandler(logging.NullHandler())", "logging"),
    "context": ("lib.VARIABLE.set([1])", "contextvars"),
    "in_context": ("lib.VARIABLE.get().append(1)", "context variable"),
    "decimal": ("decimal.getcontext().prec = 7", "context decimal_context"),
}

OTHERS: Final = """
@pytest.fixture(scope="session")
def box():
    return lib.Box()

def test_of_all(box): box.items.append(1)
def test_reads(box): box.items.index(1)

@pytest.mark.parametrize("number", [1, 2])
def test_each(number): lib.EACH[:] = [1][number - 1:]

def test_imports(): import pkg.late
"""

NOTHING: Final = {
    "own": "lib.Box().items.append(1); lib.cached(0); lib.counting()()",
    "put_back": "lib.ITEMS.append(1); lib.ITEMS.clear(); lib.NUMBER = 2; lib.NUMBER = 1",
    "equal": "lib.BOX.size = int('1'); lib.NUMBER = int('1')",
    "read": "vars(lib.BOX); lib.BOX.__dict__; copy.copy(lib.BOX); copy.copy(lib.SLIM)",
    "divided": "decimal.Decimal(1) / 3",
    "warned": "warnings.warn('so', DeprecationWarning)",
    "logged": "logging.getLogger('quiet').debug('so')",
}


def pythons() -> list[str]:
    """Interpreters that have pytest: those that PRESUBMIT_PYTHONS lists, and the one that records here."""
    return [
        PYTHON,
        *(it for it in os.environ.get("PRESUBMIT_PYTHONS", "").split(os.pathsep) if it),
    ]


@pytest.fixture(scope="module", params=pythons())
def ran(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Give a run of one test for each statement, on one interpreter."""
    python = shutil.which(str(request.param))
    if (
        python is None
        or subprocess.run(
            (python, "-c", "import pytest"), capture_output=True, check=False
        ).returncode
    ):
        pytest.skip(f"{request.param} has no pytest")
    project = Project(tmp_path_factory.mktemp("left"), coverage_of(python))
    statements = NOTHING | {name: it for name, (it, _) in {**SEEN, **AROUND}.items()}
    tests = "".join(f"\ndef test_{name}(): {it}\n" for name, it in statements.items())
    imports = (
        "import copy, decimal, logging, os, sys, warnings\nimport pytest\nfrom pkg import lib\n"
    )
    project.write({"pkg/__init__.py": "", "pkg/lib.py": LIB, "pkg/late.py": "", "tests/a.txt": ""})
    (project.root / "tests/test_left.py").write_text(imports + OTHERS + tests)
    run = project.run(python=python)
    assert run.code == 0, run.output
    return run


def left(run: Run, name: str) -> tuple[str, ...] | None:
    return run.ran(f"test:tests/test_left.py::test_{name}").left


@pytest.mark.parametrize("name", SEEN)
def test_what_changed_is_named(ran: Run, name: str) -> None:
    found = left(ran, name)
    assert found is not None
    assert f"pkg/lib.py::{SEEN[name][1]}" in found


@pytest.mark.parametrize("name", AROUND)
def test_what_changed_outside_of_modules_is_named(ran: Run, name: str) -> None:
    assert AROUND[name][1] in (left(ran, name) or ())


@pytest.mark.parametrize("name", NOTHING)
def test_what_is_as_it_was_is_not_left(ran: Run, name: str) -> None:
    assert left(ran, name) == ()


def test_the_class_of_a_changed_object_is_named(ran: Run) -> None:
    assert "a pkg/lib.py::Box" in (left(ran, "held") or ())


def test_what_a_shared_fixture_made_is_looked_at(ran: Run) -> None:
    assert left(ran, "of_all") == ("a pkg/lib.py::Box", "fixture:tests/test_left.py::box")
    assert left(ran, "reads") == ()


def test_the_parameters_of_a_test_are_looked_at_together(ran: Run) -> None:
    # The first leaves a 1 behind, and the second takes it away again.
    assert left(ran, "each") == ()


def test_a_module_that_a_test_imports_is_named(ran: Run) -> None:
    assert "module pkg.late" in (left(ran, "imports") or ())
