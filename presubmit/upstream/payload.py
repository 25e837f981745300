"""The payload that GitHub's webhook would send for the change (docs: "Webhook events and payloads")."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from presubmit.values import FileStatus

if TYPE_CHECKING:
    from presubmit.upstream.event import EventFacts

GITHUB: Final = "https://github.com"


def event_payload(
    facts: EventFacts, *, event: str = "pull_request", action: str = "synchronize"
) -> dict[str, Any]:
    """Give the payload of a push of the branch, or else of its pull request."""
    return _push(facts) if event == "push" else _pull_request(facts, action)


def _pull_request(facts: EventFacts, action: str) -> dict[str, Any]:
    when = datetime.fromtimestamp(facts.time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    url = f"{facts.server_url}/{facts.repository}/pull/{facts.number}"
    pushed = {"before": facts.base_sha, "after": facts.head_sha}
    return {
        "action": action,
        "number": facts.number,
        **(pushed if action == "synchronize" else {}),
        "pull_request": {
            "id": 0,
            "number": facts.number,
            "url": f"{api_urls(facts.server_url)[0]}/repos/{facts.repository}/pulls/{facts.number}",
            "html_url": url,
            "diff_url": f"{url}.diff",
            "patch_url": f"{url}.patch",
            "state": "open",
            "locked": False,
            "draft": False,
            "title": facts.title,
            "body": facts.body or None,
            "user": _user(facts.actor),
            "author_association": "CONTRIBUTOR",
            "labels": [],
            "assignee": None,
            "assignees": [],
            "requested_reviewers": [],
            "requested_teams": [],
            "milestone": None,
            "auto_merge": None,
            "created_at": when,
            "updated_at": when,
            "closed_at": None,
            "merged_at": None,
            "merged": False,
            "merged_by": None,
            "mergeable": True,
            "mergeable_state": "clean",
            "merge_commit_sha": facts.merge_sha,
            "maintainer_can_modify": facts.fork,
            "comments": 0,
            "review_comments": 0,
            "commits": facts.commits,
            "additions": facts.additions,
            "deletions": facts.deletions,
            "changed_files": len(facts.files),
            "head": _end(facts, facts.head, facts.head_ref, facts.head_sha),
            "base": _end(facts, facts.repository, facts.base_ref, facts.base_sha),
        },
        "repository": _repository(facts, facts.repository),
        "sender": _user(facts.actor),
    }


def _push(facts: EventFacts) -> dict[str, Any]:
    url = f"{facts.server_url}/{facts.repository}"
    person = {"name": facts.author or facts.actor, "email": facts.email, "username": facts.actor}
    commit = {
        "id": facts.head_sha,
        "message": f"{facts.title}\n\n{facts.body}" if facts.body else facts.title,
        "timestamp": datetime.fromtimestamp(facts.time, UTC).isoformat(),
        "url": f"{url}/commit/{facts.head_sha}",
        "distinct": True,
        "author": person,
        "committer": person,
        "added": _with(facts, FileStatus.ADDED, FileStatus.RENAMED),
        "modified": _with(facts, FileStatus.MODIFIED),
        "removed": [
            *_with(facts, FileStatus.DELETED),
            *(file.old_path for file in facts.files if file.old_path is not None),
        ],
    }
    return {
        "ref": f"refs/heads/{facts.head_ref}",
        "before": facts.base_sha,
        "after": facts.head_sha,
        "created": False,
        "deleted": False,
        "forced": False,
        "base_ref": None,
        "compare": f"{url}/compare/{facts.base_sha[:12]}...{facts.head_sha[:12]}",
        "commits": [commit],
        "head_commit": commit,
        "repository": _repository(facts, facts.repository),
        "pusher": {"name": facts.actor, "email": facts.email},
        "sender": _user(facts.actor),
    }


def _with(facts: EventFacts, *status: FileStatus) -> list[str]:
    return [file.path for file in facts.files if file.status in status]


def _end(facts: EventFacts, repository: str, ref: str, sha: str) -> dict[str, Any]:
    """Give one end of the pull request, `head` or `base`."""
    owner = repository.partition("/")[0]
    return {
        "label": f"{owner}:{ref}",
        "ref": ref,
        "sha": sha,
        "user": _user(owner),
        "repo": _repository(facts, repository),
    }


def _repository(facts: EventFacts, full_name: str) -> dict[str, Any]:
    owner, _, name = full_name.partition("/")
    url = f"{facts.server_url}/{full_name}"
    return {
        "id": 0,
        "name": name,
        "full_name": full_name,
        "owner": _user(owner),
        "private": False,
        "visibility": "public",
        "fork": full_name.casefold() != facts.repository.casefold(),
        "archived": False,
        "default_branch": facts.default_branch,
        "html_url": url,
        "url": f"{api_urls(facts.server_url)[0]}/repos/{full_name}",
        "clone_url": f"{url}.git",
        "git_url": git_url(facts.server_url, full_name),
        "ssh_url": f"git@{facts.server_url.partition('://')[2]}:{full_name}.git",
    }


def git_url(server: str, full_name: str) -> str:
    """Give `github.repositoryUrl`."""
    return f"git://{server.partition('://')[2]}/{full_name}.git"


def _user(login: str) -> dict[str, Any]:
    return {"login": login, "id": 0, "type": "User", "site_admin": False}


def api_urls(server: str) -> tuple[str, str]:
    """Give the addresses of a server's REST and GraphQL interfaces."""
    if server == GITHUB:
        return "https://api.github.com", "https://api.github.com/graphql"
    return f"{server}/api/v3", f"{server}/api/graphql"
