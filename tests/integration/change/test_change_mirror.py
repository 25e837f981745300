from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from presubmit.change import read_repository
from presubmit.change.checkout import is_inside
from presubmit.change.mirror import Mirror, open_mirror
from presubmit.change.snapshot import take_snapshot
from presubmit.errors import ExitCode, GitError
from presubmit.values import TargetKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.conftest import MakeRepo, Repo

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")


@pytest.fixture
def repo(make_repo: MakeRepo) -> Repo:
    return make_repo(
        {
            "pkg/__init__.py": "",
            "pkg/a.py": "x = 1\n",
            "pkg/b.py": "y = 1\n",
            "src/c.c": "int c;\n",
            "pyproject.toml": "",
            ".gitignore": "*.so\nbuild/\n*.egg-info/\n__pycache__/\n*.log\n",
        }
    )


@pytest.fixture
def mirror(repo: Repo, tmp_path: Path) -> Iterator[Mirror]:
    with open_mirror(read_repository(repo.path), tmp_path / "cache", "head") as opened:
        yield opened


def snapshot(repo: Repo) -> str:
    return take_snapshot(read_repository(repo.path), kind=TargetKind.WORKTREE).snapshot


def head(repo: Repo) -> str:
    return repo.git("rev-parse", "HEAD")


def listing(mirror: Mirror) -> set[str]:
    return {
        path.relative_to(mirror.tree).as_posix()
        for path in mirror.tree.rglob("*")
        if not path.is_dir() and ".git" not in path.relative_to(mirror.tree).parts
    }


