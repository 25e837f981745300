"""What the workspaces of a run are made from: the files under test and the origin, unchanged while any cell runs."""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import msgspec

from presubmit.change.checkout import Checkout, make_git_dir, remove
from presubmit.change.mirror import hold_lane
from presubmit.change.submodules import (
    MissingSubmoduleError,
    Source,
    fill_submodules,
    write_copies,
)
from presubmit.container.owner import boot_id
from presubmit.container.volumes import scrub, why_no_overlay
from presubmit.errors import EngineError, GitError
from presubmit.replay.job.action import LackingError
from presubmit.replay.job.gitdir import make_git_layer
from presubmit.replay.job.origin import prune_origins

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from presubmit.container.engine import Engine
    from presubmit.container.model import ImageRef
    from presubmit.replay.job.gitdir import Prepared
    from presubmit.replay.job.origin import Origin

LANE: Final = "replay"
# As on GitHub's runner: no filters of the user's (so files of Git LFS stay pointers), no attributes of theirs.
_SETTINGS: Final = {
    "core.autocrlf": "false",
    "core.attributesFile": os.devnull,
    "core.excludesFile": os.devnull,
    "core.logAllRefUpdates": "false",
    "checkout.workers": "0",
    "gc.auto": "0",
}
_LEVELS: Final = {"true": 1, "recursive": 1000}


class Modules(msgspec.Struct, frozen=True, kw_only=True):
    """Submodules that are checked out: their files and git directories below `folder`, at their places."""

    folder: Path
    objects: tuple[Path, ...]


