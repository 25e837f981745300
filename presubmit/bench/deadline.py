"""The budget and ^C, as everything that measures asks for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


class StoppedError(Exception):
    """Measuring is to end now: `budget` or `interrupted`."""


class Deadline:
    """The budget and ^C."""

    def __init__(
        self, *, now: Callable[[], float], stop: Callable[[], bool], seconds: float
    ) -> None:
        self.now = now
        self._stop = stop
        self._begun = now()
        self._budget = seconds
        self._paused = 0.0
        self.ended = ""
        """`budget` or `interrupted`, once it is over."""

    @property
    def seconds(self) -> float:
        """How long measuring has gone on."""
        return self.now() - self._begun - self._paused

    @property
    def left(self) -> float:
        """Seconds of the budget."""
        return self._budget - self.seconds

    def check(self) -> None:
        """Raise StoppedError once it is over."""
        if not self.ended:
            self.ended = "interrupted" if self._stop() else "budget" if self.left <= 0 else ""
        if self.ended:
            raise StoppedError(self.ended)

    def pausing(self, act: Callable[[], T]) -> T:
        """Do what does not count."""
        begun = self.now()
        try:
            return act()
        finally:
            self._paused += self.now() - begun
