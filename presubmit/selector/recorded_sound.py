"""Says which contexts of a recorded run prove nothing, since something ran or was read that is not in the record. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from presubmit.selector.recorded_index import COLLECT, SESSION, TEST

if TYPE_CHECKING:
    from collections.abc import Collection

    from presubmit.selector.recorded_index import Index

ASKING: Final = frozenset(
    [
        *("arch", "false", "getconf", "hostname", "id", "ldconfig", "locale", "lsb_release"),
        *("lscpu", "nproc", "ps", "sleep", "stty", "tput", "true", "uname", "which", "whoami"),
    ]
)
"""Programs that ask about the machine, or do nothing: they run and read nothing of the project."""

READING: Final = frozenset(
    [
        *("git", "hg", "svn"),
        *("ar", "as", "c++", "cc", "clang", "clang++", "g++", "gcc", "ld", "ldd", "nm", "objdump"),
        *("readelf", "strip"),
        *("bzip2", "gunzip", "gzip", "tar", "unzip", "xz", "zip"),
        *("cat", "cmp", "cp", "diff", "du", "file", "grep", "head", "ls", "mv", "patch", "sort"),
        *("stat", "tail", "wc"),
        *("chmod", "chown", "ln", "mkdir", "rm", "rmdir", "touch"),
        *("dot", "dvipng", "ffmpeg", "ffprobe", "gpg", "gs", "openssl", "ssh-keygen"),
    ]
)
"""Programs that may read files of the project and run none of its Python code; hooks of git that are Python record
themselves."""

_READ: Final = re.compile(r"programs read what is not recorded \(([^()]*)\)")
_MOST_NAMED: Final = 3


def say_read(programs: Collection[str]) -> str:
    """Say of a context that programs which run no code of the project may have read some of its files."""
    return f"programs read what is not recorded ({', '.join(sorted(programs)[:_MOST_NAMED])})"


def _only_read(text: str) -> bool:
    """Tell whether nothing but files is missing in the record."""
    return bool(text) and all(_READ.fullmatch(part) for part in text.split("; "))


def unknown(index: Index) -> frozenset[int]:
    """Give the contexts of which not all that ran is known, with those that rest on them.

    What a program read for a session, a file or a fixture makes nothing unknown that rests on them (see `unread`).
    """
    contexts = index.contexts
    found = {
        number
        for number, one in enumerate(contexts)
        if one.lost or (one.open and (one.context.startswith(TEST) or not _only_read(one.open)))
    }
    if any(contexts[number].context.startswith(SESSION) for number in found):
        return frozenset(range(len(contexts)))
    return _with_users(index, found)


def unread(index: Index) -> frozenset[int]:
    """Give the contexts that may rest on any file of the tree: a program that may have read it served them."""
    contexts = index.contexts
    found = {number for number, one in enumerate(contexts) if _only_read(one.open)}
    if any(contexts[number].context.startswith(SESSION) for number in found):
        return frozenset(range(len(contexts)))
    return _with_users(index, found)


def unsound(index: Index) -> frozenset[int]:
    """Give the contexts whose record proves nothing: not all is known of them, or they failed."""
    failed = {number for number, one in enumerate(index.contexts) if one.outcome == "failed"}
    return unknown(index) | failed


def _with_users(index: Index, start: Collection[int]) -> frozenset[int]:
    """Add what rests on these: who got a fixture, and the tests of a collected file."""
    contexts = index.contexts
    found = set(start)
    files = {contexts[n].file for n in found if contexts[n].context.startswith(COLLECT)}
    while True:
        more = {
            number
            for number, one in enumerate(contexts)
            if number not in found and (not found.isdisjoint(one.uses) or one.file in files)
        }
        if not more:
            return frozenset(found)
        found |= more
