"""Co-edits of real repositories."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from presubmit.change import coedit, read_repository
from presubmit.change.coedit import Edits, coedit_scores, read_edits

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import MakeRepo

FIRST = {"a.py": "1", "tests/test_a.py": "1", "b.py": "1"}


def names(edits: Edits) -> list[list[str]]:
    return [sorted(edits.paths[number].decode() for number in files) for files in edits.commits]


def test_the_commits_before_one_are_read_newest_first_and_merges_left_out(
    make_repo: MakeRepo,
) -> None:
    repo = make_repo(FIRST)
    repo.git("checkout", "-q", "-b", "topic")
    repo.write({"a.py": "2", "tests/test_a.py": "2"})
    repo.commit()
    repo.git("checkout", "-q", "main")
    repo.write({"b.py": "2"})
    repo.commit()
    repo.git("merge", "-q", "--no-ff", "-m", "merge", "topic")
    edits = read_edits(read_repository(repo.path), repo.git("rev-parse", "HEAD"))
    assert sorted(names(edits)) == sorted([["b.py"], ["a.py", "tests/test_a.py"], sorted(FIRST)])
    assert list(coedit_scores(edits, ["a.py"], ["tests/test_a.py"])) == ["tests/test_a.py"]


def test_only_what_is_newer_than_the_kept_commits_is_read_again(
    make_repo: MakeRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = make_repo(FIRST)
    repository = read_repository(repo.path)
    read_edits(repository, repo.git("rev-parse", "HEAD"))
    repo.write({"new.py": "2", "b.py": "2"})
    tip = repo.commit()
    parsed: list[Edits] = []
    real = coedit.parse_log

    def parse(data: bytes, *, tip: str) -> Edits:
        parsed.append(real(data, tip=tip))
        return parsed[-1]

    monkeypatch.setattr(coedit, "parse_log", parse)
    edits = read_edits(repository, tip)
    assert [names(one) for one in parsed] == [[["b.py", "new.py"]]]
    assert names(edits) == [["b.py", "new.py"], sorted(FIRST)]
    assert read_edits(repository, tip) == edits
    assert len(parsed) == 1


def test_a_rewritten_history_is_read_anew(make_repo: MakeRepo) -> None:
    repo = make_repo(FIRST)
    repo.write({"b.py": "2"})
    read_edits(read_repository(repo.path), repo.commit())
    repo.git("commit", "-q", "--amend", "-m", "another")
    repo.write({"a.py": "3"})
    edits = read_edits(read_repository(repo.path), repo.commit())
    assert names(edits) == [["a.py"], ["b.py"], sorted(FIRST)]


@pytest.mark.parametrize("junk", [b"", b"junk", b"x\x9c\x03\x00\x00\x00\x00\x01"])
def test_a_damaged_file_is_as_if_it_were_not_there(make_repo: MakeRepo, junk: bytes) -> None:
    repo = make_repo(FIRST)
    repository = read_repository(repo.path)
    (repository.own_dir / "coedit.bin").write_bytes(junk)
    assert names(read_edits(repository, repo.git("rev-parse", "HEAD"))) == [sorted(FIRST)]


@pytest.mark.parametrize("kind", ["pipe", "folder", "link"])
def test_what_is_no_regular_file_is_not_read_and_not_waited_for(
    make_repo: MakeRepo, tmp_path: Path, kind: str
) -> None:
    repo = make_repo(FIRST)
    repository = read_repository(repo.path)
    tip = repo.git("rev-parse", "HEAD")
    kept = repository.own_dir / "coedit.bin"
    if kind == "link":
        read_edits(repository, tip)
        kept.replace(tmp_path / "elsewhere")
        kept.symlink_to(tmp_path / "elsewhere")
    else:
        kept.parent.mkdir(exist_ok=True)
        os.mkfifo(kept) if kind == "pipe" else kept.mkdir()
    assert names(read_edits(repository, tip)) == [sorted(FIRST)]


def test_where_git_knows_no_such_commit_there_are_no_edits(make_repo: MakeRepo) -> None:
    repository = read_repository(make_repo(FIRST).path)
    assert read_edits(repository, "0" * 40) == Edits(tip="0" * 40)


def test_a_shallow_clone_gives_what_it_has(make_repo: MakeRepo, tmp_path: Path) -> None:
    repo = make_repo(FIRST)
    repo.write({"b.py": "2"})
    repo.commit()
    repo.git("clone", "-q", "--depth", "1", f"file://{repo.path}", str(tmp_path / "shallow"))
    repository = read_repository(tmp_path / "shallow")
    assert len(read_edits(repository, repository.head or "").commits) == 1


def test_the_users_settings_do_not_matter(make_repo: MakeRepo) -> None:
    repo = make_repo(FIRST)
    repo.git("mv", "a.py", "moved.py")
    tip = repo.commit()
    for name, value in (
        ("diff.renames", "copies"),
        ("log.showSignature", "true"),
        ("log.date", "human"),
        ("color.ui", "always"),
    ):
        repo.git("config", name, value)
    assert names(read_edits(read_repository(repo.path), tip)) == [
        ["a.py", "moved.py"],
        sorted(FIRST),
    ]
