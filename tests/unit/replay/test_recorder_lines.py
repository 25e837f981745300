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
        (2, (set(), True)),  # the definition, not a call
        (3, ({"f"}, False)),
        (4, ({"f"}, False)),  # what is nested belongs to the outermost
        (5, ({"f"}, False)),
        (8, (set(), True)),
        (9, (set(), True)),
        (10, (set(), True)),
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


def test_a_line_that_is_both_header_and_body_counts_as_both() -> None:
    assert ran(15) == ({"C.D.n"}, True)


def test_defaults_on_the_first_line_of_the_body_count_as_both() -> None:
    assert ran(2, source="def f(\n    a=1): return a\n") == ({"f"}, True)


def test_lines_of_several_functions_are_all_told() -> None:
    assert ran(1, 3, 13) == ({"f", "C.m"}, True)


@pytest.mark.parametrize("source", ["def f(:", "\0", "x = {% if %}"])
def test_what_is_no_python_is_refused(source: str) -> None:
    with pytest.raises((SyntaxError, ValueError)):
        Table(source)
