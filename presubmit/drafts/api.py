"""Compares the public Python names of two versions of a file: what is added, gone, or called another way."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, TypeAlias

from presubmit.change.definitions import read_definitions
from presubmit.drafts.text import in_text
from presubmit.drafts.values import Api
from presubmit.report.escape import for_code
from presubmit.review.values import Severity

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from presubmit.review.values import Review

_Def: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


def api_of_review(review: Review) -> Api:
    """Take over what the review says of the public API."""
    remarks = [it for it in review.remarks if it.code.startswith("api.")]
    altered = [it for it in remarks if it.code not in {"api.added", "api.removed"}]
    breaking = [it for it in altered if it.severity is not Severity.NOTE]
    return Api(
        added=tuple(it.subject for it in remarks if it.code == "api.added"),
        removed=tuple(it.subject for it in remarks if it.code == "api.removed"),
        altered=tuple(in_text(it.text) for it in breaking),
        names=tuple(it.subject for it in breaking if it.subject),
        whole=True,
    )


def compare_api(files: Iterable[tuple[str, bytes | None, bytes | None]]) -> Api:
    """Compare files, each with its path and both versions; None where a side has it not."""
    added, removed, altered, names, modules = [], [], [], [], []
    for path, before, after in files:
        module = module_of(path)
        if any(part.startswith("_") for part in module.split(".")):
            continue
        old, new = _public(path, before), _public(path, after)
        if before is None and new:
            modules.append(module)
        kinds = {name: kind for name, kind in new.items() if kind != "method"}
        added += [f"{module}.{name}" for name in kinds if name not in old and before is not None]
        removed += [
            f"{module}.{name}"
            for name in old
            if name not in new and not _owner_gone(name, old, new)
        ]
        shapes, before_shapes = _functions(after), _functions(before)
        for name in old.keys() & new.keys() & shapes.keys() & before_shapes.keys():
            one, two = before_shapes[name], shapes[name]
            if breaks(one.args, two.args):
                last = name.rpartition(".")[2]
                names.append(f"{module}.{name}")
                altered.append(
                    f"{for_code(f'{module}.{name}({ast.unparse(one.args)})')} is now"
                    f" {for_code(f'{last}({ast.unparse(two.args)})')}"
                )
    return Api(
        added=tuple(sorted(added)),
        removed=tuple(sorted(removed)),
        altered=tuple(sorted(altered)),
        names=tuple(sorted(names)),
        modules=tuple(sorted(modules)),
    )


def module_of(path: str) -> str:
    """Give the dotted name of a file's module: `src/pkg/mod.py` is `pkg.mod`."""
    parts = path.removesuffix(".py").split("/")
    if parts[0] in {"src", "lib", "python"} and len(parts) > 1:
        parts = parts[1:]
    if parts[-1] == "__init__" and len(parts) > 1:
        parts = parts[:-1]
    return ".".join(parts)


def _owner_gone(name: str, old: Mapping[str, str], new: Mapping[str, str]) -> bool:
    """Tell whether a method went with its class, which is named already."""
    owner = name.rpartition(".")[0]
    return bool(owner) and owner in old and owner not in new


def _public(path: str, source: bytes | None) -> dict[str, str]:
    if source is None:
        return {}
    found = read_definitions(path, source)
    return {it.qualname: it.kind for it in found if it.public and it.kind != "module"}


def _functions(source: bytes | None) -> dict[str, _Def]:
    try:
        tree = ast.parse(source or b"")
    except (SyntaxError, ValueError):
        return {}
    return dict(_walk(tree.body, ""))


def _walk(body: Iterable[ast.stmt], prefix: str) -> Iterator[tuple[str, _Def]]:
    for node in body:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield f"{prefix}{name}", node
            case ast.ClassDef(name=name):
                yield from _walk(node.body, f"{prefix}{name}.")
            case _:
                pass


def breaks(old: ast.arguments, new: ast.arguments) -> bool:
    """Tell whether some call that the old signature takes is refused, or bound otherwise, by the new one."""
    old_places = [it.arg for it in (*old.posonlyargs, *old.args)]
    new_places = [it.arg for it in (*new.posonlyargs, *new.args)]
    old_named = {it.arg for it in (*old.args, *old.kwonlyargs)}
    new_named = {it.arg for it in (*new.args, *new.kwonlyargs)}
    if old_named - new_named and new.kwarg is None:
        return True
    moved = old_places != new_places[: len(old_places)]
    positional_only = {it.arg for it in old.posonlyargs}
    if moved and not _only_renamed(old_places, new_places, positional_only) and new.vararg is None:
        return True
    if (old.vararg and not new.vararg) or (old.kwarg and not new.kwarg):
        return True
    return bool(
        _required(new) - _required(old) - _new_names(old_places, new_places, positional_only)
    )


def _only_renamed(old: list[str], new: list[str], positional_only: set[str]) -> bool:
    """Tell whether only positional parameters have another name, which no caller can have used."""
    return len(new) >= len(old) and all(
        one == two or one in positional_only for one, two in zip(old, new, strict=False)
    )


def _new_names(old: list[str], new: list[str], positional_only: set[str]) -> set[str]:
    return {two for one, two in zip(old, new, strict=False) if one in positional_only}


def _required(arguments: ast.arguments) -> set[str]:
    """Give the parameters without a default."""
    places = [*arguments.posonlyargs, *arguments.args]
    required = places[: len(places) - len(arguments.defaults)]
    named = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    return {it.arg for it in required} | {it.arg for it, default in named if default is None}
