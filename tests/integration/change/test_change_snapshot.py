from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from presubmit.change import read_change, read_repository, snapshot
from presubmit.change.diff import list_tree, read_file
from presubmit.change.snapshot import take_snapshot
from presubmit.errors import GitError, UsageError
from presubmit.values import ChangedFile, FileStatus, Target, TargetKind

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import MakeRepo, Repo


def shot(
    repo: Repo | Path, kind: TargetKind = TargetKind.WORKTREE, **options: Any
) -> tuple[Target, list[str]]:
    heard: list[str] = []
    path = repo if isinstance(repo, Path) else repo.path
    target = take_snapshot(read_repository(path), kind=kind, warn=heard.append, **options)
    return target, heard


def files(repo: Repo, target: Target) -> dict[str, bytes | None]:
    repository = read_repository(repo.path)
    return {
        path: read_file(repository, target.snapshot, path)
        for path in list_tree(repository, target.snapshot)
    }


def modes(repo: Repo, target: Target) -> dict[str, str]:
    tree = list_tree(read_repository(repo.path), target.snapshot)
    return {path: mode for path, (mode, _) in tree.items()}


def everything(top: Path) -> dict[str, tuple[object, ...]]:
    """Give kind, mode, mtime and content of every file below, presubmit's own apart."""
    found: dict[str, tuple[object, ...]] = {}
    for folder, names, file_names in os.walk(top):
        for name in (*names, *file_names):
            path = Path(folder) / name
            inner = path.relative_to(top).as_posix()
            if inner.startswith((".git/presubmit", ".presubmit")):
                continue
            info = path.lstat()
            content = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
            # The folder .git itself gets an entry for presubmit's.
            moment = 0 if inner == ".git" else info.st_mtime_ns
            found[inner] = (info.st_mode, moment, info.st_ino, content)
    return found


@pytest.fixture
def repo(make_repo: MakeRepo) -> Repo:
    return make_repo({"a.py": "1\n", "b.py": "1\n", "pkg/c.py": "1\n", ".gitignore": "*.o\n"})


def test_staged_unstaged_untracked_and_deleted_files_are_all_in(repo: Repo) -> None:
    repo.write({"a.py": "staged\n"})
    repo.git("add", "a.py")
    repo.write({"b.py": "unstaged\n", "new/d.py": "new\n", "x.o": "ignored"})
    (repo.path / "pkg/c.py").unlink()
    target, heard = shot(repo)
    assert files(repo, target) == {
        ".gitignore": b"*.o\n",
        "a.py": b"staged\n",
        "b.py": b"unstaged\n",
        "new/d.py": b"new\n",
    }
    assert (target.dirty, target.untracked) == (("a.py", "b.py", "pkg/c.py"), ("new/d.py",))
    assert (target.commit, heard) == (repo.git("rev-parse", "HEAD"), [])


def test_the_tree_is_the_one_that_git_itself_would_make(repo: Repo) -> None:
    repo.write({"a.py": "2\n", "new.py": "new\n", "s p/ü": "x"})
    target, _ = shot(repo)
    repo.git("add", "-A")
    assert target.tree == repo.git("write-tree")


def test_nothing_of_the_users_is_touched(repo: Repo) -> None:
    old = repo.git("rev-parse", "HEAD:a.py")
    repo.commit({"a.py": "2\n"})
    repo.git("tag", "v1")
    repo.write({"a.py": "3\n"})
    repo.git("stash", "-q")
    repo.write({"b.py": "2\n"})
    repo.git("add", "b.py")
    repo.write({"a.py": "1\n", "again.py": "1\n", "new/d.py": "new\n", "stale.py": "x"})
    os.utime(repo.path / "pkg/c.py", (1, 1))
    (repo.path / "l").symlink_to("a.py")
    for path in (repo.path / ".git/objects").rglob("*"):
        os.utime(path, (1_000_000_000, 1_000_000_000))  # so that a touch would show
    before = everything(repo.path)
    target, _ = shot(repo)
    shot(repo, TargetKind.STAGED)
    shot(repo, untracked=False)
    read_change(repo.path, environ={}, base="HEAD")
    assert everything(repo.path) == before
    assert list_tree(read_repository(repo.path), target.snapshot)["a.py"][1] == old


