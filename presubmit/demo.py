"""Lays out the demo: a small upstream repository, and a clone of it that holds a contributor's faulty change."""

from __future__ import annotations

import contextlib
import itertools
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from presubmit import process
from presubmit.errors import GitError, PresubmitError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PROJECT: Final = "tensorlet"
BRANCH: Final = "faster-scale"

_DOT: Final = "dot-"
# Who runs the example's own tools in place leaves these behind.
_LEFTOVER_FOLDERS: Final = frozenset({"__pycache__", "build", "dist"})
_LEFTOVER_SUFFIXES: Final = (".egg-info", ".pyc", ".so")

# Upstream's first commits: the message, and the paths that it adds. The last one takes what is left.
_HISTORY: Final = (
    (
        "Add, scale, clip and multiply rows",
        (".gitignore", "LICENSE", "MANIFEST.in", "README.md", "pyproject.toml", "setup.py", "src"),
    ),
    ("Test the ops and the formatting", ("tests",)),
    ("Check every pull request", (".github", ".pre-commit-config.yaml")),
    ("Time the ops; name a devel container", (".",)),
)
_FIRST_DATE: Final = 1772442000  # 2026-03-02 09:00 UTC
_DAY: Final = 86400

_UPSTREAM: Final = ("U. Maintainer", "upstream@example.org")
_CONTRIBUTOR: Final = ("A. Contributor", "contributor@example.org")

# Nothing of the user's git must show here: no signing, hooks, templates, filters, line ends or ignored names.
_SETTINGS: Final = (
    ("commit.gpgSign", "false"),
    ("core.hooksPath", os.devnull),
    ("core.excludesFile", os.devnull),
    ("core.attributesFile", os.devnull),
    ("core.fsmonitor", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
)
_ENVIRONMENT: Final = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_COUNT": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}


class DemoRepository(msgspec.Struct, frozen=True, kw_only=True):
    """What was laid out: the bare upstream, and the checkout with the change."""

    folder: Path
    upstream: Path
    checkout: Path
    branch: str


def lay_out(folder: Path) -> DemoRepository:
    """Make the demo in `folder`, which is new or empty; UsageError where it is neither."""
    folder = _make_empty(folder)
    demo = DemoRepository(
        folder=folder,
        upstream=folder / "upstream.git",
        checkout=folder / PROJECT,
        branch=BRANCH,
    )
    stored = examples_folder()
    try:
        _make_upstream(demo, stored)
        _make_change(demo, stored / BRANCH)
    except OSError as error:
        raise PresubmitError(f"the demo cannot be written: {error}") from error
    return demo


def new_folder(parent: Path) -> Path:
    """Make the next numbered folder of `parent`."""
    try:
        parent.mkdir(parents=True, exist_ok=True)
        for number in itertools.count(1):
            with contextlib.suppress(FileExistsError):
                (parent / str(number)).mkdir()
                return parent / str(number)
    except OSError as error:
        raise PresubmitError(
            f"no folder can be made in {parent}: {error.strerror}",
            hint="name a folder: presubmit demo FOLDER",
        ) from error
    raise AssertionError  # the numbers do not end


def examples_folder() -> Path:
    """Find the examples: inside the package when installed, at the root in a checkout."""
    here = Path(__file__).resolve().parent
    packaged = here / "_examples"
    return packaged if packaged.is_dir() else here.parent / "examples"


def project_files() -> Iterator[tuple[str, bytes]]:
    """Give each file of the example project: its path, as it is laid out, and its content."""
    yield from _stored_files(examples_folder() / PROJECT)


def _make_empty(folder: Path) -> Path:
    hint = "name a new folder, or none"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise UsageError(f"{folder} is not empty", hint=hint)
    except OSError as error:
        raise UsageError(f"{folder} cannot be used: {error.strerror}", hint=hint) from error
    return folder.resolve()


# --- the two repositories -----------------------------------------------------------------------------------------


def _make_upstream(demo: DemoRepository, stored: Path) -> None:
    """Write upstream's history, and leave the checkout on its `main`."""
    for arguments in (("--bare", str(demo.upstream)), (str(demo.checkout),)):
        command = ("init", "-q", "--template=", "--object-format=sha1", "-b", "main")
        _git(demo.folder, *command, *arguments)
    # The checkout keeps this one: what presubmit reads here must not depend on the user's line ends.
    _git(demo.checkout, "config", "core.autocrlf", "false")
    for path, data in _stored_files(stored / PROJECT):
        target = demo.checkout / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    for day, (message, paths) in enumerate(_HISTORY):
        person = _person(_UPSTREAM, _FIRST_DATE + day * _DAY)
        _git(demo.checkout, "add", "--", *paths)
        _git(demo.checkout, "commit", "-q", "-m", message, env=person)
    _apply_commits(demo, stored / "upstream", _UPSTREAM)
    _git(demo.checkout, "remote", "add", "upstream", str(demo.upstream))
    _git(demo.checkout, "push", "-q", "-u", "upstream", "main")
    _git(demo.checkout, "remote", "set-head", "upstream", "main")


def _make_change(demo: DemoRepository, stored: Path) -> None:
    """Make the contributor's branch: commits, then edits that are not committed, then an untracked file."""
    _git(demo.checkout, "switch", "-q", "-c", demo.branch, "--no-track")
    _apply_commits(demo, stored, _CONTRIBUTOR)
    _git(demo.checkout, "apply", str(stored / "worktree.patch"))
    (demo.checkout / "notes.md").write_bytes((stored / "notes.md").read_bytes())


def _apply_commits(demo: DemoRepository, stored: Path, committer: tuple[str, str]) -> None:
    patches = sorted(str(path) for path in stored.glob("0*.patch"))
    dated = ("am", "-q", "--no-gpg-sign", "--committer-date-is-author-date")
    _git(demo.checkout, *dated, *patches, env=_person(committer, _FIRST_DATE))


def _person(who: tuple[str, str], date: int) -> dict[str, str]:
    """Give what names one person as both author and committer of a commit."""
    name, mail = who
    return {
        f"GIT_{role}_{key}": value
        for role in ("AUTHOR", "COMMITTER")
        for key, value in (("NAME", name), ("EMAIL", mail), ("DATE", f"{date} +0000"))
    }


def _git(cwd: Path, *args: str, env: Mapping[str, str] | None = None) -> None:
    settings = tuple(word for name, value in _SETTINGS for word in ("-c", f"{name}={value}"))
    own = {**_ENVIRONMENT, **(env or {})}
    try:
        done = process.run(("git", *settings, *args), cwd=cwd, env=own)
    except FileNotFoundError as error:
        raise GitError("git is not installed", hint="install git 2.38 or newer") from error
    if done.exit_code != 0:
        raise GitError(f"git {args[0]} failed ({done.exit_code}): {done.complaint}")


# --- the stored files ---------------------------------------------------------------------------------------------


def _stored_files(root: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted(root.rglob("*")):
        parts = path.relative_to(root).parts
        if path.is_file() and not any(_is_leftover(part) for part in parts):
            yield "/".join(_laid_out(part) for part in parts), path.read_bytes()


def _is_leftover(part: str) -> bool:
    return part.startswith(".") or part in _LEFTOVER_FOLDERS or part.endswith(_LEFTOVER_SUFFIXES)


def _laid_out(part: str) -> str:
    """Names with a leading dot are stored without it: packers, copies and uploads lose such files."""
    return f".{part.removeprefix(_DOT)}" if part.startswith(_DOT) else part
