"""A comparison of benchmarks as a table: for the terminal, for report.md, and as points of history."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import msgspec

from presubmit.bench.outcome import in_words
from presubmit.bench.rows import HEADINGS, cells_of, clocks_of
from presubmit.bench.values import BENCH_FILE, Comparison, Word
from presubmit.report.escape import for_code, for_code_in_table, for_markdown
from presubmit.values import counted, decode

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from presubmit.bench.values import Result

_MOST_ROWS: Final = 60
_MOST_NAMED: Final = 5
_STRIP: Final = 41
_STYLES: Final = {Word.SLOWER: "bold red", Word.FASTER: "green", Word.UNSURE: "yellow"}
_NO_AVX512: Final = "it shows no AVX-512, so libraries that choose their code by the processor may run other code in it"
_LEAST_SPREAD: Final = 0.02


def read_comparison(folder: Path) -> Comparison | None:
    """Read `bench.json` of a run; None where there is none, or it is not ours."""
    try:
        return decode((folder / BENCH_FILE).read_bytes(), Comparison)
    except (OSError, ValueError, msgspec.ValidationError):
        return None


def comparison_lines(comparison: Comparison) -> list[tuple[str, str]]:
    """Give the lines of the terminal, each with its style."""
    results = _ordered(comparison.measured.results)
    lines = [(heading(comparison), "bold")]
    if results:
        level = f"{results[0].interval.level:.1%} CI"
        names = tuple(level if name == "CI" else name for name in HEADINGS)
        rows = [cells_of(result) for result in results[:_MOST_ROWS]]
        widths = [max(len(row[at]) for row in (names, *rows)) for at in range(len(names))]
        lines.append((_laid_out(names, widths), "dim"))
        for result, row in zip(results, rows, strict=False):
            lines.append((_laid_out(row, widths), _STYLES.get(result.word, "")))
            if result.word is Word.SLOWER:
                lines.append((f"    pairs {strip(result)}", "dim"))
        if len(results) > _MOST_ROWS:
            lines.append((f"  and {len(results) - _MOST_ROWS} more: bench.json", ""))
    lines += [(text, "yellow") for text in _besides(comparison)]
    lines.append((closing(comparison), "bold"))
    return lines


def _ordered(results: Iterable[Result]) -> list[Result]:
    """Put what matters first: slower, unsure, faster, same; by size of the change."""
    ranks = {Word.SLOWER: 0, Word.UNSURE: 1, Word.FASTER: 2, Word.SAME: 3}
    return sorted(results, key=lambda it: (ranks[it.word], -abs(it.interval.ratio - 1)))


def heading(comparison: Comparison) -> str:
    """Say what was compared, by which clock, and how noisy the machine was."""
    machine, measured = comparison.machine, comparison.measured
    clocks = clocks_of(measured.results)
    parts = [f"bench  base {comparison.base.commit[:7]}"]
    if comparison.self_test:
        parts.append("against itself")
    else:
        parts.append(
            f"head {comparison.head.commit[:7]}{'+dirty' if comparison.head.dirty else ''}"
        )
    parts.append(f"  clock {clocks}" if clocks else "")
    busy = f", wall/cpu {measured.wall_over_cpu:.1f}" if measured.wall_over_cpu else ""
    noise = f": smallest change seen ~{_smallest(comparison):.0%}" if measured.pair_sd else ""
    cores = counted(machine.cores, "core")
    parts.append(f"  load {machine.load:.1f} on {cores}{busy}{noise}")
    return " ".join(part for part in parts if part)


def _smallest(comparison: Comparison) -> float:
    """Say which change the last look would most likely find: beyond the ignored band by the interval's half width."""
    settings = comparison.settings
    last = settings.looks[-1]
    # 2.4 standard errors of the mean are about half an interval of level 1 - 0.0158.
    return settings.ignore + 2.4 * (comparison.measured.pair_sd or 0.0) / math.sqrt(last)


def strip(result: Result) -> str:
    """Draw the pairs' ratios on a line: `|` is no change, `*` several pairs."""
    changes = [math.expm1(it) for it in result.log_ratios]
    if not changes:
        return ""
    most = max(_LEAST_SPREAD, *(abs(change) for change in changes))
    cells = [" "] * _STRIP
    middle = _STRIP // 2
    cells[middle] = "|"
    for change in changes:
        at = middle + round(change / most * middle)
        cells[at] = "*" if cells[at] in {".", "*"} else "."
    return f"-{most:.0%} {''.join(cells)} +{most:.0%}"


