"""The order of the chosen tests: those that the change most likely breaks come first. It never leaves one out.

Edited tests and those that failed last come first (few tests ever fail, and mostly the same); then those that a
recorded run saw execute the change; those named after it; those that authors edited together with it; the nearest.
`benchmarks/ranking.py` measures the last three on the history of real projects: of the tests that 1,018 commits of
five projects edited, 85 to 99 % are among the first ten of the import closure; by distance alone 44 to 99 %.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from presubmit.values import ChosenTest, Reason, Value

if TYPE_CHECKING:
    from collections.abc import Iterable

_FAR: Final = 1_000_000
_UNCHAINED: Final = frozenset({"edited", "same-name", "always", "unparsed", "all"})
"""Rules whose chain, where they have one, says nothing about how near a test is."""


class Signals(Value, frozen=True, kw_only=True):
    """What is known of test files beyond the reasons that chose them."""

    failed: frozenset[str] = frozenset()
    """Test files that failed when they last ran."""
    coedit: dict[str, float] = {}
    """How often authors edited a test together with what changed; absent: never."""
    seconds: dict[str, float] = {}
    """How long test files took when they last ran."""


NO_SIGNALS: Final = Signals()


class _Key(NamedTuple):
    """What the order goes by, the most telling first; the smaller comes first."""

    unedited: bool
    did_not_fail: bool
    not_recorded: bool
    named_otherwise: bool
    coedit: float
    distance: int
    seconds: float


def rank(tests: Iterable[ChosenTest], signals: Signals = NO_SIGNALS) -> tuple[ChosenTest, ...]:
    """Put chosen tests in order and number them; tests that nothing tells apart share a number."""
    keys = {test: _key(test, signals) for test in tests}
    ranks = {key: number for number, key in enumerate(sorted({*keys.values()}))}
    ordered = sorted(keys, key=lambda test: (keys[test], test.path))
    return tuple(msgspec.structs.replace(test, rank=ranks[keys[test]]) for test in ordered)


def distance(reasons: Iterable[Reason]) -> int | None:
    """Give how many files lie between the change and a test by the shortest chain, or None where none leads there."""
    chained = (len(it.chain) - 1 for it in reasons if it.rule not in _UNCHAINED and it.chain)
    return min(chained, default=None)


def _key(test: ChosenTest, signals: Signals) -> _Key:
    rules = {reason.rule for reason in test.reasons}
    far = distance(test.reasons)
    return _Key(
        unedited="edited" not in rules,
        did_not_fail=test.path not in signals.failed,
        not_recorded="recorded" not in rules,
        named_otherwise="same-name" not in rules,
        coedit=-signals.coedit.get(test.path, 0.0),
        distance=_FAR if far is None else far,
        seconds=signals.seconds.get(test.path, 0.0),
    )
