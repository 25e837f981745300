"""Values of workflow files that may hold `${{ }}` (actions/runner: TemplateReader.cs, TemplateUnraveler.cs)."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import msgspec

from presubmit.upstream.expressions import (
    HASH_FILES,
    STATUS_FUNCTIONS,
    Expression,
    ExpressionError,
    argument_counts,
    parse,
    to_string,
)
from presubmit.upstream.expressions.values import SPACE, fold, is_primitive
from presubmit.upstream.nodes import Mapping, Scalar, Sequence

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator
    from collections.abc import Mapping as AnyMapping

    from presubmit.upstream.nodes import Mark, Node

    Contexts = AnyMapping[str, Any]
    Functions = AnyMapping[str, Callable[..., Any]]

_OPEN: Final = "${{"
_CLOSE: Final = "}}"
_INSERT: Final = "insert"
_STRING: Final = re.compile(r"'((?:[^']|'')*)'")

CONDITION_FUNCTIONS: Final = STATUS_FUNCTIONS | HASH_FILES
"""What `if:` may call beyond the built-in functions."""


class TemplateError(ExpressionError):
    """A value of a workflow file that cannot be evaluated; `mark` is its place in the file."""

    def __init__(self, message: str, mark: Mark) -> None:
        super().__init__(message)
        self.mark = mark


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """A piece of a text: what stands there, or what stands between `${{` and `}}`, without the space around."""

    text: str
    start: int
    """Where `text` begins in the whole; counts from 0."""
    expression: bool


@lru_cache(maxsize=2048)
def split(text: str) -> tuple[Part, ...]:
    """Cut a text into literals and expressions; ExpressionError for one that is not closed, or empty."""
    parts: list[Part] = []
    at = 0
    while (opening := text.find(_OPEN, at)) >= 0:
        if at < opening:
            parts.append(Part(text=text[at:opening], start=at, expression=False))
        start = opening + len(_OPEN)
        closing = _closing(text, opening)
        inner = text[start:closing]
        if not inner.strip(SPACE):
            raise ExpressionError("an expression was expected between ${{ and }}", opening + 1)
        start += len(inner) - len(inner.lstrip(SPACE))
        parts.append(Part(text=inner.strip(SPACE), start=start, expression=True))
        at = closing + len(_CLOSE)
    if at < len(text) or not text:
        parts.append(Part(text=text[at:], start=at, expression=False))
    return tuple(parts)


def _closing(text: str, opening: int) -> int:
    """Find the `}}` of an expression: the first outside of its quotes."""
    at = opening + len(_OPEN)
    while (closing := text.find(_CLOSE, at)) >= 0:
        quote = text.find("'", at, closing)
        if quote < 0:
            return closing
        after = text.find("'", quote + 1)
        if after < 0:
            break
        at = after + 1
    raise ExpressionError(
        "${{ is not closed: there is no }} outside of quotes after it", opening + 1
    )


def evaluate_text(text: str, contexts: Contexts, functions: Functions | None = None) -> Any:  # noqa: ANN401 - whatever the expression gives
    """Give the value of a text: of one expression and nothing else its own, else a string."""
    if _OPEN not in text:
        return text
    extra = functions or {}
    counts = argument_counts(tuple(extra))
    parts = split(text)
    parsed = [(part, _parse_part(part, contexts, counts)) for part in parts if part.expression]
    if len(parts) == 1:
        return _value(*parsed[0], contexts, extra)
    # GitHub makes one call of `format` of it: too many parts, or too long a text, are an error there.
    parse(_as_format(parts), names=contexts, functions=counts)
    values = iter([to_string(_value(part, found, contexts, extra)) for part, found in parsed])
    return "".join(next(values) if part.expression else part.text for part in parts)


def _value(part: Part, parsed: Expression, contexts: Contexts, functions: Functions) -> Any:  # noqa: ANN401 - whatever the expression gives
    """Evaluate a part; an error's position is that in the whole text."""
    try:
        return parsed.evaluate(contexts, functions)
    except ExpressionError as error:
        raise _moved(error, part) from error


def _moved(error: ExpressionError, part: Part) -> ExpressionError:
    return ExpressionError(error.message, part.start + (error.position or 1))


def _parse_part(
    part: Part, names: Collection[str] | None, functions: AnyMapping[str, tuple[int, int]]
) -> Expression:
    """Parse a part; an error's position is that in the whole text."""
    if part.text.split()[0] == _INSERT:
        raise ExpressionError("'insert' is for keys of mappings only", part.start + 1)
    try:
        return parse(part.text, names=names, functions=functions)
    except ExpressionError as error:
        raise _moved(error, part) from error


def _as_format(parts: tuple[Part, ...]) -> str:
    template: list[str] = []
    arguments: list[str] = []
    for part in parts:
        if part.expression:
            template.append(f"{{{len(arguments)}}}")
            arguments.append(part.text)
        else:
            template.append(part.text.replace("'", "''").replace("{", "{{").replace("}", "}}"))
    return f"format({', '.join((_quoted(''.join(template)), *arguments))})"


def _quoted(text: str) -> str:
    return f"'{text}'"


