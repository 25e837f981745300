"""The values that a run is made of: Change, Selection, Plan, StepResult, Verdict (DESIGN, section 3).

All are frozen. Paths inside the repository are `str` with `/`, decoded as `os.fsdecode` does, so that a name which is
not UTF-8 survives; `encode` and `decode` carry such names through JSON as well.
"""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")


class Value(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A frozen, keyword-only value; an unknown key in its JSON is an error."""


def encode(value: object) -> bytes:
    r"""Write a value as JSON; names that are not UTF-8 become `\udcXX` escapes."""
    return json.dumps(msgspec.to_builtins(value), indent=1).encode("ascii")


def decode(data: bytes, kind: type[T]) -> T:
    """Read what `encode` wrote; raises msgspec.ValidationError or ValueError on anything else."""
    return msgspec.convert(json.loads(data), kind)


# --- Change ---------------------------------------------------------------------------------------------------------


class FileStatus(StrEnum):
    """What the change does to a file."""

    ADDED = "added"
    MODIFIED = "modified"
    DELETED = "deleted"
    RENAMED = "renamed"


class ChangedFile(Value, frozen=True, kw_only=True):
    """One file of the change; `old_path` is set for a rename (and equals `path` otherwise nowhere)."""

    path: str
    status: FileStatus
    old_path: str | None = None

    @property
    def paths(self) -> tuple[str, ...]:
        """Every path that the change touches here: both ends of a rename."""
        return (self.path,) if self.old_path is None else (self.old_path, self.path)


class TargetKind(StrEnum):
    """What of the checkout is tested."""

    WORKTREE = "worktree"
    STAGED = "staged"
    COMMIT = "commit"


class Target(Value, frozen=True, kw_only=True):
    """The tree under test: `tree` is a git tree id, `snapshot` a commit of it in presubmit's own object folder."""

    kind: TargetKind
    commit: str | None
    tree: str
    snapshot: str
    dirty: tuple[str, ...] = ()
    """Tracked paths that differ from HEAD."""
    untracked: tuple[str, ...] = ()


class Base(Value, frozen=True, kw_only=True):
    """What the change is compared with, and how it was found."""

    ref: str
    commit: str
    tree: str
    how: str
    behind: int = 0
    """Commits on `ref` that the change does not have."""
    warning: str = ""


class Change(Value, frozen=True, kw_only=True):
    """A change: everything between the base and the tree under test."""

    top: str
    """Absolute path of the checkout's top level."""
    common_dir: str
    """Absolute path of the repository's common git directory."""
    branch: str | None
    target: Target
    base: Base
    files: tuple[ChangedFile, ...]
    submodules: tuple[str, ...] = ()
    """Paths of the submodules in the tree under test."""


class Definition(Value, frozen=True, kw_only=True):
    """A class or function in one file: where it stands and whether users of the project may rely on it."""

    path: str
    qualname: str
    kind: str
    """`class`, `function`, `method` or `module`."""
    public: bool
    first_line: int
    last_line: int
    docstring: bool
    digest: str
    """Changes when the definition's code changes (comments and layout apart)."""


# --- Selection ------------------------------------------------------------------------------------------------------


class Mode(StrEnum):
    """How much of the suite was chosen."""

    SCOPED = "scoped"
    ALL = "all"
    NONE = "none"


class Reason(Value, frozen=True, kw_only=True):
    """Why a test was chosen: the rule, and the chain from the changed file to the test."""

    rule: str
    text: str
    chain: tuple[str, ...] = ()


class ChosenTest(Value, frozen=True, kw_only=True):
    """One chosen test file; `rank` 0 is the nearest to the change."""

    path: str
    reasons: tuple[Reason, ...]
    rank: int = 0
    ids: tuple[str, ...] = ()
    """The chosen tests of the file, without parameters (`tests/test_a.py::C::test_x`); empty: all of them."""


class LeftOut(Value, frozen=True, kw_only=True):
    """One test file that was not chosen, and by which rule."""

    path: str
    reasons: tuple[Reason, ...]


class PureTwin(Value, frozen=True, kw_only=True):
    """A changed Python module that an extension module is loaded in place of, unless a variable says otherwise."""

    path: str
    modules: tuple[str, ...]
    """Every dotted name that it may be imported by."""
    native: str
    """The extension module."""
    variable: str
    """The environment variable that has the tests load the Python module."""
    tests: tuple[str, ...] = ()
    """The test files that depend on it, whatever a recorded run saw; empty: all."""


class Selection(Value, frozen=True, kw_only=True):
    """The chosen test files, and what could not be decided (which only ever widens the choice)."""

    mode: Mode
    tests: tuple[ChosenTest, ...]
    known: int
    """Test files that the project has."""
    unsure: tuple[str, ...] = ()
    unreached: tuple[str, ...] = ()
    """Changed code files that no test reaches."""
    why: str = ""
    """In one sentence, why this mode."""
    left_out: tuple[LeftOut, ...] = ()
    """The test files that were not chosen."""
    notes: tuple[str, ...] = ()
    """What the chosen tests do not run although the change touches it."""
    twins: tuple[PureTwin, ...] = ()
    """What they run in a second run only, with another variable each."""


# --- Plan -----------------------------------------------------------------------------------------------------------


class Role(StrEnum):
    """What a step is for; also the name of the Nox session that runs it."""

    LINT = "lint"
    BUILD = "build"
    TESTS = "tests"
    DOCS = "docs"
    REVIEW = "review"
    """What the change brings that no test tells; presubmit itself looks, a session only at what was built."""
    BENCH = "bench"
    """Microbenchmarks, base against head."""
    UPSTREAM = "upstream"
    """A job of upstream's workflows, replayed as it is written."""


class Tier(StrEnum):
    """How much of upstream CI is replayed."""

    QUICK = "quick"
    STANDARD = "standard"
    FULL = "full"


class Syntax(Value, frozen=True, kw_only=True, tag="syntax"):
    """Parse the changed Python files at the lowest Python that the project supports."""

    files: tuple[str, ...]
    floor: str
    """`3.8`; empty where the project names none."""


class LintCommand(Value, frozen=True, kw_only=True, tag="lint-command"):
    """Run one lint command on the changed files."""

    command: tuple[str, ...]
    tool: str
    """`pre-commit`, `lintrunner`, `ruff`, or `command` for one from the config."""
    files: tuple[str, ...]
    requirements: tuple[str, ...] = ()
    """What presubmit's own tool environment must hold."""
    timeout: float = 1800.0


class Requirements(Value, frozen=True, kw_only=True):
    """Requirement lines that are installed together, and what named them."""

    origin: str
    lines: tuple[str, ...]


class Overlay(Value, frozen=True, kw_only=True):
    """The tree's Python, laid over a build of the same project that is installed already."""

    packages: tuple[str, ...]
    """Import packages whose folders stand at the tree's root."""
    installed: tuple[str, ...] = ()
    """Requirements that give the build; empty: the interpreter has it."""
    compiled: tuple[str, ...] = ()
    """Patterns of the files that the build was made from: where one differs, it is not this tree's."""
    changed: tuple[str, ...] = ()
    """What the change adds, alters or deletes."""
    base: str = ""
    """The base's commit."""


class Build(Value, frozen=True, kw_only=True, tag="build"):
    """Build and install the project in the lane's environment."""

    mode: str
    """`editable`, `wheel`, `command`, `overlay`, or `none` (there is nothing to install)."""
    overlay: Overlay | None = None
    """Of mode `overlay`."""
    command: str = ""
    """The shell command of mode `command`."""
    before: str = ""
    """A shell command that runs before the build."""
    stale_generated: tuple[str, ...] = ()
    """Generated sources that the change should have renewed and did not."""
    backend: str = ""
    backend_path: tuple[str, ...] = ()
    build_requires: tuple[str, ...] = ()
    requirements: tuple[Requirements, ...] = ()
    """What running and testing needs: dependencies, extras, groups, files, pytest."""
    local_requirements: tuple[str, ...] = ()
    """Paths, URLs and repositories: installed only where no credentials are."""
    constraints: Requirements | None = None
    """Versions from a lock file; given up (and said) where they cannot be met."""
    constraint_files: tuple[str, ...] = ()
    extras: tuple[str, ...] = ()
    """Extras that are read from the built metadata, where pyproject.toml leaves them dynamic."""
    clean: bool = False
    """Start from a clean tree: a source was deleted or renamed, or a build file changed."""
    native: tuple[str, ...] = ()
    """Why extension modules are expected: native sources and the build files that name them."""
    project: str = ""
    """The distribution's name, where pyproject.toml says it."""
    key: str = ""
    """Two builds with this key in the same environment give the same result."""
    python: str = "python3"
    env: tuple[str, ...] = ()
    """`NAME=value`, for the project's own code."""
    record: str = "no"
    """Whether tests are recorded in its environment: `no`, `auto`, or `yes` (what failed to install is tried again)."""
    beside: tuple[str, ...] = ()
    """Requirements for benchmarks, installed beside the environment: what is tested must not see them."""
    otherwise: Build | None = None
    """The same by convention: what is done where that cannot be installed which upstream's jobs install."""
    timeout: float = 7200.0


class Tests(Value, frozen=True, kw_only=True, tag="tests"):
    """Run one shard of the chosen tests."""

    command: tuple[str, ...]
    otherwise: tuple[str, ...] = ()
    """What is run where no test can be run by `command`, which is upstream's; empty: nothing."""
    mode: Mode
    files: tuple[str, ...] = ()
    """The chosen test files of this shard; empty with mode `all`."""
    ids: tuple[str, ...] = ()
    """Single node ids (retries, base runs, --last-failed); they win over `files`."""
    within: tuple[str, ...] = ()
    """Ids that narrow some of `files` to these tests; a file that none of them names is run whole."""
    without: tuple[str, ...] = ()
    """Ids (of classes, too) of `files` that another shard runs."""
    record: float | None = None
    """Record what each test runs, until this many seconds of testing have passed; None: not at all."""
    shard: int = 1
    shards: int = 1
    arguments: tuple[str, ...] = ()
    """What the user gave after `--`."""
    retries: int = 1
    max_retried: int = 50
    exit_first: bool = False
    extensions_changed: bool = False
    """The change touches native code, so the tests must load the built extension modules."""
    off_path: bool = False
    """Tests see the installed package only: the sources are off the import path (mode `wheel`)."""
    on_path: bool = False
    """Nothing is installed: the tree's root is put on the import path."""
    apart: bool = False
    """Every chosen file has a process of its own, and is named to it."""
    path: tuple[str, ...] = ()
    """Folders of the tree that are put on the import path."""
    overlaid: tuple[str, ...] = ()
    """Packages that must come from the overlay where they are loaded (mode `overlay`)."""
    pure: tuple[str, ...] = ()
    """The names of the Python module that `env` loads in place of an extension module; one must be loaded."""
    project: str = ""
    env: tuple[str, ...] = ()
    """`NAME=value`."""
    timeout: float = 3600.0


class Docstrings(Value, frozen=True, kw_only=True, tag="docstrings"):
    """Check the docstrings of the changed public definitions."""

    definitions: tuple[Definition, ...]
    convention: str
    """`numpy`, `google`, `rst`, or empty where the project shows none."""
    binding: bool
    """The project itself checks docstrings, so a finding is a failure; else it is advice."""
    requirements: tuple[str, ...] = ()
    timeout: float = 600.0


class Doctests(Value, frozen=True, kw_only=True, tag="doctests"):
    """Run the doctests of the changed modules."""

    command: tuple[str, ...]
    files: tuple[str, ...]
    timeout: float = 1800.0


class Replay(Value, frozen=True, kw_only=True, tag="replay"):
    """Replay one cell of upstream's workflows."""

    cell: str
    """`ci.yml/tests(python=3.12,os=ubuntu)`."""


class Reviewing(Value, frozen=True, kw_only=True, tag="reviewing"):
    """Review the change by the named rules."""

    rules: tuple[str, ...]


class ReviewingBuilt(Value, frozen=True, kw_only=True, tag="reviewing-built"):
    """Review what is built, base against head."""

    rules: tuple[str, ...]
    make: bool = False
    """What is lacking is built for it; else it looks only where both builds are there."""
    libraries: bool = False
    """What the shared libraries export."""
    wheel: bool = False
    """What the wheel holds."""


class ReadLibraries(Value, frozen=True, kw_only=True, tag="read-libraries"):
    """Read what the built libraries of two lanes export: the session's own is head's, the other one the base's."""

    projects: tuple[str, str]
    """The distribution's name on head, and on the base."""
    timeout: float = 600.0


class BuildWheel(Value, frozen=True, kw_only=True, tag="build-wheel"):
    """Build a wheel and list its files; nothing is installed."""

    build: Build


class Adapter(StrEnum):
    """Whose benchmark files they are; each has one module inside the box."""

    ASV = "asv"
    PYTEST = "pytest"
    """pytest-benchmark, and pytest-codspeed."""
    TORCH = "torch"
    """Scripts with `torch.utils.benchmark.Timer`."""
    COMMAND = "command"
    """Whole processes: `[[bench.command]]`."""


class Suite(Value, frozen=True, kw_only=True):
    """Benchmark files that one adapter reads together."""

    adapter: Adapter
    root: str
    """The folder of the suite in the tree (`benchmarks`), for a command the name."""
    files: tuple[str, ...]
    """Paths in the tree, sorted."""
    origin: str
    """Where it was found: `asv.conf.json`, `tests/bench_x.py`, `config bench.command`."""
    command: tuple[str, ...] = ()
    """For a command: what is run."""
    json: str = ""
    """For a command: the file that it writes its numbers to; empty: the process itself is timed."""
    timeout: float = 60.0
    """Seconds for one turn of one benchmark."""


class BenchSettings(Value, frozen=True, kw_only=True):
    """How benchmarks are measured and decided (facts/bench.md, section 4). All times are seconds."""

    looks: tuple[int, ...] = (7, 10, 13, 17, 22)
    """After so many pairs the data are looked at."""
    alpha: float = 0.0158
    """Two-sided, at every look: Pocock's for five looks at 5 % in all."""
    ignore: float = 0.01
    """A difference that is not worth a word: slower and faster lie beyond it."""
    care: float = 0.03
    """Only an interval within this is `same`."""
    fail_above: float = 0.05
    """A confirmed slow-down of at least this fails."""
    turn: float = 0.010
    """One turn."""
    turns: int = 8
    """Turns of each side in one pair of processes."""
    warm: int = 2
    """Calls before the first turn."""
    budget: float = 120.0
    """For all measuring; builds are not counted."""
    threads: int = 1
    seed: int = 0


class Benchmarks(Value, frozen=True, kw_only=True, tag="benchmarks"):
    """Compare the microbenchmarks that the change can reach, base against head."""

    suites: tuple[Suite, ...]
    reached: dict[str, str]
    """The benchmark files that the change can reach, with the reason; commands by their suite's root."""
    left_out: dict[str, str] = {}
    """The others, and why."""
    bodies: dict[str, tuple[str, ...]] | None = None
    """Where only bodies of functions changed: them, by file. Then a benchmark that runs none of them is left out."""
    files: tuple[str, ...] = ()
    """What the change does to benchmark files and their helpers: head's are run on both sides."""
    only: tuple[str, ...] = ()
    """Patterns of ids, as the user gave them."""
    every: bool = False
    """All benchmarks, whatever the change reaches."""
    self_test: bool = False
    """The base against a second copy of itself (`--aa`)."""
    strict: bool = False
    """An `unsure` answer leaves the step incomplete."""
    counts: str = "auto"
    """Instruction counts: `auto` (where they can be had), `yes`, `no`."""
    profile: bool = False
    """Where the time goes in the first benchmark, on both sides."""
    watch: tuple[str, ...] = ()
    """Top-level modules of the project: both sides prove which files of them they loaded."""
    changed: tuple[str, ...] = ()
    """The dotted names of changed modules: where both sides load one, it must differ."""
    native: bool = False
    """The change touches native sources: of the loaded extension modules one must differ."""
    on_path: bool = False
    """Nothing is installed: the tree's root is put on the import path."""
    problems: tuple[str, ...] = ()
    """Benchmark files that could not be read."""
    removed: tuple[str, ...] = ()
    """Benchmark files that only the base has."""
    base: str = ""
    """The base's commit."""
    head: str = ""
    """The tree under test."""
    dirty: bool = False
    """Head is no commit: the worktree, or what is staged."""
    settings: BenchSettings = BenchSettings()
    env: tuple[str, ...] = ()
    """`NAME=value`."""
    timeout: float = 7200.0


Work = (
    Syntax
    | LintCommand
    | Build
    | Tests
    | Docstrings
    | Doctests
    | Benchmarks
    | Reviewing
    | ReviewingBuilt
    | ReadLibraries
    | BuildWheel
    | Replay
)


class PlanStep(Value, frozen=True, kw_only=True):
    """One step: what it does, where its command comes from and why it is there."""

    id: str
    role: Role
    title: str
    work: Work
    origin: str
    """`ci.yml:31`, `config …` or `convention …`."""
    why: str
    required: bool = True
    needs: tuple[str, ...] = ()
    expected_seconds: float | None = None


class Plan(Value, frozen=True, kw_only=True):
    """What a run will do, in order; `left_out` says what it will not, and why."""

    tier: Tier
    steps: tuple[PlanStep, ...]
    left_out: tuple[str, ...] = ()
    incomplete: tuple[str, ...] = ()
    """Parts of the tier that were cut (--only, --skip, a budget): no evidence for the tier."""
    unavailable: tuple[str, ...] = ()
    """Parts of the tier that this presubmit cannot run: never green."""
    budget_cut: tuple[str, ...] = ()
    """Affected test files, and single tests of narrowed ones, that the budget left no room for."""
    elsewhere: tuple[str, ...] = ()
    """Affected test files that the other shards of `--shard` run, on other machines."""


# --- Results --------------------------------------------------------------------------------------------------------


class Outcome(StrEnum):
    """FAILED is the contributor's news; ERROR is ours (no image, timeout, crash)."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    SKIPPED = "skipped"


class CaseOutcome(StrEnum):
    """What became of one test."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    SKIPPED = "skipped"
    XFAILED = "xfailed"


class Case(Value, frozen=True, kw_only=True):
    """One test: `id` is its pytest node id where it is known, else `classname::name`."""

    id: str
    outcome: CaseOutcome
    seconds: float = 0.0
    phase: str = ""
    """`setup`, `call`, `teardown` or `collect`: where it failed."""
    exception: str = ""
    """The exception's type, `builtins.AssertionError`."""
    frame: str = ""
    """`file:function` of the innermost frame inside the project."""
    line: int | None = None
    file: str = ""
    source: str = ""
    """The source line in that frame."""
    message: str = ""
    text: str = ""
    """The failure's long text, bounded."""


class Counts(Value, frozen=True, kw_only=True):
    """How many tests ended how."""

    passed: int = 0
    failed: int = 0
    errors: int = 0
    skipped: int = 0


class Finding(Value, frozen=True, kw_only=True):
    """Something that a tool found: lint, docstring, build or syntax."""

    kind: str
    """`lint`, `docs`, `build` or `review`."""
    subject: str
    """What stays the same when lines move: `path: code message`, or the hook's or module's name."""
    tool: str
    message: str
    file: str = ""
    line: int | None = None
    code: str = ""


class Rerun(Value, frozen=True, kw_only=True):
    """How a failing test did when it was run again on head."""

    id: str
    alone: str
    """`failed`, `passed` or `error`."""
    company: str = ""
    """The same, in the whole shard in the same order; empty where that was not run."""
    recorded: bool = False
    """The failure was met while the tests were recorded; no rerun is."""


class StepResult(Value, frozen=True, kw_only=True):
    """What became of one step; `log` is relative to the run folder."""

    id: str
    role: Role
    outcome: Outcome
    reason: str = ""
    required: bool = True
    command: tuple[str, ...] = ()
    origin: str = ""
    seconds: float = 0.0
    log: str = ""
    counts: Counts = Counts()
    cases: tuple[Case, ...] = ()
    findings: tuple[Finding, ...] = ()
    advice: tuple[Finding, ...] = ()
    """Findings that the project does not ask for: shown, never counted."""
    reruns: tuple[Rerun, ...] = ()
    notes: tuple[str, ...] = ()
    cut: str = ""
    """Why not every chosen test ran; empty where all did."""
    cached: bool = False
    junit: str = ""
    recording: str = ""
    """What was recorded of the tests, relative to the run folder."""
    patch: str = ""
    """A patch that tools made to the tree, relative to the run folder."""
    modules: tuple[str, ...] = ()
    """Extension modules that a build produced."""
    loaded: dict[str, str | None] = {}
    """For each module that the tests were watched for, the file it was loaded from; None: not loaded."""
    python: str = ""
    """The version of the Python that ran the tests, as they say themselves."""


class Reproduces(Value, frozen=True, kw_only=True):
    """Whether a new or changed test fails without the change; None where that could not be told."""

    test: str
    fails_without_change: bool | None
    reason: str = ""


class BaseResults(Value, frozen=True, kw_only=True):
    """What the base gave, where it was asked; `reason` says why it was not."""

    reason: str = ""
    tests: tuple[Case, ...] = ()
    absent: tuple[str, ...] = ()
    """Failing tests of head that the base does not have."""
    tests_error: str = ""
    """Why the base's tests gave no result, where they were run."""
    build: StepResult | None = None
    lint: dict[str, StepResult] = {}
    """The lint and docs steps with findings, run on the base's version of the files, by step id."""
    reproduces: tuple[Reproduces, ...] = ()
    by_step: dict[str, BaseResults] = {}
    """What was asked for one step alone, since its tests run with variables of its own."""


# --- Verdict --------------------------------------------------------------------------------------------------------


class FailureClass(StrEnum):
    """Whose failure it is (DESIGN, section 3)."""

    NEW = "new"
    ON_BASE = "on_base"
    FLAKY = "flaky"
    UNKNOWN = "unknown"


class Failure(Value, frozen=True, kw_only=True):
    """One failure of any kind, classed."""

    kind: str
    """`test`, `lint`, `docs`, `build`, `review`, `bench` or `job`."""
    subject: str
    step: str
    label: FailureClass = msgspec.field(name="class")
    base: str
    """`passed`, `failed`, `error`, `absent` or `not run`."""
    message: str = ""
    detail: str = ""
    """Why this class, in a few words."""
    file: str = ""
    line: int | None = None
    repro: str = ""


class State(StrEnum):
    """What became of a run as a whole."""

    RUNNING = "running"
    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    INCOMPLETE = "incomplete"
    INTERRUPTED = "interrupted"
    NOTHING = "nothing"


class Verdict(Value, frozen=True, kw_only=True):
    """What a run says of the change."""

    state: State
    exit_code: int
    failures: tuple[Failure, ...] = ()
    reproduces: tuple[Reproduces, ...] = ()
    not_run: tuple[str, ...] = ()
    """Required steps that did not run or could not, with the reason."""
    notes: tuple[str, ...] = ()


def counts_of(cases: tuple[Case, ...]) -> Counts:
    """Count cases by outcome; an expected failure counts as skipped, as pytest's JUnit file has it."""
    tally: dict[CaseOutcome, int] = dict.fromkeys(CaseOutcome, 0)
    for case in cases:
        tally[case.outcome] += 1
    return Counts(
        passed=tally[CaseOutcome.PASSED],
        failed=tally[CaseOutcome.FAILED],
        errors=tally[CaseOutcome.ERROR],
        skipped=tally[CaseOutcome.SKIPPED] + tally[CaseOutcome.XFAILED],
    )


def builtins_of(value: object) -> Any:  # noqa: ANN401 - the plain form of any value, for JSON output
    """Give the plain form of a value: dicts, lists, strings and numbers."""
    return msgspec.to_builtins(value)


def assigned(pairs: tuple[str, ...]) -> dict[str, str]:
    """Read `NAME=value` pairs; one without a value is empty."""
    return {name: value for name, _, value in (pair.partition("=") for pair in pairs) if name}


def counted(number: int, noun: str) -> str:
    """Give `1 file` or `3 files`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