def write(folder: Path, *names: str, text: str = "left over") -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def run_in(mirror: Mirror, *command: str) -> str:
    done = subprocess.run(
        command,
        cwd=mirror.tree,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


BUILT = (
    "build/lib/x.o",
    "pkg/_c.so",
    "pkg.egg-info/PKG-INFO",
    "pkg/__pycache__/b.cpython-311.pyc",
)


def test_the_snapshot_is_checked_out_whole(repo: Repo, mirror: Mirror) -> None:
    repo.write({"pkg/a.py": "x = 2\n", "new.py": "z = 1\n"})
    (repo.path / "run.sh").symlink_to("new.py")
    report = mirror.checkout(snapshot(repo))
    assert (mirror.tree / "pkg/a.py").read_text() == "x = 2\n"
    assert (mirror.tree / "run.sh").is_symlink()
    assert listing(mirror) == {
        *(name for name in repo.git("ls-files").splitlines()),
        "new.py",
        "run.sh",
    }
    assert (report.needs_clean_build, report.why) == (True, "the mirror checkout is new")


def test_tools_in_the_tree_see_a_whole_repository(repo: Repo, mirror: Mirror) -> None:
    repo.git("tag", "-a", "-m", "one", "v1.0")
    repo.with_upstream()
    repo.write({"pkg/a.py": "x = 2\n"})
    commit = snapshot(repo)
    mirror.checkout(commit)
    assert run_in(mirror, "git", "status", "--porcelain") == ""
    assert run_in(mirror, "git", "describe") == f"v1.0-1-g{commit[:7]}"
    assert run_in(mirror, "git", "rev-parse", "HEAD") == commit
    assert run_in(mirror, "git", "merge-base", "HEAD", "upstream/main") == head(repo)
    assert run_in(mirror, "git", "diff", "--name-only", "HEAD~1") == "pkg/a.py"
    assert set(mirror.object_folders) == {
        repo.path / ".git/objects",
        repo.path / ".git/presubmit/objects",
    }


def test_unchanged_files_keep_their_times(repo: Repo, mirror: Mirror) -> None:
    mirror.checkout(head(repo))
    for path in mirror.tree.rglob("*.*"):
        os.utime(path, (1_000_000_000, 1_000_000_000), follow_symlinks=False)
    repo.write({"pkg/a.py": "x = 2\n"})
    report = mirror.checkout(snapshot(repo))
    assert report.changed == ("pkg/a.py",)
    times = {name: (mirror.tree / name).stat().st_mtime for name in listing(mirror)}
    assert {name for name, moment in times.items() if moment != 1_000_000_000} == {"pkg/a.py"}


def test_what_a_build_or_test_did_to_tracked_files_is_undone(repo: Repo, mirror: Mirror) -> None:
    mirror.checkout(head(repo))
    (mirror.tree / "pkg/a.py").write_text("x = 9\n")
    (mirror.tree / "pkg/b.py").unlink()
    (mirror.tree / "src/c.c").chmod(0o755)
    mirror.checkout(head(repo))
    assert (mirror.tree / "pkg/a.py").read_text() == "x = 1\n"
    assert (mirror.tree / "pkg/b.py").exists()
    assert (mirror.tree / "src/c.c").stat().st_mode & 0o111 == 0


def test_leftovers_go_and_what_builds_own_stays(repo: Repo, mirror: Mirror, git: Any) -> None:
    mirror.checkout(head(repo))
    mirror.mark_clean()
    kept = (*BUILT, "sub/build/y.o")
    write(mirror.tree, *kept, "left.py", "pkg/left.log", ".pytest_cache/v/x", "pkg/a.pyc", "d/e/f")
    write(mirror.tree, "nested/x")
    git(mirror.tree / "nested", "init", "-q")
    tracked = set(repo.git("ls-files").splitlines())
    report = mirror.checkout(head(repo))
    assert listing(mirror) - tracked == set(kept)
    assert (report.needs_clean_build, report.why) == (False, "")
    mirror.checkout(head(repo), keep=("*.log",))
    assert "build/lib/x.o" not in listing(mirror)


@pytest.mark.parametrize(
    ("edit", "why"),
    [
        (lambda path: (path / "pkg/b.py").unlink(), "pkg/b.py was deleted"),
        (lambda path: (path / "src/c.c").rename(path / "src/d.c"), "src/c.c was renamed"),
        (
            lambda path: (path / "pyproject.toml").write_text("[project]\n"),
            "the build file pyproject.toml changed",
        ),
    ],
)
def test_a_deleted_or_renamed_source_or_a_new_build_file_takes_what_was_built_away(
    repo: Repo, mirror: Mirror, edit: Callable[[Path], object], why: str
) -> None:
    mirror.checkout(head(repo))
    mirror.mark_clean()
    write(mirror.tree, *BUILT)
    edit(repo.path)
    report = mirror.checkout(snapshot(repo))
    assert (report.needs_clean_build, report.why) == (True, why)
    assert not set(BUILT) & listing(mirror)


def test_a_clean_build_is_asked_for_until_it_is_said_to_be_clean(
    repo: Repo, mirror: Mirror
) -> None:
    mirror.checkout(head(repo))
    mirror.mark_clean()
    (repo.path / "pkg/b.py").unlink()
    mirror.checkout(snapshot(repo))
    again = mirror.checkout(snapshot(repo))
    assert (again.needs_clean_build, again.why) == (True, "pkg/b.py was deleted")
    mirror.mark_clean()
    assert not mirror.checkout(snapshot(repo)).needs_clean_build


def test_clean_takes_everything_away(repo: Repo, mirror: Mirror) -> None:
    mirror.checkout(head(repo))
    mirror.mark_clean()
    write(mirror.tree, *BUILT)
    report = mirror.checkout(head(repo), clean=True)
    assert listing(mirror) == set(repo.git("ls-files").splitlines())
    assert (report.needs_clean_build, report.why) == (True, "asked for")


def test_stale_bytecode_cannot_pass(repo: Repo, mirror: Mirror) -> None:
    """Same size, same second: Python would take the old bytecode."""
    repo.write({"pkg/a.py": "x = 1\n"})
    mirror.checkout(head(repo))
    mirror.mark_clean()
    show = (sys.executable, "-c", "from pkg import a, b; print(a.x)")
    assert run_in(mirror, *show) == "1"
    moment = (mirror.tree / "pkg/a.py").stat().st_mtime
    unchanged = mirror.tree / f"pkg/__pycache__/b.{sys.implementation.cache_tag}.pyc"
    assert unchanged.exists()
    repo.write({"pkg/a.py": "x = 2\n"})
    mirror.checkout(snapshot(repo))
    os.utime(mirror.tree / "pkg/a.py", (moment, moment))
    assert unchanged.exists()
    assert run_in(mirror, *show) == "2"


def test_a_deleted_test_takes_all_bytecode_along_but_not_the_build(
    repo: Repo, mirror: Mirror
) -> None:
    first = repo.commit({"tests/test_a.py": ""})
    mirror.checkout(first)
    mirror.mark_clean()
    write(mirror.tree, *BUILT)
    repo.git("rm", "-q", "tests/test_a.py")
    report = mirror.checkout(snapshot(repo))
    assert not report.needs_clean_build
    assert set(BUILT) & listing(mirror) == set(BUILT[:3])


def test_hooks_and_what_the_tree_says_to_git_never_run(
    repo: Repo, mirror: Mirror, tmp_path: Path, isolated_home: Path
) -> None:
    marker = tmp_path / "ran"
    script = f"#!/bin/sh\necho $0 >>{marker}\nexit 1\n"
    hooks = [repo.path / ".git/hooks", tmp_path / "templates/hooks"]
    mirror.checkout(head(repo))
    hooks += [mirror.tree / ".git/hooks"]
    for folder in hooks:
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("post-checkout", "reference-transaction", "post-index-change", "evil"):
            write(folder, name, text=script)
            (folder / name).chmod(0o755)
    repo.git("config", "init.templateDir", str(tmp_path / "templates"))
    evil = mirror.tree / ".git/hooks/evil"
    for settings in (
        ("core.fsmonitor", str(evil)),
        ("core.hooksPath", str(evil.parent)),
        ("filter.x.smudge", str(evil)),
        ("filter.x.clean", str(evil)),
    ):
        run_in(mirror, "git", "-c", "core.fsmonitor=false", "config", *settings)
    write(mirror.tree, ".gitattributes", text="* filter=x\n")
    marker.unlink(missing_ok=True)
    repo.write({"pkg/a.py": "x = 2\n"})
    mirror.checkout(snapshot(repo))
    assert not marker.exists()
    assert run_in(mirror, "git", "status", "--porcelain") == ""
    assert not marker.exists()


def test_a_link_that_a_test_left_in_a_folders_place_is_not_followed(
    repo: Repo, mirror: Mirror, tmp_path: Path
) -> None:
    mirror.checkout(head(repo))
    outside = tmp_path / "outside"
    write(outside, "a.py", "__pycache__/a.x.pyc", text="theirs")
    shutil.rmtree(mirror.tree / "pkg")
    (mirror.tree / "pkg").symlink_to(outside)
    (mirror.tree / "build").symlink_to(outside)
    repo.write({"pkg/a.py": "x = 2\n"})
    mirror.checkout(snapshot(repo), clean=True)
    mirror.overlay(head(repo), ["pkg/a.py"])
    mirror.restore()
    assert (outside / "a.py").read_text() == "theirs"
    assert (outside / "__pycache__/a.x.pyc").exists()
    assert (mirror.tree / "pkg/a.py").read_text() == "x = 2\n"


def test_a_smudge_filter_of_the_users_applies_and_line_ends_are_upstreams(
    repo: Repo, mirror: Mirror, tmp_path: Path
) -> None:
    repo.git("config", "filter.up.clean", "tr a-z A-Z")
    repo.git("config", "filter.up.smudge", 'tr "A-Z" a-z')
    repo.git("config", "core.autocrlf", "true")
    repo.write({".gitattributes": "*.up filter=up\n", "w.up": "word\n", "t.txt": "1\r\n"})
    with open_mirror(read_repository(repo.path), tmp_path / "cache", "base") as other:
        other.checkout(snapshot(repo))
        assert (other.tree / "w.up").read_text() == "word\n"
        assert (other.tree / "t.txt").read_bytes() == b"1\n"
        assert run_in(other, "git", "show", "HEAD:w.up") == "WORD"


def spoil_half_made(lane: Path) -> None:
    (lane / "state.json").unlink()
    (lane / "git/HEAD").unlink()


def spoil_lock(lane: Path) -> None:
    write(lane, "git/index.lock", "git/HEAD.lock")


def spoil_index(lane: Path) -> None:
    (lane / "git/index").write_bytes(b"DIRC broken")


def spoil_head(lane: Path) -> None:
    (lane / "git/HEAD").write_bytes(b"")


def spoil_state(lane: Path) -> None:
    (lane / "state.json").write_bytes(b'{"layout":')


def spoil_tree(lane: Path) -> None:
    shutil.rmtree(lane / "tree")


def spoil_git(lane: Path) -> None:
    shutil.rmtree(lane / "git")


def spoil_alternates(lane: Path) -> None:
    (lane / "git/objects/info/alternates").write_text("/nowhere\n")


def spoil_copy(lane: Path) -> None:
    shutil.rmtree(lane / "tree/.git")
    (lane / "tree/.git").write_text("gitdir: /nowhere\n")


@pytest.mark.parametrize(
    "spoil",
    [
        spoil_half_made,
        spoil_lock,
        spoil_index,
        spoil_head,
        spoil_state,
        spoil_tree,
        spoil_git,
        spoil_alternates,
        spoil_copy,
    ],
)
def test_a_broken_mirror_is_mended_or_made_again(
    repo: Repo, tmp_path: Path, spoil: Callable[[Path], None]
) -> None:
    repository = read_repository(repo.path)
    with open_mirror(repository, tmp_path / "cache", "head") as first:
        first.checkout(head(repo))
        first.mark_clean()
    spoil(tmp_path / "cache/head")
    repo.write({"pkg/a.py": "x = 2\n"})
    with open_mirror(repository, tmp_path / "cache", "head") as second:
        second.checkout(snapshot(repo))
        assert listing(second) == set(repo.git("ls-files").splitlines())
        assert (second.tree / "pkg/a.py").read_text() == "x = 2\n"
        assert run_in(second, "git", "status", "--porcelain") == ""


def test_an_interrupted_checkout_makes_the_next_build_clean(
    repo: Repo, mirror: Mirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    mirror.checkout(head(repo))
    mirror.mark_clean()

    def interrupt(_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(mirror, "_write_copy", interrupt)
        with pytest.raises(KeyboardInterrupt):
            mirror.checkout(head(repo))
    report = mirror.checkout(head(repo))
    assert (report.needs_clean_build, report.why) == (True, "an earlier checkout was interrupted")


def test_a_commit_that_is_not_there_is_an_error_and_the_mirror_stays(
    repo: Repo, mirror: Mirror
) -> None:
    mirror.checkout(head(repo))
    mirror.mark_clean()
    with pytest.raises(GitError, match="is not in the repository"):
        mirror.checkout("1" * 40)
    assert not mirror.checkout(head(repo)).needs_clean_build


def test_a_second_process_is_told_who_holds_the_lane(
    repo: Repo, mirror: Mirror, tmp_path: Path
) -> None:
    script = (
        "import sys; from pathlib import Path\n"
        "from presubmit.change import read_repository\n"
        "from presubmit.change.mirror import open_mirror\n"
        "from presubmit.errors import GitError\n"
        f"repository = read_repository(Path({str(repo.path)!r}))\n"
        "try:\n"
        f"    with open_mirror(repository, Path({str(tmp_path / 'cache')!r}), sys.argv[1]): print('ok')\n"
        "except GitError as error: print(int(error.exit_code), error)\n"
    )

    def other(lane: str) -> str:
        return subprocess.run(
            [sys.executable, "-c", script, lane],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()

    assert other("head") == (
        f"{int(ExitCode.ENVIRONMENT)} another presubmit (process {os.getpid()}) "
        "is using the head checkout"
    )
    assert other("base") == "ok"


def test_who_waits_gets_the_lane_when_it_is_free(repo: Repo, tmp_path: Path) -> None:
    repository = read_repository(repo.path)
    order = []

    def second() -> None:
        with open_mirror(repository, tmp_path / "cache", "head", wait=True):
            order.append("second")

    with open_mirror(repository, tmp_path / "cache", "head"):
        thread = threading.Thread(target=second)
        thread.start()
        thread.join(0.3)
        order.append("first")
    thread.join(10)
    assert order == ["first", "second"]


def test_a_lane_is_a_plain_name(repo: Repo, tmp_path: Path) -> None:
    with (
        pytest.raises(ValueError, match="lane"),
        open_mirror(read_repository(repo.path), tmp_path, "../x"),
    ):
        pass


def test_files_of_head_are_laid_over_base_and_taken_back(repo: Repo, mirror: Mirror) -> None:
    base = repo.commit({"tests/test_a.py": "old\n", "tests/gone.py": "gone\n"})
    repo.write({"tests/test_a.py": "new\n", "tests/data/x.txt": "x", "pkg/a.py": "x = 2\n"})
    (repo.path / "tests/gone.py").unlink()
    commit = snapshot(repo)
    mirror.checkout(base)
    tests = ["tests/test_a.py", "tests/data/x.txt", "tests/gone.py"]
    mirror.overlay(commit, tests)
    mirror.overlay(commit, [])
    assert (mirror.tree / "tests/test_a.py").read_text() == "new\n"
    assert (mirror.tree / "pkg/a.py").read_text() == "x = 1\n"
    assert "tests/data/x.txt" in listing(mirror)
    assert "tests/gone.py" not in listing(mirror)
    mirror.restore()
    mirror.restore()
    assert listing(mirror) == {*repo.git("ls-tree", "-r", "--name-only", base).splitlines()}
    assert (mirror.tree / "tests/test_a.py").read_text() == "old\n"


def test_an_overlay_that_was_never_undone_is_gone_at_the_next_checkout(
    repo: Repo, mirror: Mirror
) -> None:
    base = head(repo)
    repo.write({"pkg/a.py": "x = 2\n", "pkg/new.py": ""})
    mirror.checkout(base)
    mirror.overlay(snapshot(repo), ["pkg/a.py", "pkg/new.py"])
    mirror.checkout(base)
    assert (mirror.tree / "pkg/a.py").read_text() == "x = 1\n"
    assert "pkg/new.py" not in listing(mirror)


def add_submodule(repo: Repo, inner: Repo, path: str) -> None:
    allow = ("-c", "protocol.file.allow=always")
    repo.git(*allow, "submodule", "-q", "add", str(inner.path), path)
    repo.git(*allow, "submodule", "-q", "update", "--init", "--recursive")


@pytest.fixture
def nested(repo: Repo, make_repo: MakeRepo) -> Repo:
    """Give the inner repository of the submodule libs/sub, which has a submodule itself."""
    deepest = make_repo({"deep.py": "1\n"}, name="deepest")
    inner = make_repo({"i.py": "1\n"}, name="inner")
    add_submodule(inner, deepest, "deep")
    inner.commit(message="with deep")
    add_submodule(repo, inner, "libs/sub")
    repo.commit(message="with sub")
    # Whatever is fetched after this fails: both are gone.
    inner.path.rename(inner.path.with_name("moved"))
    deepest.path.rename(deepest.path.with_name("moved-too"))
    return inner


def test_submodules_come_from_the_users_own(repo: Repo, nested: Repo, mirror: Mirror) -> None:
    mirror.checkout(head(repo))
    assert {"libs/sub/i.py", "libs/sub/deep/deep.py"} <= listing(mirror)
    status = run_in(mirror, "git", "submodule", "status", "--recursive").splitlines()
    assert [line.strip().split(" ")[1] for line in status] == ["libs/sub", "libs/sub/deep"]
    assert not any(line.startswith(("-", "+")) for line in status)
    assert run_in(mirror, "git", "status", "--porcelain") == ""
    assert repo.path / ".git/modules/libs/sub/objects" in mirror.object_folders
    assert repo.path / ".git/modules/libs/sub/modules/deep/objects" in mirror.object_folders


def test_submodules_of_a_linked_worktree_are_found(
    repo: Repo, nested: Repo, tmp_path: Path
) -> None:
    repo.git("worktree", "add", "-q", "-b", "feat", str(tmp_path / "wt"))
    with open_mirror(read_repository(tmp_path / "wt"), tmp_path / "cache", "head") as mirror:
        mirror.checkout(head(repo))
        assert "libs/sub/deep/deep.py" in listing(mirror)


def test_a_submodule_moves_is_cleaned_and_goes(repo: Repo, nested: Repo, mirror: Mirror) -> None:
    first = head(repo)
    sub = repo.path / "libs/sub"
    mirror.checkout(first)
    mirror.mark_clean()
    (sub / "i.py").write_text("2\n")
    repo.git("-C", str(sub), "commit", "-q", "-am", "two")
    write(mirror.tree, "libs/sub/left.py", "libs/sub/build/x.o")
    report = mirror.checkout(snapshot(repo))
    assert (mirror.tree / "libs/sub/i.py").read_text() == "2\n"
    assert (report.needs_clean_build, report.why) == (True, "the submodule libs/sub changed")
    assert not {"libs/sub/left.py", "libs/sub/build/x.o"} & listing(mirror)
    repo.git("rm", "-q", "-f", "libs/sub")
    repo.write({"libs/sub/i.py": "now a folder of ours\n"})
    mirror.checkout(snapshot(repo))
    assert {name for name in listing(mirror) if name.startswith("libs")} == {"libs/sub/i.py"}
    assert not (mirror.tree / "libs/sub/.git").exists()
    mirror.checkout(first)
    assert (mirror.tree / "libs/sub/i.py").read_text() == "1\n"


def test_a_submodule_that_is_not_there_is_an_error_that_names_the_command(
    repo: Repo, nested: Repo, mirror: Mirror
) -> None:
    repo.git("submodule", "-q", "deinit", "-f", "libs/sub")
    shutil.rmtree(repo.path / ".git/modules/libs/sub")
    with pytest.raises(GitError, match="submodule libs/sub: it is not on this machine") as caught:
        mirror.checkout(head(repo))
    assert caught.value.hint == "git submodule update --init --recursive"
    assert caught.value.exit_code is ExitCode.ENVIRONMENT


def test_a_submodule_commit_that_was_never_fetched_is_named(
    repo: Repo, nested: Repo, mirror: Mirror
) -> None:
    repo.git("update-index", "--cacheinfo", f"160000,{'1' * 40},libs/sub")
    repo.git("commit", "-q", "-m", "to nowhere")
    with pytest.raises(GitError, match="its recorded commit 111111111111"):
        mirror.checkout(head(repo))


def test_a_link_in_a_submodules_place_is_not_followed(
    repo: Repo, nested: Repo, mirror: Mirror, tmp_path: Path
) -> None:
    mirror.checkout(head(repo))
    write(tmp_path / "outside", "i.py", text="theirs")
    shutil.rmtree(mirror.tree / "libs")
    (mirror.tree / "libs").symlink_to(tmp_path / "outside")
    mirror.checkout(head(repo))
    assert [path.name for path in (tmp_path / "outside").iterdir()] == ["i.py"]
    assert (mirror.tree / "libs/sub/i.py").read_text() == "1\n"


def test_a_submodule_that_the_project_never_updates_is_left_empty(
    repo: Repo, nested: Repo, mirror: Mirror
) -> None:
    repo.git("config", "-f", ".gitmodules", "submodule.libs/sub.update", "none")
    shutil.rmtree(repo.path / ".git/modules/libs/sub")
    shutil.rmtree(repo.path / "libs/sub")
    repo.git("add", ".gitmodules")
    repo.git("commit", "-q", "-m", "never")
    mirror.checkout(head(repo))
    assert list((mirror.tree / "libs/sub").iterdir()) == []


def test_a_submodule_name_that_leads_elsewhere_is_not_believed(
    repo: Repo, nested: Repo, mirror: Mirror, tmp_path: Path
) -> None:
    blob = '[submodule "../../../evil"]\n\tpath = libs/sub\n\turl = x\n'
    repo.write({".gitmodules": blob})
    mirror.checkout(snapshot(repo))
    assert list((mirror.tree / "libs/sub").iterdir()) == []
    assert not (tmp_path / "cache/evil").exists()


def test_a_path_through_a_link_or_out_of_the_tree_is_not_inside(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/")
    assert is_inside(tmp_path, "a/b")
    assert not any(is_inside(tmp_path, path) for path in ("link/a", "../a", "/a", "a/./b"))


def test_a_sha256_repository_is_mirrored(make_repo: MakeRepo, tmp_path: Path) -> None:
    repo = make_repo({"a.py": "1\n"}, options=("--object-format=sha256",))
    repo.write({"a.py": "2\n"})
    with open_mirror(read_repository(repo.path), tmp_path / "cache", "head") as mirror:
        mirror.checkout(snapshot(repo))
        assert (mirror.tree / "a.py").read_text() == "2\n"
        assert len(run_in(mirror, "git", "rev-parse", "HEAD")) == 64


def test_a_shallow_clone_is_mirrored(repo: Repo, tmp_path: Path) -> None:
    repo.commit({"pkg/a.py": "x = 2\n"})
    repo.git("clone", "-q", "--depth=1", f"file://{repo.path}", str(tmp_path / "shallow"))
    with open_mirror(read_repository(tmp_path / "shallow"), tmp_path / "cache", "head") as mirror:
        mirror.checkout(head(repo))
        assert len(run_in(mirror, "git", "log", "--oneline").splitlines()) == 1


def test_a_repository_that_borrows_objects_and_has_an_odd_name_is_mirrored(
    repo: Repo, tmp_path: Path
) -> None:
    path = tmp_path / 'a: "b" \n c'
    repo.git("clone", "-q", "--shared", str(repo.path), str(path))
    (path / "pkg/a.py").write_text("x = 2\n")
    repository = read_repository(path)
    commit = take_snapshot(repository, kind=TargetKind.WORKTREE).snapshot
    with open_mirror(repository, tmp_path / "cache", "head") as mirror:
        mirror.checkout(commit)
        assert (mirror.tree / "pkg/a.py").read_text() == "x = 2\n"
        assert repo.path / ".git/objects" in mirror.object_folders


def test_another_user_has_a_mirror_of_their_own(
    open_folder: Path, git: Any, as_other_user: Callable[[Callable[[], object]], str]
) -> None:
    def check() -> None:
        repo = open_folder / "repo"
        repo.mkdir()
        git(repo, "init", "-q")
        write(repo, "a.py")
        repository = read_repository(repo)
        commit = take_snapshot(repository, kind=TargetKind.WORKTREE).snapshot
        with open_mirror(repository, open_folder / "cache", "head") as mirror:
            mirror.checkout(commit)
            assert run_in(mirror, "git", "status", "--porcelain") == ""

    assert as_other_user(check) == ""


@needs_root
def test_files_of_another_user_in_the_mirror_do_not_stop_git(repo: Repo, mirror: Mirror) -> None:
    mirror.checkout(head(repo))
    mirror.mark_clean()
    for path in (mirror.tree.parent, *mirror.tree.parent.rglob("*")):
        os.chown(path, 1000, 1000)
    repo.write({"pkg/a.py": "x = 2\n"})
    assert not mirror.checkout(snapshot(repo)).needs_clean_build
    assert (mirror.tree / "pkg/a.py").read_text() == "x = 2\n"


def test_a_leftover_that_cannot_be_removed_is_an_error(
    open_folder: Path, git: Any, as_other_user: Callable[[Callable[[], object]], str]
) -> None:
    repo = open_folder / "repo"

    def check() -> None:
        repository = read_repository(repo)
        with open_mirror(repository, open_folder / "cache", "head") as mirror:
            mirror.checkout(repository.head or "")

    def make() -> None:
        repo.mkdir()
        git(repo, "init", "-q")
        git(repo, "commit", "-q", "--allow-empty", "-m", "one")
        check()

    assert as_other_user(make) == ""
    locked = open_folder / "cache/head/tree/roots"
    locked.mkdir()
    (locked / "x").write_text("")
    assert "cannot" in as_other_user(check)


def test_folders_that_a_test_closed_are_opened_again(
    open_folder: Path, git: Any, as_other_user: Callable[[Callable[[], object]], str]
) -> None:
    def check() -> None:
        repo = open_folder / "repo"
        repo.mkdir()
        git(repo, "init", "-q")
        write(repo, "pkg/a.py", text="1\n")
        repository = read_repository(repo)
        with open_mirror(repository, open_folder / "cache", "head") as mirror:
            mirror.checkout(take_snapshot(repository, kind=TargetKind.WORKTREE).snapshot)
            write(mirror.tree, "left/x", "left/deep/y", ".git/closed/z")
            for name in ("left/deep", "left", ".git/closed"):
                (mirror.tree / name).chmod(0)
            (mirror.tree / "pkg").chmod(0o500)
            write(repo, "pkg/a.py", text="2\n")
            mirror.checkout(take_snapshot(repository, kind=TargetKind.WORKTREE).snapshot)
            assert listing(mirror) == {"pkg/a.py"}
            assert (mirror.tree / "pkg/a.py").read_text() == "2\n"

    assert as_other_user(check) == ""


def test_a_filter_without_value_and_git_lfs_settings_are_carried_over(
    repo: Repo, tmp_path: Path
) -> None:
    with (repo.path / ".git/config").open("a") as config:
        config.write('[filter "lfs"]\n\tclean = cat\n\tsmudge = cat\n\trequired\n')
    with open_mirror(read_repository(repo.path), tmp_path / "cache", "head") as mirror:
        mirror.checkout(head(repo))
    shown = repo.git("config", "-f", str(tmp_path / "cache/head/git/config"), "-l")
    assert "filter.lfs.required=true" in shown
    assert f"lfs.storage={repo.path / '.git/lfs'}" in shown
    assert "lfs.skipdownloaderrors=true" in shown


def test_a_mirror_that_is_killed_while_it_is_made_is_made_again(
    repo: Repo, tmp_path: Path
) -> None:
    """Really killed, at a later moment each time."""
    script = (
        "import sys; from pathlib import Path\n"
        "from presubmit.change import read_repository\n"
        "from presubmit.change.mirror import open_mirror\n"
        f"repository = read_repository(Path({str(repo.path)!r}))\n"
        "print('go', flush=True)\n"
        f"with open_mirror(repository, Path({str(tmp_path / 'cache')!r}), 'head') as mirror:\n"
        f"    mirror.checkout({head(repo)!r}, clean=True)\n"
    )
    for pause in (0.0, 0.02, 0.05, 0.1):
        with subprocess.Popen(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            stdout=subprocess.PIPE,
        ) as process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(pause)
            process.kill()
        with open_mirror(read_repository(repo.path), tmp_path / "cache", "head") as mirror:
            mirror.checkout(head(repo))
            assert listing(mirror) == set(repo.git("ls-files").splitlines())
