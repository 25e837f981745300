"""Values of workflow files that may hold expressions."""

from __future__ import annotations

import time
from typing import Any

import pytest

from presubmit.upstream.expressions import ExpressionError, is_truthy
from presubmit.upstream.nodes import Mapping, Mark, Node, Scalar, Sequence
from presubmit.upstream.template import (
    Part,
    TemplateError,
    condition,
    evaluate_node,
    evaluate_text,
    split,
    unknown,
    unknown_condition,
)

HERE = Mark(7, 3)
CONTEXTS: dict[str, Any] = {
    "github": {"ref": "main", "event": {"labels": []}},
    "matrix": {"py": 3.1, "on": True, "list": [1, "b"], "cfg": {"a": 1, "b": [2]}, "none": None},
    "env": {"X": "x"},
}
GOOD = {
    "success": lambda: True,
    "failure": lambda: False,
    "always": lambda: True,
    "cancelled": lambda: False,
}
BAD = {**GOOD, "success": lambda: False, "failure": lambda: True}


def node(value: object, mark: Mark = HERE) -> Node:
    """Write a node as a plain value; an entry's mark is its number."""
    match value:
        case dict():
            entries = tuple(
                (scalar(key, Mark(place, 1)), node(item, Mark(place, 9)))
                for place, (key, item) in enumerate(value.items(), 1)
            )
            return Mapping(entries, mark)
        case list():
            return Sequence(tuple(node(item, mark) for item in value), mark)
        case None | bool() | int() | float() | str():
            return scalar(value, mark)
        case _:
            raise TypeError(value)


def scalar(value: str | float | None, mark: Mark = HERE) -> Scalar:
    return Scalar(value, mark, "" if value is None else str(value))


def literal(text: str, start: int) -> Part:
    return Part(text=text, start=start, expression=False)


def inner(text: str, start: int) -> Part:
    return Part(text=text, start=start, expression=True)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", (literal("", 0),)),
        ("plain }} {{ $", (literal("plain }} {{ $", 0),)),
        ("${{ a }}", (inner("a", 4),)),
        ("${{a}}", (inner("a", 3),)),
        ("x ${{ a }} y", (literal("x ", 0), inner("a", 6), literal(" y", 10))),
        ("${{ a }}${{ b }}", (inner("a", 4), inner("b", 12))),
        ("${{ '}}' }}", (inner("'}}'", 4),)),
        ("${{ 'it''s }}' }}.", (inner("'it''s }}'", 4), literal(".", 17))),
        ("${{ '${{' }}", (inner("'${{'", 4),)),
        ("${{ a }}}", (inner("a", 4), literal("}", 8))),
        ("$${{ a }}", (literal("$", 0), inner("a", 5))),
        ("${{\n a\n}}\n", (inner("a", 5), literal("\n", 9))),
        ("${{ format('{0}}}', a) }}", (inner("format('{0}}}', a)", 4),)),
        ("é😊${{ a }}", (literal("é😊", 0), inner("a", 6))),
    ],
)
def test_a_text_is_cut_into_literals_and_expressions(
    text: str, expected: tuple[Part, ...]
) -> None:
    assert split(text) == expected
    assert all(text[part.start :].startswith(part.text) for part in split(text))


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("${{ a", 1),
        ("x ${{ a }", 3),
        ("${{ 'a }}", 1),
        ("${{ a }} ${{ '}}", 10),
        ("${{ 'it''s }}", 1),
        ("${{", 1),
        ("${{}", 1),
    ],
)
def test_an_expression_that_is_not_closed_is_an_error(text: str, position: int) -> None:
    with pytest.raises(ExpressionError, match="not closed") as caught:
        split(text)
    assert caught.value.position == position


@pytest.mark.parametrize("text", ["${{}}", "${{ }}", "a ${{\n}}"])
def test_an_empty_expression_is_an_error(text: str) -> None:
    with pytest.raises(ExpressionError, match="an expression was expected"):
        split(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("", ""),
        ("${{ matrix.py }}", 3.1),
        ("${{ matrix.on }}", True),
        ("${{ matrix.none }}", None),
        ("${{ matrix.list }}", [1, "b"]),
        ("v${{ matrix.py }}", "v3.1"),
        (" ${{ matrix.on }}", " true"),
        ("${{ matrix.none }}.", "."),
        ("${{ matrix.list }}${{ matrix.cfg }}", "ArrayObject"),
        ("{0} ${{ github.ref }} it's {{}}", "{0} main it's {{}}"),
        ("${{ '${{ x }}' }}", "${{ x }}"),
        ("${{ env.X }}\n", "x\n"),
    ],
)
def test_a_lone_expression_keeps_its_type_and_others_make_a_string(
    text: str, expected: object
) -> None:
    value = evaluate_text(text, CONTEXTS)
    assert type(value) is type(expected)
    assert value == expected


