"""Real pushes through the pre-push hook: every row of git's contract with it, and a repository that stays as it was."""

from __future__ import annotations

import hashlib
import os
import pty
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.conftest import run_git
from tests.integration.run.pusher import FILES, GREEN, RED, TESTED, Pusher

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tests.integration.run.conftest import MakeProject, Project

pytestmark = pytest.mark.network


def fingerprint(path: Path) -> dict[str, str]:
    """Name the content of every file of a checkout and its git directory, presubmit's own folders apart."""
    found = {}
    for folder, folders, names in os.walk(path):
        folders[:] = [it for it in folders if it not in {".presubmit", "presubmit", "__pycache__"}]
        for name in names:
            file = Path(folder, name)
            if file.is_file() and not file.is_symlink():
                data = file.read_bytes()
                found[str(file.relative_to(path))] = hashlib.sha256(data).hexdigest()
    return found


@pytest.fixture(scope="module")
def checkout(make_project: MakeProject) -> Project:
    return make_project("pushed", files=FILES)


@pytest.fixture
def pusher(checkout: Project, tmp_path: Path) -> Pusher:
    checkout.back()
    remote = tmp_path / "remote.git"
    run_git(tmp_path, "init", "-q", "--bare", str(remote))
    made = Pusher(checkout, remote, tmp_path / "config")
    made.configure("")
    for place in made.git("worktree", "list", "--porcelain").split("\n\n")[1:]:
        made.git("worktree", "remove", "--force", place.splitlines()[0].removeprefix("worktree "))
    made.git("checkout", "-q", "-B", "topic", "start")
    code, output = made.presubmit("hook", "install")
    assert code == 0, output
    return made


@pytest.fixture
def tested(pusher: Pusher) -> Pusher:
    """A green change with evidence: tested in the worktree, committed afterwards."""
    pusher.project.edit(*GREEN)
    code, output = pusher.presubmit("run")
    assert code == 0, output
    pusher.git("commit", "-q", "-a", "-m", "Count down")
    return pusher


def test_a_tested_tree_is_let_through_whatever_its_message(tested: Pusher) -> None:
    before = fingerprint(tested.path)
    code, said = tested.push("topic")
    assert code == 0, said
    assert TESTED in said
    assert "syntax" not in said  # nothing was run
    assert tested.has("topic") == tested.git("rev-parse", "topic").strip()
    assert fingerprint(tested.path) == before
    tested.git("commit", "-q", "--amend", "-m", "Another message")
    code, said = tested.push("-f", "topic")
    assert (code, TESTED in said) == (0, True), said


@pytest.mark.parametrize(
    ("prepare", "what", "ref"),
    [
        ((), ("HEAD:refs/heads/elsewhere",), "elsewhere"),
        (("checkout", "-q", "--detach"), ("HEAD:refs/heads/elsewhere",), "elsewhere"),
        (("branch", "-f", "twin", "topic"), ("topic", "twin"), "twin"),
        (("branch", "-f", "a-b", "topic"), ("a-b:refs/heads/topic",), "topic"),
        (("tag", "-f", "-a", "-m", "One", "v1"), ("topic", "v1"), "v1"),
    ],
    ids=["HEAD", "detached", "several", "another-name", "with-a-tag"],
)
def test_every_way_to_name_a_tested_commit_is_let_through(
    tested: Pusher, prepare: tuple[str, ...], what: tuple[str, ...], ref: str
) -> None:
    if prepare:
        tested.git(*prepare)
    code, said = tested.push(*what)
    assert (code, TESTED in said) == (0, True), said
    assert tested.has(ref)


def test_an_id_is_pushed_like_a_branch(tested: Pusher) -> None:
    commit = tested.git("rev-parse", "HEAD").strip()
    code, said = tested.push(f"{commit}:refs/heads/by-id")
    assert (code, TESTED in said) == (0, True), said


def test_deletions_and_tags_are_not_tested(pusher: Pusher) -> None:
    pusher.commit(RED)
    pusher.git("tag", "-f", "-a", "-m", "Two", "v2", "start")
    assert pusher.push("--no-verify", "topic")[0] == 0
    for what in ((":topic",), ("v2",)):
        code, said = pusher.push(*what)
        assert (code, "presubmit" in said) == (0, False), said
    assert not pusher.has("topic")


