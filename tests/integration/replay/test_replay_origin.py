from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from presubmit.replay.job.origin import prune_origins
from tests.conftest import PERSON, MakeRepo, Repo, run_git
from tests.integration.replay.cells import NAME, files_of, origin_of

if TYPE_CHECKING:
    from pathlib import Path

    from presubmit.replay.job.origin import Origin


def refs(origin: Origin) -> dict[str, str]:
    text = run_git(origin.folder, "for-each-ref", "--format=%(refname) %(objectname)")
    return dict(line.split(" ", 1) for line in text.splitlines())


def forked(make_repo: MakeRepo) -> Repo:
    """A fork whose upstream is ahead by one commit, on a branch with one commit of its own."""
    repo = make_repo({"a.txt": "0\n"})
    repo.commit({"a.txt": "1\n"})
    repo.git("tag", "-a", "v1", "-m", "One")
    repo.commit({"b.txt": "a\n"})
    repo.commit({"b.txt": "b\n"})
    repo.with_upstream()
    repo.git("switch", "-q", "-c", "ahead")
    repo.commit({"later.txt": "x\n"})
    repo.git("push", "-q", "upstream", "HEAD:main", "HEAD:release/1.x")
    repo.git("fetch", "-q", "upstream")
    repo.git("switch", "-q", "-c", "feature", "main")
    repo.commit({"a.txt": "2\n"})
    return repo


def client(tmp_path: Path, origin: Origin, *fetch: str) -> Path:
    folder = tmp_path / "client"
    folder.mkdir()
    run_git(folder, "init", "-q", "-b", "none")
    run_git(folder, "remote", "add", "origin", origin.url(inside=False))
    options = [word for word in fetch if word.startswith("--")]
    run_git(folder, "fetch", "-q", *options, "origin", *(w for w in fetch if w not in options))
    return folder


def test_the_base_branch_is_what_the_change_is_compared_with(
    make_repo: MakeRepo, tmp_path: Path
) -> None:
    repo = forked(make_repo)
    origin = origin_of(repo, tmp_path / "cache")
    assert refs(origin)["refs/heads/main"] == repo.git("merge-base", "upstream/main", "HEAD")
    assert repo.git("rev-parse", "upstream/main") != origin.base
    assert run_git(origin.folder, "symbolic-ref", "HEAD") == "refs/heads/main"


def test_the_merge_has_the_tree_under_test_on_base_and_head(
    make_repo: MakeRepo, tmp_path: Path
) -> None:
    repo = forked(make_repo)
    origin = origin_of(repo, tmp_path / "cache")
    shown = run_git(origin.folder, "log", "-1", "--format=%T %P%n%s", "refs/pull/0/merge")
    head = repo.git("rev-parse", "HEAD")
    assert shown == (
        f"{repo.git('rev-parse', 'HEAD^{tree}')} {origin.base} {head}\nMerge {head} into {origin.base}"
    )
    assert refs(origin)["refs/pull/0/head"] == origin.head == head


def test_the_same_change_gives_the_same_merge_and_an_edit_another(
    make_repo: MakeRepo, tmp_path: Path
) -> None:
    repo = forked(make_repo)
    first = origin_of(repo, tmp_path / "one")
    assert origin_of(repo, tmp_path / "two").merge == first.merge
    repo.write({"a.txt": "3\n"})
    assert origin_of(repo, tmp_path / "one").merge != first.merge


def test_the_head_of_an_edited_checkout_is_a_snapshot_on_its_head(
    make_repo: MakeRepo, tmp_path: Path
) -> None:
    repo = forked(make_repo)
    repo.write({"new.txt": "untracked\n"})
    origin = origin_of(repo, tmp_path / "cache")
    parents = run_git(origin.folder, "log", "-1", "--format=%P", origin.head)
    assert parents == repo.git("rev-parse", "HEAD")
    assert run_git(origin.folder, "show", f"{origin.merge}:new.txt") == "untracked"


def test_it_has_upstreams_branches_and_all_tags_but_no_other_branch_of_the_users(
    make_repo: MakeRepo, tmp_path: Path
) -> None:
    repo = forked(make_repo)
    assert set(refs(origin_of(repo, tmp_path / "cache"))) == {
        "refs/heads/feature",
        "refs/heads/main",
        "refs/heads/release/1.x",
        "refs/pull/0/head",
        "refs/pull/0/merge",
        "refs/tags/v1",
    }


def test_a_branch_whose_name_cannot_stand_beside_upstreams_is_left_out(
    make_repo: MakeRepo, tmp_path: Path
) -> None:
    repo = forked(make_repo)
    repo.git("branch", "-m", "main", "old")
    repo.git("branch", "-m", "feature", "main/feature")
    origin = origin_of(repo, tmp_path / "cache")
    assert "refs/heads/main/feature" not in refs(origin)
    client(tmp_path, origin, "+refs/heads/*:refs/remotes/origin/*")


