"""`presubmit review`, as it is typed, in a real repository."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from presubmit.review.values import Review
from presubmit.values import decode

if TYPE_CHECKING:
    from tests.conftest import MakeRepo, Repo

ROOT = Path(__file__).parents[2]
PROJECT = {
    ".gitignore": "local.py\n",
    ".github/dco.yml": "",
    "pkg/__init__.py": "",
    "pkg/a.py": "def f(x):\n    return x\n",
    "requirements.txt": "torch==2.7.0\ntorchvision==0.22.0\n",
}


def review(repo: Repo, *arguments: str) -> subprocess.CompletedProcess[str]:
    return presubmit(repo, "review", *arguments)


def presubmit(repo: Repo, command: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return presubmit_alone(repo, command, "--base", "main", *arguments)


def presubmit_alone(repo: Repo, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", "-m", "presubmit", *arguments],
        cwd=repo.path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )


def parsed(repo: Repo, *arguments: str) -> Any:
    return json.loads(review(repo, "--json", *arguments).stdout)


def on_branch(make_repo: MakeRepo) -> Repo:
    repo = make_repo(PROJECT)
    repo.git("checkout", "-q", "-b", "feature")
    return repo


def test_a_clean_change_is_said_to_be_clean(make_repo: MakeRepo) -> None:
    repo = on_branch(make_repo)
    repo.write({"pkg/a.py": "def f(x):\n    return x + 1\n"})
    done = review(repo)
    assert (done.returncode, done.stdout, done.stderr) == (0, "no remarks\n", "")


def test_an_error_gives_exit_1_and_is_in_every_form(make_repo: MakeRepo) -> None:
    repo = on_branch(make_repo)
    repo.write({"requirements.txt": "torch==2.7.0\ntorchvision==0.18.0\n"})
    done = review(repo, "--sarif", "out.sarif")
    assert done.returncode == 1
    assert (
        "requirements.txt:2: error pins.torch-pair: torchvision 0.18.0 goes with torch 2.3"
        in done.stdout
    )
    log = json.loads((repo.path / "out.sarif").read_text())
    assert [one["ruleId"] for one in log["runs"][0]["results"]] == ["pins.torch-pair"]


def test_a_warning_alone_gives_exit_0(make_repo: MakeRepo) -> None:
    repo = on_branch(make_repo)
    repo.write({"pkg/a.py": "def g(x):\n    return x\n"})
    done = review(repo)
    assert done.returncode == 0
    assert "warning api.removed: pkg.a.f is gone" in done.stdout


def test_files_that_only_the_checkout_has_and_commits_without_sign_off(
    make_repo: MakeRepo,
) -> None:
    repo = on_branch(make_repo)
    repo.write(
        {
            "pkg/local.py": "x = 1\n",
            "pkg/a.py": "from pkg.local import x\n\n\ndef f(y):\n    return x\n",
        }
    )
    commit = repo.commit(message="Take x from elsewhere")
    found = parsed(repo, "--commit", commit, "--rule", "files")
    assert [one["code"] for one in found["remarks"]] == [
        "files.no-sign-off",
        "files.ignored-import",
    ]


def test_a_file_that_was_left_out_of_the_commit_is_an_error(make_repo: MakeRepo) -> None:
    repo = on_branch(make_repo)
    repo.write(
        {"pkg/b.py": "x = 1\n", "pkg/a.py": "from pkg.b import x\n\n\ndef f(y):\n    return x\n"}
    )
    repo.git("commit", "-q", "-s", "-m", "Take x from elsewhere", "pkg/a.py")
    done = review(repo, "--commit", "HEAD", "--rule", "files")
    assert done.returncode == 1
    assert "files.not-added: pkg.b is imported here, and pkg/b.py is not in git" in done.stdout


def test_a_run_reviews_the_change_and_fails_by_an_error(make_repo: MakeRepo) -> None:
    repo = on_branch(make_repo)
    repo.write(
        {
            "requirements.txt": "torch==2.7.0\ntorchvision==0.18.0\n",
            "pkg/a.py": "def g(x):\n    return x\n",
        }
    )
    done = presubmit(repo, "run", "--no-container", "--tier", "quick", "--only", "review")
    assert done.returncode == 1
    folder = repo.path / ".presubmit" / "last"
    kept = decode((folder / "review.json").read_bytes(), Review)
    assert [one.code for one in kept.remarks] == ["pins.torch-pair", "api.removed", "api.added"]
    run = json.loads((folder / "run.json").read_text())
    [failure] = run["failures"]
    assert (failure["kind"], failure["class"], failure["subject"]) == (
        "review",
        "new",
        "requirements.txt:2",
    )
    assert [step["id"] for step in run["steps"]] == ["review.1"]
    log = json.loads(presubmit_alone(repo, "report", "--format", "sarif").stdout)
    assert [one["ruleId"] for one in log["runs"][0]["results"]] == [
        "pins.torch-pair",
        "api.removed",
        "api.added",
    ]
    assert "## Review" in (folder / "report.md").read_text()


def test_a_review_alone_needs_no_image_and_is_done_again_for_each_run(make_repo: MakeRepo) -> None:
    repo = on_branch(make_repo)
    repo.write({"pkg/a.py": "def f(x):\n    return x + 1\n"})
    for _ in range(2):
        done = presubmit(repo, "run", "--no-container", "--only", "review")
        assert done.returncode == 0, done.stderr
        assert "no remarks" in done.stdout
        assert (repo.path / ".presubmit" / "last" / "review.json").is_file()


def test_a_rule_that_does_not_exist_is_named(make_repo: MakeRepo) -> None:
    done = review(on_branch(make_repo), "--rule", "nonsense")
    assert done.returncode == 2
    assert "there is no rule nonsense" in done.stderr
