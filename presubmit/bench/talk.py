"""What measuring asks of the two sides: to start workers, and to talk with one, a JSON object a line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping


class Talk(Protocol):
    """A worker that runs: it is told what to do and answers, one JSON object a line."""

    @property
    def errors(self) -> str:
        """The tail of its standard error, and of what it said that is no JSON."""

    def send(self, message: Mapping[str, object]) -> None:
        """Tell it something; a worker that has ended takes nothing, which `receive` then tells."""

    def receive(self, seconds: float) -> dict[str, Any] | None:
        """Give its next answer; None: it ended. Raises TimeoutError."""

    def close(self) -> None:
        """End it, and whatever it started; harmless when it has ended."""


class Side(Protocol):
    """Where the workers of one side run."""

    @property
    def name(self) -> str:
        """`base` or `head`."""

    def start(self, job: Mapping[str, object], *, env: Mapping[str, str]) -> Talk:
        """Start a fresh worker and give it its job."""
