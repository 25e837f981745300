"""`presubmit replay` as one line of values: change, cells, results, verdict, report."""

from __future__ import annotations

import contextlib
import os
import platform
import signal
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from presubmit.errors import ExitCode, PresubmitError, UsageError
from presubmit.history import History
from presubmit.proof import keep_run_evidence
from presubmit.reading import RunOptions, read_all, read_selection
from presubmit.replay.job.graph import Graph
from presubmit.replay.job.house import House, find_here, local_images
from presubmit.replay.job.launch import Launcher
from presubmit.replay.job.origin import make_origin
from presubmit.replay.job.outcome import file_name, step_result
from presubmit.replay.job.sources import open_sources
from presubmit.report.cells import WORDS, markdown_cells
from presubmit.report.folder import (
    new_run_folder,
    point_last,
    process_mark,
    settle_dead_runs,
    write_json,
)
from presubmit.report.machine import RunFacts, failed_to_run, interrupted, now, run_json
from presubmit.report.markdown import render_report
from presubmit.run import Terminated, terminate
from presubmit.selector.layout import is_test
from presubmit.upstream.cells import CellState, JobCell, by_workflow, summary
from presubmit.upstream.names import find_cells
from presubmit.upstream_reading import Upstream, make_place, read_event, read_upstream
from presubmit.values import (
    BaseResults,
    Finding,
    Mode,
    Outcome,
    Plan,
    PlanStep,
    Replay,
    Role,
    Selection,
    StepResult,
    TargetKind,
    Tier,
    builtins_of,
    counted,
    encode,
)
from presubmit.verdict import judge
from presubmit.where import boot_id, find_where, history_path, start_connecting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from presubmit.reading import Reading
    from presubmit.replay.job.graph import Ended
    from presubmit.replay.job.house import Place
    from presubmit.replay.job.values import CellResult
    from presubmit.report.terminal import Terminal
    from presubmit.upstream.here import Here
    from presubmit.upstream.nodes import Problem
    from presubmit.values import Change
    from presubmit.where import Where


_TAIL: Final = 4000
_ROLES: Final = frozenset({"lint", "build", "tests", "docs", "bench", "other"})


class ReplayOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What the command line of `replay` says."""

    run: RunOptions
    """Target, base and place, as for `presubmit run`."""
    queries: tuple[str, ...] = ()
    everything: bool = False
    event: str = "pull_request"
    needs: bool = True
    """Whether the jobs that a chosen cell needs are replayed as well."""
    fail_fast: bool = True
    parallel: int = 0
    root: bool = False
    require_complete: bool = False
    tests: str = "all"
    """`all`, or what every pytest of the jobs is narrowed to: `affected`, `nearest`."""


def cmd_replay(options: ReplayOptions, terminal: Terminal, environ: Mapping[str, str]) -> ExitCode:
    """Replay jobs of upstream CI for this change, as their workflows are written."""
    try:
        return _replay(options, terminal, environ)
    except Terminated:
        return ExitCode.TERMINATED  # before there was a run to settle


def _replay(options: ReplayOptions, terminal: Terminal, environ: Mapping[str, str]) -> ExitCode:
    began = time.monotonic()
    previous = signal.signal(signal.SIGTERM, terminate)
    with ExitStack() as stack:
        stack.callback(signal.signal, signal.SIGTERM, previous)
        connecting = start_connecting(options.run, environ)
        reading = read_all(options.run, environ)
        settle_dead_runs(Path(reading.change.top), boot=boot_id())
        where = find_where(reading, options.run, stack, connecting)
        root = options.root or reading.config.config.replay.user == "root"
        place = make_place(reading, where, environ, root=root, pull=options.run.pull)
        if options.tests != "all":
            place = msgspec.structs.replace(place, selection=select_for(reading, options.tests))
        replay = _Replay(reading, options, terminal, where, place, find_here(place))
        return replay.go(began)


def select_for(reading: Reading, tests: str) -> dict[str, Any] | None:
    """Select the tests that the change can affect, as the plugin is told of them; None where that is all of them."""
    selection, layout = read_selection(reading, tests)
    if selection.mode is Mode.ALL:
        return None
    known = [p for p in reading.head_reader.blobs if is_test(p, layout.settings)]
    return {
        "mode": "scoped",
        "files": [test.path for test in selection.tests],
        "known": known,
    }


class _Replay:
    """One replay: it holds what was measured so far, so that nothing of it is lost however it ends."""

    def __init__(
        self,
        reading: Reading,
        options: ReplayOptions,
        terminal: Terminal,
        where: Where,
        place: Place,
        here: Here,
    ) -> None:
        self.reading = reading
        self.options = options
        self.terminal = terminal
        self.where = where
        self.place = place
        self.here = here
        self.change = reading.change
        self.top = Path(reading.change.top)
        self.results: dict[str, StepResult] = {}
        self.cells: dict[str, JobCell] = {}

    def go(self, began: float) -> ExitCode:
        """Choose, run, judge, report; give the exit code."""
        with ExitStack() as stack:
            house = self.open_house(stack, self.change)
            upstream = self.read(house, of_base=False)
            wanted = choose_cells(upstream.cells, self.options)
            chosen = with_needs(upstream.cells, wanted) if self.options.needs else wanted
            self.cells = {cell.id: cell for cell in chosen}
            self._head(upstream, chosen)
            folder = new_run_folder(self.top, self.change.target.tree)
            facts = self._facts(chosen)
            (folder / "plan.json").write_bytes(encode(facts.plan))
            run = _Running(self, folder, facts)
            return run.go(stack, house, upstream, chosen, began)

    def open_house(self, stack: ExitStack, change: Change, *, lane: str = "head") -> House:
        """Lay out the tree that cells run on."""
        facts = read_event(self.reading)
        origin = make_origin(
            self.reading.repository,
            change,
            cache=self.reading.cache,
            base_branch=facts.base_ref,
            name=facts.repository,
            server=facts.server_url,
        )
        sources = stack.enter_context(
            open_sources(
                origin,
                cache=self.reading.cache,
                engine=self.where.engine,
                image=self.where.image,
            )
        )
        return House(self.place, sources, self.here, lane=lane)

    def read(self, house: House, *, of_base: bool) -> Upstream:
        """Read the workflows of a tree, judged by what there is here."""
        return read_upstream(
            self.reading,
            event=self.options.event,
            here=self.here,
            merge=house.merge,
            has_image=None if self.place.pull else local_images(self.place.engine),
            of_base=of_base,
        )

    def _head(self, upstream: Upstream, chosen: Sequence[JobCell]) -> None:
        python = f"this host, Python {platform.python_version()}"
        self.terminal.heading(self.change, self.where.image, python, command="replay")
        for problem in upstream.problems:
            self.terminal.line(f"note {problem}", "yellow")
        for note in (*self.reading.warnings, *self.where.notes, *upstream.notes):
            self.terminal.line(f"note {note}", "yellow")
        self.terminal.line(f"plan {counted(len(chosen), 'cell')}   {summary(upstream.cells)}")
        if not upstream.workflows and not upstream.problems:
            self.terminal.line("there are no workflows in .github/workflows")
        for cell in chosen:
            if not cell.job or cell.state is CellState.FILTERED:
                self.terminal.line(
                    f"     {WORDS[cell.state]}: {cell.id}: {cell.reason}   {cell.origin}"
                )
        self.terminal.line()
        for cell in chosen:
            self.terminal.know(_plan_step(cell))

    def _facts(self, chosen: Sequence[JobCell]) -> RunFacts:
        steps = tuple(_plan_step(cell) for cell in chosen if cell.state is CellState.REPLAYED)
        return RunFacts(
            started=now(),
            pid=os.getpid(),
            process=process_mark(os.getpid()) or "",
            boot=boot_id(),
            change=self.change,
            selection=Selection(
                mode=Mode.ALL, tests=(), known=0, why="jobs run as they are written"
            ),
            plan=Plan(tier=Tier.FULL, steps=steps),
            environment=self.where.environment(),
        )


class _Running:
    """The part of a replay that has a run folder."""

    def __init__(self, replay: _Replay, folder: Path, facts: RunFacts) -> None:
        self.replay = replay
        self.folder = folder
        self.facts = facts
        self.ended: list[Ended] = []
        self.launcher = Launcher(
            folder, started=replay.terminal.started, progressed=replay.terminal.progressed
        )

    def go(
        self,
        stack: ExitStack,
        house: House,
        upstream: Upstream,
        chosen: Sequence[JobCell],
        began: float,
    ) -> ExitCode:
        """Run the cells and what the base says of their failures."""
        replay = self.replay
        self._write(running=True)
        point_last(self.folder)
        try:
            try:
                self._judge_files(upstream)
                self._run(house, upstream, chosen, self._ended)
                stack.close()  # the base's cells need the lane
                base = self._ask_base()
            finally:
                self.launcher.close()
        except KeyboardInterrupt:
            return self._stopped("interrupted", ExitCode.INTERRUPTED)
        except Terminated:
            return self._stopped("terminated", ExitCode.TERMINATED)
        except (PresubmitError, OSError) as error:
            code = error.exit_code if isinstance(error, PresubmitError) else ExitCode.ENVIRONMENT
            with contextlib.suppress(OSError):  # the disk that was full may still be
                write_json(
                    self.folder / "run.json",
                    failed_to_run(self._json(running=False), str(error), exit_code=int(code)),
                )
            raise
        return self._finish(base, upstream, replay.options, began)

    def _judge_files(self, upstream: Upstream) -> None:
        """Take a file that the change touches and GitHub would refuse for a failure: none of its jobs would run."""
        touched = {path for file in self.replay.change.files for path in file.paths}
        broken: dict[str, list[Finding]] = {}
        for problem in upstream.problems:
            if not problem.warning and problem.path in touched:
                broken.setdefault(problem.path, []).append(_refused(problem))
        for path, findings in broken.items():
            result = StepResult(
                id=path,
                role=Role.UPSTREAM,
                outcome=Outcome.FAILED,
                reason=f"GitHub refuses it: {findings[0].message}",
                origin=path,
                findings=tuple(findings),
            )
            self.replay.results[path] = result
            self.replay.terminal.ended(result)

    def _run(
        self,
        house: House,
        upstream: Upstream,
        chosen: Sequence[JobCell],
        ended: Callable[[Ended], None],
        *,
        prefix: str = "",
    ) -> None:
        replay = self.replay
        parallel = replay.options.parallel or replay.reading.config.config.replay.parallel
        graph = Graph(
            upstream.setting,
            chosen=chosen,
            run=lambda order, stoppers: house.run(
                order, stoppers, launcher=self.launcher, folder=self.folder, prefix=prefix
            ),
            ended=ended,
            parallel=parallel or max(1, (os.cpu_count() or 2) // 2),
            fail_fast=replay.options.fail_fast,
        )
        starting = by_workflow(
            cell for cell in upstream.cells if cell.starts or cell.state is CellState.FILTERED
        )
        graph.go(
            [w for w in upstream.workflows if w.path in starting and _started(starting[w.path])]
        )

    def _ended(self, ended: Ended) -> None:
        self.ended.append(ended)
        self.replay.cells[ended.cell.id] = ended.cell
        result = step_result(ended, self.folder, required=self.replay.options.require_complete)
        self.replay.results[ended.cell.id] = result
        self.replay.terminal.ended(result)
        self._write(running=True)

    def _ask_base(self) -> BaseResults:
        """Run the failing cells on the base, by the base's own workflows."""
        replay = self.replay
        failing = [r.id for r in replay.results.values() if r.outcome is Outcome.FAILED]
        if not failing:
            return BaseResults(reason="nothing had to be asked of the base")
        if replay.options.run.check_base == "never":
            return BaseResults(reason="the base was not asked (--check-base never)")
        results: dict[str, StepResult] = {}

        def ended(one: Ended) -> None:
            result = step_result(one, self.folder, required=False, prefix="base.")
            results[one.cell.id] = result
            replay.terminal.ended(msgspec.structs.replace(result, id=f"base.{one.cell.id}"))

        with ExitStack() as stack:
            house = replay.open_house(stack, base_as_change(replay.change), lane="base")
            upstream = replay.read(house, of_base=True)
            results |= _files_of_base(failing, upstream)
            known = {cell.id: cell for cell in upstream.cells if cell.state is CellState.REPLAYED}
            asked = [known[name] for name in failing if name in known]
            wanted = with_needs(upstream.cells, asked)
            for cell in wanted:
                replay.terminal.know(_plan_step(cell), prefix="base.")
            self._run(house, upstream, wanted, ended, prefix="base.")
        return BaseResults(lint=results, reason="the base has no such cell")

    # --- keeping ----------------------------------------------------------------------------------------------------

    def _ordered(self) -> list[StepResult]:
        return [*self.replay.results.values()]

    def _json(self, *, running: bool) -> dict[str, object]:
        cells = [builtins_of(cell) for cell in self.replay.cells.values()]
        results = [_shown(e.result) for e in list(self.ended) if e.result is not None]
        run = run_json(self.facts, self._ordered(), None, running=running)
        return {**run, "tier": "replay", "cells": cells, "cell_results": results}

    def _write(self, *, running: bool) -> None:
        write_json(self.folder / "run.json", self._json(running=running))

    def _stopped(self, word: str, code: ExitCode) -> ExitCode:
        self.launcher.stop(word)
        run = interrupted(self._json(running=False), exit_code=int(code))
        write_json(self.folder / "run.json", run)
        terminal = self.replay.terminal
        terminal.line(f"INTERRUPTED   (exit {int(code)})", "bold red")
        terminal.line(f"what was measured: {self.folder.relative_to(self.replay.top)}/run.json")
        return code

    def _finish(
        self, base: BaseResults, upstream: Upstream, options: ReplayOptions, began: float
    ) -> ExitCode:
        replay = self.replay
        results = self._ordered()
        ran = {r.id for r in results}
        passed_over = {
            name for name, cell in replay.cells.items() if cell.state is CellState.FILTERED
        }
        steps = tuple(
            step
            for step in self.facts.plan.steps
            if step.id not in passed_over and (step.id in ran or not _later(replay, step))
        )
        plan = msgspec.structs.replace(
            self.facts.plan,
            steps=steps,
            unavailable=_unavailable(replay.cells.values(), results, options),
        )
        verdict = judge(plan, results, base)
        seconds = time.monotonic() - began
        cells = as_it_was(upstream.cells, replay.cells)
        run = run_json(self.facts, results, verdict, running=False)
        extra = self._json(running=False)
        write_json(
            self.folder / "run.json",
            {
                **run,
                "tier": "replay",
                "cells": extra["cells"],
                "cell_results": extra["cell_results"],
                "summary": summary(cells),
            },
        )
        with History(history_path(replay.reading)) as history:
            cut = "jobs were replayed, no tier was run"
            environ = replay.place.environ
            keep_run_evidence(replay.reading, history, self.folder, environ, cut=cut)
        report = render_report(self.facts, results, verdict, seconds)
        parts = [report, "## Upstream's jobs", "", *markdown_cells(cells), ""]
        parts += [summary(cells), "", *self._summaries(cells)]
        (self.folder / "report.md").write_text(
            "\n".join(parts), encoding="utf-8", errors="backslashreplace"
        )
        replay.terminal.verdict(verdict, seconds, self.folder, replay.top)
        now_run = sum(r.outcome in {Outcome.PASSED, Outcome.FAILED} for r in results)
        replay.terminal.line(f"{counted(now_run, 'cell')} replayed now; of all: {summary(cells)}")
        return ExitCode(verdict.exit_code)

    def _summaries(self, cells: Sequence[JobCell]) -> list[str]:
        """Give what the steps wrote to GITHUB_STEP_SUMMARY, each cell's under its name."""
        lines: list[str] = []
        for cell in cells:
            path = self.folder / "summaries" / f"{file_name(cell.id)}.md"
            with contextlib.suppress(OSError):
                text = path.read_text(encoding="utf-8", errors="replace").strip()
                if text:
                    lines += [f"## Summary of {cell.id}", "", text, ""]
        return lines


