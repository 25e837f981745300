"""Scores, tables and bars: pure."""

from __future__ import annotations

import statistics
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final

from benchmarks.selection.mutants import BODIES, IMPORT_TIME, KINDS, QUIET

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

GROUPS: Final[Mapping[str, tuple[str, ...]]] = {
    "function bodies": BODIES,
    "import time": IMPORT_TIME,
    "data files": ("data",),
    "native": ("native",),
    "quiet edits": QUIET,
}
STATIC: Final = "presubmit-static"
RECORDED: Final = "presubmit-recorded"
TOLERANCE: Final = 1e-9
EXAMPLES: Final = 5
"""So many offending mutants are named below a bar."""


@dataclass(frozen=True, kw_only=True)
class Score:
    """How a tool did with one mutant."""

    tool: str
    project: str
    kind: str
    mutant: str
    caught: bool
    """Every failing test was selected."""
    recall: float
    share: float
    """Of the stable tests, how many were selected."""
    time_share: float
    """The same by their seconds."""
    seconds: float
    """Wall seconds to select."""
    missed: tuple[str, ...] = ()
    """Some of the failing tests that were not selected."""
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What getting ready took: a recorded run beside a plain one."""

    tool: str
    project: str
    seconds: float = 0.0
    plain: float = 0.0
    failed: str = ""
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Bar:
    """One thing that must hold; None: it was not measured."""

    name: str
    holds: bool | None
    detail: str
    offenders: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Trial:
    """All that one trial found."""

    scores: tuple[Score, ...] = ()
    costs: tuple[Cost, ...] = ()
    absent: dict[str, str] = field(default_factory=dict)
    """Tool and project -> why it was not run."""
    suites: dict[str, str] = field(default_factory=dict)

    def plain(self) -> dict[str, Any]:
        """Give the plain form, for JSON."""
        return asdict(self) | {"bars": [asdict(bar) for bar in bars(self)]}


def score(
    *,
    tool: str,
    project: str,
    kind: str,
    mutant: str,
    failing: Collection[str],
    selected: Collection[str],
    seconds_of: Mapping[str, float],
    seconds: float,
    note: str = "",
) -> Score:
    """Compare what was selected with what fails; `seconds_of` has every stable test."""
    chosen = set(selected)
    missed = sorted(set(failing) - chosen)
    total = sum(seconds_of.values())
    return Score(
        tool=tool,
        project=project,
        kind=kind,
        mutant=mutant,
        caught=not missed,
        recall=1 - len(missed) / len(set(failing)) if failing else 1.0,
        share=len(chosen) / len(seconds_of) if seconds_of else 0.0,
        time_share=sum(seconds_of[t] for t in chosen) / total if total else 0.0,
        seconds=seconds,
        missed=tuple(missed[:EXAMPLES]),
        note=note,
    )


def percent(values: Iterable[float]) -> float:
    """Give a mean in per cent."""
    return 100 * statistics.fmean(values)


def render(trial: Trial, tools: Sequence[str]) -> str:
    """Give the tables, the suspects and the bars as text."""
    parts = [_suites(trial)]
    for title, kinds in GROUPS.items():
        text = _table(trial, tools, title, kinds)
        if text:
            parts.append(text)
    parts.append(_by_kind(trial, tools))
    parts.append(_costs(trial))
    parts += [f"WARNING: {text}" for text in suspects(trial.scores)]
    parts += [f"not run: {name}: {why}" for name, why in sorted(trial.absent.items())]
    parts.append("\n".join(_bar(bar) for bar in bars(trial)))
    return "\n\n".join(part for part in parts if part)


def _suites(trial: Trial) -> str:
    return "\n".join(f"{name}: {text}" for name, text in trial.suites.items())


def _table(trial: Trial, tools: Sequence[str], title: str, kinds: tuple[str, ...]) -> str:
    quiet = kinds == QUIET
    scores = [s for s in trial.scores if s.kind in kinds]
    projects = [p for p in trial.suites if any(s.project == p for s in scores)]
    if not projects:
        return ""
    says = (
        "tests selected % (n); the right answer is 0"
        if quiet
        else "all failing selected % / recall % / tests % / test time % / median s to select (n)"
    )
    rows = [["tool", *projects]]
    for tool in tools:
        row = [tool]
        for project in projects:
            mine = [s for s in scores if (s.tool, s.project) == (tool, project)]
            row.append((_quiet_cell if quiet else _cell)(mine))
        rows.append(row)
    return f"## {title}\n{says}\n\n{_lines(rows)}"


def _cell(scores: Sequence[Score]) -> str:
    if not scores:
        return ""
    caught = percent(s.caught for s in scores)
    recall = percent(s.recall for s in scores)
    share = percent(s.share for s in scores)
    by_time = percent(s.time_share for s in scores)
    took = statistics.median(s.seconds for s in scores)
    return (
        f"{caught:.0f} / {recall:.0f} / {share:.1f} / {by_time:.1f} / {took:.1f} ({len(scores)})"
    )


def _quiet_cell(scores: Sequence[Score]) -> str:
    if not scores:
        return ""
    return f"{percent(s.share for s in scores):.1f} ({len(scores)})"


def _by_kind(trial: Trial, tools: Sequence[str]) -> str:
    kinds = [k for k in (*KINDS, *QUIET) if any(s.kind == k for s in trial.scores)]
    rows = [["tool", *kinds]]
    for tool in tools:
        row = [tool]
        for kind in kinds:
            mine = [s for s in trial.scores if (s.tool, s.kind) == (tool, kind)]
            caught, share = (
                (percent(s.caught for s in mine), percent(s.share for s in mine))
                if mine
                else (0, 0)
            )
            row.append(f"{caught:.0f} / {share:.1f} ({len(mine)})" if mine else "")
        rows.append(row)
    return f"## every kind, all projects\nall failing selected % / tests % (n)\n\n{_lines(rows)}"


def _costs(trial: Trial) -> str:
    rows = [["recording", "project", "seconds", "plain", "ratio", ""]]
    for cost in trial.costs:
        if not cost.seconds and not cost.failed:
            continue
        ratio = f"{cost.seconds / cost.plain:.2f}" if cost.plain else ""
        said = f"FAILED: {cost.failed}" if cost.failed else cost.note
        rows.append(
            [
                *(cost.tool, cost.project, f"{cost.seconds:.1f}", f"{cost.plain:.1f}", ratio),
                said.replace("\n", " ")[:120],
            ]
        )
    return f"## recorded runs\n\n{_lines(rows)}" if len(rows) > 1 else ""


def _lines(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    text = [
        "| "
        + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        + " |"
        for row in rows
    ]
    return "\n".join([text[0], "|" + "|".join("-" * (w + 2) for w in widths) + "|", *text[1:]])


def _bar(bar: Bar) -> str:
    word = {True: "pass", False: "FAIL", None: "  - "}[bar.holds]
    named = "".join(f"\n        {text}" for text in bar.offenders[:EXAMPLES])
    more = len(bar.offenders) - EXAMPLES
    return f"{word}  {bar.name}: {bar.detail}{named}" + (
        f"\n        … {more} more" if more > 0 else ""
    )


def suspects(scores: Iterable[Score]) -> list[str]:
    """Name tools that selected nothing for any mutant of a project: mostly the adapter's fault."""
    shares: dict[tuple[str, str], list[float]] = {}
    for item in scores:
        if item.kind not in QUIET:
            shares.setdefault((item.tool, item.project), []).append(item.share)
    return [
        f"{tool} selected no test for any of {len(values)} mutants of {project}: look at its raw output"
        for (tool, project), values in sorted(shares.items())
        if not any(values)
    ]


