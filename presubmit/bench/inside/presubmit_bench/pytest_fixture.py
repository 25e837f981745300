"""The object that a test gets as `benchmark`: it measures when the driver says so, and gives back what the function gave."""

import functools
import sys

from presubmit_bench.stats import Stats
from presubmit_bench.work import Calls


def offer(driver, name, work):
    """Let the driver have it, without a tracer (coverage's) on it; in mode trace ours stays."""
    if driver.mode == "trace":
        driver.offer(name, work)
        return
    tracer, profiler = sys.gettrace(), sys.getprofile()
    sys.settrace(None)
    sys.setprofile(None)
    try:
        driver.offer(name, work)
    finally:
        sys.settrace(tracer)
        sys.setprofile(profiler)


class BenchmarkFixture:
    """What pytest-benchmark's and pytest-codspeed's fixtures can do, but for `weave`."""

    def __init__(self, driver, name, node):
        self._driver = driver
        self._name = name
        self._used = ""
        marker = node.get_closest_marker("benchmark")
        options = marker.kwargs if marker else {}
        self._collects = not options.get(
            "disable_gc", node.config.getoption("benchmark_disable_gc", False)
        )
        self.name = node.name
        self.fullname = node.nodeid
        self.group = options.get("group")
        callspec = getattr(node, "callspec", None)
        self.param = callspec.id if callspec else None
        self.params = callspec.params if callspec else None
        self.extra_info = {}
        self.stats = None
        self.disabled = False
        self.enabled = True
        self.has_error = False
        self.skipped = False

    def __call__(self, function_to_benchmark, *args, **kwargs):
        """Measure a function; gives what it gives."""
        self._use("benchmark(...)")
        call = functools.partial(function_to_benchmark, *args, **kwargs)
        self._measure(Calls(lambda: call, collects=self._collects))
        return call()

    def pedantic(
        self,
        target,
        args=(),
        kwargs=None,
        setup=None,
        teardown=None,
        rounds=1,
        warmup_rounds=0,
        iterations=1,
    ):
        """Measure with a setup before, and a teardown after, every `iterations` calls; how many rounds there are says the driver."""
        for value, least in ((iterations, 1), (rounds, 1), (warmup_rounds, 0)):
            if not isinstance(value, int) or value < least:
                raise ValueError(
                    "iterations, rounds and warmup_rounds are whole numbers, not {!r}".format(
                        value
                    )
                )
        if setup and iterations > 1:
            raise ValueError("a setup goes with one iteration only")
        self._use("benchmark.pedantic(...)")
        given = [args, kwargs or {}]

        def fresh():
            made = setup() if setup else None
            if made:
                if args or kwargs:
                    raise TypeError(
                        "either `setup` gives the arguments, or `args` and `kwargs` do"
                    )
                given[:] = made
            return functools.partial(target, *given[0], **given[1])

        def done():
            if teardown is not None:
                teardown(*given[0], **given[1])

        # One call a round, with nothing around it, is the same row of calls as a loop.
        plain = iterations == 1 and setup is None and teardown is None
        self._measure(Calls(fresh, done, 0 if plain else iterations, collects=self._collects))
        result = fresh()()
        done()
        return result

    def weave(self, *args, **kwargs):
        """Not here: it changes functions of the project with another package, aspectlib."""
        raise NotImplementedError(
            "benchmark.weave and benchmark.patch are not measured by presubmit bench"
        )

    patch = weave

    def _use(self, how):
        if self._used:
            self.has_error = True
            raise RuntimeError(
                "the benchmark fixture was already used in this test: {}".format(self._used)
            )
        self._used = how

    def _measure(self, work):
        try:
            offer(self._driver, self._name, work)
        except BaseException:
            self.has_error = True
            raise
        self.stats = Stats(work.samples, self)
