"""Reads what upstream CI would run for a change: the workflows of its tree, and the event that it would be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from presubmit import convention
from presubmit.change.git import git, line
from presubmit.replay import actions
from presubmit.replay.actions import remote_workflows
from presubmit.replay.job.house import Place, find_here
from presubmit.upstream.action_file import read_action
from presubmit.upstream.event import EventFacts, actor_of, base_branch, repository_of, server_of
from presubmit.upstream.folder import read_workflows
from presubmit.upstream.forecast import forecast_with_steps
from presubmit.upstream.reader import read_workflow
from presubmit.upstream.setting import Setting
from presubmit.upstream_options import Project, Taken, take, with_upstream

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from presubmit.facts import TreeReader
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
    tree = reading.base_reader if of_base else reading.head_reader
    workflows, problems = read_workflows(tree.data, tuple(tree.blobs))
    config = reading.config.config
    setting = Setting(
        event=event,
        facts=read_event(reading, merge=merge),
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
    )


def _load(tree: TreeReader, uses: str) -> Workflow | None:
    path = uses.removeprefix("./").partition("@")[0]
    data = tree.data(path)
    return None if data is None else read_workflow(data, path)[0]


def _action(tree: TreeReader, uses: str) -> ActionFile | None:
    folder = uses.removeprefix("./").rstrip("/")
    for name in ("action.yml", "action.yaml"):
        path = f"{folder}/{name}" if folder not in {"", "."} else name
        data = tree.data(path)
        if data is not None:
            return read_action(data, path)[0]
    return None


def read_event(reading: Reading, *, merge: str = "") -> EventFacts:
    """Read what a pull request of this change would say, out of git alone."""
    change, top = reading.change, reading.repository.top
    remotes = read_remotes(top)
    remote = (
        change.base.ref.partition("/")[0] if change.base.ref.partition("/")[0] in remotes else ""
    )
    url = remotes.get(remote) or remotes.get("upstream") or remotes.get("origin") or ""
    own = remotes.get("origin") or url
    head = change.target.commit or change.base.commit
    subject, body, seconds = read_message(top, head)
    name, email = _configured(top, "user.name"), _configured(top, "user.email")
    fallback = f"local/{top.name or 'repository'}"
    repository = repository_of(url) or fallback
    return EventFacts(
        repository=repository,
        head_repository=repository_of(own) or repository,
        server_url=server_of(url) or "https://github.com",
        default_branch=_default_branch(top, remote)
        or base_branch(change.base.ref, remotes=remotes)
        or "main",
        base_ref=base_branch(change.base.ref, remotes=remotes)
        or _default_branch(top, remote)
        or "main",
        base_sha=change.base.commit,
        head_ref=change.branch or "HEAD",
        head_sha=head,
        merge_sha=merge or change.target.snapshot,
        title=subject,
        body=body,
        files=change.files,
        commits=_count(top, change.base.commit, head),
        time=seconds,
        actor=actor_of(name),
        author=name,
        email=email,
    )


def read_remotes(top: Path) -> dict[str, str]:
    """Give the URL of each remote, by its name."""
    done = git("config", "--get-regexp", r"^remote\..*\.url$", cwd=top, check=False)
    remotes: dict[str, str] = {}
    for entry in done.text.splitlines():
        key, _, url = entry.partition(" ")
        remotes.setdefault(key.removeprefix("remote.").removesuffix(".url"), url)
    return remotes


def _default_branch(top: Path, remote: str) -> str:
    done = git(
        "symbolic-ref", "-q", f"refs/remotes/{remote or 'origin'}/HEAD", cwd=top, check=False
    )
    return (
        line(done).removeprefix(f"refs/remotes/{remote or 'origin'}/")
        if done.exit_code == 0
        else ""
    )


def read_message(top: Path, commit: str) -> tuple[str, str, int]:
    """Give a commit's subject, the rest of its message, and its time."""
    done = git("log", "-1", "--format=%ct%n%s%n%b", commit, cwd=top, check=False)
    if done.exit_code != 0:
        return "", "", 0
    seconds, _, rest = done.text.partition("\n")
    subject, _, body = rest.partition("\n")
    return subject, body.strip(), int(seconds or 0)


def _configured(top: Path, name: str) -> str:
    return git("config", name, cwd=top, check=False).text.strip()


def _count(top: Path, base: str, head: str) -> int:
    done = git("rev-list", "--count", f"{base}..{head}", cwd=top, check=False)
    return int(line(done)) if done.exit_code == 0 and line(done).isdigit() else 1


def make_place(
    reading: Reading, where: Where, environ: Mapping[str, str], *, root: bool, pull: bool = False
) -> Place:
    """Say where cells run."""
    config = reading.config.config
    return Place(
        cache=reading.cache,
        repository=reading.cache.parent.name,
        name=read_event(reading).repository.partition("/")[2],
        engine=where.engine,
        image=where.image,
        container=config.container,
        environ=environ,
        root=root,
        substitutes={name: action.run for name, action in config.actions.items()},
        pull=pull,
        read=reading.head_reader.text,
    )


# --- for `presubmit run` ----------------------------------------------------------------------------------------------


def take_options(
    reading: Reading, where: Where | None, environ: Mapping[str, str], *, of_base: bool = False
) -> tuple[Reading, Taken]:
    """Fill in, from upstream's jobs, what the configuration leaves open; `where` is None where it is not known."""
    tree = reading.base_reader if of_base else reading.head_reader
    has_workflows = any(path.startswith(".github/workflows/") for path in tree.blobs)
    if reading.config.config.upstream == "no" or not has_workflows:
        return reading, Taken()
    here = None
    if where is not None and where.engine is not None:
        here = find_here(make_place(reading, where, environ, root=False))
    upstream = read_upstream(reading, event="pull_request", here=here, of_base=of_base)
    taken = take(upstream.cells, upstream.steps, _project(tree, upstream), here=here)
    config = with_upstream(reading.config, taken)
    return msgspec.structs.replace(reading, config=config), taken


def _project(tree: TreeReader, upstream: Upstream) -> Project:
    found = convention.read_project(tree.blobs, tree.text)
    table = found.table("project")
    dynamic = table.get("dynamic", ()) if table else ("optional-dependencies",)
    extras = frozenset(found.table("project", "optional-dependencies"))
    hooks = ".pre-commit-config.yaml" in tree.blobs
    return Project(
        read=tree.text,
        name=str(table.get("name", "")),
        repository=upstream.setting.facts.repository,
        extras=None if "optional-dependencies" in dynamic else extras,
        groups=frozenset(found.table("dependency-groups")),
        lint_tool="pre-commit"
        if hooks
        else "lintrunner"
        if ".lintrunner.toml" in tree.blobs
        else "",
    )
