"""Parses expressions (actions/runner: ExpressionParser.cs): no recursion, so no text is too deep for it."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec.structs import replace

from presubmit.upstream.expressions.error import ExpressionError
from presubmit.upstream.expressions.expression import Expression
from presubmit.upstream.expressions.functions import BUILTIN_ARGUMENTS
from presubmit.upstream.expressions.lexer import Kind, Token, tokens
from presubmit.upstream.expressions.tree import (
    Call,
    Index,
    Literal,
    Name,
    Node,
    Operation,
    Span,
    Wildcard,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

MAX_LENGTH: Final = 21000
"""In UTF-16 units, as .NET counts."""
MAX_DEPTH: Final = 50

_BINDING: Final = {
    **dict.fromkeys(("!",), 16),
    **dict.fromkeys((">", ">=", "<", "<="), 11),
    **dict.fromkeys(("==", "!="), 10),
    "&&": 6,
    "||": 5,
}
_DOT_BINDING: Final = 19
_BARRIERS: Final = frozenset({Kind.OPEN_GROUP, Kind.OPEN_CALL, Kind.OPEN_INDEX, Kind.COMMA})
_CLOSING: Final = frozenset({Kind.CLOSE_GROUP, Kind.CLOSE_CALL, Kind.CLOSE_INDEX})
_OPERANDS: Final = frozenset({Kind.LITERAL, Kind.NAME, Kind.PROPERTY, Kind.WILDCARD})


def parse(
    text: str,
    *,
    names: Collection[str] | None = None,
    functions: Mapping[str, tuple[int, int]] | None = None,
) -> Expression:
    """Parse an expression that may use the contexts `names` (None: any) and, beyond the built-in ones, `functions`.

    The functions are given with the least and the greatest number of their arguments. An empty text is null.
    """
    return _parse(
        text,
        None if names is None else frozenset(name.lower() for name in names),
        frozenset((name.lower(), *counts) for name, counts in (functions or {}).items()),
    )


@lru_cache(maxsize=2048)
def _parse(
    text: str, names: frozenset[str] | None, functions: frozenset[tuple[str, int, int]]
) -> Expression:
    if (
        len(text) > MAX_LENGTH // 2
        and len(text.encode("utf-16-le", "surrogatepass")) > 2 * MAX_LENGTH
    ):
        raise ExpressionError(f"the expression has more than {MAX_LENGTH} characters")
    counts = {name: (least, most) for name, least, most in functions} | BUILTIN_ARGUMENTS
    builder = _Builder(names, counts)
    last: Token | None = None
    for token in tokens(text):
        builder.push(token, last)
        last = token
    if last is None:
        return Expression(text=text, root=Literal(None, Span(0, 0)))
    return Expression(text=text, root=builder.finish(last))


class _Operand(NamedTuple):
    node: Node
    depth: int


class _Builder:
    """The two stacks of the shunting-yard algorithm."""

    def __init__(
        self, names: frozenset[str] | None, counts: Mapping[str, tuple[int, int]]
    ) -> None:
        self._names = names
        self._counts = counts
        self._operators: list[Token] = []
        self._operands: list[_Operand] = []
        self._called: list[Token] = []

    def push(self, token: Token, last: Token | None) -> None:
        """Take the next token, which the lexer has found to be in its place."""
        kind = token.kind
        if kind is Kind.FUNCTION:
            if token.text.lower() not in self._counts:
                raise ExpressionError(f"unrecognized function '{token.text}'", token.start + 1)
            self._called.append(token)
        elif kind in _OPERANDS:
            self._operands.append(_Operand(self._leaf(token), 1))
        elif kind in _CLOSING:
            self._reduce(0)
            self._close(token, last)
        else:
            if token.text != "!":  # it binds to the right
                self._reduce(_binding(token))
            self._operators.append(token)

    def finish(self, last: Token) -> Node:
        """Give the whole expression, once all tokens are pushed; `last` is the last of them."""
        waits = self._operators and last.kind not in _OPERANDS and last.kind not in _CLOSING
        if waits or any(token.kind in _BARRIERS for token in self._operators):
            raise ExpressionError(
                f"unexpected end of expression after '{last.text}'", last.start + 1
            )
        self._reduce(0)
        return self._operands[-1].node

    def _leaf(self, token: Token) -> Node:
        span = Span(token.start, token.end)
        match token.kind:
            case Kind.NAME:
                key = token.text.lower()
                if self._names is not None and key not in self._names:
                    raise ExpressionError(
                        f"unrecognized named-value '{token.text}'", token.start + 1
                    )
                return Name(token.text, key, span)
            case Kind.WILDCARD:
                return Wildcard(span)
            case _:
                return Literal(token.value, span)

    def _reduce(self, binding: int) -> None:
        """Build the waiting operations that bind at least as strongly, back to the last bracket or comma."""
        while self._operators:
            top = self._operators[-1]
            if top.kind in _BARRIERS or binding > _binding(top):
                return
            self._operators.pop()
            if top.kind is Kind.DOT:
                self._index(self._operands[-1].node.span.end)
            else:
                self._operation(top)

    def _operation(self, token: Token) -> None:
        if token.text == "!":
            (operand,) = self._take(1)
            self._put(
                Operation("!", (operand.node,), Span(token.start, operand.node.span.end)),
                [operand],
            )
            return
        pair = self._take(2)
        operands: list[Node] = []
        depth = 0
        for node, inner in pair:
            # `a && b && c` is one operation, wherever the brackets are: the depth counts so.
            if (
                token.text in {"&&", "||"}
                and isinstance(node, Operation)
                and node.operator == token.text
            ):
                operands += node.operands
                depth = max(depth, inner - 1)
            else:
                operands.append(node)
                depth = max(depth, inner)
        span = Span(pair[0].node.span.start, pair[1].node.span.end)
        self._put_at(Operation(token.text, tuple(operands), span), depth + 1)

    def _close(self, token: Token, last: Token | None) -> None:
        match token.kind:
            case Kind.CLOSE_GROUP:
                opening = self._operators.pop()
                node, depth = self._operands.pop()
                # The brackets count to the text of what they hold.
                self._operands.append(
                    _Operand(replace(node, span=Span(opening.start, token.end)), depth)
                )
            case Kind.CLOSE_INDEX:
                self._operators.pop()
                self._index(token.end)
            case _:
                self._call(token, last)

    def _index(self, end: int) -> None:
        target, key = pair = self._take(2)
        self._put(Index(target.node, key.node, Span(target.node.span.start, end)), pair)

    def _call(self, token: Token, last: Token | None) -> None:
        count = 0 if last is not None and last.kind is Kind.OPEN_CALL else 1
        while self._operators[-1].kind is Kind.COMMA:
            self._operators.pop()
            count += 1
        opening = self._operators.pop()
        called = self._called.pop()
        arguments = self._take(count)
        key = called.text.lower()
        least, most = self._counts[key]
        if count < least:
            raise ExpressionError(f"too few arguments for '{called.text}'", opening.start + 1)
        if count > most:
            raise ExpressionError(f"too many arguments for '{called.text}'", opening.start + 1)
        if key == "case" and count % 2 == 0:
            raise ExpressionError("'case' takes an odd number of arguments", opening.start + 1)
        nodes = tuple(argument.node for argument in arguments)
        self._put(Call(called.text, key, nodes, Span(called.start, token.end)), arguments)

    def _take(self, count: int) -> list[_Operand]:
        if not count:
            return []
        taken = self._operands[-count:]
        del self._operands[-count:]
        return taken

    def _put(self, node: Node, parts: list[_Operand]) -> None:
        self._put_at(node, 1 + max((part.depth for part in parts), default=0))

    def _put_at(self, node: Node, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise ExpressionError(f"the expression is nested more than {MAX_DEPTH} levels deep")
        self._operands.append(_Operand(node, depth))


def _binding(token: Token) -> int:
    match token.kind:
        case Kind.OPERATOR:
            return _BINDING[token.text]
        case Kind.COMMA:
            return 1
        case _:
            return _DOT_BINDING
