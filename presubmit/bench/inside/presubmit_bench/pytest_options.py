"""The options, hooks and modules that projects expect of pytest-benchmark and pytest-codspeed, whether or not they are installed."""

import importlib.util
import sys
import types
from importlib.machinery import ModuleSpec

from presubmit_bench.pytest_fixture import BenchmarkFixture

STAND_INS = ("pytest_benchmark", "pytest_codspeed")

# Read in pytest-benchmark 5.3.1 (plugin.py) and pytest-codspeed 5.0.4.
_WITH_VALUE = (
    "min-time max-time min-rounds precision confidence timer calibration-precision warmup-iterations"
    " storage save json sort group-by columns name time-unit cprofile cprofile-loops cprofile-top"
)
_MAYBE_VALUE = "warmup compare histogram netrc csv cprofile-dump"
_FLAGS = "disable-gc skip disable enable only autosave save-data verbose quiet"
_CODSPEED = "mode warmup-time max-time max-rounds"
_HOOKS = (
    "generate_machine_info(config)",
    "update_machine_info(config, machine_info)",
    "generate_commit_info(config)",
    "update_commit_info(config, commit_info)",
    "group_stats(config, benchmarks, group_by)",
    "generate_json(config, benchmarks, include_data, machine_info, commit_info)",
    "update_json(config, benchmarks, output_json)",
    "compare_machine_info(config, benchmarksession, machine_info, compared_benchmark)",
    "scale_unit(config, unit, benchmarks, best, worst, sort)",
)


def add_options(parser):
    """Let them parse; but for the collector's, none has an effect."""
    group = parser.getgroup("benchmark")
    for name in _WITH_VALUE.split():
        group.addoption("--benchmark-" + name, default=None)
    for name in _MAYBE_VALUE.split():
        group.addoption("--benchmark-" + name, nargs="?", default=None, const=True)
    for name in _FLAGS.split():
        group.addoption("--benchmark-" + name, action="store_true", default=False)
    group.addoption("--benchmark-compare-fail", nargs="+", default=None)
    group.addoption("--codspeed", action="store_true", default=False)
    for name in _CODSPEED.split():
        group.addoption("--codspeed-" + name, default=None)


def hook_specs():
    """Give a namespace with pytest-benchmark's hooks, none of which is ever called."""
    specs = types.ModuleType("presubmit_bench.hook_specs")
    for hook in _HOOKS:
        exec("def pytest_benchmark_{}: pass".format(hook), vars(specs))  # noqa: S102 - the texts above
    return specs


def stand_in():
    """Let `from pytest_codspeed import BenchmarkFixture` work where that is not installed: benchmarks name it for their types."""
    # pytest-codspeed looks whether the other one is there, and is not to find ours.
    for name in STAND_INS:
        if all(importlib.util.find_spec(it) is None for it in {name, "pytest_codspeed"}):
            for whole in (name, name + ".fixture"):
                module = types.ModuleType(whole)
                module.BenchmarkFixture = BenchmarkFixture
                module.__spec__ = ModuleSpec(whole, None, is_package=True)
                module.__path__ = []
                sys.modules[whole] = module
            sys.modules[name].fixture = sys.modules[name + ".fixture"]