def _refused(problem: Problem) -> Finding:
    return Finding(
        kind="job",
        subject=f"{problem.path}: {problem.message}",
        tool="upstream",
        message=problem.message,
        file=problem.path,
        line=problem.mark.line if problem.mark else None,
    )


def _files_of_base(failing: Sequence[str], upstream: Upstream) -> dict[str, StepResult]:
    """Say how the base's own workflow files are, for those that head's are broken of."""
    found: dict[str, StepResult] = {}
    for path in failing:
        if not path.startswith(".github/"):
            continue
        own = [p for p in upstream.problems if p.path == path and not p.warning]
        found[path] = StepResult(
            id=path,
            role=Role.UPSTREAM,
            outcome=Outcome.FAILED if own else Outcome.PASSED,
            findings=tuple(_refused(problem) for problem in own),
        )
    return found


def _shown(result: CellResult) -> Any:  # noqa: ANN401 - JSON's types
    """Give a result as run.json has it: with the last 4,000 characters of what failing steps printed."""
    steps = tuple(
        msgspec.structs.replace(step, tail=step.tail[-_TAIL:]) if step.tail else step
        for step in result.steps
    )
    return builtins_of(msgspec.structs.replace(result, steps=steps))


def base_as_change(change: Change) -> Change:
    """Give the base as if it were what is tested."""
    target = msgspec.structs.replace(
        change.target,
        kind=TargetKind.COMMIT,
        commit=change.base.commit,
        tree=change.base.tree,
        snapshot=change.base.commit,
        dirty=(),
        untracked=(),
    )
    return msgspec.structs.replace(change, target=target, files=())


