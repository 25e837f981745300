"""Runs git: the one place where the change package starts it, without hooks, prompts or locks.

GitPython is not used here: its diff gives an empty list, without an exception, as soon as one changed path is not
UTF-8, and `untracked_files` and `index.entries` raise on such names. What is left (configuration, remotes, refs) is
one line of git each, so a second way to reach a repository would only add its own rules for finding one.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from presubmit import process
from presubmit.errors import GitError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from presubmit.process import Completed

_SETTINGS: Final = (
    ("core.hooksPath", os.devnull),
    ("core.fsmonitor", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("submodule.recurse", "false"),
    ("i18n.commitEncoding", "UTF-8"),
)

_ENVIRONMENT: Final = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_LITERAL_PATHSPECS": "1",
    "LC_ALL": "C",
}

# `process.run` drops every GIT_ variable that a hook may have been given. These name the user's own configuration
# files, git never exports them by itself, and clean filters stand in those files.
_CONFIGURATION_FILES: Final = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM")


def git(
    *args: str,
    cwd: Path,
    env: Mapping[str, str] | None = None,
    stdin: bytes | None = None,
    check: bool = True,
) -> Completed:
    """Run git in `cwd` and give what it printed; with `check`, a failure is a GitError with git's own words."""
    settings = tuple(word for name, value in _SETTINGS for word in ("-c", f"{name}={value}"))
    own = {name: os.environ[name] for name in _CONFIGURATION_FILES if name in os.environ}
    environment = {**own, **_ENVIRONMENT, **(env or {})}
    try:
        done = process.run(("git", *settings, *args), cwd=cwd, env=environment, stdin=stdin)
    except FileNotFoundError as error:
        if not cwd.is_dir():
            raise GitError(f"{cwd} is not a folder") from error
        raise GitError("git is not installed", hint="install git 2.38 or newer") from error
    if check and done.exit_code != 0:
        verb = next((word for word in args if not word.startswith("-")), "")
        raise GitError(f"git {verb} failed ({done.exit_code}): {done.complaint}")
    return done


def git_as_user(*args: str, cwd: Path) -> Completed:
    """Run git with nothing but the user's own settings, where they are what is asked for (`core.hooksPath`)."""
    own = {name: os.environ[name] for name in _CONFIGURATION_FILES if name in os.environ}
    return process.run(("git", *args), cwd=cwd, env={**own, **_ENVIRONMENT})


def line(done: Completed) -> str:
    """Give the one line that git printed."""
    return done.text.removesuffix("\n")


def fields(data: bytes) -> list[str]:
    """Split what git printed with `-z`; undecodable bytes are kept as surrogates."""
    return [os.fsdecode(field) for field in data.split(b"\0") if field]


def join(names: Iterable[str]) -> bytes:
    """Write names as git reads them with `-z`."""
    return b"".join(os.fsencode(name) + b"\0" for name in names)


def shown(names: Iterable[str], *, limit: int = 5) -> str:
    """Write names for a message: the first few, and how many more there are."""
    every = [name.encode("utf-8", "backslashreplace").decode() for name in names]
    more = len(every) - limit
    return ", ".join(every[:limit]) + (f" and {more} more" if more > 0 else "")
