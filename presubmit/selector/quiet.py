"""Which edits no test sees: comments, layout and docstrings, unless something reads docstrings; fixtures apart."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Final

import msgspec

from presubmit.selector.element import MODULE, ElementKind
from presubmit.selector.known import is_pure
from presubmit.selector.patterns import GLOBAL_HOOKS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from presubmit.selector.difference import Difference
    from presubmit.selector.element import Element, Shape
    from presubmit.selector.imports import Imports
    from presubmit.selector.layout import Layout

_READERS: Final = frozenset({"__doc__", "getdoc"})
_DOCTEST: Final = frozenset({"doctest", "DocTestFinder", "testmod", "DocTestSuite"})
_FRAMEWORKS: Final = frozenset(
    {"click", "rich_click", "asyncclick", "typer", "cyclopts", "fastapi", "invoke", "fire", "mcp"}
)
"""Distributions that make help or schemas out of docstrings."""


def settle_docstrings(found: Difference, head: Shape, layout: Layout) -> Difference:
    """Count docstrings that the file's own code reads as what they then are: bodies, or import-time code."""
    if not found.docstrings or found.problem:
        return found
    elements = {element.qualname: element for element in head.elements}
    reads_own = not _READERS.isdisjoint(_names(head.elements))
    bindings = dict(head.imports)
    bodies, at_import = list(found.bodies), list(found.at_import)
    for name in found.docstrings:
        element = elements[name]
        if element.kind is ElementKind.FUNCTION:
            if reads_own or any(_reads(it, bindings, layout) for it in element.decorators):
                bodies.append(name)
        elif reads_own:
            at_import.append(name)
    return msgspec.structs.replace(
        found,
        bodies=tuple(dict.fromkeys(bodies)),
        at_import=tuple(dict.fromkeys(at_import)),
    )


def _reads(decorator: str, bindings: Mapping[str, str], layout: Layout) -> bool:
    """Tell whether a decorator may turn a docstring into behaviour, as click and typer do.

    Those that do belong to other distributions, or to objects of theirs: `click.command`, `app.command`.
    """
    root, _, rest = decorator.partition(".")
    module, _, name = bindings.get(root, "").partition(":")
    if module.partition(".")[0] in _FRAMEWORKS:
        return True
    if is_pure(decorator):
        return False
    names = {known for it in layout.names.values() for known in it}
    if module.startswith(".") or module in names:
        # A module's attribute is a decorator of the project's; an object's may be a framework's.
        inner = f"{module.lstrip('.')}.{name}"
        is_module = any(known == inner or known.endswith(f".{inner}") for known in names)
        return bool(rest and name) and not is_module
    return bool(module or rest) or root == "?"


def _names(elements: Iterable[Element]) -> Iterator[str]:
    """Give every name in what elements use."""
    for element in elements:
        for use in (*element.uses, *element.head_uses):
            yield from use.lstrip("=").split(".")


def reads_docstring(test: Shape, qualnames: Iterable[str]) -> bool:
    """Tell whether a test file that depends on a file reads the docstrings of some of its definitions."""
    used = set(_names(test.elements))
    if not _DOCTEST.isdisjoint(used):
        return True
    if _READERS.isdisjoint(used):
        return False
    return any(name == MODULE or name.rpartition(".")[2] in used for name in qualnames)


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
