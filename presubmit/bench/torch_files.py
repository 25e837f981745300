"""Tells scripts that measure with `torch.utils.benchmark` from what only imports it."""

from __future__ import annotations

import ast
from typing import Final

_MODULE: Final = "torch.utils.benchmark"


def is_torch_script(text: str) -> bool:
    """Whether a source makes torch's Timers when it is run as a program."""
    if _MODULE.rpartition(".")[2] not in text or "Timer" not in text:
        return False
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False  # the file is broken for everything, not for its benchmarks
    nodes = list(ast.walk(tree))
    return (
        any(map(_imports, nodes))
        and any(map(_makes_timer, nodes))
        and any(_runs(statement) for statement in tree.body)
    )


def _imports(node: ast.AST) -> bool:
    match node:
        case ast.Import(names=names):
            return any(_is_module(it.name) for it in names)
        case ast.ImportFrom(module="torch.utils", names=names, level=0):
            return any(it.name == "benchmark" for it in names)
        case ast.ImportFrom(module=str(module), level=0):
            return _is_module(module)
        case _:
            return False


def _is_module(name: str) -> bool:
    return name == _MODULE or name.startswith(f"{_MODULE}.")


def _makes_timer(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Name(id="Timer") | ast.Attribute(attr="Timer")):
            return True
        case ast.ImportFrom(module=str(module), names=names):
            # `from … import Timer as T`
            return _is_module(module) and any(it.name == "Timer" and it.asname for it in names)
        case _:
            return False


def _runs(statement: ast.stmt) -> bool:
    """Whether a statement of a module does more than define: a call, or a `main` guard."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return False
    if isinstance(statement, ast.If) and "__name__" in ast.dump(statement.test):
        return True
    return isinstance(statement, ast.For | ast.With) or _makes_timer_inside(statement)


def _makes_timer_inside(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        return True
    return any(_makes_timer(it) for it in ast.walk(statement) if isinstance(it, ast.Call))
