"""Which benchmark files a change can reach: chosen as tests are, but what no benchmark reaches widens nothing."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Final

from presubmit.selector.layout import in_test_folder, is_test
from presubmit.selector.names import NameGraph
from presubmit.selector.narrow import narrow
from presubmit.selector.reasons import find_reasons
from presubmit.selector.rules import Reach
from presubmit.values import Adapter, Value

if TYPE_CHECKING:
    from collections.abc import Iterable

    from presubmit.selector.scene import Scene
    from presubmit.values import Suite

_NO_MATTER: Final = (".github/", ".circleci/", "docs/", "doc/")
_OF_TESTS: Final = frozenset(
    {"conftest.py", "pytest.ini", ".pytest.ini", "pytest.toml", "tox.ini", "noxfile.py"}
)
"""Files whose change runs all tests, and no code that a benchmark runs."""


class Choice(Value, frozen=True, kw_only=True):
    """Which benchmark files the change can reach."""

    reached: dict[str, str]
    """Files (of commands: the suite's name), with the reason."""
    left_out: dict[str, str]
    bodies: dict[str, tuple[str, ...]] | None
    """Where only bodies of Python functions changed, those: what runs none of them cannot have changed."""


def choose_benchmarks(scene: Scene, suites: Iterable[Suite]) -> Choice:
    """Choose among the benchmark files of a scene whose `tests` they are. Pure.

    Files are followed as facts/selection.md, section 3 has it: imports for what shows at import, names for bodies of
    functions, bound names for native code. What is built or installed otherwise reaches every benchmark.
    """
    wide = _wide(scene)
    reasons = find_reasons(scene, narrow(scene, None if wide else NameGraph), ())[0]
    code = [path for path in scene.of(Reach.GRAPH, Reach.DATA) if not _of_tests(path, scene)]
    reached: dict[str, str] = {}
    left_out: dict[str, str] = {}
    for suite in suites:
        command = suite.adapter is Adapter.COMMAND
        names = (suite.root,) if command else suite.files
        for name in names:
            files = suite.files if command else (name,)
            found = next((reasons[it] for it in files if it in reasons), ())
            if wide:
                reached[name] = wide
            elif found:
                reached[name] = found[0].text
            elif command and code and not files:
                reached[name] = f"a command may run {code[0]}"
            else:
                left_out[name] = "nothing that it imports or names changed"
    return Choice(reached=reached, left_out=left_out, bodies=None if wide else _bodies(scene))


def _wide(scene: Scene) -> str:
    """Say which changed file is built or installed otherwise; empty where none is."""
    for path in scene.of(Reach.ALL):
        if not _of_tests(path, scene) and not path.startswith(_NO_MATTER):
            return scene.judged[path][1].text
    return ""


def _of_tests(path: str, scene: Scene) -> bool:
    if path in scene.layout.tests:
        return False
    name = posixpath.basename(path)
    return name in _OF_TESTS or in_test_folder(path) or is_test(path, scene.layout.settings)


def _bodies(scene: Scene) -> dict[str, tuple[str, ...]] | None:
    """Give the changed functions where nothing else that a benchmark may run or read has changed; else None."""
    bodies = scene.bodies
    for path in scene.of(Reach.GRAPH, Reach.DATA, Reach.MENTIONS):
        if path not in bodies and path not in scene.edited and not _of_tests(path, scene):
            return None
    functions = {path: names for path, names in bodies.items() if path not in scene.layout.tests}
    if any(not _all_functions(scene, path, names) for path, names in functions.items()):
        return None
    return functions


def _all_functions(scene: Scene, path: str, names: Iterable[str]) -> bool:
    """Tell whether changed elements are functions, not constants that others read without running anything."""
    shape = scene.tree.shapes([path]).get(path)
    kinds = {it.qualname: str(it.kind) for it in shape.elements} if shape is not None else {}
    return all(kinds.get(name) == "function" for name in names)
