"""Reads a run's beginning: the options, the change, the configuration, the selection and the plan."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from presubmit import evidence_key, profiles
from presubmit.bench.values import BenchAsk
from presubmit.change import read_change, read_repository
from presubmit.change.authors import read_circle
from presubmit.change.coedit import coedit_scores, read_edits
from presubmit.change.diff import missing_objects, read_blobs
from presubmit.change.repository import repository_id
from presubmit.config import (
    fill_in,
    make_config,
    project_files,
    read_environment,
    read_project,
    read_user,
    users_host,
    without_upstream,
)
from presubmit.errors import ConfigError, GitError, PresubmitError, UsageError
from presubmit.report.folder import find_run, read_run
from presubmit.runners import runner_of
from presubmit.selector import SqliteCache, choose, make_scene, read_tree
from presubmit.selector.ranking import Signals, rank
from presubmit.selector.recorded_setting import facts_of
from presubmit.selector.recorded_store import of_place, read_stored, setting_of
from presubmit.selector.shards import recorded_seconds
from presubmit.trees import TreeReader
from presubmit.values import (
    Benchmarks,
    Change,
    ChosenTest,
    FileStatus,
    Mode,
    Plan,
    Reason,
    Selection,
    TargetKind,
    Tier,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from presubmit.change.repository import Repository
    from presubmit.config import Sourced
    from presubmit.history import History
    from presubmit.plan import Ask, Facts
    from presubmit.plan_built import Looks
    from presubmit.selector import Layout
    from presubmit.selector.recorded_scene import StaticSetting
    from presubmit.selector.shards import Shard


class RunOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What the command line of `run`, `plan` and `select` says."""

    start: Path
    base: str | None = None
    fetch: bool = False
    kind: TargetKind = TargetKind.WORKTREE
    commit: str | None = None
    untracked: bool = True
    only: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    tier: Tier = Tier.STANDARD
    tests: str = "affected"
    """`affected`, `nearest` or `all`."""
    last_failed: bool = False
    exit_first: bool = False
    retries: int | None = None
    check_base: str = "auto"
    container: bool = True
    image: str | None = None
    pull: bool = False
    trust_head: bool = False
    fresh: bool = False
    hook: bool = False
    """A push waits: nothing is built, and lanes that others use are left to them."""
    host_is_users: bool = False
    """The user's own configuration says that tests run on the host."""
    budget: float | None = None
    shard: Shard | None = None
    """Which machine this is, of several that share the tests."""
    allow_partial: bool = False
    bench: BenchAsk = BenchAsk()
    rules: tuple[str, ...] = ()
    """The rules of the review; empty: all."""
    build_both: bool = False
    """Both sides are built for the review."""
    config: dict[str, Any] = {}
    """Options of the configuration that the command line sets."""
    arguments: tuple[str, ...] = ()


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that was read of the repository, before anything is run."""

    repository: Repository
    change: Change
    config: Sourced
    base_reader: TreeReader
    head_reader: TreeReader
    warnings: tuple[str, ...]
    cache: Path
    circle: str
    profile: str = ""
    """What is known of the upstream beyond its files, by name; empty: nothing."""
    image: str = ""
    """Id of the image that is run in, or HOST; empty where no engine was asked."""


# --- reading ----------------------------------------------------------------------------------------------------------


def user_config_path(environ: Mapping[str, str]) -> Path:
    """Name the user's own config file."""
    return Path(evidence_key.user_config_path(environ))


def cache_root(environ: Mapping[str, str]) -> Path:
    """Name the folder of all of presubmit's caches."""
    return Path(evidence_key.base_directory(environ, "XDG_CACHE_HOME", ".cache"), "presubmit")


def read_user_file(path: Path) -> str | None:
    """Read the user's own config file; None where there is none. Raises ConfigError."""
    try:
        return path.read_text("utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}", hint="mend the file") from error


def at_users_place(options: RunOptions, environ: Mapping[str, str]) -> RunOptions:
    """Go to the host where the user's own configuration says `host = true`; an image on the command line wins."""
    path = user_config_path(environ)
    text = read_user_file(path)
    if "host" not in (text or "") and not environ.get("PRESUBMIT_HOST"):
        return options  # asking git costs
    try:
        top = read_repository(options.start).top
    except GitError:
        return options  # it is said where the change is read
    own = {**read_user(text, str(path), str(top)), **read_environment(environ)}
    if not users_host(own) or options.image:
        return options
    return msgspec.structs.replace(options, container=False, host_is_users=True)