def as_it_was(forecast: Sequence[JobCell], ended: Mapping[str, JobCell]) -> list[JobCell]:
    """Give every cell as it turned out; those of a matrix that was only known then stand for their job."""
    cells: list[JobCell] = []
    for cell in forecast:
        made = [c for name, c in ended.items() if cell.later and name.startswith(f"{cell.id}(")]
        cells += made or [ended.get(cell.id, cell)]
    return cells


def _later(replay: _Replay, step: PlanStep) -> bool:
    cell = replay.cells.get(step.id)
    return cell is not None and cell.later


def _started(cells: Sequence[JobCell]) -> bool:
    return any(cell.job for cell in cells)


def _unavailable(
    cells: Iterable[JobCell], results: Sequence[StepResult], options: ReplayOptions
) -> tuple[str, ...]:
    """Say what makes a replay incomplete: cells that are not here, where that was asked for; or none at all ran."""
    missing = [
        f"{cell.id}: {WORDS[cell.state]}, {cell.reason}"
        for cell in cells
        if cell.state in {CellState.NOT_REPLAYED, CellState.BLOCKED}
    ]
    known = {cell.id for cell in cells}
    ran = any(
        r.id in known and r.outcome in {Outcome.PASSED, Outcome.FAILED, Outcome.ERROR}
        for r in results
    )
    # With --require-complete each of them is a required step, and named as that.
    return tuple(missing) if missing and not ran and not options.require_complete else ()


