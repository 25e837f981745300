"""What a build left in the mirror's tree, and nothing else, is there for the tests and for the next build.

Tests write where they like in the tree. A file of theirs that stayed (bytecode, an extension module in another's
place, a cache) could make a later change pass; so whatever is not in the commit, and not exactly as the build left it,
is removed before each use.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from presubmit.change.checkout import remove
from presubmit.replay.build import add_to_stamp, read_stamp

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

# Of what a folder of this name holds nothing is believed.
_NEVER = frozenset({"__pycache__", ".pytest_cache"})


def remember_built(environment: Path, tree: Path, tracked: Collection[str]) -> None:
    """Note beside the environment which files the build left in the tree, and their state."""
    left = (name for name in _untracked(tree, tracked) if Path(name).name not in _NEVER)
    marks = {name: _mark(tree / name) for name in left}
    add_to_stamp(environment, built=marks)


def settle_leftovers(environment: Path, tree: Path, tracked: Collection[str]) -> bool:
    """Remove what the build did not leave just so; says whether all that it left is there."""
    built: Mapping[str, object] = read_stamp(environment).get("built") or {}
    found = 0
    for name in list(_untracked(tree, tracked)):
        if built.get(name) == _mark(tree / name):
            found += 1
        else:
            remove(tree / name)
    return found == len(built)


def _mark(path: Path) -> list[int]:
    """Give what changes whenever a file is written: its change time cannot be set back from inside a box."""
    facts = path.lstat()
    return [facts.st_size, facts.st_ctime_ns, facts.st_ino, facts.st_mode]


def _untracked(tree: Path, tracked: Collection[str]) -> Iterator[str]:
    """Give the files (and folders of bytecode) that the commit does not have; submodules count as tracked."""
    for folder, folders, names in os.walk(tree):
        inside = os.path.relpath(folder, tree)
        prefix = "" if inside == "." else f"{inside}/"
        for name in list(folders):
            path = f"{prefix}{name}"
            if path in tracked or path == ".git":
                folders.remove(name)  # a submodule, or what git gives the tree
            elif name in _NEVER or (tree / path).is_symlink():
                folders.remove(name)
                yield path
        for name in names:
            path = f"{prefix}{name}"
            if path not in tracked and path != ".git":
                yield path
