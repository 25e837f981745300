"""What an expression is parsed into: nodes that know which part of the text they are."""

from __future__ import annotations

import msgspec


class Span(msgspec.Struct, frozen=True):
    """A part of the expression's text; offsets count from 0."""

    start: int
    end: int


class Literal(msgspec.Struct, frozen=True):
    """A value written out: `1`, `'text'`, `true`, `null`; also the name after a dot."""

    value: bool | float | str | None
    span: Span


class Name(msgspec.Struct, frozen=True):
    """A context: `github`; `key` is the name in lower case."""

    text: str
    key: str
    span: Span


class Wildcard(msgspec.Struct, frozen=True):
    """The `*` of `a.*` and `a[*]`."""

    span: Span


class Index(msgspec.Struct, frozen=True):
    """`target.key`, `target[key]` or `target.*`."""

    target: Node
    key: Node
    span: Span


class Operation(msgspec.Struct, frozen=True):
    """An operator with its operands: one for `!`, two for comparisons, two or more for `&&` and `||`."""

    operator: str
    operands: tuple[Node, ...]
    span: Span


class Call(msgspec.Struct, frozen=True):
    """A function with its arguments; `key` is its name in lower case."""

    name: str
    key: str
    arguments: tuple[Node, ...]
    span: Span


Node = Literal | Name | Wildcard | Index | Operation | Call


def children(node: Node) -> tuple[Node, ...]:
    """Give what a node is made of, in the order of the text."""
    match node:
        case Index(target, key):
            return (target, key)
        case Operation(_, operands):
            return operands
        case Call(_, _, arguments):
            return arguments
        case _:
            return ()
