from __future__ import annotations

from typing import Any

import pytest

from presubmit.upstream.event import (
    EventFacts,
    actor_of,
    base_branch,
    github_context,
    repository_of,
    runner_context,
    server_of,
    variables,
)
from presubmit.upstream.here import Here
from presubmit.upstream.payload import event_payload
from presubmit.values import ChangedFile, FileStatus, decode, encode

BASE, HEAD, MERGE = "b" * 40, "a" * 40, "c" * 40


def facts(**given: Any) -> EventFacts:
    plain: dict[str, Any] = {
        "repository": "pallets/markupsafe",
        "head_repository": "octocat/markupsafe",
        "base_ref": "main",
        "base_sha": BASE,
        "head_ref": "fix/speedups",
        "head_sha": HEAD,
        "merge_sha": MERGE,
        "title": "Speed up escape",
        "time": 1767225600,
        "actor": "octocat",
        "author": "Mona Octocat",
        "email": "mona@example.org",
    }
    return EventFacts(**{**plain, **given})


def context(given: EventFacts | None = None, event: str = "pull_request") -> dict[str, Any]:
    return github_context(
        given or facts(),
        workflow_path=".github/workflows/ci.yml",
        workflow_name="CI",
        job="tests",
        event=event,
        workspace="/w/markupsafe/markupsafe",
        event_path="/w/_temp/event.json",
    )


# --- names out of git ---


@pytest.mark.parametrize(
    "url",
    [
        "https://github.com/pallets/markupsafe",
        "https://github.com/pallets/markupsafe.git",
        "https://github.com/pallets/markupsafe/",
        "https://user:secret@github.com/pallets/markupsafe.git",
        "http://github.com/pallets/markupsafe",
        "git@github.com:pallets/markupsafe.git",
        "git@github.com:pallets/markupsafe",
        "github.com:pallets/markupsafe",
        "git@github.com:/pallets/markupsafe.git",
        "ssh://git@github.com/pallets/markupsafe.git",
        "ssh://git@ssh.github.com:443/pallets/markupsafe.git",
        "git+ssh://git@github.com/pallets/markupsafe",
        "git://github.com/pallets/markupsafe.git",
        "https://ghes.example.org/pallets/markupsafe.git",
        "org-1234@ghes.example.org:pallets/markupsafe.git",
        "https://mirror.example.org/github.com/pallets/markupsafe.git",
    ],
)
def test_a_repository_is_read_from_every_kind_of_url(url: str) -> None:
    assert repository_of(url) == "pallets/markupsafe"


@pytest.mark.parametrize(
    "url",
    [
        "/srv/git/pallets/markupsafe.git",
        "../pallets/markupsafe",
        "./markupsafe",
        "markupsafe",
        "~/pallets/markupsafe",
        "C:/pallets/markupsafe",
        "C:\\pallets\\markupsafe",
        "file:///srv/pallets/markupsafe.git",
        "file://host/srv/pallets/markupsafe.git",
        "https:///pallets/markupsafe",
        "https://[::1/pallets/markupsafe",
        "https://github.com:port/pallets/markupsafe",
        "https://github.com/pallets",
        "https://github.com/pallets/..",
        "https://github.com/pal lets/markupsafe",
        "https://github.com",
        "git@github.com:markupsafe.git",
        "",
    ],
)
def test_a_url_without_owner_and_name_gives_none(url: str) -> None:
    assert repository_of(url) is None


@pytest.mark.parametrize(
    ("url", "server"),
    [
        ("https://github.com/o/n", "https://github.com"),
        ("git@github.com:o/n", "https://github.com"),
        ("git@GitHub.com:o/n", "https://github.com"),
        ("ssh://git@ssh.github.com:443/o/n", "https://github.com"),
        ("ssh://git@ghes.example.org:2222/o/n", "https://ghes.example.org"),
        ("https://u:p@ghes.example.org:8443/o/n", "https://ghes.example.org:8443"),
        ("http://localhost:3000/o/n", "http://localhost:3000"),
        ("/srv/o/n", None),
        ("file:///srv/o/n", None),
    ],
)
def test_a_server_is_read_from_a_url(url: str, server: str | None) -> None:
    assert server_of(url) == server


