"""GitHub Actions expressions: what stands between `${{` and `}}`, and in `if:`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from presubmit.upstream.expressions.error import ExpressionError
from presubmit.upstream.expressions.evaluator import MEMORY
from presubmit.upstream.expressions.explain import Explained, explain
from presubmit.upstream.expressions.expression import Expression
from presubmit.upstream.expressions.functions import (
    HASH_FILES,
    STATUS_FUNCTIONS,
    argument_counts,
)
from presubmit.upstream.expressions.hashing import hash_files, matches
from presubmit.upstream.expressions.parser import parse
from presubmit.upstream.expressions.values import (
    CaseSensitive,
    equals,
    is_truthy,
    to_number,
    to_string,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = [
    "HASH_FILES",
    "MEMORY",
    "STATUS_FUNCTIONS",
    "CaseSensitive",
    "Explained",
    "Expression",
    "ExpressionError",
    "argument_counts",
    "equals",
    "evaluate",
    "explain",
    "hash_files",
    "is_truthy",
    "matches",
    "parse",
    "to_number",
    "to_string",
]


def evaluate(
    text: str,
    contexts: Mapping[str, Any],
    *,
    functions: Mapping[str, Callable[..., Any]] | None = None,
    memory: int = MEMORY,
) -> Any:  # noqa: ANN401 - whatever the expression gives
    """Give the value of an expression; numbers are floats, an object is the very one of the context."""
    extra = functions or {}
    parsed = parse(text, names=contexts.keys(), functions=argument_counts(tuple(extra)))
    return parsed.evaluate(contexts, extra, memory=memory)
