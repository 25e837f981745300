"""Parsing: kinds of errors and their positions, limits, what an expression says of itself."""

from __future__ import annotations

import random
from typing import Any

import pytest

from presubmit.upstream.expressions import (
    STATUS_FUNCTIONS,
    ExpressionError,
    evaluate,
    parse,
)
from presubmit.upstream.expressions.parser import MAX_LENGTH

STATUS = STATUS_FUNCTIONS


def error_of(text: str, **options: Any) -> ExpressionError:
    with pytest.raises(ExpressionError) as caught:
        parse(text, **options)
    return caught.value


@pytest.mark.parametrize(
    ("text", "message", "position"),
    [
        ("1 <", "unexpected end", 3),
        ("a.", "unexpected end", 2),
        ("f(", "unexpected end", 2),
        ("join(1,", "unexpected end", 7),
        ("(a", "unexpected end", 2),
        ("a[1", "unexpected end", 3),
        ("!", "unexpected end", 1),
        ("1 2", "unexpected symbol '2'", 3),
        ("a b", "unexpected symbol 'b'", 3),
        ("a 'b'", "unexpected symbol ''b''", 3),
        ("a..b", "unexpected symbol '.'", 3),
        ("a.'b'", "unexpected symbol ''b''", 3),
        ("(1]", "unexpected symbol ']'", 3),
        ("a[1)", "unexpected symbol ')'", 4),
        ("a[1,2]", "unexpected symbol ','", 4),
        ("(1, 2)", "unexpected symbol ','", 3),
        ("1.a", "unexpected symbol '1.a'", 1),
        ("'a'.b", "unexpected symbol '.'", 4),
        ("1[0]", "unexpected symbol '['", 2),
        ("a(b", "unrecognized function 'a'", 1),
        ("()", "unexpected symbol ')'", 2),
        ("*", "unexpected symbol '*'", 1),
        ("a.*b", "unexpected symbol 'b'", 4),
        ('"a"', "unexpected symbol '\"a\"'", 1),
        ("a = b", "unexpected symbol '='", 3),
        ("a && ", "unexpected end", 3),
        ("'open", "unexpected symbol ''open'", 1),
        ("nope()", "unrecognized function 'nope'", 1),
        ("success()", "unrecognized function 'success'", 1),
        ("contains(1)", "too few arguments", 9),
        ("contains(1, 2, 3)", "too many arguments", 9),
        ("true && toJSON()", "too few arguments", 15),
        ("case(true, 1)", "too few arguments", 5),
        ("case(true, 1, false, 2)", "'case' takes an odd number", 5),
        ("😊", "unexpected symbol '😊'", 1),
        ("TRUE", "unrecognized named-value 'TRUE'", 1),
    ],
)
def test_an_error_says_what_is_wrong_and_where(text: str, message: str, position: int) -> None:
    names = None if text.startswith(("a", "(a")) else ()
    functions = {"f": (0, 9)}
    if text == "a(b":
        functions = {}
    error = error_of(text, names=names, functions=functions)
    assert message in error.message
    assert error.position == position
    assert str(error) == f"{error.message} (position {position})"


def test_only_the_named_contexts_may_be_used() -> None:
    assert parse("GitHub.ref", names=["github"]).names() == {"github"}
    error = error_of("true && env.X", names=["github"])
    assert error.message == "unrecognized named-value 'env'"
    assert error.position == 9


def test_the_first_error_counts_even_if_another_follows() -> None:
    assert error_of("x && )", names=[]).message == "unrecognized named-value 'x'"


def test_any_context_may_be_used_where_none_are_named() -> None:
    assert parse("whatever.x").names() == {"whatever"}


def test_a_context_that_is_not_given_is_an_error_of_the_evaluation() -> None:
    with pytest.raises(ExpressionError, match="unrecognized named-value 'x'") as caught:
        parse("true && x").evaluate({})
    assert caught.value.position == 9


def test_a_function_that_is_not_given_is_an_error_of_the_evaluation() -> None:
    with pytest.raises(ExpressionError, match="unrecognized function 'always'"):
        parse("always()", functions=STATUS).evaluate({})


