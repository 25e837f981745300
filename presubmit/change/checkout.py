"""Runs git on a mirror checkout, whose files belong to whatever was built and tested there.

Code under test can write to the tree, so git on the host trusts nothing in it: the git directory it uses stands
outside the tree and is always named. The `.git` in the tree is a copy for the tools that run there (`git describe`,
setuptools-scm), written anew at every checkout and never read back.
"""

from __future__ import annotations

import os
import shutil
import stat
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from presubmit.change.git import git
from presubmit.errors import GitError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from presubmit.process import Completed


class Checkout(msgspec.Struct, frozen=True, kw_only=True):
    """A tree and the git directory that the host keeps for it: the mirror's own, or a submodule's."""

    git_dir: Path
    tree: Path

    def git(self, *args: str, stdin: bytes | None = None, check: bool = True) -> Completed:
        """Run git on this tree; the user's configuration has no part in it."""
        env = {
            "GIT_DIR": str(self.git_dir),
            "GIT_WORK_TREE": str(self.tree),
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_COUNT": "0",
            "GIT_ATTR_NOSYSTEM": "1",
        }
        return git(*args, cwd=self.tree, env=env, stdin=stdin, check=check)

    def has(self, commit: str) -> bool:
        """Whether the commit can be read from here."""
        return self.git("cat-file", "-e", f"{commit}^{{commit}}", check=False).exit_code == 0

    def update(self, commit: str) -> None:
        """Bring the tracked files to `commit`; a file that is the same keeps its times."""
        for lock in self.git_dir.glob("*.lock"):
            lock.unlink()  # left by a git that was killed: whoever is here holds the lane
        # Without the refresh, -f would rewrite every file whose times alone differ (after a chown, say).
        self.git("update-index", "-q", "--refresh", check=False)
        self.git("checkout", "-q", "-f", "--detach", commit)

    def clean(self, keep: Iterable[str]) -> None:
        """Remove every untracked file that no pattern of `keep` (as in .gitignore) covers."""
        kept = tuple(word for pattern in keep for word in ("-e", pattern))
        done = self.git("clean", "-q", "-ffdx", *kept, check=False)
        if done.exit_code != 0:
            raise GitError(
                f"cannot clean the mirror checkout {self.tree}: {done.complaint}",
                hint="presubmit clean (files of another user need that user, or root)",
            )


def make_git_dir(
    git_dir: Path, *, object_format: str, objects: Iterable[Path], settings: Mapping[str, str]
) -> None:
    """Make a git directory that borrows all its objects, or bring what it borrows and its settings up to date."""
    for folder in ("objects/info", "objects/pack", "refs/heads", "info"):
        (git_dir / folder).mkdir(parents=True, exist_ok=True)
    _write(git_dir / "objects" / "info" / "alternates", alternates_file(objects))
    _write(git_dir / "config", config_file(object_format, settings))
    if not (git_dir / "HEAD").exists():
        _write(git_dir / "HEAD", "ref: refs/heads/none\n")


def alternates_file(objects: Iterable[Path]) -> str:
    """Write the list of object folders to borrow from; a path that would be misread is quoted."""
    return "".join(f"{_quoted(str(path))}\n" for path in objects)


def config_file(object_format: str, settings: Mapping[str, str]) -> str:
    """Write a configuration: what git needs, and `settings` as `section.sub.key` -> value."""
    version = 1 if object_format == "sha256" else 0
    lines = ["[core]", f"\trepositoryformatversion = {version}", "\tbare = false"]
    if version:
        lines += ["[extensions]", f"\tobjectformat = {object_format}"]
    for name, value in settings.items():
        section, _, rest = name.partition(".")
        middle, _, key = rest.rpartition(".")
        lines += [f'[{section} "{_escaped(middle)}"]' if middle else f"[{section}]"]
        lines += [f'\t{key} = "{_escaped(value)}"']
    return "".join(f"{text}\n" for text in lines)


def write_copy(
    at: Path,
    *,
    git_dir: Path,
    commit: str,
    object_format: str,
    objects: Iterable[Path],
    refs: str,
    settings: Mapping[str, str],
) -> None:
    """Write at `at` the git directory that tools in the tree see: detached at `commit`, with the user's references."""
    remove(at)
    make_git_dir(at, object_format=object_format, objects=objects, settings=settings)
    _write(at / "HEAD", f"{commit}\n")
    _write(at / "packed-refs", refs)
    shutil.copy2(git_dir / "index", at / "index")  # its time tells which files git must read again
    if (git_dir / "shallow").exists():
        shutil.copyfile(git_dir / "shallow", at / "shallow")


def remove(path: Path) -> None:
    """Remove a file, link or folder, whatever its permissions; links are not followed."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISDIR(mode):
        path.unlink()
        return
    try:
        shutil.rmtree(path)
    except PermissionError:
        open_folders(path)
        shutil.rmtree(path)


def open_folders(top: Path) -> None:
    """Give back to the owner the folders below `top` that a test or build has closed."""
    _open(top)
    for folder, names, _ in os.walk(top):
        for name in names:  # before os.walk goes into them
            _open(Path(folder, name))


def _open(path: Path) -> None:
    mode = path.lstat().st_mode
    if stat.S_ISDIR(mode):
        with suppress(PermissionError):
            path.chmod(stat.S_IMODE(mode) | 0o700)


def is_inside(tree: Path, path: str) -> bool:
    """Whether `path` lies in the tree without a symbolic link on the way there."""
    here = tree
    for part in path.split("/"):
        if part in {"", ".", ".."}:
            return False
        here = here / part
        if here.is_symlink():
            return False
    return True


def _write(path: Path, text: str) -> None:
    data = os.fsencode(text)
    with suppress(OSError):
        if path.read_bytes() == data:
            return
    path.write_bytes(data)


def _quoted(text: str) -> str:
    return f'"{_escaped(text)}"' if text[:1] in {'"', "#"} or "\n" in text else text


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
