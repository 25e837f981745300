"""A change may be someone else's: what it asks for, and what its code does, must not reach beyond its box."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.integration.run.conftest import MakeProject, Project, Relay

OTHER = 1000
FILES = {
    "thing.py": "VALUE = 1\n",
    "tests/test_thing.py": "import thing\n\n\ndef test_value():\n    assert thing.VALUE\n",
}


@pytest.fixture(scope="module")
def checkout(make_project: MakeProject) -> Project:
    return make_project("thing", files=FILES)


@pytest.fixture
def thing(checkout: Project) -> Project:
    checkout.back()
    (checkout.path / "thing.py").write_text("VALUE = 2\n")
    return checkout


@pytest.mark.parametrize(
    "settings",
    [
        'options = "--privileged"',
        'options = "-v /:/host"',
        'options = "--mount type=bind,source=/var/run/docker.sock,target=/s"',
        'options = "--network=host"',
        'image = "evil:latest"',
        'network = "bridge"',
        'env = ["SECRET_TOKEN"]',
        'profile = "ci-parity"',
        'user = "0:0"',
    ],
)
def test_a_change_cannot_widen_its_own_rights(thing: Project, settings: str) -> None:
    (thing.path / "presubmit.toml").write_text(f"[container]\n{settings}\n")
    done = thing.presubmit("run", "--check-base", "never")
    assert done.exit_code == 2, done.output
    assert settings.partition(" ")[0] in done.output
    assert "--trust-head" in done.output


@pytest.mark.parametrize("options", ["--privileged", "-v /:/host", "--pid=host"])
def test_not_even_the_base_gets_what_is_never_given(
    thing: Project, options: str, in_container: tuple[str, ...]
) -> None:
    (thing.path / "presubmit.toml").write_text(f'[container]\noptions = "{options}"\n')
    thing.git("add", "-A")
    thing.commit_upstream()
    (thing.path / "thing.py").write_text("VALUE = 3\n")
    done = thing.presubmit("run", *in_container)
    assert done.exit_code == 2, done.output
    assert options.split("=", maxsplit=1)[0].split(maxsplit=1)[0] in done.output


def test_a_devcontainer_that_the_change_alters_stops_the_run(
    thing: Project, in_container: tuple[str, ...]
) -> None:
    assert in_container
    (thing.path / ".devcontainer").mkdir()
    (thing.path / ".devcontainer/devcontainer.json").write_text('{"image": "evil:latest"}')
    done = thing.presubmit("run")
    assert done.exit_code == 2, done.output
    assert "evil:latest" in done.output


HOSTILE = """\
import os
import pathlib
import sys

import thing

OUT = pathlib.Path(os.environ.get("PRESUBMIT_OUT_FOR_TEST", "/out"))


def test_of_a_hostile_author():
    print("::error file=x.py::I am an annotation")
    print("::add-mask::secret")
    print("\\x1b]0;title\\x07\\x1b[2J\\x1b[31m<script>alert(1)</script> [bold]markup[/bold]")
    for folder in OUT.iterdir():
        for name in ("junit.xml", "record.jsonl"):
            try:
                (folder / name).unlink(missing_ok=True)
                (folder / name).symlink_to("/etc/hostname")
            except OSError:
                pass
    assert False, "::error::\\n::error::<b>`x` | [bold red]\\x1b[31m"
"""


@pytest.mark.engine
@pytest.mark.network
def test_links_markup_and_commands_of_a_hostile_test_reach_nothing(
    thing: Project, in_container: tuple[str, ...]
) -> None:
    (thing.path / "tests/test_hostile.py").write_text(HOSTILE)
    done = thing.presubmit("run", "--output", "github", *in_container)
    assert done.exit_code in {1, 3}, done.output
    hostname = Path("/etc/hostname").read_text().strip()
    for path in (thing.path / ".presubmit/last").rglob("*"):
        assert not path.is_symlink(), path
        if path.is_file() and path.suffix in {".xml", ".jsonl"}:
            assert path.read_text() != f"{hostname}\n", path
    lines = done.output.splitlines()
    commands = [line for line in lines if line.lstrip().startswith("::")]
    assert all(line.startswith(("::error", "::warning")) for line in commands)
    assert not any("I am an annotation" in line for line in commands)
    assert "\x1b]0;" not in done.output
    report = (thing.path / ".presubmit/last/report.md").read_text()
    assert "<script>" not in report
    assert "\x1b" not in report


BOMB = """\
import pathlib

import thing


