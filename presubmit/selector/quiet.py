"""Which edits fewer tests see than import the file: comments where sources are read as text, fixtures alone."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from presubmit.selector.patterns import GLOBAL_HOOKS

if TYPE_CHECKING:
    from presubmit.selector.difference import Difference
    from presubmit.selector.element import Shape
    from presubmit.selector.imports import Imports


def reads_sources(value: Imports) -> bool:
    """Tell whether a test file looks for Python files to read: it may see comments, too.

    `inspect.getsource` does not count: tests mostly ask it for classes that they define themselves.
    """
    return value.lists and any(word.rpartition("/")[2] in {"*.py", ".py"} for word in value.words)


def fixtures_only(path: str, found: Difference, head: Shape, value: Imports | None) -> bool:
    """Tell whether only fixtures of a conftest.py changed, or helpers that no hook of the session may call."""
    if posixpath.basename(path) != "conftest.py" or found.problem or found.at_import:
        return False
    if not found.bodies or any(name.startswith("pytest_") for name in found.bodies):
        return False
    if value is not None and GLOBAL_HOOKS.isdisjoint(value.hooks):
        return True
    elements = {element.qualname: element for element in head.elements}
    return all(
        any(it.rpartition(".")[2] == "fixture" for it in elements[name].decorators)
        for name in found.bodies
    )
