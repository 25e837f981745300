"""The step that compares benchmarks: lists them on head, leaves out what cannot have changed, measures both sides."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from presubmit.bench import progress
from presubmit.bench.counting import worth_counting
from presubmit.bench.listing import Listed, list_suite, trace_suite
from presubmit.bench.measure import measure
from presubmit.bench.narrowing import in_change, matching
from presubmit.bench.outcome import judge_comparison
from presubmit.bench.rows import row_of
from presubmit.bench.same import same_build
from presubmit.bench.stage import Pinning
from presubmit.bench.values import (
    BENCH_FILE,
    Comparison,
    Kind,
    Machine,
    Measured,
    Profile,
    SideFacts,
    Trouble,
    Word,
)
from presubmit.container import attach
from presubmit.container.box import DockerBox
from presubmit.replay.assignment import BENCH, BESIDE
from presubmit.replay.bench_counts import count_instructions, suite_of
from presubmit.replay.bench_profile import take_profile
from presubmit.replay.bench_sides import BoxSide, HostSide
from presubmit.replay.events import write_event
from presubmit.replay.steps import in_environment
from presubmit.values import StepResult, assigned, counted, encode

if TYPE_CHECKING:
    from collections.abc import Iterator

    from presubmit.bench.talk import Side
    from presubmit.bench.values import Bench, Result
    from presubmit.container.model import Box
    from presubmit.replay.assignment import Lane
    from presubmit.replay.steps import Bench as Place
    from presubmit.values import Benchmarks, Suite

_THREADS: Final = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "RAYON_NUM_THREADS",
)
_WORKER: Final = "import sys; sys.path[:] = [it for it in sys.path if it]; from presubmit_bench.__main__ import main; main()"
"""Not `-m`: that puts the tree first on the path, and `-P` is not there before Python 3.11."""


class _SameBuildError(Exception):
    """Both sides loaded the same files: measuring them would say nothing."""


def run_benchmarks(place: Place, work: Benchmarks) -> StepResult:
    """Compare the benchmarks; what was measured stands in `bench.json` however it ends."""
    run = _Run(place, work)
    try:
        run.go()
    finally:
        run.write()
        run.close()
    comparison = run.comparison()
    end = judge_comparison(comparison, strict=work.strict)
    return StepResult(
        id=place.step.id,
        role=place.step.role,
        outcome=end.outcome,
        reason=end.reason,
        required=place.step.required,
        origin=place.step.origin,
        seconds=place.seconds,
        log=place.log_name,
        findings=end.findings,
        cut=end.cut,
        notes=comparison.problems,
    )


class _Run:
    """One comparison; it holds what is known so far, so that nothing is lost however it ends."""

    def __init__(self, place: Place, work: Benchmarks) -> None:
        self.place = place
        self.work = work
        self.lanes = dict(
            zip(("head", "base", "again.head", "again.base"), _lanes(place), strict=True)
        )
        self.boxes: dict[str, Box] = {"head": place.box}
        self.listed = Listed()
        self.chosen: tuple[Bench, ...] = ()
        self.skipped: dict[str, str] = dict(work.left_out) if not work.every else {}
        self.problems: list[str] = list(work.problems)
        self.proofs: list[progress.Proved] = []
        self.pythons: dict[str, str] = {}
        self.known: dict[str, progress.Decided] = {}
        self.measured = Measured(results=())
        self.profile: Profile | None = None
        self.same = False
        self.core = max(os.sched_getaffinity(0))
        self.load = os.getloadavg()[0]

    # --- the line ---------------------------------------------------------------------------------------------------

    def go(self) -> None:
        """List, choose, measure."""
        suites = [it for suite in self.work.suites if (it := self._wanted(suite)) is not None]
        self.place.say("looking for benchmarks")
        for suite in suites:
            self.listed = self.listed.with_more(list_suite(self._side("head"), suite))
        self._choose(suites)
        if not self.chosen:
            return
        self.place.say(f"measuring {counted(len(self.chosen), 'benchmark')}")
        lane = self.place.lane
        try:
            self.measured = measure(
                (self._side("base"), self._side("head")),
                self.chosen,
                suites,
                self.work.settings,
                tell=self._hear,
                renew=lambda: (self._side("again.base"), self._side("again.head")),
                now=time.monotonic,
                stop=lambda: False,
                pinning=Pinning(
                    core=self.core, watch=self.work.watch, scratch=f"{lane.output}/bench"
                ),
            )
        except _SameBuildError:
            self.same = True
            return
        self._count(suites)
        self._profile(suites)

    def _profile(self, suites: list[Suite]) -> None:
        """Say where the time goes in the first benchmark, where that was asked for."""
        timed = [it for it in self.measured.results if it.bench.kind is Kind.TIME]
        if not self.work.profile or not timed or self.measured.stopped == "interrupted":
            return
        order = {Word.SLOWER: 0, Word.FASTER: 1}
        result = min(timed, key=lambda it: order.get(it.word, 2))
        self.place.say(f"profiling {result.bench.id}")
        suite = suite_of(result, suites)
        self.profile = take_profile(result, suite, self.lanes, self._open, Path(self.place.folder))
        self.problems += self.profile.problems

    def _count(self, suites: list[Suite]) -> None:
        """Count instructions where that helps, in what measuring left of the budget."""
        wanted = worth_counting(self.measured.results, asked=self.work.counts)
        if not wanted or self.measured.stopped == "interrupted":
            return
        self.place.say(f"counting instructions of {counted(len(wanted), 'benchmark')}")
        asked = self.work.counts == "yes"
        budget = self.work.settings.budget
        found, problems = count_instructions(
            suites,
            wanted,
            self._open,
            self.place,
            core=self.core,
            # Who asked for counts waits for them.
            seconds=budget if asked else budget - self.measured.seconds,
        )
        self.measured = msgspec.structs.replace(
            self.measured,
            results=tuple(
                msgspec.structs.replace(it, instructions=found.get(it.bench.id))
                for it in self.measured.results
            ),
        )
        reasons = {it.why for it in found.values() if it.head is None and it.why}
        if reasons and asked:
            problems = (*problems, f"instructions not counted: {'; '.join(sorted(reasons))}")
        self.problems += problems

    def _wanted(self, suite: Suite) -> Suite | None:
        """Keep of a suite the files that the change can reach."""
        if self.work.every or suite.root in self.work.reached:
            return suite
        files = tuple(path for path in suite.files if path in self.work.reached)
        return msgspec.structs.replace(suite, files=files) if files else None

    def _choose(self, suites: list[Suite]) -> None:
        """Leave out what was not asked for, and what runs none of the changed functions."""
        benches = self.listed.benches
        asked = matching(benches, self.work.only)
        self.skipped |= {it.id: "not asked for (--only)" for it in benches if it not in asked}
        bodies = self.work.bodies
        if bodies and not self.work.every and len(asked) > 1:
            self.place.say(f"which of {counted(len(asked), 'benchmark')} run what changed")
            for suite in suites:
                mine = [
                    it for it in asked if it.root == suite.root and it.adapter is suite.adapter
                ]
                ran = trace_suite(self._side("head"), suite, mine, self.work.watch)
                out = in_change(mine, ran, bodies, self.work.files)
                self.skipped |= out
                asked = tuple(it for it in asked if it.id not in out)
        self.chosen = asked

    def _hear(self, event: progress.Event) -> None:
        """Pass on what measuring tells."""
        match event:
            case progress.Proved():
                self.proofs.append(event)
                if not self.work.self_test and same_build(
                    event, changed=self.work.changed, native=self.work.native
                ):
                    raise _SameBuildError
            case progress.Decided(result=result, stage=stage):
                self.known[result.bench.id] = event
                note = " (to be confirmed)" if stage == "first" and result.word == "slower" else ""
                self._line(f"{row_of(result)}{note}")
            case progress.Failed(broken=broken):
                self._line(f"{broken.id}   FAILED on {broken.side}: {broken.error.strip()[-160:]}")
            case progress.Paired(live=live, seconds=seconds):
                self.place.say(
                    f"{counted(len(live), 'benchmark')} undecided after {seconds:.0f} s"
                )
            case progress.Again(ids=ids):
                self.place.say(f"measuring {counted(len(ids), 'slow-down')} again")
            case progress.Noted(side=side, text=text):
                self.problems.append(f"{side}: {text}")

    def _line(self, text: str) -> None:
        assignment = self.place.assignment
        write_event(Path(assignment.events), event="said", id=self.place.name, text=text)

    # --- sides ------------------------------------------------------------------------------------------------------

    def _open(self, which: str, under: tuple[str, ...]) -> Side:
        return self._side(which, under=under)

    def _side(self, which: str, *, under: tuple[str, ...] = ()) -> Side:
        lane = self.lanes[which]
        if which not in self.boxes:
            self.boxes[which] = attach(lane.box)
        box = self.boxes[which]
        name = which.rpartition(".")[2]
        python = f"{lane.environment}/venv/bin/python"
        command = in_environment(lane.environment, (*under, python, "-c", _WORKER))
        env = _environment(lane, self.work)
        if isinstance(box, DockerBox):
            return BoxSide(name, box, command, cwd=lane.source, env=env)
        return HostSide(name, command, cwd=lane.source, env=env)

    def close(self) -> None:
        """Let go of the boxes that this step attached to."""
        for which, box in self.boxes.items():
            if which != "head":
                box.close()

    # --- what is known ----------------------------------------------------------------------------------------------

    def comparison(self) -> Comparison:
        """Put together what is known now."""
        return Comparison(
            base=self._facts("base"),
            head=self._facts("head"),
            machine=Machine(
                cpu=_cpu_name(), cores=os.cpu_count() or 0, load=self.load, core=self.core
            ),
            settings=self.work.settings,
            self_test=self.work.self_test,
            considered=len(self.listed.benches),
            skipped=self.skipped,
            measured=self._measured(),
            new=tuple(
                it.id
                for it in self.measured.broken
                if it.side == "base" and it.trouble is not Trouble.SKIPPED
            ),
            removed=self.work.removed,
            problems=tuple(dict.fromkeys(self.problems)),
            profile=self.profile,
            same_build=self.same,
        )

    def write(self) -> None:
        """Write `bench.json`."""
        path = Path(self.place.folder) / BENCH_FILE
        temporary = path.with_suffix(".tmp")
        temporary.write_bytes(encode(self.comparison()))
        temporary.replace(path)

    def _measured(self) -> Measured:
        """Give what measuring gave; where it was cut off, what was decided until then."""
        measured = self.measured
        if not measured.results and self.known:
            results = tuple(self.results_until_now())
            measured = msgspec.structs.replace(measured, results=results, stopped="interrupted")
        broken = (*self.listed.broken, *measured.broken)
        return msgspec.structs.replace(measured, broken=tuple(dict.fromkeys(broken)))

    def results_until_now(self) -> Iterator[Result]:
        """Give what was decided when measuring was cut off; a slow-down was not confirmed by then."""
        for event in self.known.values():
            result = event.result
            if result.word is Word.SLOWER:
                why = "slower, but interrupted before that was confirmed"
                result = msgspec.structs.replace(result, word=Word.UNSURE, reason=why)
            yield result

    def _facts(self, side: str) -> SideFacts:
        files = {
            (it.module, it.file): it
            for proved in self.proofs
            for it in (proved.head if side == "head" else proved.base)
        }
        head = side == "head" and not self.work.self_test
        return SideFacts(
            commit=self.work.head if head else self.work.base,
            dirty=head and self.work.dirty,
            python=self.listed.python,
            files=tuple(files.values()),
        )


def _lanes(place: Place) -> tuple[Lane, ...]:
    return (place.lane, *place.assignment.others)


def _environment(lane: Lane, work: Benchmarks) -> dict[str, str]:
    """Give a worker's variables: its own code first on the path, numeric libraries held to the threads asked for."""
    path = [f"{lane.plugin}/{BENCH}", f"{lane.environment}/{BESIDE}"]
    path += [lane.source] if work.on_path else []
    threads = dict.fromkeys(_THREADS, str(work.settings.threads))
    given = {**threads, **lane.env, **assigned(work.env)}
    inherited = [given["PYTHONPATH"]] if given.get("PYTHONPATH") else []
    return {
        **given,
        "PYTHONPATH": ":".join([*path, *inherited]),
        "VIRTUAL_ENV": f"{lane.environment}/venv",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def _cpu_name() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    lines = (line.partition(":") for line in text.splitlines())
    return next((value.strip() for name, _, value in lines if name.strip() == "model name"), "")
