"""Reads what git tells a pre-push hook: one line a ref on its standard input (githooks(5)); standard library only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

_FIELDS: Final = 4
_LENGTHS: Final = (40, 64)
NOT_CODE: Final = ("refs/tags/", "refs/notes/")


class PushedRef(NamedTuple):
    """One line: what is pushed, and what the remote has."""

    local_ref: str
    """A ref, `HEAD`, an id, or `(delete)`."""
    local_id: str
    remote_ref: str
    remote_id: str

    @property
    def deletes(self) -> bool:
        """Whether the ref is deleted there: the local id is zeros, 40 or, in a SHA-256 repository, 64."""
        return set(self.local_id) == {"0"}

    @property
    def has_code(self) -> bool:
        """Whether it puts commits on a branch: no deletion, no tag, no note."""
        return not self.deletes and not self.remote_ref.startswith(NOT_CODE)


def read_lines(data: bytes) -> list[PushedRef]:
    """Read the lines of a push. Raises ValueError for one that is not of git's form."""
    refs: list[PushedRef] = []
    for line in data.decode("utf-8", "surrogateescape").splitlines():
        if not line.strip():
            continue
        parts = line.rsplit(None, _FIELDS - 1)
        if len(parts) != _FIELDS or not (_is_id(parts[1]) and _is_id(parts[3])):
            raise ValueError(f"this is no line of a pre-push hook: {line[:100]!r}")
        refs.append(PushedRef(*parts))
    return refs


def _is_id(text: str) -> bool:
    return len(text) in _LENGTHS and not set(text) - set("0123456789abcdef")


def read_pre_commit(environ: Mapping[str, str]) -> list[PushedRef]:
    """Read what pre-commit gives a hook of stage pre-push: the first ref that it takes for one to check.

    PRE_COMMIT_TO_REF is not set where the remote has nothing yet; the local branch then says what is pushed. Raises
    ValueError where there is neither (https://pre-commit.com/#pre-commit-during-push).
    """
    local = environ.get("PRE_COMMIT_LOCAL_BRANCH", "")
    pushed = environ.get("PRE_COMMIT_TO_REF") or local
    if not pushed:
        raise ValueError("neither PRE_COMMIT_TO_REF nor PRE_COMMIT_LOCAL_BRANCH is set")
    remote = environ.get("PRE_COMMIT_REMOTE_BRANCH") or local or "HEAD"
    return [PushedRef(local or pushed, pushed, remote, environ.get("PRE_COMMIT_FROM_REF", ""))]
