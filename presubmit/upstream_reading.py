"""Reads what upstream CI would run for a change: the workflows of its tree, and the event that it would be."""

from __future__ import annotations

import re
import time as clock
from typing import TYPE_CHECKING, Protocol

import msgspec

from presubmit.change.git import git, line
from presubmit.replay import actions
from presubmit.replay.actions import remote_workflows
from presubmit.replay.job.house import Place
from presubmit.upstream.action_file import read_action
from presubmit.upstream.event import EventFacts, actor_of, base_branch, repository_of, server_of
from presubmit.upstream.folder import read_workflows
from presubmit.upstream.forecast import forecast_with_steps
from presubmit.upstream.reader import read_workflow
from presubmit.upstream.setting import Setting
from presubmit.upstream.triggers import skip_note
from presubmit.values import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from presubmit.config import Config
    from presubmit.reading import Reading
    from presubmit.upstream.cells import JobCell
    from presubmit.upstream.here import Here
    from presubmit.upstream.model import ActionFile, Workflow
    from presubmit.upstream.nodes import Problem
    from presubmit.upstream.recipes.job_commands import StepScript
    from presubmit.where import Where


class Upstream(msgspec.Struct, frozen=True, kw_only=True):
    """The workflows of a tree with the event that starts them, and the cells that this gives."""

    workflows: tuple[Workflow, ...]
    problems: tuple[Problem, ...]
    setting: Setting
    cells: tuple[JobCell, ...]
    steps: dict[str, tuple[StepScript, ...]]
    """The steps of each cell that is looked at, by its id."""
    notes: tuple[str, ...] = ()


class Tree(Protocol):
    """The files of one commit."""

    @property
    def blobs(self) -> Mapping[str, str]:
        """Blob id of every file."""

    def data(self, path: str) -> bytes | None:
        """Give a file's content; None where there is no such file."""

    def text(self, path: str) -> str | None:
        """Give a file's text; None where there is no such file."""


def read_upstream(
    reading: Reading,
    *,
    event: str,
    here: Here | None,
    merge: str = "",
    has_image: Callable[[str], bool] | None = None,
    of_base: bool = False,
) -> Upstream:
    """Read the workflows as they stand in the tree under test (or the base's own) and judge every cell.

    `merge` is the commit that stands for the pull request's merge; `here` is None where it is not known.
    """
    return read_upstream_of(
        reading.base_reader if of_base else reading.head_reader,
        reading.config.config,
        event=event,
        facts=read_event(reading, merge=merge),
        here=here,
        has_image=has_image,
    )


def read_upstream_of(
    tree: Tree,
    config: Config,
    *,
    event: str,
    facts: EventFacts,
    here: Here | None,
    has_image: Callable[[str], bool] | None = None,
) -> Upstream:
    """Read the workflows of a tree and judge every cell."""
    workflows, problems = read_workflows(tree.data, tuple(tree.blobs))
    setting = Setting(
        event=event,
        facts=facts,
        here=here,
        runners=config.replay.runners,
        vars=config.replay.vars,
        substitutes=frozenset(name.lower() for name in config.actions),
        support=actions.support,
        remote=remote_workflows.lacks,
        remote_workflow=remote_workflows.make,
        load=lambda uses: _load(tree, uses),
        read_action=lambda uses: _action(tree, uses),
        read=tree.text,
        has_image=has_image,
    )
    found = forecast_with_steps(workflows, setting)
    return Upstream(
        workflows=workflows,
        problems=problems,
        setting=setting,
        cells=tuple(cell for cell, _ in found),
        steps={cell.id: steps for cell, steps in found},
        notes=tuple(filter(None, (skip_note(setting.facts),))),
    )


def _load(tree: Tree, uses: str) -> Workflow | None:
    path = uses.removeprefix("./").partition("@")[0]
    data = tree.data(path)
    return None if data is None else read_workflow(data, path)[0]


def _action(tree: Tree, uses: str) -> ActionFile | None:
    folder = uses.removeprefix("./").rstrip("/")
    for name in ("action.yml", "action.yaml"):
        path = f"{folder}/{name}" if folder not in {"", "."} else name
        data = tree.data(path)
        if data is not None:
            return read_action(data, path)[0]
    return None


class Names(Value, frozen=True, kw_only=True):
    """What the repository's settings say of upstream and of the contributor."""

    remotes: dict[str, str]
    """The URL of each remote, by its name."""
    remote: str
    """The one that the base is of; empty for a base that is of none."""
    default_branch: str
    """Of that remote, or of `origin`; empty where it is not known."""
    author: str = ""
    email: str = ""

    @property
    def url(self) -> str:
        """Where upstream is."""
        remotes = self.remotes
        return remotes.get(self.remote) or remotes.get("upstream") or remotes.get("origin") or ""