def evaluate_node(
    node: Node | None, contexts: Contexts, functions: Functions | None = None
) -> Any:  # noqa: ANN401 - JSON's types
    """Give the value of a node in JSON's types; TemplateError with the place of what cannot be evaluated."""
    match node:
        case None:
            return None
        case Scalar():
            return _scalar(node, contexts, functions)
        case Sequence(items):
            return list(_items(items, contexts, functions))
        case _:
            return _mapping(node, contexts, functions)


def _scalar(scalar: Scalar, contexts: Contexts, functions: Functions | None) -> Any:  # noqa: ANN401 - JSON's types
    if not isinstance(scalar.value, str):
        return scalar.value
    try:
        return evaluate_text(scalar.value, contexts, functions)
    except ExpressionError as error:
        raise TemplateError(str(error), scalar.mark) from error


def _items(
    items: tuple[Node, ...], contexts: Contexts, functions: Functions | None
) -> Iterator[Any]:
    for item in items:
        value = evaluate_node(item, contexts, functions)
        # An array that an expression gives takes the place of the expression.
        if isinstance(item, Scalar) and isinstance(value, list):
            yield from value
        else:
            yield value


def _mapping(mapping: Mapping, contexts: Contexts, functions: Functions | None) -> dict[str, Any]:
    result: dict[str, Any] = {}
    known: set[str] = set()
    for key, node in mapping.entries:
        value = evaluate_node(node, contexts, functions)
        if _is_insert(key):
            if not isinstance(value, dict):
                raise TemplateError("'insert' takes a mapping", node.mark)
            pairs = tuple((str(name), item) for name, item in value.items())
        else:
            pairs = ((_key(key, contexts, functions), value),)
        for name, item in pairs:
            if fold(name) in known:
                raise TemplateError(f"'{name}' is already defined", key.mark)
            known.add(fold(name))
            result[name] = item
    return result


def _is_insert(key: Scalar) -> bool:
    text = key.value
    if not isinstance(text, str) or not text.startswith(_OPEN) or not text.endswith(_CLOSE):
        return False
    return text[len(_OPEN) : -len(_CLOSE)].strip(SPACE) == _INSERT


def _key(key: Scalar, contexts: Contexts, functions: Functions | None) -> str:
    if not isinstance(key.value, str):
        return key.text
    value = _scalar(key, contexts, functions)
    if not is_primitive(value):
        raise TemplateError("the key must be a string", key.mark)
    return to_string(value)


def condition(
    scalar: Scalar | None,
    *,
    names: Collection[str] | None = None,
    functions: AnyMapping[str, tuple[int, int]] = CONDITION_FUNCTIONS,
) -> Expression:
    """Give the expression of an `if:`; where no status function is called, `success()` must hold as well.

    A text around `${{ }}` makes it a string, which is true unless it is empty (WorkflowTemplateConverter.cs).
    """
    if scalar is None:
        return parse("success()", functions=functions)
    try:
        text = _condition_text(scalar, names, functions)
        if not text.strip(SPACE):
            return parse("success()", functions=functions)
        parsed = parse(text, names=names, functions=functions)
        if parsed.uses_status():
            return parsed
        return parse(f"success() && ({text})", names=names, functions=functions)
    except ExpressionError as error:
        raise TemplateError(str(error), scalar.mark) from error


def _condition_text(
    scalar: Scalar, names: Collection[str] | None, functions: AnyMapping[str, tuple[int, int]]
) -> str:
    text = scalar.value if isinstance(scalar.value, str) else to_string(scalar.value)
    if _OPEN not in text:
        return text
    parts = split(text)
    for part in parts:
        if part.expression:
            _parse_part(part, names, functions)
    if len(parts) > 1:
        return _as_format(parts)
    # `${{ 'a' }}` is the text a before it is a condition, and so the expression a.
    literal = _STRING.fullmatch(parts[0].text)
    return parts[0].text if literal is None else literal[1].replace("''", "'")


def unknown(node: Node | None, known: Callable[[tuple[str, ...]], bool]) -> tuple[str, ...]:
    """Give what the expressions of a node read and `known` does not know yet: `needs.x.outputs.y`.

    An `if:` is an expression without `${{ }}` as well: `unknown_condition` is for that.
    """
    return _missing(_references(node), known)


def unknown_condition(
    scalar: Scalar | None, known: Callable[[tuple[str, ...]], bool]
) -> tuple[str, ...]:
    """Give what an `if:` reads and `known` does not know yet."""
    return _missing(condition(scalar).references(), known)


def _missing(
    paths: Iterable[tuple[str, ...]], known: Callable[[tuple[str, ...]], bool]
) -> tuple[str, ...]:
    return tuple(dict.fromkeys(".".join(path) for path in paths if not known(path)))


def _references(node: Node | None) -> Iterator[tuple[str, ...]]:
    match node:
        case None:
            return
        case Scalar():
            yield from _read_by(node)
        case Sequence(items):
            for item in items:
                yield from _references(item)
        case _:
            for key, value in node.entries:
                yield from _read_by(key)
                yield from _references(value)


def _read_by(scalar: Scalar) -> Iterator[tuple[str, ...]]:
    if not isinstance(scalar.value, str) or _is_insert(scalar):
        return
    try:
        for part in split(scalar.value):
            if part.expression:
                yield from _parse_part(part, None, CONDITION_FUNCTIONS).references()
    except ExpressionError as error:
        raise TemplateError(str(error), scalar.mark) from error
