from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from presubmit.container.model import BoxSpec
from presubmit.container.volumes import scrub
from presubmit.errors import GitError
from presubmit.replay.job.action import LackingError
from presubmit.replay.job.gitdir import MARK, Prepared
from presubmit.replay.job.sources import Sources, discard, open_sources
from presubmit.replay.job.workspace import Workspace, open_workspace
from tests.conftest import MakeRepo, Repo, run_git
from tests.integration.replay.cells import LABELS, files_of, lines, origin_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from presubmit.container.box import DockerBox
    from presubmit.container.engine import Engine
    from presubmit.container.model import ExecResult, ImageRef

pytestmark = pytest.mark.engine

DEFAULT = Prepared()
PATH = "/home/runner/work/project/project"


class Cell:
    """A workspace with its box."""

    def __init__(self, sources: Sources, workspace: Workspace, box: DockerBox, log: Path) -> None:
        self.sources, self.workspace, self.box, self._log = sources, workspace, box, log

    def run(self, script: str) -> ExecResult:
        return self.box.exec(
            ("sh", "-ec", script), log=self._log, timeout=60, cwd=self.workspace.path
        )

    def say(self, script: str) -> list[str]:
        return lines(self.run(script))


@pytest.fixture(params=["overlay", "checkout"])
def how(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def repo(make_repo: MakeRepo) -> Repo:
    """Four commits on upstream, the second one tagged, and one that is the change."""
    repo = make_repo({"a.txt": "1\n", "src/deep/b.txt": "b\n", "run.sh": "#!/bin/sh\n"})
    (repo.path / "run.sh").chmod(0o755)
    (repo.path / "link").symlink_to("a.txt")
    repo.commit({"a.txt": "2\n"})
    repo.git("tag", "-a", "v1", "-m", "One")
    for number in range(3, 5):
        repo.commit({"a.txt": f"{number}\n"})
    repo.with_upstream()
    repo.git("switch", "-q", "-c", "feature")
    repo.commit({"a.txt": "mine\n"})
    return repo


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What is remembered of whether overlays work: asked once, not by every test."""
    return tmp_path_factory.mktemp("asked") / "overlay.txt"


@pytest.fixture
def opened(
    engine: Engine, image: ImageRef, tmp_path: Path, how: str, asked: Path
) -> Callable[..., Any]:
    """Open a cell of a repository, as an overlay or as a checkout of its own."""
    (tmp_path / "cache").mkdir()
    if asked.exists():
        shutil.copy(asked, tmp_path / "cache")

    @contextmanager
    def opened(
        repo: Repo,
        prepared: Prepared | None = DEFAULT,
        *,
        base: str = "upstream/main",
        **given: Any,
    ) -> Iterator[Cell]:
        origin = origin_of(repo, tmp_path / "cache", base=base)
        with open_sources(origin, cache=tmp_path / "cache", engine=engine, image=image) as sources:
            assert sources.no_overlay == ""
            shutil.copy(tmp_path / "cache" / asked.name, asked)
            sources.no_overlay = "" if how == "overlay" else "asked for"
            with open_workspace(sources, "tests", prepared, name="project", **LABELS) as workspace:
                spec = {
                    "image": image,
                    "lane": "tests",
                    "workdir": workspace.path,
                    "mounts": workspace.mounts,
                    "env": workspace.env,
                    "network": "none",
                    **LABELS,
                    **given,
                }
                box = engine.start(BoxSpec(**spec))
                try:
                    yield Cell(sources, workspace, box, tmp_path / "log")
                finally:
                    box.close()

    return opened


def volumes(engine: Engine) -> list[str]:
    label = f"dev.presubmit.run={LABELS['run']}"
    found = engine.api.volumes(filters={"label": label})["Volumes"] or []
    return [one["Name"] for one in found]


def test_a_cell_finds_what_the_checkout_action_leaves(
    repo: Repo, opened: Callable[..., Any], how: str
) -> None:
    with opened(repo) as cell:
        assert cell.workspace.how == how
        assert cell.workspace.path == PATH
        assert cell.say(
            "git status; git log --format=%s; git for-each-ref --format='%(refname)'"
        ) == [
            "HEAD detached at pull/0/merge",
            "nothing to commit, working tree clean",
            f"Merge {cell.sources.origin.head} into {cell.sources.origin.base}",
            "refs/remotes/pull/0/merge",
        ]
        assert cell.say("cat a.txt src/deep/b.txt; readlink link; test -x run.sh && echo yes") == [
            "mine", "b", "a.txt", "yes",
        ]  # fmt: skip
        assert cell.say("git config remote.origin.url; git config remote.origin.fetch") == [
            "file:///presubmit/origin.git",
            "+refs/heads/*:refs/remotes/origin/*",
        ]


def test_no_file_is_read_again_to_know_that_nothing_changed(
    repo: Repo, opened: Callable[..., Any]
) -> None:
    with opened(repo) as cell:
        # An index whose facts do not fit the files names each of them here.
        assert cell.say("git diff-files --name-only; echo end") == ["end"]


@pytest.mark.parametrize(
    ("prepared", "commits", "described"),
    [
        (Prepared(), 1, ""),
        (Prepared(depth=2), 3, ""),
        (Prepared(depth=0), 6, "v1-4-g"),
        (Prepared(depth=2, tags=True), 3, ""),
        (Prepared(depth=4, tags=True), 6, "v1-4-g"),
        (Prepared(depth=1, tags=True), 1, ""),
    ],
)
def test_the_history_is_as_deep_as_it_was_asked_for(
    repo: Repo, opened: Callable[..., Any], prepared: Prepared, commits: int, described: str
) -> None:
    with opened(repo, prepared) as cell:
        assert cell.say("git rev-list --count HEAD") == [str(commits)]
        done = cell.run("git describe --tags")
        assert done.ok is bool(described)
        assert done.tail.startswith(described)
        tags = ["v1"] if prepared.tags or not prepared.depth else []
        assert cell.say("git tag; true") == tags
        branches = ["origin/feature", "origin/main"] if not prepared.depth else []
        assert (
            cell.say("git for-each-ref --format='%(refname:short)' refs/remotes/origin")
            == branches
        )


@pytest.mark.parametrize("depth", [0, 1, 3])
def test_nothing_of_the_objects_is_copied_or_touched(
    repo: Repo, opened: Callable[..., Any], depth: int
) -> None:
    objects = [path for path in (repo.path / ".git/objects").rglob("*") if path.is_file()]
    before = {path: path.stat().st_mtime_ns for path in objects}
    with opened(repo, Prepared(depth=depth)) as cell:
        assert cell.say("find .git/objects -type f") == [".git/objects/info/alternates"]
        cell.say("git fsck --connectivity-only")
    assert {path: path.stat().st_mtime_ns for path in objects} == before


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("git fetch -q --unshallow && git describe --tags --abbrev=0", "v1"),
        ("git fetch -q --depth=1 origin '+refs/tags/*:refs/tags/*' && git tag", "v1"),
        ("git fetch -q --prune --unshallow && git rev-list --count HEAD", "6"),
        ("git fetch -q origin main && git log -1 --format=%s FETCH_HEAD", "Change"),
        (
            "git fetch -q --unshallow; git fetch -q origin main; git diff --name-only FETCH_HEAD...",
            "a.txt",
        ),
        ("git fetch -q origin && git diff --name-only origin/main", "a.txt"),
        ("git fetch -q --deepen=1 && git rev-list --count HEAD", "3"),
        ("git fetch -q origin refs/pull/0/head && git log -1 --format=%s FETCH_HEAD", "Change"),
        (
            "git ls-remote -q https://github.com/owner/project.git refs/heads/main | cut -f2",
            "refs/heads/main",
        ),
        ("git clone -q file:///presubmit/origin.git /tmp/x && cat /tmp/x/a.txt", "4"),
    ],
)
def test_git_reaches_the_origin_without_a_network(
    repo: Repo, opened: Callable[..., Any], script: str, said: str
) -> None:
    with opened(repo) as cell:
        assert cell.say(script) == [said]


def test_another_user_than_the_owner_can_use_git_and_its_origin(
    repo: Repo, opened: Callable[..., Any]
) -> None:
    with opened(repo, user="1234:1235") as cell:
        assert cell.say("id -u; git status --short; git log -1 --format=%H") == [
            "1234",
            cell.sources.origin.merge,
        ]
        assert cell.say(
            "git clone -q file:///presubmit/origin.git /tmp/x && git -C /tmp/x describe --tags --abbrev=0"
        ) == ["v1"]


def test_a_push_fails(repo: Repo, opened: Callable[..., Any]) -> None:
    with opened(repo) as cell:
        assert not cell.run("git push -q origin HEAD:refs/heads/x").ok
        assert cell.say("git ls-remote origin refs/heads/x") == []


def test_what_a_cell_does_shows_nowhere_else(
    repo: Repo, opened: Callable[..., Any], tmp_path: Path, engine: Engine
) -> None:
    with opened(repo):
        pass  # everything that is made once is there now
    tree, user = tmp_path / "cache" / "mirrors" / "replay" / "tree", repo.path
    before = files_of(tree), files_of(user), files_of(tmp_path / "cache" / "origins")
    with opened(repo) as cell:
        cell.say(
            "rm -r src; echo x >>a.txt; mkdir new; echo y >new/file; chmod 600 run.sh; mv link other;"
            "git -c user.name=x -c user.email=x@x commit -qam 'In the cell'; git gc -q; git clean -qfdx"
        )
        cell.say("cd ..; echo beside >beside; echo t >../_temp/file")
    assert before == (files_of(tree), files_of(user), files_of(tmp_path / "cache" / "origins"))
    assert list((tmp_path / "cache" / "cells").iterdir()) == []
    assert volumes(engine) == []


def test_a_folder_from_below_can_be_renamed(repo: Repo, opened: Callable[..., Any]) -> None:
    with opened(repo) as cell:
        script = "import os; os.rename('src', 'lib'); print(open('lib/deep/b.txt').read())"
        assert cell.say(f'python3 -c "{script}"; git status --short') == [
            "b", " D src/deep/b.txt", "?? lib/",
        ]  # fmt: skip


def test_files_belong_to_the_caller(repo: Repo, opened: Callable[..., Any]) -> None:
    with opened(repo) as cell:
        owners = cell.say("stat -c %u:%g . .git .git/index a.txt src .. ../../_temp | sort -u")
        assert owners == [f"{os.getuid()}:{os.getgid()}"]


def test_a_cell_that_runs_as_root_leaves_nothing(
    repo: Repo, opened: Callable[..., Any], tmp_path: Path
) -> None:
    with opened(repo, user="0:0") as cell:
        cell.say("mkdir -p shut/in; echo x >shut/in/file; chmod 000 shut/in shut; rm a.txt")
    assert list((tmp_path / "cache" / "cells").iterdir()) == []


def test_the_next_cell_starts_from_what_is_under_test_now(
    repo: Repo, opened: Callable[..., Any]
) -> None:
    with opened(repo) as cell:
        cell.say("echo other >a.txt; echo junk >junk")
    repo.write({"a.txt": "edited\n", "added.txt": "new\n"})
    (repo.path / "src/deep/b.txt").unlink()
    with opened(repo) as cell:
        assert cell.say("git status --short; cat a.txt added.txt; ls") == [
            "edited", "new", "a.txt", "added.txt", "link", "run.sh",
        ]  # fmt: skip


def test_a_job_without_checkout_has_an_empty_workspace(
    repo: Repo, opened: Callable[..., Any]
) -> None:
    with opened(repo, None) as cell:
        assert cell.workspace.how == "empty"
        assert cell.workspace.laid == {}
        assert cell.say("ls -A; pwd; touch file; ls ..") == [PATH, "project"]
        assert cell.say("git clone -q file:///presubmit/origin.git there; cat there/a.txt") == [
            "4"
        ]


# --- submodules ---


@pytest.fixture
def nested(make_repo: MakeRepo) -> Repo:
    """A project with a submodule that has one itself."""
    inner = make_repo({"inner.txt": "inner\n"}, name="inner")
    middle = make_repo({"middle.txt": "middle\n"}, name="middle")
    add = ("-c", "protocol.file.allow=always", "submodule", "--quiet", "add")
    middle.git(*add, str(inner.path), "deep")
    middle.commit()
    repo = make_repo({"a.txt": "1\n"}, name="outer")
    repo.git(*add, str(middle.path), "libs/middle")
    repo.commit()
    repo.git(
        "-c", "protocol.file.allow=always", "submodule", "-q", "update", "--init", "--recursive"
    )
    repo.with_upstream()
    repo.commit({"a.txt": "2\n"})
    return repo


@pytest.mark.parametrize(
    ("submodules", "files", "status"),
    [
        ("", "", "-"),
        ("true", "libs/middle/middle.txt", " "),
        ("recursive", "libs/middle/deep/inner.txt libs/middle/middle.txt", " "),
    ],
)
def test_submodules_are_there_if_they_are_asked_for(
    nested: Repo, opened: Callable[..., Any], submodules: str, files: str, status: str
) -> None:
    with opened(nested, Prepared(submodules=submodules)) as cell:
        assert cell.say("find libs -name '*.txt' | sort; git status --short") == files.split()
        assert cell.run("git submodule status").tail.startswith(status)
        if submodules:
            assert cell.say(
                "git -C libs/middle status --short; git -C libs/middle log -1 --format=%s"
            ) == ["Change"]


def test_a_submodule_that_is_not_here_is_lacking_only_where_it_is_asked_for(
    nested: Repo, opened: Callable[..., Any], tmp_path: Path
) -> None:
    fresh = tmp_path / "fresh"
    run_git(tmp_path, "clone", "-q", str(nested.path), str(fresh))
    clone = Repo(fresh)
    clone.commit({"a.txt": "3\n"})
    with opened(clone, base="origin/HEAD") as cell:
        assert cell.say("ls -A libs/middle; git status --short") == []
    with (
        pytest.raises(
            LackingError, match=r"the submodule libs/middle.*git submodule update --init"
        ),
        opened(clone, Prepared(submodules="true"), base="origin/HEAD"),
    ):
        pass


# --- other clones ---


def test_files_of_git_lfs_stay_pointers(make_repo: MakeRepo, opened: Callable[..., Any]) -> None:
    repo = make_repo({"a.txt": "1\n"})
    repo.with_upstream()
    repo.git("config", "filter.lfs.smudge", "sed s/pointer/content/")
    repo.git("config", "filter.lfs.clean", "sed s/content/pointer/")
    repo.commit({".gitattributes": "*.bin filter=lfs\n", "x.bin": "content\n"})
    with opened(repo) as cell:
        assert cell.say("cat x.bin; git status --short") == ["pointer"]


def test_a_shallow_clone_lacks_the_history_that_it_does_not_have(
    repo: Repo, opened: Callable[..., Any], tmp_path: Path
) -> None:
    url = f"file://{repo.path}"
    run_git(tmp_path, "clone", "-q", "--depth=2", "--no-single-branch", url, "cut")
    cut = Repo(tmp_path / "cut")
    with opened(cut, base="origin/main") as cell:
        assert cell.say("git log --format=%s | wc -l") == ["1"]
        assert any("shallow" in note for note in cell.sources.notes)
    with (
        pytest.raises(LackingError, match=r"the whole history .*git fetch --unshallow"),
        opened(cut, Prepared(depth=0), base="origin/main"),
    ):
        pass
    with (
        pytest.raises(LackingError, match="50 commits of history"),
        opened(cut, Prepared(depth=50), base="origin/main"),
    ):
        pass


@pytest.mark.parametrize("depth", [0, 1])
def test_a_partial_clone_does(
    repo: Repo, opened: Callable[..., Any], tmp_path: Path, depth: int
) -> None:
    repo.git("config", "uploadpack.allowFilter", "true")
    run_git(tmp_path, "clone", "-q", "--filter=blob:none", f"file://{repo.path}", "partial")
    with opened(Repo(tmp_path / "partial"), Prepared(depth=depth), base="origin/main") as cell:
        assert cell.say("git status --short; cat a.txt") == ["mine"]
        assert any("partial" in note for note in cell.sources.notes)


def test_a_linked_worktree_does(repo: Repo, opened: Callable[..., Any], tmp_path: Path) -> None:
    repo.git("worktree", "add", "-q", "--detach", str(tmp_path / "linked"), "HEAD")
    linked = Repo(tmp_path / "linked")
    linked.write({"a.txt": "linked\n"})
    with opened(linked) as cell:
        assert cell.say("git status --short; cat a.txt; git worktree prune; git gc -q") == [
            "linked"
        ]
    assert "linked" in repo.git("worktree", "list")


# --- on the host, and ends ---


def test_without_an_engine_it_is_a_folder_of_the_host(repo: Repo, tmp_path: Path) -> None:
    origin = origin_of(repo, tmp_path / "cache")
    with open_sources(origin, cache=tmp_path / "cache", engine=None, image=None) as sources:
        with open_workspace(sources, "c", Prepared(depth=0), name="p", **LABELS) as workspace:
            folder = Path(workspace.path)
            assert (workspace.how, workspace.mounts) == ("checkout", ())
            assert folder == workspace.host_temp.parent / "p" / "p"
            assert run_git(folder, "status", "--short") == ""
            assert run_git(folder, "describe", "--tags", "--abbrev=0") == "v1"
            run_git(folder, "fetch", "-q", "origin", "main")
            assert (folder / ".git" / MARK).read_text() == "0 0\n"
        assert not folder.exists()


def test_the_sources_belong_to_one_run_at_a_time(repo: Repo, tmp_path: Path) -> None:
    origin = origin_of(repo, tmp_path / "cache")
    given: Any = {"cache": tmp_path / "cache", "engine": None, "image": None}
    with (
        open_sources(origin, **given),
        pytest.raises(GitError, match="is using the replay checkout"),
        open_sources(origin, **given),
    ):
        pass


def test_a_damaged_lane_is_made_anew(repo: Repo, tmp_path: Path) -> None:
    origin = origin_of(repo, tmp_path / "cache")
    given: Any = {"cache": tmp_path / "cache", "engine": None, "image": None}
    with open_sources(origin, **given) as sources:
        (sources.index).write_bytes(b"junk")
    with open_sources(origin, **given) as sources:
        assert (sources.tree / "a.txt").read_text() == "mine\n"


def test_what_root_left_is_removed_by_a_container(
    engine: Engine, image: ImageRef, tmp_path: Path
) -> None:
    folder = tmp_path / "cells"
    for name in ("one/work", ".two/.hidden"):
        (folder / name).mkdir(parents=True)
        (folder / name / "file").write_text("x")
        (folder / name).chmod(0)
    (tmp_path / "kept").write_text("kept")
    (folder / "link").symlink_to(tmp_path / "kept")
    scrub(engine, image, folder)
    assert list(folder.iterdir()) == []
    assert (tmp_path / "kept").read_text() == "kept"


def test_another_user_leaves_roots_leavings_to_the_container(
    as_other_user: Callable[[Callable[[], object]], str],
    open_folder: Path,
    engine: Engine,
    image: ImageRef,
) -> None:
    cell = open_folder / "cell"
    (cell / "scratch" / "work").mkdir(parents=True)
    for path in (cell, cell / "scratch"):
        os.chown(path, 1000, 1000)
    (cell / "scratch" / "work" / "file").write_text("root's")
    (cell / "scratch" / "work").chmod(0)
    assert as_other_user(lambda: discard(cell)) == ""
    assert cell.exists()
    scrub(engine, image, open_folder)
    assert list(open_folder.iterdir()) == []


KILLED = """
import os, sys, time
from pathlib import Path
from presubmit.container.engine import connect
from presubmit.container.model import BoxSpec
from presubmit.container.networks import make_network
from presubmit.replay.job.gitdir import Prepared
from presubmit.replay.job.sources import open_sources
from presubmit.replay.job.workspace import open_workspace
from tests.integration.replay.cells import origin_of
cache = Path(sys.argv[2])
engine = connect(cache=cache / "engine")
image = engine.image(sys.argv[1], origin="test")
labels = {"run": sys.argv[4], "repo": "repo"}
with open_sources(origin_of(Path(sys.argv[3]), cache), cache=cache, engine=engine, image=image) as sources:
    with open_workspace(sources, "tests", Prepared(), name="p", **labels) as workspace:
        network = make_network(engine, **labels, lane="tests")
        engine.start(BoxSpec(image=image, lane="tests", workdir=workspace.path, mounts=workspace.mounts,
                             network=network, **labels))
        print("ready", flush=True)
        time.sleep(60)
"""


def test_what_a_killed_run_left_goes_with_the_next(
    repo: Repo, engine: Engine, image: ImageRef, tmp_path: Path
) -> None:
    cache = tmp_path / "cache"
    run = str(LABELS["run"])
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, image.name, str(cache), str(repo.path), run],
        cwd=Path(__file__).parents[3],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        assert not [name for name in engine.sweep(dry_run=True) if run in name]
        process.send_signal(signal.SIGKILL)
        process.wait()
    left = volumes(engine)
    assert len(left) == 1
    until = time.monotonic() + 10
    while volumes(engine) and time.monotonic() < until:
        engine.sweep()
        time.sleep(0.1)
    assert volumes(engine) == []
    assert not engine.api.networks(filters={"label": f"dev.presubmit.run={run}"})
    assert list((cache / "cells").iterdir()) != []
    with open_sources(origin_of(repo, cache), cache=cache, engine=engine, image=image) as sources:
        assert list(sources.cells.iterdir()) == []


def test_a_path_that_mount_options_cannot_hold_means_no_overlay(
    repo: Repo, engine: Engine, image: ImageRef, tmp_path: Path
) -> None:
    cache = tmp_path / "a,b"
    origin = origin_of(repo, cache)
    with (
        open_sources(origin, cache=cache, engine=engine, image=image) as sources,
        open_workspace(sources, "c", Prepared(), name="p", **LABELS) as workspace,
    ):
        assert "cannot be written in mount options" in sources.no_overlay
        assert workspace.how == "checkout"


def test_modes_of_the_shared_files_are_those_of_git(repo: Repo, tmp_path: Path) -> None:
    origin = origin_of(repo, tmp_path / "cache")
    given: Any = {"cache": tmp_path / "cache", "engine": None, "image": None}
    with open_sources(origin, **given) as sources:
        assert not (sources.tree / ".git").exists()
        assert stat.S_IMODE((sources.tree / "run.sh").stat().st_mode) & 0o111
