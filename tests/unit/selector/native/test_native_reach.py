"""From changed native files to modules, names, importers and pure Python twins."""

from __future__ import annotations

import pytest

from presubmit.selector.imports import Imports, read_imports
from presubmit.selector.native.reach import importers, modules_importing, native_reach
from presubmit.selector.native.static import read_native
from presubmit.selector.native.suffixes import is_native_file
from presubmit.selector.native.twins import twins
from presubmit.selector.native.values import NativeMap, NativeReach

SETUP = """
from setuptools import Extension, setup
setup(ext_modules=[
    Extension("pkg._a", ["src/a.c", "src/shared.c"]),
    Extension("pkg._b", ["src/b.c", "src/shared.c"]),
])
"""
MODULE = """
#include "shared.h"
static PyObject *f_{0}(PyObject *s) {{ return shared(1); }}
static PyObject *g_{0}(PyObject *s) {{ return NULL; }}
static PyMethodDef methods[] = {{ {{"f_{0}", f_{0}, 0, ""}}, {{"g_{0}", g_{0}, 0, ""}}, {{0}} }};
static struct PyModuleDef def = {{ PyModuleDef_HEAD_INIT, "_{0}", 0, 0, methods }};
"""
FILES = {
    "setup.py": SETUP,
    "src/a.c": MODULE.format("a"),
    "src/b.c": MODULE.format("b"),
    "src/shared.c": '#include "shared.h"\nint shared(int x) { return x; }\n',
    "src/shared.h": "int shared(int x);\n",
    "src/stray.c": "int stray;\n",
    "pkg/__init__.py": "from ._a import f_a\n",
}


def reach(path: str, old: str, new: str, files: dict[str, str] | None = None) -> NativeReach:
    files = files or FILES
    texts = {name: text.encode() for name, text in files.items()}
    base = texts.get(path)
    head = base.replace(old.encode(), new.encode()) if base is not None else new.encode()
    assert head != base or old == new
    found = read_native([*texts, path], lambda it: head if it == path else texts.get(it))
    return native_reach({path: (base, head)}, found, texts.get)[path]


def test_a_source_reaches_its_module_and_the_names_that_it_changes() -> None:
    found = reach("src/a.c", "return NULL;", "return s;")
    assert (found.modules, found.names, found.unsure) == (("pkg._a",), ("g_a",), "")
    assert found.chain == ("src/a.c", "pkg._a", "g_a")


def test_a_shared_source_reaches_every_module_with_the_names_of_each() -> None:
    found = reach("src/shared.c", "return x;", "return -x;")
    assert (found.modules, found.names) == (("pkg._a", "pkg._b"), ("f_a", "f_b"))


def test_a_header_reaches_every_module_that_includes_it() -> None:
    found = reach("src/shared.h", "int x", "long x")
    assert (found.modules, found.names) == (("pkg._a", "pkg._b"), ("f_a", "f_b"))


def test_a_comment_is_quiet() -> None:
    found = reach("src/a.c", "return NULL;", "return NULL; /* why */")
    assert found.quiet
    assert found.modules == ()


def test_a_comment_is_quiet_in_a_file_that_no_module_is_built_from() -> None:
    assert reach("src/stray.c", "int stray;", "int stray; // here").quiet


def test_a_source_that_no_module_claims_is_unsure() -> None:
    found = reach("src/stray.c", "int stray", "long stray")
    assert found.unsure == "no extension module is known to be built from src/stray.c"
    assert not found.quiet


def test_a_new_source_concerns_the_whole_module() -> None:
    files = {**FILES, "setup.py": SETUP.replace('"src/b.c"', '"src/b.c", "src/new.c"')}
    found = reach("src/new.c", "", "int n;", files)
    assert (found.modules, found.names) == (("pkg._b",), None)


def test_a_deleted_source_is_unsure() -> None:
    texts = {name: text.encode() for name, text in FILES.items()}
    found = read_native([it for it in texts if it != "src/stray.c"], texts.get)
    reached = native_reach({"src/stray.c": (b"int stray;", None)}, found, texts.get)
    assert reached["src/stray.c"].unsure


def test_build_files_that_cannot_be_read_make_every_native_edit_unsure() -> None:
    files = {**FILES, "sub/setup.py": "setup(ext_modules=find())"}
    assert reach("src/a.c", "return NULL;", "return s;", files).unsure


def test_a_module_whose_sources_are_not_known_is_reached_by_every_native_file() -> None:
    files = {**FILES, "setup.py": SETUP.replace('["src/b.c", "src/shared.c"]', "more()")}
    found = reach("src/a.c", "return NULL;", "return s;", files)
    assert set(found.modules) == {"pkg._a", "pkg._b"}
    assert found.names is None
    assert found.why_whole


def test_modules_that_use_the_changed_one_from_native_code_are_reached_whole() -> None:
    files = {
        "setup.py": SETUP.replace("src/b.c", "src/b.pyx"),
        "src/a.c": FILES["src/a.c"],
        "src/b.pyx": "from pkg._a import f_a\n",
        "src/shared.c": FILES["src/shared.c"],
        "src/shared.h": FILES["src/shared.h"],
    }
    found = reach("src/a.c", "return NULL;", "return s;", files)
    assert (found.modules, found.names) == (("pkg._a", "pkg._b"), None)