def test_an_edit_right_after_a_commit_is_seen(repo: Repo) -> None:
    """Same size, same second: only the index's own time tells git to read the file again."""
    repo.git("config", "core.trustctime", "false")
    then = (1_000_000_000, 1_000_000_000)
    repo.write({"a.py": "2\n"})
    os.utime(repo.path / "a.py", then)
    repo.git("add", "a.py")
    os.utime(repo.path / ".git/index", then)
    repo.write({"a.py": "3\n"})
    os.utime(repo.path / "a.py", then)
    assert files(repo, shot(repo)[0])["a.py"] == b"3\n"


def test_packs_are_not_touched_either(repo: Repo) -> None:
    repo.commit({"a.py": "2\n"})
    repo.git("repack", "-qad")
    repo.git("prune-packed")
    for path in (repo.path / ".git/objects").rglob("*"):
        os.utime(path, (1_000_000_000, 1_000_000_000))
    (repo.path / ".git/index").unlink()
    repo.git("read-tree", "HEAD")  # an index without sizes, times and known trees
    repo.write({"a.py": "1\n"})
    before = everything(repo.path)
    shot(repo)
    assert everything(repo.path) == before


def test_a_split_index_is_read_and_not_written(repo: Repo) -> None:
    repo.git("config", "core.splitIndex", "true")
    repo.git("update-index", "--split-index")
    repo.write({"a.py": "2\n", "new.py": ""})
    before = sorted(everything(repo.path))
    target, _ = shot(repo)
    assert sorted(everything(repo.path)) == before
    assert (target.dirty, target.untracked) == (("a.py",), ("new.py",))


def test_the_same_tree_on_the_same_commit_is_the_same_snapshot(repo: Repo) -> None:
    repo.write({"a.py": "2\n"})
    first, _ = shot(repo)
    os.utime(repo.path / "a.py", (5, 5))
    assert shot(repo)[0] == first
    show = ("show", "-s", "--format=%an %P %at %ct", first.snapshot)
    env = {"GIT_OBJECT_DIRECTORY": str(repo.path / ".git/presubmit/objects")}
    env["GIT_ALTERNATE_OBJECT_DIRECTORIES"] = str(repo.path / ".git/objects")
    date = repo.git("show", "-s", "--format=%ct")
    assert repo.git(*show, env=env) == f"presubmit {first.commit} {date} {date}"


def test_a_clean_checkout_is_its_own_commit(repo: Repo) -> None:
    target, _ = shot(repo)
    head = repo.git("rev-parse", "HEAD")
    assert (target.snapshot, target.tree) == (head, repo.git("rev-parse", "HEAD^{tree}"))
    assert (target.dirty, target.untracked) == ((), ())


def test_without_untracked_files_they_are_left_out(repo: Repo) -> None:
    repo.write({"a.py": "2\n", "new.py": ""})
    target, _ = shot(repo, untracked=False)
    assert "new.py" not in files(repo, target)
    assert (target.dirty, target.untracked) == (("a.py",), ())


def test_staged_takes_the_index_alone(repo: Repo) -> None:
    repo.write({"a.py": "staged\n"})
    repo.git("add", "a.py")
    repo.write({"a.py": "later\n", "new.py": ""})
    target, _ = shot(repo, TargetKind.STAGED)
    assert files(repo, target)["a.py"] == b"staged\n"
    assert (target.kind, target.dirty, target.untracked) == (TargetKind.STAGED, ("a.py",), ())


def test_a_commit_is_taken_as_it_is(repo: Repo) -> None:
    first = repo.git("rev-parse", "HEAD")
    repo.commit({"a.py": "2\n"})
    repo.write({"a.py": "3\n"})
    target, _ = shot(repo, TargetKind.COMMIT, commit="HEAD~1")
    assert (target.commit, target.snapshot, target.dirty) == (first, first, ())
    with pytest.raises(UsageError, match="'nope' is not a commit"):
        shot(repo, TargetKind.COMMIT, commit="nope")


def test_presubmits_own_folder_is_left_out(repo: Repo) -> None:
    repo.write({".presubmit/runs/1/run.json": "{}", "sub/.presubmit": "theirs"})
    assert shot(repo)[0].untracked == ("sub/.presubmit",)


