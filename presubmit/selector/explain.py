"""Why tests are chosen or left out, and what a file would choose if it were changed: for people to read. Pure."""

from __future__ import annotations

import ast
import difflib
import warnings
from typing import TYPE_CHECKING, Final

import msgspec

from presubmit.errors import UsageError
from presubmit.selector.ranking import distance
from presubmit.values import (
    Change,
    ChangedFile,
    ChosenTest,
    FileStatus,
    LeftOut,
    Mode,
    Reason,
    Value,
    counted,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from presubmit.values import Selection

_MOST_NAMES: Final = 3


class Answer(Value, frozen=True, kw_only=True):
    """Why a test runs, or why it does not."""

    target: str
    """A test file or an id."""
    runs: bool
    why: str
    """Of the selection as a whole."""
    reasons: tuple[Reason, ...]
    """Why it runs, or why it does not."""
    notes: tuple[str, ...] = ()


class Reached(Value, frozen=True, kw_only=True):
    """The tests that a file would choose if it were changed, by how many files lie between."""

    target: str
    mode: Mode
    why: str
    known: int
    groups: tuple[tuple[int | None, tuple[ChosenTest, ...]], ...]
    """The nearest first; None: no chain leads to these."""
    unreached: tuple[str, ...] = ()
    """The test files that it does not choose."""


# --- tests ------------------------------------------------------------------------------------------------------------


def left_out(selection: Selection, known: Iterable[str]) -> tuple[LeftOut, ...]:
    """Give every test file that was not chosen, with the reasons."""
    chosen = {test.path for test in selection.tests}
    said = {one.path: one for one in selection.left_out}
    return tuple(
        said.get(path) or LeftOut(path=path, reasons=(_nothing_leads_here(selection),))
        for path in sorted(known)
        if path not in chosen
    )


def _nothing_leads_here(selection: Selection) -> Reason:
    why = selection.why if selection.mode is Mode.NONE else "nothing that changed leads to it"
    return Reason(rule="unreached", text=why)


def by_rule(out: Iterable[LeftOut]) -> dict[str, tuple[LeftOut, ...]]:
    """Group what was left out by the rule that says so, the largest group first."""
    groups: dict[str, list[LeftOut]] = {}
    for one in out:
        rule = one.reasons[0].rule if one.reasons else "unreached"
        groups.setdefault(rule, []).append(one)
    ordered = sorted(groups.items(), key=lambda group: (-len(group[1]), group[0]))
    return {rule: tuple(members) for rule, members in ordered}


def explain_test(selection: Selection, target: str) -> Answer:
    """Say why a test file, or a single test, runs or does not."""
    path, colons, _ = target.partition("::")
    test = next((one for one in selection.tests if one.path == path), None)
    if test is None:
        (out,) = left_out(selection, (path,))
        recorded = bool(out.reasons) and out.reasons[0].rule == "recorded"
        # What would choose it without the record is no reason why it does not run.
        reasons = out.reasons[:1] if recorded else out.reasons
        return Answer(target=target, runs=False, why=selection.why, reasons=reasons)
    if not colons or not test.ids:
        return Answer(target=target, runs=True, why=selection.why, reasons=test.reasons)
    name = without_parameters(target)
    inside = {one for one in test.ids if _belongs(one, name)}
    if not inside:
        # Why the others of its file run is no reason of this one.
        text = f"the recorded run saw it run nothing that changed, unlike {counted(len(test.ids), 'other test')} of its file"
        unseen = Reason(rule="recorded", text=text)
        return Answer(target=target, runs=False, why=selection.why, reasons=(unseen,))
    own = tuple(it for it in test.reasons if it.chain and it.chain[-1] in inside)
    # The reasons of its neighbours are none of its own.
    shared = tuple(it for it in test.reasons if it.rule != "recorded")
    return Answer(
        target=target, runs=True, why=selection.why, reasons=own or shared or test.reasons
    )


def not_itself_edited(answer: Answer, touched: Collection[str]) -> Answer:
    """Say of a single test of an edited file that only its file is edited; `touched` are the ids that really are."""
    path, colons, _ = answer.target.partition("::")
    name = without_parameters(answer.target)
    if not colons or any(_belongs(one, name) for one in touched):
        return answer
    text = f"its file is edited, this test is not ({path})"
    reasons = tuple(
        msgspec.structs.replace(reason, text=text)
        if reason.rule == "edited" and reason.chain == (path,)
        else reason
        for reason in answer.reasons
    )
    return msgspec.structs.replace(answer, reasons=reasons)


def undefined(target: str, definitions: Sequence[str], source: bytes) -> str:
    """Say that a file does not define the test that an id names, though it may have it; empty where it defines it.

    `definitions` are the file's own: `C`, `C.test_x`. Raises UsageError, with the nearest names, where the source shows
    that there is no such test: nothing that could inherit, import or make it.
    """
    path, colons, _ = target.partition("::")
    name = without_parameters(target).partition("::")[2].replace("::", ".")
    if not colons or name in definitions:
        return ""
    if may_be_there(name, source):
        return f"{path} has no {name} in its source: it is inherited, imported or made at run time, or not there"
    near = _nearest(name, definitions)
    ids = [f"{path}::{one.replace('.', '::')}" for one in near]
    hint = f"did you mean {' or '.join(ids)}?" if ids else f"presubmit explain {path}"
    raise UsageError(f"{path} has no test {name}", hint=hint)


def _nearest(name: str, definitions: Sequence[str]) -> list[str]:
    """Give the definitions that are most like a name, by the whole or by its last part."""
    found = difflib.get_close_matches(name, definitions, n=_MOST_NAMES, cutoff=0.6)
    last = name.rpartition(".")[2]
    found += [one for one in definitions if one.rpartition(".")[2] == last]
    return list(dict.fromkeys(found))[:_MOST_NAMES]


_MAKES: Final = frozenset({"exec", "globals", "setattr", "vars", "locals", "eval"})
"""Calls that may give a module or a class a name that is not in the source."""
_CLASS_PARTS: Final = 3
"""What `type` is called with to make a class."""


def may_be_there(name: str, source: bytes) -> bool:
    """Tell whether a file may have a test `C.test_x` that it does not define: inherited, imported or made. Pure."""
    try:
        with warnings.catch_warnings(action="ignore"):
            tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return True
    first, _, rest = name.partition(".")
    return any(_may_bind(node, first, rest) for node in ast.walk(tree))


def _may_bind(node: ast.AST, first: str, rest: str) -> bool:
    match node:
        case ast.Call(func=ast.Name(id=called)):
            return called in _MAKES or (called == "type" and len(node.args) == _CLASS_PARTS)
        case ast.alias():
            return (node.asname or node.name.partition(".")[0]) in {first, "*"}
        case ast.Name(ctx=ast.Store()):
            return node.id in {first, rest.partition(".")[0]}
        case ast.ClassDef(name=name) if name == first and rest:
            bases = [
                it for it in node.bases if not (isinstance(it, ast.Name) and it.id == "object")
            ]
            return bool(bases or node.keywords) or any(map(_decorates, node.decorator_list))
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            # `parameterized` makes `test_x_0` of `test_x`.
            last = rest.rpartition(".")[2]
            made = any(one.startswith(f"{node.name}_") for one in (first, last))
            return made and any(map(_decorates, node.decorator_list))
        case _:
            return False


def _decorates(node: ast.expr) -> bool:
    """Tell whether a decorator may do more than mark: all but pytest's own."""
    while isinstance(node, ast.Call | ast.Attribute):
        node = node.func if isinstance(node, ast.Call) else node.value
    return not (isinstance(node, ast.Name) and node.id == "pytest")


def _belongs(one: str, name: str) -> bool:
    """Whether a chosen id is the named test, in the named class, or the class around it."""
    return one == name or one.startswith(f"{name}::") or name.startswith(f"{one}::")


def without_parameters(target: str) -> str:
    """Strip an id's parameters: `t.py::test_x[1-a]` -> `t.py::test_x`."""
    path, colons, name = target.partition("::")
    return path + colons + name.partition("[")[0]


# --- files ------------------------------------------------------------------------------------------------------------


def as_if_changed(change: Change, path: str, *, present: bool) -> Change:
    """Give the change that consists of one file: all of it new, or all of it gone."""
    status = FileStatus.ADDED if present else FileStatus.DELETED
    return msgspec.structs.replace(change, files=(ChangedFile(path=path, status=status),))


def reached_by(selection: Selection, target: str, known: Iterable[str]) -> Reached:
    """Group what a selection of one changed file chose by distance."""
    groups: dict[int | None, list[ChosenTest]] = {}
    chosen = {test.path for test in selection.tests}
    for test in selection.tests:
        groups.setdefault(distance(test.reasons), []).append(test)
    ordered = sorted(groups, key=lambda far: (far is None, far or 0))
    return Reached(
        target=target,
        mode=selection.mode,
        why=selection.why,
        known=selection.known,
        groups=tuple((far, tuple(groups[far])) for far in ordered),
        unreached=tuple(sorted(path for path in known if path not in chosen)),
    )


# --- names ------------------------------------------------------------------------------------------------------------


def find_target(target: str, folder: str, paths: Collection[str]) -> str:
    """Give the path of the tree (and the rest of an id) that a target names from a folder of it, or nothing."""
    name, colons, rest = target.partition("::")
    for path in (_below(folder, name), _below("", name)):
        if path in paths:
            return path + colons + rest
    return ""


def _below(folder: str, name: str) -> str:
    parts = folder.split("/") if folder else []
    for part in name.split("/"):
        if part == ".." and parts:
            parts.pop()
        elif part not in {"", "."}:
            parts.append(part)
    return "/".join(parts)


def similar(target: str, names: Sequence[str]) -> tuple[str, ...]:
    """Give the names that are most like one that is not there: by the whole, else by the last part."""
    wanted = target.partition("::")[0].strip("/")
    found = difflib.get_close_matches(wanted, names, n=_MOST_NAMES, cutoff=0.7)
    if not found:
        last = wanted.rpartition("/")[2]
        by_last: dict[str, str] = {}
        for name in names:
            by_last.setdefault(name.rpartition("/")[2], name)
        ends = difflib.get_close_matches(last, list(by_last), n=_MOST_NAMES, cutoff=0.7)
        found = [by_last[end] for end in ends]
    return tuple(found)
