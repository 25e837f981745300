"""What is wrong with an expression, and where."""

from __future__ import annotations

from presubmit.errors import ExitCode, PresubmitError


class ExpressionError(PresubmitError):
    """An expression that cannot be parsed or evaluated; `position` counts from 1, and is None for it as a whole."""

    exit_code = ExitCode.USAGE

    def __init__(self, message: str, position: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.position = position

    def __str__(self) -> str:
        """Give the message with its position."""
        return (
            self.message if self.position is None else f"{self.message} (position {self.position})"
        )
