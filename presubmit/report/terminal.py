"""The live terminal: the same lines in a tty (with what runs now below them), in a pipe, and on GitHub Actions."""

from __future__ import annotations

import io
import os
import re
import sys
import threading
import time
from typing import TYPE_CHECKING, Final, Self, TextIO

from presubmit.plan import planned_tests
from presubmit.report.escape import for_command_data, for_command_property, for_terminal, one_line
from presubmit.values import FailureClass, Mode, Outcome, Role, State, Tests, counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from rich.console import Console
    from rich.status import Status

    from presubmit.container.model import ImageRef
    from presubmit.values import (
        Change,
        Failure,
        Finding,
        Plan,
        PlanStep,
        Reproduces,
        Selection,
        StepResult,
        Verdict,
    )

_BEAT_SECONDS: Final = 10.0
_MOST_FAILURES: Final = 20
_MOST_EARLY: Final = 3
_LABELS: Final[Mapping[FailureClass, tuple[str, str]]] = {
    FailureClass.NEW: ("NEW", "bold red"),
    FailureClass.ON_BASE: ("ON BASE", "yellow"),
    FailureClass.FLAKY: ("FLAKY", "magenta"),
    FailureClass.UNKNOWN: ("UNKNOWN", "bold red"),
}
_WORDS: Final[Mapping[Outcome, tuple[str, str]]] = {
    Outcome.PASSED: ("ok", "green"),
    Outcome.FAILED: ("FAIL", "bold red"),
    Outcome.ERROR: ("ERROR", "bold red"),
    Outcome.SKIPPED: ("skip", "dim"),
}


def is_ci(environ: Mapping[str, str]) -> bool:
    """Whether this is a CI machine; `CI=false` and `CI=0` say no."""
    return environ.get("CI", "").lower() not in {"", "0", "false", "no"}


def choose_output(asked: str, environ: Mapping[str, str], stream: TextIO) -> str:
    """Turn `auto` into `rich`, `plain` or `github`."""
    if asked != "auto":
        return asked
    if environ.get("GITHUB_ACTIONS") == "true":
        return "github"
    dumb = environ.get("TERM") in {"dumb", None}
    return "rich" if stream.isatty() and not dumb and not is_ci(environ) else "plain"


def wants_colour(environ: Mapping[str, str], stream: TextIO) -> bool:
    """NO_COLOR before FORCE_COLOR before the terminal (no-color.org)."""
    if environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR", "0") != "0":
        return True
    return stream.isatty()