def test_a_new_failure_stops_the_push_and_is_named(tested: Pusher) -> None:
    tested.git("checkout", "-q", "-B", "topic", "start")
    commit = tested.commit(RED)
    before = fingerprint(tested.path)
    code, said = tested.push("topic")
    assert code == 1
    assert "PUSH REFUSED" in said
    assert "tests/test_thing.py::test_b" in said
    assert "git push --no-verify" in said
    assert not tested.has("topic")
    assert fingerprint(tested.path) == before
    assert tested.push("--no-verify", "topic")[0] == 0
    assert tested.has("topic") == commit


def test_the_commit_is_tested_and_not_the_worktree(tested: Pusher) -> None:
    tested.git("checkout", "-q", "-B", "topic", "start")
    tested.commit(RED)
    tested.project.edit("thing.py", "return 3", "return 1")  # mended, not committed
    assert tested.push("topic")[0] == 1
    tested.git("commit", "-q", "-a", "-m", "Mend")
    tested.project.edit("thing.py", "return 1", "return 9")  # broken, not committed
    code, said = tested.push("topic")
    assert code == 0, said
    assert (tested.path / "thing.py").read_text().endswith("return 9\n")


def test_one_red_branch_of_several_stops_them_all(tested: Pusher) -> None:
    tested.git("checkout", "-q", "-B", "red", "start")
    tested.commit(RED)
    code, said = tested.push("topic", "red")
    assert code == 1, said
    assert "red (" in said
    assert not tested.has("topic")


def test_nothing_is_built_for_a_push_and_that_is_said(pusher: Pusher) -> None:
    pusher.commit(("pytest.ini", "pythonpath = .", "pythonpath = .\naddopts = -p no:doctest"))
    empty = {"XDG_CACHE_HOME": str(pusher.config / "cache")}
    code, said = pusher.push("topic", env=empty)
    assert code == 0, said
    assert "a push waits for no build" in said
    assert "NOT TESTED WHOLE" in said
    assert "presubmit run --commit" in said
    pusher.configure('[hook]\nincomplete = "refuse"\n')
    code, said = pusher.push("topic:other", env=empty)
    assert (code, "PUSH REFUSED" in said) == (1, True), said


