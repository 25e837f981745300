from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

import pytest

from presubmit.change import read_repository
from presubmit.change.base import read_base
from presubmit.errors import ExitCode, GitError

if TYPE_CHECKING:
    from pathlib import Path

    from presubmit.values import Base
    from tests.conftest import MakeRepo, Repo


def base_of(path: Path, **options: Any) -> Base:
    given = {"base": None, "environ": {}, "configured": None, "fetch": False, **options}
    return read_base(read_repository(path), **given)


@pytest.fixture
def repo(make_repo: MakeRepo) -> Repo:
    """Branch feat, two commits after upstream/main; upstream has gone on by one."""
    made = make_repo({"a.py": "1\n"})
    made.commit({"b.py": "1\n"}, message="fork point")
    made.git("branch", "fork")
    made.commit({"c.py": "1\n"}, message="upstream goes on")
    made.with_upstream()
    made.git("checkout", "-q", "-b", "feat", "fork")
    made.commit({"d.py": "1\n"})
    return made


def test_the_merge_base_with_upstream_is_the_base(repo: Repo) -> None:
    found = base_of(repo.path)
    assert found.commit == repo.git("rev-parse", "fork")
    assert found.tree == repo.git("rev-parse", "fork^{tree}")
    assert (found.ref, found.how, found.behind) == ("upstream/main", "remote upstream", 1)
    assert found.warning == ""


def test_upstream_wins_over_origin_and_a_local_main_is_never_asked(repo: Repo) -> None:
    repo.with_upstream(remote="origin")
    repo.git("branch", "-f", "main", "HEAD")
    assert base_of(repo.path).ref == "upstream/main"
    repo.git("remote", "remove", "upstream")
    assert base_of(repo.path).ref == "origin/main"


def test_the_remotes_head_wins_over_main(repo: Repo) -> None:
    repo.git("push", "-q", "upstream", "fork:refs/heads/develop")
    repo.git("fetch", "-q", "upstream")
    repo.git("remote", "set-head", "upstream", "develop")
    assert base_of(repo.path).ref == "upstream/develop"


def test_a_remote_head_that_points_nowhere_falls_through_to_main(repo: Repo) -> None:
    repo.git("symbolic-ref", "refs/remotes/upstream/HEAD", "refs/remotes/upstream/gone")
    assert base_of(repo.path).ref == "upstream/main"


def test_master_is_found(make_repo: MakeRepo) -> None:
    made = make_repo({"a.py": ""})
    made.with_upstream(remote="origin", branch="master")
    assert base_of(made.path).ref == "origin/master"


def test_the_order_is_option_environment_ci_config_branch_remote(repo: Repo) -> None:
    repo.with_upstream(remote="origin")
    for name in ("one", "two", "four", "five"):
        repo.git("branch", name, "fork")
    repo.git("config", "branch.feat.presubmitBase", "five")
    environ = {"PRESUBMIT_BASE": "two", "GITHUB_BASE_REF": "main"}
    given: dict[str, Any] = {"base": "one", "environ": environ, "configured": "four"}
    assert (base_of(repo.path, **given).ref, base_of(repo.path, **given).how) == ("one", "--base")
    given["base"] = None
    assert base_of(repo.path, **given).how == "$PRESUBMIT_BASE"
    environ["PRESUBMIT_BASE"] = ""
    found = base_of(repo.path, **given)
    assert (found.ref, found.how) == ("origin/main", "$GITHUB_BASE_REF")
    environ["GITHUB_BASE_REF"] = ""
    assert (base_of(repo.path, **given).ref, base_of(repo.path, **given).how) == ("four", "config")
    given["configured"] = None
    found = base_of(repo.path, **given)
    assert (found.ref, found.how) == ("five", "branch.feat.presubmitBase")
    repo.git("checkout", "-q", "--detach")
    assert base_of(repo.path, **given).how == "remote upstream"


@pytest.mark.parametrize(
    "given",
    [
        {"base": "gone"},
        {"environ": {"PRESUBMIT_BASE": "gone"}},
        {"environ": {"GITHUB_BASE_REF": "gone"}},
        {"configured": "gone"},
        {"base": "--all"},
    ],
)
def test_a_named_base_that_is_not_there_is_an_error(repo: Repo, given: dict[str, Any]) -> None:
    with pytest.raises(GitError, match="does not exist") as caught:
        base_of(repo.path, **given)
    assert caught.value.exit_code is ExitCode.ENVIRONMENT


def test_hints_name_the_command_or_the_branch_that_was_meant(repo: Repo) -> None:
    with pytest.raises(GitError) as caught:
        base_of(repo.path, base="upstream/next")
    assert caught.value.hint == ("git fetch upstream +refs/heads/next:refs/remotes/upstream/next")
    repo.git("branch", "-D", "main")
    with pytest.raises(GitError) as caught:
        base_of(repo.path, base="main")
    assert caught.value.hint == "did you mean upstream/main?"


def test_without_a_remote_the_error_lists_what_was_tried(make_repo: MakeRepo) -> None:
    made = make_repo({"a.py": ""})
    with pytest.raises(GitError, match=r"\$PRESUBMIT_BASE.*upstream and origin") as caught:
        base_of(made.path)
    assert "--base REF" in caught.value.hint


