"""Makes the repository that stands for the one on GitHub: what `origin` is in a cell, and where `git fetch` goes.

It holds references only; every object is borrowed from the user's repository and from presubmit's snapshots. One is made
for each state of the references and never changed, so a cell that runs sees the same origin to its end.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
from typing import TYPE_CHECKING, Final

import msgspec

from presubmit.change.checkout import alternates_file, config_file, remove
from presubmit.change.git import git, line
from presubmit.change.repository import alternates
from presubmit.container.model import BoxMount
from presubmit.errors import GitError
from presubmit.upstream.event import base_branch as branch_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from presubmit.change.repository import Repository
    from presubmit.values import Change

INSIDE: Final = "/presubmit/origin.git"
"""Where a box has it."""
PULL: Final = "refs/pull/0/merge"
_LAYOUT: Final = 1
_KEPT: Final = 4
"""How many origins stay in the cache."""
_SYSTEM: Final = {True: "box.gitconfig", False: "host.gitconfig"}
"""Git's system configuration, in a box and on the host."""

# As GitHub: any commit may be asked for by its name, and partial clones are served.
_SETTINGS: Final = {
    "core.hooksPath": "hooks",
    "gc.auto": "0",
    "uploadpack.allowFilter": "true",
    "uploadpack.allowAnySHA1InWant": "true",
}

# In a box the mount is read-only; this is for jobs that run on the host.
_REFUSAL: Final = """\
#!/bin/sh
echo "presubmit: a replayed job cannot push" >&2
exit 1
"""


class Origin(msgspec.Struct, frozen=True, kw_only=True):
    """A bare repository on the host, and what it says of the change."""

    folder: Path
    """`<cache>/origins/<state>/origin.git`."""
    repository: Repository
    merge: str
    """The commit that is tested (`github.sha`): the snapshot's tree, on base and head."""
    head: str
    """`github.event.pull_request.head.sha`: HEAD, or the snapshot where the checkout has edits."""
    base: str
    branch: str
    """The branch that the pull request goes to; it is exactly `base`."""
    object_folders: tuple[Path, ...]
    """Mounted read-only at their own paths."""
    shallow: bool
    """The user's clone is cut: there is less history than on GitHub."""
    partial: bool
    """The user's clone left out files of old commits."""

    @property
    def state(self) -> Path:
        """The folder for everything that follows from this origin."""
        return self.folder.parent

    @property
    def mounts(self) -> tuple[BoxMount, ...]:
        """What a box needs of it, all read-only."""
        objects = (
            BoxMount(source=str(path), target=str(path), read_only=True)
            for path in self.object_folders
            if path.is_dir()
        )
        return (BoxMount(source=str(self.folder), target=INSIDE, read_only=True), *objects)

    def at(self, *, inside: bool) -> str:
        """Give its path in a box, or on the host."""
        return INSIDE if inside else str(self.folder)

    def url(self, *, inside: bool) -> str:
        """Give what `git remote get-url origin` says."""
        return f"file://{self.at(inside=inside)}"

    def env(self, *, inside: bool) -> dict[str, str]:
        """Give the variables that let git use it, whoever it belongs to.

        A file, since git does not hand on `GIT_CONFIG_COUNT` to the other side of a fetch, which checks the owner, too.
        """
        return {
            "GIT_CONFIG_SYSTEM": f"{self.at(inside=inside)}/{_SYSTEM[inside]}",
            # The index in a cell is the cell's own; elsewhere presubmit keeps git from refreshing it.
            "GIT_OPTIONAL_LOCKS": "1",
        }


def make_origin(
    repository: Repository,
    change: Change,
    *,
    cache: Path,
    base_branch: str = "",
    name: str = "",
    server: str = "https://github.com",
) -> Origin:
    """Make the origin for a change, or find the one that is there.

    `base_branch`: what `github.base_ref` says, else taken from the base's name; `name`: `owner/name` on `server`, whose
    `….git` URLs then lead here as well.
    """
    merge = _merge(repository, change)
    branch = base_branch or branch_of(change.base.ref).replace("HEAD", "") or "main"
    objects = (
        repository.objects,
        repository.own_objects,
        *alternates(repository.objects),
    )
    refs = _references(repository, change, branch, merge)
    packed = "".join(f"{commit} {ref}\n" for ref, commit in sorted(refs.items()))
    shallow = (repository.common_dir / "shallow").read_bytes() if repository.shallow else b""
    url = f"{server}/{name}.git" if name else ""
    named = (str(_LAYOUT), repository.object_format, branch, packed, url, *map(str, objects))
    digest = hashlib.sha256(os.fsencode("\0".join(named)) + shallow).hexdigest()[:20]
    folder = cache / "origins" / digest / "origin.git"
    if not folder.is_dir():
        _write(
            folder,
            object_format=repository.object_format,
            objects=objects,
            branch=branch,
            packed=packed,
            shallow=shallow,
            url=url,
        )
    os.utime(folder.parent)
    return Origin(
        folder=folder,
        repository=repository,
        merge=merge,
        head=change.target.snapshot,
        base=change.base.commit,
        branch=branch,
        object_folders=objects,
        shallow=bool(shallow),
        partial=_is_partial(repository),
    )


