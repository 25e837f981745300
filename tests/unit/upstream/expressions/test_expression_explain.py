"""What `presubmit upstream eval` shows."""

from __future__ import annotations

from typing import Any

import pytest

from presubmit.upstream.expressions import Explained, ExpressionError, evaluate, explain

CONTEXTS: dict[str, Any] = {
    "github": {
        "event_name": "push",
        "ref": "refs/heads/main",
        "event": {"labels": [{"name": "x"}]},
    },
    "matrix": {"os": "linux"},
    "env": {"linux": "yes"},
}


def parts(text: str) -> list[tuple[str, object]]:
    return [(part.text, part.value if part.evaluated else "-") for part in explain(text, CONTEXTS)]


def test_every_part_is_shown_in_the_order_of_evaluation() -> None:
    assert parts("github.event_name == 'push' && !startsWith(github.ref, 'refs/tags')") == [
        ("github.event_name", "push"),
        ("github.event_name == 'push'", True),
        ("github.ref", "refs/heads/main"),
        ("startsWith(github.ref, 'refs/tags')", False),
        ("!startsWith(github.ref, 'refs/tags')", True),
        ("github.event_name == 'push' && !startsWith(github.ref, 'refs/tags')", True),
    ]


def test_what_was_not_needed_is_marked() -> None:
    assert parts("github.event_name == 'release' && (github.ref || env.x)") == [
        ("github.event_name", "push"),
        ("github.event_name == 'release'", False),
        ("github.ref", "-"),
        ("env.x", "-"),
        ("(github.ref || env.x)", "-"),
        ("github.event_name == 'release' && (github.ref || env.x)", False),
    ]


def test_a_part_that_gave_null_is_not_one_that_was_not_needed() -> None:
    (part,) = explain("env.nothing", CONTEXTS)
    assert part == Explained(text="env.nothing", value=None, evaluated=True, depth=0)


def test_the_depth_says_what_belongs_to_what() -> None:
    shown = explain("!(matrix.os == 'linux')", CONTEXTS)
    assert [(part.text, part.depth) for part in shown] == [
        ("matrix.os", 2),
        ("(matrix.os == 'linux')", 1),
        ("!(matrix.os == 'linux')", 0),
    ]


def test_a_computed_key_is_a_part() -> None:
    assert parts("env[matrix.os]") == [("matrix.os", "linux"), ("env[matrix.os]", "yes")]


def test_a_filter_is_one_part() -> None:
    assert parts("github.event.labels.*.name") == [("github.event.labels.*.name", ["x"])]


def test_keys_of_a_result_are_a_part_of_their_own() -> None:
    assert parts("""fromJSON('{"a": 1}').a""") == [
        ("""fromJSON('{"a": 1}')""", {"a": 1.0}),
        ("""fromJSON('{"a": 1}').a""", 1.0),
    ]


@pytest.mark.parametrize(("text", "value"), [("1", 1.0), ("'x'", "x"), ("", None), ("('x')", "x")])
def test_a_lone_literal_is_shown(text: str, value: object) -> None:
    assert parts(text) == [(text, value)]


def test_the_last_part_is_the_whole() -> None:
    text = "case(matrix.os == 'linux', env[matrix.os], 'no')"
    assert explain(text, CONTEXTS)[-1].value == evaluate(text, CONTEXTS)


def test_functions_of_the_callers_are_called() -> None:
    shown = explain(
        "always() && success()", {}, {"always": lambda: True, "success": lambda: False}
    )
    assert [part.value for part in shown] == [True, False, False]


def test_an_error_is_the_same_as_that_of_evaluate() -> None:
    with pytest.raises(ExpressionError, match="unrecognized named-value 'nope'"):
        explain("nope.x", CONTEXTS)
