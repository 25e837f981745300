"""Reads which benchmarks a project has and which of them the change can reach, for the step that compares them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from presubmit.bench.choose import choose_benchmarks
from presubmit.bench.suites import find_suites
from presubmit.convention import is_native
from presubmit.selector import SqliteCache, make_scene, read_tree
from presubmit.selector.layout import in_test_folder, is_python, matches_glob
from presubmit.selector.rules import Reach
from presubmit.values import Adapter, Benchmarks, BenchSettings, FileStatus, TargetKind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from presubmit.bench.values import BenchAsk
    from presubmit.config import BenchConfig
    from presubmit.selector import Layout, Scene
    from presubmit.trees import TreeReader
    from presubmit.values import Change, Suite


def read_benchmarks(
    change: Change, base: TreeReader, head: TreeReader, config: BenchConfig, ask: BenchAsk
) -> Benchmarks:
    """Find head's benchmark files and choose among them; nothing of the project is run."""
    head.want(path for path in head.blobs if path.endswith(".py"))
    found = find_suites(head.blobs, head.text, config.command, timeout=config.timeout)
    suites = _with_files(_among(found.suites, config.paths), config, head.blobs)
    files = {path for suite in suites for path in suite.files}
    with SqliteCache(Path(change.common_dir) / "presubmit" / "selection.db") as cache:
        tree = read_tree(
            head.source(),
            base=base.source(),
            changed=[path for file in change.files for path in file.paths],
            gone=[
                file.old_path or file.path
                for file in change.files
                if file.status in {FileStatus.DELETED, FileStatus.RENAMED}
            ],
            cache=cache,
        )
        scene = make_scene(change, tree, tests=files)
        choice = choose_benchmarks(scene, suites)
    return Benchmarks(
        suites=suites,
        reached=choice.reached,
        left_out=choice.left_out,
        bodies=choice.bodies,
        files=_changed_benchmarks(change, suites),
        only=ask.only,
        every=ask.every or ask.self_test,
        self_test=ask.self_test,
        strict=ask.strict,
        counts=ask.counts,
        profile=ask.profile,
        watch=_top_modules(scene.layout, files),
        changed=_changed_modules(scene, files),
        native=any(is_native(path) for path in scene.judged),
        problems=tuple(f"{it.id}: {it.error}" for it in found.problems),
        removed=_removed(change, base, suites),
        base=change.base.commit,
        head=change.target.tree,
        dirty=change.target.kind is not TargetKind.COMMIT,
        settings=BenchSettings(
            fail_above=config.fail_above, budget=config.budget, threads=config.threads
        ),
        env=config.env,
    )


def _among(suites: Iterable[Suite], patterns: tuple[str, ...]) -> tuple[Suite, ...]:
    """Keep the files that the configuration names, where it names any; commands are named by being there."""
    if not patterns:
        return tuple(suites)
    kept = []
    for suite in suites:
        files = tuple(
            path for path in suite.files if any(matches_glob(path, it) for it in patterns)
        )
        if suite.adapter is Adapter.COMMAND:
            kept.append(suite)
        elif files:
            kept.append(msgspec.structs.replace(suite, files=files))
    return tuple(kept)


def _changed_modules(scene: Scene, benchmarks: Iterable[str]) -> tuple[str, ...]:
    """Give the names of the project's modules that differ in more than comments and docstrings."""
    apart = {*benchmarks}
    return tuple(
        sorted(
            {
                name
                for path in scene.of(Reach.GRAPH)
                if is_python(path) and path not in apart and path not in scene.gone
                for name in scene.layout.names.get(path, ())
            }
        )
    )


def _removed(change: Change, base: TreeReader, suites: Iterable[Suite]) -> tuple[str, ...]:
    """Give the benchmark files that the change deletes."""
    gone = [it.path for it in change.files if it.status is FileStatus.DELETED]
    known = {path for suite in find_suites(gone, base.text).suites for path in suite.files}
    folders = tuple(f"{suite.root}/" for suite in suites if suite.adapter is Adapter.ASV)
    return tuple(path for path in gone if path in known or path.startswith(folders))


def _changed_benchmarks(change: Change, suites: Iterable[Suite]) -> tuple[str, ...]:
    """Give the changed files that belong to benchmarks: themselves, and what lies in asv's folder or in test folders."""
    changed = [path for file in change.files for path in file.paths]
    files = {path for suite in suites for path in suite.files}
    folders = tuple(f"{suite.root}/" for suite in suites if suite.adapter is Adapter.ASV)
    return tuple(
        path
        for path in changed
        if path in files
        or path.startswith(folders)
        or (files and in_test_folder(path) and path.endswith(".py"))
    )


def _with_files(
    suites: Iterable[Suite], config: BenchConfig, paths: Iterable[str]
) -> tuple[Suite, ...]:
    """Give each command the files that its patterns name."""
    patterns = {it.name: it.files for it in config.command}
    paths = tuple(paths)
    return tuple(
        msgspec.structs.replace(
            suite,
            files=tuple(
                sorted(p for p in paths if any(matches_glob(p, it) for it in patterns[suite.root]))
            ),
        )
        if suite.adapter is Adapter.COMMAND and suite.root in patterns
        else suite
        for suite in suites
    )


def _top_modules(layout: Layout, benchmarks: Iterable[str]) -> tuple[str, ...]:
    """Give the names that the project's own code is imported by."""
    apart = {*layout.tests, *layout.conftests, *benchmarks}
    return tuple(
        sorted(
            {
                name.partition(".")[0]
                for path, names in layout.names.items()
                if path not in apart and not in_test_folder(path)
                for name in names
            }
        )
    )