@pytest.mark.parametrize(
    ("ref", "branch"),
    [
        ("upstream/main", "main"),
        ("origin/main", "main"),
        ("origin/release/1.x", "release/1.x"),
        ("main", "main"),
        ("release/1.x", "release/1.x"),
        ("refs/heads/feature/a", "feature/a"),
        ("refs/remotes/fork/feature/a", "feature/a"),
        ("origin", "origin"),
        ("deadbeef", "deadbeef"),
        ("a" * 40, ""),
        ("a" * 64, ""),
        ("main~2", ""),
        ("upstream/main^", ""),
        ("origin/main@{1}", ""),
        ("main..topic", ""),
        ("HEAD", ""),
        ("refs/tags/v1", ""),
        ("refs/pull/1/head", ""),
    ],
)
def test_a_base_branch_has_no_remote(ref: str, branch: str) -> None:
    assert base_branch(ref) == branch


def test_other_remotes_are_named_by_the_caller() -> None:
    assert base_branch("fork/main") == "fork/main"
    assert base_branch("fork/main", remotes=["fork"]) == "main"
    assert base_branch("origin/main", remotes=["fork"]) == "origin/main"


@pytest.mark.parametrize(
    ("name", "login"),
    [
        ("Mona Lisa", "mona-lisa"),
        ("Zoë Ångström", "zoe-angstrom"),
        ("A. Contributor", "a-contributor"),
        ("李雷", "contributor"),
        ("", "contributor"),
        ("x" * 38 + " yy", "x" * 38),
        ("$(reboot); `x`", "reboot-x"),
    ],
)
def test_a_login_is_made_of_a_name(name: str, login: str) -> None:
    assert actor_of(name) == login


# --- facts ---


def test_the_paths_are_both_ends_of_a_rename_and_deleted_files_in_order() -> None:
    given = facts(
        files=(
            ChangedFile(path="src/new.py", status=FileStatus.RENAMED, old_path="lib/old.py"),
            ChangedFile(path="gone.py", status=FileStatus.DELETED),
            ChangedFile(path="a\udcff", status=FileStatus.ADDED),
        )
    )
    assert given.paths == ("a\udcff", "gone.py", "lib/old.py", "src/new.py")


def test_facts_go_through_json() -> None:
    given = facts(files=(ChangedFile(path="a\udcff", status=FileStatus.ADDED),))
    assert decode(encode(given), EventFacts) == given


def test_a_branch_of_upstream_itself_is_no_fork() -> None:
    assert facts().fork
    assert not facts(head_repository="").fork
    assert not facts(head_repository="Pallets/MarkupSafe").fork


# --- the pull request ---


def test_the_context_is_that_of_the_merge_of_a_pull_request() -> None:
    expected = {
        "event_name": "pull_request",
        "ref": "refs/pull/0/merge",
        "ref_name": "0/merge",
        "ref_type": "branch",
        "ref_protected": False,
        "sha": MERGE,
        "base_ref": "main",
        "head_ref": "fix/speedups",
        "repository": "pallets/markupsafe",
        "repository_owner": "pallets",
        "repositoryUrl": "git://github.com/pallets/markupsafe.git",
        "actor": "octocat",
        "triggering_actor": "octocat",
        "workflow": "CI",
        "workflow_ref": "pallets/markupsafe/.github/workflows/ci.yml@refs/pull/0/merge",
        "workflow_sha": MERGE,
        "job": "tests",
        "token": "",
        "run_id": "1",
        "run_number": "1",
        "run_attempt": "1",
        "server_url": "https://github.com",
        "api_url": "https://api.github.com",
        "graphql_url": "https://api.github.com/graphql",
    }
    made = context()
    assert {key: made[key] for key in expected} == expected