def _merge(repository: Repository, change: Change) -> str:
    """Make the merge commit; the same change gives the same one, so that caches hold."""
    head, base = change.target.snapshot, change.base.commit
    env = repository.object_env
    date = line(
        git("show", "-s", "--no-show-signature", "--format=%ct", head, cwd=repository.top, env=env)
    )
    person = {
        f"GIT_{role}_{what}": value
        for role in ("AUTHOR", "COMMITTER")
        for what, value in (
            ("NAME", "presubmit"),
            ("EMAIL", "presubmit@localhost"),
            ("DATE", f"{date} +0000"),
        )
    }
    parents = [word for commit in dict.fromkeys((base, head)) for word in ("-p", commit)]
    done = git(
        "commit-tree", change.target.tree, *parents,
        cwd=repository.top,
        env={**env, **person},
        stdin=f"Merge {head} into {base}\n".encode(),
    )  # fmt: skip
    return line(done)


def _references(repository: Repository, change: Change, branch: str, merge: str) -> dict[str, str]:
    """Give what GitHub has, as far as it is known here: upstream's branches, the tags, the pull request."""
    done = git(
        "for-each-ref", "--format=%(objectname) %(refname)", "refs/remotes", "refs/tags",
        cwd=repository.top,
    )  # fmt: skip
    there = {
        ref: commit for commit, _, ref in (text.partition(" ") for text in done.text.splitlines())
    }
    refs = {ref: commit for ref, commit in there.items() if ref.startswith("refs/tags/")}
    if remote := _remote_of(repository, change.base.ref):
        prefix = f"refs/remotes/{remote}/"
        refs |= {
            f"refs/heads/{ref.removeprefix(prefix)}": commit
            for ref, commit in there.items()
            if ref.startswith(prefix) and ref != f"{prefix}HEAD"
        }
    refs[f"refs/heads/{branch}"] = change.base.commit
    own = f"refs/heads/{change.branch}"
    if change.branch and not any(_clash(own, ref) for ref in refs):
        refs[own] = change.target.snapshot
    return refs | {PULL: merge, "refs/pull/0/head": change.target.snapshot}


def _clash(one: str, other: str) -> bool:
    return one == other or one.startswith(f"{other}/") or other.startswith(f"{one}/")


def _remote_of(repository: Repository, ref: str) -> str:
    """Give the remote whose branch a base is; empty for a local branch or a commit."""
    plain = ref.removeprefix("refs/remotes/")
    remotes = git("remote", cwd=repository.top).text.split()
    fitting = [remote for remote in remotes if plain.startswith(f"{remote}/")]
    return max(fitting, key=len, default="")


def _is_partial(repository: Repository) -> bool:
    done = git(
        "config", "--get-regexp", r"^remote\..*\.promisor$|^extensions\.partialclone$",
        cwd=repository.top,
        check=False,
    )  # fmt: skip
    return done.exit_code == 0


def _system_config(url: str, place: str) -> str:
    """Write git's system configuration for a cell; the image's own stays in force."""
    lines = ["[include]", "\tpath = /etc/gitconfig", "[safe]", "\tdirectory = *"]
    lines += ['[protocol "file"]', "\tallow = always"]
    if url:
        host, _, path = url.partition("://")[2].partition("/")
        # A section's name cannot hold a line end, and the values are the repository's own names.
        if "\n" not in f"{place}{url}":
            quoted = place.replace("\\", "\\\\").replace('"', '\\"')
            lines += [f'[url "file://{quoted}"]']
            lines += [f"\tinsteadOf = {name}" for name in (url, f"git@{host}:{path}")]
    return "".join(f"{text}\n" for text in lines)


def _write(
    folder: Path,
    *,
    object_format: str,
    objects: tuple[Path, ...],
    branch: str,
    packed: str,
    shallow: bytes,
    url: str,
) -> None:
    """Write the bare repository, whole or not at all."""
    scratch = folder.with_name(f"{folder.name}.{secrets.token_hex(4)}")
    for name in ("objects/info", "objects/pack", "refs/heads", "refs/tags", "hooks"):
        (scratch / name).mkdir(parents=True)
    config = config_file(object_format, _SETTINGS).replace("bare = false", "bare = true")
    texts: Mapping[str, str] = {
        "config": config,
        "HEAD": f"ref: refs/heads/{branch}\n",
        "objects/info/alternates": alternates_file(objects),
        "packed-refs": f"# pack-refs with: sorted \n{packed}",
        _SYSTEM[True]: _system_config(url, INSIDE),
        _SYSTEM[False]: _system_config(url, str(folder)),
        "hooks/pre-receive": _REFUSAL,
    }
    for name, text in texts.items():
        (scratch / name).write_bytes(os.fsencode(text))
    (scratch / "hooks" / "pre-receive").chmod(0o755)
    if shallow:
        (scratch / "shallow").write_bytes(shallow)
    # Notes what each tag stands for, so that no fetch has to look it up.
    done = git("pack-refs", "--all", cwd=scratch, env={"GIT_DIR": str(scratch)}, check=False)
    if done.exit_code != 0:
        raise GitError(f"cannot make an origin for replayed jobs in {scratch}: {done.complaint}")
    try:
        scratch.rename(folder)
    except OSError:
        remove(scratch)  # another process was faster
        if not folder.is_dir():
            raise


def prune_origins(origin: Origin) -> None:
    """Remove the origins of earlier states but the newest few, for who holds the lane: nobody else uses them."""
    origins = origin.state.parent
    there = [path for path in origins.iterdir() if re.fullmatch(r"[0-9a-f]{20}", path.name)]
    there.sort(key=lambda path: path.lstat().st_mtime, reverse=True)
    for path in [path for path in there if path != origin.state][_KEPT - 1 :]:
        remove(path)
