"""What a library exports to others, and which library of the base is which of head."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING, Final

from presubmit.values import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from presubmit.review.built import Library

_ENTRY: Final = "PyInit_"
_LINKERS: Final = frozenset(
    ["_init", "_fini", "_end", "_edata", "_etext", "end", "edata", "etext", "__bss_start"]
)
"""Names that every link writes."""
_WEAK: Final = frozenset("WVu")
_EXPORTED: Final = frozenset("ABCDGRSTVWiu")
_FUNCTION: Final = frozenset("TWi")
_TOOLCHAIN: Final = re.compile(
    r"_Z(?:GV|GR|Z|T[VISTCWH])?(?:N[rVK]*[RO]?)?(?:S[tabsiod]|9__gnu_cxx|10__cxxabiv1)"
)
"""Mangled names of `std::` and its like, with their vtables, guards and static data."""
_NAME: Final = re.compile(r"(?P<stem>.+?)(?:\.(?:cpython-[\w-]+|pypy[\w-]+|abi3))?\.so(?:\.\d+)*$")


class Symbol(Value, frozen=True, kw_only=True):
    """One exported name."""

    name: str
    version: str = ""
    function: bool = True
    inline: bool = False
    """Of vague linkage: an inline function, a template, a vtable. Whoever includes the header has it, too."""


def exported(library: Library) -> dict[str, Symbol]:
    """Give what a library exports, by `name@VERSION`: neither what the linker adds nor instances of `std::`."""
    found = {}
    for key, letter in library.symbols.items():
        # `@@` marks the version that new links take; old ones find both.
        name, _, version = key.replace("@@", "@").partition("@")
        # The names of versions are absolute symbols.
        if letter not in _EXPORTED or letter == "A" or name in _LINKERS:
            continue
        inline = letter in _WEAK and name.startswith("_Z")
        if inline and _TOOLCHAIN.match(name):
            continue
        found[f"{name}@{version}" if version else name] = Symbol(
            name=name, version=version, function=letter in _FUNCTION, inline=inline
        )
    return found


def is_entry(name: str) -> bool:
    """Tell the name that Python looks for in an extension module."""
    return name.startswith(_ENTRY)


def is_extension(symbols: Iterable[str]) -> bool:
    """Tell an extension module: Python loads it, and others seldom link against it."""
    return any(map(is_entry, symbols))


def one_sided(base: Iterable[Library], head: Iterable[Library]) -> list[str]:
    """Give the mangled names that not every library of a pair exports: those that are worth being made readable."""
    both, _, _ = pairs(base, head)
    found: set[str] = set()
    for old, mine in both:
        theirs, ours = exported(old), exported(mine)
        found |= {one.name for key, one in theirs.items() if not _same(one, ours.get(key))}
        found |= {one.name for key, one in ours.items() if not _same(one, theirs.get(key))}
    return sorted(name for name in found if name.startswith("_Z"))


def _same(one: Symbol, other: Symbol | None) -> bool:
    return other is not None and one.function is other.function


def pairs(
    base: Iterable[Library], head: Iterable[Library]
) -> tuple[list[tuple[Library, Library]], list[Library], list[Library]]:
    """Give the libraries that both sides have, those that are gone, and those that are new.

    They go together by folder and name; what is left goes by its name alone, where that is not ambiguous: a build of
    another kind puts its libraries elsewhere.
    """
    old, new = list(base), list(head)
    both: list[tuple[Library, Library]] = []
    for key in (_place, _stem):
        theirs, ours = _by(key, old), _by(key, new)
        for name, mine in theirs.items():
            others = ours.get(name, [])
            if len(mine) == len(others) == 1:
                both.append((mine[0], others[0]))
                old.remove(mine[0])
                new.remove(others[0])
    return both, old, new


def _by(key: Callable[[str], str], libraries: Iterable[Library]) -> dict[str, list[Library]]:
    found: dict[str, list[Library]] = {}
    for library in libraries:
        found.setdefault(key(library.path), []).append(library)
    return found


def _place(path: str) -> str:
    return posixpath.join(posixpath.dirname(path), _stem(path))


def _stem(path: str) -> str:
    """Give `_speedups` of `_speedups.cpython-311-x86_64-linux-gnu.so`, and `libm` of `libm.so.6`."""
    found = _NAME.match(posixpath.basename(path))
    return found["stem"] if found else posixpath.basename(path)
