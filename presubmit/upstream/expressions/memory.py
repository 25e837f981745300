"""Bounds what the results of an expression may take together (actions/runner: EvaluationMemory.cs)."""

from __future__ import annotations

from typing import Final

from presubmit.upstream.expressions.error import ExpressionError

_OBJECT: Final = 24
_STRING: Final = 26


def size(text: str) -> int:
    """Give what a string takes, in GitHub's reckoning."""
    return _STRING + 2 * len(text)


def exceeded() -> ExpressionError:
    """Say that the results take too much."""
    return ExpressionError("the maximum allowed memory size was exceeded")


class Memory:
    """What the results on each level of the tree take; a result that is known frees those below it."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._levels: list[int] = []
        self._total = 0

    def add(self, depth: int, value: object) -> None:
        """Count a result; ExpressionError where all of them take too much."""
        taken = size(value) if isinstance(value, str) else _OBJECT
        if not isinstance(value, (list, dict)):
            while len(self._levels) > depth + 1:
                self._total -= self._levels.pop()
        while len(self._levels) <= depth:
            self._levels.append(0)
        self._levels[depth] += taken
        self._total += taken
        if self._total > self.most:
            raise exceeded()
