"""What libraries export is compared by values alone."""

from __future__ import annotations

import msgspec
import pytest

from presubmit.review.built import Built, Demangled, Libraries, Library, not_built
from presubmit.review.exports import exported, one_sided, pairs
from presubmit.review.rules import renewed, review
from presubmit.review.symbols import NOWHERE, compare
from presubmit.review.values import Remark, Unchecked
from tests.unit.review.trees import facts_of, review_of

NAMES = {
    "_ZN3lib5scaleEi": Demangled(full="lib::scale(int)", bare="lib::scale"),
    "_ZN3lib5scaleEl": Demangled(full="lib::scale(long)", bare="lib::scale"),
}


def library(path: str = "lib/libm.so", problem: str = "", **symbols: str) -> Library:
    return Library(path=path, symbols=symbols, problem=problem)


def compared(base: list[Library], head: list[Library]) -> list[tuple[str, str]]:
    """Give the severity with the code of every remark, and its text."""
    libraries = Libraries(base=tuple(base), head=tuple(head), names=NAMES)
    said = compare(libraries, lambda _: NOWHERE)
    return [(f"{one.severity} {one.code}", one.text) for one in said if isinstance(one, Remark)]


def codes(base: dict[str, str], head: dict[str, str]) -> list[str]:
    old, new = Library(path="libm.so", symbols=base), Library(path="libm.so", symbols=head)
    return [code for code, _ in compared([old], [new])]


CASES: dict[str, tuple[dict[str, str], dict[str, str], list[str]]] = {
    "the same": ({"f": "T", "d": "D"}, {"f": "T", "d": "D"}, []),
    "a function is gone": ({"f": "T", "g": "T"}, {"g": "T"}, ["warning symbols.removed"]),
    "data are gone": ({"d": "B"}, {}, ["warning symbols.removed"]),
    "an indirect function is gone": ({"f": "i"}, {}, ["warning symbols.removed"]),
    "a weak name of C is gone": ({"f": "W"}, {}, ["warning symbols.removed"]),
    "it is weak now": ({"f": "T"}, {"f": "W"}, []),
    "a new function": ({}, {"f": "T"}, ["note symbols.added"]),
    "an inline function of the project": ({"_ZN3lib1gEv": "W"}, {}, ["note symbols.removed"]),
    "a new inline function": ({}, {"_ZN3lib1gEv": "W"}, []),
    "an instance of std": ({"_ZNSt6vectorIiSaIiEE4sizeEv": "W", "_ZTVSt9exception": "V"}, {}, []),
    "a const member of std": ({"_ZNKSt6vectorIiE4sizeEv": "W", "_ZNSs3endEv": "W"}, {}, []),
    "a specialisation in a source": (
        {"_ZNKSt4hashI3FooEclERKS0_": "T"},
        {},
        ["warning symbols.removed"],
    ),
    "what the linker writes": ({"_init": "T", "_edata": "D", "LIB_1.0": "A"}, {}, []),
    "a local name": ({"f": "t"}, {}, []),
    "other parameters": (
        {"_ZN3lib5scaleEi": "T"},
        {"_ZN3lib5scaleEl": "T"},
        ["warning symbols.signature-changed"],
    ),
    "an overload is gone": (
        {"_ZN3lib5scaleEi": "T", "_ZN3lib5scaleEl": "T"},
        {"_ZN3lib5scaleEl": "T"},
        ["warning symbols.removed"],
    ),
    "a function became data": ({"f": "T"}, {"f": "D"}, ["warning symbols.kind-changed"]),
    "another default version beside the old one": (
        {"f@@V1": "T"},
        {"f@V1": "T", "f@@V2": "T"},
        ["note symbols.added"],
    ),
    "another version in its place": (
        {"f@@V1": "T"},
        {"f@@V2": "T"},
        ["warning symbols.version-changed"],
    ),
    "a version for the first time": ({"f": "T"}, {"f@@V1": "T"}, []),
    "no version any more": ({"f@@V1": "T"}, {"f": "T"}, []),
    "internals of an extension module": (
        {"PyInit_m": "T", "helper": "T"},
        {"PyInit_m": "T"},
        ["note symbols.removed"],
    ),
    "the entry of an extension module": (
        {"PyInit_m": "T", "helper": "T"},
        {"helper": "T"},
        ["warning symbols.removed"],
    ),
}


@pytest.mark.parametrize(("base", "head", "expected"), CASES.values(), ids=CASES)
def test_what_of_one_library_is_said(
    base: dict[str, str], head: dict[str, str], expected: list[str]
) -> None:
    assert codes(base, head) == expected


def test_what_moved_to_another_library_of_the_project_is_not_removed() -> None:
    base = [library("liba.so", f="T"), library("libb.so", g="T")]
    head = [library("liba.so"), library("libb.so", g="T", f="T")]
    assert compared(base, head) == [
        ("note symbols.moved", "liba.so: f moved to libb.so"),
        ("note symbols.added", "libb.so exports 1 symbol more: f"),
    ]


def test_what_another_library_had_already_is_removed_from_the_first() -> None:
    base = [library("liba.so", f="T"), library("libb.so", f="T")]
    head = [library("liba.so"), library("libb.so", f="T")]
    assert [code for code, _ in compared(base, head)] == ["warning symbols.removed"]


