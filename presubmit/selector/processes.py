"""Runs a function over many values on every core."""

from __future__ import annotations

import contextlib
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

Given = TypeVar("Given")
Made = TypeVar("Made")

_MANY: Final = 400
"""From here on further processes are worth their start."""


class Cores:
    """Where the work is done: in a pool of processes, or here."""

    def __init__(self, pool: ProcessPoolExecutor | None) -> None:
        self._pool = pool

    def map(self, work: Callable[[Given], Made], values: Sequence[Given]) -> list[Made]:
        """Give what `work` makes of each value, in order."""
        if self._pool is not None:
            try:
                return list(self._pool.map(work, values, chunksize=25))
            except (OSError, BrokenProcessPool):
                self._pool = None  # no room for processes: one core does it too
        return [work(value) for value in values]


@contextlib.contextmanager
def every_core(expected: int) -> Iterator[Cores]:
    """Hold processes for about so many values; few are not worth any."""
    if expected < _MANY:
        yield Cores(None)
        return
    try:
        # Processes that start anew, not forks: the program around may have threads.
        pool = ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn"))
    except OSError:
        yield Cores(None)
        return
    with pool:
        yield Cores(pool)
