"""`presubmit draft` in a real repository: written from a stored run, by the very tree, edits kept, nothing leaked."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from presubmit import cli
from presubmit.change import read_change
from presubmit.history import History
from presubmit.proof import keep_run_evidence
from presubmit.reading import RunOptions, read_all
from presubmit.report.folder import run_digest
from presubmit.where import history_path

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import MakeRepo, Repo

TOKEN = "ghp_" + "Ab1" * 12
TICKED = re.compile(r"(?m)^\s*(?:- )?\[x\]")
FILES = {
    "pkg/__init__.py": "def count(n):\n    return n\n",
    "tests/test_pkg.py": "def test_it():\n    pass\n",
    "CHANGES.rst": "Changes\n",
    ".gitignore": "",
}
WORKFLOW = """\
on: pull_request
jobs:
  tests:
    runs-on: ${{ matrix.os }}
    strategy:
      matrix:
        os: [ubuntu-latest, windows-latest, macos-latest]
    steps:
      - run: pytest
"""


@pytest.fixture
def repo(make_repo: MakeRepo, monkeypatch: pytest.MonkeyPatch) -> Repo:
    made = make_repo({**FILES, ".github/workflows/ci.yml": WORKFLOW})
    made.with_upstream()
    made.git("checkout", "-q", "-b", "gh-12-count")
    made.commit(
        {
            "pkg/__init__.py": "def count(n, *, by=1):\n    return n * by\n",
            "CHANGES.rst": "Count by.\n",
        },
        message=f"Count by steps\n\nSeen at https://me:hunter22@host/x with {TOKEN}.\n",
    )
    monkeypatch.chdir(made.path)
    return made


def store_run(repo: Repo, name: str, *, row: dict[str, str] | None = None, **changed: Any) -> Path:
    """Store a green run of the worktree as it is, with the row of evidence that a run writes at its end."""
    change = read_change(repo.path, environ={})
    steps = [
        {
            "id": f"{role}.1",
            "role": role,
            "outcome": "passed",
            "command": ["ruff"],
            "counts": {"passed": 3},
        }
        for role in ("lint", "build", "tests", "docs")
    ]
    run = {
        "schema": 1,
        "state": "passed",
        "exit": 0,
        "tier": "standard",
        "target": {"tree": change.target.tree},
        "base": {"ref": change.base.ref, "commit": change.base.commit},
        "environment": {"kind": "host", "python": "3.11.2"},
        "selection": {"mode": "scoped", "chosen": 1, "known": 1},
        "steps": steps,
        "failures": [],
        **changed,
    }
    own = repo.path / ".presubmit"
    folder = own / "runs" / name
    folder.mkdir(parents=True)
    (own / ".gitignore").write_text("*\n")
    (folder / "run.json").write_text(json.dumps(run))
    last = own / "last"
    last.unlink(missing_ok=True)
    last.symlink_to(folder.relative_to(own))
    attest(repo, folder, **(row or {}))
    return folder


def attest(repo: Repo, folder: Path, **changed: str) -> None:
    """Write the row of evidence for a run's files as they are, some of it changed."""
    reading = read_all(RunOptions(start=repo.path), os.environ)
    with History(history_path(reading)) as history:
        keep_run_evidence(reading, history, folder, os.environ, cut="")
        row = history.run_evidence(run_digest(folder))
        assert row is not None
        history.write_run_evidence({**row, **changed})


def draft(*args: str) -> int:
    return cli.invoke(["draft", *args])


def pull_request(repo: Repo) -> Path:
    return repo.path / ".presubmit" / "last" / "draft" / "PR.md"


def test_a_run_of_this_tree_ticks_its_boxes_and_nothing_is_posted(
    repo: Repo, capsys: pytest.CaptureFixture[str]
) -> None:
    store_run(repo, "1")
    assert draft("all") == 0
    said = capsys.readouterr().out
    text = pull_request(repo).read_text()
    assert "gh pr create --title 'Count by steps' --body-file .presubmit/last/draft/PR.md" in said
    assert "RFC not needed" in said
    assert "Fixes #12" in text
    assert "- [x] No new failure in the affected tests" in text
    assert "- [ ] The change comes with tests" in text
    assert "- [x] Changelog entry — `CHANGES.rst`" in text
    assert "Not verified here: Windows (1 job); macOS (1 job)." in text
    assert not pull_request(repo).with_name("RFC.md").exists()
    assert "- [x] Merges with the base" in pull_request(repo).with_name("CHECKLIST.md").read_text()
    assert repo.git("status", "--porcelain") == ""