def test_a_lone_expression_gives_the_very_object() -> None:
    assert evaluate_text("${{ matrix.cfg }}", CONTEXTS) is CONTEXTS["matrix"]["cfg"]


def test_an_expression_in_a_script_is_spliced_as_it_is() -> None:
    contexts = {"github": {"head_ref": '"; echo $(id) #'}}
    assert evaluate_text('echo "${{ github.head_ref }}"', contexts) == 'echo ""; echo $(id) #"'


def test_what_an_expression_gives_is_not_evaluated_again() -> None:
    assert evaluate_text("a ${{ x }}", {"x": "${{ y }} {0}"}) == "a ${{ y }} {0}"


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("ab ${{ nope }}", 8),
        ("${{ github.ref }} ${{ 1 2 }}", 25),
        ("${{ nope.x }}", 5),
        ("x ${{ true && fromJSON('x') }}", 15),
        ("${{ always() }}", 5),
        ("a ${{ insert }}", 7),
        ("${{ insert x }}", 5),
    ],
)
def test_an_errors_position_is_that_in_the_whole_text(text: str, position: int) -> None:
    with pytest.raises(ExpressionError) as caught:
        evaluate_text(text, CONTEXTS)
    assert caught.value.position == position


def test_a_long_text_with_an_expression_is_refused_as_on_github() -> None:
    assert evaluate_text("x" * 30_000, CONTEXTS) == "x" * 30_000
    assert len(evaluate_text("x" * 20_000 + "${{ github.ref }}", CONTEXTS)) == 20_004
    with pytest.raises(ExpressionError, match="more than 21000 characters"):
        evaluate_text("x" * 21_000 + "${{ github.ref }}", CONTEXTS)


def test_a_text_takes_254_expressions_as_on_github() -> None:
    assert evaluate_text("-" + "${{ 1 }}" * 254, {}) == "-" + "1" * 254
    with pytest.raises(ExpressionError, match="too many arguments"):
        evaluate_text("-" + "${{ 1 }}" * 255, {})


def test_functions_reach_the_expressions() -> None:
    functions = {"hashFiles": lambda *patterns: "+".join(patterns)}
    assert evaluate_text("k-${{ hashFiles('a', 'b') }}", {}, functions) == "k-a+b"


def test_a_node_becomes_jsons_types() -> None:
    value = {
        "text": "a ${{ github.ref }}",
        "number": 3.10,
        "flag": False,
        "nothing": None,
        "${{ env.X }}-${{ matrix.py }}": "${{ matrix.py }}",
        "deep": [["${{ matrix.on }}", {"k": "${{ matrix.none }}"}]],
    }
    assert evaluate_node(node(value), CONTEXTS) == {
        "text": "a main",
        "number": 3.1,
        "flag": False,
        "nothing": None,
        "x-3.1": 3.1,
        "deep": [[True, {"k": None}]],
    }


def test_no_node_is_null() -> None:
    assert evaluate_node(None, CONTEXTS) is None


def test_a_node_with_an_expression_as_a_whole_gives_its_object() -> None:
    assert evaluate_node(node("${{ matrix.cfg }}"), CONTEXTS) is CONTEXTS["matrix"]["cfg"]


def test_an_array_takes_the_place_of_its_expression_in_a_sequence() -> None:
    value = ["a", "${{ matrix.list }}", "${{ matrix.cfg }}", "${{ fromJSON('[[5]]') }}"]
    assert evaluate_node(node(value), CONTEXTS) == ["a", 1, "b", {"a": 1, "b": [2]}, [5]]


def test_a_written_sequence_stays_in_its_sequence() -> None:
    assert evaluate_node(node([["a"], []]), CONTEXTS) == [["a"], []]