class Terminal:
    """Writes a run's lines to `stream` as they come; `output` is `rich`, `plain`, `github` or `quiet`."""

    def __init__(self, output: str, stream: TextIO | None = None) -> None:
        self._output = output
        # A closed standard output is None: the run goes on, and its files say everything.
        self._stream = stream or sys.stdout or io.StringIO()
        if isinstance(self._stream, io.TextIOWrapper):
            # A locale that lacks a character must not cost the run its report.
            self._stream.reconfigure(errors="backslashreplace")
        self._lock = threading.RLock()
        self._running: dict[str, tuple[str, float]] = {}
        self._titles: dict[str, str] = {}
        self._expected: dict[str, float | None] = {}
        self._told = time.monotonic()
        self._closing = threading.Event()
        self._beat: threading.Thread | None = None
        self._console: Console | None = None
        self._status: Status | None = None
        if output != "quiet":
            self._open()

    def _open(self) -> None:
        self._beat = threading.Thread(target=self._keep_beating, daemon=True)
        self._beat.start()
        if self._output != "rich" and not wants_colour(os.environ, self._stream):
            return  # plain lines need no rich, which costs 0.1 s
        from rich.console import Console  # noqa: PLC0415

        self._console = Console(
            file=self._stream,
            force_terminal=True,
            highlight=False,
            soft_wrap=True,
            no_color=not wants_colour(os.environ, self._stream),
        )
        if self._output == "rich":
            self._status = self._console.status("", spinner="dots")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop the live part; the lines stay."""
        self._closing.set()
        if self._beat is not None:
            self._beat.join(timeout=2)
        with self._lock:
            if self._status is not None:
                self._status.stop()
                self._status = None

    # --- lines ------------------------------------------------------------------------------------------------------

    def line(self, text: str = "", style: str = "") -> None:
        """Write one line; its text is shown as it is, never read as markup."""
        if self._output == "quiet":
            return
        shown = for_terminal(text).replace("\n", "\\n")
        # GitHub's runner reads `::command::` after leading blanks, and the old `##[command]` anywhere in a line.
        shown = re.sub(r"^(\s*):(?=:)", r"\1: ", shown).replace("##[", "# #[")
        with self._lock:
            self._told = time.monotonic()
            try:
                self._write(shown, style)
            except (OSError, ValueError):
                # Nobody reads any more (`| head`), or the disk is full: that must not cost the verdict.
                self._output = "quiet"
                self._status = None

    def _write(self, shown: str, style: str) -> None:
        if self._console is None:
            self._stream.write(f"{shown.rstrip()}\n")
            self._stream.flush()
            return
        from rich.text import Text  # noqa: PLC0415

        self._console.print(Text(shown, style=style))

    def heading(
        self, change: Change, image: ImageRef | None, where: str, *, command: str = "run"
    ) -> None:
        """Say what is tested, against what, and where."""
        target = change.target
        parts = []
        if target.dirty:
            parts.append(f"{len(target.dirty)} changed")
        if target.untracked:
            parts.append(f"{len(target.untracked)} untracked")
        detail = f" ({', '.join(parts)})" if parts else ""
        name = change.top.rstrip("/").rpartition("/")[2]
        branch = f"branch {change.branch}" if change.branch else "detached HEAD"
        self.line(
            f"presubmit {command}  {name}  {branch}  {target.kind} {target.tree[:7]}{detail}",
            "bold",
        )
        base = change.base
        behind = f", {base.behind} commits behind" if base.behind else ""
        box = f"image {image.name} {image.id[:19]}" if image is not None else where
        self.line(f"base {base.ref} @ {base.commit[:7]} ({base.how}{behind})   {box}")
        if base.warning:
            self.line(f"note {base.warning}", "yellow")

    def plan(self, plan: Plan, change: Change, selection: Selection) -> None:
        """Say in one line what will run, and in further ones what was not sure."""
        parts = []
        for step in plan.steps:
            if step.role == "tests":
                continue
            parts.append(step.title)
        if any(step.role == "tests" for step in plan.steps):
            parts.append(f"tests {selection_in_words(selection, plan)}")
        files = f"{len(change.files)} file{'s' if len(change.files) != 1 else ''}"
        total = sum(step.expected_seconds or 0.0 for step in plan.steps)
        estimate = f"   ~{duration(total)}" if total > LEAST else ""
        self.line(f"plan {files} -> {' · '.join(parts) or 'nothing to run'}{estimate}")
        for text in selection.unsure[:5]:
            self.line(f"     unsure: {text}", "yellow")
        if len(selection.unsure) > 5:  # noqa: PLR2004
            self.line(f"     unsure: and {len(selection.unsure) - 5} more", "yellow")
        for text in _not_here(plan):
            self.line(f"     {text}", "yellow")
        for text in plan.left_out:
            self.line(f"     not in it: {text}", "dim")
        self.line()
        for step in plan.steps:
            self.know(step)

    def know(self, step: PlanStep, prefix: str = "") -> None:
        """Remember a step's title for the lines about it."""
        self._titles[prefix + step.id] = step.title
        self._expected[prefix + step.id] = step.expected_seconds

    # --- live -------------------------------------------------------------------------------------------------------

    def started(self, name: str) -> None:
        """Say that a step began."""
        with self._lock:
            self._running[name] = ("", time.monotonic())
            self._refresh()

    def progressed(self, name: str, text: str) -> None:
        """Pass on what a step is doing."""
        with self._lock:
            began = self._running.get(name, ("", time.monotonic()))[1]
            self._running[name] = (text, began)
            self._refresh()

    def ended(self, result: StepResult) -> None:
        """Write the line of a step that is done."""
        with self._lock:
            self._running.pop(result.id, None)
            title = self._titles.get(result.id, result.id)
            detail = what_came_of(result)
            word, _, name = result.id.partition(".")
            if word in {"base", "built", "company"} or word.startswith("again"):
                # What fails there is an answer, not news.
                shown = self._titles.get(result.id) or self._titles.get(name, name)
                told = f"{shown}: {detail or 'ok'}   {duration(result.seconds)}"
                self.line(f"  {word.rstrip('0123456789'):<5} {told}", "dim")
                self._refresh()
                return
            word, style = _WORDS[result.outcome]
            seconds = "cached" if result.cached else duration(result.seconds)
            self.line(
                f"  {word:<6}{title:<28} {detail:<44} {seconds:>7}", style if word != "ok" else ""
            )
            for note in result.notes:
                self.line(f"        note: {note}", "yellow")
            for finding in result.advice[:5]:
                self.line(f"        advice: {finding_line(finding)}", "dim")
            if result.outcome is Outcome.FAILED:
                failing = [c for c in result.cases if c.outcome in {"failed", "error"}]
                for case in failing[:_MOST_EARLY]:
                    self.line(f"        new?  {one_line(case.id)}", "red")
                if len(failing) > _MOST_EARLY:
                    self.line(f"        new?  and {len(failing) - _MOST_EARLY} more", "red")
            self._refresh()

    def _refresh(self) -> None:
        if self._status is None:
            return
        if not self._running:
            self._status.stop()
            return
        from rich.text import Text  # noqa: PLC0415

        self._status.update(Text(self._now()))
        self._status.start()

    def _now(self) -> str:
        parts = []
        for name, (text, began) in self._running.items():
            took = duration(time.monotonic() - began)
            what = f" {one_line(text, 60)}" if text else ""
            parts.append(f"{self._titles.get(name, name)}{what} {took}")
        return " · ".join(parts)

    def _keep_beating(self) -> None:
        while not self._closing.wait(0.5):
            with self._lock:
                quiet = time.monotonic() - self._told
                if self._output == "rich":
                    self._refresh()
                elif self._running and quiet >= _BEAT_SECONDS:
                    self.line(f"  ...   {self._now()}")

    # --- the end ----------------------------------------------------------------------------------------------------

    def verdict(
        self, verdict: Verdict, seconds: float, folder: Path, top: Path, *, flags: str = ""
    ) -> None:
        """Show failures last, the next command at the very end."""
        self.line()
        if verdict.failures:
            count = len(verdict.failures)
            self.line(f"{count} failure{'s' if count != 1 else ''}", "bold")
            groups = grouped(verdict.failures)
            for failure, alike in groups[:_MOST_FAILURES]:
                self._failure(failure, alike)
            if len(groups) > _MOST_FAILURES:
                self.line(f"  and {len(groups) - _MOST_FAILURES} more: presubmit report")
        for reproduced in verdict.reproduces:
            self.line(f"  {reproduces_in_words(reproduced)}")
        for text in verdict.not_run:
            self.line(f"  NOT RUN   {text}", "yellow")
        style = {State.PASSED: "bold green", State.NOTHING: "bold green"}.get(
            verdict.state, "bold red"
        )
        self.line(closing_line(verdict, seconds), style)
        try:
            shown = folder.relative_to(top)
        except ValueError:
            shown = folder
        self.line(f"log {shown}/logs   report {shown}/report.md")
        if (folder / "fix.patch").is_file():
            self.line("fix: presubmit fix   applies what the lint tools changed")
        command = next_command(verdict, flags)
        if command:
            self.line(f"next: {command}")

    def _failure(self, failure: Failure, alike: int) -> None:
        label, style = _LABELS[failure.label]
        more = f" (and {alike} more of its parameters)" if alike else ""
        self.line(f"  {label:<9} {one_line(failure.subject)}{more}", style)
        if failure.message:
            where = f"{failure.file}:{failure.line}: " if failure.file and failure.line else ""
            where = "" if where and failure.subject.startswith(where.rstrip(": ")) else where
            self.line(
                f"            {where}{one_line(failure.message.strip().splitlines()[0], 200)}"
            )
        parts = [f"base: {failure.base}"]
        if failure.detail:
            parts.append(failure.detail)
        self.line(f"            {' · '.join(parts)}")
        if failure.label is not FailureClass.ON_BASE and failure.repro:
            self.line(f"            repro: {one_line(failure.repro, 1000)}")
        if self._output == "github":
            self._annotate(failure, label)

    def _annotate(self, failure: Failure, label: str) -> None:
        kind = "error" if failure.label in {FailureClass.NEW, FailureClass.UNKNOWN} else "warning"
        where = f" file={for_command_property(failure.file)}" if failure.file else ""
        if failure.line and where:
            where += f",line={failure.line}"
        text = for_command_data(f"{label} {failure.subject}: {failure.message}")
        with self._lock:
            self._stream.write(f"::{kind}{where}::{text}\n")
            self._stream.flush()


