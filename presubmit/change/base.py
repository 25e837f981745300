"""Finds the base: the commit where the change left its upstream."""

from __future__ import annotations

import os
import re
import time
from typing import TYPE_CHECKING, Final

import msgspec

from presubmit.change.git import git, line, shown
from presubmit.change.repository import resolve
from presubmit.errors import GitError
from presubmit.values import Base

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from presubmit.change.repository import Repository

_DEEPEN: Final = (50, 200, 800)
_OLD: Final = 7 * 24 * 3600
_REMOTE: Final = "refs/remotes/"


class _Upstream(msgspec.Struct, frozen=True, kw_only=True):
    """The upstream branch: its reference as written, and how it was found."""

    ref: str
    commit: str
    how: str


def read_base(
    repository: Repository,
    *,
    base: str | None,
    environ: Mapping[str, str],
    configured: str | None,
    fetch: bool,
    head: str | None = None,
) -> Base:
    """Find the merge base of `head` (HEAD where None) with upstream; only with `fetch` is the network used."""
    tip = head or repository.head
    if tip is None:
        raise GitError(
            f"{repository.top} has no commit yet, so there is nothing to compare with",
            hint="make a first commit",
        )
    upstream = _upstream(repository, base, environ, configured, fetch=fetch)
    found = _merge_bases(repository, tip, upstream, fetch=fetch)
    behind = git("rev-list", "--count", f"{tip}..{upstream.commit}", cwd=repository.top)
    warnings = (
        f"{upstream.ref} and the change have {len(found)} merge bases; the first is used"
        if len(found) > 1
        else "",
        _age_warning(repository, upstream.ref),
    )
    return Base(
        ref=upstream.ref,
        commit=found[0],
        tree=line(git("rev-parse", f"{found[0]}^{{tree}}", cwd=repository.top)),
        how=upstream.how,
        behind=int(line(behind)),
        warning="; ".join(warning for warning in warnings if warning),
    )


def _upstream(
    repository: Repository,
    base: str | None,
    environ: Mapping[str, str],
    configured: str | None,
    *,
    fetch: bool,
) -> _Upstream:
    for ref, how in _named(repository, base, environ, configured):
        if fetch:
            _fetch_missing(repository, ref)
        commit = resolve(repository.top, ref)
        if commit is None:
            raise _not_there(repository, ref, how)
        return _Upstream(ref=ref, commit=commit, how=how)
    return _from_remote(repository, fetch=fetch)


def _named(
    repository: Repository, base: str | None, environ: Mapping[str, str], configured: str | None
) -> Iterator[tuple[str, str]]:
    """Give what the user or the CI named as base, best first."""
    if base:
        yield base, "--base"
    if name := environ.get("PRESUBMIT_BASE"):
        yield name, "$PRESUBMIT_BASE"
    if name := environ.get("GITHUB_BASE_REF"):
        yield f"origin/{name}", "$GITHUB_BASE_REF"
    if configured:
        yield configured, "config"
    if repository.branch is not None:
        key = f"branch.{repository.branch}.presubmitBase"
        done = git("config", "--get", key, cwd=repository.top, check=False)
        if name := line(done):
            yield name, key


def _not_there(repository: Repository, ref: str, how: str) -> GitError:
    branch = ref.rpartition("/")[2]
    remotes = _remotes(repository)
    near = [f"{remote}/{branch}" for remote in remotes]
    there = [name for name in near if resolve(repository.top, _REMOTE + name) is not None]
    remote, _, rest = ref.partition("/")
    if remote in remotes and rest:
        hint = f"git fetch {remote} +refs/heads/{rest}:{_REMOTE}{ref}"
    elif there:
        hint = f"did you mean {' or '.join(there)}?"
    else:
        hint = "git branch -a lists the names that exist"
    return GitError(f"the base {ref!r} (from {how}) does not exist in this repository", hint=hint)


def _from_remote(repository: Repository, *, fetch: bool) -> _Upstream:
    remotes = _remotes(repository)
    remote = next((name for name in ("upstream", "origin") if name in remotes), None)
    if remote is None:
        others = f" (there is {shown(remotes)})" if remotes else ""
        raise GitError(
            "no base found: tried --base, $PRESUBMIT_BASE, $GITHUB_BASE_REF, config, "
            f"branch.*.presubmitBase and the remotes upstream and origin, which do not exist{others}",
            hint="name one: --base REF, or git remote add upstream URL && git fetch upstream",
        )
    tried = []
    for ref in _default_branches(repository, remote):
        if fetch:
            _fetch_missing(repository, ref)
        commit = resolve(repository.top, _REMOTE + ref)
        if commit is not None:
            return _Upstream(ref=ref, commit=commit, how=f"remote {remote}")
        tried.append(ref)
    raise GitError(
        f"no base found: the remote {remote} has none of HEAD, {shown(dict.fromkeys(tried))} here",
        hint=f"git fetch {remote} && git remote set-head {remote} -a, or name one: --base REF",
    )


