"""The trial's answer: how often each tool called a change slower, for every size of the change."""

from __future__ import annotations

import math
import statistics
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


_LEAST: Final = 5
"""The smallest slow-down, in percent, that the bars ask for."""
_TIMES: Final = 2.0


def interval(hits: int, count: int) -> tuple[float, float]:
    """Give the 95 % interval of a share (E. B. Wilson, JASA 22, 1927)."""
    z = statistics.NormalDist().inv_cdf(0.975)
    share = hits / count
    middle = (share + z * z / (2 * count)) / (1 + z * z / count)
    half = (
        z / (1 + z * z / count) * math.sqrt(share * (1 - share) / count + (z / (2 * count)) ** 2)
    )
    return max(0.0, middle - half), min(1.0, middle + half)


def tally(rows: Iterable[Mapping[str, Any]]) -> dict[tuple[str, int], tuple[int, int]]:
    """Count by tool and percentage: comparisons that were called slower, and all."""
    found: dict[tuple[str, int], tuple[int, int]] = {}
    for row in rows:
        key = str(row["tool"]), int(row["percent"])
        hits, count = found.get(key, (0, 0))
        flags = list(row["slower"].values())
        found[key] = hits + sum(flags), count + len(flags)
    return found


def render(rows: Sequence[Mapping[str, Any]], errors: Sequence[Mapping[str, Any]]) -> str:
    """Lay the table out: a row a tool; of each size the share that was called slower, with its interval."""
    counts = tally(rows)
    tools = list(dict.fromkeys(tool for tool, _ in counts))
    percents = sorted({percent for _, percent in counts})
    heads = ["A/A: false alarms", *(f"+{percent} %" for percent in percents if percent)]
    lines = [f"| tool | {' | '.join(heads)} | median s (A/A) | of asv's |"]
    lines.append("| --- " * (len(heads) + 3) + "|")
    seconds = {
        tool: statistics.median(
            [r["seconds"] for r in rows if r["tool"] == tool and not r["percent"]] or [0.0]
        )
        for tool in tools
    }
    for tool in tools:
        cells = [_cell(counts.get((tool, percent))) for percent in percents]
        ratio = f"{seconds[tool] / seconds['asv']:.2f}" if seconds.get("asv") else "-"
        lines.append(f"| {tool} | {' | '.join(cells)} | {seconds[tool]:.1f} | {ratio} |")
    loads = [row["load"] for row in rows]
    if loads:
        lines.append("")
        lines.append(
            f"{len(rows)} trials of three benchmarks; load {min(loads):.1f} to {max(loads):.1f}, median"
            f" {statistics.median(loads):.1f}; in brackets Wilson's 95 % intervals."
        )
    lines += [f"not compared: {row['tool']} +{row['percent']} %: {row['error']}" for row in errors]
    return "\n".join(lines)


def _cell(found: tuple[int, int] | None) -> str:
    if found is None or not found[1]:
        return "-"
    hits, count = found
    low, high = interval(hits, count)
    return f"{hits} of {count} [{low:.0%}, {high:.0%}]"


def bars(rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, bool]]:
    """Say of each bar whether it is met: no other tool's rate is better, and the time is at most twice asv's."""
    counts = tally(rows)
    rates = {key: hits / count for key, (hits, count) in counts.items() if count}
    others = [tool for tool, _ in rates if tool != "presubmit"]
    found = [
        (
            "no tool has a lower A/A rate",
            all(rates[("presubmit", 0)] <= rates.get((tool, 0), 1.0) for tool in others),
        )
    ]
    for percent in sorted({percent for _, percent in rates if percent >= _LEAST}):
        best = all(
            rates[("presubmit", percent)] >= rates.get((tool, percent), 0.0) for tool in others
        )
        found.append((f"no tool has a higher power at {percent} %", best))
    seconds = {
        tool: [r["seconds"] for r in rows if r["tool"] == tool and not r["percent"]]
        for tool in ("presubmit", "asv")
    }
    if all(seconds.values()):
        ratio = statistics.median(seconds["presubmit"]) / statistics.median(seconds["asv"])
        found.append(
            (
                f"a median A/A trial takes at most {_TIMES:g} times asv's ({ratio:.2f})",
                ratio <= _TIMES,
            )
        )
    return found
