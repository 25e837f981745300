"""What a run takes over from upstream's workflows in a real git repository, and how it is remembered."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from presubmit import upstream_taking
from presubmit.history import History
from presubmit.reading import RunOptions, read_all
from presubmit.replay.job.probe import write_here
from presubmit.upstream.here import Here, Interpreter
from presubmit.upstream_reading import read_event, read_names
from presubmit.upstream_taking import take_options

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from presubmit.reading import Reading
    from presubmit.upstream_options import Taken
    from tests.conftest import MakeRepo, Repo

WORKFLOW = ".github/workflows/ci.yml"
CI = """\
on:
  pull_request:
    paths: ["src/**", ".github/**"]
jobs:
  tests:
    runs-on: ubuntu-latest
    strategy:
      matrix: {python: ["3.11", "3.13"]}
    steps:
      - uses: actions/setup-python@v6
        with: {python-version: "${{ matrix.python }}"}
      - run: pip install -r req.txt
      - run: tox -e py
"""
FILES = {
    WORKFLOW: CI,
    "pyproject.toml": "[project]\nname = 'proj'\nversion = '1'\n",
    "tox.ini": "[testenv]\ncommands = pytest -v {posargs}\n",
    "req.txt": "pytest\n",
    "src/a.py": "A = 1\n",
}


@pytest.fixture
def repo(make_repo: MakeRepo) -> Repo:
    made = make_repo(FILES)
    made.with_upstream()
    made.git("switch", "-q", "-c", "topic")
    made.write({"src/a.py": "A = 2\n"})
    return made


@pytest.fixture
def history(tmp_path: Path) -> Iterator[History]:
    with History(tmp_path / "history.db") as opened:
        yield opened


def options(repo: Repo, **more: Any) -> RunOptions:
    return RunOptions(start=repo.path, **more)


def read(repo: Repo, **more: Any) -> Reading:
    return read_all(options(repo, **more), os.environ)


def take(repo: Repo, history: History, **more: Any) -> tuple[Reading, Taken]:
    of_base = more.pop("of_base", False)
    reading = read(repo, **more)
    return take_options(
        *(reading, options(repo, **more), None, os.environ, history), of_base=of_base
    )


def command(repo: Repo, history: History, **more: Any) -> tuple[tuple[str, ...], str]:
    reading, _ = take(repo, history, **more)
    origin = reading.config.origins.get("tests.command", "default")
    return reading.config.config.tests.command, origin


# --- the event --------------------------------------------------------------------------------------------------------


def test_the_event_is_read_out_of_git(repo: Repo) -> None:
    repo.git("remote", "set-url", "upstream", "git@github.com:octo/proj.git")
    repo.git("remote", "add", "origin", "https://github.com/me/fork.git")
    repo.git("config", "user.name", "Ada Lovelace")
    repo.git("config", "user.email", "ada@example.org")
    head = repo.commit({"src/a.py": "A = 3\n"}, message="Raise A\n\nIt was too low.")
    repo.write({"src/b.py": "B = 1\n"})
    reading = read(repo)
    found = read_event(reading)
    assert (found.repository, found.head_repository) == ("octo/proj", "me/fork")
    assert (found.server_url, found.base_ref) == ("https://github.com", "main")
    assert (found.head_ref, found.head_sha) == ("topic", head)
    assert found.base_sha == reading.change.base.commit
    assert found.merge_sha == reading.change.target.snapshot
    assert (found.title, found.body, found.commits) == ("Raise A", "It was too low.", 1)
    assert (found.author, found.email, found.actor) == (
        "Ada Lovelace", "ada@example.org", "ada-lovelace",
    )  # fmt: skip
    assert [file.path for file in found.files] == ["src/a.py", "src/b.py"]


def test_without_a_remote_of_a_name_the_repository_is_called_after_its_folder(
    make_repo: MakeRepo,
) -> None:
    made = make_repo(FILES, name="alone")
    made.git("branch", "base")
    found = read_event(read(made, base="base"))
    assert (found.repository, found.base_ref) == ("local/alone", "base")


def test_the_default_branch_is_that_of_the_bases_remote(repo: Repo) -> None:
    repo.git("push", "-q", "upstream", "HEAD:refs/heads/trunk")
    repo.git("fetch", "-q", "upstream")
    repo.git("symbolic-ref", "refs/remotes/upstream/HEAD", "refs/remotes/upstream/trunk")
    assert read_names(read(repo)).default_branch == "trunk"


def test_a_base_that_is_a_remotes_head_is_its_default_branch(repo: Repo) -> None:
    repo.git("symbolic-ref", "refs/remotes/upstream/HEAD", "refs/remotes/upstream/main")
    assert read_event(read(repo, base="upstream/HEAD")).base_ref == "main"


def test_of_several_urls_the_first_counts_and_of_several_names_the_last(repo: Repo) -> None:
    repo.git("remote", "set-url", "--add", "upstream", "https://github.com/octo/second.git")
    repo.git("config", "--add", "user.name", "First")
    repo.git("config", "--add", "user.name", "Last")
    names = read_names(read(repo))
    assert names.url.endswith(".git")
    assert "second" not in names.url
    assert names.author == "Last"


# --- taking -----------------------------------------------------------------------------------------------------------


def test_what_the_workflow_says_is_filled_in_with_its_lines(repo: Repo, history: History) -> None:
    reading, taken = take(repo, history)
    assert reading.config.config.tests.command == ("pytest", "-v")
    assert reading.config.origins == {
        "tests.command": "upstream ci.yml:13, tox.ini [testenv]",
        "build.requirements": "upstream ci.yml:12",
        "build.requirements.0": "upstream ci.yml:12",
    }
    assert taken.cells == {"tests": "ci.yml/tests(python=3.13)"}


def test_a_workflow_that_the_change_does_not_start_gives_nothing(
    repo: Repo, history: History
) -> None:
    repo.write({"src/a.py": FILES["src/a.py"], "README.md": "New\n"})
    assert command(repo, history) == (("pytest",), "default")


@pytest.fixture
def once(repo: Repo, history: History, monkeypatch: pytest.MonkeyPatch) -> Repo:
    """Take once; whoever reads workflows again fails."""
    take(repo, history)

    def never(*_: object, **__: object) -> None:
        raise AssertionError("read again")

    monkeypatch.setattr(upstream_taking, "read_upstream_of", never)
    return repo


def test_the_next_run_remembers_though_a_source_and_the_commit_are_others(
    once: Repo, history: History
) -> None:
    once.write({"src/a.py": "A = 3\n"})
    once.commit(message="Another commit")
    once.write({"src/a.py": "A = 4\n"})
    assert command(once, history)[0] == ("pytest", "-v")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (WORKFLOW, CI + "# changed\n"),
        ("tox.ini", FILES["tox.ini"] + "# changed\n"),
        ("req.txt", "pytest>=8\n"),
        ("pyproject.toml", FILES["pyproject.toml"] + "# changed\n"),
        ("requirements/test.txt", "pytest\n"),
        (".github/actions/x/action.yml", "name: x\n"),
        ("presubmit.toml", "tests.shards = 2\n"),
        ("other.py", ""),
    ],
)
def test_what_was_read_is_read_again_where_a_file_or_the_configuration_is_another(
    once: Repo, history: History, name: str, text: str
) -> None:
    once.write({name: text})
    with pytest.raises(AssertionError, match="read again"):
        take(once, history)


def test_another_interpreter_in_the_image_asks_again(once: Repo, history: History) -> None:
    reading = read(once)
    here = Here(interpreters=(Interpreter(version="3.11.2", path="/usr/bin/python3"),))
    write_here(reading.cache / "here", "sha256:1 False", here)
    with pytest.raises(AssertionError, match="read again"):
        take(once, history)


def test_a_damaged_memory_is_read_again(once: Repo, history: History) -> None:
    history._write("update taken set value = ?", [("{",)])
    with pytest.raises(AssertionError, match="read again"):
        take(once, history)


def test_a_plan_follows_the_image_that_was_looked_at_last(repo: Repo, history: History) -> None:
    cache = read(repo).cache / "here"
    for number, version in enumerate(("3.13.1", "3.11.2")):
        here = Here(interpreters=(Interpreter(version=version, path="/usr/bin/python3"),))
        write_here(cache, f"sha256:{number} False", here)
        os.utime(cache / "here" / f"sha256-{number}-False.json", (time.time(), 1000 + number))
    assert take(repo, history)[1].cells == {"tests": "ci.yml/tests(python=3.11)"}


def test_the_base_takes_its_own_from_its_own_tree(repo: Repo, history: History) -> None:
    repo.write({WORKFLOW: CI.replace("tox -e py", "pytest -x -ra")})
    assert command(repo, history)[0] == ("pytest", "-ra")
    assert command(repo, history, of_base=True)[0] == ("pytest", "-v")


def test_a_workflow_that_github_would_refuse_is_named_and_gives_nothing(
    repo: Repo, history: History
) -> None:
    repo.write({WORKFLOW: "on: pull_request\njobs: []\n"})
    reading, taken = take(repo, history)
    assert reading.config.origins == {}
    (problem,) = taken.problems
    assert problem.startswith(f"{WORKFLOW}:2:7: ")
    assert problem.endswith("nothing is taken over from this workflow")


def test_a_broken_workflow_does_not_keep_another_one_from_being_followed(
    repo: Repo, history: History
) -> None:
    repo.write({".github/workflows/broken.yml": "on: [\n"})
    _, taken = take(repo, history)
    assert taken.cells == {"tests": "ci.yml/tests(python=3.13)"}
    assert len(taken.problems) == 1


# --- on the host ------------------------------------------------------------------------------------------------------


def test_on_the_host_a_command_that_the_change_alters_is_the_bases(
    repo: Repo, history: History
) -> None:
    repo.write({WORKFLOW: CI.replace("tox -e py", "pytest -x -ra")})
    reading, taken = take(repo, history, container=False)
    assert reading.config.config.tests.command == ("pytest", "-v")
    assert any(note.startswith("tests.command is the base's") for note in taken.notes)
    trusted = command(repo, history, container=False, trust_head=True)
    assert trusted[0] == ("pytest", "-ra")


def test_on_the_host_a_command_that_only_the_change_has_is_not_taken(
    repo: Repo, history: History
) -> None:
    repo.write({".github/workflows/lint.yml": LINT})
    reading, taken = take(repo, history, container=False)
    assert reading.config.config.lint.commands == ()
    assert "lint" not in taken.cells
    assert msgspec.to_builtins(take(repo, history)[0].config.config.lint.commands) == (
        "ruff check --force-exclude {files:*.py *.pyi}",
    )


LINT = """\
on: pull_request
jobs:
  lint:
    runs-on: ubuntu-latest
    steps:
      - run: ruff check .
"""
