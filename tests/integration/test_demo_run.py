"""The demo with real git, a real compiler and, at the end, real runs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from presubmit import demo
from presubmit.errors import ExitCode
from presubmit.process import scrubbed_environment

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from presubmit.container.model import ImageRef

NO_ENGINE = "unix:///nowhere/presubmit-demo.sock"

NEW = [
    "tests/test_elementwise.py::test_scale_by_minus_one_turns_the_signs",
    "tests/test_elementwise.py::test_scale_multiplies_each_element",
]
ON_BASE = ["tests/test_dot.py::test_dot_keeps_small_terms"]
REPRODUCES = "tests/test_elementwise.py::test_scale_refuses_a_factor_that_is_not_finite"

UNKIND_CONFIG = """\
[commit]
\tgpgSign = true
[gpg]
\tprogram = /bin/false
[core]
\thooksPath = {hooks}
\tautocrlf = true
\texcludesFile = {ignore}
[init]
\tdefaultBranch = trunk
\ttemplateDir = {hooks}
[user]
\tname = Somebody Else
\temail = else@example.org
"""


def run_demo(*args: str, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run `presubmit demo` as a user does."""
    return subprocess.run(
        [sys.executable, "-P", "-m", "presubmit", "demo", *args],
        env=scrubbed_environment({"DOCKER_HOST": NO_ENGINE, **(env or {})}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def read_run(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "tensorlet/.presubmit/last/run.json").read_text())
    return found


def subjects(run: dict[str, Any], label: str) -> list[str]:
    return sorted(f["subject"] for f in run["failures"] if f["class"] == label)


# --- laying out ---------------------------------------------------------------------------------------------------


def test_upstream_holds_every_file_of_the_project(tmp_path: Path, git: Callable[..., str]) -> None:
    made = demo.lay_out(tmp_path / "demo")
    held = git(made.upstream, "ls-tree", "-r", "--name-only", "main").splitlines()
    assert sorted(held) == sorted(path for path, _ in demo.project_files())


def test_the_change_is_one_commit_two_edits_and_an_untracked_file(
    tmp_path: Path, git: Callable[..., str]
) -> None:
    made = demo.lay_out(tmp_path / "demo")
    assert made.checkout == tmp_path / "demo/tensorlet"
    assert git(made.checkout, "branch", "--show-current") == "faster-scale"
    assert git(made.checkout, "log", "--format=%an: %s", "upstream/main..") == (
        "A. Contributor: Scale four elements in one step"
    )
    assert git(made.checkout, "diff", "--name-only", "upstream/main..").splitlines() == [
        "src/tensorlet/_kernels.cpp",
        "src/tensorlet/kernels.hpp",
    ]
    assert git(made.checkout, "status", "--porcelain").splitlines() == [
        " M src/tensorlet/ops.py",
        " M tests/test_elementwise.py",
        "?? notes.md",
    ]


def test_every_demo_has_the_same_commits(tmp_path: Path, git: Callable[..., str]) -> None:
    made = [demo.lay_out(tmp_path / name) for name in ("one", "two")]
    first, second = (git(m.checkout, "rev-parse", "upstream/HEAD", "HEAD") for m in made)
    assert first == second


def test_the_users_own_git_settings_do_not_show(
    tmp_path: Path, git: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = demo.lay_out(tmp_path / "plain")
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    for name in ("pre-commit", "commit-msg", "applypatch-msg", "pre-push", "post-checkout"):
        (hooks / name).write_text("#!/bin/sh\nexit 1\n")
        (hooks / name).chmod(0o755)
    (tmp_path / "ignore").write_text("*.yml\n")
    config = tmp_path / "gitconfig"
    config.write_text(UNKIND_CONFIG.format(hooks=hooks, ignore=tmp_path / "ignore"))
    with monkeypatch.context() as patch:
        patch.setenv("GIT_CONFIG_GLOBAL", str(config))
        patch.setenv("GIT_CONFIG_COUNT", "1")
        patch.setenv("GIT_CONFIG_KEY_0", "core.hooksPath")
        patch.setenv("GIT_CONFIG_VALUE_0", str(hooks))
        patch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
        patch.setenv("GIT_AUTHOR_DATE", "1 +0000")
        unkind = demo.lay_out(tmp_path / "unkind")
    assert git(unkind.checkout, "rev-parse", "HEAD") == git(plain.checkout, "rev-parse", "HEAD")
    assert (unkind.checkout / "setup.py").read_bytes() == (
        plain.checkout / "setup.py"
    ).read_bytes()
    assert not list((unkind.checkout / ".git").glob("hooks/*"))


# --- the command --------------------------------------------------------------------------------------------------


def test_no_run_lays_out_and_names_what_to_do_next(tmp_path: Path) -> None:
    done = run_demo("--no-run", str(tmp_path / "a demo"))
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0].startswith(f"made {tmp_path}/a demo/tensorlet, ")
    assert f"  cd '{tmp_path}/a demo/tensorlet'" in lines
    assert not (tmp_path / "a demo/tensorlet/.presubmit").exists()


def test_without_a_folder_it_is_made_in_the_cache(tmp_path: Path) -> None:
    done = run_demo("--no-run", env={"XDG_CACHE_HOME": str(tmp_path)})
    assert done.returncode == 0
    assert (tmp_path / "presubmit/demo/1/tensorlet/setup.py").is_file()


def test_a_folder_that_is_not_empty_is_a_usage_error(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("")
    done = run_demo(str(tmp_path))
    assert (done.returncode, done.stdout) == (ExitCode.USAGE, "")
    assert f"{tmp_path} is not empty" in done.stderr


def test_an_image_that_is_asked_for_is_not_replaced_by_the_host(tmp_path: Path) -> None:
    done = run_demo("--image", "nobody/has:this", str(tmp_path / "demo"))
    assert done.returncode == ExitCode.ENVIRONMENT
    assert "no container engine" in done.stderr
    assert "on this host" not in done.stdout


@pytest.fixture
def without_compiler(tmp_path: Path) -> str:
    """Give a PATH that has no compiler."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("git", "python3", "sh"):
        found = shutil.which(name)
        assert found is not None
        (programs / name).symlink_to(found)
    return str(programs)


def test_a_host_without_compiler_is_said_before_anything_is_built(
    tmp_path: Path, without_compiler: str
) -> None:
    done = run_demo(str(tmp_path / "demo"), env={"PATH": without_compiler})
    assert done.returncode == ExitCode.ENVIRONMENT
    assert "note running on this host, not in a container: no container engine" in done.stdout
    assert "this host cannot build" in done.stderr
    assert "apt install g++" in done.stderr
    assert not (tmp_path / "demo/tensorlet/.presubmit").exists()


@pytest.mark.engine
def test_an_image_that_is_not_here_is_named_as_the_reason(
    tmp_path: Path, without_compiler: str, image: ImageRef
) -> None:
    del image
    env = {
        "DOCKER_HOST": os.environ.get("DOCKER_HOST", ""),
        "PATH": without_compiler,
        "PRESUBMIT_CONTAINER_IMAGE": "nobody/has:this",
    }
    done = run_demo(str(tmp_path / "demo"), env=env)
    assert done.returncode == ExitCode.ENVIRONMENT
    assert "note running on this host, not in a container: image nobody/has:this" in done.stdout


# --- runs ---------------------------------------------------------------------------------------------------------


def check_demo_run(done: subprocess.CompletedProcess[str], folder: Path, kind: str) -> None:
    """See that the fault was found, and nothing else is blamed on the change."""
    assert done.returncode == ExitCode.FAILED, (done.stdout, done.stderr)
    run = read_run(folder)
    assert (run["state"], run["exit"], run["environment"]["kind"]) == ("failed", 1, kind)
    assert subjects(run, "new") == NEW
    assert subjects(run, "on_base") == ON_BASE
    assert len(run["failures"]) == len(NEW) + len(ON_BASE)
    reproduces = [(r["test"], r["fails_without_change"]) for r in run["reproduces"]]
    assert reproduces == [(REPRODUCES, True)]
    outcomes = {step["role"]: step["outcome"] for step in run["steps"]}
    assert outcomes == {
        **dict.fromkeys(("review", "lint", "build", "docs"), "passed"),
        "tests": "failed",
    }
    assert run["not_run"] == []


@pytest.mark.network
def test_without_an_engine_the_fault_is_found_on_this_host(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    done = run_demo("--output", "plain", str(folder), env={"XDG_CACHE_HOME": str(tmp_path / "c")})
    check_demo_run(done, folder, "host")
    assert "note running on this host, not in a container: no container engine" in done.stdout
    assert "  presubmit shell tests --no-container " in done.stdout


@pytest.mark.engine
@pytest.mark.network
def test_with_an_image_the_fault_is_found_in_a_container(tmp_path: Path, image: ImageRef) -> None:
    folder = tmp_path / "demo"
    env = {"XDG_CACHE_HOME": str(tmp_path / "c"), "DOCKER_HOST": os.environ.get("DOCKER_HOST", "")}
    done = run_demo("--image", image.name, "--output", "plain", str(folder), env=env)
    check_demo_run(done, folder, "container")
    assert "on this host" not in done.stdout
    assert f"  presubmit run --image {image.name} " in done.stdout
