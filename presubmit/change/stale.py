"""Decides what an update of a mirror checkout may leave lying about: pure, from the list of changed files."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from presubmit.values import FileStatus

if TYPE_CHECKING:
    from collections.abc import Iterable

    from presubmit.values import ChangedFile

BUILD_LEFTOVERS: Final = ("build/", "*.egg-info/", "*.so", "*.pyd")
"""Kept between checkouts (patterns as in .gitignore), so that builds stay incremental."""

_BYTECODE: Final = "__pycache__/"

_SOURCES: Final = frozenset(
    [
        ".py",
        ".pyi",
        ".pyx",
        ".pxd",
        ".pxi",
        ".c",
        ".cc",
        ".cpp",
        ".cxx",
        ".h",
        ".hh",
        ".hpp",
        ".hxx",
        ".inc",
        ".inl",
        ".ipp",
        ".tpp",
        ".cu",
        ".cuh",
        ".hip",
        ".m",
        ".mm",
        ".s",
        ".asm",
        ".f",
        ".f77",
        ".f90",
        ".f95",
        ".f03",
        ".f08",
        ".for",
        ".rs",
        ".go",
        ".swift",
        ".in",
        ".tmpl",
        ".template",
        ".jinja",
        ".j2",
        ".y",
        ".l",
        ".proto",
        ".fbs",
        ".i",
    ]
)

_BUILD_FILES: Final = (
    "pyproject.toml",
    "setup.py",
    "setup.cfg",
    "MANIFEST.in",
    "CMakeLists.txt",
    "CMakePresets.json",
    "*.cmake",
    "meson.build",
    "meson.options",
    "meson_options.txt",
    "Makefile",
    "*.mk",
    "configure",
    "configure.ac",
    "*.am",
    "BUILD",
    "BUILD.bazel",
    "WORKSPACE",
    "*.bzl",
    "Cargo.toml",
    "Cargo.lock",
    "build.rs",
    "build.ninja",
    "SConstruct",
    ".gitmodules",
)

_NOT_BUILT: Final = frozenset(
    {"test", "tests", "testing", "doc", "docs", "benchmarks", "examples"}
)
"""Top-level folders whose Python files no build copies anywhere."""


def why_clean(files: Iterable[ChangedFile]) -> str:
    """Say why a build must start clean after these changes; empty where it need not."""
    for file in files:
        if is_build_file(file.path) or (file.old_path and is_build_file(file.old_path)):
            return f"the build file {file.path} changed"
        if file.status is FileStatus.DELETED and is_built(file.path):
            return f"{file.path} was deleted"
        if file.old_path is not None and is_built(file.old_path):
            return f"{file.old_path} was renamed"
    return ""


def is_build_file(path: str) -> bool:
    """Whether a file says how the project is built."""
    name = path.rpartition("/")[2]
    return any(fnmatchcase(name, pattern) for pattern in _BUILD_FILES)


def is_built(path: str) -> bool:
    """Whether a build may have made something of this file that outlives it."""
    pure = PurePosixPath(path)
    if pure.suffix not in _SOURCES:
        return False
    outside = pure.parts[0] in _NOT_BUILT and len(pure.parts) > 1
    return not (outside and pure.suffix in {".py", ".pyi"})


def python_went(files: Iterable[ChangedFile]) -> bool:
    """Whether a Python file was deleted or renamed, so that compiled modules may outlive their source."""
    return any(
        path.endswith(".py")
        for file in files
        for path in (file.old_path, file.path if file.status is FileStatus.DELETED else None)
        if path is not None
    )


def kept(keep: Iterable[str], files: Iterable[ChangedFile]) -> tuple[str, ...]:
    """Give the patterns of what stays: the build's leftovers, and bytecode while every module still has its source."""
    changed = tuple(files)
    return tuple(keep) if python_went(changed) else (*keep, _BYTECODE)


def stale_bytecode(paths: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Give the cache folder of each Python file among `paths`, and what the names of its bytecode begin with.

    Python compares seconds and sizes only, so bytecode may seem to fit a file that was changed within a second.
    """
    found = []
    for path in paths:
        folder, _, name = path.rpartition("/")
        if name.endswith(".py"):
            cache = f"{folder}/__pycache__" if folder else "__pycache__"
            found.append((cache, name.removesuffix("py")))
    return tuple(found)