def test_a_run_in_progress_does_not_refuse_a_push(tested: Pusher) -> None:
    tested.git("checkout", "-q", "-B", "topic", "start")
    tested.commit(("thing.py", "VALUE = 1", "VALUE = 1 + 0"))
    script = (
        "import sys, time\n"
        "from presubmit.reading import RunOptions, read_all\n"
        "from presubmit.where import open_lane_mirror\n"
        "import os, pathlib\n"
        "reading = read_all(RunOptions(start=pathlib.Path.cwd(), container=False), os.environ)\n"
        "with open_lane_mirror(reading, 'head'), open_lane_mirror(reading, 'lint'):\n"
        "    print('held', flush=True)\n"
        "    sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script],
        cwd=tested.path,
        env={**tested.env, "PYTHONPATH": str(Path(__file__).parents[3])},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        code, said = tested.push("topic")
        holder.communicate()
    assert code == 0, said
    assert "another run of presubmit has the environment" in said
    assert "NOT TESTED WHOLE" in said


@pytest.mark.parametrize("how", ["worktree", "subfolder"])
def test_linked_worktrees_and_subfolders_are_places_to_push_from(
    tested: Pusher, tmp_path: Path, how: str
) -> None:
    if how == "worktree":
        tested.git("checkout", "-q", "--detach")
        tested.git("worktree", "add", "-q", "-f", str(tmp_path / "linked"), "topic")
        place = tmp_path / "linked"
    else:
        place = tested.path / "tests"
    before = fingerprint(tested.path)
    code, said = tested.push("topic", cwd=place)
    assert (code, TESTED in said) == (0, True), said
    assert fingerprint(tested.path) == before


def test_a_slow_push_from_a_linked_worktree_leaves_the_repository_alone(
    tested: Pusher, tmp_path: Path
) -> None:
    """git exports an absolute GIT_DIR there: a `git init` of any child would work on the user's repository."""
    tested.git("checkout", "-q", "--detach", "start")
    tested.git("worktree", "add", "-q", "-f", "-B", "topic", str(tmp_path / "linked"), "start")
    linked = tmp_path / "linked"
    (linked / "thing.py").write_text(FILES["thing.py"].replace("return 1", "return 3"))
    run_git(linked, "commit", "-q", "-a", "-m", "Red")
    before, there = fingerprint(tested.path), fingerprint(linked)
    code, said = tested.push("topic", cwd=linked)
    assert (code, "test_b" in said) == (1, True), said
    assert fingerprint(tested.path) == before
    assert fingerprint(linked) == there
    assert tested.git("config", "core.bare").strip() == "false"


def test_a_submodule_is_pushed_with_its_own_hook(tested: Pusher, tmp_path: Path) -> None:
    outer = tmp_path / "outer"
    run_git(tmp_path, "init", "-q", str(outer))
    allow = ("-c", "protocol.file.allow=always")
    run_git(outer, *allow, "submodule", "--quiet", "add", str(tested.path), "inner")
    run_git(outer, "commit", "-q", "-m", "Hold it")
    inner = outer / "inner"
    run_git(inner, "checkout", "-q", "-B", "topic")
    run_git(inner, "remote", "add", "upstream", str(tested.path))
    run_git(inner, "fetch", "-q", "upstream", "start:refs/remotes/upstream/main")
    env = {**tested.env}
    installed = subprocess.run(
        [sys.executable, "-P", "-m", "presubmit", "hook", "install"],
        cwd=inner,
        env=env,
        check=False,
    )
    assert installed.returncode == 0
    before = fingerprint(outer)
    code, said = tested.push("topic", cwd=inner)
    assert code == 0, said
    assert "presubmit: " in said
    assert fingerprint(outer) == before


def test_a_bare_repository_pushes_untested_and_says_so(tested: Pusher, tmp_path: Path) -> None:
    bare = tmp_path / "mine.git"
    run_git(tmp_path, "clone", "-q", "--bare", str(tested.path), str(bare))
    hooks = bare / "hooks"
    hooks.mkdir(exist_ok=True)
    (hooks / "pre-push").write_bytes((tested.path / ".git/hooks/pre-push").read_bytes())
    (hooks / "pre-push").chmod(0o755)
    code, said = tested.push("topic", cwd=bare)
    assert (code, "NOT TESTED" in said, "bare repository" in said) == (0, True, True), said


@pytest.mark.parametrize("object_format", ["sha1", "sha256"])
def test_zero_ids_of_any_length_delete(pusher: Pusher, tmp_path: Path, object_format: str) -> None:
    mine, theirs = tmp_path / "mine", tmp_path / "theirs.git"
    run_git(tmp_path, "init", "-q", f"--object-format={object_format}", str(mine))
    run_git(tmp_path, "init", "-q", "--bare", f"--object-format={object_format}", str(theirs))
    run_git(mine, "commit", "-q", "--allow-empty", "-m", "Start")
    run_git(mine, "push", "-q", str(theirs), "HEAD:refs/heads/x")
    (mine / ".git/hooks").mkdir(exist_ok=True)
    (mine / ".git/hooks/pre-push").write_bytes((pusher.path / ".git/hooks/pre-push").read_bytes())
    (mine / ".git/hooks/pre-push").chmod(0o755)
    done = subprocess.run(
        ["git", "push", str(theirs), ":x"],
        cwd=mine,
        env=pusher.env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, "presubmit" in done.stderr) == (0, False), done.stderr


def test_a_forced_push_over_a_commit_that_is_not_here(tested: Pusher, tmp_path: Path) -> None:
    other = tmp_path / "other"
    run_git(tmp_path, "clone", "-q", str(tested.path), str(other))
    run_git(other, "commit", "-q", "--allow-empty", "-m", "Theirs")
    run_git(other, "push", "-q", str(tested.remote), "HEAD:refs/heads/topic")
    code, said = tested.push("topic")
    assert (code, "rejected" in said, TESTED in said) == (1, True, True), said
    code, said = tested.push("-f", "topic")
    assert (code, TESTED in said) == (0, True), said


def test_a_dry_run_asks_and_an_up_to_date_push_does_not(tested: Pusher) -> None:
    code, said = tested.push("--dry-run", "topic")
    assert (code, TESTED in said, tested.has("topic")) == (0, True, "")
    assert tested.push("topic")[0] == 0
    code, said = tested.push("topic")
    assert (code, "presubmit" in said) == (0, False), said


def test_thousands_of_refs_are_one_tree(tested: Pusher) -> None:
    lines = "".join(f"create refs/heads/many/{number} HEAD\n" for number in range(3000))
    subprocess.run(
        ["git", "update-ref", "--stdin"], cwd=tested.path, input=lines.encode(), check=True
    )
    code, said = tested.push("refs/heads/many/*:refs/heads/many/*")
    assert (code, said.count(TESTED)) == (0, 1), said[:2000]
    undo = lines.replace("create ", "delete ").replace(" HEAD\n", "\n")
    subprocess.run(
        ["git", "update-ref", "--stdin"], cwd=tested.path, input=undo.encode(), check=True
    )


# --- evidence ---------------------------------------------------------------------------------------------------------


def test_a_cut_run_is_no_evidence(pusher: Pusher) -> None:
    pusher.project.edit(*GREEN)
    assert pusher.presubmit("run", "--only", "tests")[0] == 0
    code, said = pusher.presubmit("report", "--evidence")
    assert (code, "no evidence" in said) == (4, True), said
    assert pusher.presubmit("run", "--", "-k", "test_b")[0] == 0
    assert pusher.presubmit("report", "--evidence")[0] == 4
    assert pusher.presubmit("run")[0] == 0
    code, said = pusher.presubmit("report", "--evidence")
    assert (code, "holds: " in said) == (0, True), said


def test_the_host_is_evidence_only_where_the_user_says_so(pusher: Pusher) -> None:
    pusher.project.edit(*GREEN)
    done = pusher.project.presubmit("run", "--no-container")
    assert done.exit_code == 0, done.output
    assert "host = true" in done.run["evidence"]["why_none"]


def test_what_differs_is_named(tested: Pusher) -> None:
    tested.configure("[tests]\nretries = 2\n")
    code, said = tested.presubmit("report", "--evidence")
    assert (code, "your own settings were others" in said) == (4, True), said
    tested.configure("")
    tested.project.edit("thing.py", "VALUE = 1", "VALUE = 2")
    code, said = tested.presubmit("report", "--evidence")
    assert (code, "it differs in thing.py" in said) == (4, True), said
    tested.git("checkout", "-q", "thing.py")
    tested.git("checkout", "-q", "-b", "upstream-goes-on", "start")
    tested.git("commit", "-q", "--allow-empty", "-m", "Upstream")
    tested.git("update-ref", "refs/remotes/upstream/main", "HEAD")
    tested.git("checkout", "-q", "topic")
    tested.git("branch", "-q", "-D", "upstream-goes-on")
    assert tested.presubmit("report", "--evidence")[0] == 0  # the merge base is what it was
    tested.git("rebase", "-q", "upstream/main")
    code, said = tested.presubmit("report", "--evidence")
    assert (code, "the base moved" in said) == (4, True), said


def test_an_untracked_file_that_tests_may_need_is_part_of_the_evidence(pusher: Pusher) -> None:
    (pusher.path / "notes.txt").write_text("inert\n")
    pusher.project.edit(*GREEN)
    assert pusher.presubmit("run")[0] == 0
    pusher.git("commit", "-q", "-a", "-m", "Without the notes")
    code, said = pusher.push("topic")
    assert (code, TESTED in said) == (0, True), said
    pusher.project.edit("thing.py", "2 - 1", "3 - 2")
    (pusher.path / "helper.py").write_text('"""Helps."""\n')
    assert pusher.presubmit("run")[0] == 0
    code, said = pusher.presubmit("report", "--evidence")
    assert (code, "depends on untracked: helper.py" in said) == (0, True), said
    pusher.git("commit", "-q", "-a", "-m", "Forgotten: helper.py")
    code, said = pusher.push("topic")
    assert (code, TESTED in said) == (0, False), said


def test_a_skipped_push_is_remembered_with_its_reason(pusher: Pusher) -> None:
    pusher.commit(RED)
    code, said = pusher.push("topic", env={"PRESUBMIT_SKIP": "the fork is a scratch place"})
    assert (code, "NOT TESTED" in said) == (0, True), said
    code, said = pusher.presubmit("report", "--evidence")
    assert "the fork is a scratch place" in said


# --- other hooks ------------------------------------------------------------------------------------------------------


def write_hook(path: Path, script: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


@pytest.fixture
def without_hook(pusher: Pusher) -> Pusher:
    assert pusher.presubmit("hook", "uninstall")[0] == 0
    return pusher


def test_an_earlier_hook_runs_first_with_the_same_input(
    without_hook: Pusher, tmp_path: Path
) -> None:
    pusher, told = without_hook, tmp_path / "told"
    hook = pusher.path / ".git/hooks/pre-push"
    write_hook(hook, f'echo "$1 $2" > {told}; cat >> {told}; test ! -e {tmp_path}/no')
    original = hook.read_bytes()
    assert "runs first" in pusher.presubmit("hook", "install")[1]
    pusher.project.edit(*GREEN)
    assert pusher.presubmit("run")[0] == 0
    pusher.git("commit", "-q", "-a", "-m", "Green")
    code, said = pusher.push("topic")
    assert (code, TESTED in said) == (0, True), said
    first, line = told.read_text().splitlines()
    assert first == f"{pusher.remote} {pusher.remote}"
    commit = pusher.git("rev-parse", "HEAD").strip()
    assert line.startswith(f"refs/heads/topic {commit} refs/heads/topic 0000")
    (tmp_path / "no").touch()
    assert pusher.push("topic:again")[0] == 1
    assert not pusher.has("again")
    assert pusher.presubmit("hook", "install")[0] == 0  # again: it stays one
    assert pusher.presubmit("hook", "uninstall")[0] == 0
    assert hook.read_bytes() == original
    hook.unlink()


def test_a_relative_hooks_path_is_honoured_from_a_subfolder(without_hook: Pusher) -> None:
    pusher = without_hook
    pusher.git("config", "core.hooksPath", ".own-hooks")
    try:
        assert pusher.presubmit("hook", "install")[0] == 0
        assert (pusher.path / ".own-hooks/pre-push").exists()
        pusher.commit(GREEN)
        assert "presubmit: " in pusher.push("topic", cwd=pusher.path / "tests")[1]
        assert pusher.presubmit("hook", "uninstall")[0] == 0
    finally:
        pusher.git("config", "--unset", "core.hooksPath")


@pytest.mark.parametrize(
    ("folder", "tracked", "word"),
    [
        (".githooks", True, "tracked by the project"),
        (".husky/_", False, "written by husky"),
        ("/elsewhere", False, "outside of this repository"),
    ],
)
def test_places_of_others_are_not_written_to(
    without_hook: Pusher, tmp_path: Path, folder: str, tracked: bool, word: str
) -> None:
    pusher = without_hook
    place = Path(f"{tmp_path}{folder}") if folder.startswith("/") else pusher.path / folder
    write_hook(place / "pre-commit", "true")
    if tracked:
        pusher.git("add", "-f", folder)
        pusher.git("commit", "-q", "-m", "Hooks")
    pusher.git("config", "core.hooksPath", str(place))
    try:
        code, said = pusher.presubmit("hook", "install")
    finally:
        pusher.git("config", "--unset", "core.hooksPath")
    assert (code, word in said, 'presubmit hook run "$@"' in said or "core.hooksPath" in said) == (
        2,
        True,
        True,
    ), said
    assert not (place / "pre-push").exists()


def test_status_names_what_is_wrong(pusher: Pusher) -> None:
    hook = pusher.path / ".git/hooks/pre-push"
    assert pusher.presubmit("hook", "status")[0] == 0
    hook.chmod(0o644)
    code, said = pusher.presubmit("hook", "status")
    assert (code, "not executable" in said) == (4, True), said
    hook.chmod(0o755)
    text = hook.read_text()
    hook.write_text(text.replace(sys.executable, "/no/such/python"))
    code, said = pusher.presubmit("hook", "status")
    assert (code, "/no/such/python is gone" in said) == (4, True), said
    pusher.commit(GREEN)
    code, said = pusher.push("topic")
    assert (code, "nothing was tested" in said) == (1, True), said


# --- odd ends ---------------------------------------------------------------------------------------------------------


def test_a_damaged_history_is_no_evidence(tested: Pusher) -> None:
    history = tested.path / ".git/presubmit/history.db"
    for suffix in ("-wal", "-shm"):
        Path(f"{history}{suffix}").unlink(missing_ok=True)
    history.write_bytes(b"\x00junk" * 1000)
    code, said = tested.push("topic")
    assert (code, TESTED in said) == (0, False), said
    assert "presubmit run" in said


def test_evidence_of_another_presubmit_does_not_hold(tested: Pusher) -> None:
    history = tested.path / ".git/presubmit/history.db"
    with closing(sqlite3.connect(history, isolation_level=None)) as connection:
        connection.execute("update tier_evidence set tool = '0.0.1'")
    code, said = tested.presubmit("report", "--evidence")
    assert (code, "presubmit 0.0.1's" in said) == (4, True), said


def test_lines_that_are_none_of_gits_are_refused(pusher: Pusher) -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "presubmit", "hook", "run", "origin", "url"],
        cwd=pusher.path,
        env=pusher.env,
        input=b"what is this\n",
        capture_output=True,
        check=False,
    )
    assert done.returncode == 2
    assert b"no line of a pre-push hook" in done.stderr


