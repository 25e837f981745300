"""Mutation trials: presubmit's selection beside the tools that a user would pick instead, on the same mutants.

Usage: python benchmarks/selection/run.py [--projects attrs,jinja2] [--mutants 25] [--tools closure,testmon]
                                          [--work DIR] [--resume] [--few] [--redo TOOLS] [--truth-only]

Needs the package index, git and a C compiler. Each project gets below the work folder a repository of its own with
one checkout and one environment a tool. The truth (which tests really fail) comes from the whole suite, once a mutant.
Without --resume the trial of these projects and tools begins anew; environments and checkouts are kept.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import shutil
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

if __package__ in {None, ""}:  # started as a file: its own folder is on the path, the root is not
    sys.path[0] = str(Path(__file__).resolve().parent.parent.parent)

from benchmarks.selection.answers import Answer, chosen
from benchmarks.selection.projects import SetupError, git, make_side, read_projects
from benchmarks.selection.report import RECORDED, STATIC, Cost, Trial, bars, render, score
from benchmarks.selection.truth import find_truth, mutated, read_truth
from benchmarks.store import Store

if TYPE_CHECKING:
    from benchmarks.selection.answers import Adapter
    from benchmarks.selection.projects import Project
    from benchmarks.selection.truth import Truth

TOOLS: Final = (
    *(STATIC, RECORDED, "closure", "testmon", "tia", "ziplex", "selective", "gerenuk"),
)
FEW: Final = {
    "projects": "itsdangerous,markupsafe",
    "mutants": 3,
    "tools": f"{STATIC},{RECORDED},closure,testmon",
}


def adapter_of(tool: str) -> Adapter:
    """Give a tool's module."""
    name = tool.replace("-", "_")
    return cast("Adapter", importlib.import_module(f"benchmarks.selection.adapters.{name}"))


def answers_of(project: Project, tool: str, truth: Truth, work: Path) -> Store:
    """Ask a tool about every mutant that it was not asked about yet."""
    adapter = adapter_of(tool)
    store = Store(work / project.name / f"answers-{tool}.jsonl")
    wanted = [m for m, _ in truth.killed] + list(truth.quiet)
    known = {row["mutant"] for row in store.rows("answer")}
    missing = [m for m in wanted if m.id not in known]
    if not missing:
        return store
    side = make_side(project, tool, work, beside=adapter.REQUIREMENTS, bare=adapter.BARE)
    git(side.tree, "checkout", "-q", "--", ".")
    prepared = store.first("prepared")
    if prepared is None:
        made = adapter.prepare(side, work)
        store.add({"type": "prepared", **made.__dict__})
        say(project.name, f"{tool}: ready; {made.failed or made.note or f'{made.seconds:.1f} s'}")
    try:
        for mutant in missing:
            with mutated(side, mutant):
                answer = adapter.select(side, (mutant.path,))
            store.add({"type": "answer", "mutant": mutant.id, **answer.plain()})
    finally:
        getattr(adapter, "finish", lambda _: None)(side)
    say(project.name, f"{tool}: {len(missing)} answers")
    return store


def trial_of(
    projects: list[Project], tools: list[str], wanted: int, work: Path, *, truth_only: bool
) -> Trial:
    """Find the truth of each project, ask every tool, and score."""
    trial = Trial()
    scores: list[Any] = []
    costs: list[Cost] = []
    for project in projects:
        truth = truth_of(project, wanted, work, trial)
        if truth is None or truth_only:
            continue
        for tool in tools:
            try:
                store = answers_of(project, tool, truth, work)
            except Exception as error:  # noqa: BLE001 - a tool that breaks must not end the trial
                trial.absent[f"{tool}, {project.name}"] = f"{type(error).__name__}: {error}"[-600:]
                say(project.name, f"{tool}: NOT RUN: {error}")
                continue
            row = store.first("prepared") or {}
            kept = {k: row[k] for k in ("seconds", "plain", "failed", "note") if k in row}
            costs.append(Cost(tool=tool, project=project.name, **kept))
            scores += scores_of(project, tool, truth, store)
    return Trial(
        scores=tuple(scores), costs=tuple(costs), absent=trial.absent, suites=trial.suites
    )