def grouped(failures: Sequence[Failure]) -> list[tuple[Failure, int]]:
    """Put a test's parameters together, worst class first: (one failure, how many more are like it)."""
    order = list(_LABELS)
    groups: dict[tuple[str, ...], list[Failure]] = {}
    for failure in sorted(failures, key=lambda f: order.index(f.label)):
        name = failure.subject
        if failure.kind == "test":
            path, _, rest = name.partition("::")
            name = f"{path}::{rest.partition('[')[0]}"
        key = (failure.label, failure.kind, name, failure.base, failure.detail)
        groups.setdefault(key if failure.kind == "test" else (*key, failure.message), []).append(
            failure
        )
    return [(members[0], len(members) - 1) for members in groups.values()]


def selection_in_words(selection: Selection, plan: Plan) -> str:
    """Say how many test files run: `3 of 20 files`, `all 20 files`, `12 tests in 3 of 20 files`."""
    works = [step.work for step in plan.steps if isinstance(step.work, Tests)]
    first = works[0] if works else Tests(command=(), mode=Mode.NONE)
    if first.arguments:
        return f"as asked: {' '.join(first.arguments)}"
    if first.ids:
        return f"{len(first.ids)} that failed last"
    whole = selection.mode is Mode.ALL and not plan.budget_cut and not plan.elsewhere
    if whole:
        return f"all {selection.known} files"
    files = {path for work in works for path in work.files} or {t.path for t in selection.tests}
    units = planned_tests(plan)
    said = f"{len(files)} of {selection.known} files"
    narrowed = {unit.partition("::")[0] for unit in units if "::" in unit}
    if narrowed == files:
        return f"{counted(len(units), 'test')} in {said}"
    return f"{said} (single tests of {len(narrowed)})" if narrowed else said


