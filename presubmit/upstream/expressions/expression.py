"""A parsed expression: its value, and what it reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from presubmit.upstream.expressions.evaluator import MEMORY, evaluate_tree
from presubmit.upstream.expressions.tree import (
    Call,
    Index,
    Literal,
    Name,
    Node,
    Wildcard,
    children,
)
from presubmit.upstream.expressions.values import to_string

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_STATUS: Final = frozenset({"success", "failure", "always", "cancelled"})


class Expression(msgspec.Struct, frozen=True, kw_only=True):
    """An expression without the `${{ }}` around it."""

    text: str
    root: Node

    def evaluate(
        self,
        contexts: Mapping[str, Any],
        functions: Mapping[str, Callable[..., Any]] | None = None,
        *,
        memory: int = MEMORY,
    ) -> Any:  # noqa: ANN401 - whatever the expression gives
        """Give the value; `memory` is the most that intermediate results may take, in GitHub's reckoning."""
        return evaluate_tree(self.root, contexts, functions or {}, memory=memory)

    def calls(self) -> frozenset[str]:
        """Give the functions that are called, in lower case."""
        return frozenset(node.key for node in _walk(self.root) if isinstance(node, Call))

    def uses_status(self) -> bool:
        """Say whether success, failure, always or cancelled is called anywhere in it."""
        return not _STATUS.isdisjoint(self.calls())

    def names(self) -> frozenset[str]:
        """Give the contexts that are named, in lower case."""
        return frozenset(node.key for node in _walk(self.root) if isinstance(node, Name))

    def references(self) -> tuple[tuple[str, ...], ...]:
        """Give what is read of the contexts, as paths: `needs.x.outputs.y` is ("needs", "x", "outputs", "y").

        The context is in lower case, the rest as written. `*` stands for a filter, and for a key that is computed.
        """
        return tuple(dict.fromkeys(_references(self.root)))


def path_of(node: Node) -> tuple[str, ...] | None:
    """Give the path that a chain of keys takes through a context; None for what does not start at one."""
    keys: list[str] = []
    while isinstance(node, Index):
        keys.append(to_string(node.key.value) if isinstance(node.key, Literal) else "*")
        node = node.target
    return (node.key, *reversed(keys)) if isinstance(node, Name) else None


def _walk(node: Node) -> Iterator[Node]:
    yield node
    for child in children(node):
        yield from _walk(child)


def _references(node: Node) -> Iterator[tuple[str, ...]]:
    if (path := path_of(node)) is None:
        for child in children(node):
            yield from _references(child)
        return
    yield path
    while isinstance(node, Index):
        if not isinstance(node.key, (Literal, Wildcard)):
            yield from _references(node.key)
        node = node.target
