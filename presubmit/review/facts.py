"""What a rule of the review is given: the change, and the files of base and head."""

from __future__ import annotations

import difflib
import posixpath
import re
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from presubmit.review.built import Built  # noqa: TC001 - msgspec reads the annotation
from presubmit.review.values import Remark, Unchecked
from presubmit.values import FileStatus, Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from presubmit.values import Change, ChangedFile

Said = Remark | Unchecked
"""What a rule gives: a fact about the change, or what it could not look at."""


class Tree(Protocol):
    """The files of one commit."""

    @property
    def blobs(self) -> Mapping[str, str]:
        """Give path -> object id of every file and submodule."""

    @property
    def modes(self) -> Mapping[str, str]:
        """Give path -> git's mode."""

    def data(self, path: str) -> bytes | None:
        """Give a file's content, or None where the commit does not have it."""

    def text(self, path: str) -> str | None:
        """Give a file's text, undecodable bytes replaced."""


class Commit(Value, frozen=True, kw_only=True):
    """One commit of the change."""

    name: str
    email: str
    """The author's."""
    message: str


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a rule may look at."""

    change: Change
    base: Tree
    head: Tree
    commits: tuple[Commit, ...] = ()
    loose: Mapping[str, bool] = {}
    """Files that head's code imports and that only the checkout has; True: git ignores it."""
    built: Built | None = None
    """What base and head were built to, where that was looked at."""


class Rule(Protocol):
    """One kind of fact about a change; a plain module satisfies it."""

    def remarks(self, facts: Facts) -> Iterable[Said]:
        """Say what the change brings, and what could not be looked at."""


def in_head(change: Change) -> tuple[ChangedFile, ...]:
    """Give the changed files that head has."""
    return tuple(f for f in change.files if f.status is not FileStatus.DELETED)


def before(file: ChangedFile) -> str:
    """Give the path that a file has on the base."""
    return file.old_path or file.path


def added_lines(base: str, head: str) -> Iterator[tuple[int, str]]:
    """Give the lines of head, with their numbers, that the base does not have at that place."""
    old, new = base.splitlines(), head.splitlines()
    matcher = difflib.SequenceMatcher(a=old, b=new, autojunk=False)
    for kind, _, _, first, last in matcher.get_opcodes():
        if kind in {"insert", "replace"}:
            yield from ((n + 1, new[n]) for n in range(first, last))


def brought(base: Iterable[Remark], head: Iterable[Remark]) -> list[Remark]:
    """Give head's remarks that do not hold of the base, too; lines may have moved."""
    known: dict[tuple[str, str], int] = {}
    for remark in base:
        known[remark.code, remark.subject] = known.get((remark.code, remark.subject), 0) + 1
    new = []
    for remark in head:
        key = remark.code, remark.subject
        if known.get(key, 0):
            known[key] -= 1
        else:
            new.append(remark)
    return new


def still_served(text: str, name: str) -> bool:
    """Tell whether a module gives a name by its `__getattr__`, as one does that deprecates it."""
    return (
        "def __getattr__" in text and re.search(rf"['\"]{re.escape(name)}['\"]", text) is not None
    )


def table(data: object, *names: str) -> dict[str, Any]:
    """Give a table inside parsed TOML; an empty one where there is none."""
    for name in names:
        data = data.get(name) if isinstance(data, dict) else None
    return data if isinstance(data, dict) else {}


def packages_of(tree: Tree) -> dict[str, str]:
    """Give the importable top-level packages of a tree: name -> folder; tests, docs and the like are none."""
    found = {}
    for path in tree.blobs:
        folder, name = posixpath.split(path)
        parent, package = posixpath.split(folder)
        if name not in {"__init__.py", "__init__.pyi"} or parent not in {
            "",
            "src",
            "python",
            "lib",
        }:
            continue
        if package and package not in _NO_PACKAGES and not package.startswith(("_", ".", "test")):
            found[package] = folder
    return found


_NO_PACKAGES = frozenset(
    ["doc", "docs", "examples", "benchmarks", "scripts", "tools", "ci", "src", "conftest"]
)
