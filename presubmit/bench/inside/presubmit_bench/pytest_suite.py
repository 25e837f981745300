"""pytest-benchmark's and pytest-codspeed's benchmarks, in the project's own pytest with a fixture of ours in place of theirs."""

import importlib.util
import os
import sys

import pytest
from presubmit_bench.failure import tail
from presubmit_bench.pytest_options import STAND_INS, add_options, hook_specs, stand_in
from presubmit_bench.pytest_plugin import Plugin

_BLOCKED = (
    "benchmark",
    "codspeed",
    *STAND_INS,
    "pytest_benchmark.plugin",
    "pytest_codspeed.plugin",
)

_INTERRUPTED = 2
"""Or a `pytest.exit`, or a file that cannot be collected."""
_TROUBLE = {3, 4}
"""An internal error, or wrong options."""


def run(driver):
    """List or run the files of one suite."""
    tree, root = driver.tree, os.path.join(driver.tree, driver.suite["root"])
    os.chdir(root)
    files = driver.suite["files"]
    if not driver.lists:
        wanted = {it.partition("::")[0] for it in driver.ids}
        files = [it for it in files if it in wanted]
    paths = [os.path.relpath(os.path.join(tree, it), root) for it in files]
    paths = [it for it in paths if os.path.exists(it)]
    if not paths:
        return
    stand_in()
    plugin = Plugin(driver)
    heard = sys.stderr = Heard(sys.stderr)
    try:
        code = pytest.main([*arguments(driver.folder()), *paths], plugins=[plugin, Options()])
    finally:
        sys.stderr = heard.stream
    # What a collection or a test did wrong was said where it did.
    if int(code) in _TROUBLE or (int(code) == _INTERRUPTED and not plugin.broken):
        why = plugin.trouble or tail(heard.text)
        raise RuntimeError("pytest ended with exit code {}\n{}".format(int(code), why))


class Heard:
    """A stream whose last words are kept: pytest says there what is wrong with its options."""

    def __init__(self, stream):
        self.stream = stream
        self.text = ""

    def write(self, text):
        """Write, and keep."""
        self.text = (self.text + text)[-4000:]
        return self.stream.write(text)

    def __getattr__(self, name):
        return getattr(self.stream, name)


class Options:
    """What the two plugins add to pytest's options and hooks."""

    def pytest_addoption(self, parser):
        """Let the project's `addopts` name options of both plugins."""
        add_options(parser)

    def pytest_addhooks(self, pluginmanager):
        """Let the project's conftest have hooks of pytest-benchmark."""
        pluginmanager.add_hookspecs(hook_specs())


def arguments(scratch):
    """Give what stands before the files: pytest keeps its cache in `scratch`, and the project's own options hold, but for those that would hide or distort a benchmark."""
    cache = os.path.join(scratch, "pytest-cache-{}".format(os.getpid()))
    told = ["-q", "-s", "--no-header", "--tb=native", "--maxfail=0", "-k", "", "-m", ""]
    told.append("--continue-on-collection-errors")
    told += ["-o", "cache_dir=" + cache, "-o", "required_plugins=", "-o", "faulthandler_timeout=0"]
    for name in _BLOCKED:
        told += ["-p", "no:" + name]
    if not os.environ.get("PYTEST_DISABLE_PLUGIN_AUTOLOAD"):
        for module, option in (("xdist", "-n0"), ("pytest_cov", "--no-cov")):
            if importlib.util.find_spec(module):
                told.append(option)
    return told
