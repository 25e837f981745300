"""Three clocks at once: wall time, CPU time of all threads, and time spent waiting in the run queue."""

import os
import time

_TASKS = "/proc/self/task"
_OWN = [0.0, 0.0]
"""What starting and stopping takes itself: much, where every call of a few hundred nanoseconds is timed alone."""


def read_wait():
    """Give the seconds that this process's threads have waited for a core, None where the kernel does not say."""
    # https://docs.kernel.org/scheduler/sched-stats.html: the second number, in nanoseconds.
    total = 0
    try:
        for task in os.listdir(_TASKS):
            try:
                with open("{}/{}/schedstat".format(_TASKS, task), "rb") as stream:
                    total += int(stream.read().split()[1])
            except FileNotFoundError:
                continue  # the thread has just ended
    except (OSError, IndexError, ValueError):
        return None
    return total * 1e-9


class Watch:
    """Adds up what passes between `start` and `stop`."""

    def __init__(self, *, waits=True):
        self.wall = 0.0
        self.cpu = 0.0
        self._waited = 0.0 if waits else None
        self._from = (0.0, 0.0, None)

    def start(self):
        """Begin."""
        # The costly reading stands outermost, so that it is not timed; the CPU's innermost, so that it is never more than the wall's.
        waited = None if self._waited is None else read_wait()
        wall = time.perf_counter()
        self._from = (wall, time.process_time(), waited)

    def stop(self):
        """Pause."""
        cpu = time.process_time()
        wall = time.perf_counter()
        waited = None if self._waited is None else read_wait()
        wall, cpu = wall - self._from[0], cpu - self._from[1]
        self.add(wall - _OWN[0], cpu - _OWN[1], _since(waited, self._from[2]))

    def add(self, wall, cpu, wait):
        """Add what another clock took."""
        self.wall += max(wall, 0.0)
        self.cpu += max(cpu, 0.0)
        self._waited = None if self._waited is None or wait is None else self._waited + wait

    @property
    def wait(self):
        """The time in the run queue, within [0, wall]: it is booked only when a thread next runs (facts/bench.md, trap 8)."""
        return None if self._waited is None else min(max(self._waited, 0.0), self.wall)

    @property
    def busy(self):
        """The wall time without the wait for a core, as well as it is known."""
        if self.wait is not None:
            return max(self.wall - self.wait, 0.0)
        return self.cpu if self.cpu > self.wall / 2 else self.wall


class Ticker:
    """A clock for `timeit`, which reads it twice: where its loop begins, and where it ends."""

    def __init__(self, watch=None, ready=None):
        self._watch = Watch() if watch is None else watch
        self._ready = ready
        self._runs = False

    def __call__(self):
        """Start, or stop; gives a time, since `timeit` takes the difference of two."""
        if self._ready is not None:
            # The clock that would have been read; torch's waits for its device.
            self._ready()
        if self._runs:
            self._watch.stop()
        else:
            self._watch.start()
        self._runs = not self._runs
        return time.perf_counter()

    @property
    def taken(self):
        """The three times."""
        return self._watch.wall, self._watch.cpu, self._watch.wait


def _since(now, before):
    return None if now is None or before is None else now - before


def know_own_time():
    """Measure what starting and stopping takes, once in a process; the least of many, so that no interruption counts."""
    _OWN[:] = [0.0, 0.0]
    taken = []
    for _ in range(100):
        watch = Watch(waits=False)
        watch.start()
        watch.stop()
        taken.append((watch.wall, watch.cpu))
    _OWN[:] = [min(it[0] for it in taken), min(it[1] for it in taken)]
