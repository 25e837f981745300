"""A comparison of benchmarks as a picture: every pair, the interval and the answer, in one self-contained SVG."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final
from xml.sax.saxutils import escape

from presubmit.bench.rows import answer
from presubmit.bench.values import Word

if TYPE_CHECKING:
    from presubmit.bench.values import Comparison, Result

_ROW: Final = 26
_LEFT: Final = 330
_WIDTH: Final = 460
_RIGHT: Final = 250
_TOP: Final = 46
_LONGEST: Final = 48
"""Characters of a benchmark's name."""
_LEAST: Final = 0.05
_MOST: Final = 0.5
_COLOURS: Final = {
    Word.SLOWER: "#b3261e",
    Word.FASTER: "#1b7f3b",
    Word.SAME: "#4a5568",
    Word.UNSURE: "#b7791f",
}


def render_plot(comparison: Comparison) -> str:
    """Give the SVG's text; it needs neither scripts nor fonts nor any other file."""
    results = comparison.measured.results
    span = _span(results)
    height = _TOP + _ROW * max(1, len(results)) + 12
    width = _LEFT + _WIDTH + _RIGHT
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12" role="img">'
        ),
        "<title>Benchmarks: head against base</title>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        *_axis(span, height, comparison.settings.ignore),
    ]
    for number, result in enumerate(results):
        parts += _row(result, _TOP + _ROW * number + _ROW / 2, span)
    if not results:
        parts.append(
            f'<text x="{_LEFT}" y="{_TOP + 16}" fill="#4a5568">nothing was measured</text>'
        )
    return "\n".join((*parts, "</svg>")) + "\n"


def _span(results: tuple[Result, ...]) -> float:
    """Give the change at the ends of the axis."""
    changes = [abs(math.expm1(it)) for result in results for it in result.log_ratios]
    return min(_MOST, max(_LEAST, *changes, _LEAST)) if changes else _LEAST


def _x(change: float, span: float) -> float:
    inside = max(-span, min(span, change))
    return _LEFT + _WIDTH * (inside + span) / (2 * span)


def _axis(span: float, height: int, ignore: float) -> list[str]:
    low, high = _x(-ignore, span), _x(ignore, span)
    lines = [
        f'<rect x="{low:.1f}" y="{_TOP - 6}" width="{high - low:.1f}" height="{height - _TOP}" fill="#edf2f7"/>'
    ]
    for part in (-1.0, -0.5, 0.0, 0.5, 1.0):
        at = _x(part * span, span)
        colour = "#4a5568" if part == 0 else "#cbd5e0"
        lines.append(
            f'<line x1="{at:.1f}" y1="{_TOP - 6}" x2="{at:.1f}" y2="{height - 6}" stroke="{colour}"/>'
        )
        lines.append(
            f'<text x="{at:.1f}" y="{_TOP - 14}" text-anchor="middle" fill="#4a5568">{part * span:+.0%}</text>'
        )
    lines.append(
        f'<text x="8" y="{_TOP - 14}" fill="#4a5568">head against base; more is slower</text>'
    )
    return lines


def _row(result: Result, y: float, span: float) -> list[str]:
    colour = _COLOURS[result.word]
    interval = result.interval
    low = _x((interval.low or 0.0) - 1 if interval.low is not None else -span, span)
    high = _x(interval.high - 1 if interval.high is not None else span, span)
    name = result.bench.id
    shown = name if len(name) <= _LONGEST else f"…{name[1 - _LONGEST :]}"
    dots = [
        f'<circle cx="{_x(math.expm1(it), span):.1f}" cy="{y:.1f}" r="2" fill="{colour}" fill-opacity="0.4"/>'
        for it in result.log_ratios
    ]
    return [
        f'<text x="8" y="{y + 4:.1f}"><title>{escape(_plain(name))}</title>{escape(_plain(shown))}</text>',
        *dots,
        f'<line x1="{low:.1f}" y1="{y:.1f}" x2="{high:.1f}" y2="{y:.1f}" stroke="{colour}" stroke-width="3"/>',
        f'<circle cx="{_x(interval.ratio - 1, span):.1f}" cy="{y:.1f}" r="4.5" fill="{colour}"/>',
        (
            f'<text x="{_LEFT + _WIDTH + 10}" y="{y + 4:.1f}" fill="{colour}">'
            f"{interval.ratio - 1:+.1%}  {escape(_plain(answer(result)))}</text>"
        ),
    ]


def _plain(text: str) -> str:
    """Leave out what XML has no place for: ids are the project's own words."""
    return "".join(it if it.isprintable() else "?" for it in text)
