from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from presubmit.change import read_repository
from presubmit.change.diff import (
    holds_word,
    list_tree,
    list_tree_before,
    missing_objects,
    read_blobs,
    read_changed_files,
    read_file,
    read_files,
    read_submodules,
)
from presubmit.errors import GitError
from presubmit.values import ChangedFile, FileStatus

if TYPE_CHECKING:
    from tests.conftest import MakeRepo


def test_every_one_of_1500_renames_is_found(make_repo: MakeRepo) -> None:
    repo = make_repo({f"old/{n}.py": f"x = {n}\n" * 5 + "y = 1\n" * 20 for n in range(1500)})
    base = repo.git("rev-parse", "HEAD")
    (repo.path / "old").rename(repo.path / "new")
    repo.write({f"new/{n}.py": f"x = {n}\n" * 5 + "y = 1\n" * 20 + "z\n" for n in range(1500)})
    head = repo.commit()
    found = read_changed_files(read_repository(repo.path), base, head)
    assert len(found) == 1500
    assert {file.status for file in found} == {FileStatus.RENAMED}


def test_a_listing_is_had_from_that_of_a_later_commit(make_repo: MakeRepo) -> None:
    repo = make_repo({"a.py": "x\n", "gone.py": "1\n", "old.py": "moved\n" * 9, "d/f.py": "1\n"})
    base = repo.git("rev-parse", "HEAD")
    (repo.path / "gone.py").unlink()
    (repo.path / "old.py").rename(repo.path / "new.py")
    (repo.path / "a.py").chmod(0o755)
    (repo.path / "d" / "f.py").unlink()
    (repo.path / "d").rmdir()
    (repo.path / "d").write_text("a file in place of a folder\n")
    (repo.path / "lat\udce9 \n.py").write_text("x = 1\n")
    head = repo.commit()
    repository = read_repository(repo.path)
    assert list_tree(repository, head).keys() != list_tree(repository, base).keys()
    assert list_tree_before(repository, base, head) == list_tree(repository, base)
    assert list_tree_before(repository, head, base) == list_tree(repository, head)


def test_modes_types_and_undecodable_names_are_found(make_repo: MakeRepo) -> None:
    repo = make_repo({"m.py": "", "t.py": "x\n"})
    base = repo.git("rev-parse", "HEAD")
    (repo.path / "m.py").chmod(0o755)
    (repo.path / "t.py").unlink()
    (repo.path / "t.py").symlink_to("m.py")
    (repo.path / "lat\udce9.py").write_text("x = 1\n")
    head = repo.commit()
    assert read_changed_files(read_repository(repo.path), base, head) == (
        ChangedFile(path="lat\udce9.py", status=FileStatus.ADDED),
        ChangedFile(path="m.py", status=FileStatus.MODIFIED),
        ChangedFile(path="t.py", status=FileStatus.MODIFIED),
    )


def test_the_users_settings_and_diff_drivers_do_not_matter(make_repo: MakeRepo) -> None:
    repo = make_repo({"a.py": "x\n" * 10, ".gitattributes": "*.py diff=odd\n"})
    base = repo.git("rev-parse", "HEAD")
    repo.git("mv", "a.py", "b.py")
    head = repo.commit()
    for name, value in {
        "diff.renames": "false",
        "diff.external": "false",
        "diff.odd.textconv": "false",
        "diff.noprefix": "true",
        "diff.ignoreSubmodules": "all",
        "core.quotePath": "true",
    }.items():
        repo.git("config", name, value)
    (file,) = read_changed_files(read_repository(repo.path), base, head)
    assert (file.old_path, file.path) == ("a.py", "b.py")


def test_files_are_read_at_a_commit(make_repo: MakeRepo) -> None:
    repo = make_repo({"a.py": "1\n", "two\nlines.py": b"\0\xff\n", "empty": "", "d/x": "in d\n"})
    (repo.path / "link").symlink_to("a.py")
    repo.commit()
    repository = read_repository(repo.path)
    assert read_file(repository, "HEAD", "a.py") == b"1\n"
    assert read_file(repository, "HEAD~1", "link") is None
    wanted = ["two\nlines.py", "empty", "link", "gone", "d"]
    assert read_files(repository, "HEAD", wanted) == {
        "two\nlines.py": b"\0\xff\n",
        "empty": b"",
        "link": b"a.py",
    }
    assert read_files(repository, "HEAD", []) == {}


def test_many_files_are_read_at_once(make_repo: MakeRepo) -> None:
    contents = {f"d{n % 7}/{n}": f"{n}\n" * n for n in range(500)}
    repository = read_repository(make_repo(contents).path)
    found = read_files(repository, "HEAD", contents)
    assert found == {name: text.encode() for name, text in contents.items()}


def test_missing_objects_are_told(make_repo: MakeRepo) -> None:
    repo = make_repo({"a.py": "1\n"})
    repository = read_repository(repo.path)
    blob = repo.git("rev-parse", "HEAD:a.py")
    assert missing_objects(repository, [blob, "1" * 40]) == {"1" * 40}
    assert missing_objects(repository, []) == set()
    assert read_blobs(repository, []) == {}
    with pytest.raises(GitError, match="missing"):
        read_blobs(repository, ["1" * 40])


def test_submodules_are_listed_and_a_new_commit_is_a_change(make_repo: MakeRepo) -> None:
    inner, repo = make_repo({"i": ""}, name="inner"), make_repo({"a.py": ""})
    repo.git("-c", "protocol.file.allow=always", "submodule", "-q", "add", str(inner.path), "s u")
    base = repo.commit()
    repo.git("-C", "s u", "commit", "-q", "--allow-empty", "-m", "more")
    head = repo.commit()
    repository = read_repository(repo.path)
    assert read_submodules(repository, head) == ("s u",)
    (file,) = read_changed_files(repository, base, head)
    assert (file.path, file.status) == ("s u", FileStatus.MODIFIED)
    assert list_tree(repository, head)["s u"][0] == "160000"
    assert read_file(repository, head, "s u") is None


def test_a_word_is_found_in_the_files_of_a_commit_and_not_of_the_worktree(
    make_repo: MakeRepo,
) -> None:
    repo = make_repo({"tests/test_a.py": "import pytest\n@pytest.mark.xdist_group('x')\n"})
    repo.write({"new.py": "-e other.word\n"})
    repository = read_repository(repo.path)
    head = repo.git("rev-parse", "HEAD")
    assert holds_word(repository, head, "xdist_group")
    assert not holds_word(repository, head, "xdist.group")
    assert not holds_word(repository, head, "-e other.word")
    assert holds_word(repository, repo.commit(), "-e other.word")
