"""The mutants of the selection trials: where they are made, and that each is one small edit."""

from __future__ import annotations

import ast

import pytest

from benchmarks.selection.mutants import KINDS, QUIET, Mutant, candidates, pick
from benchmarks.selection.truth import take

SOURCE = b'''"""Doc."""
import functools
from typing import overload

LIMIT = 3
NAMES = ("a", f"{LIMIT}")


class C:
    size: int = 4

    @property
    def first(self):
        """Give it."""
        return self.size + 1

    @overload
    def second(self, a=1): ...


def check(a, b=True, *, c=None):
    total = a if b else c
    if a == 1 and total:
        return "\xc3\xa4"
    return None
'''


def edits(kind: str, source: bytes = SOURCE, path: str = "a.py") -> list[str]:
    """Give the lines that the mutants of a kind change, as they are afterwards."""
    found = []
    for mutant in candidates(path, source, kind):
        before, after = source.splitlines(), mutant.apply(source).splitlines()
        changed = [new for old, new in zip(before, after, strict=True) if old != new]
        assert len(changed) == 1
        found.append(changed[0].decode().strip())
    return found


def test_an_operator_inside_a_function_is_flipped() -> None:
    assert sorted(edits("operator")) == [
        "if a != 1 and total:",
        "if a == 1 or total:",
        "return self.size - 1",
    ]


def test_a_function_returns_none_instead_of_a_value_and_what_returns_none_is_left_alone() -> None:
    assert sorted(edits("return")) == ["return None", "return None"]


def test_a_function_raises_in_its_first_statement_after_the_docstring() -> None:
    assert edits("raise") == [
        'raise RuntimeError("mutant")',
        'raise RuntimeError("mutant")',
    ]


def test_constants_of_modules_and_classes_change_but_not_the_parts_of_an_f_string() -> None:
    assert edits("constant") == ["LIMIT = 4", "NAMES = ('ax', f\"{LIMIT}\")", "size: int = 5"]


def test_defaults_change_and_those_of_an_overload_do_not() -> None:
    assert edits("default") == [
        "def check(a, b=False, *, c=None):",
        "def check(a, b=True, *, c=0):",
    ]


def test_a_decorator_is_replaced_and_an_overload_keeps_its_own() -> None:
    assert edits("decorator") == ["@(lambda thing: thing)"]


@pytest.mark.parametrize("kind", ["comment", "docstring"])
def test_quiet_edits_leave_the_code_as_it_is(kind: str) -> None:
    mutants = candidates("a.py", SOURCE, kind)

    assert mutants
    for mutant in mutants:
        assert dump(mutant.apply(SOURCE)) == dump(SOURCE)
        assert mutant.apply(SOURCE) != SOURCE


def dump(source: bytes) -> str:
    """Give a tree's text without docstrings."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
    return ast.dump(tree)


def test_a_file_that_cannot_be_parsed_gives_no_mutant() -> None:
    assert [m for kind in (*KINDS, "comment") for m in candidates("a.py", b"def (", kind)][
        1:
    ] == []


def test_text_after_a_letter_of_two_bytes_is_edited_at_the_right_place() -> None:
    source = 'def f(a):\n    return "ä" + a\n'.encode()

    assert edits("operator", source) == ['return "ä" - a']


C = b"""#define TWICE(x) (x + x)
static int counter = 1;
/* a + b
   c + d */
int add(int a, int b)
{
    if (a == b) { // a + b
        return a;
    }
    puts("a + b");
    return a + b;
}
"""


def test_c_is_mutated_inside_functions_only() -> None:
    assert sorted(set(edits("native", C, "a.c"))) == ["return 0;", "return a - b;"]


def test_cython_is_mutated_inside_functions_only() -> None:
    source = b"cdef int size = 1 + 1\n\ncdef int add(int a, int b) except -1:\n    return a + b\n\nX = 1 + 2\n"

    assert sorted(edits("native", source, "a.pyx")) == ["return None", "return a - b"]


def test_one_byte_of_a_text_or_of_any_other_data_file_changes() -> None:
    text, other = b"name = 12\n", bytes(range(128, 256))

    for source in (text, other):
        (mutant,) = candidates("a.dat", source, "data")
        after = mutant.apply(source)
        assert len(after) == len(source)
        assert sum(a != b for a, b in zip(source, after, strict=True)) == 1


def test_the_seed_alone_decides_the_order() -> None:
    sources = {"operator": {"a.py": SOURCE, "b.py": SOURCE}}

    assert pick(sources, 1) == pick(dict(sources), 1)
    assert [m.id for m in pick(sources, 1)["operator"]] != [
        m.id for m in pick(sources, 2)["operator"]
    ]


def test_files_take_turns() -> None:
    sources = {"constant": {"a.py": b"X = 1\nY = 2\nZ = 3\n", "b.py": b"X = 1\n"}}

    assert {m.path for m in pick(sources, 3)["constant"][:2]} == {"a.py", "b.py"}


def mutant(kind: str, number: int) -> Mutant:
    return Mutant(kind=kind, path="a.py", line=number, start=number, end=number, new="x")


def test_kinds_share_the_mutants_and_one_that_no_test_sees_is_given_up() -> None:
    queues = {
        "operator": [mutant("operator", n) for n in range(50)],
        "decorator": [mutant("decorator", n) for n in range(50)],
        "constant": [mutant("constant", n) for n in range(50)],
    }
    tried: list[str] = []

    def killed(one: Mutant) -> bool:
        tried.append(one.kind)
        return one.kind != "decorator"

    found = take(queues, 12, killed)

    assert [m.kind for m in found].count("operator") == 6
    assert [m.kind for m in found].count("constant") == 6
    assert tried.count("decorator") <= 9


def test_every_quiet_kind_has_a_generator() -> None:
    for kind in QUIET:
        assert candidates("README.md" if kind == "readme" else "a.py", SOURCE, kind)
