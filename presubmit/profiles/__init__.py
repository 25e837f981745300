"""What presubmit knows about one upstream beyond its files: recognised by them, or named by `profile`.

A profile fills in options that nothing else says, as a workflow does; what it fills in has `profile NAME` as origin.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from presubmit.profiles import pytorch

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

__all__ = ["NAMES", "Tree", "options_of", "recognise"]


class Tree(Protocol):
    """What is asked of a tree."""

    @property
    def blobs(self) -> Mapping[str, str]:
        """Blob id of every file."""

    def text(self, path: str) -> str | None:
        """Give a file's text; None where there is none."""


NAMES: Final = ("pytorch",)


def recognise(tree: Tree) -> str:
    """Name the profile of a tree, by the files that only its project has; empty where there is none."""
    return pytorch.NAME if pytorch.recognises(tree.blobs) else ""


def options_of(name: str, tree: Tree) -> dict[str, tuple[Any, str]]:
    """Give the options that a profile fills in, each with where it comes from; none without a profile."""
    return pytorch.options_of(tree) if name == pytorch.NAME else {}
