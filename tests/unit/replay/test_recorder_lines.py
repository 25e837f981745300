"""Which function a line belongs to, as the recorder sees it inside a box."""

from __future__ import annotations

import textwrap

import pytest

from presubmit.replay.inside.presubmit_recorder.lines import Table

SOURCE = textwrap.dedent(
    """\
    import os
    def f(a=1):
        x = 1
        def inner():
            return x
        return inner
    class C:
        limit = 3
        @property
        def m(
            self,
        ):
            return 1
        class D:
            async def n(self): return 2
    if os:
        def late():
            pass
    else:
        def late():
            return 3
    try:
        pass
    except OSError:
        def on_error():
            return 4
    for _ in ():
        def looped():
            return 5
    """
)


def ran(*lines: int, source: str = SOURCE) -> tuple[set[str], bool]:
    table = Table(source)
    found, module = table.resolve(set(lines))
    return {table.names[index] for index in found}, module


def test_names_are_those_of_functions_at_module_and_class_level() -> None:
    assert Table(SOURCE).names == ["f", "C.m", "C.D.n", "late", "on_error", "looped"]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (1, (set(), True)),
        (2, (set(), False)),  # the definition, or the return of an empty body
        (3, ({"f"}, False)),
        (4, ({"f"}, False)),  # what is nested belongs to the outermost
        (5, ({"f"}, False)),
        (8, (set(), True)),
        (9, (set(), True)),
        (10, (set(), False)),
        (11, (set(), True)),
        (13, ({"C.m"}, False)),
        (18, ({"late"}, False)),
        (21, ({"late"}, False)),
        (26, ({"on_error"}, False)),
        (29, ({"looped"}, False)),
    ],
)
def test_a_line_is_a_bodys_or_the_modules(line: int, expected: tuple[set[str], bool]) -> None:
    assert ran(line) == expected


def test_a_line_that_is_both_header_and_body_counts_as_the_bodys() -> None:
    assert ran(15) == ({"C.D.n"}, False)


def test_defaults_on_the_first_line_of_the_body_count_as_both() -> None:
    assert ran(2, source="def f(\n    a=1): return a\n") == ({"f"}, True)


LAMBDAS = textwrap.dedent(
    """\
    import os
    f = [
        lambda: 1,
    ]
    @os.x(lambda: 2)
    def g(a=lambda: 3):
        pass
    """
)


def test_a_lambda_that_is_called_is_no_import() -> None:
    assert ran(3, 5, 6, source=LAMBDAS) == (set(), False)
    assert ran(1, 2, 3, 5, 6, source=LAMBDAS) == (set(), True)
    assert Table(LAMBDAS).resolve({(3, "<lambda>", True)}) == (set(), False)
    assert Table(LAMBDAS).resolve({(1, "<module>", False)}) == (set(), True)


def test_where_the_first_line_may_be_that_of_a_call_any_line_counts_as_an_import() -> None:
    assert ran(1, source="def f(): pass\n") == ({"f"}, True)
    assert ran(1, source="def f():\n    'Nothing.'\n") == ({"f"}, True)


def test_lines_of_several_functions_are_all_told() -> None:
    assert ran(1, 3, 13) == ({"f", "C.m"}, True)


@pytest.mark.parametrize("source", ["def f(:", "\0", "x = {% if %}"])
def test_what_is_no_python_is_refused(source: str) -> None:
    with pytest.raises((SyntaxError, ValueError)):
        Table(source)


# --- code objects, as `sys.monitoring` gives them -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ((1, "<module>", False), (set(), True)),
        ((7, "C", False), (set(), True)),
        ((2, "f", True), ({"f"}, False)),
        ((4, "inner", True), ({"f"}, False)),
        ((9, "m", True), ({"C.m"}, False)),  # from its decorator on
        ((15, "n", True), ({"C.D.n"}, False)),  # on one line, and yet not the class around it
        ((21, "late", True), ({"late"}, False)),
        ((8, "<lambda>", True), (set(), False)),
    ],
)
def test_a_code_object_is_of_one_function(
    code: tuple[int, str, bool], expected: tuple[set[str], bool]
) -> None:
    table = Table(SOURCE)
    found, module = table.resolve({code})
    assert ({table.names[index] for index in found}, module) == expected


def test_what_is_decorated_in_a_function_belongs_to_it() -> None:
    source = "def f(g):\n    @g\n    def inner():\n        return 1\n    return inner\nx = 1\n"
    assert ran(2, source=source) == ({"f"}, False)
    table = Table(source)
    assert table.resolve({(2, "inner", True)}) == ({0}, False)


def test_a_body_of_a_docstring_alone_runs_on_the_line_of_its_def() -> None:
    source = 'x = 1\ndef f():\n    """Nothing."""\n'
    assert ran(2, source=source) == ({"f"}, False)
    assert ran(1, 2, source=source) == ({"f"}, True)
