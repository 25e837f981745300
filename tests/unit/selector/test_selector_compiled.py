"""From changed native sources to tests, and from Python that native code imports."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from presubmit.selector import MemoryCache, Tree, imports_of, select
from presubmit.selector.builds import build_key, store_built
from presubmit.selector.cache import Kind
from presubmit.selector.native.exact import Built
from presubmit.selector.native.suffixes import is_native_file
from presubmit.selector.shape import read_shape
from presubmit.values import ChangedFile, FileStatus, Mode, Selection
from tests.unit.selector.changes import make_change

if TYPE_CHECKING:
    from collections.abc import Collection

SETUP = (
    "from setuptools import Extension, setup\n"
    "setup(ext_modules=[Extension('pkg._fast', ['src/pkg/_fast.c']),"
    " Extension('pkg._cy', ['src/pkg/_cy.pyx'])])\n"
)
C = """\
#include <Python.h>
#include "limits.h"

static long
twice(long value)
{
    return value * 2;
}

static PyObject *
double_it(PyObject *self, PyObject *arg)
{
    return PyLong_FromLong(twice(PyLong_AsLong(arg)));
}

static PyObject *
halve(PyObject *self, PyObject *arg)
{
    return PyLong_FromLong(PyLong_AsLong(arg) / 2);
}

