"""What replayers of GitHub Actions get wrong, with the value that GitHub gives."""

from __future__ import annotations

from typing import Any

import pytest

from presubmit.upstream.expressions import CaseSensitive, ExpressionError, evaluate, is_truthy

CONTEXTS: dict[str, Any] = {
    "github": {
        "ref": "refs/pull/7/merge",
        "event": {"pull_request": {"labels": [{"name": "Bug"}, {"name": "skip-ci"}, {}]}},
    },
    "matrix": {"os": "ubuntu-latest", "py": 3.1, "cfg": {"a": 1}},
    "needs": {"x": {"outputs": {"flag": "false"}}},
    "secrets": {"GITHUB_TOKEN": ""},
    "a": {},
    "b": {},
    "list": [],
    "other": [],
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # 1-5: null, the empty string and 0; strings that are numbers
        ("null != null", False),
        ("null == null", True),
        ("null == ''", True),
        ("null == 0", True),
        ("'' == 0", True),
        ("'abc' == 0", False),
        ("'abc' != 0", True),
        ("true == 'true'", False),
        ("true == 1", True),
        ("true == '1'", True),
        ("' 1 ' == 1", True),
        ("'0xff' == 255", True),
        ("'0o17' == 15", True),
        # 6, 8, 9: letter case, and strings in strings and arrays
        ("'ABC' == 'abc'", True),
        ("contains('Hello World', 'WORLD')", True),
        ("startsWith('Hello', 'hELL')", True),
        ("endsWith('Hello', 'LLO')", True),
        ("contains('abc', '')", True),
        ("contains('asdf', null)", True),
        ("""contains(fromJSON('["1"]'), 1)""", True),
        ("contains(github.event.pull_request.labels.*.name, 'BUG')", True),
        ("contains('null', null)", True),
        ("contains(a, 'x')", False),
        ("contains('Array', list)", False),
        # 7: numbers that are none
        ("NaN == NaN", False),
        ("NaN != NaN", True),
        ("Infinity == Infinity", True),
        ("-Infinity < 0", True),
        # 10-14: texts
        ("format('{{0}} {0}', 'x')", "{0} x"),
        ("format('{0}', null)", ""),
        ("format('{0}', -0.0)", "0"),
        ("format('{0}', 1e3)", "1000"),
        ("format('{0}', 0.1)", "0.1"),
        ("format('{0}', 0.1234567890123456789)", "0.123456789012346"),
        ("format('{0}', 1e15)", "1E+15"),
        ("format('{0}', 123456789012345)", "123456789012345"),
        ("format('{0}', 0.00001)", "1E-05"),
        ("format('{0}', 0.0001)", "0.0001"),
        ("format('{0} {1}', a, list)", "Object Array"),
        ("format('{0}', 3.10)", "3.1"),
        ("format('{0}', true)", "true"),
        # 15, 20, 21: what is not there, and its letter case
        ("toJSON(github.event.nothing.*.name)", "[]"),
        ("contains(github.event.nothing.*.name, 'skip')", False),
        ("github.event.nothing.at.all", None),
        ("format('<{0}>', github.nothing)", "<>"),
        ("github.REF == github['ref']", True),
        ("GITHUB.ref", "refs/pull/7/merge"),
        ("fromJSON('[1,2]')[2]", None),
        ("fromJSON('[1,2]')['1']", 2.0),
        ("fromJSON('[1,2]')[1.9]", 2.0),
        # 16-17: operands and truth
        ("true && '' || 'f'", "f"),
        ("'a' && 'b'", "b"),
        ("'' || 0", 0.0),
        ("!'false'", False),
        ("!a", False),
        ("!0", True),
        ("!NaN", True),
        ("!null", True),
        # 18: identity
        ("a == a", True),
        ("a == b", False),
        ("list == other", False),
        ("fromJSON('{}') == fromJSON('{}')", False),
        ("a < b", False),
        ("a >= a", True),
        ("a != b", True),
        # 19
        ("case(true, 'a', 'b')", "a"),
        ("case(false, 'a', 'b')", "b"),
        ("case(false, 1, 2 > 1, 'two', 3)", "two"),
        # 24
        ("'it''s'", "it's"),
        ("''''", "'"),
        # 58: secrets of forks are empty
        ("secrets.GITHUB_TOKEN == ''", True),
        ("secrets.MISSING == ''", True),
    ],
)
def test_a_trap_has_the_value_that_github_gives(text: str, expected: object) -> None:
    value = evaluate(text, CONTEXTS)
    assert type(value) is type(expected)
    assert value == expected


