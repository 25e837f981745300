"""Measures the order of chosen tests on the history of real repositories: `python benchmarks/ranking.py CLONE…`.

For each of the newest commits that edits sources and tests at once, the tests are put in order by the sources alone,
with the history before that commit and the import graph of HEAD; then it is counted how many of the tests that the
author edited are among the first 1, 3 and 10 (a proxy: an edited test is one that the author thought of).
"""

from __future__ import annotations

import posixpath
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from presubmit.change.coedit import Edits, coedit_scores, read_edits
from presubmit.change.repository import read_repository
from presubmit.selector import make_layout, read_tree
from presubmit.selector.graph import build_graph
from presubmit.selector.ranking import Signals, rank
from presubmit.trees import TreeReader
from presubmit.values import ChosenTest, Reason

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from presubmit.selector.graph import Graph

MOST_COMMITS: Final = 300
MOST_FILES: Final = 30
FIRST: Final = (1, 3, 10)
ORDERS: Final = ("distance", "name and distance", "all")


def commits(edits: Edits) -> Iterator[tuple[list[str], Edits]]:
    """Give the files of each commit, and the history before it."""
    names = [path.decode("utf-8", "surrogateescape") for path in edits.paths]
    for age, files in enumerate(edits.commits):
        if files and len(files) <= MOST_FILES:
            before = msgspec.structs.replace(edits, commits=edits.commits[age + 1 :])
            yield [names[number] for number in files], before


def order(
    kind: str, sources: Sequence[str], tests: frozenset[str], graph: Graph, before: Edits
) -> list[str]:
    """Put the tests that the sources reach in order, by some of what is known of them."""
    chains = graph.reach(sources)
    chosen = [chosen_test(kind, path, chains, sources) for path in tests if path in chains]
    signals = Signals(coedit=coedit_scores(before, sources, tests) if kind == "all" else {})
    return [test.path for test in rank(chosen, signals)]


def chosen_test(
    kind: str, path: str, chains: Mapping[str, tuple[str, ...]], sources: Sequence[str]
) -> ChosenTest:
    """Make a chosen test with the reasons that the order may go by."""
    reasons = [Reason(rule="imports", text="", chain=chains[path])]
    subject = stem(path).removeprefix("test_").removesuffix("_test").strip("_")
    if kind != "distance" and any(stem(source) == subject for source in sources):
        reasons.append(Reason(rule="same-name", text=""))
    return ChosenTest(path=path, reasons=tuple(reasons))


def stem(path: str) -> str:
    """Give a file's name without its ending and underscores around it."""
    return posixpath.splitext(posixpath.basename(path))[0].strip("_").lower()


def measure(clone: Path) -> None:
    """Print one line for each order."""
    repository = read_repository(clone)
    assert repository.head is not None  # noqa: S101 - a clone has commits
    tree = read_tree(TreeReader(repository, repository.head).source())
    layout = make_layout(tree.paths, tree.configs, links=tree.links)
    tests = frozenset(layout.tests)
    graph = build_graph(layout, tree.imports, links=tree.links)
    found: dict[str, list[list[float]]] = {kind: [] for kind in ORDERS}
    for files, before in commits(read_edits(repository, repository.head)):
        edited = tests.intersection(files)
        sources = [path for path in files if path in layout.names and path not in tests]
        if not edited or not sources:
            continue
        for kind in ORDERS:
            ordered = order(kind, sources, tests, graph, before)
            shares = [len(edited.intersection(ordered[:first])) / len(edited) for first in FIRST]
            found[kind].append(shares)
        if len(found["all"]) == MOST_COMMITS:
            break
    print(f"{clone.name}: {len(found['all'])} commits, {len(tests)} test files")
    for kind, rows in found.items():
        means = [sum(column) / len(rows) for column in zip(*rows, strict=True)]
        said = "  ".join(f"@{n} {mean:.2f}" for n, mean in zip(FIRST, means, strict=True))
        print(f"  {kind:<20} {said}")


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        measure(Path(argument).resolve())
