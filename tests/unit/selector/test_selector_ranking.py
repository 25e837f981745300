"""The order of chosen tests."""

from __future__ import annotations

import pytest

from presubmit.selector.ranking import Signals, distance, rank
from presubmit.values import ChosenTest, Reason


def chosen(path: str, *rules: str, far: int = 1) -> ChosenTest:
    chain = ("src/a.py", *("src/b.py",) * (far - 1), path)
    reasons = tuple(Reason(rule=rule, text="", chain=chain) for rule in rules or ("imports",))
    return ChosenTest(path=path, reasons=reasons)


def order(*tests: ChosenTest, signals: Signals = Signals()) -> list[str]:  # noqa: B008 - a frozen value
    return [test.path for test in rank(tests, signals)]


def test_the_nearer_test_comes_first() -> None:
    assert order(chosen("a", far=3), chosen("b", far=1), chosen("c", far=2)) == ["b", "c", "a"]


def test_each_signal_counts_before_all_that_come_after_it() -> None:
    signals = Signals(
        failed=frozenset({"failed"}),
        coedit={"coedited": 0.1},
        seconds={"slow": 9.0, "quick": 0.1, "near": 99.0},
    )
    tests = (
        chosen("edited", "edited"),
        chosen("failed", far=9),
        chosen("recorded", "imports", "recorded", far=9),
        chosen("named", "imports", "same-name", far=8),
        chosen("coedited", far=8),
        chosen("near", far=1),
        chosen("quick", far=7),
        chosen("slow", far=7),
        chosen("always", "always"),
    )
    expected = [test.path for test in tests]
    assert order(*reversed(tests), signals=signals) == expected


def test_a_test_is_as_near_as_its_shortest_chain() -> None:
    long = Reason(rule="imports", text="", chain=("a", "b", "c", "t"))
    short = Reason(rule="names", text="", chain=("a", "t"))
    assert distance((long, short)) == 1
    assert distance((Reason(rule="all", text=""),)) is None
    assert distance((Reason(rule="same-name", text="", chain=("a", "t")),)) is None


def test_tests_that_nothing_tells_apart_share_a_number_and_stand_by_name() -> None:
    ranked = rank((chosen("c", far=2), chosen("b"), chosen("a")))
    assert [(test.path, test.rank) for test in ranked] == [("a", 0), ("b", 0), ("c", 1)]


def test_a_stronger_coedit_comes_first() -> None:
    assert order(chosen("a"), chosen("b"), signals=Signals(coedit={"a": 0.5, "b": 0.9})) == [
        "b",
        "a",
    ]


@pytest.mark.parametrize("signals", [Signals(), Signals(failed=frozenset({"x", "b"}))])
def test_no_test_is_lost_or_altered_but_for_its_number(signals: Signals) -> None:
    tests = [chosen(path, far=far) for path, far in zip("abcde", (3, 1, 2, 1, 9), strict=True)]
    ranked = rank(tests, signals)
    assert {(test.path, test.reasons, test.ids) for test in ranked} == {
        (test.path, test.reasons, test.ids) for test in tests
    }
