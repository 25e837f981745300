"""The event that a change is upstream: its facts, the contexts `github` and `runner`, and the default variables."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from presubmit.upstream.payload import GITHUB, api_urls, event_payload, git_url
from presubmit.values import ChangedFile, Value

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from presubmit.upstream.here import Here

_COMMIT: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_NO_BRANCH: Final = re.compile(r"[~^:@{\\ ]|\.\.|^HEAD$|^refs/(?!heads/|remotes/)")
# One letter before the colon is a Windows drive.
_SCP: Final = re.compile(r"(?:[^/@:\\]+@)?(?P<host>[^/@:\\]{2,}):(?P<path>.+)")
_NAME: Final = re.compile(r"(?!\.+$)[A-Za-z0-9._-]+")
_LOGIN: Final = 39
"""Characters that a GitHub login has at most."""

# What actions/runner makes variables of (GitHubContext.cs), without what changes from step to step.
_VARIABLES: Final = frozenset(
    {
        "actor",
        "actor_id",
        "api_url",
        "base_ref",
        "event_name",
        "event_path",
        "graphql_url",
        "head_ref",
        "job",
        "ref",
        "ref_name",
        "ref_protected",
        "ref_type",
        "repository",
        "repository_id",
        "repository_owner",
        "repository_owner_id",
        "retention_days",
        "run_attempt",
        "run_id",
        "run_number",
        "server_url",
        "sha",
        "triggering_actor",
        "workflow",
        "workflow_ref",
        "workflow_sha",
        "workspace",
    }
)


class EventFacts(Value, frozen=True, kw_only=True):
    """What is known of the change and its repository; everything that GitHub would say follows from it."""

    repository: str
    """`owner/name` of upstream."""
    head_repository: str = ""
    """`owner/name` that the branch would be pushed to; empty: upstream itself."""
    server_url: str = GITHUB
    default_branch: str = "main"
    base_ref: str
    """The branch that the pull request goes to."""
    base_sha: str
    head_ref: str
    """The branch with the change."""
    head_sha: str
    merge_sha: str
    """The commit that is tested: the snapshot."""
    number: int = 0
    """Of the pull request; 0: it has none yet."""
    title: str
    """The subject of the head commit."""
    body: str = ""
    files: tuple[ChangedFile, ...] = ()
    additions: int = 0
    deletions: int = 0
    commits: int = 1
    time: int
    """Of the head commit, in seconds since 1970."""
    actor: str
    """The contributor's login, or what stands for it: see `actor_of`."""
    author: str = ""
    """The contributor's name; empty: the login."""
    email: str = ""
    run_id: int = 1
    run_number: int = 1
    run_attempt: int = 1

    @property
    def fork(self) -> bool:
        """Whether the branch comes from a fork."""
        return self.head.casefold() != self.repository.casefold()

    @property
    def head(self) -> str:
        """`owner/name` of the repository with the branch."""
        return self.head_repository or self.repository

    @property
    def paths(self) -> tuple[str, ...]:
        """Every path that the change touches, both ends of a rename, in the order of git's diff."""
        paths = dict.fromkeys(path for file in self.files for path in file.paths)
        return tuple(sorted(paths, key=lambda path: path.encode("utf-8", "surrogateescape")))


# --- names out of git -----------------------------------------------------------------------------------------------


def repository_of(url: str) -> str | None:
    """Give `owner/name` of a remote's URL; None for a local path, or where there are no two names."""
    _, path = _server_and_path(url)
    parts = path.strip("/").removesuffix(".git").split("/")[-2:]
    if len(parts) != len(("owner", "name")) or not all(map(_NAME.fullmatch, parts)):
        return None
    return "/".join(parts)


def server_of(url: str) -> str | None:
    """Give the server of a remote's URL, `https://github.com`; None for a local path."""
    return _server_and_path(url)[0] or None


def _server_and_path(url: str) -> tuple[str, str]:
    """Take a URL or `user@host:path` apart; two empty strings for a local path."""
    if "://" not in url:
        found = _SCP.fullmatch(url)
        return (f"https://{found['host'].lower()}", found["path"]) if found else ("", "")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:  # a bracket that is never closed, a port that is no number
        return "", ""
    if not host or parts.scheme == "file":
        return "", ""
    if parts.scheme in {"http", "https"}:
        return f"{parts.scheme}://{host}{f':{port}' if port else ''}", parts.path
    return f"https://{host.removeprefix('ssh.') if host == 'ssh.github.com' else host}", parts.path


