"""Scripts with `torch.utils.benchmark.Timer`, run as they are, with the Timer's measuring methods obeying the driver."""

import importlib
import os
import runpy
import sys

from presubmit_bench.clocks import Ticker
from presubmit_bench.failure import last_lines

_MODULE = "torch.utils.benchmark.utils.timer"
_NOT_MEASURED = 1e-6
"""What a benchmark that is passed over gives, in seconds: tables that the script prints need a number."""


def run(driver):
    """List or run the scripts of one suite."""
    timers = Timers(driver)
    argv, path = list(sys.argv), list(sys.path)
    for file in driver.suite["files"]:
        wanted = [it for it in driver.ids if it.startswith(file + "::")]
        if not (driver.lists or wanted):
            continue
        timers.begin(file)
        script = os.path.join(driver.tree, file)
        sys.argv[:] = [script]
        sys.path[:] = [os.path.dirname(script), *path]
        try:
            runpy.run_path(script, run_name="__main__")
        except (Exception, SystemExit) as error:
            if not (isinstance(error, SystemExit) and error.code in {None, 0}):
                said = last_lines(error)
                driver.broken(file, said)
                for name in wanted:
                    if driver.wants(name):
                        driver.failed(name, "the script ended before it came to this:\n" + said)
        finally:
            sys.argv[:], sys.path[:] = argv, path


class Timers:
    """Stands in for the methods of torch's Timer."""

    def __init__(self, driver):
        self._driver = driver
        self._file = ""
        self._seen = {}
        module = importlib.import_module(_MODULE)
        self._common = importlib.import_module("torch.utils.benchmark.utils.common")
        timers = self

        def timeit(timer, number=1000000):  # noqa: ARG001 - as torch's own
            return timers.measure(timer)

        def blocked_autorange(timer, callback=None, min_run_time=0.2):  # noqa: ARG001
            return timers.measure(timer, callback)

        def adaptive_autorange(timer, threshold=0.1, *, callback=None, **times):  # noqa: ARG001
            return timers.measure(timer, callback)

        def collect_callgrind(timer, *args, **kwargs):
            raise NotImplementedError(
                "presubmit bench counts instructions itself: collect_callgrind is not run"
            )

        for method in (timeit, blocked_autorange, adaptive_autorange, collect_callgrind):
            setattr(module.Timer, method.__name__, method)

    def begin(self, file):
        """Go to another script."""
        self._file = file
        self._seen = {}

    def measure(self, timer, callback=None):
        """Let the driver have one timer, if it wants it; gives a Measurement in any case."""
        spec = timer._task_spec  # noqa: SLF001 - nowhere else does it stand
        name = self._name(spec)
        self._driver.bench(name, self._file)
        samples, loops = [_NOT_MEASURED], 1
        if self._driver.wants(name):
            work = Statement(timer._timer, spec.num_threads)  # noqa: SLF001
            self._driver.begin()
            try:
                self._driver.offer(name, work)
                samples, loops = work.samples or samples, work.loops
            except (Exception, SystemExit) as error:
                self._driver.failed(name, error)
            finally:
                self._driver.finish(name)
        times = [it * loops for it in samples]
        if callback is not None:
            for it in times:
                callback(loops, it)
        return self._common.Measurement(number_per_run=loops, raw_times=times, task_spec=spec)

    def _name(self, spec):
        """Give `script.py::label/sub_label/description threads=1`, with a number from the second of the same name on."""
        first = spec.label or (spec.stmt.strip().splitlines() or ["pass"])[0]
        parts = (first, spec.sub_label, spec.description, spec.env)
        text = "/".join(str(it) for it in parts if it)
        name = "{}::{} threads={}".format(self._file, text, spec.num_threads)
        number = self._seen[name] = self._seen.get(name, 0) + 1
        return name if number == 1 else "{} #{}".format(name, number)


class Statement:
    """The statement of one Timer, looped by the `timeit.Timer` (or the compiled loop) that torch has made for it."""

    fixed = False
    number = 0
    elsewhere = False

    def __init__(self, timer, threads):
        self._timer = timer
        self._threads = threads
        self.samples = []
        self.loops = 1

    def rounds(self, loops):
        """Give how many rounds a number of calls takes, and how many calls one has."""
        return 1, loops

    def run(self, loops, watch):
        """Run it; gives how often."""
        torch = sys.modules["torch"]
        before = torch.get_num_threads()
        torch.set_num_threads(self._threads)
        clock = getattr(self._timer, "timer", None)
        try:
            if clock is None:
                # C++: its setup stands in the compiled loop, and is timed with it.
                watch.start()
                self._timer.timeit(loops)
                watch.stop()
            else:
                self._timer.timer = Ticker(watch, clock)
                self._timer.timeit(loops)
        finally:
            if clock is not None:
                self._timer.timer = clock
            torch.set_num_threads(before)
        self.loops = loops
        return loops

    def value(self):
        """Not for these."""
        raise TypeError("this benchmark gives times, not a value")
