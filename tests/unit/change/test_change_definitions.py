from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from presubmit.change import definitions
from presubmit.change.definitions import changed_definitions, read_definitions, read_source


def source(text: str) -> bytes:
    return dedent(text).encode()


def names(text: str, path: str = "pkg/a.py") -> list[str]:
    return [one.qualname for one in read_definitions(path, source(text))]


def public(text: str, path: str = "pkg/a.py") -> set[str]:
    return {one.qualname for one in read_definitions(path, source(text)) if one.public}


def changed(base: str | None, head: str) -> list[str]:
    before = None if base is None else source(base)
    return [one.qualname for one in changed_definitions(before, source(head), "pkg/a.py")]


def touched(base: str | None, head: str) -> set[str]:
    before = None if base is None else source(base)
    return definitions.test_definitions_touched(before, source(head))


EVERYTHING = '''
    """A module."""
    import os

    class A:
        """A class."""

        @property
        def size(self):
            return 1

        class Inner:
            async def run(self): ...

    def outer():
        def inner(): ...
'''


def test_every_definition_is_found_with_its_qualified_name() -> None:
    assert names(EVERYTHING) == [
        "<module>",
        "A",
        "A.size",
        "A.Inner",
        "A.Inner.run",
        "outer",
        "outer.<locals>.inner",
    ]


def test_kinds_lines_and_docstrings_are_told() -> None:
    found = {one.qualname: one for one in read_definitions("a.py", source(EVERYTHING))}
    assert [found[name].kind for name in ("<module>", "A", "A.size", "outer")] == [
        "module",
        "class",
        "method",
        "function",
    ]
    assert (found["A.size"].first_line, found["A.size"].last_line) == (8, 10)
    assert [found[name].docstring for name in ("<module>", "A", "outer")] == [True, True, False]


def test_definitions_inside_if_try_with_and_match_count() -> None:
    text = """
        try:
            def a(): ...
        except ImportError:
            def b(): ...
        if x:
            class C:
                if y:
                    def d(self): ...
        match z:
            case 1:
                def e(): ...
    """
    assert names(text) == ["<module>", "a", "b", "C", "C.d", "e"]


def test_a_function_in_an_if_changes_without_its_module() -> None:
    base = """
        if x:
            def a(): return 1
            async def b(): ...
            class C: ...
    """
    assert changed(base, base.replace("1", "2")) == ["a"]
    assert changed(base, base.replace("if x", "if y")) == ["<module>"]


def test_overloads_and_property_parts_are_one_definition() -> None:
    text = '''
        class A:
            @overload
            def f(self, x: int) -> int: ...
            @overload
            def f(self, x: str) -> str: ...
            def f(self, x):
                """Do."""
                return x
            @property
            def p(self): return 1
            @p.setter
            def p(self, value): ...
    '''
    found = {one.qualname: one for one in read_definitions("a.py", source(text))}
    assert list(found) == ["<module>", "A", "A.f", "A.p"]
    assert (found["A.f"].first_line, found["A.f"].docstring) == (7, True)
    assert found["A.p"].first_line == 10
    assert changed(text, text.replace("x: str", "x: bytes")) == ["A.f"]
    assert changed(text, text.replace("value): ...", "value): self.x = 1")) == ["A.p"]


def test_leading_underscores_are_private_and_dunders_are_not() -> None:
    text = """
        class A:
            def __init__(self): ...
            def _hidden(self): ...
            class _B:
                def open(self): ...
        def _f(): ...
        def g():
            def inner(): ...
    """
    assert public(text) == {"<module>", "A", "A.__init__", "g"}


@pytest.mark.parametrize(
    "listing",
    [
        '__all__ = ["a", "_c"]',
        '__all__: list[str] = ["a"]\n__all__ += ("_c",)',
        '__all__ = ["a"]\n__all__.extend(["_c"])',
    ],
)
def test_all_decides_what_is_public(listing: str) -> None:
    text = f"{listing}\ndef a(): ...\ndef b(): ...\ndef _c(): ...\n"
    assert public(text) == {"<module>", "a", "_c"}


def test_a_computed_all_is_not_believed() -> None:
    assert public("__all__ = list_them()\ndef a(): ...\n") == {"<module>", "a"}


@pytest.mark.parametrize("path", ["pkg/_a.py", "pkg/_inner/a.py"])
def test_a_private_module_has_nothing_public(path: str) -> None:
    assert public("def a(): ...\n", path) == set()


def test_a_package_is_not_private() -> None:
    assert public("def a(): ...\n", "pkg/__init__.py") == {"<module>", "a"}


def test_comments_and_layout_do_not_count_as_a_change() -> None:
    assert (
        changed("def a(x):\n    return x\n", "# new\n\ndef a( x ):\n    return x  # same\n") == []
    )


def test_docstrings_count_as_a_change_but_leave_the_digest() -> None:
    base, head = 'def a():\n    """One."""\n', 'def a():\n    """Two."""\n'
    assert changed(base, head) == ["a"]
    digests = [read_definitions("a.py", text.encode())[1].digest for text in (base, head)]
    assert digests[0] == digests[1]


