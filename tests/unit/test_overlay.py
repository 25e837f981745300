"""Whether the tree's Python may be laid over an installed build: the decision, and what the box does of it."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from presubmit.config import BuildConfig
from presubmit.overlay import (
    OverlayRefusedError,
    Seen,
    is_compiled,
    lay_out,
    overlay_of,
)
from presubmit.replay.inside import script
from presubmit.values import Overlay

if TYPE_CHECKING:
    from pathlib import Path

CHANGED = ("torch/nn/linear.py", "test/test_nn.py")
COMMIT = "a" * 40


def overlay(**more: Any) -> Overlay:
    return Overlay(**{"packages": ("torch",), "changed": CHANGED, **more})


def seen(**more: Any) -> dict[str, Seen]:
    found = {"installed": "/lib/torch", "same": 9, "differs": ("torch/nn/linear.py",), **more}
    return {"torch": Seen(**found)}


def test_a_build_that_says_no_commit_is_taken_where_all_else_is_the_bases() -> None:
    laid = lay_out(overlay(), seen(), None)
    assert laid.files == ("torch/nn/linear.py",)
    assert laid.hidden == ()
    assert "does not say its commit, but 9 Python files of it are the base's" in laid.note


def test_what_differs_besides_the_change_refuses_a_build_without_a_commit() -> None:
    found = seen(differs=("torch/nn/linear.py", "torch/optim/adam.py"))
    with pytest.raises(OverlayRefusedError, match=r"1 file of it is not the base's: torch/optim"):
        lay_out(overlay(), found, None)


def test_a_commit_that_the_repository_does_not_have_is_said() -> None:
    found = seen(differs=("torch/optim/adam.py",), commit=COMMIT)
    with pytest.raises(OverlayRefusedError, match=r"\(aaaaaaaaa\) is not in this repository"):
        lay_out(overlay(), found, None)


def test_with_a_known_commit_all_python_that_moved_since_is_laid_over() -> None:
    since = ("torch/nn/linear.py", "torch/optim/adam.py", "torch/gone.py", "docs/a.rst")
    found = seen(
        differs=("torch/nn/linear.py", "torch/optim/adam.py"),
        new=("torch/nn/fresh.py", "torch/csrc/a.txt"),
        extra=("torch/gone.py", "torch/version.py"),
        commit=COMMIT,
    )
    laid = lay_out(overlay(), found, since)
    assert laid.files == ("torch/nn/fresh.py", "torch/nn/linear.py", "torch/optim/adam.py")
    assert laid.hidden == ("torch/gone.py",), "what the build generated stays"


def test_a_source_that_moved_since_the_builds_commit_refuses() -> None:
    since = ("torch/csrc/a.cpp", "torch/nn/linear.py")
    with pytest.raises(
        OverlayRefusedError, match=r"1 file that it was compiled from differs: tor"
    ):
        lay_out(overlay(), seen(commit=COMMIT), since)


def test_a_change_of_a_source_refuses_a_build_without_a_commit() -> None:
    with pytest.raises(OverlayRefusedError, match=r"c10/a\.h is compiled"):
        lay_out(overlay(changed=("c10/a.h",)), seen(differs=()), None)


def test_a_deleted_module_is_hidden_and_a_new_one_is_laid() -> None:
    changed = ("torch/old.py", "torch/new.py")
    found = seen(differs=(), new=("torch/new.py",), extra=("torch/old.py", "torch/version.py"))
    laid = lay_out(overlay(changed=changed), found, None)
    assert (laid.files, laid.hidden) == (("torch/new.py",), ("torch/old.py",))


def test_what_is_not_installed_or_wholly_other_is_no_build_of_the_tree() -> None:
    with pytest.raises(OverlayRefusedError, match="torch is not installed"):
        lay_out(overlay(), seen(installed=""), None)
    with pytest.raises(OverlayRefusedError, match="no file of the installed torch"):
        lay_out(overlay(), seen(same=0), ())


@pytest.mark.parametrize(
    ("path", "patterns", "compiled"),
    [
        ("a/b.cpp", (), True),
        ("setup.py", (), True),
        ("a/b.py", (), False),
        ("tools/gen/b.py", ("tools/gen/**",), True),
        ("a/b.cpp", ("tools/gen/**",), False),
        ("test/ext/b.cpp", ("*.cpp", "!test/ext/**"), False),
        ("test/b.cpp", ("*.cpp", "!test/ext/**"), True),
    ],
)
def test_what_a_build_is_made_from(path: str, patterns: tuple[str, ...], compiled: bool) -> None:
    assert is_compiled(path, patterns) is compiled


def test_a_change_that_must_be_compiled_is_compiled_where_the_configuration_says_how() -> None:
    build = BuildConfig(mode="overlay", overlay=("torch",))
    assert overlay_of(build, ("c10/a.h",), base="b")[0] is not None, (
        "refused by the build, with why"
    )
    able = BuildConfig(mode="overlay", overlay=("torch",), command="make")
    assert overlay_of(able, ("c10/a.h",), base="b") == (None, "c10/a.h")
    found, _ = overlay_of(able, ("torch/a.py",), base="b", of_base=True)
    assert found is not None
    assert found.changed == ()


# --- inside a box -------------------------------------------------------------------------------------------------------


def ask(verb: str, question: dict[str, Any], folder: Path, python: str) -> dict[str, Any]:
    asked, answer = folder / "question.json", folder / f"{verb}.json"
    asked.write_text(json.dumps(question))
    command = [python, "-I", "-c", script("overlay"), verb, str(asked), str(answer)]
    subprocess.run(command, check=True, capture_output=True)
    found: dict[str, Any] = json.loads(answer.read_text())
    return found


def write(top: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """A virtual environment with a package that a build made, and a tree beside it."""
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "venv")], check=True
    )
    installed = next((tmp_path / "venv/lib").glob("python*/site-packages")) / "thing"
    write(
        installed,
        {
            "__init__.py": "#!/usr/bin/python3\nfrom thing.version import number\n",
            "version.py": f"number = 1\ngit_version: str = '{COMMIT}'\n",
            "deep/__init__.py": "",
            "deep/a.py": "value = 'installed'\n",
            "deep/b.py": "from thing.deep import a\n",
            "deep/old.py": "",
            "other/__init__.py": "",
            "other/data.txt": "installed",
        },
    )
    write(
        tmp_path / "src/thing",
        {
            "__init__.py": "#!/usr/bin/env python3\nfrom thing.version import number\n",
            "deep/__init__.py": "",
            "deep/a.py": "value = 'of the tree'\n",
            "deep/b.py": "from thing.deep import a\n",
            "deep/new.py": "value = 'new'\n",
            "other/__init__.py": "",
            "other/data.txt": "installed",
        },
    )
    return tmp_path


def test_a_package_is_compared_and_laid_over_without_a_touch_to_either(environment: Path) -> None:
    python = str(environment / "venv/bin/python")
    question = {
        "source": str(environment / "src"),
        "overlay": str(environment / "over"),
        "packages": ["thing"],
    }
    before = {p: p.read_bytes() for p in environment.rglob("*.py") if "thing" in p.parts}
    told = ask("look", question, environment, python)["thing"]
    assert told["differs"] == ["thing/deep/a.py"], "comments apart: the interpreter of a script"
    assert told["new"] == ["thing/deep/new.py"]
    assert told["extra"] == ["thing/deep/old.py", "thing/version.py"]
    assert (told["same"], told["commit"]) == (4, COMMIT)
    lay = {
        **question,
        "packages": {"thing": told["installed"]},
        "laid": ["thing/deep/a.py", "thing/deep/new.py"],
        "hidden": ["thing/deep/old.py"],
    }
    ask("lay", lay, environment, python)
    assert ask("look", question, environment, python)["thing"] == told, "an overlay is no build"
    over = environment / "over/thing"
    assert (over / "other").is_symlink(), "one link for a folder in which nothing differs"
    assert not (over / "deep").is_symlink()
    asked = (
        "import thing, thing.deep.b, thing.deep.new, importlib.util as u\n"
        "print(thing.number, thing.deep.a.value, thing.deep.new.value, u.find_spec('thing.deep.old'), thing.__file__)"
    )
    done = subprocess.run(
        [python, "-P", "-c", asked],
        cwd=environment / "src",
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout.split() == [
        "1",
        "of",
        "the",
        "tree",
        "new",
        "None",
        str(over / "__init__.py"),
    ]
    assert {p: p.read_bytes() for p in before} == before
