"""Takes the snapshot: the tree under test, as a commit in presubmit's own object folder.

Nothing of the user's is written: not the index, not a reference, not a file, and not the time of an object. The last
is why paths are first hashed only and then written only where their object is new: git "freshens" (touches) the pack
or file of an object that it is asked to write and already has, even one it merely borrows.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from presubmit.change.diff import GITLINK, missing_objects, read_changed_files
from presubmit.change.git import fields, git, join, line, shown
from presubmit.change.repository import resolve
from presubmit.errors import GitError, UsageError
from presubmit.values import Target, TargetKind

if TYPE_CHECKING:
    from collections.abc import Callable

    from presubmit.change.repository import Repository

OWN_FOLDER: Final = ".presubmit"

_ATTEMPTS: Final = 5
"""How often a snapshot is begun again because files changed under it."""

_FEW: Final = 200
"""Up to here paths are named on the command line; beyond, the whole index is listed."""

_FIRST_DATE: Final = "946684800 +0000"
"""The date of a snapshot that has no parent: the year 2000."""


class _Changing(Exception):  # noqa: N818 - not an error yet: the snapshot is begun again
    """A file changed or went away while it was read."""


class _Worktree(msgspec.Struct, frozen=True, kw_only=True):
    """What the checkout holds beside its index."""

    changed: tuple[str, ...]
    untracked: tuple[str, ...]


def take_snapshot(
    repository: Repository,
    *,
    kind: TargetKind,
    commit: str | None = None,
    untracked: bool = True,
    warn: Callable[[str], object] = lambda _: None,
) -> Target:
    """Make a commit of the tree under test; what is left out of it (embedded repositories, ...) goes to `warn`.

    A tree that is exactly HEAD's (or the commit's) is that commit, so that `git describe` gives its own version.
    """
    if kind is TargetKind.COMMIT:
        return _snapshot_commit(repository, commit or "HEAD")
    _refuse_conflicts(repository)
    reason = ""
    for _ in range(_ATTEMPTS):
        heard: list[str] = []
        try:
            target = _snapshot_checkout(repository, kind, untracked=untracked, warn=heard.append)
        except _Changing as error:
            reason = str(error)
            continue
        for message in heard:
            warn(message)
        return target
    raise GitError(
        f"cannot take a snapshot of {repository.top}: {reason}",
        hint="make the file readable, or wait until nothing writes to the checkout",
    )


def _snapshot_commit(repository: Repository, revision: str) -> Target:
    found = resolve(repository.top, revision)
    if found is None:
        raise UsageError(
            f"{revision!r} is not a commit in {repository.top}", hint="git log --oneline --all"
        )
    tree = line(git("rev-parse", f"{found}^{{tree}}", cwd=repository.top))
    return Target(kind=TargetKind.COMMIT, commit=found, tree=tree, snapshot=found)


def _snapshot_checkout(
    repository: Repository, kind: TargetKind, *, untracked: bool, warn: Callable[[str], object]
) -> Target:
    with tempfile.TemporaryDirectory(prefix="presubmit-index-") as scratch:
        index = Path(scratch) / "index"
        _copy_index(repository, index)
        new: tuple[str, ...] = ()
        if kind is TargetKind.WORKTREE:
            found = _read_worktree(repository, index, untracked=untracked, warn=warn)
            new = _add(repository, index, found)
        tree = _write_tree(repository, index)
    snapshot = _commit(repository, tree)
    return Target(
        kind=kind,
        commit=repository.head,
        tree=tree,
        snapshot=snapshot,
        dirty=_dirty(repository, snapshot, new),
        untracked=new,
    )


def tree_without(repository: Repository, tree: str, paths: tuple[str, ...]) -> str:
    """Give the tree that a snapshot's tree is without some of its files, written beside it."""
    if not paths:
        return tree
    with tempfile.TemporaryDirectory(prefix="presubmit-index-") as scratch:
        index = Path(scratch) / "index"
        _index_git(repository, index, "read-tree", tree)
        _index_git(
            repository, index, "update-index", "--force-remove", "-z", "--stdin", stdin=join(paths)
        )
        return _write_tree(repository, index)


