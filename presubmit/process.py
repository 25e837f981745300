"""Starts processes on the host, with an environment that carries nothing from a calling git hook."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

# Git exports GIT_DIR and friends to hooks; a child git would then work on the wrong repository (facts: pre-push).
# What is kept are the settings by which a user reaches a remote or overrides configuration on purpose.
_KEPT_GIT_VARIABLES: Final = frozenset(
    {
        "GIT_EXEC_PATH",
        "GIT_SSH",
        "GIT_SSH_COMMAND",
        "GIT_SSL_CAINFO",
        "GIT_SSL_NO_VERIFY",
        "GIT_ASKPASS",
        "GIT_HTTP_PROXY_AUTHMETHOD",
        "GIT_ALLOW_PROTOCOL",
    }
)


class Completed(msgspec.Struct, frozen=True, kw_only=True):
    """A finished host process: its exit code (negative: the signal) and its output as bytes."""

    command: tuple[str, ...]
    exit_code: int
    stdout: bytes
    stderr: bytes

    @property
    def text(self) -> str:
        """The standard output, undecodable bytes kept as surrogates."""
        return os.fsdecode(self.stdout)

    @property
    def complaint(self) -> str:
        """The last lines of standard error (else of standard output), fit for a message."""
        text = (self.stderr.strip() or self.stdout.strip()).decode("utf-8", "backslashreplace")
        return "\n".join(text.splitlines()[-5:])


def scrubbed_environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Give this process's environment without git's own variables, with `extra` on top."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GIT_")
        or name in _KEPT_GIT_VARIABLES
        or name.startswith(("GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_"))
        or name == "GIT_CONFIG_COUNT"
    }
    return {**kept, **(extra or {})}


def run(
    command: tuple[str, ...],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdin: bytes | None = None,
    timeout: float | None = None,
) -> Completed:
    """Run `command` (no shell) to its end and give what it printed; `timeout` is in seconds.

    `env` is laid over the scrubbed environment of this process.
    Raises FileNotFoundError where the program is missing, subprocess.TimeoutExpired where it takes too long.
    """
    finished = subprocess.run(  # noqa: S603 - the one place where presubmit starts a host process
        command,
        cwd=cwd,
        env=scrubbed_environment(env),
        input=stdin,
        stdin=subprocess.DEVNULL if stdin is None else None,
        capture_output=True,
        timeout=timeout,
        check=False,
    )
    return Completed(
        command=command,
        exit_code=finished.returncode,
        stdout=finished.stdout,
        stderr=finished.stderr,
    )


def call(command: tuple[str, ...], *, cwd: Path | None = None) -> int:
    """Run `command` in the caller's own terminal; gives its exit code as a shell would (128 + signal).

    Raises FileNotFoundError where the program is missing.
    """
    finished = subprocess.run(command, cwd=cwd, env=scrubbed_environment(), check=False)  # noqa: S603 - as above
    code = finished.returncode
    return code if code >= 0 else 128 - code
