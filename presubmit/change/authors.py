"""Whose change it is: caches that another author's code wrote are not read by the user's own runs."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from presubmit.change.git import git

if TYPE_CHECKING:
    from presubmit.change.repository import Repository


def read_circle(repository: Repository, base: str, head: str | None) -> str:
    """Name the circle of caches: `own`, or one for the other authors and committers of base..head.

    The user is `user.email` of the repository; without one, every author is another.
    """
    if head is None or head == base:
        return "own"
    asked = git("config", "user.email", cwd=repository.top, check=False)
    own = asked.text.strip().lower()
    listed = git("log", "--format=%ae%n%ce", f"{base}..{head}", cwd=repository.top)
    others = sorted({line.strip().lower() for line in listed.text.splitlines()} - {own, ""})
    if not others:
        return "own"
    digest = hashlib.sha256("\n".join(others).encode("utf-8", "surrogateescape"))
    return f"of-{digest.hexdigest()[:12]}"