def base_branch(ref: str, *, remotes: Collection[str] = ("upstream", "origin")) -> str:
    """Give the branch that a base is, without its remote; empty for a commit (`main~2`, a sha), which is none."""
    if _COMMIT.fullmatch(ref) or _NO_BRANCH.search(ref):
        return ""
    if ref.startswith("refs/heads/"):
        return ref.removeprefix("refs/heads/")
    if ref.startswith("refs/remotes/"):
        return ref.removeprefix("refs/remotes/").partition("/")[2]
    remote, _, branch = ref.partition("/")
    return branch if branch and remote in remotes else ref


def actor_of(name: str) -> str:
    """Make something that could be a GitHub login out of git's `user.name`."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    words = re.findall(r"[a-z0-9]+", plain.lower())
    return "-".join(words)[:_LOGIN].strip("-") or "contributor"


# --- contexts -------------------------------------------------------------------------------------------------------


def github_context(
    facts: EventFacts,
    *,
    workflow_path: str,
    workflow_name: str,
    job: str,
    event: str = "pull_request",
    action: str = "synchronize",
    workspace: str = "",
    event_path: str = "",
) -> dict[str, Any]:
    """Give the `github` context of a job (docs: "Contexts reference"); `token` is empty."""
    pushed = event == "push"
    ref = f"refs/heads/{facts.head_ref}" if pushed else f"refs/pull/{facts.number}/merge"
    sha = facts.head_sha if pushed else facts.merge_sha
    owner = facts.repository.partition("/")[0]
    api, graphql = api_urls(facts.server_url)
    return {
        "token": "",
        "job": job,
        "ref": ref,
        "ref_name": facts.head_ref if pushed else f"{facts.number}/merge",
        "ref_type": "branch",
        "ref_protected": False,
        "sha": sha,
        "base_ref": "" if pushed else facts.base_ref,
        "head_ref": "" if pushed else facts.head_ref,
        "repository": facts.repository,
        "repository_id": "0",
        "repository_owner": owner,
        "repository_owner_id": "0",
        "repository_visibility": "public",
        "repositoryUrl": git_url(facts.server_url, facts.repository),
        "run_id": str(facts.run_id),
        "run_number": str(facts.run_number),
        "run_attempt": str(facts.run_attempt),
        "retention_days": "90",
        "actor": facts.actor,
        "actor_id": "0",
        "triggering_actor": facts.actor,
        "workflow": workflow_name,
        "workflow_ref": f"{facts.repository}/{workflow_path}@{ref}",
        "workflow_sha": sha,
        "event_name": event,
        "event": event_payload(facts, event=event, action=action),
        "event_path": event_path,
        "server_url": facts.server_url,
        "api_url": api,
        "graphql_url": graphql,
        "secret_source": "None",
        "workspace": workspace,
    }


def runner_context(here: Here, *, temp: str, tools: str, workspace: str) -> dict[str, str]:
    """Give the `runner` context; `debug` is absent, as it is where debugging is off."""
    return {
        "name": "presubmit",
        "os": here.system,
        "arch": here.arch,
        "temp": temp,
        "tool_cache": tools,
        "workspace": workspace.rpartition("/")[0],
        "environment": "github-hosted",
    }


def variables(github: Mapping[str, Any], runner: Mapping[str, str]) -> dict[str, str]:
    """Give the default variables of every step (docs: "Variables reference") out of its two contexts.

    What changes from step to step (GITHUB_ACTION, GITHUB_ENV, …) is the driver's; there is no GITHUB_TOKEN on GitHub
    either, and no ImageOS, since no image of GitHub's runs here.
    """
    given = {"CI": "true", "GITHUB_ACTIONS": "true"}
    for name, value in github.items():
        if name in _VARIABLES:
            text = str(value).lower() if isinstance(value, bool) else str(value)
            given[f"GITHUB_{name.upper()}"] = text
    return given | {f"RUNNER_{name.upper()}": value for name, value in runner.items()}
