"""One benchmark in one line: times, change, interval, pairs, instructions and the answer. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from presubmit.bench.values import Clock, Kind, Word

if TYPE_CHECKING:
    from presubmit.bench.values import Counted, Interval, Result

HEADINGS: Final = ("benchmark", "base", "head", "change", "CI", "", "n", "instr", "verdict")
_UNITS: Final = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))
_STRIP_HALF: Final = 3
_STRIP_END: Final = 0.10
"""The change at the end of the drawn interval."""


def cells_of(result: Result) -> tuple[str, ...]:
    """Give the cells of a result's row, in the order of `HEADINGS`."""
    interval = result.interval
    return (
        result.bench.id,
        quantity(result.base, result.bench.kind, result.bench.unit),
        quantity(result.head, result.bench.kind, result.bench.unit),
        f"{interval.ratio - 1:+.1%}",
        bounds(interval),
        drawn(interval),
        str(result.pairs),
        instructions(result.instructions),
        answer(result),
    )


def row_of(result: Result) -> str:
    """Give a result in one line of plain text, for a log."""
    name, base, head, change, interval, strip, pairs, counted, word = cells_of(result)
    return f"{name}  {base} -> {head}  {change}  {interval}  {strip}  n {pairs}  instr {counted}  {word}"


def quantity(value: float, kind: Kind, unit: str) -> str:
    """Write seconds in the unit that suits them (`271 us`), another number with its own unit."""
    if kind is Kind.VALUE and unit == "bytes":
        return _scaled(value, ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"), (1, "B")))
    if kind is Kind.VALUE and unit != "seconds":
        return f"{value:.4g} {unit}".rstrip()
    return _scaled(value, _UNITS)


def _scaled(value: float, units: tuple[tuple[float, str], ...]) -> str:
    size, name = next((it for it in units if abs(value) >= it[0]), units[-1])
    return f"{value / size:.3g} {name}"


def bounds(interval: Interval) -> str:
    """Write an interval of changes, in per cent: `[+2.8, +6.9]`; an open end is a question mark."""
    low, high = (
        f"{(bound - 1) * 100:+.1f}" if bound is not None else "?"
        for bound in (interval.low, interval.high)
    )
    return f"[{low}, {high}]"


def drawn(interval: Interval) -> str:
    """Draw an interval between -10 % and +10 %: `|` is no change, `o` the estimate, `=` what may be."""
    cells = ["-"] * (2 * _STRIP_HALF + 1)

    def place(change: float) -> int:
        step = round(change / _STRIP_END * _STRIP_HALF)
        return max(-_STRIP_HALF, min(_STRIP_HALF, step)) + _STRIP_HALF

    low = place((interval.low or 0.0) - 1) if interval.low is not None else 0
    high = place(interval.high - 1) if interval.high is not None else 2 * _STRIP_HALF
    for at in range(low, high + 1):
        cells[at] = "="
    cells[_STRIP_HALF] = "|"
    cells[place(interval.ratio - 1)] = "o"
    return "".join(cells)


def instructions(counted: Counted | None) -> str:
    """Write the change in instructions: `+5.0 %`; `-` where there is none."""
    if counted is None or counted.base is None or counted.head is None or not counted.base:
        return "-"
    return f"{counted.head / counted.base - 1:+.1%}"


def answer(result: Result) -> str:
    """Write the answer, with how sure it is: `SLOWER (confirmed)`, `unsure (about 60 pairs needed)`."""
    match result.word:
        case Word.SLOWER:
            return "SLOWER (confirmed)" if result.confirmed else "slower?"
        case Word.FASTER | Word.SAME:
            return str(result.word)
        case Word.UNSURE:
            why = [result.reason] if result.reason else []
            if result.needed is not None and not result.reason:
                why.append(f"about {result.needed} pairs needed")
            change = instructions(result.instructions)
            if change != "-":
                why.append(f"instructions say {change}")
            return f"unsure ({'; '.join(why)})" if why else "unsure"


def clocks_of(results: tuple[Result, ...]) -> str:
    """Name the clocks that were used, the most frequent first."""
    used = [str(it.clock) for it in results if it.clock is not Clock.VALUE]
    return ", ".join(sorted(dict.fromkeys(used), key=used.count, reverse=True))
