"""From a change and a tree to the chosen tests: the rules, the graph and the names put together."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from presubmit.selector.graph import build_graph
from presubmit.selector.imports import Imports
from presubmit.selector.layout import is_python, is_test, make_layout, matches_glob
from presubmit.selector.rules import Effect, Reach, Surroundings, judge_path
from presubmit.values import ChosenTest, FileStatus, Mode, Reason, Selection

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from presubmit.selector.graph import Graph
    from presubmit.selector.layout import Layout
    from presubmit.selector.tree import Tree
    from presubmit.values import Change

Tests = Literal["affected", "nearest", "all"]

_FAR: Final = 1_000_000
_DIRECT: Final = 2
"""A chain of a changed file and the test that imports it."""


@dataclass(frozen=True, kw_only=True)
class _Scene:
    """What is known of the change before anything is chosen."""

    layout: Layout
    imports: Mapping[str, Imports]
    graph: Graph
    judged: Mapping[str, tuple[str, Effect]]
    """For each changed path, the rule that matched and what it said."""
    gone: frozenset[str]
    edited: frozenset[str]
    """Test files of the tree that the change adds or edits."""


def select(
    change: Change,
    tree: Tree,
    *,
    tests: Tests = "affected",
    always: tuple[str, ...] = (),
    full_if: tuple[str, ...] = (),
) -> Selection:
    """Choose the test files that a change can affect, each with the reasons."""
    scene = _make_scene(change, tree)
    known = len(scene.layout.tests)
    if not change.files:
        return Selection(mode=Mode.NONE, tests=(), known=known, why="the change is empty")
    reasons = _reasons(scene, always)
    unreached = _unreached(scene, change)
    unsure = _unsure(scene, tree, unreached)
    wide = [
        *(["all tests were asked for"] if tests == "all" else []),
        *_matched(scene.judged, full_if),
        *(effect.text for _, effect in scene.judged.values() if effect.reach is Reach.ALL),
        *unsure,
    ]
    chosen = _nearest(scene, reasons) if tests == "nearest" else set(reasons)
    if not wide and chosen and not any(scene.layout.in_testpaths(path) for path in chosen):
        unsure = (*unsure, "no chosen test lies in the configured testpaths")
        wide = list(unsure)
    if wide:
        return _all(scene, reasons, wide, unsure, unreached)
    if not chosen - _only_always(reasons):
        texts = sorted(effect.text for _, effect in scene.judged.values())
        why = f"nothing that a test sees changed ({_some(texts)})"
        return Selection(mode=Mode.NONE, tests=(), known=known, why=why)
    why = f"{len(chosen)} of {known} test files depend on the change"
    if tests == "nearest":
        why = f"the nearest {len(chosen)} of {len(reasons)} test files that depend on the change"
    return Selection(
        mode=Mode.SCOPED,
        tests=_ranked(scene, {path: reasons[path] for path in chosen}),
        known=known,
        why=why,
    )


def _make_scene(change: Change, tree: Tree) -> _Scene:
    present = frozenset(tree.paths)
    changed = tuple(dict.fromkeys(path for file in change.files for path in file.paths))
    gone = frozenset(
        path
        for file in change.files
        for path in file.paths
        if path not in present or (file.status is FileStatus.DELETED and path == file.path)
    )
    layout = make_layout(tree.paths, tree.configs, gone=gone, links=tree.links)
    imports = {path: _wide(why) for path, why in tree.unread.items()} | dict(tree.imports)
    around = Surroundings(
        layout=layout,
        imports=imports,
        base_imports=tree.base_imports,
        links=frozenset(tree.links),
        submodules=frozenset(change.submodules),
        untracked=frozenset(change.target.untracked),
    )
    return _Scene(
        layout=layout,
        imports=imports,
        graph=build_graph(
            layout,
            imports,
            base_imports=tree.base_imports,
            others=[path for path in changed if not is_python(path)],
            links=tree.links,
        ),
        judged={path: judge_path(path, around) for path in changed},
        gone=gone,
        edited=frozenset(layout.tests) & (frozenset(changed) - gone),
    )


def _wide(why: str) -> Imports:
    """Stand in for a file that could not be read: it may import anything near it."""
    return Imports(dynamic=True, walks=True, problem=why)


# --- reasons for single tests ---------------------------------------------------------------------------------------


def _reasons(scene: _Scene, always: Sequence[str]) -> dict[str, tuple[Reason, ...]]:
    """Give the reasons for every test that has one."""
    chains = scene.graph.reach(scene.judged)
    twins = _twins(scene)
    found = {}
    for path in scene.layout.tests:
        reasons = []
        if path in scene.edited:
            reasons.append(
                Reason(rule="edited", text="the change adds or edits it", chain=(path,))
            )
        if len(chain := chains.get(path, ())) > 1:
            reasons.append(_chain_reason(chain))
        if path in twins:
            reasons.append(
                Reason(
                    rule="same-name",
                    text=f"is named after {twins[path]}",
                    chain=(twins[path], path),
                )
            )
        value = scene.imports.get(path)
        if value is not None and value.problem:
            reasons.append(Reason(rule="unparsed", text=f"cannot be parsed: {value.problem}"))
        if any(matches_glob(path, pattern) for pattern in always):
            reasons.append(Reason(rule="always", text="is configured to run always"))
        if reasons:
            found[path] = tuple(reasons)
    return found


def _chain_reason(chain: tuple[str, ...]) -> Reason:
    start = chain[0]
    verb = "depends on"
    if not is_python(start):
        rule = "mentions"
        verb = "names"
    elif posixpath.basename(start) == "conftest.py":
        rule = "conftest"
    else:
        rule = "imports"
        verb = "imports"
    if len(chain) == _DIRECT:
        return Reason(rule=rule, text=f"{verb} {start}", chain=chain)
    return Reason(rule=rule, text=f"reaches {start} through {chain[-2]}", chain=chain)


def _twins(scene: _Scene) -> dict[str, str]:
    """Find tests that are named after a changed module, `test_foo.py` for `foo.py`."""
    modules: dict[str, str] = {}
    for path in scene.judged:
        if is_python(path) and not is_test(path, scene.layout.settings):
            stem = posixpath.splitext(posixpath.basename(path))[0]
            if stem == "__init__":
                stem = posixpath.basename(posixpath.dirname(path))
            modules.setdefault(stem.strip("_").lower(), path)
    modules.pop("", None)
    modules.pop("conftest", None)
    found = {}
    for test in scene.layout.tests:
        stem = posixpath.splitext(posixpath.basename(test))[0].lower()
        subject = stem.removeprefix("test_").removesuffix("_test").strip("_")
        if subject in modules and subject != stem:
            found[test] = modules[subject]
    return found


def _only_always(reasons: Mapping[str, tuple[Reason, ...]]) -> set[str]:
    """Give the tests that would be chosen whatever the change is."""
    return {
        path
        for path, found in reasons.items()
        if all(reason.rule in {"always", "unparsed"} for reason in found)
    }


def _nearest(scene: _Scene, reasons: Mapping[str, tuple[Reason, ...]]) -> set[str]:
    """Cut the affected tests down to the edited, the like-named and the nearest to each changed file."""
    chosen = set(scene.edited) | _only_always(reasons)
    for path in scene.judged:
        chosen.update(scene.graph.nearest(path))
    chosen.update(
        path for path, found in reasons.items() if any(it.rule == "same-name" for it in found)
    )
    return chosen & set(reasons)


# --- reasons for all tests ------------------------------------------------------------------------------------------


def _unreached(scene: _Scene, change: Change) -> tuple[str, ...]:
    """Give the changed code files that no test depends on."""
    settings = scene.layout.settings
    removed_tests = {path for path in scene.gone if is_test(path, settings)}
    reached = scene.graph.reached_from({*scene.layout.tests, *removed_tests})
    renamed = {
        file.old_path
        for file in change.files
        if file.old_path is not None and file.path in reached
    }
    return tuple(
        sorted(
            path
            for path, (_, effect) in scene.judged.items()
            if effect.reach is Reach.GRAPH
            and path not in reached
            and path not in renamed
            and not is_test(path, settings)
        )
    )


def _unsure(scene: _Scene, tree: Tree, unreached: Iterable[str]) -> tuple[str, ...]:
    """Say what could not be decided about the change."""
    found = [*scene.layout.problems]
    for path, (_, effect) in scene.judged.items():
        if effect.unsure:
            found.append(effect.text)
        if path in scene.gone or not is_python(path):
            continue
        value = scene.imports.get(path)
        if value is None:
            if path not in tree.links:
                found.append(f"{path} was not read")
        elif value.problem:
            found.append(f"{path} cannot be parsed: {value.problem}")
    found.extend(f"no test imports {path}" for path in unreached)
    return tuple(dict.fromkeys(found))


def _matched(paths: Iterable[str], patterns: Sequence[str]) -> list[str]:
    return [
        f"{path} matches full-if pattern {pattern}"
        for path in paths
        for pattern in patterns
        if matches_glob(path, pattern)
    ]


def _all(
    scene: _Scene,
    reasons: Mapping[str, tuple[Reason, ...]],
    wide: Sequence[str],
    unsure: tuple[str, ...],
    unreached: tuple[str, ...],
) -> Selection:
    texts = list(dict.fromkeys(wide))
    why = f"all tests: {_some(texts)}"
    other = (Reason(rule="all", text=texts[0]),)
    tests = {path: reasons.get(path, other) for path in scene.layout.tests}
    return Selection(
        mode=Mode.ALL,
        tests=_ranked(scene, tests),
        known=len(scene.layout.tests),
        unsure=unsure,
        unreached=unreached,
        why=why,
    )


def _some(texts: Sequence[str], most: int = 3) -> str:
    rest = len(texts) - most
    return "; ".join(texts[:most]) + (f"; and {rest} more" if rest > 0 else "")


# --- order ----------------------------------------------------------------------------------------------------------


def _ranked(scene: _Scene, tests: Mapping[str, tuple[Reason, ...]]) -> tuple[ChosenTest, ...]:
    """Order tests by nearness: edited, then by the length of the chain, then those named alike, then the rest."""
    keys = {path: _key(scene, path, reasons) for path, reasons in tests.items()}
    ranks = {key: rank for rank, key in enumerate(sorted({*keys.values()}))}
    ordered = sorted(tests, key=lambda path: (keys[path], path))
    return tuple(
        ChosenTest(path=path, reasons=tests[path], rank=ranks[keys[path]]) for path in ordered
    )


def _key(scene: _Scene, path: str, reasons: Iterable[Reason]) -> tuple[int, int, int]:
    if path in scene.edited:
        return (0, 0, 0)
    rules = {reason.rule for reason in reasons}
    chained = [len(it.chain) for it in reasons if it.rule in {"imports", "conftest", "mentions"}]
    distance = min(chained, default=_FAR if "same-name" in rules else _FAR + 1)
    return (1, distance, 0 if "same-name" in rules else 1)
