"""make_plan(): from a change, a selection and what the project says of itself to the steps of a run. Pure."""

from __future__ import annotations

import fnmatch
import hashlib
import posixpath
import re
from typing import TYPE_CHECKING, Final

import msgspec

from presubmit import convention
from presubmit.config import UPSTREAM, TestsConfig, without_upstream
from presubmit.errors import ConfigError, UsageError
from presubmit.overlay import names_of, overlay_of
from presubmit.plan_bench import bench_steps, for_benchmarks
from presubmit.plan_built import Looks, built_review, left_to_it
from presubmit.runners import pytest, runner_of
from presubmit.selector import shards
from presubmit.selector.shards import Shard, Share
from presubmit.selector.workers import xdist_options
from presubmit.values import (
    Benchmarks,
    Build,
    ChosenTest,
    Definition,
    Docstrings,
    Doctests,
    FileStatus,
    LintCommand,
    Mode,
    Plan,
    PlanStep,
    PureTwin,
    Reviewing,
    Role,
    Selection,
    Syntax,
    Tests,
    Tier,
    Value,
    assigned,
    counted,
    encode,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from presubmit.config import BuildConfig, Config, Sourced
    from presubmit.values import Change

# Pinned, so that two runs of one presubmit give one answer; the project's own pins live in its own config.
PRE_COMMIT: Final = "pre-commit>=4,<5"
RUFF: Final = "ruff>=0.12"
RECORDED_SECONDS: Final = 60.0
"""What recording may cost a run."""
WITHOUT_END: Final = 1e9
"""Seconds."""
NUMPYDOC: Final = "numpydoc>=1.8,<2"
LINTRUNNER: Final = "lintrunner>=0.12"


class Ask(Value, frozen=True, kw_only=True):
    """What the command line asks of a plan."""

    tier: Tier = Tier.STANDARD
    only: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    """Given after `--`: they go to the test command, and nothing is narrowed."""
    ids: tuple[str, ...] = ()
    """Node ids to run instead of the selection (--last-failed)."""
    retries: int | None = None
    exit_first: bool = False
    budget: float | None = None
    """Seconds for the whole run."""
    shard: Shard | None = None
    """Which machine this is, of several that share the tests."""
    looks: Looks = Looks.THERE
    """Whether what base and head are built to is reviewed."""


class Facts(Value, frozen=True, kw_only=True):
    """What the head tree (or the base's) says of itself, beyond the selection."""

    project: convention.Project
    requirements: convention.TestRequirements
    otherwise: convention.TestRequirements | None = None
    """Those by convention, where some of `requirements` are upstream's."""
    backend: convention.Backend | None
    native: tuple[str, ...]
    floor: str
    lint_tool: str
    """`pre-commit`, `lintrunner`, `ruff`, or empty."""
    docs: convention.DocsConvention
    definitions: tuple[Definition, ...]
    """Public definitions that the change adds or alters, test files apart."""
    doctests: bool
    blobs: dict[str, str]
    """Blob id of every file of the tree."""
    generated: tuple[str, ...] = ()
    """C and C++ files that Cython generated and that are in the tree."""
    notes: tuple[str, ...] = ()
    addopts: tuple[str, ...] = ()
    """The options of the project's own pytest configuration."""
    groups: bool = False
    """Tests are marked with `xdist_group`; known only where `tests.xdist` is not `no`."""


def make_plan(
    change: Change,
    selection: Selection,
    facts: Facts,
    config: Sourced,
    ask: Ask,
    *,
    seconds: Mapping[str, float],
    clean_build: bool = False,
    step_seconds: Callable[[str], float | None] = lambda _: None,
    besides: Sequence[str] = (),
    benchmarks: Benchmarks | None = None,
    rules: Sequence[str] = (),
) -> Plan:
    """Say which steps a run takes, in order, and what it leaves out and why.

    `seconds` holds the last known seconds of test files; `besides` names the further test commands of upstream's job,
    with their variables, `rules` the rules of the review. Raises UsageError where --only or --skip names no step.
    """
    left_out: list[str] = []
    overlaid = _laid_over(change, config)
    if overlaid:
        facts = msgspec.structs.replace(facts, native=())  # nothing is compiled
    lint = _lint_steps(change, facts, config, left_out)
    # What was built before is mostly still there; only a clean build surely takes of the budget.
    sure = _build_steps(change, facts, config, needs_build=True, clean=True) if clean_build else ()
    division = _divide(
        *(selection, config.config.tests, ask),
        seconds=seconds,
        built_in=sum(step_seconds(duration_key(step)) or 0.0 for step in sure),
    )
    tests = _test_steps(
        *(change, selection, facts, config, ask),
        division=division,
        seconds=seconds,
        left_out=left_out,
    )
    tests += _twin_steps(selection, facts, config, ask, division=division, besides=besides)
    tests = [_for_overlay(step, overlaid) for step in tests]
    docs = _docs_steps(change, facts, config, ask, left_out)
    bench = bench_steps(benchmarks, left_out, on_path=_installs_nothing(facts, config))
    needs_build = any(step.needs for step in (*tests, *docs, *bench))
    needs_build |= ask.looks is Looks.ASKED
    build = _build_steps(change, facts, config, needs_build=needs_build, clean=clean_build)
    if any(isinstance(step.work, Tests) and step.work.record is not None for step in tests):
        build = [_for_recording(step, config.config.tests.record) for step in build]
    if bench:
        build = [for_benchmarks(step, bench) for step in build]
    if build and ask.tier is Tier.QUICK and facts.native and not needs_build:
        build = []
        left_out.append("build: tier quick builds no extension modules")
    elif not build:
        left_out.append("build: nothing in this change needs one")
    triggers = config.config.build.triggers
    built = built_review(change, build, rules, looks=ask.looks, triggers=triggers)
    others = (*build, *tests, *docs, *bench)
    steps = _chosen((*lint, *_review_steps(rules, built), *others, *built), ask)
    if not any(isinstance(step.work, Build) for step in steps):
        steps = _chosen((*lint, *_review_steps(rules, ()), *others), ask)
    tested = any(step.role is Role.TESTS for step in steps)
    incomplete = [f"--only {name}" for name in ask.only] + [f"--skip {name}" for name in ask.skip]
    incomplete += [f"--shard {ask.shard}"] if division.elsewhere else []
    return Plan(
        tier=ask.tier,
        steps=tuple(_with_seconds(step, step_seconds) for step in steps),
        left_out=tuple(left_out),
        incomplete=tuple(incomplete),
        budget_cut=division.cut if tested else (),
        elsewhere=division.elsewhere if tested or not tests else (),
    )


def _review_steps(rules: Sequence[str], built: Sequence[PlanStep]) -> list[PlanStep]:
    """Give the step for all that can be said without a build."""
    later = left_to_it(built)
    rules = [name for name in rules if name not in later]
    if not rules:
        return []
    return [
        PlanStep(
            id="review.1",
            role=Role.REVIEW,
            title="review",
            work=Reviewing(rules=tuple(rules)),
            origin="convention: every change",
            why="what a change brings that no test tells",
        )
    ]


def _with_seconds(step: PlanStep, known: Callable[[str], float | None]) -> PlanStep:
    if step.expected_seconds is not None:
        return step
    return msgspec.structs.replace(step, expected_seconds=known(duration_key(step)))


def duration_key(step: PlanStep) -> str:
    """Name what a step's duration is remembered by."""
    return f"{step.id} {step.title}"


def _chosen(steps: Sequence[PlanStep], ask: Ask) -> list[PlanStep]:
    """Apply --only and --skip (roles or step ids); what a chosen step needs comes along."""
    known = {step.id for step in steps} | {str(role) for role in Role}
    for name in (*ask.only, *ask.skip):
        if name not in known:
            raise UsageError(
                f"there is no step `{name}`", hint=f"known: {', '.join(sorted(known))}"
            )
    asked = {s.id for s in steps if not ask.only or s.id in ask.only or s.role in ask.only}
    wanted = asked - {s.id for s in steps if s.id in ask.skip or s.role in ask.skip}
    # A role of which the change asks no step has nothing to check; that all of it is skipped is a mistake.
    if asked and not wanted:
        raise UsageError(
            "--only and --skip leave no step to run", hint=f"known: {', '.join(sorted(known))}"
        )
    needed = {need for s in steps if s.id in wanted for need in s.needs}
    skipped = {s.id for s in steps if s.id in ask.skip or s.role in ask.skip}
    if needed & skipped:
        raise UsageError(
            f"--skip {', '.join(sorted(needed & skipped))}: other steps need it",
            hint="skip those too, or name what you want with --only",
        )
    return [step for step in steps if step.id in wanted | needed]


# --- lint -----------------------------------------------------------------------------------------------------------


def _lint_steps(
    change: Change, facts: Facts, config: Sourced, left_out: list[str]
) -> list[PlanStep]:
    present = tuple(f.path for f in change.files if f.status is not FileStatus.DELETED)
    present = tuple(path for path in present if path not in change.submodules)
    python = tuple(path for path in present if path.endswith((".py", ".pyi")))
    steps: list[PlanStep] = []
    if python:
        floor = f" at Python {facts.floor}" if facts.floor else ""
        steps.append(
            PlanStep(
                id="lint.1",
                role=Role.LINT,
                title="syntax",
                work=Syntax(files=python, floor=facts.floor),
                origin="convention: requires-python" if floor else "convention",
                why=f"{counted(len(python), 'Python file')} must parse{floor}",
            )
        )
    commands = _lint_commands(facts, config, present)
    if not commands:
        left_out.append("lint: the project configures no lint tool that presubmit knows")
    for number, (work, origin) in enumerate(commands, start=len(steps) + 1):
        title = work.tool if work.tool != "command" else _first_word(work.command[-1])
        if not work.files:
            left_out.append(f"{title}: no changed file for it")
            continue
        steps.append(
            PlanStep(
                id=f"lint.{number}",
                role=Role.LINT,
                title=title,
                work=work,
                origin=origin,
                why=counted(len(work.files), "changed file"),
            )
        )
    return steps


def _first_word(command: str) -> str:
    return next(iter(command.split()), command)


_FILES: Final = re.compile(r"\{files(?::([^{}]*))?\}")


def _matching(command: str, files: tuple[str, ...]) -> tuple[str, ...]:
    """Give the files that a command asks for: all with `{files}`, those that match with `{files:src/*.py}`."""
    patterns = [pattern for found in _FILES.findall(command) for pattern in found.split()]
    if not patterns:
        return files
    return tuple(f for f in files if any(fnmatch.fnmatchcase(f, p) for p in patterns))


def _lint_commands(
    facts: Facts, config: Sourced, files: tuple[str, ...]
) -> list[tuple[LintCommand, str]]:
    lint = config.config.lint
    if lint.commands:
        return [
            (
                LintCommand(
                    command=("sh", "-c", _FILES.sub("{files}", command)),
                    tool="command",
                    files=_matching(command, files),
                    requirements=lint.packages,
                    timeout=lint.timeout,
                ),
                _origin(config, f"lint.commands.{number}", "")
                or _origin(config, "lint.commands", "config"),
            )
            for number, command in enumerate(lint.commands)
        ]
    command: tuple[str, ...]
    if facts.lint_tool == "pre-commit":
        command, needs, named = ("pre-commit",), (PRE_COMMIT,), ".pre-commit-config.yaml"
    elif facts.lint_tool == "lintrunner":
        command, needs, named = ("lintrunner",), (LINTRUNNER,), ".lintrunner.toml"
    elif facts.lint_tool == "ruff":
        files = tuple(f for f in files if f.endswith((".py", ".pyi")))
        command, needs, named = ("ruff", "check"), (RUFF,), "the project's ruff settings"
    else:
        return []
    work = LintCommand(
        command=command,
        tool=facts.lint_tool,
        files=files,
        requirements=(*needs, *lint.packages),
        timeout=lint.timeout,
    )
    return [(work, f"convention: {named}")]


# --- build ----------------------------------------------------------------------------------------------------------


def build_work(
    facts: Facts, config: Sourced, change: Change, *, clean: bool, of_base: bool = False
) -> Build:
    """Say how head or the base is built; the same for both, each from its own files."""
    tree = change.base.tree if of_base else change.target.tree
    # Upstream's variables are those of its test step; it does not build with them.
    shared = () if _of_upstream(config, "tests.env") else config.config.tests.env
    env = (*shared, *config.config.build.env)
    work = _build_work(facts, facts.requirements, config.config, env=env, clean=clean)
    if work.mode == "overlay":
        work = _overlaid(work, config.config.build, change, of_base=of_base)
    if facts.otherwise is not None:
        plain = without_upstream(config)
        otherwise = _build_work(facts, facts.otherwise, plain, env=env, clean=clean)
        work = msgspec.structs.replace(work, otherwise=otherwise)
    return _with_key(work, _build_inputs(facts, work, config, tree))


def _build_work(
    facts: Facts,
    requirements: convention.TestRequirements,
    config: Config,
    *,
    env: tuple[str, ...],
    clean: bool,
) -> Build:
    build = config.build
    mode = build.mode
    if mode == "auto":
        mode = "editable" if facts.backend is not None else "none"
    backend = facts.backend
    native = facts.native if build.native == "auto" else ()
    return Build(
        mode=mode,
        command=build.command,
        before=build.before,
        backend=backend.name if backend else "",
        backend_path=backend.path if backend else (),
        build_requires=backend.requires if backend and mode in {"editable", "wheel"} else (),
        requirements=requirements.together,
        local_requirements=requirements.local,
        constraints=requirements.constraints,
        constraint_files=(*build.constraints, *requirements.constraint_files),
        extras=requirements.dynamic_extras,
        clean=clean,
        native=native,
        project=str(facts.project.table("project").get("name", "")),
        python=config.container.python,
        env=env,
        timeout=build.timeout,
    )


def _laid_over(change: Change, config: Sourced) -> tuple[str, ...]:
    """Name the packages of an overlay; none where the project is built."""
    build = config.config.build
    if build.mode != "overlay":
        return ()
    changed = [path for file in change.files for path in file.paths]
    overlay, _ = overlay_of(build, changed, base=change.base.commit)
    return names_of(overlay) if overlay is not None else ()


def _for_overlay(step: PlanStep, packages: tuple[str, ...]) -> PlanStep:
    """Have tests prove that these packages come from the overlay."""
    if not packages or not isinstance(step.work, Tests):
        return step
    return msgspec.structs.replace(
        step, work=msgspec.structs.replace(step.work, overlaid=packages)
    )


def _overlaid(work: Build, build: BuildConfig, change: Change, *, of_base: bool) -> Build:
    """Give the build that lays the tree's Python over what is installed, or that compiles where that must be."""
    changed = [path for file in change.files for path in file.paths]
    overlay, _ = overlay_of(build, changed, base=change.base.commit, of_base=of_base)
    if overlay is None:
        return msgspec.structs.replace(work, mode="command")
    if not overlay.packages:
        raise ConfigError(
            "build.mode is overlay, and build.overlay names no package",
            hint='name the packages at the root of the tree: overlay = ["torch"]',
        )
    return msgspec.structs.replace(work, overlay=overlay, native=(), build_requires=())


def _for_recording(step: PlanStep, record: str) -> PlanStep:
    """Have a build install what recording needs; its key says what it builds, which is the same."""
    if not isinstance(step.work, Build):
        return step
    return msgspec.structs.replace(step, work=msgspec.structs.replace(step.work, record=record))


def _with_key(work: Build, inputs: str) -> Build:
    otherwise = work.otherwise and msgspec.structs.replace(work.otherwise, clean=False)
    same = msgspec.structs.replace(work, clean=False, otherwise=otherwise)
    digest = hashlib.sha256(encode(same) + inputs.encode("utf-8", "surrogateescape"))
    return msgspec.structs.replace(work, key=digest.hexdigest()[:24])


def _build_inputs(facts: Facts, work: Build, config: Sourced, tree: str) -> str:
    """Name all that the build's result depends on.

    An editable install of pure Python is links to the sources, so only the build files and the set of importable
    top-level names count; anything else depends on the whole tree.
    """
    if work.native or work.mode not in {"editable", "none"}:
        return tree
    triggers = config.config.build.triggers
    files = [
        f"{path} {blob}"
        for path, blob in sorted(facts.blobs.items())
        if convention.is_build_file(path, triggers)
    ]
    if "version" in facts.project.table("project").get("dynamic", ()):
        # The installed metadata hold a version that is read from one of these.
        files += [f"{p} {b}" for p, b in sorted(facts.blobs.items()) if _may_hold_version(p)]
    tops = sorted({_top(path) for path in facts.blobs if path.endswith(".py")})
    return "\n".join((*files, *tops))


def stale_generated(change: Change, facts: Facts, work: Build) -> tuple[str, ...]:
    """Give the tracked outputs of Cython in the folders of changed Cython sources, where nothing renews them.

    The build would compile what was generated before the change, and be green for it.
    """
    changed = {p for file in change.files for p in file.paths}
    folders = {posixpath.dirname(p) for p in changed if p.endswith((".pyx", ".pxd", ".pxi"))}
    renewed = any("cython" in line.lower() for line in work.build_requires)
    if work.before or work.mode == "command" or renewed:
        return ()
    return tuple(
        path
        for path in facts.generated
        if path not in changed and posixpath.dirname(path) in folders
    )


def _may_hold_version(path: str) -> bool:
    parts = path.removeprefix("src/").split("/")
    names = {
        "__init__.py",
        "__about__.py",
        "__version__.py",
        "_version.py",
        "version.py",
        "VERSION",
    }
    return (parts[-1] in names and len(parts) <= 2) or path.startswith("VERSION")  # noqa: PLR2004


def _top(path: str) -> str:
    parts = path.removeprefix("src/").split("/")
    return parts[0]


_INSTALLS: Final = (
    *("build.extras", "build.groups", "build.requirements", "build.constraints", "build.packages"),
    *("build.before", "build.env", "container.python"),
)


def _build_steps(
    change: Change, facts: Facts, config: Sourced, *, needs_build: bool, clean: bool
) -> list[PlanStep]:
    triggers = config.config.build.triggers
    built = [
        p
        for f in change.files
        for p in f.paths
        if convention.is_build_file(p, triggers) or convention.is_native(p)
    ]
    touched = bool(built) and (
        bool(facts.native) or any(not convention.is_native(p) for p in built)
    )
    if not needs_build and not touched:
        return []
    work = build_work(facts, config, change, clean=clean)
    work = msgspec.structs.replace(work, stale_generated=stale_generated(change, facts, work))
    title, why = _titled(work), f"it is built from {built[0]}" if built else "the tests need it"
    if work.overlay is not None:
        why = "nothing that is compiled changes: the tree's Python is laid over an installed build"
    origin = facts.backend.origin if facts.backend else "convention: nothing to install"
    if work.mode == "command":
        origin = _origin(config, "build.command", "config build.command")
    elif work.overlay is not None:
        origin = _origin(config, "build.overlay", "config build.overlay")
    else:
        origin = ", ".join((origin, *_upstream_lines(config)))
    return [
        PlanStep(
            id="build.1",
            role=Role.BUILD,
            title=title,
            work=work,
            origin=origin,
            why=why,
        )
    ]


def _titled(work: Build) -> str:
    if work.mode == "none":
        return "environment"
    if work.overlay is not None:
        return f"overlay of {', '.join(work.overlay.packages)}"
    return f"build ({'extension modules' if work.native else 'pure Python'})"


def _upstream_lines(config: Sourced) -> tuple[str, ...]:
    """Give the lines of upstream's jobs that say what is installed."""
    lines = [
        origin.removeprefix(UPSTREAM)
        for name, origin in config.origins.items()
        if origin.startswith(UPSTREAM) and name.rstrip("0123456789").rstrip(".") in _INSTALLS
    ]
    return tuple(dict.fromkeys(lines))


# --- tests ----------------------------------------------------------------------------------------------------------


class _Division(Value, frozen=True, kw_only=True):
    """The chosen tests as this run divides them, and what of them it leaves to nobody and to other machines."""

    mode: Mode = Mode.ALL
    kept: tuple[ChosenTest, ...] = ()
    shares: tuple[Share, ...] = ()
    cut: tuple[str, ...] = ()
    elsewhere: tuple[str, ...] = ()


def _divide(
    selection: Selection,
    tests: TestsConfig,
    ask: Ask,
    *,
    seconds: Mapping[str, float],
    built_in: float,
) -> _Division:
    """Take this machine's tests, what the budget has room for, and share it among processes.

    `built_in` are the seconds that the build is known to take of the budget.
    """
    kept = tuple(sorted(selection.tests, key=lambda test: test.rank))
    if ask.arguments or ask.ids:
        return _Division(kept=kept, shares=(Share(files=()),))
    cut: tuple[str, ...] = ()
    elsewhere: tuple[str, ...] = ()
    if ask.shard is not None:
        kept, elsewhere = shards.of_shard(kept, ask.shard, serial=tests.serial)
    if ask.budget is not None:
        kept, cut = shards.within_budget(kept, seconds, ask.budget - built_in)
    mode = Mode.SCOPED if cut or elsewhere else selection.mode
    shares = shards.share(kept, seconds, tests.shards, serial=tests.serial)
    if len(shares) == 1 and mode is Mode.ALL and not tests.apart:
        shares = [Share(files=())]
    return _Division(mode=mode, kept=kept, shares=tuple(shares), cut=cut, elsewhere=elsewhere)


def _test_steps(
    change: Change,
    selection: Selection,
    facts: Facts,
    config: Sourced,
    ask: Ask,
    *,
    division: _Division,
    seconds: Mapping[str, float],
    left_out: list[str],
) -> list[PlanStep]:
    tests = config.config.tests
    asked = bool(ask.arguments or ask.ids)
    if selection.mode is Mode.NONE and not asked:
        left_out.append(f"tests: {selection.why or 'no test is affected'}")
        return []
    if ask.tier is Tier.QUICK and facts.native and not asked:
        left_out.append("tests: they need a build, which tier quick leaves out")
        return []
    if not division.shares:
        left_out.append(f"tests: shard {ask.shard} has none of the affected test files")
        return []
    left_out += [f"tests: {note}" for note in selection.notes]
    options: tuple[str, ...] = ()
    shares = division.shares
    if not asked:
        options, problem = _worker_options(tests, facts, division, seconds)
        left_out += [problem] if problem else []
    record, unrecorded = _recording(tests, division, ask, seconds)
    left_out += [unrecorded] if unrecorded else []
    if record is not None:
        options = ()  # one process is recorded
    if options:
        shares = _with_serial_apart(division, seconds, tests.serial)
    native = any(convention.is_native(p) for f in change.files for p in f.paths)
    steps = []
    for number, part in enumerate(shares, start=1):
        work = msgspec.structs.replace(
            _tests_work(facts, config, ask, part, division.mode),
            record=record,
            shard=number,
            shards=len(shares),
            extensions_changed=native and bool(facts.native),
        )
        work = with_command(work, config)
        if number == 1:
            work = msgspec.structs.replace(work, command=(*work.command, *options))
        steps.append(
            PlanStep(
                id=f"tests.{number}",
                role=Role.TESTS,
                title="tests" if len(shares) == 1 else f"tests {number}/{len(shares)}",
                work=work,
                origin=_origin(config, "tests.command", "convention: pytest"),
                why="as asked on the command line" if asked else selection.why,
                needs=("build.1",),
                expected_seconds=None if asked else _expected(part, division.kept, seconds),
            )
        )
    return steps


def _tests_work(facts: Facts, config: Sourced, ask: Ask, part: Share, mode: Mode) -> Tests:
    """Say how one process runs its part of the tests, its command apart."""
    tests, build = config.config.tests, config.config.build
    named, arguments = runner_of(tests.command).sort_arguments(ask.arguments)
    return Tests(
        command=(),
        mode=Mode.SCOPED if part.files else mode,
        files=part.files,
        ids=(*ask.ids, *named),
        within=part.within,
        without=part.without,
        arguments=arguments,
        retries=tests.retries if ask.retries is None else ask.retries,
        max_retried=tests.max_retried,
        exit_first=ask.exit_first,
        apart=tests.apart,
        path=tests.path,
        off_path=build.mode == "wheel",
        on_path=_installs_nothing(facts, config),
        project=str(facts.project.table("project").get("name", "")),
        timeout=tests.timeout,
    )


def _installs_nothing(facts: Facts, config: Sourced) -> bool:
    """Tell whether the tree's root must be put on the import path, since no build installs the project."""
    mode = config.config.build.mode
    return mode == "none" or (mode == "auto" and facts.backend is None)


SECOND_RUN: Final = "tests.pure"
"""How the ids of steps begin that run tests once more, with Python in place of an extension module."""


def _twin_steps(
    selection: Selection,
    facts: Facts,
    config: Sourced,
    ask: Ask,
    *,
    division: _Division,
    besides: Sequence[str],
) -> list[PlanStep]:
    """Run the affected tests once more for each variable that loads changed Python in place of an extension module.

    Those with variables of upstream's or the user's own run that way already.
    """
    given = assigned(config.config.tests.env)
    by_variable: dict[str, list[PureTwin]] = {}
    for twin in selection.twins if ask.tier is not Tier.QUICK or not facts.native else ():
        if not given.get(twin.variable):
            by_variable.setdefault(twin.variable, []).append(twin)
    steps: list[PlanStep] = []
    for variable, twins in by_variable.items():
        asked = bool(ask.arguments or ask.ids)
        files = None if asked else _files_of_twins(twins, division, ask)
        if files is not None and not files and division.mode is not Mode.ALL:
            continue
        value, origin = _upstream_value(variable, besides)
        work = with_command(
            _tests_work(facts, config, ask, Share(files=files or ()), Mode.ALL), config
        )
        work = msgspec.structs.replace(
            work,
            env=(*work.env, f"{variable}={value}"),
            pure=tuple(dict.fromkeys(name for twin in twins for name in twin.modules)),
        )
        steps.append(
            PlanStep(
                id=SECOND_RUN if not steps else f"{SECOND_RUN}{len(steps) + 1}",
                role=Role.TESTS,
                title=f"tests with {variable}={value}",
                work=work,
                origin=origin or f"convention: {twins[0].path} is loaded with {variable} alone",
                why=f"{twins[0].path} stands in for {twins[0].native}, which the other tests load",
                needs=("build.1",),
            )
        )
    return steps


def _files_of_twins(
    twins: Sequence[PureTwin], division: _Division, ask: Ask
) -> tuple[str, ...] | None:
    """Give the test files that this machine runs again within the budget; None: all of the suite."""
    kept = {test.path for test in division.kept}
    every = any(not twin.tests for twin in twins)
    if every and ask.shard is None and not division.cut:
        return None
    wanted = dict.fromkeys(test for twin in twins for test in twin.tests or sorted(kept))
    if ask.shard is not None:
        return tuple(path for path in wanted if path in kept)
    return tuple(path for path in wanted if path not in division.cut)


def _upstream_value(variable: str, besides: Sequence[str]) -> tuple[str, str]:
    """Give the value that upstream's own job sets a variable to, and where; else `1`."""
    for command in besides:
        found = re.match(rf"(?:[A-Z_]\w*=\S* )*?{variable}=(\S+) .*\((\S+?)(?::? .*)?\)$", command)
        if found is not None:
            return found[1], found[2]
    return "1", ""


def _recording(
    tests: TestsConfig, division: _Division, ask: Ask, seconds: Mapping[str, float]
) -> tuple[float | None, str]:
    """Say for how many seconds of testing the tests are recorded, or why they are not.

    A recorded run takes up to twice as long, so it is one only where that costs less than a minute, or where nobody
    knows: the recorder then stops by itself.
    """
    runner = runner_of(tests.command)
    if not runner.RECORDS:
        return None, f"recording: runs of {runner.NAME} are not recorded" * (tests.record == "yes")
    if tests.record == "yes":
        return WITHOUT_END, ""
    if tests.record == "no" or ask.arguments or ask.ids or ask.budget is not None:
        return None, ""
    known = shards.known_seconds(division.kept, seconds)
    if known is None or known <= RECORDED_SECONDS:
        return RECORDED_SECONDS, ""
    return None, (
        f"recording: the tests take about {known:.0f} s; `presubmit record` records them all once,"
        " and later runs are narrowed by it"
    )


def _worker_options(
    tests: TestsConfig, facts: Facts, division: _Division, seconds: Mapping[str, float]
) -> tuple[tuple[str, ...], str]:
    return xdist_options(
        tests,
        requirements=[line for some in facts.requirements.together for line in some.lines],
        addopts=facts.addopts,
        groups=facts.groups,
        known=shards.known_seconds(division.kept, seconds),
    )


def _with_serial_apart(
    division: _Division, seconds: Mapping[str, float], serial: Sequence[str]
) -> tuple[Share, ...]:
    """Give the files that must not run side by side a process without workers, after the one with them."""
    apart, others = shards.part_serial(division.kept, serial)
    if not apart or not others:
        return division.shares
    return tuple(part for some in (others, apart) for part in shards.share(some, seconds, 1))


def with_command(work: Tests, config: Sourced) -> Tests:
    """Give the step with the command and the variables of a configuration: head's, or the base's own."""
    return msgspec.structs.replace(
        work,
        command=config.config.tests.command,
        otherwise=_BY_CONVENTION if _of_upstream(config, "tests.command") else (),
        env=config.config.tests.env,
    )


_BY_CONVENTION: Final = TestsConfig().command


def _of_upstream(config: Sourced, option: str) -> bool:
    return config.origins.get(option, "").startswith(UPSTREAM)


def _origin(config: Sourced, option: str, otherwise: str) -> str:
    """Say where an option comes from: `ci.yml:31`, `config pyproject.toml`, or a convention."""
    found = config.origins.get(option)
    if found is None:
        return otherwise
    if found.startswith((UPSTREAM, convention.ORIGIN)):
        return found.removeprefix(UPSTREAM)
    return f"config {found}"


def _expected(
    part: Share, tests: Sequence[ChosenTest], seconds: Mapping[str, float]
) -> float | None:
    mine = [test for test in tests if not part.files or test.path in set(part.files)]
    known = shards.known_seconds(mine, seconds)
    unknown = sum(shards.cost(test, seconds) is None for test in mine)
    if not known or unknown > len(mine) / 2:
        return None  # a figure for a few of them would be taken for all
    parted = part.without or set(part.within) != {one for test in mine for one in test.ids}
    found = part.seconds if part.files and parted else known
    return round(found, 1) or round(found, 3)


def planned_tests(plan: Plan) -> tuple[str, ...]:
    """Give what the test steps run: files, and ids where a file is narrowed; nothing where all of the suite runs."""
    works = [step.work for step in plan.steps if isinstance(step.work, Tests)]
    works = [work for work in works if not work.pure] or works
    parted = {one.partition("::")[0] for work in works for one in work.without}
    units = (unit for work in works for unit in shards.units_of(work.files, work.within))
    found = (path if (path := unit.partition("::")[0]) in parted else unit for unit in units)
    return tuple(dict.fromkeys(found))


# --- docs -----------------------------------------------------------------------------------------------------------


def _docs_steps(
    change: Change, facts: Facts, config: Sourced, ask: Ask, left_out: list[str]
) -> list[PlanStep]:
    steps: list[PlanStep] = []
    docs = config.config.docs
    if facts.definitions:
        name = facts.docs.name if docs.convention == "auto" else docs.convention
        binding = facts.docs.enforced if docs.binding == "auto" else docs.binding == "yes"
        needs = (RUFF, NUMPYDOC) if name == "numpy" else (RUFF,)
        steps.append(
            PlanStep(
                id="docs.1",
                role=Role.DOCS,
                title="docstrings",
                work=Docstrings(
                    definitions=facts.definitions,
                    convention=name,
                    binding=binding,
                    requirements=needs,
                ),
                origin=f"convention: {facts.docs.origin}",
                why=counted(len(facts.definitions), "changed public definition")
                + ("" if binding else " (advice: the project does not check docstrings)"),
            )
        )
    else:
        left_out.append("docstrings: no public definition changed")
    modules = _doctest_modules(change, facts, config)
    if modules and not (ask.tier is Tier.QUICK and facts.native):
        steps.append(
            PlanStep(
                id=f"docs.{len(steps) + 1}",
                role=Role.DOCS,
                title="doctests",
                # Upstream's command is for its tests; its options may be for them alone.
                work=Doctests(
                    command=_BY_CONVENTION
                    if _of_upstream(config, "tests.command")
                    or runner_of(config.config.tests.command) is not pytest
                    else config.config.tests.command,
                    files=modules,
                ),
                origin="convention: the project's pytest runs doctests",
                why=counted(len(modules), "changed module"),
                needs=("build.1",),
            )
        )
    return steps


def _doctest_modules(change: Change, facts: Facts, config: Sourced) -> tuple[str, ...]:
    wanted = config.config.docs.doctests
    if wanted == "no" or (wanted == "auto" and not facts.doctests):
        return ()
    return tuple(
        f.path
        for f in change.files
        if f.status is not FileStatus.DELETED
        and f.path.endswith(".py")
        and posixpath.basename(f.path) not in {"setup.py", "conftest.py", "noxfile.py"}
        and any(d.path == f.path for d in facts.definitions)
    )
