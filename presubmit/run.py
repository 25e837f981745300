"""`presubmit run` as one line of values: change, selection, plan, results, verdict, report."""

from __future__ import annotations

import contextlib
import os
import platform
import shlex
import signal
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from presubmit.change.definitions import read_definitions
from presubmit.config import without_upstream
from presubmit.errors import ExitCode, GitError, PresubmitError
from presubmit.evidence import (
    Evidence,
    How,
    on_base,
    plan_digest,
    why_cut,
    why_none,
)
from presubmit.evidence_key import settings_digest
from presubmit.facts import read_facts, read_touched_tests, renamed_paths
from presubmit.history import History
from presubmit.out_of_time import OUT_OF_TIME, is_stopped, out_of_time
from presubmit.plan import build_work, duration_key, with_command
from presubmit.proof import (
    depends_on_untracked,
    evidence_tree,
    keep_run_evidence,
    names_another_base,
    narrowing,
)
from presubmit.reading import Planned, Reading, RunOptions, plan_run, read_all
from presubmit.recording import keep_build, keep_recording
from presubmit.replay.base import Base, ask_base, make_question
from presubmit.replay.compare import run_comparison
from presubmit.replay.lanes import Place
from presubmit.replay.perform import (
    KEEP,
    Builds,
    Head,
    Lanes,
    evidence_key,
    resumed,
    run_head,
    skipped,
)
from presubmit.replay.runner import SessionRunner, Watcher
from presubmit.replay.sessions import EarlySession
from presubmit.report.bench import (
    comparison_lines,
    points_of,
    read_comparison,
    render_comparison,
)
from presubmit.report.bench_plot import render_plot
from presubmit.report.folder import (
    new_run_folder,
    point_last,
    process_mark,
    settle_dead_runs,
    write_json,
)
from presubmit.report.machine import RunFacts, failed_to_run, interrupted, now, run_json
from presubmit.report.markdown import render_report
from presubmit.report.review import render_review
from presubmit.report.sarif import sarif_of
from presubmit.results.seconds import rows_of
from presubmit.selector import make_layout
from presubmit.selector.layout import is_test
from presubmit.upstream_options import Taken, said_of
from presubmit.upstream_taking import take_options
from presubmit.values import (
    BaseResults,
    Benchmarks,
    Definition,
    Mode,
    Outcome,
    PlanStep,
    Reviewing,
    ReviewingBuilt,
    Role,
    StepResult,
    TargetKind,
    Tests,
    Verdict,
    builtins_of,
    encode,
)
from presubmit.verdict import judge
from presubmit.where import (
    NOWHERE,
    Where,
    at_place,
    boot_id,
    find_where,
    history_path,
    open_lane_mirror,
    start_connecting,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import FrameType

    from presubmit.change.mirror import Mirror
    from presubmit.config import Sourced
    from presubmit.container.engine import Engine
    from presubmit.report.terminal import Terminal


class Terminated(BaseException):
    """SIGTERM came."""


def cmd_run(options: RunOptions, terminal: Terminal, environ: Mapping[str, str]) -> ExitCode:
    """Check this change the way upstream CI would."""
    try:
        return _run(options, terminal, environ)
    except Terminated:
        return ExitCode.TERMINATED  # before there was a run to settle


def _run(options: RunOptions, terminal: Terminal, environ: Mapping[str, str]) -> ExitCode:
    began = time.monotonic()
    previous = signal.signal(signal.SIGTERM, terminate)
    with ExitStack() as stack:
        stack.callback(signal.signal, signal.SIGTERM, previous)
        early = EarlySession(Role.TESTS, container=options.container)
        stack.callback(early.close)
        engine = start_connecting(options, environ)
        reading = read_all(options, environ)
        settle_dead_runs(Path(reading.change.top), boot=boot_id())
        history = stack.enter_context(History(history_path(reading)))
        mirror, builds = _open_head(reading, options, stack)
        checkout = mirror.checkout(reading.change.target.snapshot, clean=options.fresh, keep=KEEP)
        clean = checkout.needs_clean_build or options.fresh
        where, missing = _look(reading, options, stack, engine)
        reading = at_place(reading, where, options)
        raw = reading
        known = where if missing is None else None
        reading, taken = take_options(reading, options, known, environ, history)
        besides = taken.besides.get("tests", ())
        planned = plan_run(reading, options, history, clean=clean, besides=besides)
        # A change with nothing to check needs no engine.
        if missing is not None and any(
            not isinstance(step.work, Reviewing) for step in planned.plan.steps
        ):
            raise missing
        terminal.heading(reading.change, where.image, f"host, Python {platform.python_version()}")
        untracked = depends_on_untracked(reading.change)
        if untracked:
            terminal.line(f"depends on untracked: {', '.join(untracked)}", "yellow")
        history_note = (history.note,) if history.note else ()
        for note in (*reading.warnings, *where.notes, *history_note, *taken.problems):
            terminal.line(f"note {note}", "yellow")
        for text in said_of(taken):
            terminal.line(f"upstream  {text}", "dim")
        terminal.plan(planned.plan, reading.change, planned.selection)
        run = _Run(reading, planned, options, terminal, history, where, environ)
        run.raw, run.taken, run.builds = raw, taken, builds
        if any(isinstance(step.work, Tests) for step in planned.plan.steps):
            run.runner.adopt(Role.TESTS, early)
        return run.go(mirror, stack, began)


def _open_head(reading: Reading, options: RunOptions, stack: ExitStack) -> tuple[Mirror, Builds]:
    """Hold head's lane; a push that meets a run there takes another, without what was built in that one."""
    mirror, usual = _open_free(reading, options, "head", stack)
    if not options.hook:
        return mirror, Builds.MAKE
    return mirror, Builds.REUSE if usual else Builds.LEAVE


def _open_free(
    reading: Reading, options: RunOptions, lane: str, stack: ExitStack
) -> tuple[Mirror, bool]:
    """Hold a lane's mirror, for a push another one where a run has it; and say whether it is the usual one."""
    try:
        return stack.enter_context(open_lane_mirror(reading, lane)), True
    except GitError:
        if not options.hook:
            raise
    return stack.enter_context(open_lane_mirror(reading, f"hook-{lane}")), False


def _look(
    reading: Reading,
    options: RunOptions,
    stack: ExitStack,
    engine: Callable[[], Engine] | None,
) -> tuple[Where, PresubmitError | None]:
    """Find where steps run; what is missing for that is only wanted once there is a step."""
    try:
        return find_where(reading, options, stack, engine), None
    except PresubmitError as error:
        return NOWHERE, error


class _Run:
    """One run: it holds what was measured so far, so that nothing of it is lost however the run ends."""

    def __init__(
        self,
        reading: Reading,
        planned: Planned,
        options: RunOptions,
        terminal: Terminal,
        history: History,
        where: Where,
        environ: Mapping[str, str],
    ) -> None:
        self.reading = reading
        self.raw = reading
        """Without what upstream's jobs filled in."""
        self.taken = Taken()
        self.builds = Builds.MAKE
        self.evidence: dict[str, str] = {}
        """For which tree and tier the run is evidence, or why it is none; empty before its end."""
        self.planned = planned
        self.options = options
        self.terminal = terminal
        self.history = history
        self.where = where
        self.environ = environ
        self.change = reading.change
        self.plan = planned.plan
        self.top = Path(reading.change.top)
        self.folder = new_run_folder(self.top, reading.change.target.tree)
        self.results: dict[str, StepResult] = {}
        self.shown: dict[str, Outcome] = {}
        self._known_base: Base | None = None
        self._known_mirror: tuple[Mirror, bool] | None = None
        self.lock = threading.Lock()
        self.facts = RunFacts(
            started=now(),
            pid=os.getpid(),
            process=process_mark(os.getpid()) or "",
            boot=boot_id(),
            change=reading.change,
            selection=planned.selection,
            plan=planned.plan,
            environment=where.environment(),
        )
        self.place = Place(
            cache=reading.cache,
            run=self.folder.name.lower(),
            repository=reading.cache.parent.name,
            engine=where.engine,
            image=where.image,
            container=reading.config.config.container,
            environ=environ,
            fresh=options.fresh,
        )
        watcher = Watcher(
            started=terminal.started,
            progressed=terminal.progressed,
            ended=self._show,
            said=lambda text: terminal.line(f"        {text}"),
        )
        self.runner = SessionRunner(self.folder, watcher)
        (self.folder / "plan.json").write_bytes(encode(planned.plan))

    def go(self, mirror: Mirror, stack: ExitStack, began: float) -> ExitCode:
        """Run, judge, report; give the exit code."""
        self._write(None, running=True)
        point_last(self.folder)
        lanes = Lanes()
        deadline = self._start_deadline()
        try:
            try:
                base = self._perform(mirror, stack, lanes)
            finally:
                deadline.cancel()
                self.runner.close()
                lanes.close()
        except KeyboardInterrupt:
            return self._stopped(lanes, "interrupted", ExitCode.INTERRUPTED)
        except Terminated:
            return self._stopped(lanes, "terminated", ExitCode.TERMINATED)
        except (PresubmitError, OSError) as error:
            code = error.exit_code if isinstance(error, PresubmitError) else ExitCode.ENVIRONMENT
            run = self._json(self._ordered(), None, running=False)
            with contextlib.suppress(OSError):  # the disk that was full may still be
                write_json(
                    self.folder / "run.json", failed_to_run(run, str(error), exit_code=int(code))
                )
            raise
        return self._finish(base, began)

    # --- phases -----------------------------------------------------------------------------------------------------

    def _perform(self, mirror: Mirror, stack: ExitStack, lanes: Lanes) -> BaseResults:
        done: dict[str, StepResult] = {}
        if not self.options.fresh:
            done = resumed(self.plan, self.change, self.place, self.history)
            for step in self.plan.steps:
                if step.id in done:
                    self._remember(done[step.id])
        done |= self._review()
        head = Head(
            place=self.place,
            runner=self.runner,
            change=self.change,
            blobs=self.reading.head_reader.blobs,
            mirror=mirror,
            open_lint_mirror=lambda: self._lint_mirror(stack),
            builds=self.builds,
            remember=self._remember,
            learn=lambda built: keep_build(self.reading, built),
        )
        try:
            run_head(self.plan, head, lanes, done)
        finally:
            self._take_patch(lanes)
        if self.runner.stopped:
            return BaseResults(reason=self.runner.stopped)
        asked = self._ask_base(stack, lanes)
        if any(isinstance(step.work, Benchmarks) for step in self.plan.steps):
            run_comparison(self.plan, head, self._base(stack), lanes, dict(self.results))
        self._review_built(head, stack, lanes)
        return asked

    def _review(self) -> dict[str, StepResult]:
        """Review the change, again where that was done before: the run's folder shall hold the review."""
        steps = [step for step in self.plan.steps if isinstance(step.work, Reviewing)]
        if not steps:
            return {}
        from presubmit.review_reading import run_review  # noqa: PLC0415 - griffe takes a while

        done = {step.id: run_review(step, self.reading, self.folder) for step in steps}
        for result in done.values():
            self._remember(result)
        return done

    def _review_built(self, head: Head, stack: ExitStack, lanes: Lanes) -> None:
        """Review what base and head are built to; it comes last, since the base may be built for others."""
        steps = [step for step in self.plan.steps if isinstance(step.work, ReviewingBuilt)]
        if not steps or self.runner.stopped:
            return
        from presubmit.replay.built import LIBRARIES, WHEEL, Both, read_built  # noqa: PLC0415
        from presubmit.review.built import not_built  # noqa: PLC0415
        from presubmit.review_reading import read_review_facts, run_built_review  # noqa: PLC0415

        for prefix in ("base.", "built."):
            for name in (LIBRARIES, WHEEL):
                self.terminal.know(_titled(name), prefix=prefix)
        (step,) = steps
        assert isinstance(step.work, ReviewingBuilt)  # noqa: S101 - picked by it
        facts = read_review_facts(self.reading)
        both = Both(
            head=head,
            base=lambda: self._base(stack),
            lanes=lanes,
            open_wheel_mirror=lambda: _open_free(self.reading, self.options, "wheel", stack)[0],
            facts=facts,
        )
        build = self.results.get("build.1")
        whole = build is not None and build.outcome is Outcome.PASSED
        why = "head's build did not pass"
        began = time.monotonic()
        built = read_built(self.plan, step.work, both) if whole else not_built(why)
        if self.runner.stopped:
            return
        seconds = round(time.monotonic() - began, 3)
        result = run_built_review(step, facts, built, self.folder, seconds=seconds)
        self._remember(result if whole else skipped(step, why))

    def _lint_mirror(self, stack: ExitStack) -> Mirror:
        mirror = _open_free(self.reading, self.options, "lint", stack)[0]
        mirror.checkout(self.change.target.snapshot, clean=True)
        return mirror

    def _take_patch(self, lanes: Lanes) -> None:
        """Keep what lint tools changed, for `presubmit fix`."""
        lane = lanes.get("lint")
        if lane is None:
            return
        patch = lane.mirror.read_changes()
        if patch:
            (self.folder / "fix.patch").write_bytes(patch)

    def _ask_base(self, stack: ExitStack, lanes: Lanes) -> BaseResults:
        if self.options.check_base == "never":
            return BaseResults(reason="the base was not asked (--check-base never)")
        touched = self.touched()
        question = make_question(
            self.plan, self._ordered(), touched, code_changed=self._code_changed()
        )
        if question.empty and self.options.check_base != "always":
            return BaseResults(reason="nothing had to be asked of the base")
        base = self._base(stack)
        for name in ("build.1", "tests", *(one.step for one in question.twins), "reproduces"):
            self.terminal.know(_titled(name), prefix="base.")
        return ask_base(question, base, lanes)

    def _base(self, stack: ExitStack) -> Base:
        """Give what asking the base needs; made once."""
        if self._known_base is None:
            self._known_base = self._make_base(stack)
        return self._known_base

    def _make_base(self, stack: ExitStack) -> Base:
        reading = self.reading
        layout = make_layout(tuple(reading.base_reader.blobs), _configs(reading))
        # The base's own workflows say how the base is built.
        config = take_options(
            *(self.raw, self.options, self.where, self.environ, self.history), of_base=True
        )[0].config
        facts = read_facts(
            reading.base_reader, config.config, layout, plain=without_upstream(config)
        )
        return Base(
            place=self.place,
            runner=self.runner,
            change=self.change,
            open_mirror=lambda: self._base_mirror(stack),
            work=build_work(facts, config, self.change, clean=False, of_base=True),
            blobs=reading.base_reader.blobs,
            command=self._tests_work(config),
            definitions=self._base_definitions,
            say=lambda text: self.terminal.line(f"  base  {text}", "dim"),
            builds=self.builds,
        )

    def _base_mirror(self, stack: ExitStack) -> tuple[Mirror, bool]:
        if self._known_mirror is None:
            mirror = _open_free(self.reading, self.options, "base", stack)[0]
            report = mirror.checkout(self.change.base.commit, clean=self.options.fresh, keep=KEEP)
            self._known_mirror = mirror, report.needs_clean_build or self.options.fresh
            return self._known_mirror
        return self._known_mirror[0], False  # what was built since is of this very commit

    def _base_definitions(self, paths: Sequence[str]) -> tuple[Definition, ...]:
        reader = self.reading.base_reader
        return tuple(
            d
            for path in paths
            for d in read_definitions(path, reader.data(path) or b"")
            if d.public
        )

    def _tests_work(self, config: Sourced) -> Tests:
        """How the base runs its tests: chosen as on head, by the command that the base itself has."""
        works = [step.work for step in self.plan.steps if isinstance(step.work, Tests)]
        work = works[0] if works else Tests(command=(), mode=Mode.ALL)
        return with_command(work, config)

    def touched(self) -> frozenset[str]:
        """Give the tests whose definition the change adds or edits."""
        settings = self.planned.layout.settings
        return read_touched_tests(
            self.change,
            self.reading.base_reader,
            self.reading.head_reader,
            lambda path: is_test(path, settings),
            functions=settings.python_functions,
        )

    def _code_changed(self) -> bool:
        settings = self.planned.layout.settings
        return any(
            not is_test(path, settings) and not path.endswith((".md", ".rst", ".txt"))
            for file in self.change.files
            for path in file.paths
        )

    # --- keeping ----------------------------------------------------------------------------------------------------

    def _remember(self, result: StepResult) -> None:
        with self.lock:
            self.results[result.id] = result
        step = next((s for s in self.plan.steps if s.id == result.id), None)
        if step is not None and not result.cached:
            self._write_history(step, result)
        self._write(None, running=True)
        if self.shown.get(result.id) is not result.outcome:
            self._show(result)

    def _write_history(self, step: PlanStep, result: StepResult) -> None:
        if result.outcome in {Outcome.PASSED, Outcome.FAILED}:
            self.history.write_step(duration_key(step), result.seconds)
        whole = result.outcome is Outcome.PASSED and not result.cut and not self.runner.stopped
        if whole and not self.options.arguments:
            key = evidence_key(step, self.change, self.place)
            self.history.write_evidence(key, encode(result).decode())
        if isinstance(step.work, Tests) and result.recording:
            self._keep_recording(step.work, result)
        if is_stopped(result):
            return  # a file that was cut off took longer than what is known of it
        if isinstance(step.work, Tests) and step.work.pure:
            return  # how the tests do without the extension module is no news of how they usually do
        known = self.history.test_seconds()
        self.history.write_tests(rows_of(step.work, result.cases, known))

    def _keep_recording(self, work: Tests, result: StepResult) -> None:
        """Keep what the tests were seen to run; a recording that cannot be used is left."""
        keep_recording(
            self.history,
            self.folder / result.recording,
            work,
            result,
            reading=self.reading,
            known=self.planned.layout.tests,
        )

    def _show(self, result: StepResult) -> None:
        self.shown[result.id] = result.outcome
        self.terminal.ended(self._settled(result))
        if result.role is Role.BENCH:
            self._show_comparison()

    def _show_comparison(self) -> None:
        """Print the table of benchmarks, and keep the same as a plot."""
        comparison = read_comparison(self.folder)
        if comparison is None:
            return
        for text, style in comparison_lines(comparison):
            self.terminal.line(text, style)
        (self.folder / "bench.svg").write_text(render_plot(comparison), encoding="utf-8")
        self.history.write_benchmarks(self.change.target.tree, points_of(comparison))

    def _settled(self, result: StepResult) -> StepResult:
        """Give a result as it stands where the budget has ended; before that, and for other ends, as it is."""
        if self.runner.stopped != OUT_OF_TIME:
            return result
        return out_of_time(result, self.plan, [it.path for it in self.planned.selection.tests])

    def _ordered(self) -> list[StepResult]:
        with self.lock:
            return [self.results[s.id] for s in self.plan.steps if s.id in self.results]

    def _write(self, verdict: Verdict | None, *, running: bool) -> None:
        results = self._ordered()
        with self.lock:
            write_json(self.folder / "run.json", self._json(results, verdict, running=running))

    def _json(
        self, results: Sequence[StepResult], verdict: Verdict | None, *, running: bool
    ) -> dict[str, object]:
        taken = self.taken
        return {
            **run_json(self.facts, results, verdict, running=running),
            "evidence": self.evidence,
            "upstream": {
                "cells": taken.cells,
                "besides": builtins_of(taken.besides),
                "notes": [*taken.problems, *taken.notes],
            },
        }

    # --- ends -------------------------------------------------------------------------------------------------------

    def _start_deadline(self) -> threading.Timer:
        seconds = self.options.budget if self.options.budget is not None else 10**9
        timer = threading.Timer(
            min(seconds, threading.TIMEOUT_MAX), lambda: self.runner.stop(OUT_OF_TIME)
        )
        timer.daemon = True
        if self.options.budget is not None:
            timer.start()
        return timer

    def _finish(self, base: BaseResults, began: float) -> ExitCode:
        results = self._ordered()
        if self.runner.stopped:
            # Out of time is not an error of ours: what did not run is said, and nothing is green for it.
            results = [self._settled(r) for r in results]
        verdict = judge(
            self.plan,
            results,
            base,
            touched=self.touched() if any(r.cases for r in results) else frozenset(),
            renamed=renamed_paths(self.change),
            allow_partial=self.options.allow_partial,
            flags=self._flags(),
        )
        with self.lock:
            self.results = {r.id: r for r in results}
        seconds = time.monotonic() - began
        how = self._how()
        self._keep_evidence(results, verdict, how)
        self._write(verdict, running=False)
        cut = why_cut(self.plan, how) or self.runner.stopped
        keep_run_evidence(self.reading, self.history, self.folder, self.environ, cut=cut)
        taken = (*said_of(self.taken), *self.taken.problems, *self.taken.notes)
        report = render_report(self.facts, results, verdict, seconds, taken=taken)
        report += self._keep_findings(results)
        comparison = read_comparison(self.folder)
        if comparison is not None:
            report += render_comparison(comparison)
        (self.folder / "report.md").write_text(report, encoding="utf-8", errors="backslashreplace")
        from presubmit.results.junit import write_junit  # noqa: PLC0415 - only where there are cases

        write_junit(self.folder / "junit.xml", [(r.id, r.cases) for r in results if r.cases])
        self.terminal.verdict(verdict, seconds, self.folder, self.top, flags=self._flags())
        return ExitCode(verdict.exit_code)

    def _keep_findings(self, results: Sequence[StepResult]) -> str:
        """Write what was found as SARIF; give the report's section on the review."""
        kept = None
        if any(r.role is Role.REVIEW for r in results):
            from presubmit.review_reading import read_kept_review  # noqa: PLC0415 - griffe takes a while

            kept = read_kept_review(self.folder)
        found = [f for r in results if r.role is not Role.REVIEW for f in (*r.findings, *r.advice)]
        write_json(self.folder / "report.sarif", sarif_of(kept, found))
        return render_review(kept) if kept is not None else ""

    def _how(self) -> How:
        """Say how the run was asked for."""
        return How(
            named_base=names_another_base(self.reading, self.options, self.environ),
            narrowed=narrowing(self.options),
            on_host=not self.options.container,
            host_is_users=self.options.host_is_users,
        )

    def _keep_evidence(self, results: Sequence[StepResult], verdict: Verdict, how: How) -> None:
        """Write down that the tier ran green on this tree, where it did; else remember why that is not said."""
        why = why_none(self.plan, results, verdict, how)
        tree, untracked = evidence_tree(self.reading)
        self.evidence = {"tree": tree, "tier": str(self.plan.tier), "why_none": why}
        if why:
            # Who asked for a part knows that it is one.
            if verdict.exit_code == ExitCode.OK and not (how.narrowed or self.plan.incomplete):
                self.terminal.line(f"no evidence for a push: {why}", "dim")
            return
        where = self.where.image
        row = Evidence(
            tree=tree,
            base=self.change.base.commit,
            base_ref=self.change.base.ref,
            settings=settings_digest(self.environ),
            tier=str(self.plan.tier),
            place=f"image {where.name}" if where else f"host, Python {platform.python_version()}",
            plan=plan_digest(self.plan),
            at=now(),
            untracked=", ".join(untracked)[:500],
            on_base=on_base(verdict),
        )
        self.history.write_tier_evidence(builtins_of(row))
        self.terminal.line(f"evidence: tier {row.tier} for tree {tree[:7]}", "dim")

    def _flags(self) -> str:
        """Give the options that a command to repeat needs as well."""
        flags = "" if self.options.container else " --no-container"
        if self.options.image:
            flags += f" --image {shlex.quote(self.options.image)}"
        if self.options.base:
            flags += f" --base {shlex.quote(self.options.base)}"
        if self.options.kind is TargetKind.COMMIT:
            flags += f" --commit {(self.change.target.commit or '')[:10]}"
        return flags

    def _stopped(self, lanes: Lanes, word: str, code: ExitCode) -> ExitCode:
        self.runner.stop(word)
        lanes.close()
        run = self._json(self._ordered(), None, running=False)
        write_json(self.folder / "run.json", interrupted(run, exit_code=int(code)))
        self.terminal.line(f"INTERRUPTED   (exit {int(code)})", "bold red")
        self.terminal.line(f"what was measured: {self.folder.relative_to(self.top)}/run.json")
        return code


def terminate(_number: int, _frame: FrameType | None) -> NoReturn:
    """Turn SIGTERM into an exception."""
    raise Terminated


def _configs(reading: Reading) -> dict[str, str]:
    names = ("pyproject.toml", "setup.cfg", "pytest.ini", ".pytest.ini", "tox.ini", "pytest.toml")
    return {n: text for n in names if (text := reading.base_reader.text(n)) is not None}


def _titled(name: str) -> PlanStep:
    titles = {
        "build.1": "build",
        "tests": "failing tests",
        "reproduces": "new tests on the base's code",
        "libraries": "libraries of both sides",
        "wheel": "wheel",
    }
    work = Tests(command=(), mode=Mode.ALL)
    return PlanStep(
        id=name,
        role=Role.TESTS,
        title=titles.get(name, titles["tests"]),
        work=work,
        origin="",
        why="",
    )