def test_a_string_output_of_false_is_true() -> None:
    assert is_truthy(evaluate("needs.x.outputs.flag", CONTEXTS))


def test_a_condition_on_a_missing_matrix_key_is_false() -> None:
    assert not is_truthy(evaluate("matrix.extra_loc", CONTEXTS))


@pytest.mark.parametrize("predicate", ["1", "'true'", "null", "a"])
def test_a_condition_of_case_must_be_a_boolean(predicate: str) -> None:
    with pytest.raises(ExpressionError, match="not a boolean"):
        evaluate(f"case({predicate}, 1, 2)", CONTEXTS)


def test_an_object_is_the_very_one_of_the_context() -> None:
    assert evaluate("matrix.cfg", CONTEXTS) is CONTEXTS["matrix"]["cfg"]


def test_a_number_of_a_context_is_a_float() -> None:
    value = evaluate("x", {"x": 3})
    assert isinstance(value, float)


def test_what_an_operator_does_not_need_is_not_evaluated() -> None:
    def boom() -> object:
        raise AssertionError

    functions = {"boom": boom}
    assert evaluate("false && boom()", {}, functions=functions) is False
    assert evaluate("true || boom()", {}, functions=functions) is True
    assert evaluate("case(true, 1, boom())", {}, functions=functions) == 1
    assert evaluate("case(false, boom(), 2)", {}, functions=functions) == 2
    assert evaluate("case(true, 1, boom(), 2, 3)", {}, functions=functions) == 1
    assert evaluate("format('x', boom())", {}, functions=functions) == "x"
    assert evaluate("""join(fromJSON('["a"]'), boom())""", {}, functions=functions) == "a"
    assert evaluate("contains(x, boom())", {"x": []}, functions=functions) is False
    assert evaluate("startsWith(x, boom())", {"x": []}, functions=functions) is False


def test_a_function_of_the_callers_gets_values() -> None:
    seen: list[tuple[object, ...]] = []

    def remember(*values: object) -> str:
        seen.append(values)
        return "done"

    contexts = {"x": {"a": [1], "b": "c"}}
    assert (
        evaluate("HASHFILES(x.a, 'p', x.*)", contexts, functions={"hashFiles": remember}) == "done"
    )
    assert seen == [([1], "p", [[1], "c"])]
    assert type(seen[0][2]) is list


def test_keys_of_env_keep_their_letter_case() -> None:
    contexts = {"env": CaseSensitive(PATH="a", path="b")}
    assert evaluate("env.PATH", contexts) == "a"
    assert evaluate("env.path", contexts) == "b"
    assert evaluate("env.Path", contexts) is None


def test_the_name_of_a_context_has_any_letter_case() -> None:
    assert evaluate("MATRIX.os", {"Matrix": {"OS": "linux"}}) == "linux"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x.*.n", [1, 2]),  # what has no such key falls out
        ("x.*[0]", ["first"]),
        ("x.*.*", [1, 2, "first", {"n": 3}]),
        ("x.*.*.n", [3]),
        ("x[*].n", [1, 2]),
        ("x.*['n']", [1, 2]),
        ("x.*[x]", []),
        ("x[* == '*']", "yes"),
    ],
)
def test_a_filter_applies_the_next_key_to_each_item(text: str, expected: object) -> None:
    items: dict[str, Any] = {"a": {"n": 1}, "b": {"N": 2}, "c": ["first", {"n": 3}], "true": "yes"}
    assert evaluate(text, {"x": items}) == expected


def test_a_filter_is_not_one_any_more_once_it_is_a_value() -> None:
    value = evaluate("x.*", {"x": [[1], [2]]})
    assert evaluate("v[0]", {"v": value}) == [1]
