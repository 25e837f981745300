"""Finds the repository that a folder belongs to, and says what kind it is."""

from __future__ import annotations

import hashlib
import os
import shlex
from pathlib import Path

import msgspec

from presubmit.change.git import git, line
from presubmit.errors import GitError


class Repository(msgspec.Struct, frozen=True, kw_only=True):
    """A checkout and its git directories, all absolute."""

    top: Path
    git_dir: Path
    """This checkout's own git directory; a linked worktree's is not the common one."""
    common_dir: Path
    branch: str | None
    """None where HEAD is detached."""
    head: str | None
    """None where the branch has no commit yet."""
    shallow: bool
    object_format: str
    """`sha1` or `sha256`."""
    superproject: Path | None = None
    """The checkout that this one is a submodule of."""

    @property
    def linked(self) -> bool:
        """Whether this is a linked worktree (`git worktree add`)."""
        return self.git_dir != self.common_dir

    @property
    def own_dir(self) -> Path:
        """The folder in the common git directory that belongs to presubmit."""
        return self.common_dir / "presubmit"

    @property
    def own_objects(self) -> Path:
        """Where presubmit's own objects are (snapshots)."""
        return self.own_dir / "objects"

    @property
    def objects(self) -> Path:
        """Where the user's objects are."""
        return self.common_dir / "objects"

    @property
    def object_env(self) -> dict[str, str]:
        """Variables with which git reads the user's objects and presubmit's, and writes presubmit's only."""
        return {
            "GIT_OBJECT_DIRECTORY": str(self.own_objects),
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": _quoted(self.objects),
        }

    @property
    def private_object_env(self) -> dict[str, str]:
        """Variables with which git neither reads nor touches the user's objects."""
        return {"GIT_OBJECT_DIRECTORY": str(self.own_objects)}


def read_repository(start: Path) -> Repository:
    """Find the repository that `start` lies in; GIT_DIR and the like in the environment do not matter."""
    start = start if start.is_dir() else start.parent
    # Asked at once: these words cannot hold a line end, as the paths below can.
    bare, inside, shallow, object_format = _rev_parse(
        start,
        "--is-bare-repository",
        "--is-inside-work-tree",
        "--is-shallow-repository",
        "--show-object-format",
    ).split("\n")
    if bare == "true":
        raise GitError(
            f"{start} is a bare repository, without files to test",
            hint="run presubmit in a checkout of it (git clone, or git worktree add)",
        )
    if inside != "true":
        raise GitError(
            f"{start} is inside a git directory, not in a checkout",
            hint="change to the checkout's folder",
        )
    top, git_dir, common_dir, superproject = _folders(start)
    repository = Repository(
        top=Path(top),
        git_dir=Path(git_dir),
        common_dir=Path(common_dir),
        branch=_branch(start),
        head=resolve(start, "HEAD"),
        shallow=shallow == "true",
        object_format=object_format,
        superproject=Path(superproject) if superproject else None,
    )
    _make_own_folder(repository)
    return repository


def resolve(folder: Path, revision: str, *, env: dict[str, str] | None = None) -> str | None:
    """Give the full id of the commit that `revision` names, or None."""
    if revision.startswith("-"):
        return None
    done = git(
        "rev-parse", "-q", "--verify", f"{revision}^{{commit}}", cwd=folder, env=env, check=False
    )
    return line(done) if done.exit_code == 0 else None


def alternates(objects: Path) -> tuple[Path, ...]:
    """Give every object folder that `objects` borrows from, however deep, without `objects` itself."""
    found: list[Path] = []
    waiting = [objects]
    while waiting:
        folder = waiting.pop(0)
        for name in _borrowed(folder):
            path = Path(os.path.normpath(folder / name))
            if path != objects and path not in found:
                found.append(path)
                waiting.append(path)
    return tuple(found)


def _borrowed(objects: Path) -> list[str]:
    try:
        text = os.fsdecode((objects / "info" / "alternates").read_bytes())
    except OSError:
        return []
    return [entry for entry in text.split("\n") if entry and not entry.startswith("#")]


def _rev_parse(start: Path, *args: str) -> str:
    done = git("rev-parse", *args, cwd=start, check=False)
    if done.exit_code == 0:
        return line(done)
    if "dubious ownership" in done.complaint:
        folder = _between_quotes(done.complaint) or str(start)
        raise GitError(
            f"git does not trust {folder}: it belongs to another user",
            hint=f"git config --global --add safe.directory {shlex.quote(folder)}",
        )
    if "not a git repository" in done.complaint:
        raise GitError(
            f"{start} is not in a git repository",
            hint="change to a checkout of the project, or make one with git clone",
        )
    raise GitError(f"git cannot read the repository at {start}: {done.complaint}")


def _folders(start: Path) -> tuple[str, str, str, str]:
    """Give the top, the git directory, the common one and the superproject's top (empty where there is none)."""
    inner = ("--show-toplevel", "--git-dir", "--git-common-dir")
    outer = "--show-superproject-working-tree"
    lines = _rev_parse(start, "--path-format=absolute", *inner, outer).split("\n")
    if len(lines) == len(inner):
        return lines[0], lines[1], lines[2], ""
    # More lines: there is a superproject, or a path holds a line end.
    one, two, three = (_rev_parse(start, "--path-format=absolute", it) for it in inner)
    return one, two, three, _rev_parse(start, outer)


def _between_quotes(text: str) -> str:
    return text.split("'")[1] if text.count("'") > 1 else ""


def _branch(start: Path) -> str | None:
    done = git("symbolic-ref", "-q", "HEAD", cwd=start, check=False)
    return line(done).removeprefix("refs/heads/") if done.exit_code == 0 else None


def _make_own_folder(repository: Repository) -> None:
    try:
        for folder in ("info", "pack"):
            (repository.own_objects / folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        blocked = isinstance(error, FileExistsError | NotADirectoryError)
        wanted = (
            "move the file away that is in its place" if blocked else "give yourself write access"
        )
        raise GitError(
            f"cannot write to {repository.own_dir}: {error.strerror}",
            hint=f"presubmit keeps the tree under test there; {wanted}",
        ) from error


def _quoted(path: Path) -> str:
    # The variable is a list with `:` between; a path in double quotes is read as C would, so `:` may stand in it.
    escaped = str(path).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def repository_id(common_dir: str) -> str:
    """Name a repository's folder in the cache: readable, and apart from others of the same name."""
    path = Path(common_dir)
    name = path.parent.name if path.name == ".git" else path.name.removesuffix(".git")
    digest = hashlib.sha256(os.fsencode(common_dir)).hexdigest()[:10]
    readable = "".join(c if c.isalnum() or c in "-_." else "-" for c in name)[:40]
    return f"{readable or 'repository'}-{digest}"
