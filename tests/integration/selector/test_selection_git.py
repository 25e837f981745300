"""What git makes hard: clones without history, and changes of which no line of code tells."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from presubmit.reading import RunOptions, read_all, read_selection
from presubmit.values import Mode, Selection
from tests.conftest import run_git
from tests.integration.run.conftest import read_sdist, unpack

if TYPE_CHECKING:
    from tests.conftest import MakeRepo, Repo

ROOT = Path(__file__).parents[3]
POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:{digest}\nsize 12\n"
FILES = {
    "pyproject.toml": "[project]\nname = 'pkg'\nversion = '1'\n",
    "pkg/__init__.py": "",
    "pkg/a.py": "def f():\n    return 1\n",
    "pkg/model.bin": POINTER.format(digest="a" * 64),
    "pkg/load.py": "def load():\n    return open('pkg/model.bin').read()\n",
    "tests/test_a.py": "from pkg.a import f\n\n\ndef test_f():\n    assert f() == 1\n",
    "tests/test_load.py": "from pkg.load import load\n\n\ndef test_load():\n    assert load()\n",
    "tests/test_other.py": "def test_other(): ...\n",
}
CHANGED = {"pkg/a.py": "def f():\n    return 2\n"}


class Done(NamedTuple):
    exit_code: int
    output: str
    errors: str


def presubmit(folder: Path, *arguments: str) -> Done:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "presubmit", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr)


# --- where there is no base -------------------------------------------------------------------------------------------

COMMANDS = [("select",), ("run", "--no-container")]


@pytest.mark.parametrize("command", COMMANDS, ids=["select", "run"])
def test_a_shallow_clone_is_exit_3_with_the_command_that_mends_it(
    make_repo: MakeRepo, tmp_path: Path, command: tuple[str, ...]
) -> None:
    made = make_repo(FILES)
    bare = made.with_upstream()
    made.git("checkout", "-q", "-b", "topic")
    for number in range(3):
        made.commit({"pkg/a.py": f"def f():\n    return {number}\n"})
    made.git("push", "-q", "upstream", "topic")
    clone = tmp_path / "clone"
    made.git("clone", "-q", "--depth=1", "-b", "topic", f"file://{bare}", str(clone))
    run_git(clone, "fetch", "-q", "--depth=1", "origin", "+main:refs/remotes/origin/main")
    done = presubmit(clone, *command)
    assert done.exit_code == 3
    assert "shallow" in done.errors
    assert "git fetch --deepen=50 origin" in done.errors
    assert done.output == ""


@pytest.mark.parametrize("command", COMMANDS, ids=["select", "run"])
def test_no_commit_in_common_is_exit_3(make_repo: MakeRepo, command: tuple[str, ...]) -> None:
    made = make_repo(FILES)
    made.with_upstream()
    made.git("checkout", "-q", "--orphan", "alone")
    made.commit(CHANGED)
    done = presubmit(made.path, *command)
    assert done.exit_code == 3
    assert "no commit in common" in done.errors
    assert "--base" in done.errors
    assert done.output == ""


@pytest.mark.parametrize("command", COMMANDS, ids=["select", "run"])
def test_no_remote_at_all_is_exit_3_with_what_was_tried(
    make_repo: MakeRepo, command: tuple[str, ...]
) -> None:
    made = make_repo(FILES)
    made.write(CHANGED)
    done = presubmit(made.path, *command)
    assert done.exit_code == 3
    assert "--base" in done.errors
    assert done.output == ""


def test_a_detached_head_is_selected_for_like_a_branch(make_repo: MakeRepo) -> None:
    made = make_repo(FILES)
    made.with_upstream()
    made.git("checkout", "-q", "--detach")
    made.commit(CHANGED)
    done = presubmit(made.path, "select")
    assert (done.exit_code, done.output) == (0, "tests/test_a.py\n")


# --- changes that are no edits of code --------------------------------------------------------------------------------


@pytest.fixture
def project(make_repo: MakeRepo) -> Repo:
    return make_repo(FILES)


def selection_of(project: Repo) -> Selection:
    options = RunOptions(start=project.path, base="HEAD")
    return read_selection(read_all(options, os.environ), "affected")[0]


def chosen(selection: Selection) -> list[str]:
    return sorted(test.path for test in selection.tests)


def test_git_attributes_choose_all(project: Repo) -> None:
    """They may change what every file holds: line ends, filters."""
    project.write({".gitattributes": "*.py text eol=crlf\n"})
    assert selection_of(project).mode is Mode.ALL


def test_the_pointer_of_a_large_file_chooses_who_reads_the_file(project: Repo) -> None:
    project.write({"pkg/model.bin": POINTER.format(digest="b" * 64)})
    assert chosen(selection_of(project)) == ["tests/test_load.py"]


def test_another_mode_alone_chooses_all(project: Repo) -> None:
    (project.path / "pkg/a.py").chmod(0o755)
    selection = selection_of(project)
    assert selection.mode is Mode.ALL
    assert "pkg/a.py: its mode changed" in selection.why


def test_another_target_of_a_link_chooses_all(project: Repo) -> None:
    link = project.path / "pkg/link.py"
    link.symlink_to("a.py")
    project.commit()
    link.unlink()
    link.symlink_to("load.py")
    selection = selection_of(project)
    assert selection.mode is Mode.ALL
    assert "pkg/link.py: symbolic link" in selection.why


def test_another_commit_of_a_submodule_chooses_all(make_repo: MakeRepo, project: Repo) -> None:
    inner = make_repo({"x.py": "X = 1\n"}, name="inner")
    project.git(
        *("-c", "protocol.file.allow=always"), "submodule", "add", "-q", str(inner.path), "third"
    )
    project.commit()
    inner.commit({"x.py": "X = 2\n"})
    run_git(project.path / "third", "pull", "-q", "origin", "main")
    selection = selection_of(project)
    assert selection.mode is Mode.ALL
    assert "third: submodule" in selection.why


# --- tests that are collected again -----------------------------------------------------------------------------------


def test_a_test_class_that_another_file_inherits_or_imports_chooses_that_file_too(
    project: Repo,
) -> None:
    """Both ways of itsdangerous and networkx: `TestTimed(TestSigner)`, and a mere import."""
    project.commit(
        {
            "tests/__init__.py": "",
            "tests/test_signer.py": "from pkg.a import f\n\n\nclass TestSigner:\n    def test_f(self):\n        assert f()\n",
            "tests/test_timed.py": "from tests.test_signer import TestSigner\n\n\nclass TestTimed(TestSigner):\n    pass\n",
            "tests/test_again.py": "from tests.test_signer import TestSigner  # noqa\n",
        }
    )
    project.write(CHANGED)
    names = ["a", "again", "signer", "timed"]
    assert chosen(selection_of(project)) == [f"tests/test_{name}.py" for name in names]


@pytest.mark.network
@pytest.mark.parametrize("function", ["NoneAlgorithm.get_signature", "Signer.verify_signature"])
def test_the_inherited_tests_of_itsdangerous_are_chosen(
    make_repo: MakeRepo, tmp_path: Path, function: str
) -> None:
    """test_timed.py inherits all of TestSigner, and names next to nothing of what that tests."""
    unpack(read_sdist("itsdangerous==2.2.0"), tmp_path)
    made = make_repo()
    shutil.copytree(tmp_path / "itsdangerous-2.2.0", made.path, dirs_exist_ok=True)
    made.commit()
    owner, _, name = function.partition(".")
    path = made.path / "src/itsdangerous/signer.py"
    text = path.read_text()
    at = text.index(f"def {name}", text.index(f"class {owner}"))
    end = text.index("\n", text.index("->", at))
    path.write_text(f"{text[:end]}\n        assert self{text[end:]}")
    names = {path.rpartition("/")[2] for path in chosen(selection_of(made))}
    assert {"test_signer.py", "test_timed.py"} <= names


# --- code in strings --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "f'environment.call_unop({name})'",
        "'call_unop(' + name + ')'",
        "'x = environment.call_unop'",
    ],
)
def test_a_function_that_code_in_a_string_calls_chooses_the_tests_of_the_string(
    project: Repo, text: str
) -> None:
    """Jinja's compiler writes `environment.call_unop(` into the code that it makes."""
    environment = "class Environment:\n    def call_unop(self, it):\n        return it\n"
    project.commit(
        {
            "pkg/environment.py": environment,
            "pkg/compiler.py": f"from pkg.environment import Environment\n\n\ndef emit(name):\n    return {text}\n",
            "tests/test_emit.py": "from pkg.compiler import emit\n\n\ndef test_emit():\n    assert emit('x')\n",
        }
    )
    project.write({"pkg/environment.py": environment.replace("return it", "return not it")})
    assert "tests/test_emit.py" in chosen(selection_of(project))