# --- Bars -------------------------------------------------------------------------------------------------------------


def bars(trial: Trial) -> list[Bar]:
    """Judge the bars of the selector."""
    loud = [s for s in trial.scores if s.kind not in QUIET]
    found = [_all_caught(f"without history, {STATIC}", loud, STATIC)]
    found += [_below_closure(loud), _mean_share(loud)]
    found += [_all_caught(f"with history, {RECORDED}", loud, RECORDED)]
    found += [_beside_testmon(trial), _recording(trial)]
    native = [s for s in loud if s.kind == "native"]
    found += [_all_caught(f"native, {tool}", native, tool) for tool in (STATIC, RECORDED)]
    quiet = [s for s in trial.scores if s.kind in QUIET]
    found += [_quiet(quiet, tool) for tool in (STATIC, RECORDED)]
    return found


def _all_caught(name: str, scores: Sequence[Score], tool: str) -> Bar:
    mine = [s for s in scores if s.tool == tool]
    bad = [
        f"{s.project} {s.mutant}: missed {', '.join(s.missed[:2])}" for s in mine if not s.caught
    ]
    detail = f"{len(mine) - len(bad)} of {len(mine)} mutants"
    return Bar(
        name=f"all failing tests selected on every mutant ({name})",
        holds=not bad if mine else None,
        detail=detail,
        offenders=tuple(bad),
    )