def test_an_edit_of_two_files_is_seen_together() -> None:
    texts = {name: text.encode() for name, text in FILES.items()}
    found = read_native(texts, texts.get)
    new = texts["src/a.c"].replace(b"return shared(1);", b"return NULL;")
    other = texts["src/shared.c"].replace(b"return x;", b"return -x;")
    changed = {
        "src/a.c": (texts["src/a.c"], new),
        "src/shared.c": (texts["src/shared.c"], other),
    }
    reached = native_reach(changed, found, texts.get)
    assert reached["src/a.c"].names == ("f_a",)
    # Head's `f_a` does not call it any more: its own edit is what reaches its name.
    assert reached["src/shared.c"].modules == ("pkg._a", "pkg._b")


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("a.c", True),
        ("a.HPP", True),
        ("a.pyx.in", True),
        ("a.c.src", True),
        ("a.py", False),
        ("a.txt.in", False),
        ("README.md", False),
    ],
)
def test_native_files_are_told_by_their_suffix(path: str, expected: bool) -> None:
    assert is_native_file(path) is expected


# --- importers ------------------------------------------------------------------------------------------------------


def imports_of(source: str, module: str = "src.pkg.mod") -> Imports:
    return read_imports(source.encode(), module=module, is_package=False)


@pytest.mark.parametrize(
    "source",
    [
        "from pkg._a import f",
        "from pkg import _a",
        "from . import _a",
        "from ._a import f",
        "from ._a import *",
        "import pkg._a",
        "import pkg._a as other",
        "def f():\n    from pkg import _a",
        "import importlib\nimportlib.import_module('pkg._a')",
        "import importlib\nimportlib.import_module('pkg.' + name)",
        "import importlib\nimportlib.import_module(name)",
        "mock.patch('pkg._a.f')",
        "load('_a')",
        "def broken(:",
    ],
)
def test_files_that_import_or_may_import_a_module(source: str) -> None:
    assert importers("pkg._a", {"x.py": imports_of(source)}) == ("x.py",)


@pytest.mark.parametrize("source", ["import other._a", "from pkg import b", "import pkg", "x = 1"])
def test_files_that_do_not_import_a_module(source: str) -> None:
    assert importers("pkg._a", {"x.py": imports_of(source)}) == ()


def test_a_module_without_its_package_is_found_by_its_last_part() -> None:
    assert importers("_a", {"x.py": imports_of("from some.where import _a")}) == ("x.py",)


def test_a_python_file_reaches_the_modules_that_import_it_from_native_code() -> None:
    found = NativeMap(
        claims={},
        included_by={},
        modules={"pkg._a": (), "pkg._b": (), "pkg._c": ()},
        used_by={"pkg._a": ("pkg._b",)},
        imports={"pkg._a": ("pkg.ext", "pkg.ext.Timestamp"), "pkg._c": ("os",)},
    )
    assert modules_importing(["pkg.ext", "src.pkg.ext"], found) == ("pkg._a", "pkg._b")
    assert modules_importing(["pkg.other"], found) == ()


# --- twins ----------------------------------------------------------------------------------------------------------


def test_an_import_with_a_fallback_as_in_markupsafe() -> None:
    source = (
        b"try:\n    from ._speedups import f\nexcept ImportError:\n    from ._native import f\n"
    )
    (twin,) = twins(["markupsafe._speedups"], {"src/markupsafe/__init__.py": source})
    assert (twin.pure, twin.importer, twin.switches) == (
        "src.markupsafe._native",
        "src/markupsafe/__init__.py",
        (),
    )


def test_a_switch_in_the_environment_as_in_msgpack() -> None:
    source = b"""
import os
if os.environ.get("MSGPACK_PUREPYTHON"):
    from .fallback import Packer
else:
    try:
        from ._cmsgpack import Packer
    except ImportError:
        from .fallback import Packer
"""
    (twin,) = twins(["msgpack._cmsgpack"], {"msgpack/__init__.py": source})
    assert (twin.pure, twin.switches) == ("msgpack.fallback", ("MSGPACK_PUREPYTHON",))


def test_a_switch_that_another_module_reads_as_in_multidict() -> None:
    sources = {
        "multidict/_compat.py": b"""
import os, platform
NO_EXTENSIONS = bool(os.environ.get("MULTIDICT_NO_EXTENSIONS"))
PYPY = platform.python_implementation() == "PyPy"
USE_EXTENSIONS = not NO_EXTENSIONS and not PYPY
""",
        "multidict/__init__.py": b"""
from ._compat import USE_EXTENSIONS
if TYPE_CHECKING or not USE_EXTENSIONS:
    from ._multidict_py import MultiDict
else:
    from ._multidict import MultiDict
""",
    }
    (twin,) = twins(["multidict._multidict"], sources)
    assert (twin.pure, twin.switches) == ("multidict._multidict_py", ("MULTIDICT_NO_EXTENSIONS",))


def test_a_module_without_another_has_no_twin() -> None:
    source = b"try:\n    from ._x import f\nexcept ImportError:\n    f = None\n"
    assert (
        twins(["pkg._x"], {"pkg/__init__.py": source, "bad.py": b"def (:", "junk.py": b"\0"}) == ()
    )
