"""Real projects from the package index, and `presubmit` as a user starts it."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import tarfile
import threading
import time
import urllib.parse
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from presubmit.container.engine import Engine

SDISTS = Path(os.environ.get("PRESUBMIT_SDISTS", "/var/tmp/presubmit-test-sdists"))
TEST_IMAGE = os.environ.get("PRESUBMIT_TEST_IMAGE", "presubmit-test:deb")
LONG = 600


def download_sdist(project: str, path: Path) -> None:
    """Fetch a file of a project from the index that pip uses; pip itself would build its metadata first, for minutes."""
    asked = [sys.executable, "-m", "pip", "config", "get", "global.index-url"]
    configured = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()
    index = os.environ.get("PIP_INDEX_URL") or configured or "https://pypi.org/simple"
    page = f"{index.rstrip('/')}/{project.lower().replace('_', '-')}/"
    with urllib.request.urlopen(page, timeout=60) as answer:  # noqa: S310 - the index that pip is told of
        links = re.findall(r'href="([^"]+)"', answer.read().decode())
    link = next((one for one in links if f"/{path.name}" in f"/{one}"), None)
    if link is None:
        raise FileNotFoundError(f"{page} has no {path.name}")
    with urllib.request.urlopen(urllib.parse.urljoin(page, link), timeout=60) as answer:  # noqa: S310 - as above
        data = answer.read()
    partial = path.with_suffix(f".{os.getpid()}")
    partial.write_bytes(data)
    partial.replace(path)


def read_sdist(requirement: str) -> Path:
    """Give a pinned sdist, downloaded once a machine; without the index the test is skipped, or fails in CI."""
    name = requirement.replace("==", "-")
    found = SDISTS / f"{name}.tar.gz"
    if not found.exists():
        SDISTS.mkdir(parents=True, exist_ok=True)
        try:
            download_sdist(requirement.partition("==")[0], found)
        except OSError as error:
            why = f"no sdist of {requirement}: {error}"
            if os.environ.get("PRESUBMIT_REQUIRE_NETWORK") == "1":
                pytest.fail(why, pytrace=False)
            pytest.skip(why)
    return found


def unpack(sdist: Path, folder: Path) -> None:
    """Unpack an sdist as files of the caller's."""
    with tarfile.open(sdist) as archive:
        # Python 3.11.2 has no filters: it would give the files to whoever packed them.
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        members = archive.getmembers()
        for one in members:
            one.uid, one.gid, one.uname, one.gname = os.getuid(), os.getgid(), "", ""
        archive.extractall(folder, members)  # noqa: S202 - pinned sdists of the registry


class Done:
    """A finished `presubmit`."""

    def __init__(self, exit_code: int, output: str, folder: Path) -> None:
        self.exit_code = exit_code
        self.output = output
        self._folder = folder

    @property
    def run(self) -> dict[str, Any]:
        """The newest run.json."""
        found: dict[str, Any] = json.loads((self._folder / ".presubmit/last/run.json").read_text())
        return found

    def failures(self, label: str) -> list[str]:
        """The subjects of the failures with this class."""
        return [f["subject"] for f in self.run["failures"] if f["class"] == label]

    def step(self, name: str) -> dict[str, Any]:
        """One step of the run."""
        found: dict[str, Any] = next(s for s in self.run["steps"] if s["id"] == name)
        return found