def test_that_writes_an_xml_bomb():
    import atexit

    text = '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY x "xxxxxxxxxx">'
    text += "".join(f'<!ENTITY x{i} "{"&x;" if i == 0 else f"&x{i - 1};" * 10}">' for i in range(9))
    text += "]><testsuites><testsuite name='&x8;'><testcase name='a'/></testsuite></testsuites>"

    def write():
        for folder in pathlib.Path("/out").iterdir():
            (folder / "junit.xml").unlink(missing_ok=True)
            (folder / "junit.xml").write_text(text)

    atexit.register(write)
"""


@pytest.mark.engine
@pytest.mark.network
def test_an_xml_bomb_is_refused_and_said(thing: Project, in_container: tuple[str, ...]) -> None:
    (thing.path / "tests/test_bomb.py").write_text(BOMB)
    done = thing.presubmit("run", *in_container)
    assert "document type" in done.output.lower() or "doctype" in done.output.lower(), done.output


SETUP = """\
import os
import pathlib

from setuptools import setup

seen = dict(os.environ)
for name in ("~/.netrc", "~/.config/pip/pip.conf", "/etc/pip.conf", "~/.pypirc"):
    path = pathlib.Path(name).expanduser()
    if path.exists():
        seen[name] = path.read_text()
for process in pathlib.Path("/proc").iterdir():
    if process.name.isdigit():
        try:
            seen[process.name] = (process / "environ").read_bytes().decode("utf-8", "replace")
        except OSError:
            pass
pathlib.Path(__file__).with_name("thing_seen.py").write_text("SEEN = " + repr(repr(seen)))
setup(name="thing", version="1", py_modules=["thing", "thing_seen"])
"""


@pytest.mark.engine
@pytest.mark.network
def test_a_setup_py_finds_no_index_credentials(
    make_project: MakeProject, in_container: tuple[str, ...]
) -> None:
    files = {
        "setup.py": SETUP,
        "thing.py": "VALUE = 1\n",
        "tests/test_thing.py": (
            "import thing_seen\n\n\ndef test_nothing_secret_was_seen():\n"
            "    assert 'hunter2' not in thing_seen.SEEN\n"
        ),
    }
    project = make_project("credentials", files=files)
    (project.path / "thing.py").write_text("VALUE = 2\n")
    extra = "http://user:hunter2@127.0.0.1:9/simple"
    done = project.presubmit(
        "run", *in_container, env={"PIP_EXTRA_INDEX_URL": extra, "PIP_RETRIES": "0"}
    )
    everything = done.output + "".join(
        p.read_text(errors="replace")
        for p in (project.path / ".presubmit/last").rglob("*")
        if p.is_file()
    )
    assert "hunter2" not in everything
    assert done.step("tests.1")["outcome"] == "passed", done.output


@pytest.mark.engine
@pytest.mark.network
def test_the_box_has_no_socket_no_capabilities_and_no_network_in_tests(
    thing: Project, in_container: tuple[str, ...]
) -> None:
    (thing.path / "tests/test_box.py").write_text(
        "import os\nimport pathlib\nimport socket\n\nimport pytest\n\nimport thing\n\n\n"
        "def test_no_engine_socket():\n"
        "    assert not pathlib.Path('/var/run/docker.sock').exists()\n\n\n"
        "def test_no_capabilities():\n"
        "    status = pathlib.Path('/proc/self/status').read_text()\n"
        "    assert 'CapEff:\\t0000000000000000' in status\n\n\n"
        "def test_no_network_but_loopback():\n"
        "    with pytest.raises(OSError):\n"
        "        socket.create_connection(('192.0.2.1', 80), timeout=2)\n"
        "    server = socket.create_server(('127.0.0.1', 0))\n"
        "    socket.create_connection(server.getsockname()).close()\n"
        "    assert socket.gethostbyname(socket.gethostname()) == '127.0.0.1'\n\n\n"
        "def test_no_writing_to_the_users_objects():\n"
        "    text = pathlib.Path('/src/.git/objects/info/alternates').read_text()\n"
        "    for line in text.split():\n"
        "        with pytest.raises(OSError):\n"
        "            pathlib.Path(line, 'planted').write_text('x')\n"
    )
    done = thing.presubmit("run", *in_container)
    assert done.exit_code == 0, done.output
    assert done.step("tests.1")["counts"]["passed"] == 5


def state_of(top: Path) -> dict[str, tuple[object, ...]]:
    """Give owner, mode, time and content of every file of a checkout, but for presubmit's own folders."""
    found: dict[str, tuple[object, ...]] = {}
    for folder, folders, names in os.walk(top):
        inside = os.path.relpath(folder, top)
        own = {".": ".presubmit", ".git": "presubmit"}.get(inside)
        folders[:] = [name for name in folders if name != own]
        for name in [*names, *folders]:
            path = Path(folder, name)
            facts = path.lstat()
            content = path.read_bytes() if stat.S_ISREG(facts.st_mode) else b""
            times = facts.st_mtime_ns if not stat.S_ISDIR(facts.st_mode) else 0
            found[str(path)] = (facts.st_uid, facts.st_gid, facts.st_mode, times, content)
    return found


