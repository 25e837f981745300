"""Plain file closure: every test file that imports a changed file, directly or not. No tool, sixty lines of ast."""

from __future__ import annotations

import ast
import time
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from benchmarks.selection.answers import Answer, Prepared
from benchmarks.selection.projects import git

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.selection.projects import Side

REQUIREMENTS: tuple[str, ...] = ()
BARE = True


def prepare(side: Side, work: Path) -> Prepared:
    """Nothing is kept from run to run."""
    del side, work
    return Prepared(note="ast, nothing cached")


def select(side: Side, paths: tuple[str, ...]) -> Answer:
    """Answer with files."""
    began = time.perf_counter()
    files = [p for p in git(side.tree, "ls-files", "-z").split("\0") if p.endswith(".py")]
    modules = {name: path for path in files for name in _names(path)}
    importers: dict[str, set[str]] = {}
    for path in files:
        for used in _imported(side.tree / path, path, modules):
            importers.setdefault(used, set()).add(path)
    reached, todo = set(paths), list(paths)
    while todo:
        for importer in importers.get(todo.pop(), ()):
            if importer not in reached:
                reached.add(importer)
                todo.append(importer)
    tests = tuple(sorted(p for p in reached if _is_test(p)))
    return Answer(files=tests, seconds=time.perf_counter() - began)


def _is_test(path: str) -> bool:
    name = PurePosixPath(path)
    return name.suffix == ".py" and (name.name.startswith("test") or name.stem.endswith("_test"))


def _names(path: str) -> Iterator[str]:
    """Give the dotted names that a file may be imported by: from the root, from `src`, from its folder."""
    parts = PurePosixPath(path).with_suffix("").parts
    parts = parts[:-1] if parts[-1] == "__init__" else parts
    for start in range(len(parts)):
        if start == 0 or parts[start - 1] == "src" or start == len(parts) - 1:
            yield ".".join(parts[start:])


def _imported(file: Path, path: str, modules: dict[str, str]) -> Iterator[str]:
    folder = PurePosixPath(path).parent
    for above in (folder, *folder.parents):  # pytest loads these before the test
        conftest = str(above / "conftest.py")
        if conftest in modules.values() and conftest != path and _is_test(path):
            yield conftest
    try:
        tree = ast.parse(file.read_bytes())
    except SyntaxError:
        return
    package = next(_names(str(folder / "__init__.py")), "")
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _found(alias.name, modules)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                outer = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join((*outer, *([base] if base else [])))
            for alias in node.names:
                yield from _found(f"{base}.{alias.name}", modules)


def _found(name: str, modules: dict[str, str]) -> Iterator[str]:
    """Give the files that importing a.b.c runs: a, a.b and a.b.c."""
    parts = name.split(".")
    for end in range(1, len(parts) + 1):
        found = modules.get(".".join(parts[:end]))
        if found:
            yield found