def _pairs(
    scores: Sequence[Score], one: str, other: str, wanted: Callable[[Score, Score], bool]
) -> list[tuple[Score, Score]]:
    by_key = {(s.project, s.mutant): s for s in scores if s.tool == other}
    mine = [(s, by_key.get((s.project, s.mutant))) for s in scores if s.tool == one]
    return [(a, b) for a, b in mine if b is not None and wanted(a, b)]


def _below_closure(scores: Sequence[Score]) -> Bar:
    pairs = _pairs(scores, STATIC, "closure", lambda _, closure: closure.caught)
    bad = [
        f"{a.project} {a.mutant}: {100 * a.share:.1f} % > {100 * b.share:.1f} %"
        for a, b in pairs
        if a.share > b.share + TOLERANCE
    ]
    return Bar(
        name="without history, share never above file closure's where closure catches all",
        holds=not bad if pairs else None,
        detail=f"{len(pairs) - len(bad)} of {len(pairs)} mutants",
        offenders=tuple(bad),
    )


MEAN_SHARE: Final = 86.0


def _mean_share(scores: Sequence[Score]) -> Bar:
    mine = [s for s in scores if s.tool == STATIC]
    bodies = [s.share for s in mine if s.kind in BODIES]
    if not bodies:
        return Bar(name="without history, mean share at most 86 %", holds=None, detail="")
    mean = percent(bodies)
    every = percent(s.share for s in mine)
    return Bar(
        name="without history, mean share at most 86 %",
        holds=mean <= MEAN_SHARE,
        detail=f"{mean:.1f} % on {len(bodies)} function bodies ({every:.1f} % on all {len(mine)} mutants)",
    )


POINTS: Final = 3.0


def _beside_testmon(trial: Trial) -> Bar:
    """By project, where testmon's own recording came off."""
    name = "with history, share on function bodies at most testmon's + 3 points"
    broken = {c.project for c in trial.costs if c.tool == "testmon" and c.failed}
    texts, holds = [], []
    for project in trial.suites:
        pairs = _pairs(
            [s for s in trial.scores if s.project == project and s.kind in BODIES],
            RECORDED,
            "testmon",
            lambda _, __: True,
        )
        if not pairs or project in broken:
            continue
        ours, theirs = percent(a.share for a, _ in pairs), percent(b.share for _, b in pairs)
        holds.append(ours <= theirs + POINTS)
        texts.append(f"{project} {ours:.1f} / {theirs:.1f}")
    return Bar(name=name, holds=all(holds) if holds else None, detail=", ".join(texts))


TIMES: Final = 2.0


def _recording(trial: Trial) -> Bar:
    costs = [c for c in trial.costs if c.tool == RECORDED and c.plain]
    bad = [
        f"{c.project}: {c.seconds / c.plain:.2f}x" for c in costs if c.seconds > TIMES * c.plain
    ]
    bad += [f"{c.project}: {c.failed}" for c in trial.costs if c.tool == RECORDED and c.failed]
    detail = ", ".join(f"{c.project} {c.seconds / c.plain:.2f}x" for c in costs)
    return Bar(
        name="recording takes at most 2x the plain run",
        holds=not bad if costs or bad else None,
        detail=detail,
        offenders=tuple(bad),
    )


def _quiet(scores: Sequence[Score], tool: str) -> Bar:
    mine = [s for s in scores if s.tool == tool]
    bad = [f"{s.project} {s.mutant}: {100 * s.share:.1f} %" for s in mine if s.share]
    return Bar(
        name=f"a comment, docstring or README edit selects no test ({tool})",
        holds=not bad if mine else None,
        detail=f"{len(mine) - len(bad)} of {len(mine)} edits",
        offenders=tuple(bad),
    )
