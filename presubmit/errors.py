"""What stops a run, and the exit code each reason gives."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """The exit codes of `presubmit` (docs/reference/exit-codes.md)."""

    OK = 0
    """Nothing new failed, or there was nothing to check."""
    FAILED = 1
    """A new failure or a regression."""
    USAGE = 2
    """The command line or the configuration is wrong."""
    ENVIRONMENT = 3
    """Could not test: git, engine or image."""
    INCOMPLETE = 4
    """A required step did not run, or affected tests were cut by the budget or left to other shards."""
    STALE = 5
    """A draft belongs to another tree."""
    INTERRUPTED = 130
    TERMINATED = 143


class PresubmitError(Exception):
    """Stops the run; `hint` says what to do next."""

    exit_code = ExitCode.ENVIRONMENT

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class ConfigError(PresubmitError):
    """The configuration cannot be used as it is written, or asks for more than it may."""

    exit_code = ExitCode.USAGE


class UsageError(PresubmitError):
    """The command line names something that is not there."""

    exit_code = ExitCode.USAGE


class GitError(PresubmitError):
    """git refused, or the repository lacks what the run needs (no base, a shallow clone)."""


class EngineError(PresubmitError):
    """No container engine answers, or it went away."""


class ImageError(PresubmitError):
    """The image is not there, or cannot be used as a devel image."""