@pytest.mark.parametrize("key", ["${{ insert }}", "${{insert}}"])
def test_insert_puts_the_entries_of_a_mapping_in_its_place(key: str) -> None:
    value = {"first": 1, key: "${{ matrix.cfg }}", "last": 2}
    assert list(evaluate_node(node(value), CONTEXTS).items()) == [
        ("first", 1),
        ("a", 1),
        ("b", [2]),
        ("last", 2),
    ]


def test_insert_takes_a_written_mapping() -> None:
    value = {"${{ insert }}": {"k": "${{ matrix.py }}"}}
    assert evaluate_node(node(value), CONTEXTS) == {"k": 3.1}


@pytest.mark.parametrize("value", ["${{ matrix.list }}", "text", None])
def test_insert_of_anything_else_is_an_error(value: object) -> None:
    with pytest.raises(TemplateError, match="takes a mapping") as caught:
        evaluate_node(node({"${{ insert }}": value}), CONTEXTS)
    assert caught.value.mark == Mark(1, 9)


def test_an_inserted_key_that_is_there_already_is_an_error() -> None:
    with pytest.raises(TemplateError, match="'a' is already defined") as caught:
        evaluate_node(node({"A": 0, "${{ insert }}": "${{ matrix.cfg }}"}), CONTEXTS)
    assert caught.value.mark == Mark(2, 1)


def test_a_key_must_be_a_string() -> None:
    with pytest.raises(TemplateError, match="key must be a string") as caught:
        evaluate_node(node({"${{ matrix.cfg }}": 1}), CONTEXTS)
    assert caught.value.mark == Mark(1, 1)


@pytest.mark.parametrize(
    ("key", "expected"), [("${{ matrix.none }}", ""), ("${{ true }}", "true")]
)
def test_a_key_of_another_type_is_written_out(key: str, expected: str) -> None:
    assert evaluate_node(node({key: 1}), CONTEXTS) == {expected: 1}


def test_a_key_that_is_no_string_is_as_the_file_says() -> None:
    entries = ((Scalar(3.1, HERE, "3.10"), scalar("x")),)
    assert evaluate_node(Mapping(entries, HERE), CONTEXTS) == {"3.10": "x"}


def test_an_error_has_the_place_of_its_scalar() -> None:
    with pytest.raises(
        TemplateError, match=r"unrecognized named-value 'nope' \(position 5\)"
    ) as caught:
        evaluate_node(node({"a": 1, "b": {"c": "${{ nope }}"}}), CONTEXTS)
    assert caught.value.mark == Mark(1, 9)


def test_an_error_in_a_key_has_the_place_of_the_key() -> None:
    with pytest.raises(TemplateError, match="not closed") as caught:
        evaluate_node(node({"a": 1, "${{ x": 2}), CONTEXTS)
    assert caught.value.mark == Mark(2, 1)


def test_a_large_env_is_evaluated_in_no_time() -> None:
    env = {
        f"KEY_{place}": f"${{{{ github.ref }}}}-{place}-${{{{ env.NOT_{place} }}}}"
        for place in range(200)
    }
    contexts = {**CONTEXTS, "env": {f"OTHER_{place}": "x" for place in range(200)}}
    tree = node(env)
    evaluate_node(tree, contexts)
    began = time.process_time()
    assert evaluate_node(tree, contexts)["KEY_7"] == "main-7-"
    assert time.process_time() - began < 5


# --- if -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("github.ref == 'main'", "success() && (github.ref == 'main')"),
        ("${{ github.ref == 'main' }}", "success() && (github.ref == 'main')"),
        ("a || b", "success() && (a || b)"),
        ("always()", "always()"),
        ("${{ !Cancelled() }}", "!Cancelled()"),
        ("a && failure()", "a && failure()"),
        (False, "success() && (false)"),
        (True, "success() && (true)"),
        (1, "success() && (1)"),
        (0.0, "success() && (0)"),
        (None, "success()"),
        ("", "success()"),
        (" \n", "success()"),
        ("success", "success() && (success)"),
        ("'always()'", "success() && ('always()')"),
        ("x ${{ a }}", "success() && (format('x {0}', a))"),
        ("${{ a }} == ${{ b }}", "success() && (format('{0} == {1}', a, b))"),
        ("it's {${{ a }}}", "success() && (format('it''s {{{0}}}', a))"),
        ("${{ a }}\n", "success() && (format('{0}\n', a))"),
        ("${{ always() }} x", "format('{0} x', always())"),
        ("${{ 'a' }}", "success() && (a)"),
        ("${{ 'it == ''s''' }}", "success() && (it == 's')"),
        ("${{ '' }}", "success()"),
    ],
)
def test_a_condition_becomes_an_expression(written: object, text: str) -> None:
    value = node(written)
    assert isinstance(value, Scalar)
    assert condition(value).text == text


