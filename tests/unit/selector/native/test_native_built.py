"""What a build wrote down, read without running anything."""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING

import pytest

from presubmit.selector.native.built import BuildFacts, built_modules, join_facts, read_build_log, read_build_ninja, read_compile_commands, read_depfile, read_ninja_deps, read_ninja_log, with_facts
from presubmit.selector.native.reach import owners
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


def test_the_text_of_ninja_t_deps() -> None:
    text = "a.o: #deps 2, deps mtime 17 (VALID)\n    ../src/a.c\n    ../inc/sub dir/h.h\n\nb.o: #deps 1, deps mtime 1 (STALE)\n    b.c\n"
    assert read_ninja_deps(text).made_from == {
        "a.o": ("../src/a.c", "../inc/sub dir/h.h"),
        "b.o": ("b.c",),
    }


def test_build_ninja_with_continued_lines_escapes_and_order_only_inputs() -> None:
    text = "rule cc\n command = x\nbuild a$ b.o | extra: cc ../a$:b.c | h.h $\n   || gen.h\n deps = gcc\n"
    assert read_build_ninja(text).made_from == {
        "a b.o": ("../a:b.c", "h.h", "gen.h"),
        "extra": ("../a:b.c", "h.h", "gen.h"),
    }


def test_a_depfile_with_continued_lines_and_blanks_in_names() -> None:
    text = "build/a.o: src/a.c \\\n  inc/h.h inc/sub\\ dir/x.h\n\ninc/h.h:\n"
    assert read_depfile(text).made_from == {"build/a.o": ("src/a.c", "inc/h.h", "inc/sub dir/x.h")}


def test_compile_commands_with_and_without_outputs() -> None:
    entries = [
        {"directory": "/b", "file": "../a.c", "output": "a.o", "command": "cc"},
        {"directory": "/b", "file": "../b.c", "command": "cc -c ../b.c -o 'b c.o'"},
        {"directory": "/b", "file": "../c.c", "arguments": ["cc", "-o", "c.o"]},
        {"directory": "/b"},
        7,
    ]
    found = read_compile_commands(json.dumps(entries).encode())
    assert found.made_from == {"a.o": ("../a.c",), "b c.o": ("../b.c",), "c.o": ("../c.c",)}


@pytest.mark.parametrize("data", [b"", b"[", b"\xff", b'{"a": 1}', b"7"])
def test_junk_for_compile_commands_gives_no_facts(data: bytes) -> None:
    assert read_compile_commands(data).made_from == {}


SETUPTOOLS = """
running build_ext
building 'lz4._version' extension
x86_64-linux-gnu-gcc -Wall -fPIC -Ilz4libs -I/usr/include/python3.11 -c lz4/_version.c -o build/temp.linux-x86_64-cpython-311/lz4/_version.o -O3
x86_64-linux-gnu-gcc -Wall -fPIC -Ilz4libs -I/usr/include/python3.11 -c lz4libs/lz4.c -o build/temp.linux-x86_64-cpython-311/lz4libs/lz4.o -O3
x86_64-linux-gnu-gcc -shared -Wl,-O1 build/temp.linux-x86_64-cpython-311/lz4/_version.o build/temp.linux-x86_64-cpython-311/lz4libs/lz4.o -o build/lib.linux-x86_64-cpython-311/lz4/_version.cpython-311-x86_64-linux-gnu.so
"""


def test_the_lines_that_setuptools_prints() -> None:
    paths = ["lz4/_version.c", "lz4libs/lz4.c", "lz4libs/lz4.h"]
    found = built_modules(read_build_log(SETUPTOOLS), paths)
    assert {name: sorted(files) for name, files in found.items()} == {
        "lz4._version": ["lz4/_version.c", "lz4libs/lz4.c"]
    }


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
    paths = ["src/a.c", "inc/h.h", "src/w.c", "src/other.c"]
    found = built_modules(facts, paths)
    assert {name: set(files) for name, files in found.items()} == {
        "pkg._x": {"src/a.c", "inc/h.h", "src/w.c"}
    }


def test_absolute_paths_are_placed_below_the_root_that_the_build_had() -> None:
    facts = BuildFacts(
        made_from={SO: ("a.o",), "a.o": ("/build/tree/src/a.c", "/usr/include/x.h")}
    )
    assert built_modules(facts, ["src/a.c", "usr/include/x.h"], root="/build/tree") == {
        "pkg._x": ("src/a.c",)
    }


# --- with the build files -------------------------------------------------------------------------------------------

STATIC = NativeMap(
    claims={"a.c": ("src.pkg._x",), "b.c": ("pkg._y",), "x.pyx": ("src.pkg._x",)},
    included_by={"h.h": ("a.c", "b.c"), "new.h": ("a.c",), "p.pxd": ("x.pyx",)},
    modules={"src.pkg._x": ("a.c", "h.h", "new.h"), "pkg._y": ("b.c", "h.h")},
    open=("src.pkg._x",),
)


def merged(**modules: tuple[str, ...]) -> NativeMap:
    return with_facts(STATIC, {name.replace("__", "."): it for name, it in modules.items()})


def test_what_was_built_wins_for_the_files_that_it_knows() -> None:
    found = merged(pkg___x=("a.c",), pkg___y=("b.c", "h.h"))
    assert set(owners("h.h", found)) == {"pkg._y"}
    assert set(owners("a.c", found)) == {"src.pkg._x"}
    assert found.open == ()


def test_a_file_that_the_build_does_not_know_is_answered_by_the_build_files() -> None:
    found = merged(pkg___x=("a.c",), pkg___y=("b.c", "h.h"))
    assert set(owners("new.h", found)) == {"src.pkg._x"}


def test_a_module_that_was_not_built_keeps_what_the_build_files_say() -> None:
    found = merged(pkg___x=("a.c", "h.h"))
    assert set(owners("h.h", found)) == {"src.pkg._x", "pkg._y"}


def test_cython_files_are_never_answered_by_the_build_alone() -> None:
    found = merged(pkg___x=("a.c",), pkg___y=("b.c", "p.pxd", "h.h"))
    assert set(owners("p.pxd", found)) == {"src.pkg._x"}


@pytest.mark.parametrize("read", [read_build_ninja, read_ninja_deps, read_depfile, read_build_log])
def test_junk_gives_no_module(read: Callable[[str], BuildFacts]) -> None:
    junk = bytes(range(256)).decode("latin-1") * 3 + " -o ' x\n: :\n$\nbuild : :\n"
    assert built_modules(read(junk), ["a.c"]) == {}
