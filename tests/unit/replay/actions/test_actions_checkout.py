from __future__ import annotations

import pytest

from presubmit.replay.actions.checkout import _refspecs, prepared, support
from presubmit.replay.job.gitdir import Prepared, refspecs
from presubmit.upstream.here import Here
from presubmit.upstream.uses import Wanted

GIT = Here(tools={"git": "/usr/bin/git"})


def wanted(**inputs: str | None) -> Wanted:
    given = {name.replace("_", "-"): value for name, value in inputs.items()}
    return Wanted(uses="actions/checkout@v4", inputs=given, repository="owner/project")


@pytest.mark.parametrize(
    ("inputs", "found"),
    [
        ({}, Prepared()),
        ({"fetch-depth": "0"}, Prepared(depth=0)),
        ({"fetch-depth": "20"}, Prepared(depth=20)),
        ({"fetch-depth": "1.9"}, Prepared()),
        ({"fetch-depth": "-1"}, Prepared(depth=0)),
        ({"fetch-depth": "all"}, Prepared(depth=0)),
        ({"fetch-depth": " 2 "}, Prepared(depth=2)),
        ({"fetch-depth": None}, Prepared()),
        ({"fetch-tags": "true"}, Prepared(tags=True)),
        ({"fetch-tags": "yes"}, Prepared()),
        ({"submodules": "true"}, Prepared(submodules="true")),
        ({"submodules": "Recursive"}, Prepared(submodules="recursive")),
        ({"submodules": "false"}, Prepared()),
        ({"path": "."}, Prepared()),
        ({"path": ""}, Prepared()),
        ({"repository": "Owner/Project"}, Prepared()),
        ({"ref": "refs/pull/0/merge"}, Prepared()),
        ({"ref": None}, Prepared()),
        ({"clean": "false", "persist-credentials": "false"}, Prepared()),
    ],
)
def test_what_a_step_will_want_is_laid(inputs: dict[str, str | None], found: Prepared) -> None:
    assert prepared(inputs, repository="owner/project") == found


@pytest.mark.parametrize(
    "inputs",
    [
        {"path": "sub"},
        {"path": None},
        {"ref": "main"},
        {"ref": "1" * 40},
        {"repository": "other/project"},
        {"repository": None},
    ],
)
def test_what_is_not_the_default_is_left_to_the_step(inputs: dict[str, str | None]) -> None:
    assert prepared(inputs, repository="owner/project") is None


@pytest.mark.parametrize(
    ("inputs", "lacks"),
    [
        ({}, ""),
        ({"repository": "owner/project"}, ""),
        ({"repository": "me/project"}, ""),
        ({"repository": None}, ""),
        ({"repository": "other/tool"}, "repository other/tool (only this one is here)"),
        (
            {"repository": "owner/project-extras"},
            "repository owner/project-extras (only this one is here)",
        ),
    ],
)
def test_only_this_project_is_here(inputs: dict[str, str | None], lacks: str) -> None:
    assert support(wanted(**inputs), GIT).lacks == lacks


@pytest.mark.parametrize(
    ("inputs", "lacks"),
    [
        ({}, ""),
        ({"fetch_depth": "0"}, ""),
        ({"path": "sub"}, "git in the image (checkout with `path`)"),
        ({"sparse_checkout": "src"}, "git in the image (checkout with `sparse-checkout`)"),
    ],
)
def test_without_git_only_what_is_laid_can_be_had(inputs: dict[str, str], lacks: str) -> None:
    assert support(wanted(**inputs), Here()).lacks == lacks


def test_what_is_ignored_is_said() -> None:
    assert support(wanted(ssh_key="x", lfs="true"), GIT).note == (
        "`ssh-key` is not used; files of Git LFS stay pointers"
    )
    assert support(wanted(ssh_key="", lfs="false"), GIT).note == ""


@pytest.mark.parametrize(
    ("ref", "commit", "specs"),
    [
        ("", "abc", ("abc",)),
        ("refs/heads/a/b", "", ("+refs/heads/a/b:refs/remotes/origin/a/b",)),
        ("refs/heads/a", "abc", ("+abc:refs/remotes/origin/a",)),
        ("refs/pull/7/merge", "abc", ("+abc:refs/remotes/pull/7/merge",)),
        ("refs/tags/v1", "", ("+refs/tags/v1:refs/tags/v1",)),
        ("v1", "", ("+refs/heads/v1*:refs/remotes/origin/v1*", "+refs/tags/v1*:refs/tags/v1*")),
    ],
)
def test_a_ref_is_fetched_as_the_action_does(
    ref: str, commit: str, specs: tuple[str, ...]
) -> None:
    assert _refspecs(ref, commit) == specs


@pytest.mark.parametrize(
    ("found", "specs"),
    [
        (Prepared(), ("+abc:refs/remotes/pull/0/merge",)),
        (Prepared(tags=True), ("+refs/tags/*:refs/tags/*", "+abc:refs/remotes/pull/0/merge")),
        (
            Prepared(depth=0),
            (
                "+refs/heads/*:refs/remotes/origin/*",
                "+refs/tags/*:refs/tags/*",
                "+abc:refs/remotes/pull/0/merge",
            ),
        ),
    ],
)
def test_the_default_is_fetched_as_the_action_does(
    found: Prepared, specs: tuple[str, ...]
) -> None:
    assert refspecs("abc", found) == specs
