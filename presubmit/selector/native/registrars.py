"""The bindings that pybind11 and nanobind register in a function: one piece for each `.def("name", ...)`."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING, Final

from presubmit.selector.native.elements import Piece

if TYPE_CHECKING:
    from collections.abc import Sequence

REGISTRARS: Final = frozenset({"PYBIND11_MODULE", "NB_MODULE", "PYBIND11_EMBEDDED_MODULE"})
"""Macros whose body runs when the module is imported, and does little but register."""

_DEFS: Final = frozenset(
    {"def", "def_static", "def_property", "def_property_readonly", "def_readwrite", "def_readonly"}
    | {
        "def_prop_ro",
        "def_prop_rw",
        "def_ro",
        "def_rw",
        "def_property_static",
        "def_property_readonly_static",
    }
)
_LITERALS: Final = frozenset({"true", "false", "nullptr", "NULL", "None", "none"})

_NAME: Final = 3
"""Where the name stands in `. def ( "name" ,`."""

Token = tuple[str, str]
"""Kind and text."""


def pieces_of(body: Sequence[Token]) -> tuple[Piece, ...]:
    """Take a function's body apart, where it registers names; a function that does not gives nothing."""
    found: list[Piece] = []
    for statement in _statements(body):
        found += _statement(statement)
    return tuple(found) if any(it.bound for it in found) else ()


def registers(body: Sequence[Token]) -> bool:
    """Tell whether a function registers anything, read or not."""
    dots = itertools.pairwise(body)
    return any(one[1] in {".", "->"} and two[1] in _DEFS for one, two in dots) or any(
        text in {"class_", "enum_", "exception"} and kind == "word" for kind, text in body
    )


def _statements(body: Sequence[Token]) -> list[list[Token]]:
    """Split at `;` outside of brackets; a block stays in one piece."""
    found: list[list[Token]] = [[]]
    depth = 0
    for kind, text in body:
        found[-1].append((kind, text))
        if kind == "operator":
            depth += (text in "([{") - (text in ")]}")
            if not depth and text == ";":
                found.append([])
    return [it for it in found if it]


def _statement(tokens: list[Token]) -> list[Piece]:
    """Split a statement before each `.def` that stands outside of brackets."""
    cuts: list[int] = []
    depth = 0
    for at, (kind, text) in enumerate(tokens):
        if kind == "operator":
            depth += (text in "([{") - (text in ")]}")
        if (
            not depth
            and text in {".", "->"}
            and at + 1 < len(tokens)
            and tokens[at + 1][1] in _DEFS
        ):
            cuts.append(at)
    if not cuts:
        return [_piece("", tokens)]
    parts = [tokens[one:two] for one, two in zip(cuts, [*cuts[1:], len(tokens)], strict=True)]
    head = tokens[: cuts[0]]
    simple = len(head) == 1 and head[0][0] == "word"
    found = [] if simple else [_piece("", head)]
    return [*found, *(_piece(_bound(part), [*(head if simple else []), *part]) for part in parts)]


def _bound(part: list[Token]) -> str:
    """Give the name that `.def("name", ...)` binds; none where its arguments run code at import."""
    if (
        len(part) <= _NAME
        or part[2][1] != "("
        or part[_NAME][0] != "string"
        or (len(part) > _NAME + 1 and part[_NAME + 1][1] not in {",", ")"})
    ):
        return ""
    depth = 0
    for at, (kind, text) in enumerate(part):
        if kind == "operator":
            depth += (text == "{") - (text == "}")
        if not depth and text == "=" and at + 1 < len(part):
            kind_, value = part[at + 1]
            if kind_ not in {"number", "string", "char"} and value not in {*_LITERALS, "]", "-"}:
                return ""
    return part[_NAME][1][part[_NAME][1].find('"') + 1 : -1]


def _piece(bound: str, tokens: Sequence[Token]) -> Piece:
    uses = {text for kind, text in tokens if kind == "word"}
    uses.update(
        f'"{inner}'
        for kind, text in tokens
        if kind == "string"
        and re.fullmatch(r"[A-Za-z_]\w*", inner := text[text.find('"') + 1 : -1])
    )
    return Piece(bound=bound, text="\x00".join(text for _, text in tokens), uses=frozenset(uses))
