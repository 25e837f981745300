"""What `read_shape` finds in one source: elements, digests, uses."""

from __future__ import annotations

import textwrap

import pytest

from presubmit.selector.shape import MODULE, Element, ElementKind, Shape, read_shape


def shape(text: str) -> Shape:
    return read_shape(textwrap.dedent(text).encode())


def elements(text: str) -> dict[str, Element]:
    return {it.qualname: it for it in shape(text).elements}


def test_the_module_comes_first() -> None:
    assert shape("x = f()\n").elements[0].qualname == MODULE


def test_functions_methods_classes_and_literal_constants_are_elements() -> None:
    found = elements("""
        LIMIT = (1, "a")
        class C:
            limit = -1
            def m(self): ...
            class D:
                async def n(self): ...
        def f():
            def inner(): ...
    """)
    kinds = {name: it.kind for name, it in found.items()}
    assert kinds == {
        MODULE: ElementKind.MODULE,
        "LIMIT": ElementKind.CONSTANT,
        "C": ElementKind.CLASS,
        "C.limit": ElementKind.CONSTANT,
        "C.m": ElementKind.FUNCTION,
        "C.D": ElementKind.CLASS,
        "C.D.n": ElementKind.FUNCTION,
        "f": ElementKind.FUNCTION,
    }


def test_definitions_inside_if_try_and_with_are_elements() -> None:
    found = elements("""
        if fast:
            def f(): ...
        try:
            def g(): ...
        except ImportError:
            def h(): ...
        with lock:
            def k(): ...
    """)
    assert {"f", "g", "h", "k"} <= set(found)


def test_two_definitions_with_one_name_are_one_element() -> None:
    text = "if a:\n    def f(): return 1\nelse:\n    def f(): return {}\n"
    one, two = elements(text.format(2)), elements(text.format(3))
    assert [it for it in one if it == "f"] == ["f"]
    assert one["f"].body != two["f"].body


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("def f(a):\n    return a", "def f(a):  # why\n\n    return (a)"),
        (
            "def f():\n    return ['a', 'b']",
            'def f():\n    return [\n        "a",\n        "b",\n    ]',
        ),
        ("x = g('a')", 'x = g(\n  "a"\n)'),
        ("class C:\n    def m(self): return 1", "class C:\n\n    def m(self):\n        return 1"),
    ],
)
def test_layout_and_comments_change_no_digest(before: str, after: str) -> None:
    one, two = elements(before), elements(after)
    assert {k: (v.head, v.body) for k, v in one.items()} == {
        k: (v.head, v.body) for k, v in two.items()
    }


def test_a_docstring_has_a_digest_of_its_own() -> None:
    one = elements('def f():\n    """One."""\n    return 1')["f"]
    two = elements('def f():\n    """Two."""\n    return 1')["f"]
    none = elements("def f():\n    return 1")["f"]
    assert one.body == two.body == none.body
    assert one.docstring != two.docstring
    assert none.docstring == ""


@pytest.mark.parametrize(
    "after",
    [
        "def f(a, b=2): return a",
        "def f(a, c=1): return a",
        "def f(a: int, b=1): return a",
        "def f(a, b=1): return b",
        "def f(a, b=1): return -a",
        "async def f(a, b=1): return a",
        "def f(a, *, b=1): return a",
    ],
)
def test_statements_parameters_and_literal_defaults_are_in_the_body(after: str) -> None:
    one, two = elements("def f(a, b=1): return a")["f"], elements(after)["f"]
    assert one.body != two.body
    assert one.head == two.head


def test_decorators_and_computed_defaults_are_in_the_head() -> None:
    plain = elements("def f(a=g()): return a")["f"]
    other = elements("def f(a=h()): return a")["f"]
    decorated = elements("@cache\ndef f(a=g()): return a")["f"]
    assert len({plain.head, other.head, decorated.head}) == 3
    assert plain.body == other.body == decorated.body


def test_the_signature_under_an_unknown_decorator_runs_at_import() -> None:
    one, two = (
        elements("@app.get\ndef f(a: int): ...")["f"],
        elements("@app.get\ndef f(a: str): ...")["f"],
    )
    assert one.head != two.head