def _default_branches(repository: Repository, remote: str) -> Iterator[str]:
    done = git("symbolic-ref", "-q", f"{_REMOTE}{remote}/HEAD", cwd=repository.top, check=False)
    if done.exit_code == 0:
        yield line(done).removeprefix(_REMOTE)
    yield f"{remote}/main"
    yield f"{remote}/master"


def _remotes(repository: Repository) -> list[str]:
    return git("remote", cwd=repository.top).text.split()


def _fetch_missing(repository: Repository, ref: str) -> None:
    """Fetch a remote-tracking branch that is not here; a refusal shows when it is looked up."""
    remote, _, branch = ref.partition("/")
    if not branch or remote not in _remotes(repository):
        return
    if resolve(repository.top, _REMOTE + ref) is not None:
        return
    depth = (f"--deepen={_DEEPEN[0]}",) if repository.shallow else ()
    _fetch(repository, remote, f"+refs/heads/{branch}:{_REMOTE}{ref}", *depth)


def _fetch(repository: Repository, remote: str, refspec: str, *options: str) -> None:
    git(
        "fetch", "-q", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", *options,
        remote, refspec,
        cwd=repository.top,
        check=False,
    )  # fmt: skip


def _merge_bases(
    repository: Repository, tip: str, upstream: _Upstream, *, fetch: bool
) -> list[str]:
    if found := _ask_merge_bases(repository, tip, upstream.commit):
        return found
    remote, _, branch = upstream.ref.removeprefix(_REMOTE).partition("/")
    known = remote in _remotes(repository) and bool(branch)
    if fetch and repository.shallow and known:
        for depth in _DEEPEN:
            refspec = f"+refs/heads/{branch}:{_REMOTE}{remote}/{branch}"
            _fetch(repository, remote, refspec, f"--deepen={depth}")
            if found := _ask_merge_bases(repository, tip, upstream.commit):
                return found
    message = f"{upstream.ref} (from {upstream.how}) and the change have no commit in common"
    if repository.shallow:
        raise GitError(
            f"{message} in this shallow clone"
            + (", however deep it was fetched" if fetch else ""),
            hint=f"git fetch --deepen={_DEEPEN[-1] if fetch else _DEEPEN[0]} "
            f"{remote if known else 'origin'}, or git fetch --unshallow",
        )
    raise GitError(message, hint="name the branch that the change started from: --base REF")


def _ask_merge_bases(repository: Repository, tip: str, upstream: str) -> list[str]:
    done = git("merge-base", "--all", tip, upstream, cwd=repository.top, check=False)
    return done.text.split() if done.exit_code == 0 else []


def _age_warning(repository: Repository, ref: str) -> str:
    updated = _updated(repository, ref.removeprefix(_REMOTE))
    if updated is None or (age := time.time() - updated) < _OLD:
        return ""
    remote = ref.removeprefix(_REMOTE).partition("/")[0]
    return f"{ref} was fetched {age // 86400:.0f} days ago: git fetch {remote}"


def _updated(repository: Repository, ref: str) -> float | None:
    """Give the time at which a remote-tracking branch was last brought up to date; None where nothing tells it."""
    remote, _, branch = ref.partition("/")
    if not branch or remote not in _remotes(repository):
        return None
    times = [_reflog_time(repository, _REMOTE + name) for name in (ref, f"{remote}/HEAD")]
    times += [_fetch_head_time(repository, remote, branch)]
    return max((moment for moment in times if moment is not None), default=None)


def _reflog_time(repository: Repository, ref: str) -> float | None:
    done = git(
        "log", "-g", "-1", "--format=%gd", "--date=unix", ref, "--",
        cwd=repository.top,
        check=False,
    )  # fmt: skip
    found = re.search(r"@\{(\d+)\}$", line(done))
    return float(found[1]) if found else None


def _fetch_head_time(repository: Repository, remote: str, branch: str) -> float | None:
    # A fetch that moves nothing leaves no line in the reflog, but it rewrites FETCH_HEAD.
    url = line(git("remote", "get-url", remote, cwd=repository.top, check=False))
    plain = re.sub(r"//[^/@]*@", "//", url).rstrip("/").removesuffix(".git")
    wanted = f"branch '{branch}' of {plain}"
    for folder in {repository.git_dir, repository.common_dir}:
        path = folder / "FETCH_HEAD"
        try:
            lines = os.fsdecode(path.read_bytes()).splitlines()
            moment = path.stat().st_mtime
        except OSError:
            continue
        if any(entry.rpartition("\t")[2] == wanted for entry in lines):
            return moment
    return None