@pytest.mark.engine
@pytest.mark.network
def test_the_checkout_is_the_same_before_and_after(
    make_project: MakeProject, in_container: tuple[str, ...]
) -> None:
    project = make_project("untouched", files=FILES)
    (project.path / "thing.py").write_text("VALUE = 2\n")
    (project.path / "notes.txt").write_text("mine\n")
    status = project.git("status", "--porcelain=v2", "--ignored")
    before = state_of(project.path)
    done = project.presubmit("run", *in_container)
    assert done.exit_code == 0, done.output
    after = state_of(project.path)
    assert {k: v for k, v in after.items() if v != before.get(k)} == {}
    assert set(after) == set(before)
    now = project.git("status", "--porcelain=v2", "--ignored").splitlines()
    assert [line for line in now if ".presubmit" not in line] == status.splitlines()


def interpreter_for(folder: Path) -> tuple[str, str]:
    """Give a Python that the other user can start, and a PYTHONPATH with presubmit for it; else skip."""
    site = sysconfig.get_path("purelib")
    root = str(Path(__file__).resolve().parents[3])
    for python in (
        sys.executable,
        f"/usr/bin/python3.{sys.version_info.minor}",
        "/usr/bin/python3",
    ):
        for copied in (False, True):
            if copied and not (folder / "site").exists():
                shutil.copytree(site, folder / "site", symlinks=True)
                for name in ("presubmit", "sessions", "noxfile.py"):
                    source = Path(root, name)
                    copy = shutil.copytree if source.is_dir() else shutil.copy2
                    copy(source, folder / "site" / name)
                subprocess.run(
                    ["chown", "-R", f"{OTHER}:{OTHER}", str(folder / "site")], check=True
                )
            path = str(folder / "site") if copied else f"{root}:{site}"
            try:
                done = subprocess.run(
                    [python, "-P", "-c", "import presubmit.run, nox, docker, sessions"],
                    env={"PYTHONPATH": path, "HOME": str(folder / "home")},
                    cwd=folder,
                    user=OTHER,
                    group=OTHER,
                    extra_groups=[],
                    capture_output=True,
                    check=False,
                )
            except OSError:
                break
            if done.returncode == 0:
                return python, path
    pytest.skip(f"no Python 3.{sys.version_info.minor} that an ordinary user can start")


@pytest.mark.engine
@pytest.mark.network
def test_as_an_ordinary_user_every_file_is_the_users(
    make_project: MakeProject, in_container: tuple[str, ...], relay: Relay
) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    made = make_project("ordinary", files=FILES)
    with tempfile.TemporaryDirectory(prefix="presubmit-test-", dir="/var/tmp") as name:
        folder = Path(name)
        folder.chmod(0o755)
        top = folder / "ordinary"
        shutil.copytree(made.path, top, symlinks=True)
        (folder / "home").mkdir()
        subprocess.run(["git", "remote", "set-url", "upstream", str(top)], cwd=top, check=True)
        (top / "thing.py").write_text("VALUE = 2\n")
        subprocess.run(["chown", "-R", f"{OTHER}:{OTHER}", str(folder)], check=True)
        env = {
            **{k: v for k, v in made.env.items() if not k.startswith(("XDG_", "GIT_"))},
            "HOME": str(folder / "home"),
            "DOCKER_HOST": relay.host,
        }
        before = state_of(top)
        python, path = interpreter_for(folder)
        done = subprocess.run(
            [python, "-P", "-m", "presubmit", "run", *in_container],
            cwd=top,
            env={**env, "PYTHONPATH": path},
            user=OTHER,
            group=OTHER,
            extra_groups=[],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert state_of(top) == before
        everything = [Path(where, n) for where, d, f in os.walk(folder) for n in [*d, *f]]
        assert len(everything) > 50
        assert {path.lstat().st_uid for path in everything} == {OTHER}