def _refuse_conflicts(repository: Repository) -> None:
    done = git("ls-files", "-u", "-z", cwd=repository.top)
    paths = dict.fromkeys(entry.partition("\t")[2] for entry in fields(done.stdout))
    if paths:
        raise GitError(
            f"there are unresolved conflicts in {shown(paths)}",
            hint="resolve them and `git add` the files, or test a commit: --commit HEAD",
        )


def _copy_index(repository: Repository, index: Path) -> None:
    name = line(
        git("rev-parse", "--path-format=absolute", "--git-path", "index", cwd=repository.top)
    )
    try:
        _copy_with_time(Path(name), index)
    except FileNotFoundError:
        _index_git(repository, index, "read-tree", "--empty")  # a fresh repository has none
    else:
        _index_git(repository, index, "update-index", "-q", "--refresh", check=False)


def _copy_with_time(index: Path, to: Path) -> None:
    # A file as new as the index is compared by content, since its size and time may not tell: a copy without the
    # index's own time hides an edit that was made within a second of `git add`.
    with index.open("rb") as file:
        info = os.fstat(file.fileno())
        to.write_bytes(file.read())
    os.utime(to, ns=(info.st_mtime_ns, info.st_mtime_ns))


def _index_git(
    repository: Repository,
    index: Path,
    *args: str,
    stdin: bytes | None = None,
    check: bool = True,
    private: bool = False,
) -> bytes:
    """Run git on the temporary index; `private`: without sight of the user's objects."""
    objects = repository.private_object_env if private else repository.object_env
    done = git(
        # A split or sparse index would be written in two parts, one of them into the user's git directory.
        "-c", "core.splitIndex=false", "-c", "index.sparse=false", "-c", "core.untrackedCache=false",
        *args,
        cwd=repository.top,
        env={**objects, "GIT_INDEX_FILE": str(index)},
        stdin=stdin,
        check=check,
    )  # fmt: skip
    return done.stdout


def _read_worktree(
    repository: Repository, index: Path, *, untracked: bool, warn: Callable[[str], object]
) -> _Worktree:
    raw = fields(
        _index_git(repository, index, "diff-files", "-z", "--raw", "--ignore-submodules=none")
    )
    changed = []
    for entry, path in zip(raw[::2], raw[1::2], strict=True):
        old_mode, new_mode, *_ = entry.removeprefix(":").split(" ")
        if old_mode == GITLINK and new_mode == GITLINK and _same_commit(repository, index, path):
            warn(
                f"submodule {shown([path])} has uncommitted changes: "
                "its recorded commit is tested, they are not"
            )
            continue
        changed.append(path)
    return _Worktree(
        changed=tuple(changed),
        untracked=_untracked(repository, index, warn) if untracked else (),
    )


def _same_commit(repository: Repository, index: Path, path: str) -> bool:
    arguments = ("diff-files", "--quiet", "--ignore-submodules=dirty", "--", path)
    done = git(
        *arguments,
        cwd=repository.top,
        env={**repository.object_env, "GIT_INDEX_FILE": str(index)},
        check=False,
    )
    return done.exit_code == 0


def _untracked(
    repository: Repository, index: Path, warn: Callable[[str], object]
) -> tuple[str, ...]:
    others = _index_git(repository, index, "ls-files", "-z", "--others", "--exclude-standard")
    found = [path for path in fields(others) if path.split("/", 1)[0] != OWN_FOLDER]
    embedded = [path for path in found if path.endswith("/")]
    if embedded:
        warn(f"left out, since they are git repositories of their own: {shown(embedded)}")
    return tuple(path for path in found if not path.endswith("/"))