class Project:
    """A real project's checkout, with its upstream."""

    def __init__(self, path: Path, git: Callable[..., str], env: Mapping[str, str]) -> None:
        self.path = path
        self._git = git
        self.env = {**os.environ, **env}

    def git(self, *args: str) -> str:
        """Run git as the contributor."""
        return self._git(self.path, *args)

    def edit(self, name: str, old: str, new: str) -> None:
        """Replace a text that must be there once or more."""
        path = self.path / name
        text = path.read_text()
        assert old in text, (name, old)
        path.write_text(text.replace(old, new, 1))

    def back(self) -> None:
        """Give up every change: back to the upstream's first commit, with nothing that ran green before."""
        history = self.path / ".git/presubmit/history.db"
        if history.exists():
            with contextlib.closing(sqlite3.connect(history, isolation_level=None)) as connection:
                connection.execute("delete from evidence")
                connection.execute("delete from tier_evidence")
        self.git("checkout", "-q", "-f", "--detach", "start")
        self.git("clean", "-q", "-fd")
        self.git("update-ref", "refs/remotes/upstream/main", "start")

    def commit_upstream(self, message: str = "Upstream change") -> None:
        """Make what is edited the upstream's state."""
        self.git("commit", "-q", "-a", "-m", message)
        self.git("update-ref", "refs/remotes/upstream/main", "HEAD")

    def command(self, *arguments: str) -> list[str]:
        """Give the command line."""
        return [sys.executable, "-P", "-m", "presubmit", *arguments]

    def presubmit(self, *arguments: str, env: Mapping[str, str] | None = None) -> Done:
        """Run presubmit to its end."""
        done = subprocess.run(
            self.command(*arguments),
            cwd=self.path,
            env={**self.env, **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=LONG,
            check=False,
        )
        return Done(done.returncode, done.stdout.decode("utf-8", "replace"), self.path)

    def start(
        self, *arguments: str, env: Mapping[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        """Start presubmit and leave it running."""
        return subprocess.Popen(
            self.command(*arguments),
            cwd=self.path,
            env={**self.env, **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )


class MakeProject(Protocol):
    """Makes a checkout of a pinned sdist, or of files."""

    def __call__(
        self, name: str, *, sdist: str = "", files: Mapping[str, str] | None = None
    ) -> Project: ...


def _prepare(path: Path, git: Callable[..., str]) -> None:
    (path / ".gitignore").write_text("*.so\n*.egg-info/\nbuild/\n__pycache__/\n.pytest_cache/\n")
    git(path, "init", "-q", "-b", "main")
    git(path, "config", "user.name", "A. Contributor")
    git(path, "config", "user.email", "contributor@example.org")
    git(path, "add", "-A", "-f", ".")
    git(path, "commit", "-q", "-m", "Start")
    git(path, "tag", "start")
    git(path, "remote", "add", "upstream", str(path))
    git(path, "update-ref", "refs/remotes/upstream/main", "start")
    git(path, "switch", "-q", "-c", "topic")


@pytest.fixture(scope="session")
def make_project(tmp_path_factory: pytest.TempPathFactory, isolated_home: Path) -> MakeProject:
    """Give the one way to a project under test."""
    from tests.conftest import run_git  # noqa: PLC0415 - as pytest itself does, late

    cache = isolated_home / "cache"

    def make(name: str, *, sdist: str = "", files: Mapping[str, str] | None = None) -> Project:
        folder = tmp_path_factory.mktemp("projects")
        path = folder / name
        if sdist:
            unpack(read_sdist(sdist), folder)
            (folder / sdist.replace("==", "-")).rename(path)
            for stale in ("PKG-INFO", "setup.cfg"):
                found = path / stale
                if (found.exists() and "egg_info" in found.read_text()) or stale == "PKG-INFO":
                    found.unlink(missing_ok=True)
        for inner, text in (files or {}).items():
            (path / inner).parent.mkdir(parents=True, exist_ok=True)
            (path / inner).write_text(text)
        _prepare(path, run_git)
        return Project(path, run_git, {"XDG_CACHE_HOME": str(cache)})

    return make


@pytest.fixture(scope="session")
def in_container(engine: Engine) -> tuple[str, ...]:
    """Give the arguments that make presubmit use the test image."""
    assert engine.info.version
    return ("--image", TEST_IMAGE)


def wait_for(condition: Callable[[], object], seconds: float = 60.0) -> bool:
    """Wait until a condition holds; says whether it came to hold."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.1)
    return bool(condition())


def containers(engine: Engine, project: Project) -> list[str]:
    """Give the names of the containers of the project's runs."""
    runs = [path.name.lower() for path in (project.path / ".presubmit/runs").iterdir()]
    labels = [f"dev.presubmit.run={run}" for run in runs]
    found = [
        one for it in labels for one in engine.api.containers(all=True, filters={"label": it})
    ]
    return [one["Names"][0] for one in found]


def session_processes(project: Project) -> list[int]:
    """Give the processes of the Nox sessions that a run of the project started."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"nox" in words and any(os.fsencode(project.path) in word for word in words):
            found.append(int(entry.name))
    return found


class Relay:
    """A socket through which the engine is reached, and which can be cut, as if the engine had been stopped."""

    def __init__(self, path: Path, target: str) -> None:
        self.path = path
        self._target = target
        self._open: list[socket.socket] = []
        self._server = socket.socket(socket.AF_UNIX)
        self._server.bind(str(path))
        path.chmod(0o666)
        self._server.listen(64)
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def host(self) -> str:
        """DOCKER_HOST for it."""
        return f"unix://{self.path}"

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._server.accept()
            except OSError:
                return
            far = socket.socket(socket.AF_UNIX)
            far.connect(self._target)
            self._open += [near, far]
            for source, sink in ((near, far), (far, near)):
                threading.Thread(target=self._pump, args=(source, sink), daemon=True).start()

    def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        try:
            while data := source.recv(1 << 16):
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def cut(self) -> None:
        """End every connection, and take no more."""
        self.path.unlink(missing_ok=True)
        self._server.close()
        for connection in self._open:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()


@pytest.fixture
def relay(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Relay]:
    """Give a relay to the engine of DOCKER_HOST."""
    address = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock")
    assert engine.info.version
    path = Path("/var/tmp") / f"presubmit-relay-{os.getpid()}-{time.monotonic_ns()}"
    made = Relay(path, address.removeprefix("unix://"))
    yield made
    made.cut()


__all__ = ["Done", "Project", "Relay", "signal"]
