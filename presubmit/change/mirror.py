"""Keeps mirror checkouts: the trees that are built and tested, updated so that unchanged files keep their times."""

from __future__ import annotations

import fcntl
import os
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import msgspec

from presubmit.change import stale
from presubmit.change.checkout import (
    Checkout,
    is_inside,
    make_git_dir,
    open_folders,
    remove,
    write_copy,
)
from presubmit.change.diff import GITLINK, list_tree, missing_objects, read_changed_files
from presubmit.change.git import fields, git, join
from presubmit.change.repository import alternates
from presubmit.change.submodules import (
    MissingSubmoduleError,
    Source,
    Submodule,
    fill_submodules,
    write_copies,
)
from presubmit.errors import GitError
from presubmit.values import decode, encode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from presubmit.change.repository import Repository
    from presubmit.values import ChangedFile

_LAYOUT: Final = 1
"""Raised when mirrors of an older presubmit cannot be used any more."""

# What upstream's runner has: nothing of the user's own, whose line ends or ignore rules would change the tree.
_SETTINGS: Final = {
    "core.autocrlf": "false",
    "core.attributesFile": os.devnull,
    "core.excludesFile": os.devnull,
    "core.logAllRefUpdates": "false",
    "gc.auto": "0",
}

_COPY_SETTINGS: Final = {"submodule.active": ".", "gc.auto": "0"}
"""For the `.git` that tools in the tree see: every submodule is initialised."""


class CheckoutReport(msgspec.Struct, frozen=True, kw_only=True):
    """What an update of a mirror checkout did."""

    commit: str
    tree: str
    changed: tuple[str, ...]
    """Paths that differ from what was checked out before; empty where that is unknown."""
    needs_clean_build: bool
    """What was built before, inside the tree and outside, must not be used; inside it is removed already."""
    why: str
    """Why the build must start clean."""


class _State(msgspec.Struct, frozen=True, kw_only=True):
    """What a mirror remembers between runs."""

    layout: int
    tree: str = ""
    """The tree last checked out; empty while that is under way."""
    pending: str = ""
    """Why the next build must start clean, until `mark_clean` is called."""
    overlaid: tuple[str, ...] = ()