def test_a_broken_configuration_of_the_user_stops_the_push(pusher: Pusher) -> None:
    pusher.commit(GREEN)
    pusher.configure("no such = [")
    code, said = pusher.push("topic")
    assert (code, "is not TOML" in said) == (1, True), said


def test_the_hook_is_stopped_by_an_interrupt(pusher: Pusher) -> None:
    """In a terminal, as the user sees it: standard error is the terminal, and Ctrl-C reaches all of the push."""
    pusher.commit(("tests/test_thing.py", "import thing\n", "import time\n\nimport thing\n"))
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(pusher.path)
        env = {**pusher.env, "XDG_CACHE_HOME": str(pusher.config / "cache")}
        os.execvpe("git", ["git", "push", str(pusher.remote), "topic"], env)  # noqa: S606 - no shell is wanted
    said = b""
    while b"presubmit run" not in said:
        said += os.read(terminal, 4096)
    os.write(terminal, b"\x03")
    try:
        while data := os.read(terminal, 4096):
            said += data
    except OSError:
        pass  # the end of a terminal
    _, status = os.waitpid(child, 0)
    assert status != 0, said
    assert not pusher.has("topic")


def test_pre_commit_can_start_it(tested: Pusher) -> None:
    commit = tested.git("rev-parse", "HEAD").strip()
    env = {
        **tested.env,
        "PRE_COMMIT": "1",
        "PRE_COMMIT_LOCAL_BRANCH": "refs/heads/topic",
        "PRE_COMMIT_REMOTE_BRANCH": "refs/heads/topic",
        "PRE_COMMIT_REMOTE_NAME": "fork",
        "PRE_COMMIT_REMOTE_URL": str(tested.remote),
    }
    command = [sys.executable, "-P", "-m", "presubmit", "hook", "run", "--from-pre-commit"]
    run: Callable[[Mapping[str, str]], subprocess.CompletedProcess[str]] = lambda own: (  # noqa: E731 - one call
        subprocess.run(
            command,
            cwd=tested.path,
            env={**env, **own},
            capture_output=True,
            text=True,
            check=False,
            start_new_session=True,
        )
    )
    for own in ({}, {"PRE_COMMIT_TO_REF": commit, "PRE_COMMIT_FROM_REF": "0" * 40}):
        done = run(own)
        assert (done.returncode, TESTED in done.stderr) == (0, True), done.stderr
    del env["PRE_COMMIT_LOCAL_BRANCH"]
    assert run({}).returncode == 2
