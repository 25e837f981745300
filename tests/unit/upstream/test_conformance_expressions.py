"""Every case of GitHub's own expression suite (actions/languageservices, expressions/testdata)."""

from __future__ import annotations

import json
import math
from typing import Any, NamedTuple

import pytest

from presubmit.upstream.expressions import MEMORY, ExpressionError, evaluate
from tests.unit.upstream.conformance import REASON, folder

# GitHub's harness gives an expression 1 MiB, its runner 10.
HARNESS_MEMORY = 1024 * 1024


class Case(NamedTuple):
    """One case as the data has it."""

    group: str
    data: dict[str, Any]


def cases() -> list[Any]:
    found = folder("expressions")
    if found is None:
        return [pytest.param(None, marks=pytest.mark.skip(reason=REASON), id="absent")]
    return [
        pytest.param(Case(group, data), id=f"{path.stem}-{group}-{place}")
        for path in sorted(found.glob("*.json"))
        for group, listed in json.loads(path.read_text("utf-8")).items()
        for place, data in enumerate(listed)
    ]


def value_of(case: Case) -> Any:
    memory = HARNESS_MEMORY if case.group == "memory-errors" else MEMORY
    return evaluate(case.data["expr"], case.data.get("contexts", {}), memory=memory)


def kind_of(value: Any) -> str:
    kinds = {type(None): "Null", bool: "Boolean", float: "Number", str: "String", list: "Array"}
    return kinds.get(type(value), "Object")


# How GitHub's messages begin, and ours.
MESSAGES = {
    "Unexpected symbol": "unexpected symbol",
    "Unexpected end of expression": "unexpected end",
    "Unrecognized named-value": "unrecognized named-value",
    "Unrecognized function": "unrecognized function",
    "Too few parameters": "too few arguments",
    "Too many parameters": "too many arguments",
    "Exceeded max expression depth": "the expression is nested more than 50 levels deep",
    "The maximum allowed memory size was exceeded": "the maximum allowed memory size was exceeded",
    "The following format string is invalid": "the format",
    "The following format string references more arguments": "the format",
}


@pytest.mark.parametrize("case", cases())
def test_every_case_of_the_suite_holds(case: Case) -> None:
    if (error := case.data.get("err")) is not None:
        with pytest.raises(ExpressionError) as caught:
            value_of(case)
        told = str(error["value"])
        assert any(
            told.startswith(theirs) and caught.value.message.startswith(ours)
            for theirs, ours in MESSAGES.items()
        ), (told, caught.value.message)
        _, located, place = told.partition("Located at position ")
        if located and "within expression" in place:
            assert caught.value.position == int(place.split()[0])
        return
    expected = case.data["result"]
    value = value_of(case)
    assert kind_of(value) == expected["kind"]
    if isinstance(value, float) and math.isnan(value):
        assert expected["value"] == "NaN"
    else:
        assert value == expected["value"]


@pytest.mark.skipif(folder("expressions") is None, reason=REASON)
def test_the_suite_is_not_cut_short() -> None:
    assert len(cases()) >= 831
