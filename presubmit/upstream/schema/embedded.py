"""Checks the expressions in a text against what its place allows."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from presubmit.upstream import template
from presubmit.upstream.expressions import ExpressionError, parse

if TYPE_CHECKING:
    from presubmit.upstream.schema.shapes import Scope

_STRING: Final = re.compile(r"'(?:[^']|'')*'")
_INSERT: Final = re.compile(r"\$\{\{\s*insert\s*\}\}")
_ESCAPES: Final = str.maketrans({"'": "''", "{": "{{", "}": "}}"})


def is_template(text: str) -> bool:
    """Say whether a text holds an expression."""
    return "${{" in text


def is_literal(text: str) -> bool:
    """Say whether a template without faults is one string in quotes, as an escaped `${{` is: then it is a plain text."""
    parts = template.split(text)
    return len(parts) == 1 and parts[0].expression and _is_string(parts[0])


def is_insertion(text: str) -> bool:
    """Say whether a key is `${{ insert }}`, which puts the value's entries in its place."""
    return _INSERT.fullmatch(text) is not None


def has_text_around(text: str) -> bool:
    """Say whether a template without faults holds anything but one expression."""
    return len(template.split(text)) > 1


@lru_cache(maxsize=8192)
def fault_of(text: str, scope: Scope) -> str:
    """Say what is wrong with the expressions in a template: the first thing only, as GitHub does; or nothing."""
    try:
        parts = template.split(text)
    except ExpressionError as error:
        return str(error)
    expressions = [part for part in parts if part.expression]
    for part in expressions:
        fault = fault_of_expression(part.text, scope)
        if fault:
            return fault
    if not scope.names and not all(_is_string(part) for part in expressions):
        return "an expression cannot stand here"
    # GitHub makes one expression of the whole, which has its own limits of length and arguments.
    return fault_of_expression(_as_format(parts), scope) if len(parts) > 1 else ""


@lru_cache(maxsize=8192)
def fault_of_expression(text: str, scope: Scope) -> str:
    """Say what is wrong with an expression; or nothing."""
    try:
        parse(text, names=scope.names, functions=dict(scope.functions))
    except ExpressionError as error:
        return str(error)
    return ""


def _is_string(part: template.Part) -> bool:
    return _STRING.fullmatch(part.text) is not None


def _as_format(parts: tuple[template.Part, ...]) -> str:
    words: list[str] = []
    arguments: list[str] = []
    for part in parts:
        if part.expression:
            words.append(f"{{{len(arguments)}}}")
            arguments.append(part.text)
        else:
            words.append(part.text.translate(_ESCAPES))
    quoted = "'" + "".join(words) + "'"
    return f"format({', '.join((quoted, *arguments))})"