def read_all(options: RunOptions, environ: Mapping[str, str]) -> Reading:
    """Read the change and the configuration; nothing of the project is run."""
    repository = read_repository(options.start)
    path = user_config_path(environ)
    text = read_user_file(path)
    user = read_user(text, str(path), str(repository.top))
    warnings: list[str] = []
    configured = user.get("base") or _base_in_checkout(repository.top)
    change = read_change(
        repository,
        base=options.base,
        environ=environ,
        configured_base=configured,
        fetch=options.fetch,
        kind=options.kind,
        commit=options.commit,
        untracked=options.untracked,
        warn=warnings.append,
    )
    head = TreeReader(repository, change.target.snapshot)
    base = TreeReader(repository, change.base.commit, later=change.target.snapshot)
    command_line = dict(options.config)
    if options.image:
        command_line["container.image"] = options.image
    config = make_config(
        command_line=command_line,
        environ=environ,
        user=user,
        user_name=str(path),
        head=project_files(head.data),
        base=project_files(base.data),
        trust_head=options.trust_head,
        on_host=not options.container,
    )
    profile = config.config.profile
    if profile == "auto":
        profile = profiles.recognise(head)
    config = fill_in(config, profiles.options_of(profile, head))
    circle = read_circle(repository, change.base.commit, change.target.commit)
    return Reading(
        repository=repository,
        change=change,
        config=config,
        base_reader=base,
        head_reader=head,
        warnings=tuple(warnings),
        cache=cache_root(environ) / repository_id(change.common_dir) / circle,
        circle=circle,
        profile="" if profile == "none" else profile,
    )


def asks_upstream(reading: Reading, tree: TreeReader) -> bool:
    """Tell whether upstream's jobs of a tree have a say in the options."""
    if reading.profile:
        return False  # the profile says it
    has_workflows = any(path.startswith(".github/workflows/") for path in tree.blobs)
    return reading.config.config.upstream != "no" and has_workflows


def by_convention(reading: Reading, tree: TreeReader) -> Reading:
    """Give the reading with the command that the tree's own files call for, where nothing else says one."""
    from presubmit import convention  # noqa: PLC0415 - most projects have a pytest configuration

    if "tests.command" in reading.config.origins:
        return reading
    found = convention.test_command(tree.blobs, tree.text)
    if found is None:
        return reading
    config = fill_in(reading.config, {"tests.command": found})
    return msgspec.structs.replace(reading, config=config)


def _base_in_checkout(top: Path) -> str | None:
    """Read `base` from the checkout's own config; a mistake in it is reported later, with the rest."""

    def read(name: str) -> bytes | None:
        path = top / name
        return path.read_bytes() if path.is_file() else None

    try:
        options, _ = read_project(project_files(read), "")
    except (PresubmitError, OSError):
        return None
    found = options.get("base")
    return found if isinstance(found, str) and found else None


def read_selection(
    reading: Reading,
    tests: str,
    history: History | None = None,
    *,
    setting: str | None = None,
) -> tuple[Selection, Layout]:
    """Select the tests of the tree under test; sources are read out of git, no checkout is made.

    With a history, recorded runs narrow what is affected: those of a `setting`, or of the last one.
    """
    change, config = reading.change, reading.config.config
    with SqliteCache(Path(change.common_dir) / "presubmit" / "selection.db") as cache:
        tree = read_tree(
            reading.head_reader.source(),
            base=reading.base_reader.source(),
            changed=[path for file in change.files for path in file.paths],
            gone=[
                file.old_path or file.path
                for file in change.files
                if file.status in {FileStatus.DELETED, FileStatus.RENAMED}
            ],
            cache=cache,
        )
        runner = runner_of(config.tests.command)
        collects = runner.collects(config.tests.command)
        scene = make_scene(change, tree, config.tests.rules, collects=collects)
        chosen = choose(
            change,
            scene,
            tests=tests,  # type: ignore[arg-type]
            always=config.tests.always,
            full_if=config.tests.full_if,
        )
        told = history if runner.RECORDS else None
        runs = read_stored(told, setting) if told is not None else ()
        runs, notes = of_place(runs, place_of(reading))
        if chosen.mode is not Mode.NONE and tests == "affected":
            chosen = msgspec.structs.replace(chosen, notes=(*chosen.notes, *notes))
        if runs and tests == "affected":
            from presubmit.selector.recorded_scene import by_recordings  # noqa: PLC0415 - see _static

            chosen = by_recordings(change, scene, chosen, runs, _static(reading))
    if tests == "all" and chosen.mode is Mode.NONE:
        chosen = _everything(scene.layout.tests)
    return chosen, scene.layout


def place_of(reading: Reading) -> dict[str, str]:
    """Give what is known of where tests run, apart from what upstream's jobs say: `select` reads none of them."""
    return facts_of(without_upstream(reading.config), reading.image)


def _everything(tests: Iterable[str]) -> Selection:
    """Choose all tests where the change itself calls for none."""
    why = "all tests were asked for"
    reason = Reason(rule="all", text=why)
    every = tuple(ChosenTest(path=path, reasons=(reason,)) for path in sorted(tests))
    return Selection(mode=Mode.ALL, tests=every, known=len(every), why=f"all tests: {why}")


def _static(reading: Reading) -> StaticSetting:
    """Give what the static choice is made with, to make it again for what changed since a recorded run."""
    # Where nothing is recorded, nothing of this is loaded.
    from presubmit.selector.recorded_scene import StaticSetting  # noqa: PLC0415

    tests = reading.config.config.tests
    repository = reading.repository

    def read(blobs: Iterable[str]) -> dict[str, bytes]:
        wanted = set(blobs)
        # Objects of a recorded tree may be gone: what cannot be read may have changed in any way.
        return read_blobs(repository, wanted - missing_objects(repository, wanted))

    return StaticSetting(
        blobs=reading.head_reader.blobs,
        base_blobs=reading.base_reader.blobs,
        read=read,
        now=datetime.now(UTC),
        always=tests.always,
        full_if=tests.full_if,
        rules=tests.rules,
    )


