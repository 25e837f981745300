"""What users of the project can call, base against head: read by griffe, never imported."""

from __future__ import annotations

import ast
import posixpath
import re
import tempfile
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Final

import griffe
import msgspec

from presubmit.review.facts import packages_of, still_served
from presubmit.review.values import Remark, Severity, Unchecked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from presubmit.review.facts import Facts, Said, Tree

MOST: Final = 1200
"""A package with more Python files is compared by those that changed alone."""
_SUFFIXES: Final = (".py", ".pyi")
_BREAKS: Final = {
    griffe.BreakageKind.PARAMETER_MOVED: "parameter-moved",
    griffe.BreakageKind.PARAMETER_REMOVED: "parameter-removed",
    griffe.BreakageKind.PARAMETER_CHANGED_KIND: "parameter-kind",
    griffe.BreakageKind.PARAMETER_CHANGED_DEFAULT: "default-changed",
    griffe.BreakageKind.PARAMETER_CHANGED_REQUIRED: "parameter-required",
    griffe.BreakageKind.PARAMETER_ADDED_REQUIRED: "parameter-required",
    griffe.BreakageKind.RETURN_CHANGED_TYPE: "return-changed",
    griffe.BreakageKind.OBJECT_REMOVED: "removed",
    griffe.BreakageKind.OBJECT_CHANGED_KIND: "kind-changed",
    griffe.BreakageKind.ATTRIBUTE_CHANGED_TYPE: "type-changed",
    griffe.BreakageKind.ATTRIBUTE_CHANGED_VALUE: "value-changed",
    griffe.BreakageKind.CLASS_REMOVED_BASE: "base-removed",
}
_MILD: Final = frozenset(["default-changed", "value-changed", "return-changed", "type-changed"])
_TROUBLE: Final = (
    griffe.GriffeError,
    RecursionError,
    KeyError,
    ValueError,
    AttributeError,
    OSError,
)


class Sides(msgspec.Struct, frozen=True, kw_only=True):
    """One package as griffe reads it, on both sides."""

    name: str
    base: griffe.Module
    head: griffe.Module
    skipped: frozenset[str] = frozenset()
    """Files that head cannot parse: nothing is said of them."""


def remarks(facts: Facts) -> Iterable[Said]:
    """Compare each changed package's public names and signatures."""
    changed = {
        path for file in facts.change.files for path in file.paths if path.endswith(_SUFFIXES)
    }
    old, new = packages_of(facts.base), packages_of(facts.head)
    for name in sorted(old):
        mine = {path for path in changed if path.startswith(f"{old[name]}/")}
        if name in new:
            mine |= {path for path in changed if path.startswith(f"{new[name]}/")}
        if not mine:
            continue
        if name not in new:
            yield _remark(
                "removed",
                Severity.WARNING,
                f"the package {name} is gone",
                f"{old[name]}/__init__.py",
                None,
                name,
            )
            continue
        yield from _compare(facts, name, old[name], new[name], mine)


def _compare(facts: Facts, name: str, old: str, new: str, changed: set[str]) -> Iterator[Said]:
    broken = {path for path in changed if not _parses(facts.head, path)}
    for path in sorted(broken):
        yield Unchecked(
            rule="api", what=path, why="head's file is no Python that this Python can parse"
        )
    with tempfile.TemporaryDirectory(prefix="presubmit-api-") as folder:
        places = Path(folder, "base"), Path(folder, "head")
        written = [
            _write(facts.base, old, places[0], changed),
            _write(facts.head, new, places[1], changed),
        ]
        if not all(written):
            yield Unchecked(
                rule="api",
                what=f"what other modules of {name} pass on",
                why=f"the package has more than {MOST} files: only the changed ones were compared",
            )
        try:
            sides = Sides(
                name=name,
                base=_load(name, places[0], old),
                head=_load(name, places[1], new),
                skipped=frozenset(broken),
            )
            found = [*_breaks(sides, places, facts.head.text), *_additions(sides, places)]
        except _TROUBLE as error:
            yield Unchecked(rule="api", what=name, why=f"griffe: {type(error).__name__}: {error}")
            return
    yield from found


