"""Says what a run proves: whether a named piece of evidence holds for the very tree that a draft is about."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

import msgspec

from presubmit.bench.outcome import in_words
from presubmit.bench.values import Word
from presubmit.drafts.text import in_text, listed
from presubmit.report.escape import for_code, one_line
from presubmit.values import FileStatus, Value, counted

if TYPE_CHECKING:
    from collections.abc import Callable

    from presubmit.drafts.values import DraftFacts, RunStep

_LONGEST: Final = 100
_NEAREST: Final = "only the nearest tests ran"


class Answer(Value, frozen=True, kw_only=True):
    """Whether something is so, and the fact that says it."""

    ok: bool
    why: str

    def but(self, why: str) -> Answer:
        """Give the same fact as no answer."""
        return msgspec.structs.replace(self, ok=False, why=why)


def answer(evidence: str, facts: DraftFacts) -> Answer:
    """Answer by a name of evidence: `tests`, `lint`, `step:NAME` and so on; an unknown name answers nothing."""
    if facts.stale:
        return Answer(ok=False, why="not for this tree")
    given = _answer(evidence, facts)
    return given.but(given.why) if facts.unproven else given


def _answer(evidence: str, facts: DraftFacts) -> Answer:
    if evidence.startswith("step:"):
        return _steps(evidence.removeprefix("step:"), facts)
    found = _ANSWERS.get(evidence)
    return found(facts) if found else Answer(ok=False, why=f"no evidence is called {evidence}")


def is_evidence(name: str) -> bool:
    """Tell whether `[[draft.item]]` may name this evidence."""
    return (
        name in _ANSWERS
        or name == "none"
        or (name.startswith("step:") and len(name) > len("step:"))
    )


def steps_of(name: str, facts: DraftFacts) -> tuple[RunStep, ...]:
    """Give the steps of a role, or the one of this id."""
    return tuple(step for step in facts.run.steps if name in {step.role, step.id})


def _steps(name: str, facts: DraftFacts) -> Answer:
    """Answer by the steps of a role: all of them passed whole."""
    steps = steps_of(name, facts)
    if not steps:
        return Answer(ok=False, why="not run")
    for step in steps:
        if step.outcome != "passed" or step.cut:
            return Answer(ok=False, why=f"{name_of(step)}: {what_came(step)}")
    if facts.run.state not in {"passed", "failed", "incomplete", "nothing"}:
        return Answer(ok=False, why=f"the run is {facts.run.state}")
    if name == "lint" and not any(step.command for step in steps):
        return Answer(ok=False, why="only the syntax was checked")
    if name == "tests" and is_nearest(facts):
        return Answer(ok=False, why=_NEAREST)
    return Answer(ok=True, why=_whole(name, steps))


def _whole(name: str, steps: tuple[RunStep, ...]) -> str:
    passed = sum(step.counts.passed for step in steps)
    if name == "tests" and passed:
        return f"{passed} passed"
    # That the sources parse goes without saying where a tool read them.
    named = [step for step in steps if step.command] or list(steps)
    return listed(list(dict.fromkeys(_tool(step) for step in named)), most=4)


def _tool(step: RunStep) -> str:
    """Name what was run: a linter by itself, another step by its id."""
    if step.role == "lint":
        return for_code(step.command[0]) if step.command else "syntax"
    return for_code(step.id)


def name_of(step: RunStep) -> str:
    """Name a step for those who do not know presubmit: a linter by itself, others by what they do."""
    if step.role == "lint" and step.command:
        return for_code(step.command[0])
    return {"lint": "syntax", "docs": "docstrings"}.get(step.role, step.role)


def what_came(step: RunStep) -> str:
    """Say what came of a step in a few words: `21 passed, 2 failed`."""
    counts = step.counts
    parts = [
        f"{number} {word}"
        for number, word in (
            (counts.passed, "passed"),
            (counts.failed, "failed"),
            (counts.errors, "error" if counts.errors == 1 else "errors"),
        )
        if number
    ]
    reason = in_text(one_line(step.reason, _LONGEST)) or step.outcome
    words = ", ".join(parts) if parts and step.role == "tests" else reason
    return f"{words} (cut: {in_text(one_line(step.cut, _LONGEST))})" if step.cut else words


def _tests(facts: DraftFacts) -> Answer:  # noqa: PLR0911 - one line a reason
    """No new failure among the affected tests, all of which ran; what fails on the base as well does not count."""
    steps = steps_of("tests", facts)
    run = facts.run
    if not steps:
        why = "n/a: no test is affected" if run.selection.mode == "none" else "not run"
        return Answer(ok=False, why=why)
    own = [it for it in run.failures if it.step in {step.id for step in steps}]
    new = [it for it in own if it.label != "on_base"]
    if new:
        return Answer(
            ok=False,
            why=f"{counted(len(new), 'failure')}: {listed([for_code(it.subject) for it in new], most=2)}",
        )
    lost = next((it for it in steps if it.cut or it.outcome not in {"passed", "failed"}), None)
    if lost is not None:
        return Answer(ok=False, why=f"{name_of(lost)}: {what_came(lost)}")
    if run.budget_cut or run.other_shards:
        return Answer(ok=False, why="not every affected test ran")
    if run.matrix.get("exit", 0) != 0:
        return Answer(ok=False, why="another cell of upstream's tests did not pass")
    if is_nearest(facts):
        return Answer(ok=False, why=_NEAREST)
    if any(it.outcome == "failed" for it in steps) and not own:
        return Answer(ok=False, why="failures were not classed")
    if run.state not in {"passed", "failed", "incomplete"}:
        return Answer(ok=False, why=f"the run is {run.state}")
    also = f", {len(own)} failing on the base too" if own else ""
    return Answer(
        ok=True, why=f"{selected(facts)}: {sum(it.counts.passed for it in steps)} passed{also}"
    )


def is_nearest(facts: DraftFacts) -> bool:
    """Tell whether the run took the nearest of the affected tests alone, as tier quick does."""
    return facts.run.tier == "quick" and facts.run.selection.mode == "scoped"


def selected(facts: DraftFacts) -> str:
    """Say how many test files were run, of how many."""
    chosen = facts.run.selection
    if chosen.mode == "all" or chosen.chosen == chosen.known:
        return f"all {counted(chosen.known, 'test file')}"
    return f"{chosen.chosen} of {counted(chosen.known, 'test file')}"


def _tests_added(facts: DraftFacts) -> Answer:
    if not facts.sources:
        return Answer(ok=False, why="n/a: no source file changes")
    what = (
        f"{counted(len(facts.tests), 'test file')} changed" if facts.tests else "no test changes"
    )
    failing = [it for it in facts.run.reproduces if it.fails_without_change]
    if failing:
        verb = "fails" if len(failing) == 1 else "fail"
        what += f", {counted(len(failing), 'test')} {verb} without the change"
    ran = _tests(facts)
    if not facts.tests or not ran.ok:
        return Answer(ok=False, why=what)
    return Answer(ok=True, why=what)


def _changelog(facts: DraftFacts) -> Answer:
    patterns = facts.asked.fragments
    if not patterns:
        return Answer(ok=False, why="n/a: the project has no changelog that is known")
    found = [
        file.path
        for file in facts.files
        if file.status is not FileStatus.DELETED
        and any(fnmatchcase(file.path, pattern) for pattern in patterns)
    ]
    if not found:
        return Answer(ok=False, why=f"nothing in {for_code(patterns[0])} changes")
    return Answer(ok=True, why=listed([for_code(path) for path in found], most=2))


def _dco(facts: DraftFacts) -> Answer:
    if not facts.commits:
        return Answer(ok=False, why="there is no commit yet")
    if facts.unsigned:
        return Answer(
            ok=False,
            why=f"{facts.unsigned} of {counted(len(facts.commits), 'commit')} without the author's sign-off",
        )
    return Answer(ok=True, why=f"{counted(len(facts.commits), 'commit')} signed off")


def _merges(facts: DraftFacts) -> Answer:
    if facts.merges is None:
        return Answer(ok=False, why="not known")
    behind = f" ({facts.base.behind} commits behind)" if facts.base.behind else ""
    return Answer(ok=facts.merges, why=f"{for_code(facts.base.ref)}{behind}")


def _api(facts: DraftFacts) -> Answer:
    breaks = facts.api.breaks
    if breaks:
        return Answer(ok=False, why=listed(breaks, most=2))
    if not facts.api.whole:
        why = "none was seen, but not all of it could be looked at"
        return Answer(ok=False, why=why)
    return Answer(ok=True, why="no public Python name removed or altered")


def _bench(facts: DraftFacts) -> Answer:
    comparison = facts.comparison
    if comparison is None or not comparison.measured.results:
        return Answer(ok=False, why="not measured")
    words = in_words(comparison)
    measured = comparison.measured
    clear = all(it.word in {Word.SAME, Word.FASTER} for it in measured.results)
    whole = not measured.unmeasured and not measured.broken
    if not facts.measured_whole:
        return Answer(ok=False, why=f"{words}; not by a whole run (`--tier full`)")
    return Answer(ok=clear and whole, why=words)


def _intended(facts: DraftFacts) -> Answer:
    loose = [*facts.uncommitted]
    if loose:
        return Answer(
            ok=False, why=f"not committed: {listed([for_code(it) for it in loose], most=3)}"
        )
    return Answer(ok=False, why=f"{counted(len(facts.files), 'file')}: yours to look through")


_ANSWERS: dict[str, Callable[[DraftFacts], Answer]] = {
    "tests": _tests,
    "tests-added": _tests_added,
    "build": lambda facts: _steps("build", facts),
    "lint": lambda facts: _steps("lint", facts),
    "docs": lambda facts: _steps("docs", facts),
    "changelog": _changelog,
    "dco": _dco,
    "merges": _merges,
    "api": _api,
    "bench": _bench,
    "files": _intended,
}
