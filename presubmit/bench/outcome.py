"""What a comparison means for the run: what fails, what is incomplete, and in which words. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from presubmit.bench.values import Trouble, Word
from presubmit.values import Finding, Outcome, Value, counted

if TYPE_CHECKING:
    from presubmit.bench.values import Broken, Comparison, Result


class End(Value, frozen=True, kw_only=True):
    """How a step of benchmarks ends."""

    outcome: Outcome
    reason: str
    """The line's words: `1 slower, 1 same, 1 unsure`."""
    findings: tuple[Finding, ...] = ()
    cut: str = ""
    """Why it does not count as done."""


def judge_comparison(comparison: Comparison, *, strict: bool = False) -> End:
    """Say how the step ends: only a confirmed slow-down, or a benchmark that fails on head alone, fails it.

    A gain never fails. Nothing measured although something was chosen is never a pass (facts/bench.md, traps 5, 13, 14).
    """
    measured = comparison.measured
    words = in_words(comparison)
    if comparison.same_build and not comparison.self_test:
        reason = "both sides loaded the very same files of the project: nothing was compared"
        return End(outcome=Outcome.ERROR, reason=reason)
    findings = tuple(_finding(result) for result in measured.results if fails(result, comparison))
    findings += tuple(
        Finding(
            kind="bench",
            subject=broken.id,
            tool="benchmarks",
            message=f"fails on head only: {_last_line(broken.error)}",
            file=_file_of(broken.id, comparison),
        )
        for broken in measured.broken
        if broken.side == "head"
        and broken.trouble is not Trouble.SKIPPED
        and not comparison.self_test
    )
    cut = ""
    chosen = measured.results or measured.broken or measured.unmeasured
    unsure = [it for it in measured.results if it.word is Word.UNSURE]
    if chosen and not measured.results and not _is_settled(comparison):
        cut = f"nothing was measured: {_why_nothing(comparison)}"
    elif measured.unmeasured:
        cut = f"{counted(len(measured.unmeasured), 'benchmark')} not measured: {measured.stopped or 'no time'}"
    elif strict and unsure:
        cut = f"{counted(len(unsure), 'benchmark')} unsure"
    if comparison.self_test:
        return End(outcome=Outcome.PASSED, reason=words, cut=cut)
    outcome = Outcome.FAILED if findings else Outcome.PASSED
    return End(outcome=outcome, reason=words, findings=findings, cut=cut)


def fails(result: Result, comparison: Comparison) -> bool:
    """Tell whether a result is a regression that fails the run."""
    return (
        result.word is Word.SLOWER
        and result.confirmed
        and result.interval.ratio - 1.0 >= comparison.settings.fail_above
        and not comparison.self_test
    )


def in_words(comparison: Comparison) -> str:
    """Count the answers: `1 slower, 1 same, 1 unsure`."""
    measured = comparison.measured
    tally = {word: sum(it.word is word for it in measured.results) for word in Word}
    parts = [f"{number} {word}" for word, number in tally.items() if number]
    parts += [
        f"{number} {what}"
        for number, what in (
            (sum(_has_failed(it) for it in measured.broken), "failed"),
            (sum(it.trouble is Trouble.SKIPPED for it in measured.broken), "skipped"),
            (len(comparison.new), "new"),
            (len(measured.unmeasured), "not measured"),
        )
        if number
    ]
    if comparison.self_test:
        false = tally[Word.SLOWER] + tally[Word.FASTER]
        return f"{counted(false, 'false alarm')} of {len(measured.results)} (base against itself)"
    if parts:
        return ", ".join(parts)
    return "none runs what changed" if comparison.considered else "there are none"


def _is_settled(comparison: Comparison) -> bool:
    """Tell whether all that was chosen is new, or left out by its own suite: then nothing is missing."""
    measured = comparison.measured
    return not measured.unmeasured and not any(_has_failed(it) for it in measured.broken)


def _has_failed(broken: Broken) -> bool:
    """Tell whether it is a failure at all: what only head has is new, and a suite may leave out what it likes."""
    return broken.side != "base" and broken.trouble is not Trouble.SKIPPED


def _finding(result: Result) -> Finding:
    interval = result.interval
    bounds = " to ".join(
        f"{bound - 1:+.1%}" if bound is not None else "?"
        for bound in (interval.low, interval.high)
    )
    return Finding(
        kind="bench",
        subject=result.bench.id,
        tool="benchmarks",
        message=f"{interval.ratio - 1:+.1%} slower ({interval.level:.1%} interval {bounds}, confirmed)",
        file=result.bench.file,
    )


def _file_of(name: str, comparison: Comparison) -> str:
    return next((it.bench.file for it in comparison.measured.results if it.bench.id == name), "")


def _why_nothing(comparison: Comparison) -> str:
    measured = comparison.measured
    if measured.broken:
        first = measured.broken[0]
        return f"{first.id} fails on {first.side}: {_last_line(first.error)}"
    return measured.stopped or "no benchmark ran"


def _last_line(text: str) -> str:
    lines = [line for line in text.strip().splitlines() if line.strip()]
    return lines[-1].strip() if lines else "no word of why"
