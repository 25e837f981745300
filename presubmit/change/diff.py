"""Reads what lies between two commits, and the files at one: in bytes, so that no name is lost."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Final

from presubmit.change.git import fields, git
from presubmit.errors import GitError
from presubmit.values import ChangedFile, FileStatus

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from presubmit.change.repository import Repository

GITLINK: Final = "160000"
_ABSENT: Final = "000000"

# `-l0` lifts the limit on renames: with the default, 3 of 1500 were found and only a line on stderr said so.
_DIFF: Final = (
    "diff-tree",
    "-r",
    "-M",
    "-l0",
    "-z",
    "--no-ext-diff",
    "--no-textconv",
    "--ignore-submodules=none",
    "--name-status",
)

_MANY: Final = 200
"""From here on the whole tree is listed instead of naming each path on the command line."""


def read_changed_files(
    repository: Repository, base: str, head: str, *, env: Mapping[str, str] | None = None
) -> tuple[ChangedFile, ...]:
    """Give the files that differ between two commits (or trees), sorted by path; a rename has both paths."""
    environment = repository.object_env if env is None else env
    done = git(*_DIFF, base, head, cwd=repository.top, env=environment)
    return parse_name_status(done.stdout)


def parse_name_status(data: bytes) -> tuple[ChangedFile, ...]:
    """Read `--name-status -z`; a change of mode or type counts as modified."""
    words = iter(fields(data))
    found = [_changed_file(status, words) for status in words]
    return tuple(sorted(found, key=lambda file: os.fsencode(file.path)))


def _changed_file(status: str, words: Iterable[str]) -> ChangedFile:
    names = iter(words)
    match status[:1]:
        case "R":
            old = next(names)
            return ChangedFile(path=next(names), status=FileStatus.RENAMED, old_path=old)
        case "A":
            return ChangedFile(path=next(names), status=FileStatus.ADDED)
        case "D":
            return ChangedFile(path=next(names), status=FileStatus.DELETED)
        case "M" | "T":
            return ChangedFile(path=next(names), status=FileStatus.MODIFIED)
        case _:
            raise GitError(f"git diff-tree gave a status that presubmit does not know: {status!r}")


def list_tree(
    repository: Repository, commit: str, paths: Iterable[str] = ()
) -> dict[str, tuple[str, str]]:
    """Give path -> (mode, object id) of every file and submodule at `commit` (or of `paths` alone)."""
    wanted = tuple(paths)
    if wanted or not _WHOLE_ID.fullmatch(commit):
        return _list_tree(repository, commit, wanted)
    # What an id names never changes, and the listing of a large tree is asked for by several.
    key = (str(repository.common_dir), commit)
    if key not in _LISTED:
        while len(_LISTED) >= _MOST_LISTED:
            del _LISTED[next(iter(_LISTED))]
        _LISTED[key] = _list_tree(repository, commit, ())
    return dict(_LISTED[key])


_WHOLE_ID: Final = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_MOST_LISTED: Final = 2
_LISTED: Final[dict[tuple[str, str], dict[str, tuple[str, str]]]] = {}


def _list_tree(
    repository: Repository, commit: str, paths: tuple[str, ...]
) -> dict[str, tuple[str, str]]:
    done = git(
        "ls-tree", "-r", "-z", "--full-tree", commit, "--", *paths,
        cwd=repository.top,
        env=repository.object_env,
    )  # fmt: skip
    return parse_tree(done.stdout)


def list_tree_before(
    repository: Repository, commit: str, later: str
) -> dict[str, tuple[str, str]]:
    """Give what `list_tree` gives of `commit`, from the listing of a later one and what differs: listing both is slow."""
    listed = list_tree(repository, later)
    done = git(
        "diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames", "--ignore-submodules=none",
        commit, later,
        cwd=repository.top,
        env=repository.object_env,
    )  # fmt: skip
    words = fields(done.stdout)
    for entry, path in zip(words[::2], words[1::2], strict=True):
        mode, _, name, _, _ = entry.removeprefix(":").split(" ")
        if mode == _ABSENT:
            del listed[path]
        else:
            listed[path] = (mode, name)
    return listed


def parse_tree(data: bytes) -> dict[str, tuple[str, str]]:
    """Read `ls-tree -r -z`."""
    found = {}
    for entry in fields(data):
        head, _, path = entry.partition("\t")
        mode, _, name = head.split(" ")
        found[path] = (mode, name)
    return found


def read_submodules(repository: Repository, commit: str) -> tuple[str, ...]:
    """Give the paths of the submodules at `commit`."""
    tree = list_tree(repository, commit)
    return tuple(path for path, (mode, _) in tree.items() if mode == GITLINK)


def read_file(repository: Repository, commit: str, path: str) -> bytes | None:
    """Give a file's content at `commit`, or None where it is not there (or is a submodule)."""
    return read_files(repository, commit, (path,)).get(path)


def read_files(repository: Repository, commit: str, paths: Iterable[str]) -> dict[str, bytes]:
    """Give the content at `commit` of those of `paths` that are files there; a symbolic link's is its target."""
    wanted = tuple(dict.fromkeys(paths))
    if not wanted:
        return {}
    tree = list_tree(repository, commit, wanted if len(wanted) <= _MANY else ())
    blobs = {path: tree[path][1] for path in wanted if path in tree and tree[path][0] != GITLINK}
    contents = read_blobs(repository, blobs.values())
    return {path: contents[name] for path, name in blobs.items()}


def read_blobs(repository: Repository, names: Iterable[str]) -> dict[str, bytes]:
    """Give object id -> content, all from one git process."""
    wanted = tuple(dict.fromkeys(names))
    if not wanted:
        return {}
    data = "".join(f"{name}\n" for name in wanted).encode("ascii")
    done = git("cat-file", "--batch", cwd=repository.top, env=repository.object_env, stdin=data)
    return dict(_parse_batch(done.stdout))


def _parse_batch(data: bytes) -> Iterable[tuple[str, bytes]]:
    position = 0
    while position < len(data):
        end = data.index(b"\n", position)
        head = data[position:end].decode("ascii", "backslashreplace")
        name, _, rest = head.partition(" ")
        if rest in {"missing", "ambiguous"}:
            raise GitError(
                f"object {name} is missing from the repository",
                hint="git fsck; in a partial clone: git fetch --refetch",
            )
        start, size = end + 1, int(rest.split(" ")[1])
        yield name, data[start : start + size]
        position = start + size + 1


def holds_word(repository: Repository, commit: str, word: str) -> bool:
    """Tell whether some file at `commit` holds a word."""
    done = git(
        *("grep", "-q", "-F", "-e", word, commit),
        cwd=repository.top,
        env=repository.object_env,
        check=False,
    )
    return done.exit_code == 0


def missing_objects(
    repository: Repository, names: Iterable[str], *, env: Mapping[str, str] | None = None
) -> set[str]:
    """Give those of the object ids that neither the user nor presubmit has."""
    data = "".join(f"{name}\n" for name in dict.fromkeys(names)).encode("ascii")
    if not data:
        return set()
    done = git(
        "cat-file", "--batch-check",
        cwd=repository.top,
        env=repository.object_env if env is None else env,
        stdin=data,
    )  # fmt: skip
    lines = done.stdout.decode("ascii", "backslashreplace").splitlines()
    return {entry.split(" ")[0] for entry in lines if entry.endswith(" missing")}