def test_another_server_has_its_own_interfaces() -> None:
    made = context(facts(server_url="https://ghes.example.org"))
    assert made["api_url"] == "https://ghes.example.org/api/v3"
    assert made["graphql_url"] == "https://ghes.example.org/api/graphql"
    assert made["repositoryUrl"] == "git://ghes.example.org/pallets/markupsafe.git"
    repository = made["event"]["repository"]
    assert repository["clone_url"] == "https://ghes.example.org/pallets/markupsafe.git"
    assert repository["ssh_url"] == "git@ghes.example.org:pallets/markupsafe.git"


def test_the_payload_is_that_of_an_open_pull_request_from_a_fork() -> None:
    given = facts(
        body="Because it was slow.",
        number=7,
        additions=3,
        deletions=1,
        files=(ChangedFile(path="a.c", status=FileStatus.MODIFIED),),
    )
    made = event_payload(given)
    assert (made["action"], made["number"]) == ("synchronize", 7)
    assert (made["before"], made["after"]) == (BASE, HEAD)
    assert made["sender"]["login"] == "octocat"
    assert made["repository"] == made["pull_request"]["base"]["repo"]
    assert made["repository"]["full_name"] == "pallets/markupsafe"
    assert made["repository"]["name"] == "markupsafe"
    assert made["repository"]["owner"]["login"] == "pallets"
    assert made["repository"]["default_branch"] == "main"
    assert made["repository"]["html_url"] == "https://github.com/pallets/markupsafe"
    assert made["repository"]["fork"] is False
    assert made["repository"]["private"] is False
    pull = made["pull_request"]
    expected = {
        "number": 7,
        "title": "Speed up escape",
        "body": "Because it was slow.",
        "state": "open",
        "draft": False,
        "merged": False,
        "labels": [],
        "merge_commit_sha": MERGE,
        "changed_files": 1,
        "additions": 3,
        "deletions": 1,
        "commits": 1,
        "created_at": "2026-01-01T00:00:00Z",
        "html_url": "https://github.com/pallets/markupsafe/pull/7",
        "maintainer_can_modify": True,
    }
    assert {key: pull[key] for key in expected} == expected
    assert pull["user"]["login"] == "octocat"
    assert (pull["base"]["ref"], pull["base"]["sha"]) == ("main", BASE)
    assert (pull["head"]["ref"], pull["head"]["sha"]) == ("fix/speedups", HEAD)
    assert pull["head"]["label"] == "octocat:fix/speedups"
    assert pull["head"]["repo"]["full_name"] == "octocat/markupsafe"
    assert pull["head"]["repo"]["fork"] is True


def test_a_pull_request_without_a_body_has_null() -> None:
    assert event_payload(facts())["pull_request"]["body"] is None


def test_an_opened_pull_request_has_no_before_and_after() -> None:
    made = event_payload(facts(), action="opened")
    assert made["action"] == "opened"
    assert "before" not in made


# --- the push ---


def test_a_push_is_one_of_the_branch_with_the_change() -> None:
    made = context(event="push")
    assert made["ref"] == "refs/heads/fix/speedups"
    assert made["ref_name"] == "fix/speedups"
    assert made["sha"] == HEAD
    assert (made["base_ref"], made["head_ref"]) == ("", "")
    assert made["event"]["ref"] == "refs/heads/fix/speedups"