def _not_here(plan: Plan) -> list[str]:
    """Name what of the affected tests does not run here: the first few that the budget cut, and the other shards'."""
    cut = [f"cut by the budget: {name}" for name in plan.budget_cut[:3]]
    if len(plan.budget_cut) > len(cut):
        cut.append(f"cut by the budget: and {len(plan.budget_cut) - len(cut)} more")
    return [*cut, elsewhere_in_words(plan)] if plan.elsewhere else cut


def elsewhere_in_words(plan: Plan) -> str:
    """Say how many of the affected tests other machines run."""
    return f"{counted(len(plan.elsewhere), 'affected test file')} in other shards: not run here"


def what_came_of(result: StepResult) -> str:
    """Say in a few words what a step gave."""
    counts = result.counts
    counted = [
        f"{number} {word}"
        for number, word in (
            (counts.passed, "passed"),
            (counts.failed, "failed"),
            (counts.errors, "error" if counts.errors == 1 else "errors"),
            (counts.skipped, "skipped"),
        )
        if number
    ]
    parts = [" ".join(counted)] if counted else []
    if result.modules:
        parts.append(f"extension {', '.join(result.modules[:3])}")
    told = counted and re.fullmatch(r"\d+ tests? failed", result.reason)
    news = result.outcome is not Outcome.PASSED or result.role in {Role.BENCH, Role.REVIEW}
    if news and result.reason and not told:
        parts.append(one_line(result.reason, 160))
    return "; ".join(parts)


