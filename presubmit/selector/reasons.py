"""Why single tests are chosen: by rule, with the chain from the change to the test."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Final

from presubmit.selector.data import package_of, tests_around
from presubmit.selector.docstrings import docstring_tests
from presubmit.selector.layout import is_python, is_test, matches_glob
from presubmit.selector.quiet import reads_sources
from presubmit.selector.rules import Reach
from presubmit.values import Reason

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from presubmit.selector.narrow import Chain, MakeNames, Narrowed
    from presubmit.selector.scene import Scene

    Found = Iterator[tuple[str, Reason]]

_DIRECT: Final = 2
"""A chain of a changed file and the test that imports it."""


def find_reasons(
    scene: Scene,
    narrowed: Narrowed,
    always: Sequence[str],
    make_names: MakeNames | None = None,
) -> tuple[dict[str, tuple[Reason, ...]], tuple[str, ...]]:
    """Give the reasons for every test that has one, and the changed data files that no test is known to read."""
    found: dict[str, list[Reason]] = {}
    lost: list[str] = []
    sources = (
        _edited(scene),
        _by_graph(scene),
        _by_names(narrowed),
        _by_data(scene, lost),
        _by_rule(scene),
        _by_docstring(scene, make_names),
        _by_source_text(scene),
        _documents(scene),
        _named_alike(scene),
        _always(scene, always),
    )
    for source in sources:
        for test, reason in source:
            found.setdefault(test, []).append(reason)
    return {test: tuple(found[test]) for test in scene.layout.tests if test in found}, tuple(lost)


def only_always(reasons: Mapping[str, tuple[Reason, ...]]) -> set[str]:
    """Give the tests that would be chosen whatever the change is."""
    return {
        path
        for path, found in reasons.items()
        if all(reason.rule in {"always", "unparsed"} for reason in found)
    }


def _edited(scene: Scene) -> Found:
    for path in scene.edited:
        yield path, Reason(rule="edited", text="the change adds or edits it", chain=(path,))


def _by_graph(scene: Scene) -> Found:
    """Give the tests that import or name what changed in more than functions' bodies."""
    narrowed = scene.narrowed
    starts = [path for path in scene.of(*_WALKED) if path not in narrowed]
    chains = scene.graph.reach(starts)
    for test in scene.layout.tests:
        if len(chain := chains.get(test, ())) > 1:
            yield test, _chain_reason(chain)


_WALKED: Final = (Reach.GRAPH, Reach.MENTIONS, Reach.DATA, Reach.ALL)


def _chain_reason(chain: Chain) -> Reason:
    start = chain[0]
    if not is_python(start):
        rule, verb = "mentions", "names"
    elif posixpath.basename(start) == "conftest.py":
        rule, verb = "conftest", "depends on"
    else:
        rule, verb = "imports", "imports"
    if len(chain) == _DIRECT:
        return Reason(rule=rule, text=f"{verb} {start}", chain=chain)
    return Reason(rule=rule, text=f"reaches {start} through {chain[-2]}", chain=chain)


def _by_names(narrowed: Narrowed) -> Found:
    for test, chain in narrowed.chains.items():
        if chain[0].startswith(f"{test} "):
            # Names do not lead to the change here: the file can run what it does not name.
            yield test, Reason(rule="names", text=chain[0].removeprefix(f"{test} "), chain=(test,))
            continue
        if len(chain) > _DIRECT:
            text = f"reaches {chain[0]} through {chain[-2]}"
        else:
            text = f"names {chain[0]}" if len(chain) == _DIRECT else "runs what changed"
        yield test, Reason(rule="names", text=text, chain=chain)
    for test, chain in narrowed.imported.items():
        if len(chain) > 1:
            reason = _chain_reason(chain)
            text = f"{reason.text} ({narrowed.why})" if narrowed.why else reason.text
            yield test, Reason(rule=reason.rule, text=text, chain=chain)


def _by_data(scene: Scene, lost: list[str]) -> Found:
    """Give the tests of a data file's package or folder where none names it; notes files that have none."""
    for path in scene.of(Reach.DATA):
        if any(it in scene.graph.tests for it in scene.graph.reach([path])):
            continue
        if package := package_of(path, scene.layout):
            text = f"imports the package around {path}, which no test names"
            chains = scene.graph.reach([package])
            found = {it: chains[it] for it in scene.layout.tests if it in chains}
        else:
            text = f"lies around {path}, which no test names"
            found = {it: (it,) for it in tests_around(path, scene.layout)}
        if not found and not is_test(path, scene.layout.settings):
            lost.append(path)
        for test, chain in found.items():
            yield test, Reason(rule="package", text=text, chain=(path, *chain))


def _by_rule(scene: Scene) -> Found:
    for path in scene.of(Reach.TESTS):
        effect = scene.judged[path][1]
        for test in scene.layout.tests:
            if matches_glob(test, effect.tests):
                yield test, Reason(rule="configured", text=effect.text, chain=(path, test))


def _by_docstring(scene: Scene, make_names: MakeNames | None) -> Found:
    """Give the tests that read docstrings which changed, or run what reads them."""
    for test, chain in docstring_tests(scene, make_names):
        text = f"may read docstrings of {chain[0]}"
        yield test, Reason(rule="docstrings", text=text, chain=chain)


def _by_source_text(scene: Scene) -> Found:
    """Give the tests that read the text of Python files: they see comments, too."""
    quiet = [path for path in scene.of(Reach.NONE) if path in scene.differences]
    if not quiet:
        return
    chains = scene.graph.reach(quiet)
    for test in scene.layout.tests:
        value = scene.imports.get(test)
        if test in chains and value is not None and reads_sources(value):
            chain = chains[test]
            text = f"reads the text of sources, such as {chain[0]}"
            yield test, Reason(rule="source-text", text=text, chain=chain)


def _documents(scene: Scene) -> Found:
    """Give the documents with doctests: what they import and call is not followed."""
    loud = scene.of(*_WALKED)
    for test in scene.layout.tests if loud else ():
        if not is_python(test):
            yield test, Reason(rule="document", text="its doctests may use what changed")


def _named_alike(scene: Scene) -> Found:
    """Give tests that are named after a changed module, `test_foo.py` for `foo.py`."""
    modules: dict[str, str] = {}
    for path in scene.of(*_WALKED):
        if is_python(path) and not is_test(path, scene.layout.settings):
            stem = posixpath.splitext(posixpath.basename(path))[0]
            if stem == "__init__":
                stem = posixpath.basename(posixpath.dirname(path))
            modules.setdefault(stem.strip("_").lower(), path)
    modules.pop("", None)
    modules.pop("conftest", None)
    for test in scene.layout.tests if modules else ():
        stem = posixpath.splitext(posixpath.basename(test))[0].lower()
        subject = stem.removeprefix("test_").removesuffix("_test").strip("_")
        if subject in modules and subject != stem:
            named = modules[subject]
            text = f"is named after {named}"
            yield test, Reason(rule="same-name", text=text, chain=(named, test))


def _always(scene: Scene, always: Sequence[str]) -> Found:
    for test in scene.layout.tests:
        problem = scene.tree.problems.get(test) or scene.tree.unread.get(test)
        if problem:
            yield test, Reason(rule="unparsed", text=f"cannot be parsed: {problem}")
        if any(matches_glob(test, pattern) for pattern in always):
            yield test, Reason(rule="always", text="is configured to run always")
