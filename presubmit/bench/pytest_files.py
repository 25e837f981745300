"""Tells which test files have benchmarks: functions that get the `benchmark` fixture, or carry the marker, by the syntax tree."""

from __future__ import annotations

import ast
import posixpath
import re
from typing import TYPE_CHECKING, Final

from presubmit.bench.values import Broken

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

_FIXTURES: Final = frozenset({"benchmark", "codspeed_benchmark", "benchmark_weave"})
_MARKERS: Final = frozenset({"benchmark", "codspeed_benchmark"})
_NAMES: Final = re.compile(r"(?:^|[/_])(?:tests?|testing|bench[a-z]*)(?:[/_]|\.py$|s\b)|/perf")
_FUNCTION = ast.FunctionDef | ast.AsyncFunctionDef


class PytestFiles:
    """The fixtures of a tree's conftest files, by folder, read when they are needed."""

    def __init__(self, files: Sequence[str], read: Callable[[str], str | None]) -> None:
        self._conftests = {it for it in files if posixpath.basename(it) == "conftest.py"}
        self._read = read
        self._kept: dict[str, Mapping[str, tuple[str, ...]]] = {}

    def uses_benchmark(self, file: str, text: str) -> bool | Broken:
        """Whether a file has a benchmark; Broken where it looks like one and cannot be read."""
        if not _NAMES.search(file) or posixpath.basename(file) == "conftest.py":
            return False
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            return Broken(id=file, side="both", error=f"it cannot be read: {error}")
        if _marks_module(tree):
            return True
        levels = [fixtures_of(tree), *self._levels(file)]
        return any(
            _is_marked(function, inside)
            or any(_reaches(name, levels) for name in _arguments(function))
            for function, inside in _tests(tree)
        )

    def _levels(self, file: str) -> list[Mapping[str, tuple[str, ...]]]:
        """Give the fixtures of the conftest files from the nearest on."""
        folder = posixpath.dirname(file)
        levels = []
        while True:
            conftest = posixpath.join(folder, "conftest.py")
            if conftest in self._conftests:
                levels.append(self._fixtures(conftest))
            if not folder:
                return levels
            folder = posixpath.dirname(folder)

    def _fixtures(self, conftest: str) -> Mapping[str, tuple[str, ...]]:
        if conftest not in self._kept:
            try:
                tree = ast.parse(self._read(conftest) or "")
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                tree = ast.Module(body=[], type_ignores=[])  # collecting will say it
            self._kept[conftest] = fixtures_of(tree)
        return self._kept[conftest]


def fixtures_of(tree: ast.Module) -> Mapping[str, tuple[str, ...]]:
    """Give the fixtures that a module defines, each with what it asks for."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, _FUNCTION):
            for decorator in node.decorator_list:
                if _last_name(decorator) in {"fixture", "yield_fixture"}:
                    found[_given_name(decorator) or node.name] = tuple(_arguments(node))
    return found


def _reaches(
    name: str, levels: Sequence[Mapping[str, tuple[str, ...]]], seen: frozenset[str] = frozenset()
) -> bool:
    """Whether a fixture asks for the benchmark's, at last: one of the project's own that bears its name hides it."""
    for depth, fixtures in enumerate(levels):
        if name in fixtures:
            # A fixture that asks for its own name gets that of the level above.
            return any(
                _reaches(it, levels[depth + 1 :])
                if it == name
                else _reaches(it, levels, seen | {name})
                for it in fixtures[name]
                if it not in seen
            )
    return name in _FIXTURES


def _tests(
    tree: ast.Module,
) -> Iterator[tuple[_FUNCTION, tuple[ast.expr, ...]]]:
    """Give what may be a test, with the decorators of the class that it is in; pytest can be told other names than `test*`."""

    def visit(
        body: Sequence[ast.stmt], outer: tuple[ast.expr, ...]
    ) -> Iterator[tuple[_FUNCTION, tuple[ast.expr, ...]]]:
        for node in body:
            if isinstance(node, _FUNCTION):
                decorators = {_last_name(it) for it in node.decorator_list}
                if not decorators & {"fixture", "yield_fixture"}:
                    yield node, outer
            elif isinstance(node, ast.ClassDef):
                yield from visit(node.body, (*outer, *node.decorator_list))
            elif isinstance(node, ast.If):
                yield from visit([*node.body, *node.orelse], outer)
            elif isinstance(node, ast.Try):
                yield from visit([*node.body, *node.orelse, *node.finalbody], outer)

    return ((node, outer) for node, outer in visit(tree.body, ()) if _is_test_name(node.name))


def _is_test_name(name: str) -> bool:
    return name.startswith(("test", "bench"))


def _arguments(function: _FUNCTION) -> list[str]:
    given = function.args
    return [it.arg for it in (*given.posonlyargs, *given.args, *given.kwonlyargs)]


def _is_marked(function: _FUNCTION, outer: Sequence[ast.expr]) -> bool:
    return any(map(_is_marker, (*function.decorator_list, *outer)))


def _marks_module(tree: ast.Module) -> bool:
    """Whether the module's `pytestmark` marks all that is in it."""
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id="pytestmark")], value=value):
                values = value.elts if isinstance(value, ast.List | ast.Tuple) else [value]
                if any(map(_is_marker, values)):
                    return True
            case _:
                pass
    return False


def _is_marker(node: ast.expr) -> bool:
    """`pytest.mark.benchmark`, `mark.benchmark(group="x")`."""
    match node:
        case ast.Call(func=function):
            return _is_marker(function)
        case ast.Attribute(attr=name, value=ast.Name(id="mark") | ast.Attribute(attr="mark")):
            return name in _MARKERS
        case _:
            return False


def _last_name(decorator: ast.expr) -> str:
    match decorator:
        case ast.Call(func=function):
            return _last_name(function)
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
        case _:
            return ""


def _given_name(decorator: ast.expr) -> str:
    """Give the `name=` of a fixture's decorator."""
    keywords = decorator.keywords if isinstance(decorator, ast.Call) else []
    values = [it.value for it in keywords if it.arg == "name"]
    return next(
        (it.value for it in values if isinstance(it, ast.Constant) and isinstance(it.value, str)),
        "",
    )