def test_links_and_the_executable_bit_are_kept(repo: Repo) -> None:
    (repo.path / "link").symlink_to("a.py")
    (repo.path / "pkg/dangling").symlink_to("/nowhere")
    (repo.path / "b.py").chmod(0o755)
    target, _ = shot(repo)
    found = modes(repo, target)
    assert (found["link"], found["pkg/dangling"], found["b.py"]) == ("120000", "120000", "100755")
    assert files(repo, target)["link"] == b"a.py"


def test_a_file_becomes_a_folder_and_the_other_way_round(repo: Repo) -> None:
    (repo.path / "a.py").unlink()
    (repo.path / "pkg/c.py").unlink()
    (repo.path / "pkg").rmdir()
    repo.write({"a.py/x.py": "1\n", "pkg": "now a file\n"})
    assert files(repo, shot(repo)[0])["pkg"] == b"now a file\n"
    assert "a.py/x.py" in files(repo, shot(repo)[0])


def test_a_file_added_by_intent_is_in_the_checkout_and_not_in_the_index(repo: Repo) -> None:
    repo.write({"later.py": "1\n"})
    repo.git("add", "-N", "later.py")
    target, _ = shot(repo)
    assert files(repo, target)["later.py"] == b"1\n"
    assert (target.dirty, target.untracked) == (("later.py",), ())
    assert "later.py" not in files(repo, shot(repo, TargetKind.STAGED)[0])


def test_what_git_was_told_to_overlook_is_overlooked(repo: Repo) -> None:
    repo.git("update-index", "--assume-unchanged", "a.py")
    repo.git("update-index", "--skip-worktree", "b.py")
    repo.write({"a.py": "mine\n"})
    (repo.path / "b.py").unlink()
    target, _ = shot(repo)
    assert (files(repo, target)["a.py"], files(repo, target)["b.py"]) == (b"1\n", b"1\n")


@pytest.mark.parametrize("sparse_index", ["--sparse-index", "--no-sparse-index"])
def test_a_sparse_checkout_is_whole_in_the_snapshot(repo: Repo, sparse_index: str) -> None:
    repo.commit({"far/deep/z.py": "1\n", "near/y.py": "1\n"})
    repo.git("sparse-checkout", "set", sparse_index, "--cone", "near")
    assert not (repo.path / "far").exists()
    assert shot(repo)[0].tree == repo.git("rev-parse", "HEAD^{tree}")
    repo.write({"near/y.py": "2\n"})
    target, _ = shot(repo)
    assert target.dirty == ("near/y.py",)
    assert {"far/deep/z.py", "pkg/c.py"} <= set(files(repo, target))


def test_line_ends_and_clean_filters_are_applied_as_git_would(repo: Repo) -> None:
    repo.git("config", "filter.up.clean", "tr a-z A-Z")
    repo.git("config", "filter.up.smudge", "tr A-Z a-z")
    repo.commit({".gitattributes": "*.txt text eol=lf\n*.up filter=up\n"})
    repo.write({"a.txt": "x\r\n", "b.up": "word\n", "c.bin": "x\r\n"})
    found = files(repo, shot(repo)[0])
    assert (found["a.txt"], found["b.up"], found["c.bin"]) == (b"x\n", b"WORD\n", b"x\r\n")


def test_crlf_already_in_the_index_stays_as_git_would_leave_it(repo: Repo) -> None:
    repo.commit({"dos.txt": "1\r\n2\r\n"})
    repo.git("config", "core.autocrlf", "input")
    repo.write({"dos.txt": "1\r\n2\r\n3\r\n"})
    target, _ = shot(repo)
    repo.git("add", "-A")
    assert target.tree == repo.git("write-tree")


def test_a_filter_that_fails_is_an_error(repo: Repo) -> None:
    repo.git("config", "filter.bad.clean", "false")
    repo.git("config", "filter.bad.required", "true")
    repo.write({".gitattributes": "*.bad filter=bad\n", "x.bad": "1"})
    with pytest.raises(GitError, match="filter 'bad' failed"):
        shot(repo)