def test_nothing_of_the_users_repository_is_written(make_repo: MakeRepo, tmp_path: Path) -> None:
    repo = forked(make_repo)
    repo.write({"a.txt": "edited\n"})
    before = files_of(repo.path)
    origin_of(repo, tmp_path / "cache")
    after = {
        name: one for name, one in files_of(repo.path).items() if ".git/presubmit" not in name
    }
    assert after == before


@pytest.mark.parametrize("option", ["--depth=1", "--filter=blob:none"])
def test_any_commit_can_be_fetched_as_from_github(
    make_repo: MakeRepo, tmp_path: Path, option: str
) -> None:
    repo = forked(make_repo)
    origin = origin_of(repo, tmp_path / "cache")
    old = repo.git("rev-parse", "v1^{commit}")
    folder = client(tmp_path, origin, option, old)
    assert run_git(folder, "rev-parse", "FETCH_HEAD") == old
    blobs = run_git(folder, "cat-file", "--batch-all-objects", "--batch-check=%(objecttype)")
    assert ("blob" in blobs) is (option == "--depth=1")


def test_a_push_is_refused_also_where_it_could_be_written_to(
    make_repo: MakeRepo, tmp_path: Path
) -> None:
    repo = forked(make_repo)
    origin = origin_of(repo, tmp_path / "cache")
    done = subprocess.run(
        ["git", "push", origin.url(inside=False), "HEAD:refs/heads/x"],
        cwd=repo.path,
        env={**os.environ, **PERSON},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 1
    assert b"a replayed job cannot push" in done.stderr
    assert "refs/heads/x" not in refs(origin)


def test_a_linked_worktree_and_its_repository_share_objects(
    make_repo: MakeRepo, tmp_path: Path
) -> None:
    repo = forked(make_repo)
    repo.git("worktree", "add", "-q", "-b", "other", str(tmp_path / "linked"), "HEAD")
    linked = Repo(tmp_path / "linked")
    linked.write({"a.txt": "linked\n"})
    origin = origin_of(linked, tmp_path / "cache")
    assert run_git(origin.folder, "show", f"{origin.merge}:a.txt") == "linked"
    assert origin.object_folders[0] == repo.path / ".git" / "objects"


def test_a_repository_that_borrows_objects_names_them_all(
    make_repo: MakeRepo, tmp_path: Path
) -> None:
    repo = forked(make_repo)
    borrower = tmp_path / "borrower"
    run_git(tmp_path, "clone", "-q", "--shared", str(repo.path), str(borrower))
    origin = origin_of(borrower, tmp_path / "cache", base="origin/main")
    assert repo.path / ".git" / "objects" in origin.object_folders
    run_git(origin.folder, "fsck", "--connectivity-only")


def test_objects_may_have_names_of_64_digits(make_repo: MakeRepo, tmp_path: Path) -> None:
    repo = make_repo({"a.txt": "1\n"}, options=("--object-format=sha256",))
    repo.with_upstream()
    repo.commit({"a.txt": "2\n"})
    origin = origin_of(repo, tmp_path / "cache")
    assert len(origin.merge) == 64
    assert run_git(origin.folder, "show", f"{origin.merge}:a.txt") == "2"


def test_it_knows_that_a_clone_is_shallow_or_partial(make_repo: MakeRepo, tmp_path: Path) -> None:
    repo = forked(make_repo)
    repo.git("config", "uploadpack.allowFilter", "true")
    url = f"file://{repo.path}"
    run_git(tmp_path, "clone", "-q", "--depth=2", "--no-single-branch", url, "shallow")
    run_git(tmp_path, "clone", "-q", "--filter=blob:none", url, "partial")
    shallow = origin_of(tmp_path / "shallow", tmp_path / "c1", base="origin/main")
    partial = origin_of(tmp_path / "partial", tmp_path / "c2", base="origin/main")
    assert (shallow.shallow, shallow.partial) == (True, False)
    assert (partial.shallow, partial.partial) == (False, True)
    assert run_git(shallow.folder, "rev-parse", "--is-shallow-repository") == "true"


def test_urls_of_the_project_lead_to_it(make_repo: MakeRepo, tmp_path: Path) -> None:
    origin = origin_of(forked(make_repo), tmp_path / "cache")
    env = origin.env(inside=False) | {"GIT_CONFIG_NOSYSTEM": "0"}
    url = f"https://github.com/{NAME}.git"
    found = run_git(tmp_path, "ls-remote", url, "refs/pull/0/merge", env=env)
    assert found.split("\t")[0] == origin.merge


def test_only_the_newest_few_are_kept(make_repo: MakeRepo, tmp_path: Path) -> None:
    repo = forked(make_repo)
    made = []
    for number in range(6):
        repo.write({"a.txt": f"edit {number}\n"})
        made.append(origin_of(repo, tmp_path / "cache"))
        os.utime(made[-1].state, (number, number))
    prune_origins(made[0])
    left = {path.name for path in (tmp_path / "cache" / "origins").iterdir()}
    assert left == {made[number].state.name for number in (0, 3, 4, 5)}
