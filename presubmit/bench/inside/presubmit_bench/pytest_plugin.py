"""The pytest plugin that finds the benchmarks, runs the wanted ones in the given order, and says what became of each."""

import inspect
import os

import pytest
from presubmit_bench.failure import tail
from presubmit_bench.proof import in_tree
from presubmit_bench.pytest_fixture import BenchmarkFixture, offer
from presubmit_bench.work import Calls

_FIXTURES = {"benchmark", "codspeed_benchmark"}


class Plugin:
    """The plugin of one session."""

    def __init__(self, driver):
        self._driver = driver
        self._names = {}
        self.trouble = ""
        self.broken = False

    # --- collecting -------------------------------------------------------------------------------------------------

    def pytest_configure(self, config):
        """Know the markers of both plugins."""
        config.addinivalue_line("markers", "benchmark: a benchmark, or options of one")
        config.addinivalue_line("markers", "codspeed_benchmark: a benchmark")

    def pytest_collectreport(self, report):
        """Say which files cannot be collected."""
        if report.failed:
            self.broken = True
            file = report.nodeid.partition("::")[0]
            text = tail(str(report.longrepr))
            self._driver.broken(self._in_tree(file), text)
            for name in self._driver.ids:
                if name.partition("::")[0] == self._in_tree(file) and self._driver.wants(name):
                    self._driver.failed(name, text)

    def pytest_internalerror(self, excrepr):
        """Keep what went wrong outside of any test."""
        self.trouble = tail(str(excrepr))

    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_collection_modifyitems(self, config, items):
        """Keep the wanted ones, in the driver's order, whatever other plugins did with it."""
        self._root = str(config.rootpath)
        every = list(items)
        yield
        found = {}
        for item in every:
            if is_benchmark(item):
                path, name = self._id(item)
                found[name] = item
                self._names[item.nodeid] = name
                self._driver.bench(name, path)
        items[:] = [found[it] for it in self._driver.ids if it in found and self._driver.wants(it)]
        if config.pluginmanager.hasplugin("timeout"):
            for item in items:
                # It would count the time in which the driver lets this side wait.
                item.add_marker(pytest.mark.timeout(0), append=False)

    # --- running ----------------------------------------------------------------------------------------------------

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item):
        """Limit and trace each from its setup on."""
        name = self._names[item.nodeid]
        self._driver.begin()
        yield
        if self._driver.wants(name):
            self._driver.skipped(name, "it does not call its benchmark fixture")
        self._driver.finish(name)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_fixture_setup(self, fixturedef):
        """Note what a fixture of more than one test runs for all of them."""
        if fixturedef.scope == "function":
            yield
        else:
            with self._driver.shared():
                yield

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem):
        """Measure a whole test that has only the marker."""
        if _FIXTURES & set(pyfuncitem.fixturenames):
            return None
        function = pyfuncitem.obj
        if inspect.iscoroutinefunction(function):
            raise NotImplementedError("a coroutine is not measured as a whole")
        names = pyfuncitem._fixtureinfo.argnames  # noqa: SLF001 - as pytest's own hook does
        given = {it: pyfuncitem.funcargs[it] for it in names}
        work = Calls(lambda: lambda: function(**given), collects=False)
        offer(self._driver, self._names[pyfuncitem.nodeid], work)
        return True

    def pytest_runtest_logreport(self, report):
        """Say what failed, and what was skipped."""
        name = self._names.get(report.nodeid)
        if name is None:
            return
        if report.failed:
            self._driver.failed(name, tail(report.longreprtext))
        elif report.skipped:
            why = report.longrepr[2] if isinstance(report.longrepr, tuple) else "skipped"
            self._driver.skipped(name, tail(str(why)))

    # --- the fixtures -----------------------------------------------------------------------------------------------

    @pytest.fixture
    def benchmark(self, request):
        """Stand in for the fixture of both plugins."""
        return BenchmarkFixture(self._driver, self._names[request.node.nodeid], request.node)

    @pytest.fixture
    def codspeed_benchmark(self, request):
        """Stand in for pytest-codspeed's own name."""
        return BenchmarkFixture(self._driver, self._names[request.node.nodeid], request.node)

    @pytest.fixture
    def benchmark_weave(self, benchmark):
        """Stand in for pytest-benchmark's second fixture."""
        return benchmark.weave

    # --- names ------------------------------------------------------------------------------------------------------

    def _id(self, item):
        """Give the file of an item and its node id, both from the tree's top on, wherever pytest's own root is."""
        path = self._in_tree(item.nodeid.partition("::")[0])
        return path, "{}::{}".format(path, item.nodeid.partition("::")[2])

    def _in_tree(self, file):
        return in_tree(os.path.join(getattr(self, "_root", os.getcwd()), file), self._driver.tree)


def is_benchmark(item):
    """Whether a test measures something, by a fixture or by a marker."""
    if _FIXTURES & set(getattr(item, "fixturenames", ())):
        return True
    return any(item.get_closest_marker(it) is not None for it in _FIXTURES)
