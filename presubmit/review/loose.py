"""Files that head's code imports and that were never added to git."""

from __future__ import annotations

import ast
import posixpath
import warnings
from typing import TYPE_CHECKING

from presubmit.review.facts import before, in_head, packages_of
from presubmit.review.values import Remark, Severity
from presubmit.values import TargetKind, Value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from presubmit.review.facts import Facts, Tree
    from presubmit.values import Change


class Missing(Value, frozen=True, kw_only=True):
    """An import that the change brings and that no file of head answers; one of `paths` would."""

    file: str
    line: int
    module: str
    paths: tuple[str, ...]


def remarks(facts: Facts) -> Iterator[Remark]:
    """Say which imported file only the checkout has."""
    for missing in missing_imports(facts.change, facts.base, facts.head):
        path = next((one for one in missing.paths if one in facts.loose), None)
        if path is None:
            continue
        ignored = facts.loose[path]
        yield Remark(
            code="files.ignored-import" if ignored else "files.not-added",
            severity=Severity.WARNING if ignored else Severity.ERROR,
            text=f"{missing.module} is imported here, and {path} is "
            + ("ignored by git" if ignored else "not in git"),
            why="it works in this checkout alone",
            mend=f"`git add {'-f ' if ignored else ''}{path}`",
            file=missing.file,
            line=missing.line,
            subject=path,
        )
    if facts.change.target.kind is not TargetKind.WORKTREE:
        return
    untracked = set(facts.change.target.untracked)
    for file, line, module, paths in _new_imports(facts.change, facts.base, facts.head):
        path = next((one for one in paths if one in untracked), None)
        if path is not None and file not in untracked:
            yield Remark(
                code="files.untracked-import",
                severity=Severity.NOTE,
                text=f"{module} is imported here, and {path} is not added to git yet",
                why="a commit without it works in this checkout alone",
                mend=f"`git add {path}`",
                file=file,
                line=line,
                subject=path,
            )


def missing_imports(change: Change, base: Tree, head: Tree) -> list[Missing]:
    """Give the imports that the change brings of the project's own modules, where head has no such file."""
    found = []
    folders = {posixpath.dirname(path) for path in head.blobs}
    for file, line, module, paths in _new_imports(change, base, head):
        known = any(path in head.blobs for path in paths)
        folder = posixpath.splitext(paths[0])[0]
        if not known and folder not in folders and not _generated(paths[0]):
            found.append(Missing(file=file, line=line, module=module, paths=paths))
    return found


def _generated(path: str) -> bool:
    name = posixpath.basename(path)
    return name in {"_version.py", "version.py"} or name.endswith(("_pb2.py", "_pb2_grpc.py"))


def _new_imports(
    change: Change, base: Tree, head: Tree
) -> Iterator[tuple[str, int, str, tuple[str, ...]]]:
    """Give file, line, dotted name and possible paths of every import that the change brings."""
    packages = packages_of(head)
    for file in in_head(change):
        if not file.path.endswith(".py"):
            continue
        old = {module for _, module in _imports(base.data(before(file)))}
        for line, module in _imports(head.data(file.path)):
            stem = _stem(file.path, module, packages) if module not in old else ""
            if stem:
                yield file.path, line, module, (f"{stem}.py", f"{stem}/__init__.py")


def _imports(data: bytes | None) -> list[tuple[int, str]]:
    """Give the modules that a file surely imports; dots in front say where from."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(data or b"")
    except (SyntaxError, ValueError, RecursionError):
        return []
    found: list[tuple[int, str]] = []
    waiting: list[ast.AST] = [tree]
    while waiting:
        match waiting.pop():
            case ast.Try(handlers=[_, *_]):
                pass  # it may be missing
            case ast.Import(names=names, lineno=line):
                found += [(line, alias.name) for alias in names]
            case ast.ImportFrom(module=module, names=names, level=level, lineno=line):
                if module:
                    found.append((line, "." * level + module))
                else:
                    found += [(line, "." * level + alias.name) for alias in names]
            case node:
                waiting += ast.iter_child_nodes(node)
    return sorted(found)


def _stem(path: str, module: str, packages: Mapping[str, str]) -> str:
    """Give the path, without its ending, that a module of the project has; empty for a module of somebody else's."""
    name = module.lstrip(".")
    level = len(module) - len(name)
    if level:
        folder = posixpath.dirname(path)
        for _ in range(level - 1):
            folder = posixpath.dirname(folder)
        return posixpath.join(folder, *name.split("."))
    top, _, rest = name.partition(".")
    if top not in packages or not rest:
        return ""
    return posixpath.join(packages[top], *rest.split("."))