def test_no_condition_is_success() -> None:
    assert condition(None).text == "success()"
    assert condition(None).uses_status()


@pytest.mark.parametrize(
    ("written", "good", "bad"),
    [
        (None, True, False),
        (True, True, False),
        (False, False, False),
        (1, True, False),
        (0, False, False),
        ("false", False, False),
        ("${{ false }}", False, False),
        # text around an expression makes a string, and that is true
        ("${{ false }} ", True, False),
        ("${{ github.ref == 'x' }} && ${{ false }}", True, False),
        ("! ${{ true }}", True, False),
        ("${{ always() && false }}.", True, True),
        ("always()", True, True),
        ("failure()", False, True),
        ("!failure()", True, False),
        ("always() && github.ref == 'main'", True, True),
        ("github.ref == 'main'", True, False),
        ("matrix.nothing", False, False),
        ("matrix.list", True, False),
        ("!contains(github.event.nothing.*.name, 'skip')", True, False),
        ("'false'", True, False),
        ("github.ref == 'x' || github.ref == 'main'", True, False),
    ],
)
def test_a_condition_holds_as_on_github(written: object, *, good: bool, bad: bool) -> None:
    value = node(written)
    assert isinstance(value, Scalar)
    found = condition(value)
    assert is_truthy(found.evaluate(CONTEXTS, GOOD)) is good
    assert is_truthy(found.evaluate(CONTEXTS, BAD)) is bad


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("a ==", "unexpected end"),
        ("true) || (true", "unexpected symbol"),
        ("${{ a", "not closed"),
        ("${{ }}", "an expression was expected"),
        ("x ${{ 1 2 }}", r"unexpected symbol '2' \(position 9\)"),
        ("nope()", "unrecognized function"),
        ("${{ insert }}", "insert"),
    ],
)
def test_a_broken_condition_has_its_place(written: str, message: str) -> None:
    with pytest.raises(TemplateError, match=message) as caught:
        condition(scalar(written))
    assert caught.value.mark == HERE


def test_a_condition_may_be_bound_to_contexts_and_functions() -> None:
    with pytest.raises(TemplateError, match="unrecognized named-value 'env'"):
        condition(scalar("env.X"), names=["github"])
    with pytest.raises(TemplateError, match="unrecognized function 'hashFiles'"):
        condition(scalar("hashFiles('x')"), functions={"success": (0, 0)})


# --- what is not known yet ------------------------------------------------------------------------------------------


def known(path: tuple[str, ...]) -> bool:
    return path[0] != "needs" or path[2:3] == ("result",)


def test_what_is_not_known_yet_is_named_once() -> None:
    value = {
        "a": "${{ needs.x.outputs.y }} ${{ github.ref }} ${{ needs.x.result }}",
        "b": ["${{ fromJSON(needs.x.outputs.y) }}", "${{ needs.z.outputs.* }}"],
        "${{ needs.k.outputs.v }}": 1,
        "${{ insert }}": "${{ needs }}",
    }
    assert unknown(node(value), known) == (
        "needs.x.outputs.y",
        "needs.z.outputs.*",
        "needs.k.outputs.v",
        "needs",
    )


@pytest.mark.parametrize("value", [None, 1, "needs.x.outputs.y", [], {}, "${{ github.ref }}"])
def test_nothing_is_unknown_without_such_an_expression(value: object) -> None:
    assert unknown(node(value), known) == ()


def test_no_node_reads_nothing() -> None:
    assert unknown(None, known) == ()


def test_a_broken_expression_is_an_error_with_its_place() -> None:
    with pytest.raises(TemplateError, match="unexpected end") as caught:
        unknown(node(["${{ needs. }}"]), known)
    assert caught.value.mark == HERE


def test_a_condition_reads_without_the_braces() -> None:
    assert unknown_condition(scalar("needs.x.outputs.y && github.ref"), known) == (
        "needs.x.outputs.y",
    )
    assert unknown_condition(scalar("${{ needs.x.outputs.y }}"), known) == ("needs.x.outputs.y",)
    assert unknown_condition(None, known) == ()
