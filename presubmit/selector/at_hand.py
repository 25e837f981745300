"""Which tests may have a file or a class at hand: code can only run where what it belongs to is there."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


class TestSets:
    """Sets of test files as the bits of a number."""

    __test__ = False

    def __init__(self, tests: Sequence[str]) -> None:
        self.tests = tuple(tests)
        self.bits = {test: 1 << number for number, test in enumerate(self.tests)}
        self.all = (1 << len(self.tests)) - 1

    def names(self, found: int) -> Iterator[str]:
        """Give the test files of a set, in order."""
        while found:
            lowest = found & -found
            yield self.tests[lowest.bit_length() - 1]
            found ^= lowest


def importing_tests(dependents: Mapping[str, Sequence[str]], sets: TestSets) -> dict[str, int]:
    """Give for every node of a file graph the tests that depend on it: Tarjan's components, then one sum each."""
    found: dict[str, int] = {}
    low: dict[str, int] = {}
    open_nodes: list[str] = []
    for start in dependents:
        if start in low:
            continue
        stack = [(start, iter(dependents.get(start, ())))]
        low[start] = len(low)
        own = {start: low[start]}
        open_nodes.append(start)
        while stack:
            node, rest = stack[-1]
            for dependent in rest:
                if dependent not in low:
                    low[dependent] = own[dependent] = len(low)
                    open_nodes.append(dependent)
                    stack.append((dependent, iter(dependents.get(dependent, ()))))
                    break
                if dependent not in found:
                    low[node] = min(low[node], own[dependent])
            else:
                stack.pop()
                if stack:
                    above = stack[-1][0]
                    low[above] = min(low[above], low[node])
                if low[node] == own[node]:
                    _close(node, dependents, sets, open_nodes, found)
    return found


def _close(
    node: str,
    dependents: Mapping[str, Sequence[str]],
    sets: TestSets,
    open_nodes: list[str],
    found: dict[str, int],
) -> None:
    """Sum up a component: all its nodes reach the same tests."""
    members = [open_nodes.pop()]
    while members[-1] != node:
        members.append(open_nodes.pop())
    reached = 0
    for member in members:
        reached |= sets.bits.get(member, 0)
        for dependent in dependents.get(member, ()):
            reached |= found.get(dependent, 0)
    found.update(dict.fromkeys(members, reached))
