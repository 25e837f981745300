"""Takes an expression apart: what every part of it gave, for `presubmit upstream eval`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from presubmit.upstream.expressions.evaluator import evaluate_tree
from presubmit.upstream.expressions.expression import path_of
from presubmit.upstream.expressions.functions import argument_counts
from presubmit.upstream.expressions.parser import parse
from presubmit.upstream.expressions.tree import Index, Literal, Node, Wildcard, children

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


class Explained(msgspec.Struct, frozen=True, kw_only=True):
    """One part of an expression; the whole is at depth 0 and comes last."""

    text: str
    value: Any
    evaluated: bool
    depth: int


def explain(
    text: str,
    contexts: Mapping[str, Any],
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> tuple[Explained, ...]:
    """Give every part of an expression with its value, in the order in which GitHub evaluates them.

    A path through a context is one part, and a literal none (but for an expression that is nothing else).
    """
    extra = functions or {}
    root = parse(text, names=contexts.keys(), functions=argument_counts(tuple(extra))).root
    values: dict[int, Any] = {}
    evaluate_tree(
        root, contexts, extra, record=lambda node, value: values.__setitem__(id(node), value)
    )

    def said(node: Node, depth: int) -> Explained:
        return Explained(
            text=text[node.span.start : node.span.end],
            value=values.get(id(node)),
            evaluated=id(node) in values,
            depth=depth,
        )

    return tuple(said(node, depth) for node, depth in _parts(root, 0)) or (said(root, 0),)


def _parts(node: Node, depth: int) -> Iterator[tuple[Node, int]]:
    if isinstance(node, (Literal, Wildcard)):
        return
    for child in _keys(node) if path_of(node) is not None else children(node):
        yield from _parts(child, depth + 1)
    yield node, depth


def _keys(node: Node) -> Iterator[Node]:
    """Give the computed keys of a path, first to last."""
    if isinstance(node, Index):
        yield from _keys(node.target)
        yield node.key