def test_a_method_changes_without_its_class() -> None:
    base = "class A(B):\n    x = 1\n    def f(self): return 1\n    def g(self): ...\n"
    assert changed(base, base.replace("return 1", "return 2")) == ["A.f"]
    assert changed(base, base.replace("x = 1", "x = 2")) == ["A"]
    assert changed(base, base.replace("(B)", "(C)")) == ["A"]


@pytest.mark.parametrize(
    ("old", "new"),
    [("(x)", "(x, y)"), ("@d1", "@d2"), ("-> int", "-> str"), ("def a", "async def a")],
)
def test_signature_and_decorators_are_code(old: str, new: str) -> None:
    base = "@d1\ndef a(x) -> int:\n    return x\n"
    assert changed(base, base.replace(old, new)) == ["a"]


def test_without_a_base_all_is_new() -> None:
    assert changed(None, "def a(): ...\n") == ["<module>", "a"]


def test_an_unparsable_base_makes_all_new() -> None:
    assert changed("def (", "def a(): ...\n") == ["<module>", "a"]


@pytest.mark.parametrize("text", [b"def (", b"x = '\0'", b"# coding: no-such\n", b"x = (" * 2000])
def test_what_cannot_be_parsed_gives_nothing_and_says_why(text: bytes) -> None:
    reading = read_source("a.py", text)
    assert reading.definitions == ()
    assert reading.problem
    assert changed_definitions(None, text, "a.py") == ()
    assert definitions.test_definitions_touched(None, text) == set()


@pytest.mark.parametrize("pattern", ["check", "check_*", "*_sums"])
def test_what_the_configuration_calls_a_test_is_one(pattern: str) -> None:
    base = "def check_sums(): f()\n\nclass Suite:\n    def check_sums(self): f()\n"
    names = definitions.test_definitions_touched(
        source(base), source(base.replace("f()", "g()")), functions=("it_", pattern)
    )
    assert names == {"check_sums", "Suite.check_sums"}
    assert touched(base, base.replace("f()", "g()")) == set()


def test_methods_of_unittest_are_tests_whatever_is_configured() -> None:
    base = "class T(TestCase):\n    def test_a(self): f()\n"
    head = source(base.replace("f()", "g()"))
    found = definitions.test_definitions_touched(source(base), head, functions=("check",))
    assert found == {"T.test_a"}


def test_source_too_deep_for_the_parser_is_unreadable(monkeypatch: pytest.MonkeyPatch) -> None:
    def too_deep(_: object) -> None:
        raise RecursionError

    monkeypatch.setattr(ast, "parse", too_deep)
    assert read_source("a.py", b"").problem == "RecursionError"


def test_other_encodings_and_invalid_escapes_are_read() -> None:
    text = "# coding: latin-1\nx = '\\d\xe9'\ndef a(): ...\n".encode("latin-1")
    assert [one.qualname for one in read_definitions("a.py", text)] == ["<module>", "a"]


TESTS = """
    @pytest.fixture
    def db(): return 1

    @pytest.fixture(name="session")
    def make_session(db): return db

    def helper(): return 1

    def test_a(): assert helper()
    def test_b(session): assert session

    class TestC(Base):
        limit = 1
        def setup_method(self): self.x = 1
        def test_c(self): assert self.x
        def test_d(self): assert 2

    @pytest.mark.usefixtures("db")
    def test_e(): ...
"""


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("assert 2", "assert 3", {"TestC.test_d"}),
        ("limit = 1", "limit = 2", {"TestC.test_c", "TestC.test_d"}),
        ("self.x = 1", "self.x = 2", {"TestC.test_c", "TestC.test_d"}),
        ("(Base)", "(Other)", {"TestC.test_c", "TestC.test_d"}),
        ("def db(): return 1", "def db(): return 2", {"test_b", "test_e"}),
        ("return db", "return db()", {"test_b"}),
        ("def helper(): return 1", "def helper(): return 2", set()),
        ("def test_a", "@skip\n    def test_a", {"test_a"}),
        ("def test_a", "def test_new", {"test_new"}),
        ("def setup_method(self): self.x = 1", "y = 1", {"TestC.test_c", "TestC.test_d"}),
        ("assert 2", "assert  2  # same", set()),
    ],
)
def test_a_test_is_touched_by_its_code_its_class_and_its_fixtures(
    old: str, new: str, expected: set[str]
) -> None:
    assert touched(TESTS, TESTS.replace(old, new)) == expected


def test_module_setup_and_autouse_fixtures_touch_every_test() -> None:
    base = "def setup_module(): a\ndef test_a(): ...\ndef test_b(): ...\n"
    assert touched(base, base.replace(": a", ": b")) == {"test_a", "test_b"}
    base = "@fixture(autouse=True)\ndef f(): a\ndef test_a(): ...\n"
    assert touched(base, base.replace(": a", ": b")) == {"test_a"}
    assert touched(base, "def test_a(): ...\n") == {"test_a"}


def test_all_tests_of_a_new_file_are_touched() -> None:
    assert touched(None, TESTS) == {
        "test_a",
        "test_b",
        "test_e",
        "TestC.test_c",
        "TestC.test_d",
    }