def test_a_remote_that_was_never_fetched_names_the_commands(make_repo: MakeRepo) -> None:
    made = make_repo({"a.py": ""})
    made.git("remote", "add", "upstream", "/nowhere")
    with pytest.raises(GitError, match="upstream/main, upstream/master") as caught:
        base_of(made.path)
    assert "git remote set-head upstream -a" in caught.value.hint


def test_an_unborn_branch_has_no_base(make_repo: MakeRepo) -> None:
    with pytest.raises(GitError, match="no commit yet"):
        base_of(make_repo().path)


def test_unrelated_histories_are_an_error(repo: Repo) -> None:
    repo.git("checkout", "-q", "--orphan", "alone")
    repo.commit({"z.py": ""})
    with pytest.raises(GitError, match="no commit in common"):
        base_of(repo.path)


def test_the_base_of_a_named_commit_is_that_commits(repo: Repo) -> None:
    old = repo.git("rev-parse", "fork~1")
    assert base_of(repo.path, head=old).commit == old


def test_several_merge_bases_are_said(make_repo: MakeRepo) -> None:
    made = make_repo({"a": ""})
    made.git("branch", "left")
    first = made.commit({"b": ""})
    made.git("checkout", "-q", "left")
    second = made.commit({"c": ""})
    made.git("merge", "-q", "--no-edit", first)
    made.git("checkout", "-q", "main")
    made.git("merge", "-q", "--no-edit", second)
    found = base_of(made.path, base="left")
    assert found.commit in {first, second}
    assert "2 merge bases" in found.warning


def shallow_clone(made: Repo, bare: Path, tmp_path: Path) -> Path:
    path = tmp_path / "shallow"
    made.git("clone", "-q", "--depth=1", "-b", "feat", f"file://{bare}", str(path))
    return path


def long_history(made: Repo) -> Path:
    """Give an upstream whose main and feat parted 60 commits ago."""
    made.git("checkout", "-q", "-b", "feat2")
    bare = made.with_upstream(remote="far")
    tree = made.git("rev-parse", "HEAD^{tree}")
    for _ in range(60):
        commit = made.git("commit-tree", "-p", "HEAD", "-m", "one more", tree)
        made.git("update-ref", "HEAD", commit)
    made.git("push", "-q", "far", "HEAD:refs/heads/feat")
    return bare


def test_a_shallow_clone_names_the_command_that_mends_it(repo: Repo, tmp_path: Path) -> None:
    path = shallow_clone(repo, long_history(repo), tmp_path)
    repo.git(
        "-C", str(path), "fetch", "-q", "--depth=1", "origin", "+main:refs/remotes/origin/main"
    )
    with pytest.raises(GitError, match="shallow") as caught:
        base_of(path)
    assert caught.value.hint.startswith("git fetch --deepen=50 origin")


def test_with_fetch_a_shallow_clone_is_deepened_until_the_base_is_there(
    repo: Repo, tmp_path: Path
) -> None:
    bare = long_history(repo)
    path = shallow_clone(repo, bare, tmp_path)
    found = base_of(path, fetch=True)
    assert found.commit == repo.git("rev-parse", "far/main")
    assert (found.ref, found.behind) == ("origin/main", 0)


def test_with_fetch_a_missing_base_is_fetched_and_without_it_is_not(repo: Repo) -> None:
    repo.git("push", "-q", "upstream", "fork:refs/heads/next")
    repo.git("update-ref", "-d", "refs/remotes/upstream/next")
    with pytest.raises(GitError, match="does not exist"):
        base_of(repo.path, base="upstream/next")
    assert base_of(repo.path, base="upstream/next", fetch=True).ref == "upstream/next"


def age(repo: Repo, days: float) -> None:
    """Make it look as if upstream was last fetched days ago."""
    then = int(time.time() - days * 86400)
    log = repo.path / ".git/logs/refs/remotes/upstream/main"
    for path in (log, repo.path / ".git/logs/refs/remotes/upstream/HEAD"):
        if path.exists():
            words = path.read_text().splitlines()[-1].split("\t")
            head = words[0].rsplit(" ", 2)[0]
            path.write_text(f"{head} {then} +0000\t{words[1]}\n")
    os.utime(repo.path / ".git/FETCH_HEAD", (then, then))


def test_an_old_tracking_branch_gives_a_warning_and_a_fetch_ends_it(repo: Repo) -> None:
    age(repo, 30)
    assert base_of(repo.path).warning == (
        "upstream/main was fetched 30 days ago: git fetch upstream"
    )
    assert base_of(repo.path, base="refs/remotes/upstream/main").warning != ""
    repo.git("fetch", "-q", "upstream")  # nothing moves: only FETCH_HEAD tells
    assert base_of(repo.path).warning == ""


def test_a_fetch_of_another_remote_says_nothing_about_upstream(repo: Repo) -> None:
    repo.with_upstream(remote="origin")
    age(repo, 30)
    repo.git("fetch", "-q", "origin")
    assert "30 days" in base_of(repo.path).warning


def test_no_known_time_gives_no_warning(repo: Repo) -> None:
    (repo.path / ".git/logs/refs/remotes/upstream/main").unlink()
    (repo.path / ".git/FETCH_HEAD").unlink()
    assert base_of(repo.path).warning == ""


def test_with_fetch_a_local_name_is_not_fetched(repo: Repo) -> None:
    assert base_of(repo.path, base="fork", fetch=True).ref == "fork"
    assert base_of(repo.path, fetch=True).ref == "upstream/main"
