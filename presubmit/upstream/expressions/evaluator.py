"""Evaluates a parsed expression over the contexts; what an operator does not need is not evaluated."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from presubmit.upstream.expressions.error import ExpressionError
from presubmit.upstream.expressions.functions import BUILTINS
from presubmit.upstream.expressions.memory import Memory
from presubmit.upstream.expressions.tree import (
    Call,
    Index,
    Literal,
    Name,
    Node,
    Operation,
    Wildcard,
)
from presubmit.upstream.expressions.values import (
    equals,
    find,
    is_less,
    is_number,
    is_primitive,
    is_truthy,
    number,
    to_number,
    to_string,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

MEMORY: Final = 10 * 1024 * 1024
"""What the runner gives an expression (PipelineTemplateEvaluator.cs)."""
_MAX_INDEX: Final = 2**31 - 1

_COMPARISONS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "==": equals,
    "!=": lambda left, right: not equals(left, right),
    "<": is_less,
    ">": lambda left, right: is_less(right, left),
    "<=": lambda left, right: equals(left, right) or is_less(left, right),
    ">=": lambda left, right: equals(left, right) or is_less(right, left),
}


class _Filtered(list[Any]):
    """What `.*` gives: the next key applies to each of its items, and what has no such key falls out."""


def evaluate_tree(
    root: Node,
    contexts: Mapping[str, Any],
    functions: Mapping[str, Callable[..., Any]],
    *,
    memory: int = MEMORY,
    record: Callable[[Node, Any], None] | None = None,
) -> Any:  # noqa: ANN401 - whatever the expression gives
    """Give the value of an expression; `record` is told the value of every node that is evaluated."""
    run = _Run(contexts, functions, Memory(memory), record)
    return _plain(run.value(root, 1))


def _plain(value: Any) -> Any:  # noqa: ANN401 - any value
    return list(value) if isinstance(value, _Filtered) else value


class _Run:
    """One evaluation."""

    def __init__(
        self,
        contexts: Mapping[str, Any],
        functions: Mapping[str, Callable[..., Any]],
        memory: Memory,
        record: Callable[[Node, Any], None] | None,
    ) -> None:
        self._contexts = {name.lower(): value for name, value in contexts.items()}
        self._functions = {name.lower(): function for name, function in functions.items()}
        self._memory = memory
        self._record = record

    def value(self, node: Node, depth: int) -> Any:  # noqa: ANN401 - any value
        """Give the value of a node; numbers are floats."""
        value = self._core(node, depth + 1)
        if is_number(value):
            value = number(value)
        self._memory.add(depth, value)
        if self._record is not None:
            self._record(node, _plain(value))
        return value

    def _core(self, node: Node, depth: int) -> Any:  # noqa: ANN401 - any value
        match node:
            case Literal(value):
                return value
            case Name(text, key, span):
                if key not in self._contexts:
                    raise ExpressionError(f"unrecognized named-value '{text}'", span.start + 1)
                return self._contexts[key]
            case Index():
                return self._index(node, depth)
            case Operation(operator, operands):
                return self._operation(operator, operands, depth)
            case Call():
                return self._call(node, depth)
            case _:
                return "*"

    def _operation(self, operator: str, operands: tuple[Node, ...], depth: int) -> Any:  # noqa: ANN401 - any value
        if operator == "!":
            return not is_truthy(self.value(operands[0], depth))
        if operator in {"&&", "||"}:
            value = None
            for operand in operands:
                value = self.value(operand, depth)
                if is_truthy(value) is (operator == "||"):
                    break
            return value
        left, right = (self.value(operand, depth) for operand in operands)
        return _COMPARISONS[operator](left, right)

    def _call(self, node: Call, depth: int) -> Any:  # noqa: ANN401 - any value
        arguments = [partial(self.value, part, depth) for part in node.arguments]
        if (builtin := BUILTINS.get(node.key)) is not None:
            try:
                return builtin.call(arguments, self._memory.most)
            except ExpressionError as error:
                if error.position is not None:
                    raise
                raise ExpressionError(error.message, node.span.start + 1) from error
        if (function := self._functions.get(node.key)) is None:
            raise ExpressionError(f"unrecognized function '{node.name}'", node.span.start + 1)
        return function(*(_plain(argument()) for argument in arguments))

    def _index(self, node: Index, depth: int) -> Any:  # noqa: ANN401 - any value
        target = self.value(node.target, depth)
        every = isinstance(node.key, Wildcard)
        if is_primitive(target):
            return _Filtered() if every else None
        if every:
            if isinstance(target, _Filtered):
                return _Filtered(item for part in target for item in _items(part))
            return _Filtered(_items(target))
        key = self.value(node.key, depth)
        if isinstance(target, _Filtered):
            picked = (_pick(part, key) for part in target)
            return _Filtered(value for found, value in picked if found)
        return _pick(target, key)[1]


def _items(value: Any) -> Iterable[Any]:  # noqa: ANN401 - any value
    if is_primitive(value):
        return ()
    return value.values() if isinstance(value, dict) else value


def _pick(target: Any, key: Any) -> tuple[bool, Any]:  # noqa: ANN401 - any value
    """Look a key up in an object, or a number in an array."""
    if isinstance(target, dict):
        return find(target, to_string(key)) if is_primitive(key) else (False, None)
    if is_primitive(target):
        return False, None
    place = to_number(key)
    if math.isnan(place) or not 0 <= place <= _MAX_INDEX or int(place) >= len(target):
        return False, None
    return True, target[int(place)]
