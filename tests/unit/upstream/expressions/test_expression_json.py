"""toJSON and fromJSON."""

from __future__ import annotations

import json
import math
import time
from typing import Any

import pytest

from presubmit.upstream.expressions import ExpressionError, evaluate


def read(text: str) -> Any:
    return evaluate("fromJSON(x)", {"x": text})


def write(value: object) -> Any:
    return evaluate("toJSON(x)", {"x": value})


def test_the_text_is_indented_by_two() -> None:
    value = {"a": [1, 2.5, True, None, "x"], "b": {}, "c": [], "d": {"e": [[]]}}
    assert write(value) == json.dumps(value, indent=2)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, "null"),
        (True, "true"),
        (1.0, "1"),
        (-0.0, "0"),
        (1e20, "1E+20"),
        (math.nan, "NaN"),
        (math.inf, "Infinity"),
        ("é 😊 /", '"é 😊 /"'),
        ('"\\\b\f\n\r\t\x01\x7f', '"\\"\\\\\\b\\f\\n\\r\\t\\u0001\x7f"'),
        ("\x85\u2028\u2029", '"\\u0085\\u2028\\u2029"'),
        ({"k\n": 1}, '{\n  "k\\n": 1\n}'),
    ],
)
def test_a_value_is_written_as_github_writes_it(value: object, expected: str) -> None:
    assert write(value) == expected


def test_what_is_written_can_be_read() -> None:
    value = {"a": [1.0, {"b": None}, "x\u2028\n"], "c": "é"}
    assert read(write(value)) == value


def test_a_circular_value_is_an_error() -> None:
    value: list[Any] = []
    value.append(value)
    with pytest.raises(ExpressionError, match="nested too deep"):
        write(value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1", 1.0),
        ("-0", 0.0),
        ("1e400", math.inf),
        ("1" * 400, math.inf),
        ("12345678901234567890", 12345678901234567890.0),
        ('"\\u00e9\\ud83d\\ude0a"', "é😊"),
        (' \n[1, "a", {"b": null}] ', [1.0, "a", {"b": None}]),
    ],
)
def test_json_is_read(text: str, expected: object) -> None:
    assert read(text) == expected


def test_every_number_is_a_float() -> None:
    assert [type(item) for item in read("[1, 2.5, -3]")] == [float] * 3


def test_of_a_key_that_is_given_twice_the_last_value_counts() -> None:
    assert read('{"a": 1, "b": 2, "a": 3}') == {"a": 3.0, "b": 2.0}


def test_keys_that_differ_by_letter_case_are_one() -> None:
    assert read('{"Key": 1, "x": 2, "KEY": 3}') == {"Key": 3.0, "x": 2.0}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("['a', 'b']", ["a", "b"]),
        ("{'a': 'it\\'s'}", {"a": "it's"}),
        ("{a: 1, $b_2: 2}", {"a": 1.0, "$b_2": 2.0}),
        ("[1, 2,]", [1.0, 2.0]),
        ('{"a": 1,}', {"a": 1.0}),
        ("// note\n[1 /* one */, 2]", [1.0, 2.0]),
        ('"two\nlines"', "two\nlines"),
        ("['\\u00e9\\ud83d\\ude0a\\n\\/']", ["é😊\n/"]),
        ("[0x1F, .5, -0x1]", [31.0, 0.5, -1.0]),
        ("[Infinity, -Infinity]", [math.inf, -math.inf]),
        ("[undefined]", [""]),
        ("{} and more", {}),
        ("'x'", "x"),
        ("{a: [{b: {}}, []], c: null}", {"a": [{"b": {}}, []], "c": None}),
    ],
)
def test_what_newtonsoft_takes_for_json_is_read(text: str, expected: object) -> None:
    assert read(text) == expected


def test_nan_is_read() -> None:
    assert math.isnan(read("NaN"))


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "abc", "[", "[1", "[1 2]", "{", '{"a"', '{"a":', '{"a" 1}', '{"a": 1 "b": 2}', '"open', "'open",
        "[1}", "{]", "{,}", "tru", "nulL", "-", "1a", "'\\x'", '"\\u12"', "/* open", "[0x1FFFFFFFFFFFFFFFFZ]",
        "=1", "True", "None",
    ],
)  # fmt: skip
def test_anything_else_is_an_error(text: str) -> None:
    with pytest.raises(ExpressionError, match="fromJSON"):
        read(text)


def test_null_is_an_empty_text_and_so_an_error() -> None:
    with pytest.raises(ExpressionError, match="ends too early"):
        evaluate("fromJSON(null)", {})


@pytest.mark.parametrize("opening", ["[", '{"a":', "[[],", "{a:"])
@pytest.mark.parametrize("levels", [66, 5000, 200_000])
def test_deep_json_is_an_error(opening: str, levels: int) -> None:
    closing = "}" if opening.startswith("{") else "]"
    with pytest.raises(ExpressionError, match="64 levels"):
        read(opening * levels + "1" + closing * levels)


def test_sixty_four_levels_are_read() -> None:
    value = read("[" * 64 + "1" + "]" * 64)
    for _ in range(64):
        (value,) = value
    assert value == 1


def test_a_broad_text_is_not_deep() -> None:
    assert len(read("[" + ",".join(["[]"] * 5000) + "]")) == 5000


@pytest.mark.parametrize(
    "text",
    [
        "1" * 1_000_000 + "x",
        '"' + "\\\\" * 500_000,
        "[" + "1," * 200_000 + "x",
        "/*" * 500_000,
        " " * 1_000_000 + "x",
    ],
)
def test_a_long_text_that_is_no_json_takes_no_time(text: str) -> None:
    began = time.process_time()
    with pytest.raises(ExpressionError):
        read(text)
    assert time.process_time() - began < 5