def test_the_payload_of_a_push_has_its_commit() -> None:
    given = facts(
        body="Because.",
        files=(
            ChangedFile(path="new.py", status=FileStatus.ADDED),
            ChangedFile(path="b.py", status=FileStatus.RENAMED, old_path="a.py"),
            ChangedFile(path="c.py", status=FileStatus.MODIFIED),
            ChangedFile(path="d.py", status=FileStatus.DELETED),
        ),
    )
    made = event_payload(given, event="push")
    assert (made["before"], made["after"]) == (BASE, HEAD)
    assert made["commits"] == [made["head_commit"]]
    commit = made["head_commit"]
    assert commit["id"] == HEAD
    assert commit["message"] == "Speed up escape\n\nBecause."
    assert commit["timestamp"] == "2026-01-01T00:00:00+00:00"
    assert commit["author"] == {
        "name": "Mona Octocat",
        "email": "mona@example.org",
        "username": "octocat",
    }
    assert commit["added"] == ["new.py", "b.py"]
    assert commit["modified"] == ["c.py"]
    assert commit["removed"] == ["d.py", "a.py"]


def test_a_commit_without_a_body_is_its_subject() -> None:
    commit = event_payload(facts(author=""), event="push")["head_commit"]
    assert commit["message"] == "Speed up escape"
    assert commit["author"]["name"] == "octocat"


# --- variables ---


def test_the_variables_are_the_documented_ones() -> None:
    runner = runner_context(
        Here(), temp="/w/_temp", tools="/tools", workspace="/w/markupsafe/markupsafe"
    )
    assert variables(context(), runner) == {
        "CI": "true",
        "GITHUB_ACTIONS": "true",
        "GITHUB_ACTOR": "octocat",
        "GITHUB_ACTOR_ID": "0",
        "GITHUB_API_URL": "https://api.github.com",
        "GITHUB_BASE_REF": "main",
        "GITHUB_EVENT_NAME": "pull_request",
        "GITHUB_EVENT_PATH": "/w/_temp/event.json",
        "GITHUB_GRAPHQL_URL": "https://api.github.com/graphql",
        "GITHUB_HEAD_REF": "fix/speedups",
        "GITHUB_JOB": "tests",
        "GITHUB_REF": "refs/pull/0/merge",
        "GITHUB_REF_NAME": "0/merge",
        "GITHUB_REF_PROTECTED": "false",
        "GITHUB_REF_TYPE": "branch",
        "GITHUB_REPOSITORY": "pallets/markupsafe",
        "GITHUB_REPOSITORY_ID": "0",
        "GITHUB_REPOSITORY_OWNER": "pallets",
        "GITHUB_REPOSITORY_OWNER_ID": "0",
        "GITHUB_RETENTION_DAYS": "90",
        "GITHUB_RUN_ATTEMPT": "1",
        "GITHUB_RUN_ID": "1",
        "GITHUB_RUN_NUMBER": "1",
        "GITHUB_SERVER_URL": "https://github.com",
        "GITHUB_SHA": MERGE,
        "GITHUB_TRIGGERING_ACTOR": "octocat",
        "GITHUB_WORKFLOW": "CI",
        "GITHUB_WORKFLOW_REF": ("pallets/markupsafe/.github/workflows/ci.yml@refs/pull/0/merge"),
        "GITHUB_WORKFLOW_SHA": MERGE,
        "GITHUB_WORKSPACE": "/w/markupsafe/markupsafe",
        "RUNNER_ARCH": "X64",
        "RUNNER_ENVIRONMENT": "github-hosted",
        "RUNNER_NAME": "presubmit",
        "RUNNER_OS": "Linux",
        "RUNNER_TEMP": "/w/_temp",
        "RUNNER_TOOL_CACHE": "/tools",
        "RUNNER_WORKSPACE": "/w/markupsafe",
    }


def test_no_token_and_no_payload_become_variables() -> None:
    names = variables(context(), {})
    assert not names.keys() & {"GITHUB_TOKEN", "GITHUB_EVENT", "GITHUB_REPOSITORYURL", "ImageOS"}


def test_debugging_is_a_variable_where_the_context_has_it() -> None:
    assert variables({}, {"debug": "1"})["RUNNER_DEBUG"] == "1"
