"""What `hashFiles` hashes: the files that its patterns match, in its order (runner: hashFiles.ts, @actions/glob)."""

from __future__ import annotations

import hashlib
import os
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from presubmit.upstream.expressions.error import ExpressionError
from presubmit.upstream.expressions.globbing import EVERYTHING, enter, literal, segment
from presubmit.upstream.expressions.values import SPACE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from presubmit.upstream.expressions.globbing import Segment

HOME: Final = "/home/runner"
WORKSPACE: Final = "/home/runner/work/repository/repository"

_FOLLOW: Final = "--follow-symbolic-links"
_SLASHES: Final = re.compile(r"/{2,}")


def hash_files(digests: Mapping[str, str | bytes]) -> str:
    """Give the hash of files by their own SHA-256 (binary, or in hexadecimal) in the order given; "" for none."""
    if not digests:
        return ""
    whole = hashlib.sha256()
    for digest in digests.values():
        whole.update(bytes.fromhex(digest) if isinstance(digest, str) else digest)
    return whole.hexdigest()


def matches(
    patterns: Iterable[str],
    paths: Iterable[str],
    *,
    workspace: str = WORKSPACE,
    home: str = HOME,
) -> tuple[str, ...]:
    """Give those files of the workspace that the arguments of `hashFiles` match, in the order of its search.

    `paths` are files (and links), relative to the workspace. A pattern that matches a folder takes all that is in it.
    """
    wanted = tuple(found for line in _lines(patterns) for found in _read(line, workspace, home))
    roots = _search_roots(pattern.root for pattern in wanted if not pattern.negated)
    base = _names(workspace)
    inside = tuple((pattern, enter(pattern.segments, base)) for pattern in wanted)
    chosen: list[tuple[int, list[bytes], str]] = []
    for path in paths:
        parts = path.split("/")
        if _is_outside(parts) or not _is_wanted(parts, inside):
            continue
        whole = (*base, *parts)
        place = next(at for at, root in enumerate(roots) if whole[: len(root)] == root)
        # A folder is read in the order of its names' bytes, and entered on the way.
        chosen.append((place, [os.fsencode(part) for part in parts], path))
    return tuple(path for _, _, path in sorted(chosen))


class _Pattern(NamedTuple):
    """One absolute pattern."""

    negated: bool
    segments: tuple[Segment, ...]
    root: tuple[str, ...]
    """The folder where the search begins: the names before the first wildcard."""


def _lines(patterns: Iterable[str]) -> Iterator[str]:
    for place, pattern in enumerate(patterns):
        if place == 0 and pattern.startswith("--"):
            if pattern.lower() != _FOLLOW:
                raise ExpressionError(f"hashFiles has no option {pattern!r}, only '{_FOLLOW}'")
            continue
        for line in pattern.split("\n"):
            stripped = line.strip(SPACE + "\ufeff")
            if stripped and not stripped.startswith("#"):
                yield stripped


def _read(line: str, workspace: str, home: str) -> Iterator[_Pattern]:
    """Give the pattern of a line, and the one for what is inside of the folders that it matches."""
    text = _SLASHES.sub("/", line.lstrip("!" + SPACE))
    negated = line[: len(line) - len(line.lstrip("!" + SPACE))].count("!") % 2 == 1
    if not text:
        raise ExpressionError(f"hashFiles cannot use the pattern {line!r}: it is empty")
    parts = _names(text)
    before: tuple[str, ...] = ()
    if not text.startswith("/"):
        before = _names(home if parts[0] == "~" else workspace)
        parts = parts[1:] if parts[0] in {"~", "."} else parts
    names = [literal(part) for part in parts]
    if "." in names or ".." in names:
        raise ExpressionError(
            f"hashFiles cannot use the pattern {line!r}: it has '.' or '..' in it"
        )
    segments = (*before, *map(segment, parts))
    fixed = next((at for at, name in enumerate(names) if name is None), len(names))
    root = (*before, *(name for name in names[:fixed] if name is not None))
    folders_only = text.endswith("/")
    if not folders_only:
        yield _Pattern(negated, segments, root)
    if folders_only or parts[-1:] != ("**",):
        yield _Pattern(negated, (*segments, segment("*"), EVERYTHING), root)


def _names(folder: str) -> tuple[str, ...]:
    return tuple(part for part in folder.split("/") if part)


def _search_roots(roots: Iterable[tuple[str, ...]]) -> tuple[tuple[str, ...], ...]:
    """Give the folders where the search begins, first to last, without those inside of another."""
    known = dict.fromkeys(roots)
    return tuple(
        root for root in known if not any(root[:size] in known for size in range(len(root)))
    )


def _is_outside(parts: list[str]) -> bool:
    return not parts[0] or ".." in parts


def _is_wanted(parts: list[str], patterns: tuple[tuple[_Pattern, frozenset[int]], ...]) -> bool:
    """Ask all patterns in turn, each from where the workspace has brought it: the last that matches decides."""
    wanted = False
    for pattern, states in patterns:
        if (
            states
            and wanted is pattern.negated
            and len(pattern.segments) in enter(pattern.segments, parts, states)
        ):
            wanted = not wanted
    return wanted