def read_names(reading: Reading) -> Names:
    """Read them, in two questions to git."""
    top = reading.repository.top
    done = git(
        *("config", "--null", "--get-regexp", r"^(remote\..*\.url|user\.(name|email))$"),
        cwd=top,
        check=False,
    )
    remotes: dict[str, str] = {}
    person: dict[str, str] = {}
    for entry in done.text.split("\0"):
        key, _, value = entry.partition("\n")
        if key.startswith("remote."):
            # Of several URLs, git fetches from the first; of several names, the last counts.
            remotes.setdefault(key.removeprefix("remote.").removesuffix(".url"), value)
        elif key:
            person[key] = value.strip()
    remote = reading.change.base.ref.partition("/")[0]
    remote = remote if remote in remotes else ""
    return Names(
        remotes=remotes,
        remote=remote,
        default_branch=_default_branch(top, remote or "origin"),
        author=person.get("user.name", ""),
        email=person.get("user.email", ""),
    )


def read_event(reading: Reading, *, merge: str = "") -> EventFacts:
    """Read what a pull request of this change would say, out of git alone."""
    change, top = reading.change, reading.repository.top
    head = change.target.commit or change.base.commit
    subject, body, seconds = read_message(top, head)
    return msgspec.structs.replace(
        lasting_event(reading, read_names(reading)),
        head_sha=head,
        merge_sha=merge or change.target.snapshot,
        title=subject,
        body=body,
        commits=_count(top, change.base.commit, head),
        time=seconds,
        # As upstream, no two runs have the same: caches are keyed by it.
        run_id=clock.time_ns() // 1_000_000,
    )


def lasting_event(reading: Reading, names: Names) -> EventFacts:
    """Give that part of it which stays the same from commit to commit."""
    change, top = reading.change, reading.repository.top
    repository = repository_of(names.url) or f"local/{_plain(top.name)}"
    # Without a repository of one's own, the branch would come from a fork, as a contributor's does.
    fork = f"{actor_of(names.author)}/{repository.partition('/')[2]}"
    own = names.remotes.get("origin", "")
    branch = base_branch(change.base.ref, remotes=names.remotes)
    branch = "" if branch == "HEAD" else branch  # of a remote: its default branch
    return EventFacts(
        repository=repository,
        head_repository=(repository_of(own) or repository) if own else fork,
        server_url=server_of(names.url) or "https://github.com",
        default_branch=names.default_branch or branch or "main",
        base_ref=branch or names.default_branch or "main",
        base_sha=change.base.commit,
        head_ref=change.branch or "HEAD",
        head_sha=change.base.commit,
        merge_sha=change.base.commit,
        title="",
        files=change.files,
        time=0,
        actor=actor_of(names.author),
        author=names.author,
        email=names.email,
    )


def _plain(name: str) -> str:
    """Make a repository's name, as GitHub would allow it, out of a folder's."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.") or "repository"


def _default_branch(top: Path, remote: str) -> str:
    prefix = f"refs/remotes/{remote}/"
    done = git("symbolic-ref", "-q", f"{prefix}HEAD", cwd=top, check=False)
    return line(done).removeprefix(prefix) if done.exit_code == 0 else ""


def read_message(top: Path, commit: str) -> tuple[str, str, int]:
    """Give a commit's subject, the rest of its message, and its time."""
    done = git("log", "-1", "--format=%ct%n%s%n%b", commit, cwd=top, check=False)
    if done.exit_code != 0:
        return "", "", 0
    seconds, _, rest = done.text.partition("\n")
    subject, _, body = rest.partition("\n")
    return subject, body.strip(), int(seconds or 0)


def _count(top: Path, base: str, head: str) -> int:
    done = git("rev-list", "--count", f"{base}..{head}", cwd=top, check=False)
    return int(line(done)) if done.exit_code == 0 and line(done).isdigit() else 1


def make_place(
    reading: Reading,
    where: Where,
    environ: Mapping[str, str],
    *,
    root: bool,
    pull: bool = False,
    names: Names | None = None,
) -> Place:
    """Say where cells run."""
    config = reading.config.config
    url = (names or read_names(reading)).url
    return Place(
        cache=reading.cache,
        repository=reading.cache.parent.name,
        name=(repository_of(url) or f"local/{_plain(reading.repository.top.name)}").partition("/")[
            2
        ],
        engine=where.engine,
        image=where.image,
        container=config.container,
        environ=environ,
        root=root,
        substitutes={name: action.run for name, action in config.actions.items()},
        pull=pull,
        read=reading.head_reader.text,
    )