class Mirror:
    """One lane's mirror checkout, held by this process."""

    def __init__(self, repository: Repository, folder: Path) -> None:
        self._repository = repository
        self._folder = folder
        self._checkout = Checkout(git_dir=folder / "git", tree=folder / "tree")
        self._objects: tuple[Path, ...] = (
            repository.objects,
            repository.own_objects,
            *alternates(repository.objects),
        )
        self._submodules: tuple[Submodule, ...] = ()
        self._settings = {**_SETTINGS, **_filters(repository)}
        self._make()

    @property
    def tree(self) -> Path:
        """The folder with the files: what a container mounts."""
        return self._checkout.tree

    @property
    def object_folders(self) -> tuple[Path, ...]:
        """Folders that `.git` in the tree borrows objects from: mounted read-only at their own paths."""
        inner = (
            path for module in self._submodules for sub in module.all() for path in sub.objects
        )
        return tuple(dict.fromkeys((*self._objects, *inner)))

    def checkout(
        self, commit: str, *, clean: bool = False, keep: Iterable[str] = stale.BUILD_LEFTOVERS
    ) -> CheckoutReport:
        """Bring the tree to `commit` and remove leftovers; `keep` has the patterns (.gitignore) of what builds own."""
        if missing_objects(self._repository, [commit]):
            raise GitError(f"commit {commit} is not in the repository {self._repository.top}")
        patterns = tuple(keep)
        with _write_access():
            # What stops git is a folder that a test has closed, or a damaged git directory.
            mends: tuple[Callable[[], None], ...] = (self._open_folders, self._remake)
            for mend in mends:
                try:
                    return self._update(commit, clean=clean, keep=patterns)
                except MissingSubmoduleError:
                    raise
                except GitError:
                    mend()
            return self._update(commit, clean=clean, keep=patterns)

    def mark_clean(self) -> None:
        """Say that what was built before is thrown away; until then every checkout asks for a clean build."""
        self._write_state(msgspec.structs.replace(self._read_state(), pending=""))

    def overlay(self, commit: str, paths: Iterable[str]) -> None:
        """Put files of another commit into the tree (and take away those it does not have), until `restore`."""
        wanted = tuple(dict.fromkeys(paths))
        if not wanted:
            return
        state = self._read_state()
        overlaid = tuple(dict.fromkeys((*state.overlaid, *wanted)))
        self._write_state(msgspec.structs.replace(state, overlaid=overlaid))
        theirs = list_tree(self._repository, commit)
        there = [path for path in wanted if path in theirs and theirs[path][0] != GITLINK]
        self._take_away(path for path in wanted if path not in theirs)
        if there:
            self._checkout.git(
                "restore", f"--source={commit}", "--worktree",
                "--pathspec-from-file=-", "--pathspec-file-nul",
                stdin=join(there),
            )  # fmt: skip
        self._remove_bytecode(wanted)

    def restore(self) -> None:
        """Undo every `overlay`."""
        state = self._read_state()
        if not state.overlaid:
            return
        self._checkout.update("HEAD")
        tracked = set(fields(self._checkout.git("ls-files", "-z").stdout))
        self._take_away(path for path in state.overlaid if path not in tracked)
        self._remove_bytecode(state.overlaid)
        self._write_state(msgspec.structs.replace(state, overlaid=()))

    def read_changes(self) -> bytes:
        """Give what was changed in tracked files since `checkout`, as a patch that `git apply` takes."""
        done = self._checkout.git(
            "diff", "--binary", "--no-ext-diff", "--no-textconv", "--no-color",
            "--ignore-submodules=all", "HEAD",
        )  # fmt: skip
        return done.stdout

    def _update(self, commit: str, *, clean: bool, keep: tuple[str, ...]) -> CheckoutReport:
        state = self._read_state()
        tree = self._tree_of(commit)
        files = self._changes(state.tree, tree)
        why = state.pending or self._why_clean(files, commit) or ("asked for" if clean else "")
        self._write_state(
            _State(layout=_LAYOUT, pending=why or "an earlier checkout was interrupted")
        )
        self._remove_old_submodules(commit)
        self._checkout.update(commit)
        patterns = () if why or files is None else stale.kept(keep, files)
        self._checkout.clean(patterns)
        changed = tuple(path for file in files or () for path in file.paths)
        self._remove_bytecode((*changed, *state.overlaid))
        self._fill_submodules(commit, patterns)
        self._write_copy(commit)
        self._write_state(_State(layout=_LAYOUT, tree=tree, pending=why))
        return CheckoutReport(
            commit=commit, tree=tree, changed=changed, needs_clean_build=bool(why), why=why
        )

    def _why_clean(self, files: tuple[ChangedFile, ...] | None, commit: str) -> str:
        if files is None:
            return "the mirror checkout is new"
        links = {*self._old_links(), *self._links(commit)}
        moved = next((file.path for file in files if file.path in links), None)
        return stale.why_clean(files) or (f"the submodule {moved} changed" if moved else "")

    def _changes(self, old: str, new: str) -> tuple[ChangedFile, ...] | None:
        if not old or missing_objects(self._repository, [old]):
            return None
        return read_changed_files(self._repository, old, new)

    def _tree_of(self, commit: str) -> str:
        done = git(
            "rev-parse", f"{commit}^{{tree}}",
            cwd=self._repository.top,
            env=self._repository.object_env,
        )  # fmt: skip
        return done.text.strip()

    def _links(self, commit: str) -> set[str]:
        tree = list_tree(self._repository, commit)
        return {path for path, (mode, _) in tree.items() if mode == GITLINK}

    def _old_links(self) -> set[str]:
        done = self._checkout.git("ls-files", "-s", "-z", check=False)
        entries = (entry for entry in fields(done.stdout) if entry.startswith(GITLINK))
        return {entry.partition("\t")[2] for entry in entries}

    def _remove_old_submodules(self, commit: str) -> None:
        # git leaves them where they are, with their .git, and would then take new files there for theirs.
        self._take_away(self._old_links() - self._links(commit))

    def _fill_submodules(self, commit: str, keep: tuple[str, ...]) -> None:
        repository = self._repository
        self._submodules = fill_submodules(
            self._checkout,
            commit,
            Source(
                top=repository.top,
                git_dirs=tuple(dict.fromkeys((repository.common_dir, repository.git_dir))),
            ),
            object_format=repository.object_format,
            settings=self._settings,
        )
        for module in self._submodules:
            for inner in module.all():
                inner.checkout.clean(keep)

    def _write_copy(self, commit: str) -> None:
        at = self.tree / ".git"
        repository = self._repository
        write_copy(
            at,
            git_dir=self._checkout.git_dir,
            commit=commit,
            object_format=repository.object_format,
            objects=self._objects,
            refs=read_refs(repository),
            settings=_COPY_SETTINGS,
        )
        write_copies(
            self._submodules,
            at=at,
            tree=self.tree,
            object_format=repository.object_format,
            settings=_COPY_SETTINGS,
        )

    def _take_away(self, paths: Iterable[str]) -> None:
        for path in paths:
            parent = path.rpartition("/")[0]
            if not parent or is_inside(self.tree, parent):
                remove(self.tree / path)

    def _remove_bytecode(self, paths: Iterable[str]) -> None:
        for cache, prefix in stale.stale_bytecode(paths):
            if is_inside(self.tree, cache) and (self.tree / cache).is_dir():
                for entry in list((self.tree / cache).iterdir()):
                    if entry.name.startswith(prefix):
                        remove(entry)

    def _make(self) -> None:
        """Make what is not there yet, and bring up to date where objects come from."""
        if self._read_state().layout != _LAYOUT or not self._checkout.git_dir.is_dir():
            remove(self._folder)  # never finished, or by an older presubmit
        self.tree.mkdir(parents=True, exist_ok=True)
        make_git_dir(
            self._checkout.git_dir,
            object_format=self._repository.object_format,
            objects=self._objects,
            settings=self._settings,
        )
        self._copy_shallow()
        if self._read_state().layout != _LAYOUT:
            self._write_state(_State(layout=_LAYOUT))

    def _open_folders(self) -> None:
        open_folders(self.tree)

    def _remake(self) -> None:
        remove(self._folder)
        self._make()

    def _copy_shallow(self) -> None:
        # Where the user's history is cut, the mirror's must be, or git looks for the parents.
        theirs = self._repository.common_dir / "shallow"
        ours = self._checkout.git_dir / "shallow"
        if theirs.exists():
            ours.write_bytes(theirs.read_bytes())
        else:
            ours.unlink(missing_ok=True)

    def _read_state(self) -> _State:
        try:
            return decode((self._folder / "state.json").read_bytes(), _State)
        except (OSError, ValueError, msgspec.MsgspecError):
            return _State(layout=0)

    def _write_state(self, state: _State) -> None:
        new = self._folder / "state.new"
        new.write_bytes(encode(state))
        new.replace(self._folder / "state.json")


