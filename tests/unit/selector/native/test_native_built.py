"""What a build wrote down, read without running anything."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import pytest

from presubmit.selector.native.built import (
    BuildFacts,
    join_facts,
    read_build_log,
    read_build_ninja,
    read_ninja_log,
)
from presubmit.selector.native.exact import Built, is_current, make_built, with_built
from presubmit.selector.native.reach import owners
from presubmit.selector.native.static import read_native
from presubmit.selector.native.values import NativeMap

if TYPE_CHECKING:
    from collections.abc import Callable

SO = "pkg/_x.cpython-311-x86_64-linux-gnu.so"


def path_record(path: str, index: int) -> bytes:
    name = path.encode() + b"\0" * (-len(path) % 4)
    return struct.pack("<I", len(name) + 4) + name + struct.pack("<I", index ^ 0xFFFFFFFF)


def deps_record(*ids: int, time: int = 7) -> bytes:
    words = (ids[0], time, 0, *ids[1:])
    return struct.pack(f"<I{len(words)}I", 0x80000000 | len(words) * 4, *words)


def log(*records: bytes, version: int = 4) -> bytes:
    return b"# ninjadeps\n" + struct.pack("<i", version) + b"".join(records)


PATHS = (path_record("a.o", 0), path_record("../src/a.c", 1), path_record("../inc/h.h", 2))


def test_the_log_of_ninja_gives_each_output_its_inputs() -> None:
    found = read_ninja_log(log(*PATHS, deps_record(0, 1, 2)), "build")
    assert found.made_from == {"a.o": ("../src/a.c", "../inc/h.h")}
    assert found.problems == ()


def test_a_later_record_of_the_log_wins() -> None:
    found = read_ninja_log(log(*PATHS, deps_record(0, 1, 2), deps_record(0, 1)))
    assert found.made_from == {"a.o": ("../src/a.c",)}


@pytest.mark.parametrize(
    "tail",
    [
        deps_record(0, 1, 2)[:-2],
        deps_record(0, 99),
        path_record("x", 77),
        struct.pack("<I", 0x7FFFFFFF),
        struct.pack("<I", 3) + b"abc",
        struct.pack("<I", 0),
        struct.pack("<II", 0x80000004, 0),
    ],
    ids=["cut off", "unknown path", "wrong index", "too long", "odd length", "empty", "no time"],
)
def test_a_torn_log_keeps_what_came_before_and_says_so(tail: bytes) -> None:
    found = read_ninja_log(log(*PATHS, deps_record(0, 1), tail))
    assert found.made_from == {"a.o": ("../src/a.c",)}
    assert found.problems != ()


@pytest.mark.parametrize("data", [b"", b"junk", b"# ninjadeps\n", log(version=1), log(version=5)])
def test_another_log_is_a_problem_and_no_facts(data: bytes) -> None:
    found = read_ninja_log(data)
    assert found.made_from == {}
    assert found.problems != ()


def test_build_ninja_with_continued_lines_escapes_and_order_only_inputs() -> None:
    text = "rule cc\n command = x\nbuild a$ b.o | extra: cc ../a$:b.c | h.h $\n   || gen.h\n deps = gcc\n"
    assert read_build_ninja(text).made_from == {
        "a b.o": ("../a:b.c", "h.h", "gen.h"),
        "extra": ("../a:b.c", "h.h", "gen.h"),
    }


SETUPTOOLS = """
running build_ext
building 'lz4._version' extension
x86_64-linux-gnu-gcc -Wall -fPIC -Ilz4libs -I/usr/include/python3.11 -c lz4/_version.c -o build/temp.linux-x86_64-cpython-311/lz4/_version.o -O3
x86_64-linux-gnu-gcc -Wall -fPIC -Ilz4libs -I/usr/include/python3.11 -c lz4libs/lz4.c -o build/temp.linux-x86_64-cpython-311/lz4libs/lz4.o -O3
x86_64-linux-gnu-gcc -shared -Wl,-O1 build/temp.linux-x86_64-cpython-311/lz4/_version.o build/temp.linux-x86_64-cpython-311/lz4libs/lz4.o -o build/lib.linux-x86_64-cpython-311/lz4/_version.cpython-311-x86_64-linux-gnu.so
"""


def modules(
    facts: BuildFacts, *paths: str, root: str = "", generators: dict[str, list[str]] | None = None
) -> dict[str, tuple[str, ...]]:
    return made(facts, *paths, root=root, generators=generators).modules


def made(
    facts: BuildFacts,
    *paths: str,
    root: str = "",
    generators: dict[str, list[str]] | None = None,
    names: tuple[str, ...] = (),
) -> Built:
    return make_built(
        facts,
        dict.fromkeys(paths, "1"),
        made=names,
        headers=True,
        root=root,
        generators=lambda path: (generators or {}).get(path, []),
    )


def test_the_lines_that_setuptools_prints() -> None:
    facts = read_build_log(SETUPTOOLS)
    found = made(facts, "lz4/_version.c", "lz4libs/lz4.c", "lz4libs/lz4.h")
    assert {name: set(files) for name, files in found.modules.items()} == {
        "lz4._version": {"lz4/_version.c", "lz4libs/lz4.c"}
    }
    assert found.include_dirs == ("lz4libs",)


def test_an_editable_build_of_setuptools_lies_in_temporary_folders() -> None:
    text = (
        "  gcc -I. -c src/a.c -o /tmp/tmpx.build-temp/src/a.o\n"
        "  gcc -shared /tmp/tmpx.build-temp/src/a.o -o /tmp/tmpy.build-lib/pkg/_x.abi3.so\n"
    )
    assert modules(read_build_log(text, "/src"), "src/a.c", root="/src") == {
        "pkg._x": ("src/a.c",)
    }


NINJA = BuildFacts(made_from={SO: ("a.o",), "a.o": ("gen.c",)}, folder="/env/build")


def test_a_generated_source_stands_for_what_it_is_generated_from() -> None:
    assert modules(NINJA, "gen.pyx", root="/src") == {}
    from_ninja = join_facts([NINJA, read_build_ninja("build gen.c: cy /src/gen.pyx\n")])
    assert modules(from_ninja, "gen.pyx", root="/src") == {"pkg._x": ("gen.pyx",)}
    beside = {"/env/build/gen.c": ["x.pyx"]}
    assert modules(NINJA, "x.pyx", root="/src", generators=beside) == {"pkg._x": ("x.pyx",)}


@pytest.mark.parametrize(
    "made_from",
    [
        {SO: ("a.o", "b.o"), "a.o": ("/src/a.c",)},
        {SO: ("a.o",), "a.o": ("/src/a.c", "/tmp/lost.c")},
        {SO: ("libw.a",), "libw.a": ("w.o",), "w.o": ("/src/h.h",)},
        {SO: ("/src/a.c",)},
    ],
)
def test_a_module_with_an_object_of_unknown_source_is_not_known(
    made_from: dict[str, tuple[str, ...]],
) -> None:
    facts = BuildFacts(made_from=made_from, folder="/env/build")
    assert modules(facts, "a.c", "h.h", root="/src") == {}


def test_facts_of_several_files_join_to_modules() -> None:
    facts = join_facts(
        [
            read_ninja_log(log(*PATHS, deps_record(0, 1, 2)), "build"),
            read_build_ninja(
                f"build {SO}: link a.o libw.a\nbuild libw.a: ar w.o\nbuild w.o: cc ../src/w.c\n",
                "build",
            ),
            read_build_ninja("build tool: link w.o\n", "build"),
        ]
    )
    found = modules(facts, "src/a.c", "inc/h.h", "src/w.c", "src/other.c")
    assert {name: set(files) for name, files in found.items()} == {
        "pkg._x": {"src/a.c", "inc/h.h", "src/w.c"}
    }


def test_absolute_paths_are_placed_below_the_root_that_the_build_had() -> None:
    facts = BuildFacts(
        made_from={SO: ("a.o",), "a.o": ("/build/tree/src/a.c", "/usr/include/x.h")}
    )
    assert modules(facts, "src/a.c", "usr/include/x.h", root="/build/tree") == {
        "pkg._x": ("src/a.c",)
    }


def test_a_build_is_whole_where_every_module_that_it_gave_is_known() -> None:
    facts = BuildFacts(made_from={SO: ("a.o",), "a.o": ("a.c",)})
    assert made(facts, "a.c", names=("pkg._x",)).whole
    assert not made(facts, "a.c", names=("pkg._x", "pkg._y")).whole
    assert not made(facts, "a.c").whole


def test_damage_makes_a_build_neither_whole_nor_exact() -> None:
    torn = BuildFacts(made_from={SO: ("a.o",), "a.o": ("a.c",)}, problems=("torn",))
    found = made(torn, "a.c", names=("pkg._x",))
    assert not found.whole
    assert not found.headers


# --- with the build files -------------------------------------------------------------------------------------------

STATIC = NativeMap(
    claims={"a.c": ("src.pkg._x",), "b.c": ("pkg._y",), "x.pyx": ("src.pkg._x",)},
    included_by={"h.h": ("a.c", "b.c"), "new.h": ("a.c",), "p.pxd": ("x.pyx",)},
    modules={"src.pkg._x": ("a.c", "h.h", "new.h"), "pkg._y": ("b.c", "h.h")},
)
FILES = ("a.c", "b.c", "h.h", "new.h", "p.pxd", "x.pyx")


def merged(
    blobs: dict[str, str] | None = None, *, headers: bool = True, **modules: tuple[str, ...]
) -> NativeMap:
    built = Built(
        modules={name.replace("__", "."): it for name, it in modules.items()},
        headers=headers,
        files=dict.fromkeys(FILES, "1"),
    )
    return with_built(STATIC, built, dict.fromkeys(FILES, "1") | (blobs or {}))


def test_what_the_compiler_read_wins_for_the_files_that_it_knows() -> None:
    found = merged(pkg___x=("a.c",), pkg___y=("b.c", "h.h"))
    assert set(owners("h.h", found)) == {"pkg._y"}
    assert set(owners("a.c", found)) == {"src.pkg._x"}


def test_a_changed_header_is_still_of_the_modules_that_read_it_and_of_no_other() -> None:
    found = merged({"h.h": "2"}, pkg___x=("a.c",), pkg___y=("b.c", "h.h"))
    assert set(owners("h.h", found)) == {"pkg._y"}


def test_a_module_with_a_changed_source_may_include_what_it_did_not() -> None:
    found = merged({"h.h": "2", "a.c": "2"}, pkg___x=("a.c",), pkg___y=("b.c", "h.h"))
    assert set(owners("h.h", found)) == {"src.pkg._x", "pkg._y"}


def test_a_new_native_file_may_be_found_in_place_of_another_so_nothing_is_exact() -> None:
    found = merged({"sub/h.h": "1"}, pkg___x=("a.c",), pkg___y=("b.c", "h.h"))
    assert found == STATIC


def test_a_build_that_says_nothing_of_headers_leaves_the_includes() -> None:
    assert merged(headers=False, pkg___x=("a.c",), pkg___y=("b.c", "h.h")) == STATIC


def test_a_file_that_the_build_does_not_know_is_answered_by_the_build_files() -> None:
    found = merged(pkg___x=("a.c",), pkg___y=("b.c", "h.h"))
    assert set(owners("new.h", found)) == {"src.pkg._x"}


def test_a_module_that_was_not_built_keeps_what_the_build_files_say() -> None:
    found = merged(pkg___x=("a.c", "h.h"))
    assert set(owners("h.h", found)) == {"src.pkg._x", "pkg._y"}


def test_cython_files_are_never_answered_by_the_build_alone() -> None:
    found = merged(pkg___x=("a.c",), pkg___y=("b.c", "p.pxd", "h.h"))
    assert set(owners("p.pxd", found)) == {"src.pkg._x"}


def test_only_new_native_files_make_a_build_out_of_date() -> None:
    built = Built(files={"a.c": "1"})
    assert is_current(built, {"a.c": "2", "x.py": "1"})
    assert is_current(built, {"x.py": "1"})
    assert not is_current(built, {"a.c": "1", "b.h": "1"})


# --- in place of the build files ------------------------------------------------------------------------------------

UNREAD = "from setuptools import setup\nsetup(ext_modules=found())\n"
TREE = {
    "setup.py": UNREAD,
    "a.c": '#include "h.h"\n',
    "inc/h.h": "int h;\n",
    "w.c": "int w;\n",
    "win.c": "int x;\n",
}


def read_with(built: Built | None, setup: str = UNREAD) -> NativeMap:
    texts = {path: text.encode() for path, text in (TREE | {"setup.py": setup}).items()}
    return read_native(texts, texts.get, built=built)


def test_a_whole_build_answers_for_a_setup_that_cannot_be_read() -> None:
    assert read_with(None).unsure
    built = Built(modules={"pkg._x": ("a.c",), "pkg._w": ("w.c",)}, whole=True)
    found = read_with(built)
    assert found.unsure == found.open == ()
    assert set(owners("inc/h.h", found)) == {"pkg._x"}
    assert set(owners("w.c", found)) == {"pkg._w"}


def test_a_part_of_a_build_leaves_what_cannot_be_read_unsure() -> None:
    assert read_with(Built(modules={"pkg._x": ("a.c",)})).unsure


def test_a_source_that_was_not_compiled_here_stays_where_it_is_declared() -> None:
    declared = (
        "from setuptools import Extension, setup\n"
        "setup(ext_modules=[Extension('pkg._x', ['a.c', 'win.c'])])\n"
    )
    built = Built(modules={"pkg._x": ("a.c",)}, whole=True)
    assert set(owners("win.c", read_with(built, declared))) == {"pkg._x"}


@pytest.mark.parametrize("read", [read_build_ninja, read_build_log])
def test_junk_gives_no_module(read: Callable[[str], BuildFacts]) -> None:
    junk = bytes(range(256)).decode("latin-1") * 3 + " -o ' x\n: :\n$\nbuild : :\n"
    assert modules(read(junk), "a.c") == {}
