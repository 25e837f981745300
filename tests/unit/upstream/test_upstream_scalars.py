"""What plain and tagged scalars mean."""

from __future__ import annotations

import math
from typing import Any

import pytest

from presubmit.upstream.nodes import Mark, Scalar
from presubmit.upstream.scalars import ScalarError, resolve, resolve_tagged, text_of


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("on", "on"),
        ("yes", "yes"),
        ("Off", "Off"),
        ("tRUE", "tRUE"),
        ("true", True),
        ("TRUE", True),
        ("False", False),
        ("", None),
        ("~", None),
        ("Null", None),
        ("0777", 777),
        ("-0", 0),
        ("+12", 12),
        ("0xff", 255),
        ("0xFFFFFFFF", -1),
        ("0o10", 8),
        ("0o8", "0o8"),
        ("12:30", "12:30"),
        ("1e3", 1000.0),
        ("1.", 1.0),
        (".5", 0.5),
        (".", "."),
        ("3.10", 3.1),
        ("12_345", "12_345"),
        ("2001-12-14", "2001-12-14"),
        ("1.2.3", "1.2.3"),
        (".inf", math.inf),
        ("-.INF", -math.inf),
        ("Infinity", "Infinity"),
        ("NaN", "NaN"),
        ("9" * 400, math.inf),
        ("9" * 5000, math.inf),
    ],
)
def test_a_plain_scalar_is_read_by_the_core_schema_of_yaml_1_2(text: str, value: Any) -> None:
    found = resolve(text)
    assert (found, type(found)) == (value, type(value))


def test_dot_nan_is_not_a_number() -> None:
    value = resolve(".nan")
    assert isinstance(value, float)
    assert math.isnan(value)


@pytest.mark.parametrize("text", ["0x1FFFFFFFF", "0o77777777777"])
def test_a_hexadecimal_or_octal_number_has_32_bits(text: str) -> None:
    with pytest.raises(ScalarError, match="32 bits"):
        resolve(text)


@pytest.mark.parametrize(
    ("text", "tag", "value"),
    [
        ("null", "str", "null"),
        ("1", "int", 1),
        ("1", "float", 1),
        ("1e3", "float", 1000.0),
        ("True", "bool", True),
        ("~", "null", None),
    ],
)
def test_a_tag_says_what_a_scalar_is(text: str, tag: str, value: Any) -> None:
    assert resolve_tagged(text, f"tag:yaml.org,2002:{tag}", plain=True) == value


@pytest.mark.parametrize(
    ("text", "tag"),
    [
        ("test", "float"),
        ("1.5", "int"),
        ("1e3", "int"),
        ("yes", "bool"),
        ("1", "bool"),
        ("true", "int"),
        ("x", "null"),
    ],
)
def test_a_scalar_that_belies_its_tag_is_refused(text: str, tag: str) -> None:
    with pytest.raises(ScalarError, match=f"'{text}' is no !!{tag}"):
        resolve_tagged(text, f"tag:yaml.org,2002:{tag}", plain=True)


def test_only_the_string_tag_may_stand_before_quotes() -> None:
    assert resolve_tagged("300", "tag:yaml.org,2002:str", plain=False) == "300"
    with pytest.raises(ScalarError, match="quoted"):
        resolve_tagged("300", "tag:yaml.org,2002:int", plain=False)


@pytest.mark.parametrize(
    "tag", ["!mine", "!", "tag:yaml.org,2002:binary", "tag:yaml.org,2002:timestamp"]
)
def test_a_tag_that_github_does_not_know_is_refused(tag: str) -> None:
    with pytest.raises(ScalarError, match="not known"):
        resolve_tagged("x", tag, plain=True)


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, ""), (True, "true"), (3.1, "3.1"), (1000.0, "1000"), (7, "7"), ("a", "a")],
)
def test_text_is_made_of_a_value_as_github_makes_it(value: Any, text: str) -> None:
    assert text_of(Scalar(value, Mark(1, 1), "as written")) == text