def truth_of(project: Project, wanted: int, work: Path, trial: Trial) -> Truth | None:
    """Give a project's truth; what is missing of it is found out first."""
    store = Store(work / project.name / "truth.jsonl")
    try:
        side = make_side(project, "truth", work)
        find_truth(side, store, wanted, lambda text: say(project.name, text))
    except (SetupError, OSError) as error:
        trial.absent[f"every tool, {project.name}"] = str(error)[-600:]
        say(project.name, f"NOT RUN: {error}")
    truth = read_truth(store, wanted)
    if truth:
        tally = ", ".join(f"{count} {outcome}" for outcome, count in sorted(truth.tally.items()))
        trial.suites[project.name] = (
            f"{project.version}, {len(truth.stable)} stable tests, {truth.plain:.1f} s; mutants: {tally}; "
            f"{len(truth.killed)} used"
        )
    return truth


def scores_of(project: Project, tool: str, truth: Truth, store: Store) -> list[Any]:
    """Score what a tool answered."""
    rows = {row["mutant"]: row for row in store.rows("answer")}
    every = [*truth.killed, *((m, frozenset[str]()) for m in truth.quiet)]
    found = []
    for mutant, failing in every:
        if mutant.id not in rows:
            continue
        row = rows[mutant.id]
        answer = Answer(
            everything=row["everything"], files=tuple(row["files"]), ids=tuple(row["ids"])
        )
        found.append(
            score(
                tool=tool,
                project=project.name,
                kind=mutant.kind,
                mutant=mutant.id,
                failing=failing,
                selected=chosen(answer, truth.stable),
                seconds_of=truth.seconds,
                seconds=row["seconds"],
                note=row["note"],
            )
        )
    return found


def say(project: str, text: str) -> None:
    """Print progress."""
    print(f"{time.strftime('%H:%M:%S')} {project}: {text}", file=sys.stderr, flush=True)


def forget(work: Path, project: str, tools: list[str], *, truth: bool) -> None:
    """Put stored rows aside, and what presubmit remembers of its own checkouts."""
    paths = [work / project / f"answers-{tool}.jsonl" for tool in tools]
    paths += [work / project / "truth.jsonl"] if truth else []
    for path in paths:
        if path.exists():
            path.replace(path.with_suffix(".old"))
    for tool in tools:
        if adapter_of(tool).BARE:
            shutil.rmtree(work / project / tool, ignore_errors=True)


def options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    parser.add_argument("--projects", default=",".join(read_projects()))
    parser.add_argument("--mutants", type=int, default=25, help="killed mutants a project")
    parser.add_argument("--tools", default=",".join(TOOLS))
    parser.add_argument("--work", type=Path, default=cache / "presubmit-selection-trials")
    parser.add_argument("--resume", action="store_true", help="go on where the last trial stopped")
    parser.add_argument("--redo", default="", help="with --resume: ask these tools anew")
    parser.add_argument("--truth-only", action="store_true", help="ask no tool")
    parser.add_argument("--few", action="store_true", help="3 mutants of two small projects")
    parser.add_argument("--json", type=Path, default=Path("results.json"))
    parser.add_argument("--check", action="store_true", help="exit 1 where a bar is not met")
    given = parser.parse_args()
    if given.few:
        vars(given).update(FEW)
    return given


def main() -> int:
    """Run a trial, print its tables and bars, write results.json."""
    given = options()
    known = read_projects()
    names, tools = given.projects.split(","), given.tools.split(",")
    unknown = [n for n in names if n not in known] + [t for t in tools if t not in TOOLS]
    if unknown:
        sys.exit(
            f"unknown: {', '.join(unknown)}; projects: {', '.join(known)}; tools: {', '.join(TOOLS)}"
        )
    work = given.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    for name in names:
        if not given.resume:
            forget(work, name, tools, truth=True)
        elif given.redo:
            forget(work, name, given.redo.split(","), truth=False)
    trial = trial_of(
        [known[n] for n in names], tools, given.mutants, work, truth_only=given.truth_only
    )
    print(render(trial, tools))
    print(f"\nload {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    given.json.write_text(json.dumps(trial.plain(), indent=1))
    return int(given.check and any(bar.holds is False for bar in bars(trial)))


if __name__ == "__main__":
    sys.exit(main())
