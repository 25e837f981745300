"""Makes the `.git` of a cell as actions/checkout leaves one, without copying an object (checkout: git-source-provider.ts).

Git itself fetches it from the origin, so that it is cut where git would cut it; what the fetch asks for is there already.
"""

from __future__ import annotations

import os
import secrets
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from presubmit.change.checkout import alternates_file, config_file, make_git_dir, remove
from presubmit.change.git import git
from presubmit.replay.job.action import LackingError
from presubmit.replay.job.origin import PULL
from presubmit.values import Value

if TYPE_CHECKING:
    from presubmit.replay.job.origin import Origin

MARK: Final = "presubmit-laid"
"""A file in `.git` that the first checkout step takes away: nothing was done yet to what was laid."""
TRACKING: Final = PULL.replace("refs/", "refs/remotes/", 1)
HEADS: Final = "+refs/heads/*:refs/remotes/origin/*"
TAGS: Final = "+refs/tags/*:refs/tags/*"
_NO_USER: Final = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}


class Prepared(Value, frozen=True, kw_only=True):
    """What a checkout step is known to want before its cell starts."""

    depth: int = 1
    """Commits from the tip; 0: everything, with all branches and tags."""
    tags: bool = False
    submodules: str = ""
    """Empty, `true` or `recursive`."""

    @property
    def mark(self) -> str:
        """What `MARK` says."""
        return f"{self.depth} {int(self.tags)} {self.submodules}".rstrip() + "\n"


def make_git_layer(origin: Origin, wanted: Prepared, *, inside: bool) -> Path:
    """Give a folder that holds `.git` and nothing else: made once per origin, and never changed.

    It has no index: that belongs to the files. The caller holds the lane `replay`.
    """
    name = f"git-{wanted.depth}{'-tags' * wanted.tags}{f'-{wanted.submodules}' * bool(wanted.submodules)}"
    folder = origin.state / (name if inside else f"{name}-host")
    if folder.is_dir():
        return folder
    scratch = folder.with_name(f"{folder.name}.{secrets.token_hex(4)}")
    git_dir = scratch / ".git"
    make_git_dir(
        git_dir,
        object_format=origin.repository.object_format,
        objects=(origin.folder / "objects",),
        settings=_settings(origin, wanted, inside=False),
    )
    _fetch(origin, wanted, git_dir)
    _refuse_less(origin, wanted, git_dir)
    _finish(origin, wanted, git_dir, inside=inside)
    remove(folder)
    scratch.rename(folder)
    return folder


def refspecs(commit: str, wanted: Prepared) -> tuple[str, ...]:
    """Give what the default checkout fetches (checkout: ref-helper.ts)."""
    own = f"+{commit}:{TRACKING}"
    if wanted.depth == 0:
        return (HEADS, TAGS, own)
    return (TAGS, own) if wanted.tags else (own,)


def _fetch(origin: Origin, wanted: Prepared, git_dir: Path) -> None:
    tags = () if wanted.depth == 0 or wanted.tags else ("--no-tags",)
    depth = (f"--depth={wanted.depth}",) if wanted.depth else ()
    narrowed = ("--filter=blob:none",) if origin.partial else ()
    git(
        # What the pack holds is there already; unpacked, it would give new times to the user's objects.
        "-c", "fetch.unpackLimit=1",
        "fetch", "-q", *tags, "--prune", "--no-recurse-submodules", "--no-write-fetch-head", *depth, *narrowed,
        "origin", *refspecs(origin.merge, wanted),
        cwd=git_dir,
        env={**_NO_USER, "GIT_DIR": str(git_dir)},
    )  # fmt: skip
    for path in (git_dir / "objects" / "pack").iterdir():
        remove(path)


def _refuse_less(origin: Origin, wanted: Prepared, git_dir: Path) -> None:
    """Raise LackingError where the job asks for history that the user's clone does not have."""
    if not origin.shallow or wanted.depth == 1:
        return
    theirs = (origin.folder / "shallow").read_text(encoding="ascii").split()
    ours = (
        (git_dir / "shallow").read_text(encoding="ascii").split()
        if (git_dir / "shallow").exists()
        else []
    )
    if wanted.depth == 0 or set(theirs) & set(ours):
        what = "the whole history" if wanted.depth == 0 else f"{wanted.depth} commits of history"
        raise LackingError(f"{what} (this clone is shallow: git fetch --unshallow)")


def _finish(origin: Origin, wanted: Prepared, git_dir: Path, *, inside: bool) -> None:
    """Let it stand where it will be used, with the settings that the action leaves."""
    for name in ("hooks", "logs", "refs/tags"):
        (git_dir / name).mkdir(parents=True, exist_ok=True)
    texts = {
        "HEAD": f"{origin.merge}\n",
        "config": config_file(
            origin.repository.object_format, _settings(origin, wanted, inside=inside)
        ),
        "objects/info/alternates": alternates_file((Path(origin.at(inside=inside), "objects"),)),
        MARK: wanted.mark,
        # `git status` takes from here where HEAD is detached at.
        "logs/HEAD": f"{'0' * len(origin.merge)} {origin.merge} presubmit <presubmit@localhost> {int(time.time())} +0000"
        f"\tcheckout: moving from {origin.branch} to {TRACKING}\n",
    }
    for name, text in texts.items():
        (git_dir / name).write_bytes(os.fsencode(text))


def _settings(origin: Origin, wanted: Prepared, *, inside: bool) -> dict[str, str]:
    # With what a partial clone left out, git must know that it may be missing.
    promised = {"remote.origin.promisor": "true", "remote.origin.partialclonefilter": "blob:none"}
    return {
        "remote.origin.url": origin.url(inside=inside),
        "remote.origin.fetch": HEADS,
        "gc.auto": "0",
        **({"submodule.active": "."} if wanted.submodules else {}),
        **(promised if origin.partial else {}),
    }
