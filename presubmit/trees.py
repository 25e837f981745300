"""Reads the files of a commit out of git."""

from __future__ import annotations

from typing import TYPE_CHECKING

from presubmit.change.diff import GITLINK, holds_word, list_tree, list_tree_before, read_blobs
from presubmit.selector.tree import Source

if TYPE_CHECKING:
    from collections.abc import Iterable

    from presubmit.change.repository import Repository


class TreeReader:
    """Reads files of one commit, each once; its listing is had for less where a `later` one's is known."""

    def __init__(self, repository: Repository, commit: str, *, later: str | None = None) -> None:
        self._repository = repository
        self._commit = commit
        self._known: dict[str, bytes | None] = {}
        if later is None:
            tree = list_tree(repository, commit)
        else:
            tree = list_tree_before(repository, commit, later)
        self.blobs = {path: name for path, (_, name) in tree.items()}
        self.modes = {path: mode for path, (mode, _) in tree.items()}
        self._files = {path: name for path, (mode, name) in tree.items() if mode != GITLINK}

    def want(self, paths: Iterable[str]) -> None:
        """Read several files in one go."""
        wanted = [p for p in paths if p in self._files and p not in self._known]
        if wanted:
            found = read_blobs(self._repository, (self._files[path] for path in wanted))
            self._known |= {path: found.get(self._files[path]) for path in wanted}

    def data(self, path: str) -> bytes | None:
        """Give a file's content, or None where the commit does not have it."""
        self.want((path,))
        return self._known.get(path)

    def text(self, path: str) -> str | None:
        """Give a file's text, undecodable bytes replaced."""
        found = self.data(path)
        return None if found is None else found.decode("utf-8", "replace")

    def source(self) -> Source:
        """Give the commit's files as the selector reads them."""
        return Source(blobs=self._files, modes=self.modes, read=self._contents)

    def _contents(self, names: Iterable[str]) -> dict[str, bytes]:
        return read_blobs(self._repository, names)

    def holds(self, word: str) -> bool:
        """Tell whether some file of the commit holds a word."""
        return holds_word(self._repository, self._commit, word)
