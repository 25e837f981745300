"""Finds pure Python twins of extension modules: a module that imports the one or the other, and what switches them."""

from __future__ import annotations

import ast
import re
import warnings
from typing import TYPE_CHECKING, Final

from presubmit.selector.native.reach import is_name_of
from presubmit.values import Value

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]{2,}")
_DEEPEST: Final = 4


class Twin(Value, frozen=True, kw_only=True):
    """An extension module and the Python module that stands in for it."""

    module: str
    pure: str
    """Dotted, from the top of the tree where it is imported relatively."""
    importer: str
    """The file that imports the one or the other: its tests see both sides."""
    switches: tuple[str, ...] = ()
    """Environment variables that choose the pure side."""


def twins(modules: Collection[str], sources: Mapping[str, bytes]) -> tuple[Twin, ...]:
    """Find the twins of some extension modules in the Python files given."""
    trees = {path: tree for path, text in sources.items() if (tree := _parse(text)) is not None}
    flags = _flags(trees)
    found: list[Twin] = []
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.If | ast.Try):
                found += _of_branches(path, node, modules, _variables(tree, flags))
    return tuple(dict.fromkeys(found))


def _parse(text: bytes) -> ast.Module | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _of_branches(
    path: str, node: ast.If | ast.Try, modules: Collection[str], switches: tuple[str, ...]
) -> Iterator[Twin]:
    """Compare what the branches of one statement import."""
    branches: list[Sequence[ast.stmt]] = (
        [node.body, node.orelse]
        if isinstance(node, ast.If)
        else [[*node.body, *node.orelse], *(it.body for it in node.handlers)]
    )
    imported = [list(_imported(branch, path)) for branch in branches]
    for mine, names in enumerate(imported):
        for module in modules:
            if not any(is_name_of(module, it) for it in names):
                continue
            for other, others in enumerate(imported):
                for name in others if other != mine else ():
                    if not any(is_name_of(it, name) for it in modules) and name not in names:
                        yield Twin(module=module, pure=name, importer=path, switches=switches)


def _imported(body: Sequence[ast.stmt], path: str) -> Iterator[str]:
    """Give the modules that statements import."""
    folder = path.split("/")[:-1]
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                base = folder[: len(folder) - (node.level - 1)] if node.level else []
                module = [node.module] if node.module else []
                if not module:
                    yield from (".".join([*base, alias.name]) for alias in node.names)
                else:
                    yield ".".join([*base, *module])


# --- what switches --------------------------------------------------------------------------------------------------


def _flags(trees: Mapping[str, ast.Module]) -> dict[str, set[str]]:
    """Give for each module-level name the environment variables and names that its value is made of."""
    found: dict[str, set[str]] = {}
    for tree in trees.values():
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                for target in targets:
                    if isinstance(target, ast.Name):
                        found.setdefault(target.id, set()).update(_environment(node.value))
                        found[target.id].update(
                            it.id for it in ast.walk(node.value) if isinstance(it, ast.Name)
                        )
    return found


def _environment(node: ast.AST) -> set[str]:
    """Give the environment variables that an expression reads, in `"..."` quotes to keep them from names."""
    text = ast.dump(node)
    if "environ" not in text and "getenv" not in text:
        return set()
    return {
        f'"{it.value}'
        for it in ast.walk(node)
        if isinstance(it, ast.Constant)
        and isinstance(it.value, str)
        and _VARIABLE.fullmatch(it.value)
    }


def _variables(tree: ast.Module, flags: Mapping[str, set[str]]) -> tuple[str, ...]:
    """Give the environment variables that conditions of a module depend on."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.If | ast.IfExp):
            found |= _environment(node.test)
            names = {it.id for it in ast.walk(node.test) if isinstance(it, ast.Name)}
            for _ in range(_DEEPEST):
                reached = {it for name in names for it in flags.get(name, ())}
                found |= {it for it in reached if it.startswith('"')}
                names = {it for it in reached if not it.startswith('"')}
    return tuple(sorted(it.removeprefix('"') for it in found))