def test_a_function_is_known_in_any_letter_case() -> None:
    assert parse("ALWAYS()", functions=STATUS).uses_status()
    assert evaluate("ToJsOn(1)", {}) == "1"


@pytest.mark.parametrize("space", ["\n", "\t", "\r\n", "\u00a0", "\u3000", "\x85"])
def test_white_space_is_what_dotnet_takes_for_it(space: str) -> None:
    assert evaluate(f"{space}1{space}=={space}1{space}", {}) is True


@pytest.mark.parametrize("other", ["\x1c", "\u200b", "\ufeff", "\0"])
def test_other_invisible_letters_are_symbols(other: str) -> None:
    assert "unexpected symbol" in error_of(f"{other}1").message


@pytest.mark.parametrize("text", ["", " ", "\n"])
def test_an_empty_expression_is_null(text: str) -> None:
    assert evaluate(text, {}) is None


def test_the_longest_expression_is_taken() -> None:
    text = "'" + "x" * (MAX_LENGTH - 2) + "'"
    assert evaluate(text, {}) == "x" * (MAX_LENGTH - 2)


@pytest.mark.parametrize("letter", ["x", "é", "\ud800"])
def test_a_longer_expression_is_refused(letter: str) -> None:
    assert "more than 21000 characters" in error_of(f"'{letter * (MAX_LENGTH - 1)}'").message


def test_a_letter_outside_of_the_first_plane_counts_twice() -> None:
    assert "more than 21000" in error_of(f"'{'😊' * 10_500}'").message
    assert evaluate(f"'{'😊' * 10_499}'", {}) == "😊" * 10_499


def test_brackets_do_not_count_to_the_depth() -> None:
    assert evaluate("(" * 10_000 + "1" + ")" * 10_000, {}) == 1


@pytest.mark.parametrize(
    "text",
    [
        "!" * 50 + "1",
        "!" * 20_000 + "1",
        "a" + ".b" * 50,
        "a" + ".*" * 10_000,
        "a" + "[0]" * 6_000,
        "a[" * 50 + "1" + "]" * 50,
        "a[" * 10_000,
        "toJSON(" * 50 + "1" + ")" * 50,
    ],
)
def test_a_deep_expression_is_refused_in_good_time(text: str) -> None:
    assert error_of(text, names=None).message.startswith(
        ("the expression is nested more than 50", "unexpected end")
    )


@pytest.mark.parametrize("text", ["!" * 49 + "1", "a" + ".b" * 49, "a[" * 49 + "1" + "]" * 49])
def test_fifty_levels_are_taken(text: str) -> None:
    assert parse(text).text == text


@pytest.mark.parametrize("operator", ["&&", "||"])
def test_a_chain_of_one_logical_operator_is_one_level(operator: str) -> None:
    parse(operator.join(["(1)"] * 3000))
    parse("1" + f"{operator}(1" * 3000 + ")" * 3000)


