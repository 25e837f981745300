from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from presubmit.container.model import BoxSpec
from presubmit.replay.actions import checkout
from presubmit.replay.job.action import ActionFailedError, LackingError
from presubmit.replay.job.gitdir import Prepared
from presubmit.replay.job.sources import open_sources
from presubmit.replay.job.workspace import open_workspace
from presubmit.upstream.here import Here
from tests.conftest import MakeRepo, Repo, run_git
from tests.integration.replay.cells import LABELS, BoxStep, HostStep, origin_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from presubmit.container.engine import Engine
    from presubmit.container.model import ImageRef
    from presubmit.replay.job.origin import Origin
    from presubmit.replay.job.workspace import Workspace


@pytest.fixture
def repo(make_repo: MakeRepo) -> Repo:
    repo = make_repo({"a.txt": "1\n", "src/b.py": "b\n", "docs/c.md": "c\n"})
    repo.git("tag", "-a", "v1", "-m", "One")
    repo.commit({"a.txt": "2\n"})
    repo.with_upstream()
    repo.git("push", "-q", "upstream", "main~1:refs/heads/release/1.x")
    repo.git("fetch", "-q", "upstream")
    repo.git("switch", "-q", "-c", "feature")
    repo.commit({"a.txt": "mine\n"})
    return repo


class Cell:
    """A cell on the host: steps in it, and what git says there."""

    def __init__(self, workspace: Workspace, origin: Origin) -> None:
        self.origin = origin
        self.workspace = workspace
        self.folder = Path(workspace.path)

    def step(self, **inputs: str) -> HostStep:
        return HostStep(self.workspace, self.origin, **inputs)

    def check_out(self, **inputs: str) -> HostStep:
        step = self.step(**inputs)
        checkout.run(step)
        return step

    def git(self, *args: str, at: str = ".") -> str:
        return run_git(self.folder / at, *args, env=self.workspace.env)


@pytest.fixture
def opened(tmp_path: Path) -> Callable[..., Any]:
    @contextmanager
    def opened(repo: Repo, prepared: Prepared | None) -> Iterator[Cell]:
        cache = tmp_path / "cache"
        origin = origin_of(repo, cache)
        with (
            open_sources(origin, cache=cache, engine=None, image=None) as sources,
            open_workspace(sources, "c", prepared, name="p", **LABELS) as workspace,
        ):
            yield Cell(workspace, origin)

    return opened


@pytest.fixture(params=["laid", "empty"])
def cell(request: pytest.FixtureRequest, repo: Repo, opened: Callable[..., Any]) -> Iterator[Cell]:
    """What was laid before, and what the step has to fetch, look the same afterwards."""
    with opened(repo, Prepared() if request.param == "laid" else None) as found:
        yield found


@pytest.fixture
def laid(repo: Repo, opened: Callable[..., Any]) -> Iterator[Cell]:
    with opened(repo, Prepared()) as found:
        yield found


def test_the_default_checkout_gives_the_merge(cell: Cell) -> None:
    step = cell.check_out()
    assert step.outputs == {"ref": "refs/pull/0/merge", "commit": cell.origin.merge}
    assert cell.git("rev-parse", "HEAD") == cell.origin.merge
    assert cell.git("rev-list", "--count", "HEAD") == "1"
    assert cell.git("for-each-ref", "--format=%(refname)") == "refs/remotes/pull/0/merge"
    assert cell.git("status", "--short") == ""
    assert (cell.folder / "a.txt").read_text() == "mine\n"


def test_what_lies_there_already_needs_no_git(laid: Cell) -> None:
    step = laid.step()
    step.here = Here()
    checkout.run(step)
    assert step.outputs["commit"] == laid.origin.merge
    assert not [line for line in step.log if line.startswith("git ")]


def test_without_git_nothing_else_can_be_had(repo: Repo, opened: Callable[..., Any]) -> None:
    with opened(repo, None) as cell:
        step = cell.step()
        step.here = Here()
        with pytest.raises(LackingError, match="git in the image"):
            checkout.run(step)


@pytest.mark.parametrize(
    ("inputs", "count", "tags"),
    [
        ({"fetch_depth": "0"}, "4", "v1"),
        ({"fetch_depth": "2"}, "3", ""),
        ({"fetch_tags": "true"}, "1", "v1"),
        ({"fetch_depth": "junk"}, "4", "v1"),
    ],
)
def test_depth_and_tags_are_as_asked_for(
    cell: Cell, inputs: dict[str, str], count: str, tags: str
) -> None:
    cell.check_out(**inputs)
    assert (cell.git("rev-list", "--count", "HEAD"), cell.git("tag")) == (count, tags)