def _add(repository: Repository, index: Path, found: _Worktree) -> tuple[str, ...]:
    """Bring the checkout's files into the index; gives the untracked ones that are there in the end."""
    paths = (*found.changed, *found.untracked)
    if not paths:
        return ()
    hashed = index.with_name("hashed")
    _copy_with_time(index, hashed)
    _update(repository, hashed, paths, "--info-only")
    entries = _entries(repository, hashed, paths)
    absent = missing_objects(
        repository, (name for mode, name in entries.values() if mode != GITLINK)
    )
    fresh = [path for path, (_, name) in entries.items() if name in absent]
    known = {path: entry for path, entry in entries.items() if entry[1] not in absent}
    gone = [path for path in paths if path not in entries]
    zero = "0" * (64 if repository.object_format == "sha256" else 40)
    listing = [f"0 {zero}\t{path}" for path in gone]
    listing += [f"{mode} {name}\t{path}" for path, (mode, name) in known.items()]
    _index_git(repository, index, "update-index", "-z", "--index-info", stdin=join(listing))
    _update(repository, index, fresh)
    written = _entries(repository, index, paths)
    names = (name for mode, name in written.values() if mode != GITLINK)
    if missing_objects(repository, names):
        raise _Changing("files are being written while it is taken")
    return tuple(path for path in found.untracked if path in written)


def _update(
    repository: Repository, index: Path, paths: list[str] | tuple[str, ...], *how: str
) -> None:
    try:
        _index_git(
            repository, index,
            "update-index", "--add", "--remove", "--replace", *how, "-z", "--stdin",
            stdin=join(paths),
        )  # fmt: skip
    except GitError as error:
        raise _Changing(str(error)) from error


def _entries(
    repository: Repository, index: Path, paths: tuple[str, ...]
) -> dict[str, tuple[str, str]]:
    wanted = set(paths)
    found = {}
    named = ("--", *paths) if len(paths) <= _FEW else ()
    for entry in fields(_index_git(repository, index, "ls-files", "-s", "-z", *named)):
        head, _, path = entry.partition("\t")
        if path in wanted:
            mode, name, _ = head.split(" ")
            found[path] = (mode, name)
    return found


def _write_tree(repository: Repository, index: Path) -> str:
    written = _index_git(repository, index, "write-tree", "--missing-ok", private=True)
    return os.fsdecode(written).strip()


def _commit(repository: Repository, tree: str) -> str:
    parent = repository.head
    date = _FIRST_DATE
    if parent is not None:
        theirs, date = _tree_and_date(repository, parent)
        if theirs == tree:
            return parent
    person = {
        f"GIT_{role}_{what}": value
        for role in ("AUTHOR", "COMMITTER")
        for what, value in (
            ("NAME", "presubmit"),
            ("EMAIL", "presubmit@localhost"),
            ("DATE", date),
        )
    }
    done = git(
        "commit-tree", tree, *(() if parent is None else ("-p", parent)),
        cwd=repository.top,
        env={**repository.object_env, **person},
        stdin=b"Snapshot of the tree under test\n",
    )  # fmt: skip
    return line(done)


def _tree_and_date(repository: Repository, commit: str) -> tuple[str, str]:
    # The parent's date, not now: the same tree on the same commit gives the same snapshot.
    # `git show -s` would compare the two trees all the same.
    shown_commit = git(
        "log", "-1", "--no-show-signature", "--format=%T %ct", commit, cwd=repository.top
    )
    tree, seconds = line(shown_commit).split(" ")
    return tree, f"{seconds} +0000"


def _dirty(repository: Repository, snapshot: str, new: tuple[str, ...]) -> tuple[str, ...]:
    if snapshot == repository.head:
        return ()
    files = read_changed_files(repository, repository.head or _empty_tree(repository), snapshot)
    paths = {path for file in files for path in file.paths} - set(new)
    return tuple(sorted(paths, key=os.fsencode))


def _empty_tree(repository: Repository) -> str:
    done = git(
        "hash-object", "-t", "tree", "-w", "--stdin",
        cwd=repository.top,
        env=repository.private_object_env,
        stdin=b"",
    )  # fmt: skip
    return line(done)
