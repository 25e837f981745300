"""The parts of one native source: functions, tables of bound names, and everything that runs or holds at import."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final


class Kind(StrEnum):
    """What a statement outside of functions is."""

    OTHER = "other"
    """Anything that may run at import, or is data: what uses a name there can reach everything."""
    MACRO = "macro"
    """Another name for what it uses: a macro, an alias."""
    DECLARATION = "declaration"
    """It only says that a name exists."""
    ENTRY = "entry"
    """An entry of a method table: it binds `bound`."""
    CLASS = "class"
    """A class of Cython: it binds its own name."""


@dataclass(frozen=True, kw_only=True)
class Statement:
    """Something outside of functions."""

    kind: Kind
    text: str
    names: tuple[str, ...] = ()
    bound: tuple[str, ...] = ()
    uses: frozenset[str] = frozenset()
    method: bool = True
    """What it binds is (or may be) a method of a type, and no function of the module."""


@dataclass(frozen=True, kw_only=True)
class Piece:
    """A part of a function that registers others: one `.def("name", ...)`, or what is none."""

    bound: str
    """The name that it binds; empty: whatever it does concerns the whole module."""
    text: str
    uses: frozenset[str]


@dataclass(frozen=True, kw_only=True)
class Element:
    """A function."""

    names: tuple[str, ...]
    """What it may be called by; more than one where a macro makes the head ambiguous."""
    text: str
    """Its tokens, without comments and layout."""
    head: str = ""
    """What of it runs at import; a change of that concerns the whole module."""
    uses: frozenset[str] = frozenset()
    bound: tuple[str, ...] = ()
    """The names by which Python sees it (Cython)."""
    owner: str = ""
    """The class that it belongs to."""
    whole: str = ""
    """Why it cannot be narrowed: it is reached without being named."""
    pieces: tuple[Piece, ...] = ()
    """Set for functions that register others."""


@dataclass(frozen=True, kw_only=True)
class Source:
    """One native source in its parts."""

    elements: tuple[Element, ...] = ()
    statements: tuple[Statement, ...] = ()
    problem: str = ""
    """Why it could not be taken apart: any change concerns the whole module then."""
    pastes: tuple[str, ...] = ()
    """Patterns of the names that it may make out of pieces (`##`): they are used without being written."""
    quotes: bool = False
    """It makes strings out of names (`#name`): Python's names may be looked up without being quoted."""
    tokens: str = field(default="", repr=False)
    """Everything, without comments and layout."""


IMPLICIT: Final = frozenset(
    {
        "begin",
        "end",
        "cbegin",
        "cend",
        "rbegin",
        "rend",
        "size",
        "data",
        "get",
        "swap",
        "hash",
        "hash_value",
    }
    | {
        "load",
        "cast",
        "to_json",
        "from_json",
        "allocate",
        "deallocate",
        "construct",
        "destroy",
        "what",
    }
    | {
        "compare",
        "apply",
        "visit",
        "advance",
        "distance",
        "move",
        "main",
        "to_string",
        "tie",
        "from_python",
    }
    | {
        "tp_traverse",
        "tp_clear",
        "await_ready",
        "await_suspend",
        "await_resume",
        "get_return_object",
    }
    | {
        "inc_ref",
        "dec_ref",
        "main",
        "WinMain",
        "DllMain",
        "overflow",
        "underflow",
        "sync",
        "seekoff",
    }
)
"""Names by which C++ or a library calls a function that nobody names."""

PROTOCOL: Final = frozenset(
    {
        "read",
        "write",
        "close",
        "flush",
        "seek",
        "tell",
        "readline",
        "readlines",
        "readinto",
        "writelines",
    }
    | {"keys", "values", "items", "get", "pop", "popitem", "update", "setdefault", "clear", "copy"}
    | {
        "append",
        "extend",
        "insert",
        "remove",
        "index",
        "count",
        "sort",
        "reverse",
        "add",
        "discard",
    }
    | {"send", "throw", "next", "fileno", "isatty", "readable", "writable", "seekable", "getvalue"}
    | {
        "acquire",
        "release",
        "locked",
        "get_data",
        "get_code",
        "find_spec",
        "exec_module",
        "create_module",
    }
    | {"encode", "decode", "utcoffset", "tzname", "dst", "fromutc", "real", "imag", "conjugate"}
    | {
        "numerator",
        "denominator",
        "bit_length",
        "is_integer",
        "shape",
        "dtype",
        "strides",
        "ndim",
        "size",
    }
    | {
        "tolist",
        "astype",
        "mro",
        "join",
        "split",
        "strip",
        "startswith",
        "endswith",
        "format",
        "truncate",
    }
    | {
        "isdisjoint",
        "union",
        "difference",
        "intersection",
        "emit",
        "handle",
        "filter",
        "run",
        "start",
    }
    | {
        "put",
        "result",
        "cancel",
        "set_result",
        "set_exception",
        "add_done_callback",
        "name",
        "mode",
    }
)
"""Methods that other people's code calls on any object that is handed to it."""
