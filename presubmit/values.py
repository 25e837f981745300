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


# --- Plan -----------------------------------------------------------------------------------------------------------


class Role(StrEnum):
    """What a step is for; also the name of the Nox session that runs it."""

    LINT = "lint"
    BUILD = "build"
    TESTS = "tests"
    DOCS = "docs"
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


class Build(Value, frozen=True, kw_only=True, tag="build"):
    """Build and install the project in the lane's environment."""

    mode: str
    """`editable`, `wheel`, `command`, or `none` (there is nothing to install)."""
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


Work = Syntax | LintCommand | Build | Tests | Docstrings | Doctests | Replay


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
    """`lint`, `docs` or `build`."""
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
    """`test`, `lint`, `docs`, `build`, `bench` or `job`."""
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
