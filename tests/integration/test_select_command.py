"""`presubmit select` and `presubmit explain`, as they are typed, in real repositories."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from presubmit.selector.arguments import as_file

if TYPE_CHECKING:
    from tests.conftest import MakeRepo, Repo

ROOT = Path(__file__).parents[2]
PROJECT = {
    "pyproject.toml": "[project]\nname = 'pkg'\nversion = '1'\n",
    "src/pkg/__init__.py": "",
    "src/pkg/a.py": "def f():\n    return 1\n\n\ndef g():\n    return 2\n",
    "src/pkg/b.py": "from pkg.a import f\n\n\ndef h():\n    return f()\n",
    "src/pkg/old.py": "def old():\n    return 3\n",
    "tests/test_a.py": "from pkg.a import f\n\n\ndef test_f():\n    assert f() == 1\n",
    "tests/test_b.py": "from pkg.b import h\n\n\ndef test_h():\n    assert h() == 1\n",
    "tests/test_old.py": "def test_old():\n    from pkg.old import old\n\n    assert old() == 3\n",
    "tests/test_other.py": "def test_other():\n    pass\n",
    "README.md": "x\n",
}


class Done(NamedTuple):
    exit_code: int
    output: str
    errors: str


def presubmit(folder: Path, *arguments: str, stack: int = 0, **env: str) -> Done:
    """Run presubmit; `stack` bounds the stack, and with it how long a command may be."""

    def bound() -> None:
        if stack:
            resource.setrlimit(resource.RLIMIT_STACK, (stack, stack))

    done = subprocess.run(
        [sys.executable, "-P", "-m", "presubmit", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), **env},
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=bound if stack else None,
    )
    return Done(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def repo(make_repo: MakeRepo) -> Repo:
    """Give a repository whose function `f` is changed."""
    made = make_repo(PROJECT)
    made.with_upstream()
    made.write({"src/pkg/a.py": PROJECT["src/pkg/a.py"].replace("return 1", "return 10")})
    return made


def test_a_damaged_history_is_said(repo: Repo) -> None:
    (repo.path / ".git/presubmit").mkdir()
    (repo.path / ".git/presubmit/history.db").write_text("junk")
    done = presubmit(repo.path, "select")
    assert done.exit_code == 0
    assert "note: history.db was damaged" in done.errors
    assert "damaged" not in presubmit(repo.path, "select").errors


# --- start-up -------------------------------------------------------------------------------------------------------

MOST_GIT_PROCESSES = 37


def test_a_warm_selection_starts_few_git_processes(repo: Repo, tmp_path: Path) -> None:
    real = shutil.which("git")
    count = tmp_path / "count"
    stub = tmp_path / "bin" / "git"
    stub.parent.mkdir()
    stub.write_text(f'#!/bin/sh\necho >> "{count}"\nexec "{real}" "$@"\n')
    stub.chmod(0o755)
    presubmit(repo.path, "select")
    done = presubmit(repo.path, "select", PATH=f"{stub.parent}{os.pathsep}{os.environ['PATH']}")
    assert done.output.splitlines() == ["tests/test_a.py", "tests/test_b.py"]
    assert 0 < len(count.read_text().splitlines()) <= MOST_GIT_PROCESSES


def test_a_selection_of_python_loads_neither_engine_nor_runner_nor_readers_of_c(
    repo: Repo,
) -> None:
    code = (
        "import sys; from presubmit.cli import invoke; invoke(['select']);"
        "print([it for it in sys.modules if it.partition('.')[0] in"
        " {'docker', 'nox', 'git', 'rich', 'yaml', 'ruamel', 'requests', 'multiprocessing',"
        " 'statistics'} or it in {'presubmit.selector.native.csource',"
        " 'presubmit.selector.native.static', 'presubmit.selector.recorded_scene',"
        " 'presubmit.run'}], file=sys.stderr)"
    )
    repo.write({"pytest.ini": "[pytest]\n"})
    repo.commit()
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        cwd=repo.path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr.splitlines()[-1] == "[]"


# --- select ---------------------------------------------------------------------------------------------------------


def test_the_affected_tests_are_printed_the_likeliest_first(repo: Repo) -> None:
    done = presubmit(repo.path, "select")
    assert (done.exit_code, done.output) == (0, "tests/test_a.py\ntests/test_b.py\n")


def test_a_selection_is_explained_with_reasons_and_what_was_left_out(repo: Repo) -> None:
    lines = presubmit(repo.path, "select", "--explain").output.splitlines()
    assert lines[0] == "2 of 4 test files depend on the change"
    assert lines[1].startswith("1  tests/test_a.py  ")
    assert "left out: 2 of 4 test files" in lines
    every = presubmit(repo.path, "select", "--explain", "--all").output
    assert "tests/test_other.py" in every
    assert "tests/test_old.py" in every


def test_json_has_reasons_and_what_was_left_out(repo: Repo) -> None:
    found = json.loads(presubmit(repo.path, "select", "--format", "json").output)
    assert [test["path"] for test in found["tests"]] == ["tests/test_a.py", "tests/test_b.py"]
    assert all(test["reasons"][0]["chain"] for test in found["tests"])
    assert {one["path"] for one in found["left_out"]} == {
        "tests/test_old.py",
        "tests/test_other.py",
    }


@pytest.mark.parametrize("together", ["test_p", "test_q"])
def test_what_was_edited_together_before_comes_first(make_repo: MakeRepo, together: str) -> None:
    users = {f"tests/{name}.py": "import pkg.c\n" for name in ("test_p", "test_q")}
    repo = make_repo({**PROJECT, **users, "src/pkg/c.py": "x = 0\n"})
    for number in range(3):
        edited = f"tests/{together}.py"
        repo.commit({"src/pkg/c.py": f"x = {number}\n", edited: f"import pkg.c\n# {number}\n"})
    repo.with_upstream()
    repo.write({"src/pkg/c.py": "print()\n"})
    other = {"test_p": "test_q", "test_q": "test_p"}[together]
    expected = [f"tests/{together}.py", f"tests/{other}.py"]
    assert presubmit(repo.path, "select").output.split() == expected


@pytest.mark.parametrize(
    "arguments",
    [
        ("select", "--exec"),
        ("select", "--", "pytest"),
        ("select", "--all"),
        ("select", "--explain", "--exec", "--", "pytest"),
    ],
)
def test_options_that_make_no_sense_together_are_refused(
    repo: Repo, arguments: tuple[str, ...]
) -> None:
    assert presubmit(repo.path, *arguments).exit_code == 2


def test_who_forgets_the_dashes_before_a_command_is_told(repo: Repo) -> None:
    done = presubmit(repo.path, "select", "--exec", "pytest", "-q")
    assert done.exit_code == 2
    assert "put -- before the command" in done.errors


def test_a_command_gets_the_tests_by_their_names_from_its_folder(repo: Repo) -> None:
    shown = ("--exec", "--", "printf", "%s|")
    assert presubmit(repo.path, "select", *shown).output == "tests/test_a.py|tests/test_b.py|"
    inside = presubmit(repo.path / "src", "select", *shown)
    assert inside.output == "../tests/test_a.py|../tests/test_b.py|"


def test_an_empty_selection_runs_nothing(repo: Repo) -> None:
    repo.git("checkout", "-q", "--", ".")
    repo.write({"README.md": "y\n"})
    done = presubmit(repo.path, "select", "--exec", "--", "false")
    assert (done.exit_code, done.output) == (0, "")
    assert "no test is affected" in done.errors


STUB = """#!/bin/sh
if [ "$1" = --version ]; then echo "pytest $STUB_VERSION"; exit 0; fi
for one; do case $one in @*) wc -l < "${one#@}";; *) echo "$one";; esac; done
"""


@pytest.mark.parametrize("version", ["8.2.0", "7.4.4"])
def test_too_many_names_go_into_a_file_where_pytest_takes_one(
    repo: Repo, tmp_path: Path, version: str
) -> None:
    long = "x" * 200
    repo.write({f"tests/test_{long}{number}.py": "" for number in range(700)})
    repo.write({"tests/test_é.py": ""})
    stub = tmp_path / "bin/pytest"
    stub.parent.mkdir()
    stub.write_text(STUB)
    stub.chmod(0o755)
    path = f"{stub.parent}{os.pathsep}{os.environ['PATH']}"
    done = presubmit(
        *(repo.path, "select", "--exec", "--", "pytest", "-q"),
        stack=512 * 1024,
        PATH=path,
        STUB_VERSION=version,
    )
    if version.startswith("7"):
        assert done.exit_code == 2
        assert "too many for one command" in done.errors
    else:
        assert done.output.split() == ["-q", "702", "tests/test_é.py"], done.errors


def test_pytest_reads_the_names_of_such_a_file(make_repo: MakeRepo) -> None:
    names = ("tests/with blank/test_b.py", "tests/new\nline/test_c.py", "tests/test_a.py")
    repo = make_repo(dict.fromkeys(names, "def test_x():\n    pass\n"))
    text, outside = as_file([f"{name}::test_x" for name in names])
    repo.write({"names": text})
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "@names", *outside],
        cwd=repo.path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "3 passed" in done.stdout, done.stdout


# --- explain --------------------------------------------------------------------------------------------------------


def explained(repo: Repo, *arguments: str) -> dict[str, Any]:
    done = presubmit(repo.path, "explain", *arguments, "--format", "json")
    assert done.exit_code == 0, done.errors
    found: dict[str, Any] = json.loads(done.output)
    return found


def test_a_test_that_runs_is_explained_by_its_whole_chain(repo: Repo) -> None:
    found = explained(repo, "tests/test_b.py::test_h")
    assert found["runs"] is True
    chain = found["reasons"][0]["chain"]
    assert chain[0].startswith("src/pkg/a.py")
    assert chain[-1] == "tests/test_b.py"
    text = presubmit(repo.path, "explain", "tests/test_b.py").output
    assert " -> tests/test_b.py" in text


def test_a_test_that_does_not_run_is_explained_by_the_rule(repo: Repo) -> None:
    found = explained(repo, "tests/test_other.py", "--why-not")
    assert found["runs"] is False
    assert found["reasons"][0]["rule"] == "imports"


def test_an_id_that_is_not_in_its_file_is_exit_2_with_near_names(repo: Repo) -> None:
    done = presubmit(repo.path, "explain", "tests/test_b.py::test_hh")
    assert (done.exit_code, done.output) == (2, "")
    assert "tests/test_b.py::test_h?" in done.errors
    assert explained(repo, "tests/test_b.py::test_h[1]")["notes"] == []


def test_a_neighbour_of_an_added_test_is_not_said_to_be_edited(repo: Repo) -> None:
    more = "\n\ndef test_new():\n    pass\n"
    repo.write({"tests/test_b.py": PROJECT["tests/test_b.py"] + more})
    said = {
        name: explained(repo, f"tests/test_b.py::{name}")["reasons"][0]["text"]
        for name in ("test_h", "test_new")
    }
    assert said["test_h"].startswith("its file is edited")
    assert said["test_new"] == "the change adds or edits it"


def reached(found: dict[str, Any]) -> set[str]:
    return {test["path"] for _, tests in found["groups"] for test in tests}


def test_a_file_is_explained_as_if_all_of_it_were_changed(repo: Repo) -> None:
    found = explained(repo, "src/pkg/b.py")
    assert reached(found) == {"tests/test_b.py"}
    whole = explained(repo, "src/pkg/a.py")
    assert reached(whole) == {"tests/test_a.py", "tests/test_b.py"}
    assert [group[0] for group in whole["groups"]] == [1, 2]


def test_a_file_that_the_change_deletes_is_explained_by_the_base(repo: Repo) -> None:
    (repo.path / "src/pkg/old.py").unlink()
    assert "tests/test_old.py" in reached(explained(repo, "src/pkg/old.py"))


def test_the_tests_that_a_file_does_not_reach_are_named(repo: Repo) -> None:
    text = presubmit(repo.path, "explain", "--why-not", "src/pkg/b.py").output
    assert text.splitlines()[0] == "src/pkg/b.py   does not reach 3 of 4 test files"


def test_a_target_is_named_from_the_folder_where_one_stands(repo: Repo) -> None:
    done = presubmit(repo.path / "tests", "explain", "test_b.py")
    assert done.output.startswith("tests/test_b.py   runs")


@pytest.mark.parametrize("target", ["src/pkg/aa.py", "test_b.py", "tests", "src/pkg/b.py::h"])
def test_what_is_not_there_is_exit_2_with_near_names(repo: Repo, target: str) -> None:
    done = presubmit(repo.path, "explain", target)
    assert (done.exit_code, done.output) == (2, "")
    if target != "tests":
        assert "src/pkg/" in done.errors or "tests/test_b.py" in done.errors


def test_explaining_changes_nothing_in_the_checkout(repo: Repo) -> None:
    before = repo.git("status", "--porcelain", "--ignored")
    presubmit(repo.path, "explain", "src/pkg/a.py")
    presubmit(repo.path, "select", "--explain")
    assert repo.git("status", "--porcelain", "--ignored") == before
