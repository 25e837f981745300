"""Trees of a few texts, and the change between two of them."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from presubmit.review.facts import Commit, Facts
from presubmit.review.rules import review
from presubmit.values import Base, Change, ChangedFile, FileStatus, Target, TargetKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from presubmit.review.values import Review

GITLINK = "160000"


class Files:
    """The files of one commit; a value that begins with `@` is a submodule's commit."""

    def __init__(self, files: Mapping[str, str | bytes]) -> None:
        self._files = {p: t if isinstance(t, bytes) else t.encode() for p, t in files.items()}
        self.blobs = {
            p: hashlib.sha1(d, usedforsecurity=False).hexdigest() for p, d in self._files.items()
        }
        self.modes = {p: GITLINK if d[:1] == b"@" else "100644" for p, d in self._files.items()}

    def data(self, path: str) -> bytes | None:
        return None if self.modes.get(path) == GITLINK else self._files.get(path)

    def text(self, path: str) -> str | None:
        found = self.data(path)
        return None if found is None else found.decode("utf-8", "replace")


def changed(base: Files, head: Files, renames: Mapping[str, str]) -> tuple[ChangedFile, ...]:
    moved = {new: old for old, new in renames.items()}
    found = [
        ChangedFile(path=new, old_path=old, status=FileStatus.RENAMED)
        for new, old in moved.items()
    ]
    for path in sorted({*base.blobs, *head.blobs} - {*renames, *moved}):
        if base.blobs.get(path) == head.blobs.get(path):
            continue
        status = FileStatus.MODIFIED
        if path not in base.blobs:
            status = FileStatus.ADDED
        elif path not in head.blobs:
            status = FileStatus.DELETED
        found.append(ChangedFile(path=path, status=status))
    return tuple(found)


def facts_of(
    base: Mapping[str, str | bytes],
    head: Mapping[str, str | bytes],
    *,
    renames: Mapping[str, str] | None = None,
    commits: Iterable[Commit] = (),
    loose: Mapping[str, bool] | None = None,
    kind: TargetKind = TargetKind.COMMIT,
    untracked: tuple[str, ...] = (),
) -> Facts:
    """Give the facts of a change between two trees; what `head` does not name stays, None takes away."""
    old, new = Files(base), Files(head)
    change = Change(
        top="/project",
        common_dir="/project/.git",
        branch="feature",
        target=Target(
            kind=kind, commit="c" * 40, tree="d" * 40, snapshot="e" * 40, untracked=untracked
        ),
        base=Base(ref="main", commit="b" * 40, tree="f" * 40, how="--base"),
        files=changed(old, new, renames or {}),
    )
    return Facts(change=change, base=old, head=new, commits=tuple(commits), loose=loose or {})


def review_of(
    base: Mapping[str, str | bytes], head: Mapping[str, str | bytes], *rules: str
) -> Review:
    return review(facts_of(base, head), rules) if rules else review(facts_of(base, head))


def codes(found: Review) -> list[str]:
    """Give the codes of a review, sorted, each as often as it was said."""
    return sorted(one.code for one in found.remarks)