class Sources:
    """The tree of one run's origin and what is made from it on demand; held by this process."""

    def __init__(
        self, origin: Origin, cache: Path, *, engine: Engine | None, image: ImageRef | None
    ) -> None:
        self.origin = origin
        self.engine = engine
        self.image = image
        self.cells = cache / "cells"
        self.notes: list[str] = []
        """What a user should know of all cells."""
        self._lane = cache / "mirrors" / LANE
        self._checkout = Checkout(git_dir=self._lane / "git", tree=self._lane / "tree")
        self._lock = threading.Lock()
        self._modules: dict[str, Modules] = {}
        self.no_overlay = "there is no engine" if engine is None else ""
        """Why each workspace is a checkout of its own; empty: they are overlays."""

    @property
    def tree(self) -> Path:
        """The files under test on the host: read only, without `.git` and without submodules."""
        return self._checkout.tree

    @property
    def index(self) -> Path:
        """The index that fits the tree."""
        return self._checkout.git_dir / "index"

    def prepare(self) -> None:
        """Bring the tree to the origin's commit, and find out how workspaces are made here."""
        self.clear()
        prune_origins(self.origin)
        try:
            self._update()
        except GitError:
            remove(self._lane)  # a damaged git directory
            self._update()
        if self.engine is not None and self.image is not None:
            self.no_overlay = _why_no_overlay(self.engine, self.image, self.cells)
        if self.origin.shallow:
            self.notes.append("this clone is shallow: jobs see less history than on GitHub")
        if self.origin.partial:
            self.notes.append(
                "this clone is partial: jobs cannot read old files that are not here"
            )

    def git_layer(self, wanted: Prepared) -> Path:
        """Give the folder with the `.git` that a cell starts with."""
        with self._lock:
            return make_git_layer(self.origin, wanted, inside=self.engine is not None)

    def modules(self, which: str) -> Modules:
        """Give the submodules as a layer over the tree: `true` or `recursive`; LackingError where one is not here."""
        with self._lock:
            if which not in self._modules:
                self._modules[which] = self._fill_layer(which)
            return self._modules[which]

    def fill(self, which: str, *, scratch: Path, tree: Path, at: Path) -> Modules:
        """Check out the submodules in `tree`, and write their git directories below `at`; `scratch` is git's own."""
        repository = self.origin.repository
        parent = Checkout(git_dir=scratch, tree=tree)
        self._make(parent)
        try:
            found = fill_submodules(
                parent,
                self.origin.merge,
                Source(
                    top=repository.top,
                    git_dirs=tuple(dict.fromkeys((repository.common_dir, repository.git_dir))),
                ),
                object_format=repository.object_format,
                settings=_SETTINGS,
                levels=_LEVELS[which],
            )
        except MissingSubmoduleError as error:
            raise LackingError(f"{error} ({error.hint})") from error
        for module in found:
            for inner in module.all():
                inner.checkout.clean(())
        write_copies(
            found,
            at=at,
            tree=tree,
            object_format=repository.object_format,
            settings={"submodule.active": ".", "gc.auto": "0"},
        )
        objects = (path for module in found for inner in module.all() for path in inner.objects)
        return Modules(folder=tree, objects=tuple(dict.fromkeys(objects)))

    def write_files(self, *, scratch: Path, tree: Path) -> Path:
        """Check the files out once more, into `tree`, and give the index that fits them; `scratch` is git's own."""
        checkout = Checkout(git_dir=scratch, tree=tree)
        self._make(checkout)
        checkout.update(self.origin.merge)
        return scratch / "index"

    def clear(self) -> None:
        """Remove what cells left: nobody uses it, since this process holds the lane."""
        self.cells.mkdir(parents=True, exist_ok=True)
        for path in list(self.cells.iterdir()):
            discard(path)
        if any(self.cells.iterdir()) and self.engine is not None and self.image is not None:
            scrub(self.engine, self.image, self.cells)

    def _update(self) -> None:
        self._make(self._checkout)
        self._checkout.update(self.origin.merge)
        self._checkout.clean(())

    def _make(self, checkout: Checkout) -> None:
        checkout.tree.mkdir(parents=True, exist_ok=True)
        make_git_dir(
            checkout.git_dir,
            object_format=self.origin.repository.object_format,
            objects=self.origin.object_folders,
            settings=_SETTINGS,
        )
        shallow = checkout.git_dir / "shallow"
        if self.origin.shallow:
            shallow.write_bytes((self.origin.folder / "shallow").read_bytes())
        else:
            shallow.unlink(missing_ok=True)

    def _fill_layer(self, which: str) -> Modules:
        tree = self._lane / f"modules-{which}"
        remove(tree / ".git")
        try:
            found = self._fill_in_layer(which, tree)
        except GitError:
            remove(tree)
            remove(tree.with_name(f"{tree.name}.git"))
            found = self._fill_in_layer(which, tree)
        return found

    def _fill_in_layer(self, which: str, tree: Path) -> Modules:
        scratch = tree.with_name(f"{tree.name}.git")
        names = Checkout(git_dir=self._checkout.git_dir, tree=self.tree).git(
            "ls-tree", "-r", "-z", "--full-tree", self.origin.merge
        )
        links = b"\0".join(
            e.partition(b"\t")[2] for e in names.stdout.split(b"\0") if e.startswith(b"160000")
        )
        record = tree.with_name(f"{tree.name}.paths")
        if not record.is_file() or record.read_bytes() != links:
            remove(tree)  # a submodule that moved would stay at its old place
            record.unlink(missing_ok=True)
        found = self.fill(which, scratch=scratch, tree=tree, at=tree / ".git")
        record.write_bytes(links)
        return found


@contextmanager
def open_sources(
    origin: Origin, *, cache: Path, engine: Engine | None, image: ImageRef | None
) -> Iterator[Sources]:
    """Hold the lane `replay` of a repository's cache with the origin's files checked out.

    `cache` is the repository's (`reading.cache`); without an engine, cells run on the host.
    """
    with hold_lane(cache / "mirrors", LANE):
        sources = Sources(origin, cache, engine=engine, image=image)
        sources.prepare()
        try:
            yield sources
        finally:
            try:
                sources.clear()
            except (EngineError, OSError) as error:
                sources.notes.append(f"{error} (the next run tries again)")


def discard(path: Path) -> None:
    """Remove a cell's folder as far as this user may: root's leavings stay for `scrub`."""
    try:
        remove(path)
    except OSError:
        return


def _why_no_overlay(engine: Engine, image: ImageRef, folder: Path) -> str:
    """Say why there can be no overlays; asked once per boot and engine."""
    key = f"{boot_id()} {engine.info.root} {engine.info.version}"
    memory = folder.with_name("overlay.txt")
    try:
        known, _, reason = memory.read_text(encoding="utf-8").partition("\n")
    except OSError:
        known, reason = "", ""
    if known == key:
        return reason
    trial = folder / "trial"
    try:
        reason = why_no_overlay(engine, image, trial)
    finally:
        discard(trial)
    memory.write_text(f"{key}\n{reason}", encoding="utf-8")
    return reason