def test_what_was_prepared_for_a_step_is_what_the_step_finds(
    repo: Repo, opened: Callable[..., Any]
) -> None:
    prepared = checkout.prepared({"fetch-depth": "0"})
    with opened(repo, prepared) as cell:
        step = cell.check_out(fetch_depth="0")
        assert not [line for line in step.log if line.startswith("git ")]
        assert cell.git("describe", "--tags").startswith("v1-3-g")
        assert cell.git("branch", "-r", "--format=%(refname:short)").split() == [
            "origin/feature", "origin/main", "origin/release/1.x", "pull/0/merge",
        ]  # fmt: skip


@pytest.mark.parametrize(
    ("ref", "content", "head", "said"),
    [
        ("main", "2\n", "main", "main"),
        ("refs/heads/main", "2\n", "main", "refs/heads/main"),
        ("release/1.x", "1\n", "release/1.x", "release/1.x"),
        ("v1", "1\n", "", "v1"),
        ("refs/tags/v1", "1\n", "", "refs/tags/v1"),
        ("refs/pull/0/merge", "mine\n", "", "refs/pull/0/merge"),
        ("refs/pull/0/head", "mine\n", "", "refs/pull/0/head"),
        ("feature", "mine\n", "feature", "feature"),
    ],
)
def test_another_ref_is_checked_out(
    cell: Cell, ref: str, content: str, head: str, said: str
) -> None:
    step = cell.check_out(ref=ref)
    assert (cell.folder / "a.txt").read_text() == content
    assert cell.git("branch", "--show-current") == head
    assert step.outputs == {"ref": said, "commit": cell.git("rev-parse", "HEAD")}
    assert cell.git("status", "--short") == ""


@pytest.mark.parametrize("depth", ["0", "1"])
def test_a_commit_is_checked_out_by_its_name(cell: Cell, repo: Repo, depth: str) -> None:
    commit = repo.git("rev-parse", "v1^{commit}")
    step = cell.check_out(ref=commit, fetch_depth=depth)
    assert step.outputs == {"ref": "", "commit": commit}
    assert (cell.folder / "a.txt").read_text() == "1\n"


def test_a_ref_that_does_not_exist_fails_as_the_action_does(cell: Cell) -> None:
    message = "A branch or tag with the name 'nothing' could not be found"
    with pytest.raises(ActionFailedError, match=message):
        cell.check_out(ref="nothing")


def test_a_commit_that_does_not_exist_fails(cell: Cell) -> None:
    with pytest.raises(ActionFailedError, match="fetch"):
        cell.check_out(ref="1" * 40)


def test_a_second_checkout_cleans_what_the_steps_before_left(cell: Cell) -> None:
    cell.check_out()
    (cell.folder / "a.txt").write_text("edited\n")
    (cell.folder / "build").mkdir()
    (cell.folder / "build" / ".git").mkdir()
    cell.git("branch", "local")
    cell.check_out()
    assert (cell.folder / "a.txt").read_text() == "mine\n"
    assert not (cell.folder / "build").exists()
    assert cell.git("branch", "--list", "local") == ""


def test_a_second_checkout_without_clean_keeps_other_files(cell: Cell) -> None:
    cell.check_out()
    (cell.folder / "a.txt").write_text("edited\n")
    (cell.folder / "kept").write_text("x")
    cell.check_out(clean="false")
    assert (cell.folder / "a.txt").read_text() == "mine\n"  # checkout --force
    assert (cell.folder / "kept").exists()


def test_a_second_checkout_after_the_repository_was_broken_makes_it_anew(cell: Cell) -> None:
    cell.check_out()
    (cell.folder / ".git" / "HEAD").unlink()
    (cell.folder / "left").write_text("x")
    cell.check_out()
    assert cell.git("status", "--short") == ""
    assert not (cell.folder / "left").exists()


def test_files_that_lie_in_the_way_are_removed(repo: Repo, opened: Callable[..., Any]) -> None:
    with opened(repo, None) as cell:
        (cell.folder / "left").write_text("x")
        (cell.folder / "sub").write_text("x")
        cell.check_out(path="sub")
        assert (cell.folder / "left").exists()
        cell.check_out()
        assert not (cell.folder / "left").exists()


def test_another_path_is_a_checkout_of_its_own(cell: Cell) -> None:
    cell.check_out()
    step = cell.check_out(path="base/here", ref="main", fetch_depth="0")
    assert (cell.folder / "base/here/a.txt").read_text() == "2\n"
    assert (cell.folder / "a.txt").read_text() == "mine\n"
    assert step.outputs["commit"] == cell.origin.base
    assert cell.git("describe", "--tags", at="base/here").startswith("v1-1-g")


@pytest.mark.parametrize("path", ["..", "../x", "/etc", "a/../../b"])
def test_a_path_outside_of_the_workspace_is_refused(laid: Cell, path: str) -> None:
    with pytest.raises(ActionFailedError, match="is not under"):
        laid.check_out(path=path)


def test_another_repository_is_lacking(laid: Cell) -> None:
    with pytest.raises(LackingError, match=r"^repository other/tool \(only this one is here\)$"):
        laid.check_out(repository="other/tool", path="tool")
    with pytest.raises(LackingError, match="repository other/project"):
        laid.check_out(repository="other/project")


