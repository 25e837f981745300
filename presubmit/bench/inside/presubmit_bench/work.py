"""What an adapter hands to the driver: something that can be called many times, and whose calls can be watched."""

import gc
from itertools import repeat

MANY_ROUNDS = 20
"""With more rounds a turn the run queue is not looked at around each: that would take longer than the rounds."""


class Calls:
    """A function that is called again and again.

    `fresh` gives the function to call, having set up what it needs, and `done` tears that down; both are not timed. They stand
    around every `number` calls where the suite says how many those are, else around all calls of a turn.
    """

    elsewhere = False

    def __init__(self, fresh, done=None, number=0, *, collects=True):
        self._fresh = fresh
        self._done = done
        self.number = number
        self._collects = collects
        self.samples = []
        """Seconds a call, of each turn."""

    @property
    def fixed(self):
        """Whether the suite itself says how many calls are timed together."""
        return self.number > 0

    def rounds(self, loops):
        """Give how many rounds a number of calls takes, and how many calls one has."""
        size = self.number or loops
        return max(1, -(-loops // size)), size

    def run(self, loops, watch):
        """Call it; gives how often."""
        rounds, size = self.rounds(loops)
        # As the suite's own tool would: timeit and pytest-codspeed stop the collector while they time, pytest-benchmark does not.
        paused = not self._collects and gc.isenabled()
        for _ in repeat(None, rounds):
            call = self._fresh()
            if paused:
                gc.disable()
            try:
                watch.start()
                for _ in repeat(None, size):
                    call()
                watch.stop()
            finally:
                if paused:
                    gc.enable()
                if self._done is not None:
                    self._done()
        return rounds * size

    def value(self):
        """Not for these."""
        raise TypeError("this benchmark gives times, not a value")


class Elsewhere:
    """Something that runs in a process of its own; `once` makes so many calls there and gives the three times that they took."""

    fixed = True
    elsewhere = True

    def __init__(self, once, number=1):
        self._once = once
        self.number = number
        self.samples = []

    def rounds(self, loops):
        """Give how many rounds a number of calls takes, and how many calls one has."""
        return max(1, -(-loops // self.number)), self.number

    def run(self, loops, watch):
        """Run it; gives how many calls it made."""
        rounds, size = self.rounds(loops)
        for _ in repeat(None, rounds):
            if hasattr(watch, "add"):
                watch.add(*self._once(size))
            else:
                watch.start()
                self._once(size)
                watch.stop()
        return rounds * size

    def value(self):
        """Not for these."""
        raise TypeError("this benchmark gives times, not a value")


class Value:
    """A function that gives one number a process."""

    fixed = True
    elsewhere = False
    number = 1

    def __init__(self, give):
        self._give = give
        self.samples = []

    def rounds(self, loops):
        """Give how many rounds a number of calls takes, and how many calls one has."""
        return loops, 1

    def run(self, loops, watch):
        """Call it; gives how often."""
        for _ in repeat(None, loops):
            watch.start()
            self.value()
            watch.stop()
        return loops

    def value(self):
        """Give the number."""
        return self._give()