def test_conflicts_are_an_error_that_names_the_files(repo: Repo) -> None:
    repo.git("checkout", "-q", "-b", "other")
    repo.commit({"a.py": "theirs\n"})
    repo.git("checkout", "-q", "main")
    repo.commit({"a.py": "ours\n"})
    with pytest.raises(AssertionError, match="git"):
        repo.git("merge", "-q", "other")
    with pytest.raises(GitError, match=r"unresolved conflicts in a\.py"):
        shot(repo)
    assert shot(repo, TargetKind.COMMIT, commit="HEAD")[0].dirty == ()


def test_an_embedded_repository_is_left_out_and_named(repo: Repo, make_repo: MakeRepo) -> None:
    make_repo({"i.py": ""}, name="repo/inner")
    make_repo(name="repo/empty")
    repo.write({"new.py": ""})
    target, heard = shot(repo)
    assert target.untracked == ("new.py",)
    assert heard == ["left out, since they are git repositories of their own: empty/, inner/"]


def test_names_that_are_not_utf8_or_hold_line_ends_survive(repo: Repo) -> None:
    names = ["lat\udce9.py", "two\nlines.py", '"quoted".py', "-dash.py", ":(top)x.py", "*.py"]
    for name in names:
        (repo.path / name).write_bytes(b"x = 1\n")
    target, _ = shot(repo)
    assert set(target.untracked) == set(names)
    assert set(names) <= set(files(repo, target))


def test_an_unborn_branch_gives_a_snapshot_without_parent(make_repo: MakeRepo) -> None:
    repo = make_repo()
    repo.write({"a.py": "1\n"})
    target, _ = shot(repo)
    assert (target.commit, target.untracked) == (None, ("a.py",))
    repo.git("add", "a.py")
    target, _ = shot(repo)
    assert (target.dirty, target.untracked) == (("a.py",), ())


def test_an_empty_repository_gives_the_empty_tree(make_repo: MakeRepo) -> None:
    assert shot(make_repo())[0].tree == "4b825dc642cb6eb9a060e54bf8d69288fbee4904"


def test_a_sha256_repository_is_snapshot(make_repo: MakeRepo) -> None:
    repo = make_repo({"a.py": "1\n", "b.py": ""}, options=("--object-format=sha256",))
    repo.write({"a.py": "2\n", "new.py": "1\n"})
    (repo.path / "b.py").unlink()
    target, _ = shot(repo)
    assert (len(target.snapshot), target.dirty) == (64, ("a.py", "b.py"))


def test_hooks_never_run(repo: Repo) -> None:
    for name in ("post-index-change", "reference-transaction", "pre-commit", "post-commit"):
        hook = repo.path / ".git/hooks" / name
        hook.write_text(f"#!/bin/sh\necho {name} >>{repo.path.parent}/ran\nexit 1\n")
        hook.chmod(0o755)
    repo.write({"a.py": "2\n", "new.py": ""})
    shot(repo)
    assert not (repo.path.parent / "ran").exists()