static PyMethodDef methods[] = {
    {"double_it", double_it, METH_O, NULL},
    {"halve", halve, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_fast", NULL, -1, methods};

PyMODINIT_FUNC
PyInit__fast(void)
{
    return PyModule_Create(&module);
}
"""
CYTHON = """\
from pkg.shared import base

cdef class Counter:
    cdef int n

    def step(self):
        self.n += 1
        return base(self.n)

    def reset(self):
        self.n = 0
"""
FILES = {
    "setup.py": SETUP,
    "src/pkg/__init__.py": "",
    "src/pkg/_fast.c": C,
    "src/pkg/limits.h": "#define LIMIT 3\n",
    "src/pkg/_cy.pyx": CYTHON,
    "src/pkg/stray.c": "int unused(void) { return 1; }\n",
    "src/pkg/shared.py": "def base(n):\n    return n\n",
    "src/pkg/api.py": (
        "from pkg._fast import double_it, halve\n\n\n"
        "def quadruple(n):\n    return double_it(double_it(n))\n\n\n"
        "def quarter(n):\n    return halve(halve(n))\n"
    ),
    "src/pkg/count.py": "from pkg._cy import Counter\n\n\ndef make():\n    return Counter()\n",
    "tests/test_quadruple.py": "from pkg.api import quadruple\n\n\ndef test_q():\n    assert quadruple(1) == 4\n",
    "tests/test_quarter.py": "from pkg.api import quarter\n\n\ndef test_q():\n    assert quarter(4) == 1\n",
    "tests/test_step.py": "from pkg.count import make\n\n\ndef test_s():\n    assert make().step() == 1\n",
    "tests/test_reset.py": "from pkg.count import make\n\n\ndef test_r():\n    make().reset()\n",
    "tests/test_else.py": "import json\n\n\ndef test_j():\n    assert json.loads('1') == 1\n",
}
FAST = {"tests/test_quadruple.py", "tests/test_quarter.py"}
CY = {"tests/test_step.py", "tests/test_reset.py"}


def make_tree(
    head: dict[str, str], base: dict[str, str], cache: MemoryCache | None = None
) -> Tree:
    def texts(files: dict[str, str], paths: Collection[str]) -> dict[str, bytes]:
        return {path: files[path].encode() for path in paths if path in files}

    return Tree(
        paths=tuple(head),
        imports={p: imports_of(p, s.encode()) for p, s in head.items() if p.endswith(".py")},
        blobs={path: str(hash(text)) for path, text in head.items()},
        cache=cache,
        shapes=lambda paths: {p: read_shape(t) for p, t in texts(head, paths).items()},
        base_shapes=lambda paths: {p: read_shape(t) for p, t in texts(base, paths).items()},
        texts=lambda paths: texts(head, paths),
        base_texts=lambda paths: texts(base, paths),
    )


def edit(
    path: str,
    old: str,
    new: str,
    *,
    files: dict[str, str] = FILES,
    cache: MemoryCache | None = None,
) -> Selection:
    assert old in files[path]
    head = files | {path: files[path].replace(old, new, 1)}
    change = ChangedFile(path=path, status=FileStatus.MODIFIED)
    return select(make_change(change), make_tree(head, files, cache))


def paths(selection: Selection) -> set[str]:
    return {test.path for test in selection.tests}


def test_a_c_function_reaches_the_tests_that_use_its_bound_name_through_python() -> None:
    found = edit("src/pkg/_fast.c", "value * 2", "value * 3")
    assert paths(found) == {"tests/test_quadruple.py"}
    chain = found.tests[0].reasons[0].chain
    assert chain == (
        "src/pkg/_fast.c::double_it",
        "src/pkg/api.py::double_it",
        "src/pkg/api.py::quadruple",
        "tests/test_quadruple.py",
    )


def test_a_method_of_an_extension_type_reaches_the_tests_that_use_the_attribute() -> None:
    assert paths(edit("src/pkg/_cy.pyx", "self.n = 0", "self.n = 1")) == {"tests/test_reset.py"}


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("src/pkg/limits.h", "LIMIT 3", "LIMIT 4"),
        ("src/pkg/_fast.c", '{"halve", halve', '{"halve", double_it'),
        ("src/pkg/_fast.c", "return PyModule_Create(&module);", "return NULL;"),
    ],
)
def test_macros_tables_and_the_modules_start_reach_every_importer(
    path: str, old: str, new: str
) -> None:
    assert paths(edit(path, old, new)) == FAST


def test_comments_and_layout_of_native_code_reach_nothing() -> None:
    found = edit(
        "src/pkg/_fast.c", "    return value * 2;", "    /* twice */\n    return value * 2;"
    )
    assert found.mode is Mode.NONE


def test_a_native_file_of_no_module_selects_all_and_says_why() -> None:
    found = edit("src/pkg/stray.c", "return 1", "return 2")
    assert found.mode is Mode.ALL
    assert found.unsure == (
        "native file: src/pkg/stray.c (no extension module is known to be built from src/pkg/stray.c)",
    )


def test_a_deleted_native_source_reaches_every_importer_or_all() -> None:
    head = {path: text for path, text in FILES.items() if path != "src/pkg/_fast.c"}
    change = ChangedFile(path="src/pkg/_fast.c", status=FileStatus.DELETED)
    found = select(make_change(change), make_tree(head, FILES))
    assert paths(found) >= FAST


def test_python_that_native_code_imports_reaches_the_importers_of_the_module() -> None:
    """msgpack's ext.py is imported by _cmsgpack.pyx alone."""
    found = edit("src/pkg/shared.py", "return n", "return n + 1")
    assert paths(found) == CY


def test_the_map_of_native_files_is_kept_and_a_damaged_one_is_read_anew() -> None:
    cache = MemoryCache()
    first = edit("src/pkg/_fast.c", "value * 2", "value * 3", cache=cache)
    (key,) = cache.entries[Kind.NATIVE]
    for kept in (cache.entries[Kind.NATIVE][key], b"\xc1junk"):
        cache.entries[Kind.NATIVE][key] = kept
        assert edit("src/pkg/_fast.c", "value * 2", "value * 3", cache=cache) == first
    assert cache.entries[Kind.NATIVE][key] != b"\xc1junk"


def test_a_change_of_python_alone_in_a_pure_tree_reads_no_native_map() -> None:
    pure = {path: text for path, text in FILES.items() if not path.endswith((".c", ".h", ".pyx"))}
    cache = MemoryCache()
    edit("src/pkg/shared.py", "return n", "return n + 1", files=pure, cache=cache)
    assert cache.entries[Kind.NATIVE] == {}


SWITCHED = (
    "import os\n\n"
    'if os.environ.get("PKG_PURE"):\n    from .slow import double_it\n'
    "else:\n    try:\n        from ._fast import double_it\n"
    "    except ImportError:\n        from .slow import double_it\n"
)
UNSWITCHED = (
    "try:\n    from ._fast import double_it\n"
    "except ImportError:\n    from .slow import double_it\n"
)
SLOW = "def double_it(n):\n    # Slowly.\n    return n + n\n"


def twin_files(init: str) -> dict[str, str]:
    return FILES | {"src/pkg/__init__.py": init, "src/pkg/slow.py": SLOW}


def test_a_pure_twin_that_tests_do_not_load_runs_with_the_variable_that_loads_it() -> None:
    """msgpack's fallback.py: with the extension built, no test runs it."""
    found = edit("src/pkg/slow.py", "n + n", "n * 2", files=twin_files(SWITCHED))
    (twin,) = found.twins
    assert (twin.path, twin.native, twin.variable) == ("src/pkg/slow.py", "pkg._fast", "PKG_PURE")
    assert {"pkg.slow", "src.pkg.slow"} >= set(twin.modules) > set()
    assert set(twin.tests) == paths(found) > set()
    assert found.notes == ()


def test_a_comment_in_a_twin_runs_nothing_again() -> None:
    assert edit("src/pkg/slow.py", "Slowly", "So", files=twin_files(SWITCHED)).twins == ()


def test_a_change_beside_a_twin_runs_nothing_again() -> None:
    files = twin_files(SWITCHED)
    assert edit("src/pkg/shared.py", "return n", "return 2", files=files).twins == ()
    assert edit("src/pkg/_fast.c", "value * 2", "value * 3", files=files).twins == ()


def test_a_twin_of_which_no_variable_is_known_is_said() -> None:
    found = edit("src/pkg/slow.py", "n + n", "n * 2", files=twin_files(UNSWITCHED))
    (note,) = found.notes
    assert note.startswith(
        "src/pkg/slow.py stands in for pkg._fast, which tests load in its place"
    )
    assert note.endswith("a build without it tests it")
    assert found.twins == ()


# --- after a build ------------------------------------------------------------------------------------------------------

UNREAD = "from setuptools import setup\nsetup(ext_modules=found())\n"


def test_a_build_by_the_same_build_files_answers_for_a_setup_that_cannot_be_read() -> None:
    files = FILES | {"setup.py": UNREAD}
    blobs = {path: str(hash(text)) for path, text in files.items()}
    built = Built(
        modules={"pkg._fast": ("src/pkg/_fast.c",), "pkg._cy": ("src/pkg/_cy.pyx",)},
        whole=True,
        files={path: blob for path, blob in blobs.items() if is_native_file(path)},
    )
    cache = MemoryCache()
    store_built(cache, build_key(blobs, lambda _: UNREAD.encode()), built)

    def twice(files: dict[str, str], cache: MemoryCache | None = None) -> Selection:
        return edit("src/pkg/_fast.c", "value * 2", "value * 3", files=files, cache=cache)

    assert twice(files).mode is Mode.ALL
    assert paths(twice(files, cache)) == paths(twice(FILES))
    assert twice(files | {"setup.py": f"{UNREAD}# edited\n"}, cache).mode is Mode.ALL
    assert twice(files | {"src/pkg/new.h": "int n;"}, cache).mode is Mode.ALL