def test_a_repository_without_owner_fails_as_the_action_does(laid: Cell) -> None:
    with pytest.raises(ActionFailedError, match=r"Invalid repository 'tool'. Expected format"):
        laid.check_out(repository="tool")


def test_the_fork_that_the_change_comes_from_is_this_repository(cell: Cell) -> None:
    step = cell.check_out(repository="me/project", ref="feature")
    assert (cell.folder / "a.txt").read_text() == "mine\n"
    assert step.outputs["commit"] == cell.origin.head
    # Without a ref it is another repository than the workflow's: its default branch.
    assert cell.check_out(repository="me/project").outputs["ref"] == "refs/heads/main"


@pytest.mark.parametrize(
    ("inputs", "files"),
    [
        ({"sparse_checkout": "src"}, ["a.txt", "src/b.py"]),
        (
            {"sparse_checkout": "docs/*\n/a.txt", "sparse_checkout_cone_mode": "false"},
            ["a.txt", "docs/c.md"],
        ),
        ({"filter": "blob:none"}, ["a.txt", "docs/c.md", "src/b.py"]),
    ],
)
def test_a_sparse_checkout_has_only_what_is_named(
    cell: Cell, inputs: dict[str, str], files: list[str]
) -> None:
    cell.check_out(**inputs)
    found = [p for p in cell.folder.rglob("*") if p.is_file() and ".git" not in p.parts]
    assert sorted(str(path.relative_to(cell.folder)) for path in found) == files
    assert cell.git("status", "--short") == ""


def test_after_a_sparse_checkout_a_whole_one_has_everything(cell: Cell) -> None:
    cell.check_out(sparse_checkout="src")
    cell.check_out()
    assert (cell.folder / "docs/c.md").exists()


def test_credentials_and_lfs_are_said_to_be_ignored(laid: Cell) -> None:
    inputs = {"token": "hidden", "ssh_key": "hidden", "lfs": "true", "persist_credentials": "true"}
    step = laid.check_out(**inputs)
    assert step.notes == [
        "`token` is not used",
        "`ssh-key` is not used",
        "files of Git LFS stay pointers",
    ]
    assert "hidden" not in (laid.folder / ".git/config").read_text()


def test_submodules_that_cannot_be_fetched_are_lacking(
    make_repo: MakeRepo, opened: Callable[..., Any]
) -> None:
    inner = make_repo({"inner.txt": "x\n"}, name="inner")
    repo = make_repo({"a.txt": "1\n"})
    add = ("-c", "protocol.file.allow=always", "submodule", "--quiet", "add")
    repo.git(*add, str(inner.path), "lib")
    repo.commit()
    repo.with_upstream()
    repo.commit({"a.txt": "2\n"})
    with opened(repo, None) as cell:
        cell.check_out(submodules="true", path="there")
        assert (cell.folder / "there/lib/inner.txt").exists()
        inner.path.rename(inner.path.with_name("gone"))
        with pytest.raises(LackingError, match="the submodules of a checkout in `again`"):
            cell.check_out(submodules="true", path="again")


def test_objects_may_have_names_of_64_digits(
    make_repo: MakeRepo, opened: Callable[..., Any]
) -> None:
    repo = make_repo({"a.txt": "1\n"}, options=("--object-format=sha256",))
    repo.with_upstream()
    repo.commit({"a.txt": "2\n"})
    for prepared in (None, Prepared()):
        with opened(repo, prepared) as cell:
            assert len(cell.check_out().outputs["commit"]) == 64
            assert cell.git("status", "--short") == ""


@pytest.mark.engine
@pytest.mark.parametrize("prepared", [None, Prepared()])
def test_it_works_in_a_box(
    repo: Repo, engine: Engine, image: ImageRef, tmp_path: Path, prepared: Prepared | None
) -> None:
    cache = tmp_path / "cache"
    origin = origin_of(repo, cache)
    with (
        open_sources(origin, cache=cache, engine=engine, image=image) as sources,
        open_workspace(sources, "c", prepared, name="p", **LABELS) as workspace,
    ):
        box = engine.start(
            BoxSpec(
                image=image,
                lane="c",
                workdir=workspace.path,
                mounts=workspace.mounts,
                env=workspace.env,
                network="none",
                **LABELS,
            )
        )
        try:
            step = BoxStep(box, tmp_path / "log", workspace, origin, fetch_depth="0")
            checkout.run(step)
            assert step.outputs["commit"] == origin.merge
            assert step.ask("git status --short; git describe --tags").text.startswith("v1-3-g")
            other = BoxStep(box, tmp_path / "log", workspace, origin, path="x", ref="main")
            checkout.run(other)
            assert other.ask("cat x/a.txt").text.strip() == "2"
        finally:
            box.close()
