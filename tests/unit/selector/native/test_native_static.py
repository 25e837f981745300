"""From build files, trimmed from real projects, to the sources of each extension module."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import pytest

from presubmit.selector.native.reach import owners
from presubmit.selector.native.static import read_native

if TYPE_CHECKING:
    from presubmit.selector.native.values import NativeMap


def read(files: dict[str, str]) -> NativeMap:
    contents = {path: textwrap.dedent(text).encode() for path, text in files.items()}
    return read_native(contents, contents.get)


def direct(files: dict[str, str], build: str, name: str = "setup.py") -> dict[str, list[str]]:
    found = read({**files, name: build})
    assert found.unsure == ()
    return {module: sorted(it) for module, it in found.modules.items()}


# --- setup.py -------------------------------------------------------------------------------------------------------


def test_one_extension_as_in_markupsafe() -> None:
    build = """
    from setuptools import Extension, setup
    ext_modules = [Extension("markupsafe._speedups", ["src/markupsafe/_speedups.c"])]
    def run_setup(with_binary):
        setup(ext_modules=ext_modules if with_binary else [])
    run_setup(True)
    """
    files = {"src/markupsafe/_speedups.c": "", "src/markupsafe/_native.py": ""}
    assert direct(files, build) == {"markupsafe._speedups": ["src/markupsafe/_speedups.c"]}


def test_a_generated_c_file_brings_the_cython_files_beside_it_as_in_msgpack() -> None:
    build = """
    import os
    from setuptools import Extension, setup
    ext_modules = []
    if not os.environ.get("MSGPACK_PUREPYTHON"):
        ext_modules.append(
            Extension("msgpack._cmsgpack", sources=["msgpack/_cmsgpack.c"], include_dirs=["."])
        )
    setup(ext_modules=ext_modules)
    """
    files = {
        "msgpack/_cmsgpack.pyx": 'include "_packer.pyx"\n',
        "msgpack/_packer.pyx": 'cdef extern from "pack.h":\n    int f(int)\n',
        "msgpack/pack.h": '#include "pack_template.h"\n',
        "msgpack/pack_template.h": "",
        "msgpack/other.h": "",
    }
    assert direct(files, build) == {
        "msgpack._cmsgpack": [
            "msgpack/_cmsgpack.pyx",
            "msgpack/_packer.pyx",
            "msgpack/pack.h",
            "msgpack/pack_template.h",
        ]
    }


def test_lists_that_grow_under_a_condition_as_in_lz4() -> None:
    build = """
    from setuptools import Extension, setup
    version = ["lz4/_version.c"]
    block = ["lz4/block/_block.c"]
    if found():
        extra = {"libraries": ["lz4"]}
    else:
        version.extend(["lz4libs/lz4.c"])
        block.extend(["lz4libs/lz4.c", "lz4libs/lz4hc.c"])
        extra = {}
    one = Extension("lz4._version", version, **extra)
    two = Extension("lz4.block._block", block, **extra)
    modules = [one]
    modules.append(two)
    setup(ext_modules=modules)
    """
    files = dict.fromkeys(
        ("lz4/_version.c", "lz4/block/_block.c", "lz4libs/lz4.c", "lz4libs/lz4hc.c"), ""
    )
    assert direct(files, build) == {
        "lz4._version": ["lz4/_version.c", "lz4libs/lz4.c"],
        "lz4.block._block": ["lz4/block/_block.c", "lz4libs/lz4.c", "lz4libs/lz4hc.c"],
    }


def test_glob_and_added_lists_as_in_ujson() -> None:
    build = """
    from glob import glob
    from os import environ
    from setuptools import Extension, setup
    sources = []
    if not environ.get("LIBS", ""):
        sources.extend(glob("./src/deps/dc/*.cc"))
    sources.append("./src/wrapper.cc")
    module1 = Extension("ujson", sources=sources + ["./src/ujson.c"], include_dirs=["./src"])
    setup(ext_modules=[module1])
    """
    files = dict.fromkeys(
        ("src/deps/dc/a.cc", "src/deps/dc/test/b.cc", "src/wrapper.cc", "src/ujson.c"), ""
    )
    assert direct(files, build) == {"ujson": ["src/deps/dc/a.cc", "src/ujson.c", "src/wrapper.cc"]}


def test_comprehensions_join_and_format() -> None:
    build = """
    import os
    from setuptools import Extension, setup
    HERE = os.path.dirname(__file__)
    NAMES = ["a", "b"]
    exts = [Extension(f"pkg._{n}", [os.path.join("src", "_%s.c" % n)]) for n in NAMES]
    def more(name):
        return Extension("pkg." + name, ["src/{}.c".format(name)])
    exts += [more("c")]
    for name in ("d", "e"):
        exts.append(Extension("pkg." + name, sources=["src/" + name + ".c"]))
    setup(ext_modules=exts)
    """
    files = {f"src/{it}.c": "" for it in ("_a", "_b", "c", "d", "e")}
    assert direct(files, build) == {
        "pkg._a": ["src/_a.c"],
        "pkg._b": ["src/_b.c"],
        "pkg.c": ["src/c.c"],
        "pkg.d": ["src/d.c"],
        "pkg.e": ["src/e.c"],
    }


def test_cythonize_names_modules_by_the_packages_they_lie_in() -> None:
    build = """
    from Cython.Build import cythonize
    from setuptools import setup
    setup(ext_modules=cythonize("pkg/**/*.pyx"))
    """
    files = {
        "pkg/__init__.py": "",
        "pkg/sub/__init__.py": "",
        "pkg/sub/_x.pyx": "",
        "pkg/_y.pyx": "",
    }
    assert direct(files, build) == {"pkg.sub._x": ["pkg/sub/_x.pyx"], "pkg._y": ["pkg/_y.pyx"]}


@pytest.mark.parametrize(
    "build",
    [
        "from x import exts\nfrom setuptools import setup\nsetup(ext_modules=exts())",
        "from setuptools import setup, Extension\nimport x\nsetup(ext_modules=[Extension(x.name, ['a.c'])])",
        "from setuptools import setup\nsetup(cffi_modules=['build.py:ffi'])",
        "from setuptools import setup\nsetup(**config())",
        "def broken(:",
        "x = [lambda: Extension('a' for b",
    ],
)
def test_what_cannot_be_told_is_said(build: str) -> None:
    assert read({"setup.py": build, "a.c": ""}).unsure != ()


def test_unknown_sources_leave_the_module_open() -> None:
    build = """
    from setuptools import Extension, setup
    from x import sources
    setup(ext_modules=[Extension("pkg._x", sources() + ["a.c"])])
    """
    found = read({"setup.py": build, "a.c": ""})
    assert found.open == ("pkg._x",)


def test_a_build_ext_that_changes_its_own_sources_leaves_nothing_open() -> None:
    build = """
    from setuptools import Extension, setup
    class build_ext(base):
        def build_extensions(self):
            for ext in self.extensions:
                ext.sources = self.cython_sources(ext.sources, ext)
    setup(ext_modules=[Extension("yaml._yaml", ["yaml/_yaml.pyx"])], cmdclass={"build_ext": build_ext})
    """
    found = read({"setup.py": build, "yaml/_yaml.pyx": ""})
    assert (found.open, found.unsure) == ((), ())


def test_a_library_that_setup_builds_is_linked_into_every_module() -> None:
    build = """
    from setuptools import Extension, setup
    setup(
        libraries=[("dep", {"sources": ["dep/dep.c"]})],
        ext_modules=[Extension("one", ["one.c"]), Extension("two", ["two.c"])],
    )
    """
    found = read({"setup.py": build, "one.c": "", "two.c": "", "dep/dep.c": ""})
    assert set(owners("dep/dep.c", found)) == {"one", "two"}


# --- pyproject.toml -------------------------------------------------------------------------------------------------


def test_extension_modules_of_pyproject() -> None:
    build = """
    [[tool.setuptools.ext-modules]]
    name = "pkg._x"
    sources = ["src/*.c"]
    include-dirs = ["include"]
    """
    files = {"src/a.c": "#include <deep/x.h>\n", "include/deep/x.h": "", "other/x.h": ""}
    assert direct(files, build, "pyproject.toml") == {"pkg._x": ["include/deep/x.h", "src/a.c"]}


@pytest.mark.parametrize("tool", ["hatch-cython", "maturin", "setuptools-rust", "pymsbuild"])
def test_a_backend_that_finds_modules_by_itself_is_unsure(tool: str) -> None:
    assert read({"pyproject.toml": f'[build-system]\nrequires = ["{tool}>=1"]\n'}).unsure != ()


def test_a_broken_pyproject_is_unsure() -> None:
    assert read({"pyproject.toml": "[[tool"}).unsure != ()


# --- meson ----------------------------------------------------------------------------------------------------------


MESON = {
    "meson.build": "project('p', 'c')\npy = import('python').find_installation(pure: false)\nsubdir('pywt')\n",
    "pywt/meson.build": "subdir('_ext')\n",
    "pywt/_ext/meson.build": """
    sources = [
      'c/common.c',
      'c/wt.c',
    ]
    if cc.get_id() == 'x'
      c_args = ['-DA']
    else
      sources += 'c/other.c'
    endif
    lib = static_library('c_wt', sources, include_directories : 'c')
    pyx_files = [
      ['_cwt', fs.copyfile('_cwt.pyx')],
      ['_dwt', files('_dwt.pyx')],
    ]
    deps = declare_dependency(sources: [fs.copyfile('common.pxd')])
    foreach pyx_file: pyx_files
      py.extension_module(pyx_file[0],
        [gen.process(pyx_file[1])],  # a comment
        dependencies : [np_dep, deps],
        link_with : lib,
        subdir: 'pywt/_ext',
      )
    endforeach
    py.extension_module('_alone', 'alone.c', subdir: 'pywt' / '_ext')
    """,
    "pywt/_ext/_cwt.pyx": "from common cimport x\n",
    "pywt/_ext/_dwt.pyx": "",
    "pywt/_ext/common.pxd": "",
    "pywt/_ext/alone.c": "",
    "pywt/_ext/c/common.c": "",
    "pywt/_ext/c/other.c": "",
    "pywt/_ext/c/wt.c": '#include "wt.template.c"\n',
    "pywt/_ext/c/wt.template.c": "",
}


def test_meson_loops_libraries_and_subfolders_as_in_pywavelets() -> None:
    found = read(MESON)
    shared = ["common.pxd", "c/common.c", "c/other.c", "c/wt.c", "c/wt.template.c"]
    assert found.unsure == ()
    assert {module: sorted(it) for module, it in found.modules.items()} == {
        "pywt._ext._cwt": sorted(f"pywt/_ext/{it}" for it in ["_cwt.pyx", *shared]),
        "pywt._ext._dwt": sorted(f"pywt/_ext/{it}" for it in ["_dwt.pyx", *shared]),
        "pywt._ext._alone": ["pywt/_ext/alone.c"],
    }


def test_a_header_fans_out_to_every_source_that_includes_it() -> None:
    found = read(MESON)
    chains = owners("pywt/_ext/c/wt.template.c", found)
    assert set(chains) == {"pywt._ext._cwt", "pywt._ext._dwt"}
    assert chains["pywt._ext._cwt"] == (
        "pywt/_ext/c/wt.template.c",
        "pywt/_ext/c/wt.c",
        "pywt._ext._cwt",
    )


@pytest.mark.parametrize(
    "text",
    [
        "x = [",
        "py.extension_module(name_from_somewhere(), 'a.c')",
        "x = 'no end",
        "subdir('gone')",
        "$",
    ],
)
def test_meson_that_is_not_understood_is_unsure(text: str) -> None:
    assert read({"meson.build": text, "a.c": ""}).unsure != ()


# --- cmake ----------------------------------------------------------------------------------------------------------


def test_cmake_variables_globs_subfolders_and_linked_libraries() -> None:
    found = read(
        {
            "CMakeLists.txt": """
            cmake_minimum_required(VERSION 3.15)  # comment
            project(${SKBUILD_PROJECT_NAME} LANGUAGES CXX)
            find_package(pybind11 CONFIG REQUIRED)
            add_subdirectory(lib)
            file(GLOB BINDINGS CONFIGURE_DEPENDS "src/bind/*.cpp")
            set(SRC src/main.cpp)
            list(APPEND SRC ${BINDINGS})
            pybind11_add_module(_core MODULE ${SRC})
            target_link_libraries(_core PRIVATE helper::helper)
            target_include_directories(_core PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/include)
            install(TARGETS _core DESTINATION pkg)
            foreach(name IN ITEMS fast slow)
              python_add_library(_${name} MODULE src/${name}.cpp WITH_SOABI)
            endforeach()
            nanobind_add_module(_nb STABLE_ABI src/nb.cpp)
            add_library(plugin MODULE src/plugin.cpp)
            add_executable(demo src/demo.cpp)
            """,
            "lib/CMakeLists.txt": """
            add_library(helper STATIC help.cpp)
            add_library(helper::helper ALIAS helper)
            add_library(objects OBJECT object.cpp)
            target_sources(helper PRIVATE $<TARGET_OBJECTS:objects>)
            """,
            "src/main.cpp": "#include <core/x.hpp>\n",
            "include/core/x.hpp": "",
            **dict.fromkeys(
                ("src/bind/a.cpp", "src/fast.cpp", "src/slow.cpp", "src/nb.cpp", "src/demo.cpp"),
                "",
            ),
            **dict.fromkeys(("src/plugin.cpp", "lib/help.cpp", "lib/object.cpp"), ""),
        }
    )
    assert found.unsure == ()
    assert {module: sorted(it) for module, it in found.modules.items()} == {
        "pkg._core": [
            "include/core/x.hpp",
            "lib/help.cpp",
            "lib/object.cpp",
            "src/bind/a.cpp",
            "src/main.cpp",
        ],
        "_fast": ["src/fast.cpp"],
        "_slow": ["src/slow.cpp"],
        "_nb": ["src/nb.cpp"],
        "plugin": ["src/plugin.cpp"],
    }
    assert owners("src/demo.cpp", found) == {}


def test_cmake_functions_of_the_project_are_followed() -> None:
    found = read(
        {
            "CMakeLists.txt": """
            function(my_module name)
              python_add_library(${name} MODULE ${ARGN})
            endfunction()
            my_module(_x src/x.c src/y.c)
            """,
            "src/x.c": "",
            "src/y.c": "",
        }
    )
    assert found.claims == {"src/x.c": ("_x",), "src/y.c": ("_x",)}


def test_cython_in_cmake_stands_for_its_source() -> None:
    found = read(
        {
            "CMakeLists.txt": """
            add_custom_command(
              OUTPUT _x.c
              COMMAND cython ${CMAKE_CURRENT_SOURCE_DIR}/pkg/_x.pyx --output-file _x.c
              DEPENDS pkg/_x.pyx)
            python_add_library(_x MODULE "${CMAKE_CURRENT_BINARY_DIR}/_x.c" WITH_SOABI)
            """,
            "pkg/_x.pyx": "",
        }
    )
    assert found.claims == {"pkg/_x.pyx": ("_x",)}


@pytest.mark.parametrize(
    "text",
    [
        "pybind11_add_module(${NAME} a.cpp)",
        "set(X",
        "?",
        "foreach(x a b)\n",
        "add_subdirectory(gone)",
    ],
)
def test_cmake_that_is_not_understood_is_unsure(text: str) -> None:
    assert read({"CMakeLists.txt": text, "a.cpp": ""}).unsure != ()


# --- includes -------------------------------------------------------------------------------------------------------

SETUP = "from setuptools import Extension, setup\nsetup(ext_modules=[Extension('a._a', ['a/a.{}']), Extension('b._b', ['b/b.{}'])])"


def test_an_ambiguous_include_reaches_every_file_it_may_mean() -> None:
    found = read(
        {
            "setup.py": SETUP.format("c", "c"),
            "a/a.c": "#include <x.h>\n",
            "b/b.c": "",
            "one/x.h": "",
            "two/x.h": "",
        }
    )
    assert set(owners("one/x.h", found)) == set(owners("two/x.h", found)) == {"a._a"}


def test_the_file_beside_wins_over_others_of_its_name() -> None:
    found = read(
        {
            "setup.py": SETUP.format("c", "c"),
            "a/a.c": '#include "x.h"\n',
            "b/b.c": "",
            "a/x.h": "",
            "b/x.h": "",
        }
    )
    assert set(owners("a/x.h", found)) == {"a._a"}
    assert owners("b/x.h", found) == {}


def test_an_include_that_a_macro_names_may_be_any_header() -> None:
    found = read(
        {
            "setup.py": SETUP.format("c", "c"),
            "a/a.c": "#include CONFIG\n",
            "b/b.c": "",
            "c/x.h": "",
        }
    )
    assert set(owners("c/x.h", found)) == {"a._a"}


def test_a_commented_continuation_is_an_include_all_the_same() -> None:
    found = read(
        {
            "setup.py": SETUP.format("c", "c"),
            "a/a.c": '#  include \\\n  "x.h"\n',
            "b/b.c": "",
            "c/x.h": "",
        }
    )
    assert set(owners("c/x.h", found)) == {"a._a"}


def test_cython_files_reach_by_pxd_pxi_and_cimport() -> None:
    found = read(
        {
            "setup.py": SETUP.format("pyx", "pyx"),
            "a/a.pyx": 'from b.b cimport (\n    f,\n)\ninclude "part.pxi"\n',
            "a/a.pxd": 'cdef extern from "low.h":\n    int low()\n',
            "a/part.pxi": "",
            "b/b.pyx": "",
            "b/b.pxd": "",
            "c/low.h": "",
        }
    )
    assert sorted(found.modules["a._a"]) == [
        "a/a.pxd",
        "a/a.pyx",
        "a/part.pxi",
        "b/b.pxd",
        "c/low.h",
    ]
    assert sorted(found.modules["b._b"]) == ["b/b.pxd", "b/b.pyx"]


def test_a_module_that_cimports_another_uses_it() -> None:
    build = SETUP.replace("a._a", "pkg.a").replace("b._b", "pkg.b").format("pyx", "pyx")
    found = read({"setup.py": build, "a/a.pyx": "from pkg.b cimport f\n", "b/b.pyx": ""})
    assert found.used_by == {"pkg.b": ("pkg.a",)}


@pytest.mark.parametrize(
    "call",
    [
        'PyCapsule_Import("a._a.API", 0)',
        "PyCapsule_Import(API_NAME, 0)",
        "PyImport_ImportModule(x)",
    ],
)
def test_a_module_that_takes_a_capsule_of_another_uses_it(call: str) -> None:
    files = {"setup.py": SETUP.format("c", "c"), "a/a.c": "", "b/b.c": f"int f() {{ {call}; }}\n"}
    assert read(files).used_by == {"a._a": ("b._b",)}


def test_what_a_native_source_imports_is_known() -> None:
    found = read(
        {
            "setup.py": SETUP.format("pyx", "c"),
            "a/a.pyx": "from .ext import Timestamp\nimport datetime\n",
            "b/b.c": 'void f() { PyImport_ImportModule("b.exceptions"); }\n',
        }
    )
    assert set(found.imports["a._a"]) == {"a.ext", "a.ext.Timestamp", "datetime"}
    assert found.imports["b._b"] == ("b.exceptions",)


def test_a_template_stands_for_what_is_generated_from_it() -> None:
    found = read(
        {
            "setup.py": SETUP.format("c", "c"),
            "a/a.c.src": '#include "x.h"\n',
            "b/b.c": "",
            "a/x.h.in": "",
        }
    )
    assert set(owners("a/a.c.src", found)) == {"a._a"}
    assert set(owners("a/x.h.in", found)) == {"a._a"}


def test_junk_bytes_are_read_without_a_traceback() -> None:
    junk = bytes(range(256)) * 4
    files = {"setup.py": junk, "meson.build": junk, "CMakeLists.txt": junk, "pyproject.toml": junk}
    files |= {"a.c": junk, "a.pyx": junk}
    assert read_native(files, files.get).unsure != ()