def test_what_a_name_is_called_and_a_string_that_reads_the_same_differ() -> None:
    assert elements("def f(): return a")["f"].body != elements("def f(): return 'a'")["f"].body
    assert elements("def f(): return 1")["f"].body != elements("def f(): return True")["f"].body


def test_a_moved_definition_changes_the_module_only_past_code_that_runs() -> None:
    assert elements("def f(): ...\ndef g(): ...")[MODULE].head == (
        elements("def g(): ...\ndef f(): ...")[MODULE].head
    )
    assert elements("def f(): ...\nf()")[MODULE].head != elements("f()\ndef f(): ...")[MODULE].head


def test_constants_of_a_class_with_an_unknown_base_belong_to_its_head() -> None:
    text = "from enum import EnumX\nclass C(EnumX):\n    a = {}\n"
    one, two = elements(text.format(1)), elements(text.format(2))
    assert "C.a" not in one
    assert one["C"].head != two["C"].head


def test_an_annotated_field_of_a_class_is_in_its_head() -> None:
    one, two = elements("class C:\n    a: int = 1"), elements("class C:\n    a: int = 2")
    assert "C.a" not in one
    assert one["C"].head != two["C"].head


@pytest.mark.parametrize("name", ["__all__", "__slots__"])
def test_names_that_python_reads_are_no_constants(name: str) -> None:
    one, two = elements(f"{name} = ('a',)"), elements(f"{name} = ('b',)")
    assert name not in one
    assert one[MODULE].head != two[MODULE].head


def test_what_only_type_checkers_see_is_left_out() -> None:
    found = shape("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import a\n    X = 1\n")
    assert [it.qualname for it in found.elements] == [MODULE]
    assert found.imports == (("TYPE_CHECKING", "typing:TYPE_CHECKING"),)


def test_uses_tell_identifiers_attributes_and_locals_apart() -> None:
    used = elements("""
        class C:
            def m(self, a):
                b = helper(a)
                self.own(np.array.x, b.method)
                return [c for c in a.items()]
    """)["C.m"].uses
    assert {"helper", "self.own", "np.array.x", ".method", ".items", "=a"} <= set(used)
    assert not {"a", "b", "self"} & set(used)


def test_a_local_name_that_is_global_in_part_is_used() -> None:
    assert "n" in elements("def f():\n    global n\n    n = 1\n    return n")["f"].uses


def test_names_of_keyword_arguments_are_no_uses() -> None:
    assert elements("def f(): g(key=1)")["f"].uses == ("g",)


@pytest.mark.parametrize(
    ("code", "use"),
    [
        ("getattr(x, 'do_' + y)", ".do_*"),
        ("f'do_{y}'", ".do_*"),
        ("f'{y}_done'", ".*_done"),
        ("'do_%s' % y", ".do_*"),
        ("'do_{}'.format(y)", ".do_*"),
        ("emit('environment.call_unop(')", ".call_unop"),
        ("patch('pkg.svc.helper')", ".helper"),
        ("run('from pkg import thing')", ".thing"),
        ("load('pkg.mod:main')", ".main"),
    ],
)
def test_words_of_strings_are_uses(code: str, use: str) -> None:
    assert use in elements(f"def f(x, y): {code}")["f"].uses


def test_prose_in_strings_names_nothing() -> None:
    assert elements("def f(): fail('the value is not valid')")["f"].uses == ("fail",)


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("getattr(a, b)", ("getattr",)),
        ("getattr(self, b)", ("getattr self",)),
        ("getattr(a, 'known')", ()),
        ("getattr(a, 'do_' + b)", ()),
        ("dir(a)", ("members",)),
        ("vars(self)", ("getattr self",)),
        ("a.__dict__", ("members",)),
        ("exec(a)", ("exec",)),
        ("globals()[a]", ("exec",)),
        ("import_module(a)", ("imports",)),
        ("re.compile(a)", ()),
    ],
)
def test_ways_to_reach_what_is_not_named_are_flagged(code: str, kind: tuple[str, ...]) -> None:
    assert elements(f"class C:\n    def m(self, a, b): {code}")["C.m"].dynamic == kind