def test_many_are_summed_up() -> None:
    base = library(**{f"f{number}": "T" for number in range(12)})
    assert compared([base], [library()]) == [
        (
            "warning symbols.removed",
            "lib/libm.so exports 12 symbols less: f0, f1, f2, f3, f4 and 7 more",
        )
    ]


def test_a_library_that_is_gone_and_one_that_is_new() -> None:
    base, head = library("liba.so", f="T"), library("other/libz.so", g="T")
    assert compared([base], [head]) == [
        ("warning symbols.library-removed", "the library liba.so is gone, with 1 symbol"),
        ("note symbols.library-added", "the library other/libz.so is new; it exports 1 symbol"),
    ]


def test_libraries_go_together_by_place_then_by_name() -> None:
    names = ["pkg/a/_core.cpython-311-x86_64-linux-gnu.so", "pkg/b/_core.abi3.so", "libm.so.6"]
    base = [library(name) for name in names]
    head = [library(name) for name in ("pkg/b/_core.so", "pkg/a/_core.abi3.so", "lib/libm.so.7.1")]
    both, gone, new = pairs(base, head)
    assert [(old.path, now.path) for old, now in both] == [
        (names[0], "pkg/a/_core.abi3.so"),
        (names[1], "pkg/b/_core.so"),
        (names[2], "lib/libm.so.7.1"),
    ]
    assert (gone, new) == ([], [])
    assert [
        len(part) for part in pairs([library("a/x.so"), library("b/x.so")], [library("x.so")])
    ] == [
        0,
        2,
        1,
    ]


def test_only_names_that_differ_are_made_readable() -> None:
    base = library(_ZN3lib1aEv="T", _ZN3lib1bEv="T", _ZN3lib1dEv="T", c="T")
    head = library(_ZN3lib1bEv="T", _ZN3lib1cEv="T", _ZN3lib1dEv="D")
    assert one_sided([base], [head]) == ["_ZN3lib1aEv", "_ZN3lib1cEv", "_ZN3lib1dEv"]
    assert sorted(exported(head)) == ["_ZN3lib1bEv", "_ZN3lib1cEv", "_ZN3lib1dEv"]


def test_what_cannot_be_read_is_not_checked_and_nothing_is_said_of_it() -> None:
    base = (library("liba.so", f="T"), library("libb.so", f="T"))
    head = (library("liba.so", problem="nm: no memory"), library("libc.so", problem="nm: what"))
    said = list(compare(Libraries(base=base, head=head), lambda _: NOWHERE))
    assert [one.what for one in said if isinstance(one, Unchecked)] == ["liba.so", "libc.so"]
    assert [one.code for one in said if isinstance(one, Remark)] == ["symbols.library-removed"]
    nothing = list(compare(Libraries(base=(), head=()), lambda _: NOWHERE))
    assert [one.why for one in nothing if isinstance(one, Unchecked)] == [
        "neither build left a shared library"
    ]


def test_a_remark_stands_where_the_changed_sources_name_the_symbol() -> None:
    base = {"a.c": "\nint f(void);\nint g(void);\n", "lib.cpp": "int scale(int);\n", "x.py": "f"}
    head = {"a.c": "\n\nstatic int f(void);\n", "lib.cpp": "\nint scale(long);\n", "x.py": "f()"}
    old = library(f="T", g="T", _ZN3lib5scaleEi="T")
    new = library(_ZN3lib5scaleEl="T")
    built = Built(libraries=Libraries(base=(old,), head=(new,), names=NAMES))
    facts = facts_of(base, head)
    found = review(msgspec.structs.replace(facts, built=built), ("symbols",))
    places = {one.subject: (one.file, one.line) for one in found.remarks}
    assert places == {
        "lib/libm.so: f": ("a.c", 3),
        "lib/libm.so: g": ("a.c", 3),
        "lib/libm.so: lib::scale(int)": ("lib.cpp", 2),
    }


def test_why_nothing_was_compared_is_said_and_goes_when_it_was() -> None:
    base, head = {"a.c": "int a;\n"}, {"a.c": "int b;\n"}
    before = review_of(base, head)
    [one] = [one for one in before.unchecked if one.rule == "symbols"]
    assert "`presubmit review --build`" in one.why
    facts = facts_of(base, head)
    failed = msgspec.structs.replace(facts, built=not_built("the base does not build"))
    [said] = review(failed, ("symbols",)).unchecked
    assert said.why == "the base does not build"
    same = Libraries(base=(library(f="T"),), head=(library(f="T"),))
    after = review(msgspec.structs.replace(facts, built=Built(libraries=same)), ("symbols",))
    whole = renewed(before, after)
    assert [one for one in whole.unchecked if one.rule == "symbols"] == []
    assert whole.rules == before.rules


def test_a_change_of_build_files_alone_says_why_nothing_was_compared() -> None:
    facts = facts_of({"setup.py": "a"}, {"setup.py": "b"})
    failed = msgspec.structs.replace(facts, built=not_built("why"))
    [said] = review(failed, ("symbols",)).unchecked
    assert said.what == "the symbols that the libraries export"
