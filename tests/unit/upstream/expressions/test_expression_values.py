"""Conversions and comparisons."""

from __future__ import annotations

import locale
import math
from typing import Any

import pytest

from presubmit.upstream.expressions import equals, evaluate, is_truthy, to_number, to_string
from presubmit.upstream.expressions.values import fold, is_less


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, ""),
        (True, "true"),
        (False, "false"),
        (0, "0"),
        (-0.0, "0"),
        (3.10, "3.1"),
        (1.0, "1"),
        (1e21, "1E+21"),
        (123456789012345678, "1.23456789012346E+17"),
        (2.5e-7, "2.5E-07"),
        (1e100, "1E+100"),
        (math.nan, "NaN"),
        (math.inf, "Infinity"),
        (-math.inf, "-Infinity"),
        (10**400, "Infinity"),
        (-(10**400), "-Infinity"),
        ("text", "text"),
        ([], "Array"),
        ([1], "Array"),
        ({}, "Object"),
    ],
)
def test_a_value_becomes_text(value: object, expected: str) -> None:
    assert to_string(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, 0),
        (True, 1),
        (False, 0),
        ("", 0),
        ("  \n", 0),
        ("12", 12),
        (" -1.5e2 ", -150),
        ("+7", 7),
        (".5", 0.5),
        ("5.", 5),
        ("1E3", 1000),
        ("0x1f", 31),
        ("0xFFFFFFFF", -1),
        ("0x0000000000001", 1),
        ("0o17", 15),
        ("0o37777777777", -1),
        ("Infinity", math.inf),
        ("-Infinity", -math.inf),
        ("+infinity", math.inf),
        ("1e999", math.inf),
        ("\u0661", math.nan),
    ],
)
def test_a_value_becomes_a_number(value: object, expected: float) -> None:
    number = to_number(value)
    assert number == expected or (math.isnan(number) and math.isnan(expected))


@pytest.mark.parametrize(
    "text",
    [
        "abc", "1_000", "1,5", "1e", "e1", ".", "-", "0x", "0xG", "0X1", "-0x1", "0x1FFFFFFFF", "0o8", "0o",
        "0o777777777777", "0o77777777777", "inf", "NaN", "1 2", "0b1", "\uff11", "--1", "1.2.3",
    ],
)  # fmt: skip
def test_other_texts_are_no_number(text: str) -> None:
    assert math.isnan(to_number(text))


@pytest.mark.parametrize("value", [[], [1], {}, {"a": 1}])
def test_arrays_and_objects_are_no_number(value: object) -> None:
    assert math.isnan(to_number(value))


@pytest.mark.parametrize("value", [None, False, 0, -0.0, math.nan, ""])
def test_what_is_empty_is_false(value: object) -> None:
    assert not is_truthy(value)


@pytest.mark.parametrize("value", [True, 1, -1, math.inf, "0", "false", " ", [], {}])
def test_the_rest_is_true(value: object) -> None:
    assert is_truthy(value)


def test_arrays_and_objects_equal_only_themselves() -> None:
    value: list[Any] = []
    assert equals(value, value)
    assert not equals([], [])
    assert not equals({}, {})
    assert not equals([], "")
    assert not equals(None, {})


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("straße", "STRAßE"),
        ("ü", "Ü"),
        ("ς", "Σ"),
        ("ß", "ß"),
        ("ᾀ", "ᾈ"),
        ("𐐨", "𐐀"),
        ("µ", "\u039c"),
        ("ŉ", "ŉ"),
    ],
)
def test_letters_are_equal_in_both_cases(left: str, right: str) -> None:
    assert equals(left, right)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("ß", "SS"),
        ("i", "\u0130"),
        ("\u0131", "I"),
        ("\u017f", "S"),
        ("\ufb01", "FI"),
        ("\u212a", "k"),
    ],
)
def test_letters_of_another_length_or_script_are_not_equal(left: str, right: str) -> None:
    assert not equals(left, right)


def test_folding_keeps_the_length() -> None:
    letters = "".join(chr(code) for code in range(0x20000))
    assert len(fold(letters)) == len(letters)


def test_strings_are_ordered_by_upper_case_in_utf_16() -> None:
    assert is_less("a", "[")  # `A` stands before `[`
    assert is_less("\U0001f60a", "\ue000")
    assert is_less("\ud800", "\ud801")
    assert not is_less("A", "a")
    assert evaluate("'a' <= 'A'", {}) is True


@pytest.mark.parametrize("operator", ["<", ">", "<=", ">="])
def test_nan_and_objects_are_in_no_order(operator: str) -> None:
    assert evaluate(f"NaN {operator} 1", {}) is False
    assert evaluate(f"x {operator} 1", {"x": {}}) is False
    assert evaluate(f"'abc' {operator} 1", {}) is False


def test_null_is_neither_less_nor_greater_than_null() -> None:
    assert evaluate("null < null", {}) is False
    assert evaluate("null <= null", {}) is True


def test_numbers_do_not_follow_the_locale(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locale, "localeconv", lambda: {"decimal_point": ",", "thousands_sep": "."})
    assert to_string(1234.5) == "1234.5"


@pytest.mark.parametrize("tail", ["x", "e", ".x", ".."])
def test_a_long_text_that_is_almost_a_number_takes_no_time(tail: str) -> None:
    assert math.isnan(to_number("1" * 500_000 + tail))