@contextmanager
def open_mirror(
    repository: Repository, folder: Path, lane: str, *, wait: bool = False
) -> Iterator[Mirror]:
    """Hold the mirror checkout of one lane in `folder`; where another process has it, stop (or `wait`)."""
    with hold_lane(folder, lane, wait=wait):
        with _write_access():
            mirror = Mirror(repository, folder / lane)
        yield mirror


@contextmanager
def hold_lane(folder: Path, lane: str, *, wait: bool = False) -> Iterator[None]:
    """Hold one lane of `folder`; where another process has it, stop (or `wait`)."""
    if not re.fullmatch(r"[a-z0-9][a-z0-9.-]*", lane):
        raise ValueError(f"not a name for a lane: {lane!r}")
    path = folder / f"{lane}.lock"
    with _write_access():
        folder.mkdir(parents=True, exist_ok=True)
        lock = path.open("a+b")
    with lock:
        _hold(lock.fileno(), path, lane, wait=wait)
        yield


@contextmanager
def _write_access() -> Iterator[None]:
    try:
        yield
    except PermissionError as error:
        raise GitError(
            f"cannot write to the mirror checkout: {error.filename}: {error.strerror}",
            hint="it has files of another user: remove it as that user (or as root)",
        ) from error


def _hold(number: int, path: Path, lane: str, *, wait: bool) -> None:
    try:
        fcntl.flock(number, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError as error:
        holder = path.read_bytes().decode("ascii", "replace").strip() or "unknown"
        raise GitError(
            f"another presubmit (process {holder}) is using the {lane} checkout",
            hint="wait until it ends, or stop it",
        ) from error
    os.ftruncate(number, 0)
    os.write(number, f"{os.getpid()}\n".encode())


def read_refs(repository: Repository) -> str:
    """Give the user's remote-tracking branches and tags as a `packed-refs` file."""
    done = git(
        "for-each-ref", "--format=%(objectname) %(refname)", "refs/remotes", "refs/tags",
        cwd=repository.top,
    )  # fmt: skip
    return f"# pack-refs with: sorted \n{done.text}"


def _filters(repository: Repository) -> dict[str, str]:
    """Give the user's content filters (git-lfs and the like), so that files are as in their checkout."""
    done = git("config", "-z", "--get-regexp", r"^filter\..", cwd=repository.top, check=False)
    found = {}
    for entry in fields(done.stdout):
        key, given, value = entry.partition("\n")
        found[key] = value if given else "true"
    if any(key.startswith("filter.lfs.") for key in found):
        # No network: what is not there stays a pointer.
        found |= {
            "lfs.storage": str(repository.common_dir / "lfs"),
            "lfs.skipdownloaderrors": "true",
        }
    return found
