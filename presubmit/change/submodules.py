"""Fills a mirror checkout's submodules from the ones that the user has, without network."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from presubmit.change.checkout import Checkout, is_inside, make_git_dir, remove, write_copy
from presubmit.change.diff import GITLINK, parse_tree
from presubmit.change.git import fields, git, line, shown
from presubmit.change.repository import alternates
from presubmit.errors import GitError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_EVERY_LEVEL: Final = 1000


class MissingSubmoduleError(GitError):
    """A submodule's recorded commit is nowhere on this machine."""


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """Where the user keeps a repository whose submodules are wanted: its checkout and its git directories."""

    top: Path
    git_dirs: tuple[Path, ...]


class Submodule(msgspec.Struct, frozen=True, kw_only=True):
    """One submodule of a mirror checkout, filled."""

    path: str
    """From the mirror's top level."""
    name: str
    commit: str
    checkout: Checkout
    objects: tuple[Path, ...]
    children: tuple[Submodule, ...] = ()

    def all(self) -> Iterator[Submodule]:
        """Give this submodule and those inside it."""
        yield self
        for child in self.children:
            yield from child.all()


def fill_submodules(
    parent: Checkout,
    commit: str,
    source: Source,
    *,
    object_format: str,
    settings: Mapping[str, str],
    prefix: str = "",
    levels: int = _EVERY_LEVEL,
) -> tuple[Submodule, ...]:
    """Check out the submodules that `commit` records, and theirs; the parent's own files are there already.

    With `levels=1` the submodules' own ones stay empty folders.
    """
    links = read_links(parent, commit) if levels else {}
    if not links:
        return ()
    filled = []
    for name, path in read_names(parent, commit):
        if path not in links or not _is_safe(name):
            continue
        checkout = Checkout(git_dir=parent.git_dir / "modules" / name, tree=parent.tree / path)
        found, objects = _borrow(
            checkout, links[path], source, name, path,
            object_format=object_format, settings=settings, shown_path=prefix + path,
        )  # fmt: skip
        _make_tree(parent.tree, path)
        checkout.update(links[path])
        children = fill_submodules(
            checkout,
            links[path],
            found,
            object_format=object_format,
            settings=settings,
            prefix=f"{prefix}{path}/",
            levels=levels - 1,
        )
        filled.append(
            Submodule(
                path=prefix + path,
                name=name,
                commit=links[path],
                checkout=checkout,
                objects=objects,
                children=children,
            )
        )
    return tuple(filled)


def read_links(checkout: Checkout, commit: str) -> dict[str, str]:
    """Give path -> commit of the submodules that `commit` records."""
    done = checkout.git("ls-tree", "-r", "-z", "--full-tree", commit)
    tree = parse_tree(done.stdout)
    return {path: name for path, (mode, name) in tree.items() if mode == GITLINK}


def read_names(checkout: Checkout, commit: str) -> list[tuple[str, str]]:
    """Give (name, path) of each submodule that .gitmodules declares at `commit`, those with `update = none` apart."""
    done = checkout.git(
        "config", "--blob", f"{commit}:.gitmodules", "-z", "--get-regexp",
        r"^submodule\..*\.(path|update)$",
        check=False,
    )  # fmt: skip
    paths, skipped = {}, set()
    for entry in fields(done.stdout):
        key, _, value = entry.partition("\n")
        name, _, what = key.removeprefix("submodule.").rpartition(".")
        if what == "path":
            paths[name] = value.rstrip("/")
        elif value == "none":
            skipped.add(name)
    return [(name, path) for name, path in paths.items() if name not in skipped]


def write_copies(
    submodules: tuple[Submodule, ...],
    *,
    at: Path,
    tree: Path,
    object_format: str,
    settings: Mapping[str, str],
) -> None:
    """Write the git directories that tools in the tree see: below `at`, as `git submodule update` lays them out."""
    for submodule in submodules:
        copy = at / "modules" / submodule.name
        write_copy(
            copy,
            git_dir=submodule.checkout.git_dir,
            commit=submodule.commit,
            object_format=object_format,
            objects=submodule.objects,
            refs="",
            settings=settings,
        )
        # Relative, so that the mirror can be mounted anywhere.
        link = submodule.checkout.tree / ".git"
        remove(link)
        link.write_text(f"gitdir: {_relative(copy, submodule.checkout.tree)}\n")
        write_copies(
            submodule.children,
            at=copy,
            tree=tree,
            object_format=object_format,
            settings=settings,
        )


def _borrow(
    checkout: Checkout,
    commit: str,
    source: Source,
    name: str,
    path: str,
    *,
    object_format: str,
    settings: Mapping[str, str],
    shown_path: str,
) -> tuple[Source, tuple[Path, ...]]:
    """Point a submodule's git directory at whichever of the user's has the commit."""
    there = False
    for candidate in _candidates(source, name, path):
        there = True
        objects = (candidate / "objects", *alternates(candidate / "objects"))
        make_git_dir(
            checkout.git_dir, object_format=object_format, objects=objects, settings=settings
        )
        if _has(checkout, commit):
            found = Source(top=source.top / path, git_dirs=(candidate,))
            return found, objects
    wanted = f"its recorded commit {commit[:12]} is" if there else "it is"
    raise MissingSubmoduleError(
        f"cannot check out the submodule {shown([shown_path])}: {wanted} not on this machine",
        hint="git submodule update --init --recursive",
    )


def _has(checkout: Checkout, commit: str) -> bool:
    # The submodule's tree may not be there yet, so git stands in its own folder.
    bare = Checkout(git_dir=checkout.git_dir, tree=checkout.git_dir)
    return bare.has(commit)


def _candidates(source: Source, name: str, path: str) -> Iterator[Path]:
    for git_dir in source.git_dirs:
        if (git_dir / "modules" / name / "objects").is_dir():
            yield git_dir / "modules" / name
    if (source.top / path / ".git").exists():
        done = git(
            "rev-parse", "--path-format=absolute", "--git-common-dir",
            cwd=source.top / path,
            check=False,
        )  # fmt: skip
        if done.exit_code == 0:
            yield Path(line(done))


def _make_tree(tree: Path, path: str) -> None:
    # A test may have put a link in the submodule's place; files would then be written behind it.
    here = tree
    for part in path.split("/"):
        here = here / part
        if here.is_symlink() or (here.exists() and not here.is_dir()):
            remove(here)
    here.mkdir(parents=True, exist_ok=True)
    if not is_inside(tree, path):
        raise GitError(f"the submodule path {path!r} leads out of the tree")


def _is_safe(name: str) -> bool:
    return bool(name) and not name.startswith("/") and ".." not in name.split("/")


def _relative(path: Path, start: Path) -> str:
    ups = 0
    while not path.is_relative_to(start):
        start, ups = start.parent, ups + 1
    return "/".join((*[".."] * ups, str(path.relative_to(start))))