def _parses(tree: Tree, path: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(tree.data(path) or b"")
    except (SyntaxError, ValueError, RecursionError):
        return False
    return True


def _write(tree: Tree, folder: str, place: Path, changed: set[str]) -> bool:
    """Write a package's Python files; tells whether it was all of them."""
    every = [p for p in tree.blobs if p.startswith(f"{folder}/") and p.endswith(_SUFFIXES)]
    every = [p for p in every if not _is_private(p)]
    wanted = every
    if len(every) > MOST:
        needed = {f"{parent}/__init__.py" for p in changed for parent in _parents(p)}
        wanted = [p for p in every if p in changed | needed]
    for path in wanted:
        target = place / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(tree.data(path) or b"")
    return len(wanted) == len(every)


def _is_private(path: str) -> bool:
    parts = path.split("/")
    return any(part in {"tests", "test"} for part in parts[:-1]) or parts[-1].startswith("test_")


def _parents(path: str) -> list[str]:
    found = []
    while path := posixpath.dirname(path):
        found.append(path)
    return found


def _load(name: str, place: Path, folder: str) -> griffe.Module:
    found = griffe.load(
        name,
        search_paths=[place / posixpath.dirname(folder)],
        allow_inspection=False,
        resolve_aliases=True,
        resolve_external=False,
        try_relative_path=False,
    )
    if not isinstance(found, griffe.Module):
        raise griffe.GriffeError(f"{name} is no module")
    return found


def _is_type_variable(thing: griffe.Object | griffe.Alias) -> bool:
    value = str(thing.value) if isinstance(thing, griffe.Attribute) else ""
    return re.match(r"(?:\w+\.)?(?:TypeVar|ParamSpec|TypeVarTuple)\(", value) is not None


def _breaks(
    sides: Sides, places: tuple[Path, Path], text_of: Callable[[str], str | None]
) -> Iterator[Remark]:
    public = _public_names(sides.base)
    for breakage in griffe.find_breaking_changes(sides.base, sides.head):
        kind = _BREAKS[breakage.kind]
        name = _public_name(breakage.obj.path, public)
        last = name.rpartition(".")[2]
        if last in {"__version__", "__all__", "__version_tuple__"} or _of_private(name):
            continue
        path, line = _place(breakage.obj, places)
        if path in sides.skipped or _is_type_variable(breakage.obj):
            continue
        if kind == "removed" and still_served(text_of(path) or "", last):
            continue
        severity = Severity.NOTE if kind in _MILD else Severity.WARNING
        yield _remark(
            kind, severity, _sentence(breakage, kind, name), path, line, _subject(breakage, name)
        )


def _public_names(package: griffe.Module) -> dict[str, str]:
    """Give what users call each thing that a public module passes on from a private one, by where it is defined."""
    found: dict[str, str] = {}
    waiting = [package]
    while waiting:
        module = waiting.pop()
        for name, member in module.members.items():
            if isinstance(member, griffe.Alias):
                if not name.startswith("_") and _of_private(member.target_path):
                    found.setdefault(member.target_path, f"{module.path}.{name}")
            elif isinstance(member, griffe.Module) and not name.startswith("_"):
                waiting.append(member)
    return found


def _public_name(path: str, public: Mapping[str, str]) -> str:
    """Give a definition's public name: its own path, or that of what it is part of where that is passed on."""
    owner, inner = path, ""
    while owner:
        if owner in public:
            return f"{public[owner]}{inner}"
        owner, _, last = owner.rpartition(".")
        inner = f".{last}{inner}"
    return path


def _of_private(name: str) -> bool:
    """Tell whether a name is private, or one of the tests that are packaged along."""
    parts = name.split(".")
    hidden = (p.startswith("_") and not (p.startswith("__") and p.endswith("__")) for p in parts)
    return any(hidden) or any(p in {"tests", "test", "conftest"} for p in parts[1:])


def _subject(breakage: griffe.Breakage, name: str) -> str:
    parameter = (
        breakage.old_value
        if isinstance(breakage.old_value, griffe.Parameter)
        else breakage.new_value
    )
    return f"{name}({parameter.name})" if isinstance(parameter, griffe.Parameter) else name


def _sentence(breakage: griffe.Breakage, kind: str, name: str) -> str:
    old, new = breakage.old_value, breakage.new_value
    parameter = (
        old
        if isinstance(old, griffe.Parameter)
        else new
        if isinstance(new, griffe.Parameter)
        else None
    )
    if kind == "removed":
        return f"{name} is gone"
    if parameter is None:
        return f"{name}: {str(breakage.kind.value).lower()} ({_short(old)} -> {_short(new)})"
    if (
        kind == "default-changed"
        and isinstance(old, griffe.Parameter)
        and isinstance(new, griffe.Parameter)
    ):
        return f"{name}: the default of {old.name} changes from {_short(old.default)} to {_short(new.default)}"
    return f"{name}: {str(breakage.kind.value).lower()}: {parameter.name}"


def _short(value: object) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= 60 else f"{text[:57]}..."  # noqa: PLR2004 - what a line holds


def _additions(sides: Sides, places: tuple[Path, Path]) -> Iterator[Remark]:
    for name, member in sides.head.members.items():
        yield from _added(name, member, sides.base.members, places)


def _added(
    name: str,
    member: griffe.Object | griffe.Alias,
    known: dict[str, griffe.Object | griffe.Alias],
    places: tuple[Path, Path],
) -> Iterator[Remark]:
    """Say which public names are new; what stands inside of one that is new goes with it."""
    if name.startswith("_"):
        return
    if isinstance(member, griffe.Alias):
        own = member.path.partition(".")[0] == member.target_path.partition(".")[0]
        if name not in known and own and _of_private(member.target_path):
            path, line = _place(member, places)
            text = f"{member.path} is a new public name"
            yield _remark("added", Severity.NOTE, text, path, line, member.path)
        return
    if not member.is_public:
        return
    if name not in known:
        if member.is_attribute and member.parent is not None and not member.parent.is_module:
            return
        path, line = _place(member, places)
        text = f"{member.path} is a new public {member.kind.value}"
        kind = "module-added" if member.is_module else "added"
        yield _remark(kind, Severity.NOTE, text, path, line, member.path)
        return
    before = known[name]
    if not before.is_alias and (member.is_module or member.is_class):
        for inner, one in member.members.items():
            yield from _added(inner, one, before.members, places)


def _place(
    thing: griffe.Object | griffe.Alias, places: tuple[Path, Path]
) -> tuple[str, int | None]:
    """Give where a thing stands, as a path in the tree."""
    owner = thing.parent if thing.is_alias and thing.parent is not None else thing
    line = thing.alias_lineno if isinstance(thing, griffe.Alias) else thing.lineno
    path = owner.filepath
    for place in places:
        if isinstance(path, Path) and path.is_relative_to(place):
            return path.relative_to(place).as_posix(), line
    return "", line


def _remark(
    kind: str, severity: Severity, text: str, file: str, line: int | None, subject: str
) -> Remark:
    breaks = kind not in {"added", "module-added"}
    return Remark(
        code=f"api.{kind}",
        severity=severity,
        text=text,
        why="code that uses it breaks or does something else"
        if breaks
        else "what is public is for keeps",
        mend="keep the old form for a release, with a deprecation warning; else say so in the changelog"
        if breaks
        else "start its name with `_` if it is not meant for users; else document it",
        file=file,
        line=line,
        subject=subject,
    )
