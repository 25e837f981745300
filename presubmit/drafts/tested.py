"""What was tested, what was not and cannot be here, how fast it is, and what the review remarked, in a few lines each."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final

from presubmit.bench.outcome import in_words
from presubmit.bench.rows import answer, bounds, quantity
from presubmit.bench.values import Word
from presubmit.drafts.proof import is_nearest, name_of, selected, steps_of, what_came
from presubmit.drafts.text import at_most, in_prose, in_text, listed
from presubmit.report.escape import for_code, for_code_in_table, one_line
from presubmit.review.values import Severity
from presubmit.upstream.cells import CellState, kind_of_lack
from presubmit.values import counted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from presubmit.drafts.values import DraftFacts, RunFailure, RunStep, RunView
    from presubmit.upstream.cells import JobCell

_VERSION: Final = re.compile(r"^(?:(?:python|py|pypy)-?)?(\d\.\d+)(?:\D|$)|^py(?:py)?(\d)(\d+)$")
_LACKS: Final = {
    "windows": "Windows",
    "macos": "macOS",
    "arm": "ARM",
    "interpreter": "other interpreters",
    "action": "actions without a substitute",
    "secret": "jobs with secrets",
    "not replayed": "jobs that cannot be replayed",
    "other runners": "other runners",
    "host": "jobs that need another host",
    "image": "jobs in other images",
    "sudo": "jobs with sudo",
    "remote workflow": "workflows of other repositories",
}
# `cannot import name 'x' from 'y' (/where/it/is/y.py)`: where that is on this machine is nobody's.
_PLACE: Final = re.compile(r"\s*\((?:~|/)[^()]*\)\s*$")
_IMAGE: Final = re.compile(
    r"(?i)(?:^|/)(?:(?:docker|container)file(?:[.-][^/]*)?|[^/]*\.dockerfile)$"
)
_NAMES: Final = {
    "build": "build",
    "lint": "lint",
    "docs": "docstrings",
    "upstream": "upstream's jobs",
}


def lines_on_tests(facts: DraftFacts, most: int, *, boxes: bool) -> list[str]:
    """Give the lines on what ran and what did not; what our own `boxes` say already is left out."""
    run = facts.run
    lines = [_tests(facts)]
    reproduce = [it.test for it in run.reproduces if it.fails_without_change]
    if reproduce:
        names = listed([for_code(name) for name in reproduce], most=2)
        lines.append(f"- Fails without this change, passes with it: {names}")
    lines += _failures(facts, "new", "**New failure**", most)
    lines += _failures(facts, "unknown", "**Failure that nobody has classed**", most)
    lines += _failures(facts, "on_base", "Already fails on the base branch", 2)
    lines += _failures(facts, "flaky", "Flaky", 2)
    others = [step for step in run.steps if step.role not in {"tests", "bench"}]
    named = {it.step for it in run.failures}
    said = {"review", *(("lint", "build") if boxes and not facts.unproven else ())}
    passed = list(
        dict.fromkeys(
            _named(s.role, others) for s in others if s.role not in said and _passed(s, others)
        )
    )
    if passed:
        also = "Also passed" if steps_of("tests", facts) else "Passed"
        lines.append(f"- {also}: {', '.join(passed)}.")
    lines += [
        f"- {'Failed' if step.outcome == 'failed' else 'Not run'}: {_step(step)}"
        for step in others
        if (step.outcome != "passed" or step.cut) and step.id not in named
    ][:most]
    cut = [*run.budget_cut, *run.other_shards]
    if cut:
        lines.append(f"- Affected, but not run: {listed([for_code(it) for it in cut], most=3)}.")
    lines += [
        f"- Pushed without being tested: {in_text(one_line(reason, 120))}"
        for reason in facts.skipped[:2]
    ]
    missing = (*_image(facts), *not_verified(facts.cells, run))
    if missing:
        lines.append(f"- Not verified here: {'; '.join(missing)}.")
    return lines


def _tests(facts: DraftFacts) -> str:
    run = facts.run
    steps = steps_of("tests", facts)
    if not steps:
        why = "none depends on what changed" if run.selection.mode == "none" else "not run"
        return f"- Tests: {why}."
    why = _why_these(facts)
    how = f" ({why})" if why else ""
    came = "; ".join(what_came(step) for step in steps)
    python = str(run.environment.get("python") or "")
    place = f" on Python {in_text(python)}" if python else ""
    ran = any(step.counts.passed or step.counts.failed for step in steps)
    if ran and all(step.outcome in {"passed", "failed"} and not step.cut for step in steps):
        return f"- Tests{place}: {came} in {selected(facts)}{how}."
    return f"- Tests{place}: {selected(facts)}{how}: {came}."


def _why_these(facts: DraftFacts) -> str:
    """Say why these files were run and no others, where that is not plain."""
    chosen = facts.run.selection
    if chosen.mode != "scoped":
        return _why_all(facts.run)
    if is_nearest(facts):
        return "those nearest to the change"
    return "those that the change can reach" if chosen.chosen != chosen.known else ""


def _image(facts: DraftFacts) -> list[str]:
    """Say that tests ran in the image that was there, which is none of a changed Dockerfile's."""
    changed = [it.path for it in facts.files if _IMAGE.search(it.path)]
    if not changed:
        return []
    return [f"the image that {listed([for_code(it) for it in changed], most=2)} now gives"]


