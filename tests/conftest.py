"""Fixtures for every test: an isolated home, and `make_repo`, the one way to a git repository."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

PERSON = {
    "GIT_AUTHOR_NAME": "A. Contributor",
    "GIT_AUTHOR_EMAIL": "contributor@example.org",
    "GIT_COMMITTER_NAME": "A. Contributor",
    "GIT_COMMITTER_EMAIL": "contributor@example.org",
}

FIRST_DATE = 1767225600  # 2026-01-01

GLOBAL_CONFIG = """\
[init]
\tdefaultBranch = main
[advice]
\tdetachedHead = false
[protocol "file"]
\tallow = user
"""


OTHER_USER = 1000


@pytest.fixture
def as_other_user() -> Callable[[Callable[[], object]], str]:
    """Give `call_as_other_user`, where the tests run as root."""
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    return call_as_other_user


def call_as_other_user(function: Callable[[], object]) -> str:
    """Call `function` in a child that is another user; gives the message of what it raised, else nothing."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        message = ""
        try:
            os.setgroups([])
            os.setgid(OTHER_USER)
            os.setuid(OTHER_USER)
            function()
        except BaseException as error:  # noqa: BLE001 - all of it is told to the parent
            message = str(error) or repr(error)
        finally:
            os.write(writing, message.encode("utf-8", "backslashreplace"))
            os._exit(0)
    os.close(writing)
    with open(reading, "rb") as pipe:  # noqa: PTH123 - a descriptor has no path
        told = pipe.read().decode()
    os.waitpid(child, 0)
    return told


@pytest.fixture
def open_folder(isolated_home: Path) -> Iterator[Path]:
    """Give a folder of the other user's that every user can reach (pytest's own are closed)."""
    with tempfile.TemporaryDirectory(prefix="presubmit-test-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        inner = folder / "inner"
        inner.mkdir()
        (folder / "home").mkdir()
        for path in (inner, folder / "home"):
            try:
                os.chown(path, OTHER_USER, OTHER_USER)
            except PermissionError:
                pytest.skip("this root may not give files away (a container without rights)")
        (folder / "home/.gitconfig").write_bytes((isolated_home / ".gitconfig").read_bytes())
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("HOME", str(folder / "home"))
            patch.setenv("GIT_CONFIG_GLOBAL", str(folder / "home/.gitconfig"))
            patch.setenv("XDG_CONFIG_HOME", str(folder / "home/.config"))
            yield inner


@pytest.fixture(scope="session", autouse=True)
def isolated_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Give the whole session a home of its own, without a git identity and without what a hook or CI exports."""
    home = tmp_path_factory.mktemp("home")
    (home / ".gitconfig").write_text(GLOBAL_CONFIG)
    with pytest.MonkeyPatch.context() as patch:
        for name in os.environ:
            kept = name.startswith("PRESUBMIT_REQUIRE_")
            if name.startswith(("GIT_", "PRESUBMIT_", "GITHUB_")) and not kept:
                patch.delenv(name)
        patch.setenv("HOME", str(home))
        patch.setenv("GIT_CONFIG_GLOBAL", str(home / ".gitconfig"))
        patch.setenv("GIT_CONFIG_NOSYSTEM", "1")
        for name in ("CONFIG", "CACHE", "DATA", "STATE"):
            patch.setenv(f"XDG_{name}_HOME", str(home / name.lower()))
        yield home


def run_git(folder: Path, *args: str, env: Mapping[str, str] | None = None) -> str:
    """Run git in `folder` as the contributor; gives what it printed, without the last line end."""
    done = subprocess.run(
        ["git", *args],
        cwd=folder,
        env={**os.environ, **PERSON, **(env or {})},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, (args, done.stderr)
    return os.fsdecode(done.stdout).removesuffix("\n")


class Repo:
    """A real git repository in a temporary folder."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._commits = 0

    def git(self, *args: str, env: Mapping[str, str] | None = None) -> str:
        """Run git here."""
        return run_git(self.path, *args, env=env)

    def write(self, files: Mapping[str, str | bytes]) -> None:
        """Write files, with the folders they need."""
        for name, content in files.items():
            path = self.path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)

    def commit(
        self, files: Mapping[str, str | bytes] | None = None, *, message: str = "Change"
    ) -> str:
        """Write `files`, commit everything, and give the commit; the dates are pinned and one minute apart."""
        self.write(files or {})
        self.git("add", "-A")
        self._commits += 1
        date = f"{FIRST_DATE + 60 * self._commits} +0000"
        dates = {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
        self.git("commit", "-q", "--allow-empty", "-m", message, env=dates)
        return self.git("rev-parse", "HEAD")

    def with_upstream(self, *, remote: str = "upstream", branch: str = "main") -> Path:
        """Push what is here to a new bare repository, as `branch` of a new remote; gives the bare repository."""
        bare = self.path.with_name(f"{self.path.name}-{remote}.git")
        form = self.git("rev-parse", "--show-object-format")
        run_git(
            self.path, "init", "-q", "--bare", f"--object-format={form}", "-b", branch, str(bare)
        )
        self.git("remote", "add", remote, str(bare))
        self.git("push", "-q", remote, f"HEAD:refs/heads/{branch}")
        self.git("fetch", "-q", remote)
        return bare


class MakeRepo(Protocol):
    def __call__(
        self,
        files: Mapping[str, str | bytes] | None = ...,
        *,
        name: str = ...,
        options: tuple[str, ...] = ...,
    ) -> Repo: ...


@pytest.fixture
def make_repo(tmp_path: Path) -> MakeRepo:
    """Make repositories on the branch main, with one commit of `files` (none given: without a commit)."""

    def make(
        files: Mapping[str, str | bytes] | None = None,
        *,
        name: str = "repo",
        options: tuple[str, ...] = (),
    ) -> Repo:
        path = tmp_path / name
        path.mkdir(parents=True)
        repo = Repo(path)
        repo.git("init", "-q", "-b", "main", *options)
        if files is not None:
            repo.commit(files, message="First")
        return repo

    return make


@pytest.fixture
def git() -> Any:
    """Give `run_git`, for folders that are not a `Repo`."""
    return run_git
