"""Tells native sources by the names of their files."""

from __future__ import annotations

import posixpath
from typing import Final

C_SUFFIXES: Final = frozenset(
    {
        ".c",
        ".cc",
        ".cpp",
        ".cxx",
        ".c++",
        ".m",
        ".mm",
        ".cu",
        ".cuh",
        ".h",
        ".hh",
        ".hpp",
        ".hxx",
        ".h++",
    }
    | {".inc", ".inl", ".ipp", ".tcc", ".tpp", ".def", ".s", ".S", ".asm", ".dispatch"}
)
CYTHON_SUFFIXES: Final = frozenset({".pyx", ".pxd", ".pxi"})
NATIVE_SUFFIXES: Final = (
    C_SUFFIXES | CYTHON_SUFFIXES | {".f", ".f90", ".f95", ".for", ".pyf", ".rs"}
)
TEMPLATE_SUFFIXES: Final = frozenset({".in", ".src", ".tp", ".tmpl", ".template", ".j2", ".mako"})


def suffix_of(path: str) -> str:
    """Give the suffix that tells a native file's language, `.pyx` for `x.pyx.in`."""
    stem, suffix = posixpath.splitext(path)
    if suffix in TEMPLATE_SUFFIXES:
        inner = posixpath.splitext(stem)[1]
        return inner if inner in NATIVE_SUFFIXES else suffix
    return suffix


def is_native_file(path: str) -> bool:
    """Tell a source or header that an extension module may be built from, by its name."""
    suffix = suffix_of(path)
    return suffix in NATIVE_SUFFIXES or suffix.lower() in NATIVE_SUFFIXES