def test_no_secret_of_a_commit_reaches_a_draft(
    repo: Repo, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UPLOAD_TOKEN", "correct-horse")
    store_run(repo, "1", not_run=[], environment={"kind": "host", "python": "3 correct-horse"})
    draft("rfc")
    draft("all")
    texts = [path.read_text() for path in pull_request(repo).parent.iterdir()]
    assert len(texts) == 3
    for secret in (TOKEN, "hunter22", "correct-horse", str(repo.path)):
        assert all(secret not in text for text in texts)
    assert TOKEN not in capsys.readouterr().out


def test_an_edited_tree_clears_every_box(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    store_run(repo, "1")
    assert draft("pr") == 0
    assert TICKED.search(pull_request(repo).read_text())
    repo.write({"pkg/__init__.py": "x = 1\n"})
    assert draft("pr", "--check") == 5
    assert "PR.md: stale: it was written for tree" in capsys.readouterr().out
    assert draft("pr") == 5
    text = pull_request(repo).read_text()
    assert not TICKED.search(text)
    assert "> Stale: the run 1 tested tree" in text
    assert draft("pr", "--check") == 5


def test_what_is_tested_but_not_committed_ticks_nothing(
    repo: Repo, capsys: pytest.CaptureFixture[str]
) -> None:
    repo.write({"pkg/__init__.py": "x = 1\n"})
    store_run(repo, "1")
    assert draft("pr") == 5
    assert "STALE: not committed: pkg/__init__.py" in capsys.readouterr().out
    assert not TICKED.search(pull_request(repo).read_text())
    repo.commit(message="Count x")
    assert draft("pr") == 0
    assert TICKED.search(pull_request(repo).read_text())


def test_before_the_first_commit_the_worktree_is_the_change(repo: Repo) -> None:
    repo.git("reset", "-q", "--soft", "upstream/main")
    store_run(repo, "1")
    assert draft("pr") == 0
    text = pull_request(repo).read_text()
    assert TICKED.search(text)
    assert "TODO(author): why this change" in text


def test_another_base_clears_every_box_too(repo: Repo) -> None:
    store_run(repo, "1", base={"ref": "upstream/main", "commit": "0" * 40})
    assert draft("pr") == 5
    assert not TICKED.search(pull_request(repo).read_text())


def test_amending_the_message_keeps_the_ticks(repo: Repo) -> None:
    store_run(repo, "1")
    repo.git("commit", "-q", "--amend", "-m", "Count by steps, said better\n\nWhy.")
    assert draft("pr") == 0
    text = pull_request(repo).read_text()
    assert TICKED.search(text)
    assert "Why." in text


def test_an_untracked_note_beside_the_code_changes_nothing(repo: Repo) -> None:
    tree = read_change(repo.path, environ={}).target.tree
    repo.write({"notes.txt": "mine\n"})
    store_run(repo, "1", evidence={"tree": tree, "tier": "standard", "why_none": ""})
    (repo.path / "notes.txt").unlink()
    assert draft("pr") == 0


def test_the_authors_words_live_in_the_next_runs_draft(repo: Repo) -> None:
    store_run(repo, "1")
    draft("pr")
    first = pull_request(repo).resolve()
    first.write_text(first.read_text() + "\nMy own words.\n")
    repo.commit({"pkg/other.py": "y = 1\n"}, message="Add y")
    store_run(repo, "2")
    assert draft("pr") == 0
    text = pull_request(repo).read_text()
    assert pull_request(repo).resolve() != first
    assert "My own words." in text
    assert "Add y" in text
    repo.git("checkout", "-q", "-b", "another")
    draft("pr")
    assert "My own words." not in pull_request(repo).read_text()


def test_begun_anew_the_old_draft_is_kept(repo: Repo) -> None:
    store_run(repo, "1")
    draft("pr")
    pull_request(repo).write_text(pull_request(repo).read_text() + "\nMy own words.\n")
    assert draft("pr", "--new") == 0
    assert "My own words." not in pull_request(repo).read_text()
    assert "My own words." in pull_request(repo).with_name("PR.old.md").read_text()


def test_what_is_open_is_exit_code_1(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    repo.git("commit", "-q", "--amend", "-m", "Count by steps")
    store_run(repo, "1")
    draft("pr")
    assert draft("pr", "--check") == 1
    assert "PR.md: open: TODO(author): why this change" in capsys.readouterr().out
    text = pull_request(repo).read_text()
    pull_request(repo).write_text(re.sub(r"TODO\(author\).*", "Because.", text))
    assert draft("pr", "--check") == 0


def test_a_projects_template_is_filled_in_place(repo: Repo) -> None:
    template = "---\ntitle: '[pkg]'\n---\n## Description\n\nFixes #ISSUE_NUMBER\n\n[ ] ran lint\n[ ] I agree to the CLA\n"
    repo.commit({".github/PULL_REQUEST_TEMPLATE.md": template}, message="Add a template")
    store_run(repo, "1")
    assert draft("pr") == 0
    text = pull_request(repo).read_text()
    assert "Fixes #12\n" in text
    assert "[x] ran lint <!-- presubmit:box step:lint -->" in text
    assert "[ ] I agree to the CLA\n" in text
    assert "title:" not in text


def test_several_templates_need_to_be_told_apart(
    repo: Repo, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = ".github/PULL_REQUEST_TEMPLATE"
    repo.commit({f"{folder}/a.md": "# A\n", f"{folder}/b.md": "# B\n"}, message="Add templates")
    store_run(repo, "1")
    assert draft("pr") == 2
    assert "--template, one of" in capsys.readouterr().err
    assert draft("pr", "--template", "b") == 0
    assert "# B" in pull_request(repo).read_text()
    assert draft("pr") == 0


def test_a_box_of_the_configuration_is_answered_by_its_step(repo: Repo) -> None:
    item = '[[draft.item]]\nid = "lint"\ntext = "ran the checks"\nevidence = "step:lint"\n'
    repo.commit({"presubmit.toml": item}, message="Configure")
    store_run(repo, "1")
    assert draft("pr") == 0
    assert "- [x] ran the checks — `ruff`" in pull_request(repo).read_text()


def test_evidence_that_there_is_none_of_is_a_mistake(
    repo: Repo, capsys: pytest.CaptureFixture[str]
) -> None:
    item = '[[draft.item]]\nid = "a"\ntext = "b"\nevidence = "magic"\n'
    repo.commit({"presubmit.toml": item}, message="Configure")
    store_run(repo, "1")
    assert draft("pr") == 2
    assert "magic" in capsys.readouterr().err


def test_without_a_run_or_a_draft_the_next_command_is_named(
    repo: Repo, capsys: pytest.CaptureFixture[str]
) -> None:
    assert draft("pr") == 2
    assert "presubmit run" in capsys.readouterr().err
    store_run(repo, "1")
    assert draft("pr", "--check") == 2
    assert "presubmit draft pr" in capsys.readouterr().err


def test_an_api_break_has_an_rfc_drafted_with_who_names_it(repo: Repo) -> None:
    repo.commit(
        {"pkg/__init__.py": "", "tests/test_count.py": "from pkg import count\n"},
        message="Remove count",
    )
    store_run(repo, "1")
    assert draft("all") == 0
    text = pull_request(repo).with_name("RFC.md").read_text()
    assert "<!--\nRFC suggested: public API: `pkg.count` removed.\n-->" in text
    assert "## Impact on dependants" in text


def test_the_reviews_word_on_the_api_counts_where_it_looked(repo: Repo) -> None:
    folder = store_run(repo, "1")
    review: dict[str, Any] = {"tree": "t", "base": "b", "rules": ["api"]}
    (folder / "review.json").write_text(json.dumps(review))
    attest(repo, folder)
    assert draft("checklist") == 0
    checklist = pull_request(repo).with_name("CHECKLIST.md")
    assert "- [x] No public API break" in checklist.read_text()
    review["unchecked"] = [{"rule": "api", "what": "pkg", "why": "it cannot be loaded"}]
    (folder / "review.json").write_text(json.dumps(review))
    attest(repo, folder)
    assert draft("checklist") == 0
    assert "- [ ] No public API break" in checklist.read_text()


def test_the_editor_opens_what_was_written(
    repo: Repo, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    store_run(repo, "1")
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.delenv("EDITOR", raising=False)
    assert draft("pr", "--open") == 0
    assert "no editor is set" in capsys.readouterr().out
    monkeypatch.setenv("EDITOR", "cp -t .")
    assert draft("pr", "--open") == 0
    assert (repo.path / "PR.md").is_file()


def test_a_draft_that_is_a_link_is_not_followed(repo: Repo) -> None:
    store_run(repo, "1")
    outside = repo.path.parent / "outside.md"
    outside.write_text("theirs\n")
    pull_request(repo).parent.mkdir()
    pull_request(repo).symlink_to(outside)
    assert draft("pr") == 0
    assert outside.read_text() == "theirs\n"
    assert not pull_request(repo).is_symlink()


# --- evidence ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["run.json", "bench.json", "review.json"])
def test_files_of_a_run_that_were_edited_or_forged_tick_nothing(
    repo: Repo, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    folder = store_run(repo, "1")
    assert draft("pr") == 0
    assert draft("pr", "--check") in {0, 1}
    path = folder / name
    path.write_text((path.read_text() if path.exists() else "{}") + "\n")
    assert draft("pr", "--check") == 5
    assert draft("pr") == 5
    assert "not as a presubmit run here wrote them" in capsys.readouterr().out
    assert not TICKED.search(pull_request(repo).read_text())


def test_a_run_of_another_repository_ticks_nothing(repo: Repo) -> None:
    store_run(repo, "1")
    with closing(sqlite3.connect(repo.path / ".git/presubmit/history.db")) as connection:
        connection.execute("delete from run_evidence")
        connection.commit()
    assert draft("pr") == 5
    assert not TICKED.search(pull_request(repo).read_text())


@pytest.mark.parametrize(
    ("row", "word"),
    [
        ({"tool": "0.0.1"}, "presubmit 0.0.1's"),
        ({"settings": "0" * 64}, "your own settings were others"),
        ({"base": "0" * 40}, "the base moved"),
        ({"tree": "0" * 40}, "evidence for tree 0000000"),
    ],
)
def test_evidence_that_does_not_hold_ticks_nothing_and_what_differs_is_named(
    repo: Repo, capsys: pytest.CaptureFixture[str], row: dict[str, str], word: str
) -> None:
    folder = store_run(repo, "1")
    assert draft("pr") == 0
    assert TICKED.search(pull_request(repo).read_text())
    attest(repo, folder, **row)
    assert draft("pr", "--check") == 5
    assert draft("pr") == 5
    assert capsys.readouterr().out.count(word) == 2
    assert not TICKED.search(pull_request(repo).read_text())
    assert word in pull_request(repo).read_text()


def test_a_run_that_was_cut_ticks_nothing_and_is_not_stale(
    repo: Repo, capsys: pytest.CaptureFixture[str]
) -> None:
    store_run(repo, "1", row={"cut": "not the whole tier ran: --only tests"})
    assert draft("all") == 0
    assert "no box is ticked: not the whole tier ran: --only tests" in capsys.readouterr().out
    for name in ("PR.md", "CHECKLIST.md"):
        text = pull_request(repo).with_name(name).read_text()
        assert not TICKED.search(text)
        assert "> No box is ticked: not the whole tier ran: --only tests." in text


def test_a_forged_run_beside_a_real_one_is_not_what_is_spoken_of(repo: Repo) -> None:
    store_run(repo, "1")
    forged = store_run(repo, "2", selection={"mode": "all", "chosen": 900, "known": 900})
    (forged / "run.json").write_text((forged / "run.json").read_text().replace("900", "901"))
    assert draft("pr") == 0
    text = pull_request(repo).read_text()
    assert "run=1 " in text
    assert "901" not in text


def test_what_was_edited_since_is_named(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    store_run(repo, "1")
    assert draft("pr") == 0
    repo.write({"pkg/__init__.py": "x = 1\n"})
    for arguments in (("--check",), ()):
        assert draft("pr", *arguments) == 5
        assert "it differs in pkg/__init__.py" in capsys.readouterr().out


def test_a_draft_whose_run_is_gone_is_stale(
    repo: Repo, capsys: pytest.CaptureFixture[str]
) -> None:
    first = store_run(repo, "1")
    draft("pr")
    second = store_run(repo, "2", row={"cut": "--only lint"})
    (first / "draft").rename(second / "draft")
    shutil.rmtree(first)
    assert draft("pr", "--check") == 5
    assert "its run 1 is gone" in capsys.readouterr().out