def finding_line(finding: Finding) -> str:
    """Give a finding as `file:line: CODE message`, which editors can follow."""
    where = f"{finding.file}:{finding.line or 1}: " if finding.file else ""
    code = f"{finding.code} " if finding.code else ""
    return f"{where}{code}{one_line(finding.message)}"


def reproduces_in_words(reproduced: Reproduces) -> str:
    """Say whether a new or changed test fails without the change."""
    answer = {True: "yes", False: "no (passes on base too)", None: "could not be told"}
    said = answer[reproduced.fails_without_change]
    reason = f": {one_line(reproduced.reason, 120)}" if reproduced.reason else ""
    return f"reproduces the bug: {said}   {reproduced.test}{reason}"


def closing_line(verdict: Verdict, seconds: float) -> str:
    """Give the one line that says how it ended: `FAILED in 1m09s: 1 new failure, 1 on base`."""
    counted = []
    for label, word in (
        (FailureClass.NEW, "new failure"),
        (FailureClass.UNKNOWN, "unknown"),
        (FailureClass.ON_BASE, "on base"),
        (FailureClass.FLAKY, "flaky"),
    ):
        number = sum(1 for f in verdict.failures if f.label is label)
        if number:
            plural = "s" if word == "new failure" and number != 1 else ""
            counted.append(f"{number} {word}{plural}")
    if verdict.not_run:
        counted.append(f"{len(verdict.not_run)} not run")
    word = {
        State.PASSED: "PASSED",
        State.FAILED: "FAILED",
        State.ERROR: "COULD NOT TEST",
        State.INCOMPLETE: "INCOMPLETE",
        State.INTERRUPTED: "INTERRUPTED",
        State.NOTHING: "nothing to check",
        State.RUNNING: "RUNNING",
    }[verdict.state]
    tail = f": {', '.join(counted)}" if counted else ""
    return f"{word} in {duration(seconds)}{tail}   (exit {int(verdict.exit_code)})"


def next_command(verdict: Verdict, flags: str = "") -> str:
    """Name what to do next; `flags` are the options that this run needed."""
    if any(f.kind == "test" and f.label is FailureClass.NEW for f in verdict.failures):
        return f"presubmit run --last-failed{flags}"
    if any(f.kind == "lint" and f.label is FailureClass.NEW for f in verdict.failures):
        return f"presubmit run --only lint{flags}"
    if verdict.state is State.ERROR:
        own = verdict.not_run and all(
            text.startswith(("tests.", "lint.", "docs.")) for text in verdict.not_run
        )
        return "presubmit report   (and the step's log)" if own else "presubmit doctor"
    return ""


LEAST: Final = 0.05
"""Seconds that are shown as 0.0."""


def expected_in_words(seconds: float | None) -> str:
    """Give what a step is expected to take: `~12.0s`, `<0.1s`, `?` where nobody knows."""
    if not seconds:
        return "?"
    return f"~{duration(seconds)}" if seconds > LEAST else "<0.1s"


def duration(seconds: float) -> str:
    """Give seconds as `0.4s`, `12.0s` or `1m09s`."""
    if round(seconds, 1) < 60:  # noqa: PLR2004
        return f"{seconds:.1f}s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}m{rest:02d}s"
