"""Installs the pre-push hook, takes it away again, and says what is there."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from presubmit import hook_entry
from presubmit.change.git import git, git_as_user, line
from presubmit.errors import PresubmitError, UsageError
from presubmit.hook_entry import PREVIOUS
from presubmit.values import Value

if TYPE_CHECKING:
    from presubmit.change.repository import Repository

NAME: Final = "pre-push"
_MARK: Final = "# presubmit's pre-push hook"
_BY_HAND: Final = 'presubmit hook run "$@"'


class Installed(Value, frozen=True, kw_only=True):
    """What is at the place of the hook."""

    path: str
    ours: bool
    """It is presubmit's."""
    other: bool = False
    """Another hook is there."""
    previous: str = ""
    """The hook that was there before, which runs first."""
    problems: tuple[str, ...] = ()


def hook_path(repository: Repository) -> Path:
    """Give where git looks for the hook: `core.hooksPath`, else `hooks` in the common git directory."""
    asked = ("rev-parse", "--path-format=absolute", "--git-path", f"hooks/{NAME}")
    return Path(line(git_as_user(*asked, cwd=repository.top)))


def script(python: str) -> str:
    """Give the hook's text; it starts an interpreter by its absolute path, since editors have a short PATH."""
    entry = Path(hook_entry.__file__).resolve()
    return f"""\
#!/bin/sh
{_MARK}; `presubmit hook uninstall` removes it
python={shlex.quote(python)}
entry={shlex.quote(str(entry))}
if ! [ -x "$python" ] || ! [ -r "$entry" ]; then
  echo "presubmit: $python or $entry is gone, so nothing was tested" >&2
  echo "presubmit: run \\`presubmit hook install\\` again, or push with --no-verify" >&2
  exit 1
fi
exec "$python" -I -S "$entry" "$0" "$@"
"""


def read_installed(repository: Repository) -> Installed:
    """Say what is at the hook's place. Raises PresubmitError where it cannot be read."""
    path = hook_path(repository)
    try:
        text = path.read_bytes().decode("utf-8", "replace")
    except FileNotFoundError:
        return Installed(path=str(path), ours=False)
    except OSError as error:
        raise PresubmitError(
            f"{path} cannot be read: {error.strerror}", hint="look at what is there"
        ) from error
    if _MARK not in text:
        called = "presubmit hook run" in text
        return Installed(path=str(path), ours=False, other=not called)
    problems = []
    if not os.access(path, os.X_OK):
        problems.append("it is not executable, so git ignores it: presubmit hook install")
    for word in (part for part in text.splitlines() if part.startswith(("python=", "entry="))):
        name = (shlex.split(word.partition("=")[2]) or [""])[0]
        if not Path(name).exists():
            problems.append(f"{name} is gone: presubmit hook install")
    if text != script(sys.executable) and not problems:
        problems.append("it starts another presubmit than this one (presubmit hook install)")
    previous = path.with_name(PREVIOUS)
    if previous.exists() and not os.access(previous, os.X_OK):
        problems.append(f"{previous.name} is not executable, so it is not run")
    return Installed(
        path=str(path),
        ours=True,
        previous=str(previous) if previous.exists() else "",
        problems=tuple(problems),
    )


def install(repository: Repository) -> Installed:
    """Put the hook in its place; one that is there stays beside it, and runs first.

    Raises UsageError where the place belongs to others: a folder that the project tracks, that husky writes, or that
    all the user's repositories share.
    """
    path = hook_path(repository)
    _refuse_foreign(repository, path)
    found = read_installed(repository)
    previous = path.with_name(PREVIOUS)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if not found.ours and path.exists():
            if previous.exists():
                raise UsageError(
                    f"{previous} is there, and {path} is not presubmit's",
                    hint="keep one of them, and install again",
                )
            path.rename(previous)
        _write(path, script(sys.executable))
    except OSError as error:
        raise PresubmitError(
            f"cannot write {path}: {error.strerror}", hint="give yourself write access there"
        ) from error
    return read_installed(repository)


def _write(path: Path, text: str) -> None:
    new = path.with_name(f"{path.name}.presubmit-new")
    new.write_text(text, encoding="utf-8", errors="surrogateescape")
    new.chmod(0o755)
    new.replace(path)


def _refuse_foreign(repository: Repository, path: Path) -> None:
    top = repository.top.resolve()
    folder = path.parent.resolve()
    inside = folder.is_relative_to(top) and not folder.is_relative_to(repository.common_dir)
    if not inside and not folder.is_relative_to(repository.common_dir.resolve()):
        raise UsageError(
            f"core.hooksPath is {folder}, outside of this repository: a hook there runs in others, too",
            hint=f"add `{_BY_HAND}` to the {NAME} there, or `git config --local core.hooksPath …`",
        )
    if not inside:
        return
    shown = path.resolve().relative_to(top)
    if folder.name == "_":
        raise UsageError(
            f"{shown.parent} is written by husky",
            hint=f"add `{_BY_HAND}` to {shown.parent.parent}/{NAME}",
        )
    tracked = git("ls-files", "--", str(shown.parent), cwd=top, check=False).stdout.strip()
    if tracked:
        raise UsageError(
            f"{shown.parent} (core.hooksPath) is tracked by the project",
            hint=f"add `{_BY_HAND}` to {shown}: every contributor gets it then",
        )


def uninstall(repository: Repository) -> Path | None:
    """Remove the hook and put the earlier one back; give the earlier one. Raises UsageError where ours is not there."""
    found = read_installed(repository)
    if not found.ours:
        raise UsageError(f"{found.path} is not presubmit's", hint="presubmit hook status")
    path = Path(found.path)
    previous = path.with_name(PREVIOUS)
    try:
        if previous.exists():
            previous.replace(path)
            return path
        path.unlink()
    except OSError as error:
        raise PresubmitError(
            f"cannot remove {path}: {error.strerror}", hint="give yourself write access there"
        ) from error
    return None
