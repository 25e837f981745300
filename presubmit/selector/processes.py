"""Runs a function over many values on every core."""

from __future__ import annotations

import contextlib
import gc
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from concurrent.futures import ProcessPoolExecutor

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
            from concurrent.futures.process import BrokenProcessPool  # noqa: PLC0415 - see below

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
    # Only a cold start pays for these imports.
    import multiprocessing  # noqa: PLC0415
    from concurrent.futures import ProcessPoolExecutor  # noqa: PLC0415

    try:
        # Processes that start anew, not forks: the program around may have threads.
        pool = ProcessPoolExecutor(
            mp_context=multiprocessing.get_context("spawn"), initializer=_collect_seldom
        )
    except OSError:
        yield Cores(None)
        return
    with pool:
        yield Cores(pool)


def _collect_seldom() -> None:
    """Let the collector of cycles run seldom: syntax trees hold none, and looking for some takes a quarter of the time."""
    gc.set_threshold(500_000, 10, 10)