def _laid_out(row: Iterable[str], widths: list[int]) -> str:
    cells = list(row)
    laid = [cells[0].ljust(widths[0])]
    laid += [
        cell.rjust(width) if at in {1, 2, 3, 6, 7} else cell.ljust(width)
        for at, (cell, width) in enumerate(zip(cells[1:], widths[1:], strict=True), start=1)
    ]
    return "  ".join(laid).rstrip()


def _besides(comparison: Comparison) -> list[str]:
    """Name what has no row: failed, new, removed, not measured, and what to know."""
    measured = comparison.measured
    lines = [
        f"failed on {broken.side}: {broken.id}: {_last_line(broken.error)}"
        for broken in measured.broken
        if broken.side != "base"
    ]
    for what, names in (
        ("new, nothing to compare with", comparison.new),
        ("removed", comparison.removed),
        ("not measured", measured.unmeasured),
    ):
        if names:
            more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
            lines.append(f"{what}: {', '.join(names[:_MOST_NAMED])}{more}")
    tools = {it.instructions.tool for it in measured.results if it.instructions}
    lines += _profile_lines(comparison)
    lines += [f"instructions by {it}: {_NO_AVX512}" for it in sorted(tools) if "valgrind" in it]
    return lines


def _profile_lines(comparison: Comparison) -> list[str]:
    """Say in which functions the time of the profiled benchmark moved."""
    profile = comparison.profile
    if profile is None:
        return []
    lines = [f"profile of {profile.id}: {', '.join(profile.files) or 'none'}"]
    lines += [
        f"  {it.base:5.1%} -> {it.head:5.1%}  {it.function}" for it in profile.moved[:_MOST_NAMED]
    ]
    if profile.files and not profile.moved:
        lines.append("  no function's share moved by 1 %")
    return lines


def _last_line(text: str) -> str:
    return next((it.strip() for it in reversed(text.splitlines()) if it.strip()), "no word of why")


def closing(comparison: Comparison) -> str:
    """Give the last line: `3 of 41 benchmarks reach the change; 1 slower, 1 same, 1 unsure; 74 s`."""
    measured = comparison.measured
    chosen = len(measured.results) + len(measured.broken) + len(measured.unmeasured)
    if comparison.self_test:
        return f"{in_words(comparison)}; {measured.seconds:.0f} s"
    known = max(comparison.considered, chosen)
    what = f"{chosen} of {counted(known, 'benchmark')} can reach the change"
    stopped = f"; stopped: {measured.stopped}" if measured.stopped else ""
    return f"{what}; {in_words(comparison)}; {measured.seconds:.0f} s{stopped}"


def render_comparison(comparison: Comparison) -> str:
    """Give the section of report.md: one line, the table of what is not `same`, the raw table folded."""
    results = _ordered(comparison.measured.results)
    news = [it for it in results if it.word is not Word.SAME]
    parts = [
        "",
        "## Benchmarks",
        "",
        for_markdown(closing(comparison)),
        "",
        for_markdown(heading(comparison)),
    ]
    if news:
        parts += ["", *_table(news)]
    if results:
        parts += [
            "",
            "<details><summary>all benchmarks</summary>",
            "",
            *_table(results),
            "",
            "</details>",
        ]
    besides = _besides(comparison)
    if besides:
        parts += ["", *(f"- {for_markdown(text)}" for text in besides)]
    if comparison.skipped:
        parts += ["", "<details><summary>not chosen, and why</summary>", ""]
        parts += [
            f"- {for_code(name)}: {for_markdown(why)}" for name, why in comparison.skipped.items()
        ]
        parts += ["", "</details>"]
    return "\n".join(parts) + "\n"


def _table(results: Iterable[Result]) -> list[str]:
    names = [name or "-10 % to +10 %" for name in HEADINGS]
    lines = [f"| {' | '.join(names)} |", f"|{' --- |' * len(names)}"]
    for result in results:
        cells = cells_of(result)
        shown = [for_code_in_table(cells[0]), *(for_markdown(cell) for cell in cells[1:5])]
        shown += [for_code_in_table(cells[5]), *(for_markdown(cell) for cell in cells[6:])]
        lines.append(f"| {' | '.join(shown)} |")
    return lines


def points_of(comparison: Comparison) -> dict[str, tuple[float, float]]:
    """Give of each benchmark head's number and the ratio to the base, for the history."""
    if comparison.self_test:
        return {}
    return {it.bench.id: (it.head, it.interval.ratio) for it in comparison.measured.results}