def test_a_linked_worktree_is_snapshot_even_with_git_dir_exported(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.git("worktree", "add", "-q", "-b", "feat", str(tmp_path / "wt"))
    (tmp_path / "wt/a.py").write_text("in the worktree\n")
    monkeypatch.setenv("GIT_DIR", str(repo.path / ".git/worktrees/wt"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(repo.path / ".git/index"))
    target, _ = shot(tmp_path / "wt")
    monkeypatch.undo()
    assert target.dirty == ("a.py",)
    assert files(repo, target)["a.py"] == b"in the worktree\n"


def with_submodule(repo: Repo, make_repo: MakeRepo) -> Path:
    inner = make_repo({"i.py": "1\n"}, name="inner")
    repo.git("-c", "protocol.file.allow=always", "submodule", "-q", "add", str(inner.path), "sub")
    repo.commit(message="with a submodule")
    return repo.path / "sub"


def test_a_dirty_submodule_is_said_and_its_recorded_commit_is_used(
    repo: Repo, make_repo: MakeRepo
) -> None:
    sub = with_submodule(repo, make_repo)
    (sub / "i.py").write_text("2\n")
    target, heard = shot(repo)
    assert (target.snapshot, target.dirty) == (target.commit, ())
    assert heard == [
        "submodule sub has uncommitted changes: its recorded commit is tested, they are not"
    ]


def test_a_submodule_on_another_commit_is_in_the_snapshot(repo: Repo, make_repo: MakeRepo) -> None:
    sub = with_submodule(repo, make_repo)
    repo.git("-C", str(sub), "commit", "-q", "--allow-empty", "-m", "more")
    target, heard = shot(repo)
    assert (target.dirty, heard) == (("sub",), [])
    tree = list_tree(read_repository(repo.path), target.snapshot)
    assert tree["sub"] == ("160000", repo.git("-C", str(sub), "rev-parse", "HEAD"))


def test_an_unreadable_file_is_an_error_that_names_it(
    open_folder: Path, git: Any, as_other_user: Callable[[Callable[[], object]], str]
) -> None:
    def check() -> None:
        git(open_folder, "init", "-q")
        (open_folder / "secret.py").write_text("x")
        (open_folder / "secret.py").chmod(0)
        shot(open_folder)

    assert 'open("secret.py"): Permission denied' in as_other_user(check)


def test_files_that_change_while_it_is_taken_do_not_matter(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between looking and hashing, one file goes, one comes back as another, one is new again."""
    real = snapshot._read_worktree
    seen: list[int] = []

    def busy(*args: Any, **options: Any) -> Any:
        found = real(*args, **options)
        seen.append(1)
        if len(seen) == 1:
            (repo.path / "new.py").unlink()
            repo.write({"a.py": "newest\n"})
        return found

    monkeypatch.setattr(snapshot, "_read_worktree", busy)
    repo.write({"a.py": "2\n", "new.py": "1\n"})
    target, _ = shot(repo)
    assert files(repo, target)["a.py"] == b"newest\n"
    assert target.untracked == ()


def test_a_checkout_that_another_program_writes_to_all_the_time(repo: Repo) -> None:
    writer = """
import os, sys, itertools
for n in itertools.count():
    for name in ("w.py", "a.py", "busy/x.py"):
        os.makedirs("busy", exist_ok=True)
        with open(name, "w") as file: file.write("x" * (n % 7 * 1000))
        if n % 3 == 0: os.remove(name)
"""
    with subprocess.Popen([sys.executable, "-c", writer], cwd=repo.path) as busy:
        try:
            for _ in range(10):
                target, _ = shot(repo)
                repository = read_repository(repo.path)
                assert read_file(repository, target.snapshot, "b.py") == b"1\n"
                for path in list_tree(repository, target.snapshot):
                    assert read_file(repository, target.snapshot, path) is not None
        finally:
            busy.kill()


def test_a_change_is_all_of_it_together(repo: Repo) -> None:
    repo.with_upstream()
    repo.git("checkout", "-q", "-b", "feat")
    repo.git("mv", "b.py", "pkg/moved.py")
    repo.commit({"z.py": "z\n"})
    repo.write({"a.py": "2\n", "new.py": "new\n"})
    (repo.path / ".gitignore").chmod(0o755)
    change = read_change(repo.path / "pkg", environ={})
    assert (change.top, change.branch) == (str(repo.path), "feat")
    assert change.common_dir == str(repo.path / ".git")
    assert change.base.ref == "upstream/main"
    assert change.files == (
        ChangedFile(path=".gitignore", status=FileStatus.MODIFIED),
        ChangedFile(path="a.py", status=FileStatus.MODIFIED),
        ChangedFile(path="new.py", status=FileStatus.ADDED),
        ChangedFile(path="pkg/moved.py", status=FileStatus.RENAMED, old_path="b.py"),
        ChangedFile(path="z.py", status=FileStatus.ADDED),
    )
    assert change.submodules == ()


def test_upstreams_newer_commits_are_not_in_the_change(repo: Repo) -> None:
    repo.git("branch", "feat")
    repo.commit({"theirs.py": "1\n"})
    repo.with_upstream()
    repo.git("checkout", "-q", "feat")
    repo.write({"mine.py": "1\n"})
    change = read_change(repo.path, environ={})
    assert [file.path for file in change.files] == ["mine.py"]
    assert change.base.behind == 1
