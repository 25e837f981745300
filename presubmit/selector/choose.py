"""From a change and a tree to the chosen tests: the rules, the graph and the names put together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

from presubmit.selector.layout import is_python, is_test, matches_glob
from presubmit.selector.left_out import find_left_out
from presubmit.selector.names import NameGraph
from presubmit.selector.narrow import narrow
from presubmit.selector.ranking import rank
from presubmit.selector.reasons import find_reasons, only_always
from presubmit.selector.rules import Reach
from presubmit.selector.scene import Scene, make_scene
from presubmit.values import ChosenTest, Mode, Reason, Selection

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from presubmit.selector.narrow import MakeNames
    from presubmit.selector.tree import Tree
    from presubmit.values import Change, PureTwin

Tests = Literal["affected", "nearest", "all"]


def select(
    change: Change,
    tree: Tree,
    *,
    tests: Tests = "affected",
    always: tuple[str, ...] = (),
    full_if: tuple[str, ...] = (),
    rules: Mapping[str, str] | None = None,
    make_names: MakeNames | None = NameGraph,
) -> Selection:
    """Choose the test files that a change can affect, each with the reasons; without `make_names`, by imports alone."""
    return choose(
        change,
        make_scene(change, tree, rules),
        tests=tests,
        always=always,
        full_if=full_if,
        make_names=make_names,
    )


def choose(
    change: Change,
    scene: Scene,
    *,
    tests: Tests = "affected",
    always: tuple[str, ...] = (),
    full_if: tuple[str, ...] = (),
    make_names: MakeNames | None = NameGraph,
) -> Selection:
    """Choose within a scene that is made already."""
    known = len(scene.layout.tests)
    if not change.files:
        return Selection(mode=Mode.NONE, tests=(), known=known, why="the change is empty")
    sure = [
        *(["all tests were asked for"] if tests == "all" else []),
        *_matched(scene.judged, full_if),
        *(effect.text for _, effect in scene.judged.values() if effect.reach is Reach.ALL),
        *(f"{user} may make code of {path}" for path, user in scene.makes.items()),
    ]
    # Where all tests run anyway, reading what names lead to would change no more than their order.
    followed = None if sure else make_names
    narrowed = narrow(scene, followed)
    reasons, unread = find_reasons(scene, narrowed, always, followed)
    twins = _twins(scene, reasons)
    unreached = _unreached(scene, change)
    unsure = _unsure(scene, (*unreached, *unread))
    chosen = _nearest(scene, reasons) if tests == "nearest" else set(reasons)
    wide = [*sure, *unsure]
    if not wide and chosen and not any(scene.layout.in_testpaths(path) for path in chosen):
        unsure = (*unsure, "no chosen test lies in the configured testpaths")
        wide = list(unsure)
    if wide:
        return _all(scene, reasons, wide, unsure, unreached, twins)
    if not chosen - only_always(reasons):
        texts = sorted(effect.text for _, effect in scene.judged.values())
        return Selection(
            mode=Mode.NONE,
            tests=(),
            known=known,
            why=f"nothing that a test sees changed ({_some(texts)})",
            left_out=find_left_out(scene, narrowed, {}, {}),
        )
    why = f"{len(chosen)} of {known} test files depend on the change"
    if tests == "nearest":
        why = f"the nearest {len(chosen)} of {len(reasons)} test files that depend on the change"
    kept = {path: reasons[path] for path in chosen}
    return Selection(
        mode=Mode.SCOPED,
        tests=_ranked(kept),
        known=known,
        why=why,
        left_out=find_left_out(scene, narrowed, kept, reasons),
        notes=scene.compiled.notes,
        twins=tuple(_among(twin, chosen) for twin in twins),
    )


def _twins(scene: Scene, reasons: Collection[str]) -> tuple[PureTwin, ...]:
    """Give the changed twins that tests may see otherwise, each with the affected tests that depend on it."""
    found = []
    for twin in scene.compiled.twins:
        if scene.judged[twin.path][1].reach is Reach.NONE:
            continue
        reached = scene.graph.reach([twin.path])
        tests = tuple(test for test in scene.layout.tests if test in reached and test in reasons)
        if tests:
            found.append(msgspec.structs.replace(twin, tests=tests))
    return tuple(found)


def _among(twin: PureTwin, chosen: Collection[str]) -> PureTwin:
    return msgspec.structs.replace(twin, tests=tuple(it for it in twin.tests if it in chosen))


def _nearest(scene: Scene, reasons: Mapping[str, tuple[Reason, ...]]) -> set[str]:
    """Cut the affected tests down to the edited, the like-named and the nearest to each changed file."""
    chosen = set(scene.edited) | only_always(reasons)
    for path in scene.judged:
        chosen.update(scene.graph.nearest(path, reasons))
    chosen.update(
        path for path, found in reasons.items() if any(it.rule == "same-name" for it in found)
    )
    return chosen & set(reasons)


# --- reasons for all tests ------------------------------------------------------------------------------------------


def _unreached(scene: Scene, change: Change) -> tuple[str, ...]:
    """Give the changed code files that no test depends on."""
    settings = scene.layout.settings
    removed_tests = {path for path in scene.gone if is_test(path, settings)}
    wanted = [path for path in scene.of(Reach.GRAPH) if not is_test(path, settings)]
    if not wanted:
        return ()
    reached = scene.graph.reached_from({*scene.layout.tests, *removed_tests})
    # Of a renamed module, tests may know either name alone.
    renamed = {
        path
        for file in change.files
        if file.old_path is not None and not reached.isdisjoint(file.paths)
        for path in file.paths
    }
    return tuple(sorted(path for path in wanted if path not in reached and path not in renamed))


def _unsure(scene: Scene, unreached: Iterable[str]) -> tuple[str, ...]:
    """Say what could not be decided about the change."""
    found = [*scene.layout.problems]
    for path, (_, effect) in scene.judged.items():
        if effect.unsure:
            found.append(effect.text)
        if path in scene.gone or not is_python(path):
            continue
        value = scene.imports.get(path)
        if value is None:
            if path not in scene.tree.links:
                found.append(f"{path} was not read")
        elif value.problem:
            found.append(f"{path} cannot be parsed: {value.problem}")
    for path in unreached:
        verb = "imports" if is_python(path) else "reads"
        found.append(f"no test {verb} {path}")
    return tuple(dict.fromkeys(found))


def _matched(paths: Iterable[str], patterns: Sequence[str]) -> list[str]:
    return [
        f"{path} matches full-if pattern {pattern}"
        for path in paths
        for pattern in patterns
        if matches_glob(path, pattern)
    ]


def _all(
    scene: Scene,
    reasons: Mapping[str, tuple[Reason, ...]],
    wide: Sequence[str],
    unsure: tuple[str, ...],
    unreached: tuple[str, ...],
    twins: tuple[PureTwin, ...],
) -> Selection:
    texts = list(dict.fromkeys(wide))
    why = f"all tests: {_some(texts)}"
    other = (Reason(rule="all", text=texts[0]),)
    tests = {path: reasons.get(path, other) for path in scene.layout.tests}
    return Selection(
        mode=Mode.ALL,
        tests=_ranked(tests),
        known=len(scene.layout.tests),
        unsure=unsure,
        unreached=unreached,
        why=why,
        notes=scene.compiled.notes,
        twins=tuple(msgspec.structs.replace(twin, tests=()) for twin in twins)
        if unsure
        else twins,
    )


def _some(texts: Sequence[str], most: int = 3) -> str:
    rest = len(texts) - most
    return "; ".join(texts[:most]) + (f"; and {rest} more" if rest > 0 else "")


def _ranked(tests: Mapping[str, tuple[Reason, ...]]) -> tuple[ChosenTest, ...]:
    return rank(ChosenTest(path=path, reasons=reasons) for path, reasons in tests.items())