def in_order(reading: Reading, selection: Selection, history: History) -> Selection:
    """Put the chosen tests in the order in which they most likely fail."""
    if not selection.tests:
        return selection
    changed = [path for file in reading.change.files for path in file.paths]
    edits = read_edits(reading.repository, reading.change.base.commit)
    signals = Signals(
        failed=history.failed_tests(),
        coedit=coedit_scores(edits, changed, [test.path for test in selection.tests]),
        seconds=history.test_seconds(),
    )
    return msgspec.structs.replace(selection, tests=rank(selection.tests, signals))


def read_ask(options: RunOptions, top: Path) -> Ask:
    """Turn the command line into what a plan is asked; raises UsageError for --last-failed without a run."""
    from presubmit.plan import Ask  # noqa: PLC0415 - `select` needs no plan

    ids: tuple[str, ...] = ()
    if options.last_failed:
        run = read_run(find_run(top, None))
        failing = [f for f in run.get("failures", []) if f.get("kind") == "test"]
        ids = tuple(dict.fromkeys(str(f["subject"]) for f in failing if f["class"] != "on_base"))
        if not ids:
            raise UsageError("no test failed in the last run", hint="presubmit run")
    return Ask(
        tier=options.tier,
        only=options.only or (("tests",) if options.last_failed else ()),
        skip=options.skip,
        arguments=options.arguments,
        ids=ids,
        retries=options.retries,
        exit_first=options.exit_first,
        budget=options.budget,
        shard=options.shard,
        looks=_looks(options),
    )


def _looks(options: RunOptions) -> Looks:
    from presubmit.plan_built import Looks  # noqa: PLC0415 - as above

    if options.build_both:
        return Looks.ASKED
    if options.hook:
        return Looks.NO  # a push waits
    return Looks.MAKE if options.tier is Tier.FULL else Looks.THERE


def _seconds(
    reading: Reading, options: RunOptions, history: History, setting: str
) -> dict[str, float]:
    """Give the known seconds of test files; of single tests, too, where something is divided by them."""
    files = history.test_seconds()
    if options.budget is None and reading.config.config.tests.shards == 1:
        return files
    return recorded_seconds(read_stored(history, setting), reading.head_reader.blobs) | files


class Planned(msgspec.Struct, frozen=True, kw_only=True):
    """A plan and what it was made from."""

    plan: Plan
    selection: Selection
    layout: Layout
    facts: Facts


def _read_benchmarks(reading: Reading, options: RunOptions) -> Benchmarks | None:
    """Read the benchmarks where some may be wanted; looking for them costs."""
    if options.tier is not Tier.FULL and not any(it.startswith("bench") for it in options.only):
        return None
    from presubmit.bench_reading import read_benchmarks  # noqa: PLC0415 - only here

    return read_benchmarks(
        reading.change,
        reading.base_reader,
        reading.head_reader,
        reading.config.config.bench,
        options.bench,
    )


def plan_run(
    reading: Reading,
    options: RunOptions,
    history: History,
    *,
    clean: bool,
    besides: Sequence[str] = (),
) -> Planned:
    """Select and plan; an unchanged tree gives an empty plan, unless tests were asked for by name."""
    from presubmit.facts import read_changed_definitions, read_facts  # noqa: PLC0415 - 0.1 s
    from presubmit.plan import make_plan  # noqa: PLC0415
    from presubmit.review.names import NAMES  # noqa: PLC0415

    tests = reading.config.config.tests
    setting = setting_of(tests.command, tests.env)
    # Machines that share the tests must choose alike, whatever each of them has recorded.
    told = history if options.shard is None else None
    selection, layout = read_selection(reading, options.tests, told, setting=setting)
    selection = in_order(reading, selection, history)
    definitions = read_changed_definitions(
        reading.change, reading.base_reader, reading.head_reader, layout.settings
    )
    facts = read_facts(
        *(reading.head_reader, reading.config.config, layout),
        plain=without_upstream(reading.config),
        definitions=definitions,
        history=history,
    )
    ask = read_ask(options, Path(reading.change.top))
    benchmarks = _read_benchmarks(reading, options)
    asked = ask.arguments or ask.ids or options.tests == "all" or options.bench.self_test
    if reading.change.files or asked:
        plan = make_plan(
            reading.change,
            selection,
            facts,
            reading.config,
            ask,
            seconds=_seconds(reading, options, history, setting),
            clean_build=clean,
            step_seconds=history.step_seconds,
            besides=besides,
            benchmarks=benchmarks,
            rules=(options.rules or NAMES) if reading.change.files else (),
        )
    else:
        plan = Plan(tier=options.tier, steps=(), left_out=("everything: the change is empty",))
    return Planned(plan=plan, selection=selection, layout=layout, facts=facts)