@pytest.mark.parametrize(
    ("code", "written"),
    [
        ("def f():\n    global n\n    n = 1", "n"),
        ("def f(k): REG[k] = 1", "REG"),
        ("def f(k): REG.append(k)", "REG"),
        ("def f(k, seen=[]): seen.append(k)", "default seen"),
        ("def f(g):\n    seen = {}\n    def h(k): seen[k] = g(k)\n    return h", "closure seen"),
    ],
)
def test_what_outlives_a_call_is_noted(code: str, written: str) -> None:
    assert written in elements(code)["f"].writes


def test_a_variable_that_is_set_many_times_is_followed_once_for_all_orders() -> None:
    # In every order of the assignments this would be 60 to the power of 6 steps.
    steps = "".join(f"    x = step_{n}.turn(x or y)\n    y = x\n" for n in range(60))
    written = elements(f"def f(x):\n    y = x\n{steps}    x.append(HELD)\n")["f"].writes
    assert {"passes step_0", "passes step_59"} <= set(written)


def test_a_value_that_is_only_stored_does_not_run() -> None:
    found = shape("TABLE = {'a': f}\nX = g(h)\n")
    assert found.elements[0].head_uses == ("g", "h")
    assert dict(found.aliases) == {"TABLE": (".a", "f"), "X": ("g", "h")}


def test_a_default_that_is_only_stored_does_not_run_at_import() -> None:
    found = elements("def f(a=LIMIT, b=g()): ...")["f"]
    assert found.head_uses == ("g",)
    assert "LIMIT" in found.uses


def test_imports_in_functions_bind_names_like_those_of_the_module() -> None:
    found = shape("import numpy as np\ndef f():\n    from .m import g as h\n    return h()\n")
    assert found.imports == (("h", ".m:g"), ("np", "numpy"))
    assert "h" in found.elements[1].uses


@pytest.mark.parametrize("source", [b"def f(:\n", b"\0", b"\xff\xfe", b"x = " + b"(" * 5000])
def test_what_cannot_be_parsed_gives_a_problem(source: bytes) -> None:
    found = read_shape(source)
    assert found.elements == ()
    assert found.problem


def test_every_name_is_in_the_list_of_names() -> None:
    found = shape("from m import f as g\nTABLE = [a]\ndef h(): return np.x\n")
    assert {"f", "g", "a", "np", "x"} <= set(found.names)


def test_examples_in_docstrings_are_used_by_the_module() -> None:
    assert ".area" in elements('def f():\n    """Do.\n\n    >>> area(1)\n    """\n')[MODULE].uses


@pytest.mark.parametrize(
    ("old", "new", "differs"),
    [
        ("def f(x: int): ...", "def f(x: str): ...", False),
        ("def f(x): ...", "def f(x: int) -> 'C': ...", False),
        ("def f(x): ...", "def f(x: Unknown): ...", True),
        ("def f(x: A): ...", "def f(x: A[int]): ...", True),
        ("def f(x): ...", "def f(x: g()): ...", True),
        ("async def f(*x): ...", "async def f(*x: a.b): ...", True),
    ],
)
def test_an_annotation_that_may_fail_is_part_of_the_head(
    old: str, new: str, differs: bool
) -> None:
    def head(source: str) -> str:
        return next(it.head for it in read_shape(source.encode()).elements if it.qualname == "f")

    assert (head(old) != head(new)) is differs
    future = "from __future__ import annotations\n"
    assert head(future + old) == head(future + new)


@pytest.mark.parametrize(
    "base",
    [
        "Enum",
        "IntEnum",
        "Flag",
        "enum.StrEnum",
        "metaclass=Meta",
        "Own",
        "Base",
    ],
)
def test_constants_of_a_class_whose_machinery_reads_them_are_part_of_its_head(base: str) -> None:
    text = (
        "import enum\nfrom enum import *\nfrom pkg import Own\nclass Base(Enum): pass\n"
        "class C({}):\n    a = 1\n"
    )
    assert "C.a" not in elements(text.format(base))


def test_a_base_of_the_project_that_is_named_like_a_plain_one_is_not_plain() -> None:
    text = "from {} import Protocol\nclass C(Protocol):\n    a = 1\n"
    assert "C.a" in elements(text.format("typing"))
    assert "C.a" not in elements(text.format("pkg.base"))
    assert "C.a" not in elements(text.format(".base"))
