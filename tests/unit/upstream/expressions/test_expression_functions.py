"""The built-in functions, and their limits."""

from __future__ import annotations

import time
from typing import Any

import pytest

from presubmit.upstream.expressions import MEMORY, ExpressionError, evaluate


@pytest.mark.parametrize(
    "template",
    [
        "{",
        "}",
        "{0",
        "0}",
        "{a}",
        "{ 0}",
        "{0 }",
        "{-1}",
        "{}",
        "{0}}",
        "{{0}",
        "{256}",
        "{\u0660}",
        "a{0}b}c",
    ],
)
def test_a_brace_that_is_not_doubled_is_an_error(template: str) -> None:
    with pytest.raises(ExpressionError, match="a brace that is not doubled"):
        evaluate("format(x, 1)", {"x": template})


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{0}", "a"),
        ("{00}", "a"),
        ("{0:}", "a"),
        ("{1}{0}{1}", "bab"),
        ("{{{0}}}", "{a}"),
        ("{{{{", "{{"),
        ("", ""),
        ("plain", "plain"),
        ("%s $1 \\1 {0}", "%s $1 \\1 a"),
    ],
)
def test_a_format_is_filled(template: str, expected: str) -> None:
    assert evaluate("format(x, 'a', 'b')", {"x": template}) == expected


def test_braces_of_an_argument_stay() -> None:
    assert evaluate("format('{0}', '{0}{{')", {}) == "{0}{{"


def test_a_format_that_asks_for_too_much_is_an_error() -> None:
    with pytest.raises(ExpressionError, match="more arguments than it is given"):
        evaluate("format('{2}', 1, 2)", {})


def test_a_format_specifier_is_an_error() -> None:
    with pytest.raises(ExpressionError, match="format specifier"):
        evaluate("format('{0:N2}', 1)", {})


def test_a_format_takes_254_arguments() -> None:
    arguments = ", ".join(["1"] * 254)
    assert evaluate(f"format('{{253}}', {arguments})", {}) == "1"
    with pytest.raises(ExpressionError, match="too many arguments"):
        evaluate(f"format('', {arguments}, 1)", {})


def test_an_error_of_a_function_has_the_place_of_its_call() -> None:
    with pytest.raises(ExpressionError) as caught:
        evaluate("true && format('{')", {})
    assert caught.value.position == 9


def test_the_inmost_call_is_blamed() -> None:
    with pytest.raises(ExpressionError) as caught:
        evaluate("toJSON(format('{'))", {})
    assert caught.value.position == 8


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("join(x)", "a,1,true,,Array,Object"),
        ("join(x, '')", "a1trueArrayObject"),
        ("join(x, 0)", "a01"),
        ("join(x.*.y)", "deep"),
        ("join('abc', '-')", "abc"),
        ("join(null)", ""),
    ],
)
def test_items_are_joined(text: str, expected: str) -> None:
    items = ["a", 1, True, None, [1], {"y": "deep"}] if text != "join(x, 0)" else ["a", 1]
    assert evaluate(text, {"x": items}) == expected


def test_a_hundred_thousand_items_are_joined_in_good_time() -> None:
    began = time.process_time()
    items = [str(place) for place in range(100_000)]
    assert evaluate("join(x)", {"x": items}) == ",".join(items)
    assert evaluate("contains(x, 'nothing')", {"x": items}) is False
    assert time.process_time() - began < 5


def test_what_takes_more_than_github_gives_is_an_error() -> None:
    items = ["x" * 100] * 60_000
    for text in ("join(x)", "toJSON(x)", "format('{0}{0}', y)", "y == format('{0}', y)"):
        with pytest.raises(ExpressionError, match="maximum allowed memory"):
            evaluate(text, {"x": items, "y": "y" * (MEMORY // 4)})


def test_an_explosion_of_formats_stops_early() -> None:
    text = "'xxxxxxxxxx'"
    for _ in range(20):
        text = f"format('{'{0}' * 10}', {text})"
    began = time.process_time()
    with pytest.raises(ExpressionError, match="maximum allowed memory"):
        evaluate(text, {})
    assert time.process_time() - began < 5


def test_results_that_are_used_up_take_no_memory() -> None:
    half = "y" * (MEMORY // 8)
    many = " || ".join(["contains(format('{0}', y), 'z')"] * 20)
    assert evaluate(many, {"y": half}) is False


def test_a_huge_string_is_compared() -> None:
    big: dict[str, Any] = {"x": "a" * 800_000, "y": "A" * 800_000 + "b"}
    assert evaluate("startsWith(y, x) && !endsWith(y, x) && contains(y, x)", big) is True


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("contains(x, null)", True),
        ("contains(x, 'A')", True),
        ("contains(x, '2')", True),
        ("contains(x, 3)", False),
        ("contains(x, o)", True),
        ("contains(x, fromJSON('{}'))", False),
        ("contains(o, 'k')", False),
        ("contains('abc', o)", False),
        ("contains(123, 2)", True),
        ("contains(true, 'RU')", True),
        ("startsWith(123, 12)", True),
        ("startsWith('abc', x)", False),
        ("startsWith('abc', '')", True),
        ("endsWith(null, '')", True),
        ("endsWith(o, '')", False),
    ],
)
def test_searching_follows_githubs_conversions(text: str, expected: object) -> None:
    inner = {"k": 1}
    assert evaluate(text, {"x": [None, "a", 2, inner], "o": inner}) is expected