def test_a_chain_of_comparisons_is_deep() -> None:
    assert "nested" in error_of("==".join(["1"] * 60)).message


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 < 2 == true", True),
        ("true == 1 < 2", True),
        ("false == false == false", False),
        ("!false == true", True),
        ("!(false == true)", True),
        ("true || false && false", True),
        ("(true || false) && false", False),
        ("1 == 2 || 3 == 3", True),
        ("!a.b", False),
        ("!a.b && a.c", False),
        ("a['b'].c || 2", 2),
        ("(a).b", 1),
        ("a[format('{0}', 'b')]", 1),
        ("toJSON(a.b)", "1"),
        (" 1 ", 1),
        ("+.5e1", 5),
        ("-1", -1),
        ("1.", 1),
    ],
)
def test_operators_bind_as_on_github(text: str, expected: object) -> None:
    assert evaluate(text, {"a": {"b": 1}}) == expected


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("always()", True),
        ("github.x && (false || !Cancelled())", True),
        ("format('{0}', failure())", True),
        ("a[success()]", True),
        ("'always()'", False),
        ("success.always", False),
        ("hashFiles('x')", False),
        ("", False),
    ],
)
def test_a_status_function_is_found_wherever_it_stands(text: str, *, status: bool) -> None:
    functions = {**STATUS, "hashFiles": (1, 255)}
    assert parse(text, functions=functions).uses_status() is status


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("needs.x.outputs.y", (("needs", "x", "outputs", "y"),)),
        ("NEEDS.Build.outputs.y", (("needs", "Build", "outputs", "y"),)),
        ("needs['x'].result == needs.x.result", (("needs", "x", "result"),)),
        ("github.event.labels.*.name", (("github", "event", "labels", "*", "name"),)),
        ("a[0].b", (("a", "0", "b"),)),
        ("a[null]", (("a", ""),)),
        ("needs[matrix.job].outputs.y", (("needs", "*", "outputs", "y"), ("matrix", "job"))),
        ("a[b[c.d].e]", (("a", "*"), ("b", "*", "e"), ("c", "d"))),
        ("fromJSON(needs.m.outputs.list)[0].name", (("needs", "m", "outputs", "list"),)),
        ("contains(a.b, !c) && d", (("a", "b"), ("c",), ("d",))),
        ("(a.b).c", (("a", "b", "c"),)),
        ("1 == 'a.b'", ()),
        ("format('{0}', env)", (("env",),)),
    ],
)
def test_references_are_the_paths_that_are_read(
    text: str, expected: tuple[tuple[str, ...], ...]
) -> None:
    assert parse(text).references() == expected


def test_names_are_found_inside_of_keys_and_arguments() -> None:
    assert parse("a[b.c] && join(D.*, '')").names() == {"a", "b", "d"}


def test_a_parsed_expression_is_kept() -> None:
    assert parse("github.ref == 'x'") is parse("github.ref == 'x'")


@pytest.mark.parametrize("seed", range(20))
def test_no_text_raises_anything_but_an_expression_error(seed: int) -> None:
    source = random.Random(seed)  # noqa: S311 - reproducible tests
    pieces = [
        *"()[].,*!<>=&|'\"{}$ \n\0é😊\ud800-+", "&&", "||", "==", "!=", "<=", ">=", "1", ".5", "0x1F",
        "1e999", "-Infinity", "NaN", "null", "true", "false", "a", "a.b", "a.*", "[0]", "['b']",
        "format(", "contains(", "join(", "toJSON(", "fromJSON(", "case(", "startsWith(", "endsWith(",
        "'{0}'", "'{'", "'[1,{\"a\":2}]'", "''", "'it''s'", ",", ")", "nope(", "x",
    ]  # fmt: skip
    contexts = {"a": {"b": [1, {"b": None}], "c": "x"}, "x": [True, "y", 2.5]}
    errors: list[ExpressionError] = []
    for _ in range(400):
        text = "".join(source.choice(pieces) for _ in range(source.randint(1, 14)))
        try:
            evaluate(text, contexts)
        except ExpressionError as error:
            errors.append(error)
    assert errors
    assert all(error.message and (error.position or 1) >= 1 for error in errors)


@pytest.mark.parametrize("seed", range(10))
def test_random_valid_expressions_have_a_value(seed: int) -> None:
    source = random.Random(seed)  # noqa: S311 - reproducible tests

    def build(depth: int) -> str:
        if depth == 0:
            return source.choice(
                ["1", "'x'", "null", "true", "a", "a.b", "x[0]", "x.*", "a['c']", "-1.5"]
            )
        left, right = build(depth - 1), build(depth - 1)
        return source.choice(
            [
                f"({left})",
                f"!{left}" if not left.startswith("(") else f"!({left})",
                f"{left} {source.choice(['==', '!=', '<', '>', '<=', '>=', '&&', '||'])} {right}",
                f"format('{{0}} {{1}}', {left}, {right})",
                f"contains({left}, {right})",
                f"join({left}, {right})",
                f"toJSON({left})",
                f"fromJSON(toJSON({left}))",
                f"case(({left}) == ({right}), {left}, {right})",
            ]
        )

    contexts = {"a": {"b": [1, {"b": None}], "c": "x"}, "x": [True, "y", 2.5]}
    for _ in range(60):
        evaluate(build(3), contexts)
