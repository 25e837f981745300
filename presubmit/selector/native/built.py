"""Reads what a finished build leaves: ninja's own files, and the compiler's lines that setuptools prints."""

from __future__ import annotations

import re
import shlex
import struct
from typing import TYPE_CHECKING, Final

from presubmit.values import Value

if TYPE_CHECKING:
    from collections.abc import Iterable

SOURCES: Final = (
    ".c",
    ".cc",
    ".cpp",
    ".cxx",
    ".c++",
    ".m",
    ".mm",
    ".cu",
    ".s",
    ".S",
    ".pyx",
    ".f",
    ".f90",
)
_SIGNATURE: Final = b"# ninjadeps\n"
_VERSIONS: Final = (3, 4)
_LARGEST_RECORD: Final = (1 << 19) - 1
_LARGEST_FILE: Final = 512 * 1024 * 1024
_WORD: Final = 4
_DEPS_HEAD: Final = 3
"""An output's id and the two halves of its time."""


class BuildFacts(Value, frozen=True, kw_only=True):
    """Edges of a build: what each output was made from, with paths as the build wrote them."""

    made_from: dict[str, tuple[str, ...]] = {}
    folder: str = ""
    """The folder that relative paths start at: absolute, or relative to the tree (`build`)."""
    include_dirs: tuple[str, ...] = ()
    """Folders that compilers were told to look for headers in, as they were told."""
    problems: tuple[str, ...] = ()
    """What could not be read: facts may be missing then, and the build files decide."""


def join_facts(facts: Iterable[BuildFacts]) -> BuildFacts:
    """Put the facts of one build together; all must start at the same folder."""
    found = list(facts)
    made: dict[str, dict[str, None]] = {}
    for each in found:
        for output, inputs in each.made_from.items():
            made.setdefault(output, {}).update(dict.fromkeys(inputs))
    return BuildFacts(
        made_from={output: tuple(inputs) for output, inputs in made.items()},
        folder=next((it.folder for it in found if it.folder), ""),
        include_dirs=tuple(dict.fromkeys(it for each in found for it in each.include_dirs)),
        problems=tuple(dict.fromkeys(it for each in found for it in each.problems)),
    )


# --- ninja ----------------------------------------------------------------------------------------------------------


def read_ninja_log(data: bytes, folder: str = "") -> BuildFacts:
    """Read `.ninja_deps` (the format is described in ninja's `src/deps_log.h`); a torn end is left out."""
    if not data.startswith(_SIGNATURE) or len(data) > _LARGEST_FILE:
        return BuildFacts(folder=folder, problems=(".ninja_deps is no dependency log",))
    at = len(_SIGNATURE) + _WORD
    version = struct.unpack_from("<i", data, len(_SIGNATURE))[0] if len(data) >= at else 0
    if version not in _VERSIONS:
        return BuildFacts(folder=folder, problems=(f".ninja_deps has version {version}",))
    head_words = _DEPS_HEAD if version == _VERSIONS[-1] else _DEPS_HEAD - 1
    paths: list[str] = []
    made: dict[str, tuple[str, ...]] = {}
    while at + _WORD <= len(data):
        (word,) = struct.unpack_from("<I", data, at)
        size, is_deps = word & 0x7FFFFFFF, bool(word >> 31)
        record = data[at + _WORD : at + _WORD + size]
        at += _WORD + size
        if size > _LARGEST_RECORD or len(record) < size or size % _WORD or size < _WORD:
            return _torn(made, folder)
        words = struct.unpack(f"<{size // _WORD}I", record)
        if not is_deps:
            if words[-1] ^ 0xFFFFFFFF != len(paths):
                return _torn(made, folder)
            paths.append(record[:-_WORD].rstrip(b"\0").decode("utf-8", "surrogateescape"))
            continue
        inputs = words[head_words:]
        if len(words) < head_words or any(it >= len(paths) for it in (words[0], *inputs)):
            return _torn(made, folder)
        # A later record of an output replaces an earlier one.
        made[paths[words[0]]] = tuple(paths[it] for it in inputs)
    return BuildFacts(made_from=made, folder=folder)


def _torn(made: dict[str, tuple[str, ...]], folder: str) -> BuildFacts:
    return BuildFacts(
        made_from=made, folder=folder, problems=(".ninja_deps is damaged at its end",)
    )


def read_build_ninja(text: str, folder: str = "") -> BuildFacts:
    """Read the edges of `build.ninja`; order-only inputs count too: generated sources are such."""
    made: dict[str, tuple[str, ...]] = {}
    for line in re.sub(r"\$\r?\n[ \t]*", "", text).splitlines():
        if not line.startswith("build "):
            continue
        words = _ninja_words(line[len("build ") :])
        if ":" not in words:
            continue
        cut = words.index(":")
        inputs = tuple(it for it in words[cut + 2 :] if it not in {"|", "||", "|@"})
        for output in words[:cut]:
            if output != "|":
                made[output] = (*made.get(output, ()), *inputs)
    return BuildFacts(made_from=made, folder=folder)


def _ninja_words(line: str) -> list[str]:
    """Split at blanks and `:`, with ninja's `$ `, `$:` and `$$`."""
    found: list[str] = [""]
    for piece in re.findall(r"\$[\s\S]|:|[ \t]+|[^$: \t]+", line):
        if piece.startswith("$") and len(piece) > 1:
            found[-1] += piece[1:]
        elif piece == ":":
            found += [":", ""]
        elif piece.isspace():
            found.append("")
        else:
            found[-1] += piece
    return [it for it in found if it]


# --- compilers ------------------------------------------------------------------------------------------------------


def read_build_log(text: str, folder: str = "") -> BuildFacts:
    """Read the compiler and linker lines that setuptools prints."""
    made: dict[str, tuple[str, ...]] = {}
    folders: dict[str, None] = {}
    for line in text.splitlines():
        if " -o " not in line:
            continue
        words = _split(line)
        output = _after(words, "-o")
        if not output:
            continue
        if "-c" in words:
            inputs = [it for it in words if it.endswith(SOURCES)]
            folders |= dict.fromkeys(it[2:] for it in words if it.startswith("-I") and it[2:])
        else:
            inputs = [it for it in words if it.endswith((".o", ".obj", ".a")) and it != output]
        if inputs:
            made[output] = (*made.get(output, ()), *inputs)
    return BuildFacts(made_from=made, folder=folder, include_dirs=tuple(folders))


def _split(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:
        return line.split()


def _after(words: list[str], option: str) -> str:
    if option not in words:
        return ""
    at = words.index(option) + 1
    return words[at] if at < len(words) else ""
