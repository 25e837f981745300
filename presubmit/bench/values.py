"""What the parts of `presubmit bench` hand on: suites, benchmarks, samples, results. All times are seconds."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from presubmit.values import Adapter, Suite, Value
from presubmit.values import BenchSettings as Settings

__all__ = [
    "BENCH_FILE",
    "SCHEMA",
    "Adapter",
    "Bench",
    "BenchAsk",
    "Broken",
    "Clock",
    "Comparison",
    "Counted",
    "Interval",
    "Kind",
    "Machine",
    "Measured",
    "Proof",
    "Result",
    "Sample",
    "Settings",
    "SideFacts",
    "Suite",
    "Word",
]

SCHEMA: Final = "presubmit-bench/1"
BENCH_FILE: Final = "bench.json"
"""In the run folder."""


class Kind(StrEnum):
    """What a benchmark gives."""

    TIME = "time"
    """Seconds a call, measured in turns."""
    VALUE = "value"
    """One number a process (asv's `peakmem_` and `track_`): less is better."""


class Bench(Value, frozen=True, kw_only=True):
    """One benchmark with one set of parameters."""

    id: str
    """As its tool names it: `ops.Suite.time_add[64]`, `tests/bench_a.py::test_x[3]`, `script.py::label/add threads=1`."""
    adapter: Adapter
    root: str
    """Of its suite."""
    file: str
    """Path in the tree."""
    kind: Kind = Kind.TIME
    unit: str = "seconds"
    """`seconds`, `bytes`, or what a `track_` benchmark says."""


class BenchAsk(Value, frozen=True, kw_only=True):
    """What the command line asks of the benchmarks."""

    only: tuple[str, ...] = ()
    """Patterns of ids."""
    every: bool = False
    self_test: bool = False
    """The base against a second copy of itself."""
    counts: str = "auto"
    profile: bool = False
    """Where the time goes in the first benchmark that is measured."""
    strict: bool = False
    """`unsure` is not enough for a green end."""


class Sample(Value, frozen=True, kw_only=True):
    """One turn: seconds a call. `wait` is the time spent in the run queue, None where it is not known."""

    wall: float
    cpu: float
    wait: float | None = None


class Clock(StrEnum):
    """Which time of a sample is compared."""

    CPU = "cpu"
    ON_CPU = "wall - wait"
    """For what sleeps or does I/O: wall time minus the time spent in the run queue."""
    WALL = "wall"
    """For what uses several threads, or another device."""
    VALUE = "value"
    """No clock: the benchmark's own number."""


class Word(StrEnum):
    """The answer for one benchmark."""

    SLOWER = "slower"
    FASTER = "faster"
    SAME = "same"
    UNSURE = "unsure"


class Interval(Value, frozen=True, kw_only=True):
    """A ratio head/base with its interval; a bound is None where too few pairs give none."""

    ratio: float
    low: float | None
    high: float | None
    level: float
    """The interval's confidence, `0.9842`."""


class Counted(Value, frozen=True, kw_only=True):
    """Instructions a call on both sides; None with `why` where they cannot be had."""

    base: float | None = None
    head: float | None = None
    tool: str = ""
    """`perf`, `valgrind 3.19`."""
    why: str = ""


class Result(Value, frozen=True, kw_only=True):
    """What was measured of one benchmark, and the answer."""

    bench: Bench
    word: Word
    clock: Clock
    base: float
    """Median seconds a call on the base (or the median value)."""
    head: float
    interval: Interval
    wall: Interval | None = None
    """The same in wall time, where that is not the clock."""
    log_ratios: tuple[float, ...] = ()
    """One a pair: log(head / base)."""
    loops: int = 1
    confirmed: bool = False
    """A slow-down that fresh pairs, in restarted boxes, showed again."""
    confirmation: Interval | None = None
    needed: int | None = None
    """For `unsure`: about how many pairs would decide."""
    reason: str = ""
    """Why `unsure`, where it is not the noise: the budget, an interrupt, not confirmed."""
    instructions: Counted | None = None

    @property
    def pairs(self) -> int:
        """How many pairs of processes were measured, those of the confirmation apart."""
        return len(self.log_ratios)


class Trouble(StrEnum):
    """Why a benchmark did not run; from the least to the worst."""

    ABSENT = "absent"
    """The side has no such benchmark."""
    SKIPPED = "skipped"
    """Its own suite leaves it out: no failure."""
    FAILED = "failed"


class Broken(Value, frozen=True, kw_only=True):
    """A benchmark (or a benchmark file) that did not run."""

    id: str
    side: str
    """`base`, `head` or `both`."""
    error: str
    """The last lines of what it said."""
    trouble: Trouble = Trouble.FAILED


class Measured(Value, frozen=True, kw_only=True):
    """What measuring gave; what was not reached is named."""

    results: tuple[Result, ...]
    broken: tuple[Broken, ...] = ()
    unmeasured: tuple[str, ...] = ()
    """Ids for which there was no time for one whole pair."""
    stopped: str = ""
    """`budget` or `interrupted`; empty where it went to its end."""
    seconds: float = 0.0
    wall_over_cpu: float | None = None
    """Median over the turns of one-threaded benchmarks: how busy the machine was."""
    pair_sd: float | None = None
    """Median standard deviation of a pair's log ratio."""


class Proof(Value, frozen=True, kw_only=True):
    """One file of the project that a side loaded: module, path, and the git blob id of its content."""

    module: str
    file: str
    blob: str


class Machine(Value, frozen=True, kw_only=True):
    """Where it was measured."""

    cpu: str = ""
    cores: int = 0
    load: float = 0.0
    """Of one minute, before measuring."""
    core: int | None = None
    """The one core that both sides used; None: they were not pinned."""


class SideFacts(Value, frozen=True, kw_only=True):
    """One side: which tree it was built of, and what it proved to have loaded of the project."""

    commit: str
    """Of the base its commit, of head the tree under test."""
    dirty: bool = False
    python: str = ""
    files: tuple[Proof, ...] = ()


class Moved(Value, frozen=True, kw_only=True):
    """A function whose share of a benchmark's time is another on head; shares count what it calls."""

    function: str
    """`name (file)`."""
    base: float
    head: float


class Profile(Value, frozen=True, kw_only=True):
    """Where the time of one benchmark goes, on both sides."""

    id: str
    moved: tuple[Moved, ...] = ()
    """The functions whose share moved most, those first."""
    files: tuple[str, ...] = ()
    """In the run folder: a flame graph and the stacks of each side, traces of torch."""
    problems: tuple[str, ...] = ()


class Comparison(Value, frozen=True, kw_only=True):
    """All of one comparison; `bench.json` holds it as `presubmit-bench/1`."""

    schema: str = SCHEMA
    base: SideFacts
    head: SideFacts
    machine: Machine
    settings: Settings
    self_test: bool = False
    considered: int
    """Benchmarks that were found."""
    skipped: dict[str, str] = {}
    """Benchmarks, or whole files, that were not chosen, and why."""
    measured: Measured
    new: tuple[str, ...] = ()
    """Benchmarks that only head has: there is nothing to compare them with."""
    removed: tuple[str, ...] = ()
    """Benchmark files that only the base has."""
    problems: tuple[str, ...] = ()
    """Benchmark files that could not be read, and other things to know."""
    profile: Profile | None = None
    same_build: bool = False
    """Both sides loaded the very same files: nothing was compared."""