def _plan_step(cell: JobCell) -> PlanStep:
    return PlanStep(
        id=cell.id,
        role=Role.UPSTREAM,
        title=cell.id,
        work=Replay(cell=cell.id),
        origin=cell.origin,
        why=cell.reason,
    )


# --- choosing ---------------------------------------------------------------------------------------------------------


def choose_cells(cells: Sequence[JobCell], options: ReplayOptions) -> tuple[JobCell, ...]:
    """Give the cells that the command line names: by query, by role, or all that upstream starts.

    Raises UsageError for a name that is none.
    """
    if options.everything:
        return tuple(cell for cell in cells if cell.job)
    if not options.queries:
        raise UsageError(
            "no job is named",
            hint="`presubmit plan --upstream` lists them; `presubmit replay --all` takes all",
        )
    chosen: dict[str, JobCell] = {}
    for text in options.queries:
        if text in _ROLES and not any(cell.job == text for cell in cells):
            found = tuple(cell for cell in cells if cell.role == text)
            if not found:
                raise UsageError(
                    f"no job of upstream has the role {text}", hint="presubmit plan --upstream"
                )
        else:
            found = find_cells(text, cells)
        chosen |= {cell.id: cell for cell in found}
    return tuple(chosen.values())


def with_needs(cells: Sequence[JobCell], chosen: Sequence[JobCell]) -> tuple[JobCell, ...]:
    """Add the cells of all jobs that the chosen ones need, however far away, in the order of the files."""
    wanted = {cell.id for cell in chosen}
    waiting = list(chosen)
    while waiting:
        cell = waiting.pop()
        for other in cells:
            if other.workflow != cell.workflow or other.id in wanted:
                continue
            if any(other.job == need or other.job.startswith(f"{need}/") for need in cell.needs):
                wanted.add(other.id)
                waiting.append(other)
    return tuple(cell for cell in cells if cell.id in wanted)
