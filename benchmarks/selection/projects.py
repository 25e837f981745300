"""The projects of the trials: what they are, and a checkout with an environment for each tool."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

HERE: Final = Path(__file__).resolve().parent
IGNORED: Final = (
    *("*.so", "build/", "*.egg-info/", "__pycache__/", ".pytest_cache/", ".hypothesis/"),
    *(".testmondata*", ".tia/", ".ziplex/", ".presubmit/", ".ruff_cache/", ".venv"),
)


class SetupError(Exception):
    """A project or a tool could not be set up."""


@dataclass(frozen=True, kw_only=True)
class Project:
    """One project as projects.toml has it."""

    name: str
    version: str
    module: str
    sources: tuple[str, ...]
    tests: tuple[str, ...]
    requirements: tuple[str, ...]
    readme: str
    data: tuple[str, ...] = ()
    native: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    build: str = ""
    before: str = ""
    """What presubmit has to be told of the build, since a source distribution has no workflows."""
    build_requires: tuple[str, ...] = ()
    deselect: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Side:
    """One tool's own checkout of a project and the environment that it is installed in."""

    project: Project
    folder: Path
    tree: Path
    python: Path
    env: dict[str, str] = field(default_factory=dict)

    def tool(self, name: str) -> str:
        """Give the path of a command of this environment."""
        return str(self.python.parent / name)


def read_projects(path: Path = HERE / "projects.toml") -> dict[str, Project]:
    """Read every project, by name."""
    table: dict[str, dict[str, Any]] = tomllib.loads(path.read_text(encoding="utf-8"))
    found = {}
    for name, entry in table.items():
        values: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()
        }
        found[name] = Project(name=name, **values)
    return found


def run(
    command: list[str],
    cwd: Path,
    *,
    env: dict[str, str] | None = None,
    timeout: float = 1800,
    check: bool = True,
) -> subprocess.CompletedProcess[str]:
    """Run a command; one that fails although it must not raises SetupError with its last lines."""
    done = subprocess.run(
        command,
        cwd=cwd,
        env=environment(env or {}),
        capture_output=True,
        text=True,
        errors="replace",
        timeout=timeout,
        check=False,
    )
    if check and done.returncode != 0:
        last = "\n".join((done.stdout + done.stderr).splitlines()[-12:])
        raise SetupError(f"{' '.join(command)[:200]}: exit {done.returncode}\n{last}")
    return done


def environment(extra: dict[str, str]) -> dict[str, str]:
    """Give the environment of every process: the user's, without what would change the tools."""
    dropped = ("PYTEST_ADDOPTS", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "VIRTUAL_ENV", "CI")
    kept = {k: v for k, v in os.environ.items() if k not in dropped}
    # An optimised build of C takes several times as long and shows the same faults.
    return {**kept, "CFLAGS": "-O0", "GIT_CONFIG_GLOBAL": os.devnull, **extra}


def git(tree: Path, *words: str) -> str:
    """Run git in a checkout of ours."""
    name = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "core.autocrlf=false")
    return run(["git", *name, *words], tree).stdout


def source_tree(project: Project, work: Path) -> Path:
    """Give the project's repository: its source distribution in one commit; made if absent."""
    tree = work / project.name / "origin"
    if (tree / ".git/refs/heads/main").exists():
        return tree
    shutil.rmtree(tree, ignore_errors=True)
    tree.parent.mkdir(parents=True, exist_ok=True)
    sdists = work / "sdists"
    sdists.mkdir(exist_ok=True)
    name = f"{project.name}-{project.version}"
    archive = sdists / f"{name}.tar.gz"
    if not archive.exists():
        download = [sys.executable, "-m", "pip", "download", "-q", "--no-deps"]
        download += ["--no-binary", project.name, f"{project.name}=={project.version}"]
        run([*download, "-d", str(sdists)], sdists)
    with tarfile.open(archive) as packed:
        # Python 3.11.2 has no filters.
        packed.extraction_filter = getattr(tarfile, "data_filter", None)
        packed.extractall(tree.parent)  # noqa: S202 - pinned sdists of the registry
    (tree.parent / name).rename(tree)
    for left in (*tree.glob("*.egg-info"), *(p for g in project.ignored for p in tree.glob(g))):
        shutil.rmtree(left) if left.is_dir() else left.unlink()
    with (tree / ".gitignore").open("a") as stream:
        stream.write("\n".join(("", *IGNORED, *project.ignored, "")))
    git(tree, "init", "-q", "-b", "main")
    git(tree, "add", "-A")
    git(tree, "commit", "-q", "-m", f"{name} as released")
    return tree


def make_side(
    project: Project, name: str, work: Path, *, beside: tuple[str, ...] = (), bare: bool = False
) -> Side:
    """Give a checkout of its own for `name`, with the project and `beside` installed in an environment.

    `bare`: no environment, for a tool that only reads sources.
    """
    origin = source_tree(project, work)
    folder = work / project.name / name
    tree, done = folder / "tree", folder / "ready"
    python = folder / "venv/bin/python"
    side = Side(project=project, folder=folder, tree=tree, python=python)
    if done.exists():
        return side
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    git(folder, "clone", "-q", str(origin), str(tree))
    # Sides are compared with their own start, as a contributor's clone is with upstream's branch.
    git(tree, "remote", "rename", "origin", "upstream")
    if not bare:
        install(side, beside)
    done.touch()
    return side


def install(side: Side, beside: tuple[str, ...], python: str = sys.executable) -> None:
    """Make the environment: the project editable, what its tests need, and the tool."""
    project = side.project
    run([python, "-m", "venv", str(side.folder / "venv")], side.folder)
    pip = [str(side.python), "-m", "pip", "install", "-q"]
    # Together, so that a tool's limits on pytest are met from the start.
    run([*pip, *project.requirements, *project.build_requires, *beside], side.folder)
    isolation = ["--no-build-isolation"] if project.build_requires else []
    if project.build and not build(side):
        raise SetupError(f"{project.name}: {project.build} made no extension module")
    run([*pip, *isolation, "-e", "."], side.tree)


def build(side: Side) -> bool:
    """Build the extension modules in place; say whether they are there."""
    for old in built(side):
        old.unlink()
    path = f"{side.python.parent}{os.pathsep}{os.environ['PATH']}"
    command = ["bash", "-e", "-c", side.project.build]
    done = run(command, side.tree, env={"PATH": path}, check=False)
    return done.returncode == 0 and bool(built(side))


def built(side: Side) -> list[Path]:
    """Give the extension modules in the checkout, those of the build folder apart."""
    return [p for p in side.tree.rglob("*.so") if "build" not in p.relative_to(side.tree).parts]