def _why_all(run: RunView) -> str:
    return in_text(one_line(run.selection.unsure[0], 120)) if run.selection.unsure else ""


def _named(role: str, others: Iterable[RunStep]) -> str:
    """Name what passed; lint of which no tool ran was a look at the syntax."""
    if role == "lint" and not any(it.command for it in others if it.role == role):
        return "syntax"
    return _NAMES.get(role, role)


def _passed(step: RunStep, others: Iterable[RunStep]) -> bool:
    """Tell whether all steps of this one's role passed whole."""
    return all(it.outcome == "passed" and not it.cut for it in others if it.role == step.role)


def _step(step: RunStep) -> str:
    return f"{name_of(step)} ({what_came(step)})"


def _failures(facts: DraftFacts, label: str, title: str, most: int) -> list[str]:
    """Name failures of one class; whose they are is part of every line."""
    found = [it for it in facts.run.failures if it.label == label]
    lines = [f"- {title}: {_failure(it)}" for it in found]
    return at_most(lines, max(most, 2), what=f"{label.replace('_', ' ')}")


def _failure(failure: RunFailure) -> str:
    said = _PLACE.sub("", failure.message.splitlines()[0]) if failure.message else ""
    return f"{for_code(failure.subject)}" + (f": {for_code(one_line(said, 90))}" if said else "")


def not_verified(cells: Iterable[JobCell], run: RunView) -> tuple[str, ...]:
    """Say what upstream's jobs will look at that this run did not."""
    # Where no test depends on the change, those of other interpreters do not, either.
    aside = {"tests"} if run.selection.mode == "none" else set()
    starting = [cell for cell in cells if cell.starts and cell.role not in aside]
    lacks: Counter[str] = Counter()
    for cell in starting:
        if cell.state is CellState.NOT_REPLAYED:
            lacks[_LACKS.get(kind_of_lack(cell), kind_of_lack(cell))] += 1
    parts = [f"{kind} ({counted(number, 'job')})" for kind, number in lacks.most_common()]
    later = sum(1 for cell in starting if cell.later and cell.state is CellState.REPLAYED)
    if later:
        parts.append(f"{counted(later, 'job')} whose matrix is made while it runs")
    replayed = set(run.matrix.get("cells", ())) if run.matrix.get("exit") == 0 else set()
    own = ".".join(str(run.environment.get("python") or "").split(".")[:2])
    others = {
        version
        for cell in starting
        if cell.role == "tests" and cell.id not in replayed
        for version in _pythons(cell)
        if version != own
    }
    if others:
        parts.append(", ".join(_in_order(others)))
    return tuple(parts)


def _in_order(versions: Iterable[str]) -> list[str]:
    """Sort `3.9`, `3.10`, `PyPy 3.10`, and say once that they are of Python."""
    ordered = sorted(
        versions, key=lambda it: (" " in it, [int(n) for n in re.findall(r"\d+", it)])
    )
    return [f"Python {it}" if n == 0 and " " not in it else it for n, it in enumerate(ordered)]


def _pythons(cell: JobCell) -> list[str]:
    found = []
    for axis, value in cell.axes.items():
        text = str(value).lower()
        match = _VERSION.match(text) if "py" in axis.lower() or text.startswith("py") else None
        if match:
            version = match[1] or f"{match[2]}.{match[3]}"
            found.append(f"PyPy {version}" if text.startswith("pypy") else version)
    return found


def performance_lines(facts: DraftFacts, most: int) -> list[str]:
    """Give the table of what is slower, faster or unsure."""
    comparison = facts.comparison
    if comparison is None or comparison.self_test or not comparison.measured.results:
        return []
    results = sorted(comparison.measured.results, key=lambda it: -abs(it.interval.ratio - 1))
    news = [it for it in results if it.word is not Word.SAME]
    lines = ["", f"Performance, before and after: {in_text(in_words(comparison))}."]
    if not news:
        return lines
    lines += [
        "",
        "| benchmark | before | after | change | interval, % | |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for it in news[:most]:
        cells = (
            for_code_in_table(it.bench.id),
            quantity(it.base, it.bench.kind, it.bench.unit),
            quantity(it.head, it.bench.kind, it.bench.unit),
            f"{it.interval.ratio - 1:+.1%}",
            bounds(it.interval),
            str(it.word) if it.word is Word.UNSURE else in_text(answer(it)),
        )
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def review_lines(facts: DraftFacts, most: int) -> list[str]:
    """Give the review's errors and warnings, and what it could not look at."""
    review = facts.review
    if review is None:
        return []
    # What breaks the API is said with the changes.
    shown = [
        it
        for it in review.remarks
        if it.severity is not Severity.NOTE and not it.code.startswith("api.")
    ]
    lines = []
    for it in shown:
        place = f" ({for_code(f'{it.file}:{it.line}' if it.line else it.file)})" if it.file else ""
        lines.append(f"- {it.severity}: {in_prose(one_line(it.text, 160))}{place}")
    lines = at_most(lines, most, what="remarks")
    if review.unchecked:
        names = listed([in_text(f"{it.what}: {it.why}") for it in review.unchecked], most=2)
        lines.append(f"- not checked: {names}")
    return ["", "Remarks of an automated review:", "", *lines] if lines else []
