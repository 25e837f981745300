from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from presubmit.change import read_repository
from presubmit.change.repository import alternates, resolve
from presubmit.errors import ExitCode, GitError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import MakeRepo

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")


def test_a_checkout_is_found_from_a_folder_or_file_inside_it(make_repo: MakeRepo) -> None:
    repo = make_repo({"sub/a.py": ""})
    found = read_repository(repo.path / "sub")
    assert (found.top, found.git_dir) == (repo.path, repo.path / ".git")
    assert (found.branch, found.head) == ("main", repo.git("rev-parse", "HEAD"))
    assert (found.linked, found.shallow, found.superproject) == (False, False, None)
    assert read_repository(repo.path / "sub" / "a.py") == found


def test_detached_and_unborn_heads_are_told(make_repo: MakeRepo) -> None:
    unborn = read_repository(make_repo(name="unborn").path)
    assert (unborn.branch, unborn.head) == ("main", None)
    repo = make_repo({"a.py": ""})
    repo.git("checkout", "-q", "--detach")
    assert read_repository(repo.path).branch is None


def test_a_linked_worktree_is_itself_even_with_git_dir_exported(
    make_repo: MakeRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo, other = make_repo({"a.py": ""}), make_repo({"b.py": ""}, name="other")
    repo.git("worktree", "add", "-q", "-b", "feat", str(tmp_path / "wt"))
    monkeypatch.setenv("GIT_DIR", str(other.path / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", "elsewhere")
    found = read_repository(tmp_path / "wt")
    assert (found.top, found.branch, found.linked) == (tmp_path / "wt", "feat", True)
    assert found.common_dir == repo.path / ".git"


def test_a_sha256_repository_is_read(make_repo: MakeRepo) -> None:
    repo = make_repo({"a.py": ""}, options=("--object-format=sha256",))
    found = read_repository(repo.path)
    assert (found.object_format, len(found.head or "")) == ("sha256", 64)


def test_no_repository_is_an_error_with_a_hint(tmp_path: Path) -> None:
    with pytest.raises(GitError, match="not in a git repository") as caught:
        read_repository(tmp_path)
    assert caught.value.exit_code is ExitCode.ENVIRONMENT
    assert "git clone" in caught.value.hint


def test_a_folder_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(GitError, match="is not a folder"):
        read_repository(Path("/nowhere/at/all"))


def test_a_bare_repository_and_the_git_folder_are_errors(make_repo: MakeRepo) -> None:
    repo = make_repo({"a.py": ""})
    with pytest.raises(GitError, match="bare"):
        read_repository(repo.with_upstream())
    with pytest.raises(GitError, match="inside a git directory"):
        read_repository(repo.path / ".git")


@needs_root
def test_a_repository_of_another_user_names_the_command_that_mends_it(make_repo: MakeRepo) -> None:
    repo = make_repo({"a.py": ""})
    os.chown(repo.path, 12345, 12345)
    os.chown(repo.path / ".git", 12345, 12345)
    with pytest.raises(GitError, match="belongs to another user") as caught:
        read_repository(repo.path)
    assert caught.value.hint == f"git config --global --add safe.directory {repo.path}"


def test_a_submodule_checkout_is_a_repository(make_repo: MakeRepo) -> None:
    inner, repo = make_repo({"i.py": ""}, name="inner"), make_repo({"a.py": ""})
    repo.git("-c", "protocol.file.allow=always", "submodule", "-q", "add", str(inner.path), "sub")
    found = read_repository(repo.path / "sub")
    assert (found.top, found.superproject) == (repo.path / "sub", repo.path)
    assert found.common_dir == repo.path / ".git" / "modules" / "sub"


def test_a_folder_with_an_odd_name_is_read(make_repo: MakeRepo) -> None:
    repo = make_repo({"a.py": "x\n"}, name='a: "b"\\ \n c')
    found = read_repository(repo.path)
    assert found.top == repo.path
    assert resolve(repo.path, "HEAD", env=found.object_env) == found.head


def test_a_missing_git_is_said(make_repo: MakeRepo, monkeypatch: pytest.MonkeyPatch) -> None:
    repo = make_repo({"a.py": ""})
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(GitError, match="git is not installed"):
        read_repository(repo.path)


def test_an_option_is_no_revision(make_repo: MakeRepo) -> None:
    repo = make_repo({"a.py": ""})
    assert resolve(repo.path, "--all") is None
    assert resolve(repo.path, "nothing") is None


def test_borrowed_object_folders_are_followed(make_repo: MakeRepo, tmp_path: Path) -> None:
    repo = make_repo({"a.py": ""})
    repo.git("clone", "-q", "--shared", str(repo.path), str(tmp_path / "b"))
    repo.git("clone", "-q", "--shared", str(tmp_path / "b"), str(tmp_path / "c"))
    assert alternates(tmp_path / "c" / ".git" / "objects") == (
        tmp_path / "b" / ".git" / "objects",
        repo.path / ".git" / "objects",
    )
    assert alternates(repo.path / ".git" / "objects") == ()


def test_a_git_folder_without_write_access_is_an_error(
    open_folder: Path, git: Any, as_other_user: Callable[[Callable[[], object]], str]
) -> None:
    git(open_folder, "init", "-q")
    os.chown(open_folder, 1000, 1000)
    git_dir = open_folder / ".git"
    git(open_folder, "config", "--global", "--add", "safe.directory", str(open_folder))
    message = as_other_user(lambda: read_repository(open_folder))
    assert message == f"cannot write to {git_dir / 'presubmit'}: Permission denied"


def test_a_file_in_place_of_our_folder_is_an_error_that_says_so(make_repo: MakeRepo) -> None:
    repo = make_repo({"a.py": ""})
    (repo.path / ".git/presubmit").write_text("")
    with pytest.raises(GitError, match="cannot write to") as caught:
        read_repository(repo.path)
    assert "move the file away" in caught.value.hint


def test_a_repository_with_a_broken_configuration_is_an_error(make_repo: MakeRepo) -> None:
    repo = make_repo({"a.py": ""})
    (repo.path / ".git/config").write_text("[broken")
    with pytest.raises(GitError, match="bad config line"):
        read_repository(repo.path)
